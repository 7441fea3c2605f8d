"""The speed of the learners as ratios, measured in one process with interleaved repeats.

Run with `make bench`. A time alone says nothing on a shared machine: every line divides the median
of one thing by the median of another, both measured in turn. One thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from common import Table, ambiguous, cpu_seconds, load, run  # first: it keeps NumPy to one thread

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

import beyond
import oneof

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import reference

LEARNERS = [oneof.AvgPerceptron, oneof.MaxPerceptron, oneof.AvgPegasos, oneof.MaxPegasos]


def passes(estimator, X, Y, **parameters):
    """One pass of a new model over X."""
    return lambda: estimator(**parameters).partial_fit(X, Y)


def sgd_pass(X, y):
    classes = np.unique(y)
    return lambda: SGDClassifier(loss="hinge").partial_fit(X, y, classes=classes)


def row_time(taken: float, X) -> str:
    return f"{1e6 * taken / X.shape[0]:.2f} µs a row"


def against_sgd(table: Table, name: str, X, y, size: int, repeats: int) -> None:
    Y = ambiguous(y, size)
    tasks = [passes(learner, X, Y) for learner in LEARNERS]
    sgd, *ours = cpu_seconds(sgd_pass(X, y), *tasks, repeats=repeats)
    for learner, taken in zip(LEARNERS, ours, strict=True):
        table.at_least(f"{name}: {learner.__name__}", 10, sgd / taken, row_time(taken, X))


def sets_of_the_paper(table: Table) -> None:
    table.head("Against SGDClassifier(loss='hinge').partial_fit on exact labels, one pass")
    X, y = load("mnist")
    X, y = X[:60_000], y[:60_000]
    against_sgd(table, "MNIST float32 dense", X, y, 4, repeats=3)
    against_sgd(table, "MNIST float32 CSR", sparse.csr_matrix(X), y, 4, repeats=3)
    for name, size, repeats in (("reuters_r8", 4, 15), ("usps", 4, 9), ("satimage", 2, 15)):
        X, y = load(name)
        against_sgd(
            table, f"{name} {'CSR' if sparse.issparse(X) else 'dense'}", X, y, size, repeats
        )


def against_products(table: Table) -> None:
    table.head("A pass of learning against SciPy's product X @ W of the same shapes, CSR")
    for name in ("mnist", "reuters_r8"):
        X, y = load(name)
        X = sparse.csr_matrix(X)
        W = np.random.default_rng(0).normal(size=(X.shape[1], y.max() + 1)).astype(X.dtype)
        Y = ambiguous(y, 4)
        tasks = [passes(learner, X, Y) for learner in LEARNERS]
        product, *ours = cpu_seconds(lambda X=X, W=W: X @ W, *tasks, repeats=9)
        for learner, taken in zip(LEARNERS, ours, strict=True):
            table.at_most(f"{name}: {learner.__name__}", 1, taken / product, row_time(taken, X))


def against_the_reference(table: Table) -> None:
    table.head("Against the NumPy reference, 1000 rows of USPS")
    X, y = load("usps")
    X, y = X[:1000].astype(np.float64), y[:1000]
    Y = ambiguous(y, 4)
    sets = [set(s) for s in Y]
    for learner in LEARNERS:
        loss, rule = learner._loss, learner._rule
        slow, fast = cpu_seconds(
            lambda loss=loss, rule=rule: reference.learn(X, sets, 10, loss, rule),
            passes(learner, X, Y),
            repeats=3,
        )
        table.at_least(learner.__name__, 30, slow / fast, row_time(fast, X))


ISA_PROGRAM = """
import sys, time
sys.path.insert(0, {here!r})
import speed, oneof
from scipy import sparse
X, y = speed.load("mnist")
X, Y = X[:20000], speed.ambiguous(y[:20000], 4)
tasks = [speed.passes(oneof.AvgPegasos, f, Y) for f in (X, sparse.csr_matrix(X))]
for task in tasks: task()
for line in sys.stdin:
    start = time.perf_counter()
    tasks[int(line)]()
    print(time.perf_counter() - start, flush=True)
