"""Hedge beside its own members on the same streams: does it find the best one? No drawing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from oneof.experiments.compare import once
from oneof.experiments.rivals import settings, words
from oneof.experiments.workers import in_parallel
from oneof.hedge import Hedge, portfolio

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneof.experiments.problems import Plan, Problem

HEDGE = "Hedge"
ASKED = 0.01  # no more than this is Hedge to lose to its best member


class MemberRow(NamedTuple):
    """Hedge, or one of its members by itself, on the training rows of a fold, learnt once."""

    dataset: str
    size: int | None
    fold: int
    member: str
    mistakes: float
    progressive_error: float


class HedgeRow(NamedTuple):
    """Progressive errors on one set, means over the folds: Hedge's, and the best member's."""

    dataset: str
    size: int | None
    hedge: float
    best_member: str
    best: float

    @property
    def difference(self) -> float:
        """What Hedge loses to the member that turned out best."""
        return self.hedge - self.best


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Hedge and each of its members on the stream of one fold."""

    problem: Problem
    hedge: Hedge
    fold: int
    plan: Plan

    @property
    def cost(self) -> float:
        """What it takes, beside others."""
        return float(np.prod(self.problem.X.shape))

    def __call__(self) -> list[MemberRow]:
        """Learn the stream with each by itself; a member does the same within Hedge."""
        p, (train, _) = self.problem, self.problem.split(self.fold, self.plan)
        members = self.hedge.members or portfolio(self.hedge.scale)
        named = {HEDGE: self.hedge} | {f"{type(m).__name__}({words(m)})": m for m in members}
        return [
            MemberRow(p.name, p.size, self.fold, name, *once(p, model, train)[1:])
            for name, model in named.items()
        ]


def member_rows(wanted: Sequence[Problem], plan: Plan, n_jobs: int = -1) -> list[MemberRow]:
    """Run Hedge and its members on every set, if it is among the learners compared."""
    jobs = [
        SideBySide(p, hedge, fold, plan)
        for p in wanted
        for hedge in settings(plan.scale).get("hedge", ())
        for fold in range(plan.folds)
    ]
    return [row for rows in in_parallel(jobs, n_jobs, lambda _: None) for row in rows]


def hedge_rows(rows: Iterable[MemberRow]) -> list[HedgeRow]:
    """Compare Hedge with its best member, which the truth picks out after the fact."""
    found = []
    for (dataset, size), group in groupby(rows, key=lambda row: row[:2]):
        errors: dict[str, list[float]] = {}
        for row in group:
            errors.setdefault(row.member, []).append(row.progressive_error)
        means = {name: float(np.mean(each)) for name, each in errors.items()}
        hedge = means.pop(HEDGE)
        best = min(means, key=means.__getitem__)
        found.append(HedgeRow(dataset, size, hedge, best, means[best]))
    return found
