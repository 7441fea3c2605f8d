"""The rounds of one run and what a learner makes of them; one worker's work, no parallelism."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from oneof import ambiguity
from oneof.catalogue import SINGLE
from oneof.experiments.spec import Spec, kind_of
from oneof.model import OnlineModel
from oneof.rows import Rows
from oneof.rules import Learner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneof.candidates import CandidateSets
    from oneof.experiments.examples import Examples

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cell:
    """One learner on sets of one size; exact labels are sets of size 1."""

    size: int
    learner: str


@dataclass(frozen=True)
class Play:
    """A cell with its λ, where the learner has one."""

    cell: Cell
    alpha: float | None = None

    def learner(self, spec: Spec) -> Learner:
        """Return the checked loss, rule and parameters."""
        kind = SINGLE[kind_of(self.cell.learner)]
        wanted = {"fit_intercept": spec.fit_intercept, "eta0": spec.eta0, "alpha": self.alpha}
        known = kind().get_params()
        estimator = kind(**{name: value for name, value in wanted.items() if name in known})
        return Learner.make(estimator._loss, estimator._rule, estimator.get_params())


class Rounds:
    """What every learner of one run sees: T rows and their candidates, drawn from `seed`.

    Every example gets its candidates of each size once and keeps them. Rows are gathered: learnt
    from in the order they lie in memory, they repay the copy many times.
    """

    def __init__(self, examples: Examples, seed: Sequence[int]) -> None:
        self._examples, self._seed = examples, [*seed, zlib.crc32(examples.name.encode())]
        self._order = self._rng(0).integers(0, len(examples.y), examples.rounds)
        self.rows = Rows(examples.X[self._order])
        self.truth = examples.y[self._order]

    def candidates(self, size: int) -> CandidateSets:
        """Return the sets of one size; those of size 1 are the true labels."""
        sets = ambiguity.uniform(
            self._examples.y,
            size,
            classes=np.arange(self._examples.n_classes),
            random_state=self._rng(size),
        )
        drawn: CandidateSets = sets[self._order]
        return drawn

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([*self._seed, purpose])


@dataclass(frozen=True, eq=False)
class Job:
    """Several plays of the same rounds: one run of an experiment, or one of its tuning runs."""

    spec: Spec
    examples: Examples
    seed: tuple[int, ...]
    plays: tuple[Play, ...]

    @property
    def n_rounds(self) -> int:
        """Rounds that are learnt, all plays together."""
        return self.examples.rounds * len(self.plays)

    @property
    def cost(self) -> float:
        """What the job takes, beside others."""
        return self.n_rounds * float(self.examples.X.size) / len(self.examples.y)

    def __call__(self) -> tuple[Ints, Ints]:
        """Return the errors of each play up to each checkpoint, and its mistakes."""
        rounds = Rounds(self.examples, self.seed)
        ends = checkpoints(self.examples.rounds)
        errors = np.zeros((len(self.plays), ends.size), np.int64)
        mistakes: list[int] = []
        for size, plays in groupby(self.plays, key=lambda play: play.cell.size):
            candidates = rounds.candidates(size)
            for play in plays:
                model = OnlineModel(
                    play.learner(self.spec),
                    self.examples.n_classes,
                    rounds.rows.n_features,
                    rounds.rows.X.dtype,
                    self.spec.fit_intercept,
                )
                predicted = model.learn(rounds.rows, candidates, is_progressive=True)
                wrong = np.cumsum(predicted != rounds.truth, dtype=np.int64)
                errors[len(mistakes)] = wrong[ends - 1]
                mistakes.append(model.n_mistakes)
        return errors, np.array(mistakes, dtype=np.int64)


def checkpoints(rounds: int) -> Ints:
    """Choose the numbers of rounds that a curve goes through: dense where it is steep."""
    early, even = np.geomspace(1, rounds, 50), np.linspace(0, rounds, 121)
    return np.unique(np.concatenate([early, even]).round().clip(1).astype(np.int64))