"""


def builds(table: Table) -> None:
    """Each build in a process of its own, asked in turn."""
    table.head("Builds for older processors against the best one, AvgPegasos on MNIST")
    isas = oneof._kernels.builds
    program = ISA_PROGRAM.format(here=str(Path(__file__).parent))
    workers = {
        isa: subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "ONEOF_ISA": isa},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for isa in isas
    }
    for form, name in enumerate(("dense", "CSR")):
        times = {isa: [] for isa in isas}
        for _ in range(9):
            for isa, worker in workers.items():
                worker.stdin.write(f"{form}\n")
                worker.stdin.flush()
                times[isa].append(float(worker.stdout.readline()))
        best = min(median(t) for t in times.values())
        for isa, limit in (("v3", 2), ("v2", 4)):
            if isa in times:
                table.at_most(f"{isa}, {name}", limit, median(times[isa]) / best)
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()


def extras(table: Table) -> None:
    table.head("What the extras cost, AvgPegasos")
    X, y = load("mnist")
    X, Y = X[:30_000], ambiguous(y[:30_000], 4)
    for name, form in (("dense", X), ("CSR", sparse.csr_matrix(X))):
        plain, progressive, average = cpu_seconds(
            passes(oneof.AvgPegasos, form, Y),
            lambda form=form: oneof.AvgPegasos().progressive_fit(form, Y),
            passes(oneof.AvgPegasos, form, Y, average=True),
            repeats=15,
        )
        table.at_most(f"progressive_fit, MNIST {name}", 1.05, progressive / plain)
        table.at_most(f"average=True, MNIST {name}", 2, average / plain)


def random_rows(n: int, n_nonzero: int, d: int, seed: int = 0) -> sparse.csr_matrix:
    rng = np.random.default_rng(seed)
    indices = np.sort(rng.integers(0, d // n_nonzero, size=(n, n_nonzero)), axis=1)
    indices = (indices + np.arange(n_nonzero) * (d // n_nonzero)).astype(np.int32)
    data = rng.normal(size=n * n_nonzero).astype(np.float32)
    return sparse.csr_matrix((data, indices.ravel(), np.arange(n + 1) * n_nonzero), (n, d))


def growth(table: Table) -> None:
    table.head("Growth: time over time per unit of work (1 = linear), AvgPerceptron, CSR, 20 a row")
    rng = np.random.default_rng(0)

    def task(n, n_nonzero, K, d=2000):
        X, Y = random_rows(n, n_nonzero, d), ambiguous(rng.integers(0, K, n), 3)
        Y = oneof.CandidateSets(np.arange(K), Y.indptr, Y.codes)
        return passes(oneof.AvgPerceptron, X, Y)

    a, b = cpu_seconds(task(20_000, 20, 10), task(200_000, 20, 10))
    table.at_most("10 times the rows", 1.25, b / a / 10)
    a, b = cpu_seconds(task(20_000, 20, 10, 20_000), task(20_000, 200, 10, 20_000))
    table.at_most("10 times the non-zeros", 1.25, b / a / 10)
    sizes = (10, 100, 1000, 10_000)
    # 200 features: what is measured is the work, not which cache 80 MB of weights do not fit.
    times = cpu_seconds(*(task(2000, 20, K, 200) for K in sizes), repeats=9)
    for K, K10, t, t10 in zip(sizes, sizes[1:], times, times[1:], strict=False):
        note = f"{1e6 * t / 2000:.2f} → {1e6 * t10 / 2000:.2f} µs a row"
        table.at_most(f"K = {K} → {K10}", 1.5, t10 / t / 10, note)


def imports(table: Table) -> None:
    table.head("Importing oneof after sklearn.linear_model")
    program = (
        "import time, sklearn.linear_model; a = time.perf_counter();"
        "from oneof import MaxPegasos;"
        "print(time.perf_counter() - a)"
    )
    times = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
        )
        for _ in range(9)
    ]
    table.line(
        "import oneof", "≤ 30 ms", f"{1e3 * median(times):.1f} ms", median(times) <= 0.03, ""
    )


GROUPS = {
    **beyond.GROUPS,
    "sgd": sets_of_the_paper,
    "product": against_products,
    "reference": against_the_reference,
    "builds": builds,
    "extras": extras,
    "growth": growth,
    "import": imports,
}


if __name__ == "__main__":
    sys.exit(run(GROUPS))
