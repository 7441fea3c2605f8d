"""`oneof compare`: every learner on every set, settings chosen without the truth. No drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from oneof.experiments.rivals import cost_of, settings, words
from oneof.experiments.workers import in_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oneof.experiments.problems import Ints, Plan, Problem


class FoldRow(NamedTuple):
    """One learner on one fold, with the setting it chose by its mistakes."""

    dataset: str
    size: int | None
    passes: int
    learner: str
    fold: int
    chosen: str
    mistakes: float
    progressive_error: float
    held_out_error: float


class CompareRow(NamedTuple):
    """The same over all folds: means, the standard error of the last one."""

    dataset: str
    size: int | None
    passes: int
    learner: str
    chosen: str
    mistakes: float
    progressive_error: float
    held_out_error: float
    se: float | None
    folds: int


@dataclass(frozen=True, eq=False)
class Attempt:
    """One setting of a learner on one fold: what it is chosen by.

    With one pass, a setting's mistakes are its progressive ones: each row is predicted, then
    learnt. With more, rows that were learnt before are no test: the mistakes counted are those on
    the third and the last quarter of the training rows, predicted after all passes over the rows
    before them.
    """

    problem: Problem
    passes: int
    learner: str
    setting: Any
    fold: int
    plan: Plan

    @property
    def cost(self) -> float:
        """What it takes, beside others."""
        return self.passes * cost_of(self.setting, self.problem.X)

    def __call__(self) -> float:
        """Return the share of mistakes."""
        train, _ = self.problem.split(self.fold, self.plan)
        if self.passes == 1:
            return once(self.problem, self.setting, train)[1]
        quarters = np.array_split(train, 4)
        X, Y = self.problem.X, self.problem.Y
        wrong = 0
        for k in (2, 3):
            model = self.fitted(np.concatenate(quarters[:k]))
            wrong += int(np.sum(~Y[quarters[k]].contains(model.predict(X[quarters[k]]))))
        return wrong / (len(quarters[2]) + len(quarters[3]))

    def fitted(self, rows: Ints) -> Any:
        """Return a model that has learnt rows as often as asked for."""
        model = clone(self.setting).set_params(max_iter=self.passes, random_state=self.plan.seed)
        return model.fit(self.problem.X[rows], self.problem.Y[rows])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A learner with the setting that it chose, on the fold that was held out."""

    chosen: Attempt
    mistakes: float

    @property
    def cost(self) -> float:
        """What it takes, beside others."""
        return self.chosen.cost

    def __call__(self) -> FoldRow:
        """Learn all folds but one, and test on that one."""
        one = self.chosen
        p, (train, test) = one.problem, one.problem.split(one.fold, one.plan)
        model, _, progressive = once(p, one.setting, train)
        if one.passes > 1:
            model = one.fitted(train)
        held_out = float(np.mean(model.predict(p.X[test]) != p.y[test]))
        key = (p.name, p.size, one.passes, one.learner, one.fold, words(one.setting))
        return FoldRow(*key, self.mistakes, progressive, held_out)


def compare(
    wanted: Sequence[Problem],
    plan: Plan,
    *,
    n_jobs: int = -1,
    tell: Callable[[int], None] = lambda _: None,
) -> list[FoldRow]:
    """Let every learner choose a setting on every fold and test it; the rows come in that order.

    What is done is told in millionths of all.
    """
    choices = [
        [Attempt(p, passes, learner, setting, fold, plan) for setting in tried]
        for p in wanted
        for passes in plan.passes
        for fold in range(plan.folds)
        for learner, tried in settings(plan.scale).items()
    ]
    attempts = [attempt for tried in choices for attempt in tried]
    unit = 1e-6 * (sum(a.cost for a in attempts) + sum(tried[0].cost for tried in choices))

    def done(job: Attempt | HeldOut) -> None:
        tell(round(job.cost / unit))

    found = iter(in_parallel(attempts, n_jobs, done))
    tests = []
    for tried in choices:
        mistakes = [next(found) for _ in tried]
        best = int(np.argmin(mistakes))
        tests.append(HeldOut(tried[best], mistakes[best]))
    return in_parallel(tests, n_jobs, done)


def once(p: Problem, setting: Any, rows: Ints) -> tuple[Any, float, float]:
    """Learn one pass; return the model, the share of mistakes, and that of errors."""
    model = clone(setting)
    predicted = model.progressive_fit(p.X[rows], p.Y[rows], classes=p.Y.classes)
    mistakes = float(np.mean(~p.Y[rows].contains(predicted)))
    return model, mistakes, float(np.mean(predicted != p.y[rows]))


def summary(rows: Iterable[FoldRow]) -> list[CompareRow]:
    """Average over folds; the setting named is the one chosen most often."""
    groups: dict[tuple[Any, ...], list[FoldRow]] = {}
    for row in rows:
        groups.setdefault(row[:4], []).append(row)
    return [CompareRow(*key, *_averages(found)) for key, found in groups.items()]


def _averages(rows: list[FoldRow]) -> tuple[Any, ...]:
    errors = np.array([row.held_out_error for row in rows])
    chosen = [row.chosen for row in rows]
    n = len(rows)
    return (
        max(chosen, key=chosen.count),
        float(np.mean([row.mistakes for row in rows])),
        float(np.mean([row.progressive_error for row in rows])),
        float(errors.mean()),
        float(errors.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
        n,
    )
