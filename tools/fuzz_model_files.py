"""Loads spoilt model files, as many as asked for: `python tools/fuzz_model_files.py 300000`.

Each must be refused in one sentence, or hold a sound model. Prints how many were which.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import hostile


def main(n: int, seed: int = 0) -> None:
    """Spoil and load `n` files."""
    rng, files = np.random.default_rng(seed), hostile.small_files()
    changes = (hostile.with_bytes_changed, hostile.with_fields_changed)
    counts = np.zeros((2, 2), dtype=int)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m")
        for i in range(n):
            raw = changes[i % 2](files[rng.integers(0, len(files))], rng)
            counts[i % 2, int(hostile.is_refused(raw, path))] += 1
    for change, (sound, refused) in zip(changes, counts, strict=True):
        print(f"{change.__name__}: {refused} refused, {sound} sound")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
