"""What `oneof reproduce` costs: per round against the NumPy reference, and the whole in seconds.

Run with `make bench`. The ratio is measured in one process with interleaved repeats, one thread.
The time of the whole, all five data sets and 100 runs, is a promise about two cores at leisure.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Table, run, seconds  # first: it keeps NumPy to one thread

import numpy as np

from oneof.experiments import Spec, load_examples
from oneof.experiments.rounds import Job, Play, Rounds
from oneof.experiments.run import cells
from oneof.experiments.spec import is_tuned

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import reference

LEARNERS = ("avg-perceptron", "max-perceptron", "avg-pegasos", "max-pegasos")


def per_round(table: Table) -> None:
    """All that a run of the paper does is counted: drawing, gathering, learning, the curves."""
    table.head("A round of a whole run on MNIST against the NumPy reference's on sets of 4")
    spec = Spec.load("paper").narrowed(datasets=["mnist"])
    (mnist,) = load_examples(spec)[0]
    plays = tuple(
        Play(cell, 0.01 if is_tuned(cell.learner) else None) for cell in cells(spec, mnist)
    )
    job = Job(spec, mnist, (0, 0, 0), plays)
    rounds = Rounds(mnist, job.seed)
    X = np.asarray(rounds.rows.X[:300].todense(), dtype=np.float64)
    sets = list(rounds.candidates(4)[:300])
    slow = [
        lambda n=name: reference.learn(X, sets, 10, *n.split("-"), **options(n))
        for name in LEARNERS
    ]
    whole, *loops = seconds(job, *slow, repeats=5)
    ours = whole / job.n_rounds
    theirs = sum(loops) / (len(loops) * len(X))
    table.at_least("all learners and sizes", 100, theirs / ours, f"{1e6 * ours:.2f} µs a round")


def options(name: str) -> dict[str, float]:
    return {"alpha": 0.01} if "pegasos" in name else {}


def whole(table: Table) -> None:
    table.head("oneof reproduce: five data sets, λ tuned, 100 runs, report included")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "oneof", "reproduce", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    table.line("wall time", "≤ 60 s", f"{taken:.1f} s", taken <= 60, "")
    table.line("memory", "≤ 1 GiB", f"{memory:.2f} GiB", memory <= 1, "")


GROUPS = {"per-round": per_round, "whole": whole}


if __name__ == "__main__":
    sys.exit(run(GROUPS))
