"""Runs a specification: chooses λ, plays every run of every learner, in parallel; no files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof.experiments.rounds import Cell, Ints, Job, Play, checkpoints
from oneof.experiments.spec import EXACT, Spec, is_tuned
from oneof.experiments.workers import in_parallel

if TYPE_CHECKING:
    from oneof.experiments.examples import Examples

# The runs that count and those that choose λ never see the same draws.
_MAIN, _TUNING = 0, 1

OnRounds = Callable[[int], Any]


@dataclass(frozen=True, eq=False)
class Series:
    """What one cell did in every run.

    Attributes
    ----------
    dataset : str
    cell : Cell
    alpha : float or None
        λ, where the learner has one.
    rounds : int
        T.
    checkpoints : ndarray of shape (n_checkpoints,)
        Numbers of rounds; the last is T.
    errors : ndarray of shape (runs, n_checkpoints)
        How many of so many rounds were predicted wrongly, the true label being known here.
    mistakes : ndarray of shape (runs,)
        How many of all rounds were predicted outside their candidates.
    """

    dataset: str
    cell: Cell
    alpha: float | None
    rounds: int
    checkpoints: Ints
    errors: Ints
    mistakes: Ints

    @property
    def error_rates(self) -> npt.NDArray[np.float64]:
        """The error rate of each run up to each checkpoint."""
        return np.asarray(self.errors / self.checkpoints)

    @property
    def mistake_rates(self) -> npt.NDArray[np.float64]:
        """The mistake rate of each run."""
        return np.asarray(self.mistakes / self.rounds)


@dataclass(frozen=True)
class Tuning:
    """What each λ cost a cell: its rate of mistakes over all tuning runs."""

    dataset: str
    cell: Cell
    alphas: tuple[float, ...]
    mistake_rates: tuple[float, ...]

    @property
    def best(self) -> float:
        """The λ with the fewest mistakes, the smallest of equals."""
        return min(zip(self.mistake_rates, self.alphas, strict=True))[1]


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that a run of a specification found, in the specification's order."""

    spec: Spec
    series: tuple[Series, ...]
    tuning: tuple[Tuning, ...]


def run(
    spec: Spec,
    examples: Sequence[Examples],
    *,
    n_jobs: int = -1,
    on_rounds: OnRounds = lambda _: None,
) -> Results:
    """Choose λ, then play every run of every learner.

    Parameters
    ----------
    spec : Spec
    examples : sequence of Examples
        From `load_examples`.
    n_jobs : int, default=-1
        Workers; results do not depend on it. They are threads, unless joblib's ``parallel_config``
        around this call names another backend (loky, Dask, Ray …).
    on_rounds : callable
        Told, now and then, how many more of `count_rounds` have been played.

    Examples
    --------
    >>> from oneof.experiments import Spec, load_examples, run
    >>> spec = Spec.load("paper").narrowed(datasets=["ecoli"], sizes=[2], runs=3, rounds=100)
    >>> results = run(spec, load_examples(spec)[0])
    >>> [series.cell.learner for series in results.series][:3]
    ['perceptron-exact', 'pegasos-exact', 'avg-perceptron']
    >>> results.series[2].errors.shape == (3, results.series[2].checkpoints.size)
    True
    """
    tuning = _tuned(spec, examples, n_jobs, on_rounds)
    chosen = {(t.dataset, t.cell): t.best for t in tuning}
    plays = {e.name: _final_plays(spec, e, chosen) for e in examples}
    jobs = _jobs(spec, examples, _MAIN, spec.runs, plays)
    series: list[Series] = []
    for e, played in _in_parallel(jobs, n_jobs, on_rounds):
        ends = checkpoints(e.rounds)
        errors, mistakes = (np.stack(parts, axis=1) for parts in zip(*played, strict=True))
        series += (
            Series(e.name, play.cell, play.alpha, e.rounds, ends, errors[k], mistakes[k])
            for k, play in enumerate(plays[e.name])
        )
    return Results(spec, tuple(series), tuple(tuning))


def cells(spec: Spec, examples: Examples) -> list[Cell]:
    """List what is played on a data set: exact labels once, then every size."""
    exact = [Cell(1, name) for name in spec.learners if name in EXACT]
    others = [name for name in spec.learners if name not in EXACT]
    return exact + [Cell(size, name) for size in examples.sizes for name in others]


def count_rounds(spec: Spec, examples: Sequence[Examples]) -> int:
    """Count the rounds that `run` plays, tuning included."""
    tried = {e.name: _tuning_plays(spec, e) for e in examples}
    per_run = sum(e.rounds * len(cells(spec, e)) for e in examples)
    per_tuning_run = sum(e.rounds * len(tried[e.name]) for e in examples)
    return per_run * spec.runs + per_tuning_run * spec.tuning_runs


def _tuning_plays(spec: Spec, examples: Examples) -> tuple[Play, ...]:
    """List what must be tried before λ is known; nothing, if there is no choice."""
    if len(spec.alphas) == 1:
        return ()
    tuned = [cell for cell in cells(spec, examples) if is_tuned(cell.learner)]
    return tuple(Play(cell, alpha) for cell in tuned for alpha in spec.alphas)


def _final_plays(
    spec: Spec, examples: Examples, chosen: dict[tuple[str, Cell], float]
) -> tuple[Play, ...]:
    def alpha(cell: Cell) -> float | None:
        if not is_tuned(cell.learner):
            return None
        return chosen.get((examples.name, cell), spec.alphas[0])

    return tuple(Play(cell, alpha(cell)) for cell in cells(spec, examples))


def _tuned(
    spec: Spec, examples: Sequence[Examples], n_jobs: int, on_rounds: OnRounds
) -> list[Tuning]:
    plays = {e.name: _tuning_plays(spec, e) for e in examples}
    jobs = _jobs(spec, [e for e in examples if plays[e.name]], _TUNING, spec.tuning_runs, plays)
    tuning = []
    for e, played in _in_parallel(jobs, n_jobs, on_rounds):
        rates = np.mean([mistakes for _, mistakes in played], axis=0) / e.rounds
        by_cell = rates.reshape(-1, len(spec.alphas))
        for cell, row in zip(dict.fromkeys(p.cell for p in plays[e.name]), by_cell, strict=True):
            tuning.append(Tuning(e.name, cell, spec.alphas, tuple(row.tolist())))
    return tuning


def _jobs(
    spec: Spec,
    examples: Sequence[Examples],
    stage: int,
    n_runs: int,
    plays: dict[str, tuple[Play, ...]],
) -> list[Job]:
    return [
        Job(spec, e, (spec.seed, stage, i), plays[e.name]) for e in examples for i in range(n_runs)
    ]


def _in_parallel(
    jobs: list[Job], n_jobs: int, on_rounds: OnRounds
) -> Iterator[tuple[Examples, list[tuple[Ints, Ints]]]]:
    """Do the jobs; return each data set's outcomes in the order of `jobs`."""
    outcomes = in_parallel(jobs, n_jobs, lambda job: on_rounds(job.n_rounds))
    by_dataset: dict[str, tuple[Examples, list[tuple[Ints, Ints]]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        by_dataset.setdefault(job.examples.name, (job.examples, []))[1].append(outcome)
    return iter(by_dataset.values())
