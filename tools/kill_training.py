"""Kills trainings at random moments and resumes them: `python tools/kill_training.py 300`.

Each must end in the bytes of a training that was left in peace. Prints how many were killed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import commands

WAYS = [
    ["--model", "avg-pegasos", "--average", "--passes", "3", "--shuffle-buffer", "170"],
    ["--model", "max-perceptron", "--passes", "2"],
    ["--model", "max-pegasos", "--alpha", "0.1", "--dtype", "float64"],
    ["--model", "avg-perceptron", "--average", "--shuffle-buffer", "5000", "--no-intercept"],
    ["--model", "hedge", "--scale", "standardize", "--passes", "2"],
]


def main(n: int) -> None:
    """Kill `n` times."""
    n_killed = n_runs = 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as run:
        rows = commands.write_rows(Path(folder, "rows.svm"), n=3000)
        while n_killed < n:
            way, every = random.choice(WAYS), random.choice(["100", "700", "1s"])
            n_killed += commands.killed_and_resumed(rows, run, 6, *way, every=every)
            n_runs += 1
    print(f"{n_runs} trainings, killed {n_killed} times, each ended in the same bytes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
