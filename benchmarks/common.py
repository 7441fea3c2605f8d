"""What the benchmarks share: ratios of interleaved medians on one thread, and the data."""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy starts its threads

import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse

import oneof

DATA = Path(os.environ.get("ONEOF_DATA", ""))


def run(groups, arguments=None) -> int:
    """Print the lines of the groups named on the command line, or of all; return the exit code."""
    names = list(sys.argv[1:] if arguments is None else arguments) or list(groups)
    unknown = [name for name in names if name not in groups]
    if unknown:
        sys.exit(f"there is no group {unknown[0]!r}: choose from {', '.join(groups)}")
    table = Table()
    print(f"oneof {oneof.__version__}, build {oneof._kernels.isa}, one thread")
    for name in names:
        groups[name](table)
    print(f"\n{table.n_missed} missed")
    return 1 if table.n_missed else 0


class Table:
    """Prints one line per claim: what, target, measured, whether it holds."""

    def __init__(self) -> None:
        self.n_missed = 0

    def head(self, title: str) -> None:
        print(f"\n{title}")

    def at_least(self, what: str, target: float, ratio: float, note: str = "") -> None:
        self.line(what, f"≥ {target:g} ×", f"{ratio:.1f} ×", ratio >= target, note)

    def at_most(self, what: str, target: float, ratio: float, note: str = "") -> None:
        self.line(what, f"≤ {target:g} ×", f"{ratio:.2f} ×", ratio <= target, note)

    def line(self, what: str, target: str, measured: str, holds: bool, note: str) -> None:
        self.n_missed += not holds
        mark = "holds" if holds else "MISSED"
        print(f"  {what:<44} {target:>9} {measured:>9}  {mark:<6} {note}", flush=True)


def seconds(*tasks, repeats: int = 7, clock=time.perf_counter) -> list[float]:
    """Return the median time of each task, run in turn."""
    times: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()
    for _ in range(repeats):
        for task, taken in zip(tasks, times, strict=True):
            start = clock()
            task()
            taken.append(clock() - start)
    return [median(taken) for taken in times]


# The processor's time is fair to tasks of one thread on a machine that others use, too.
cpu_seconds = partial(seconds, clock=time.process_time)


def load(name: str):
    if not (DATA / f"{name}.npz").exists():
        sys.exit(f"{name}.npz is not in ONEOF_DATA: set it to the folder with the data sets")
    with np.load(DATA / f"{name}.npz") as file:
        y = file["y"]
        if "X_data" in file:
            parts = (file["X_data"], file["X_indices"], file["X_indptr"])
            return sparse.csr_matrix(parts, file["X_shape"]).astype(np.float32), y
        X = file["X"].astype(np.float32)
        return (X / 255 if name == "mnist" else X), y


def ambiguous(y: np.ndarray, size: int, seed: int = 0) -> oneof.CandidateSets:
    """The truth and size − 1 others."""
    K, rng = int(y.max()) + 1, np.random.default_rng(seed)
    keys = rng.random((len(y), K))
    keys[np.arange(len(y)), y] = -1
    codes = np.sort(np.argsort(keys, axis=1)[:, :size], axis=1)
    indptr = np.arange(len(y) + 1) * size
    return oneof.CandidateSets(np.arange(K), indptr, codes.ravel())
