"""The speed of the further learners as ratios to the paper's; groups of `make bench`."""

from __future__ import annotations

from common import Table, ambiguous, cpu_seconds, load  # first: it keeps NumPy to one thread

import numpy as np
from scipy import sparse

import oneof
from oneof.hedge import portfolio


def passes(estimator, X, Y):
    """One pass of a new model over X."""
    return lambda: _fresh(estimator).partial_fit(X, Y)


def _fresh(estimator):
    return type(estimator)(**estimator.get_params(deep=False))


def learners(table: Table) -> None:
    table.head("Further learners against the perceptrons of the same loss, one pass")
    for name, size in (("usps", 4), ("mnist", 4), ("satimage", 2)):
        X, y = load(name)
        X, y = X[:20_000], y[:20_000]
        if name == "mnist":
            X = sparse.csr_matrix(X)
        Y = ambiguous(y, size)
        avg, max_ = oneof.AvgPerceptron(), oneof.MaxPerceptron()
        for base, other, limit in (
            (avg, oneof.AvgPassiveAggressive(), 1.5),
            (max_, oneof.MaxPassiveAggressive(), 1.5),
            (avg, oneof.SoftPerceptron(), 1.5),
            (avg, oneof.SoftPassiveAggressive(), 1.5),
            (oneof.AvgPegasos(), oneof.SoftPegasos(), 1.5),
            (avg, oneof.AvgPassiveAggressive(exact=True), 3),
            (max_, oneof.MaxPassiveAggressive(exact=True), 3),
            (avg, oneof.CandidateLogistic(), 2),
        ):
            tasks = [passes(base, X, Y), passes(other, X, Y)]
            exact = " exact" if getattr(other, "exact", False) else ""
            if isinstance(other, oneof.CandidateLogistic):  # its exponentials are its own
                numbers = np.random.default_rng(0).normal(size=(len(y), int(y.max()) + 1))
                tasks.append(lambda numbers=numbers: np.exp(numbers))
                exact = " without e^s"
            a, b, *exponentials = cpu_seconds(*tasks, repeats=9)
            b -= sum(exponentials)
            note = f"{1e6 * b / len(y):.2f} µs a row"
            table.at_most(f"{name}: {type(other).__name__}{exact}", limit, b / a, note)


def scaling(table: Table) -> None:
    table.head('scale="standardize" on dense rows, AvgPerceptron')
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 20_000)
    for d in (36, 256, 784):
        for dtype in (np.float32, np.float64):
            X, Y = rng.normal(size=(len(y), d)).astype(dtype), ambiguous(y, 4)
            plain, scaled = cpu_seconds(
                passes(oneof.AvgPerceptron(), X, Y),
                passes(oneof.AvgPerceptron(scale="standardize"), X, Y),
                repeats=9,
            )
            note = f"{1e6 * scaled / len(y):.2f} µs a row"
            table.at_most(f"{d} features, {np.dtype(dtype).name}", 1.6, scaled / plain, note)


def hedge(table: Table) -> None:
    table.head("Hedge with 8 members against one, averaged over its members")
    for name in ("mnist", "usps", "satimage"):
        X, y = load(name)
        X, Y = X[:20_000], ambiguous(y[:20_000], 4)
        for scale in ("none", "standardize"):
            members = portfolio(scale)
            tasks = [passes(m, X, Y) for m in members]
            *alone, team = cpu_seconds(*tasks, passes(oneof.Hedge(scale=scale), X, Y), repeats=5)
            note = f"{team / sum(alone):.2f} × all of them apart"
            table.at_most(f"{name}, scale {scale}", 6, team / np.mean(alone), note)


GROUPS = {"learners": learners, "scaling": scaling, "hedge": hedge}
