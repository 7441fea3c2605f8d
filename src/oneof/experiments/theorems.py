"""The paper's theorems on streams of known margin and noise: what happens beside the bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from oneof import theory
from oneof.experiments.workers import finished_workers
from oneof.model import OnlineModel
from oneof.rows import Rows
from oneof.rules import Learner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneof.theory import Stream

_STREAMS = 3  # streams for every point; the worst is shown
_K, _D, _N = 10, 40, 1000  # classes, features and rounds of the streams of Theorems 1 and 2
_MARGINS = (0.01, 0.02, 0.04, 0.08, 0.16)
_SIZES = (1, 2, 4, 8)
_MARGIN, _SLACK = 0.16, 0.24  # a noisy round has the margin −0.08
_NOISE = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_ALPHA = 0.01
_ROUNDS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_EPOCHS = 1000  # a separable stream is repeated until nothing changes, which comes long before


class TheoremRow(NamedTuple):
    """What was measured at one point, and the bounds there: the worst of several streams.

    Theorem 1 is over margins γ, Theorem 2 over the share of noisy rounds, both for sets of one size
    and counting updates, of which mistakes are a part; Theorem 3 is over T, for one way to shrink,
    and measures average regret. `covered` tells whether the theorem speaks of this learner at all.
    """

    theorem: int
    setting: str
    x: float
    measured: float
    mistakes: int | None
    bound: float
    paper_bound: float | None
    covered: bool


def theorem_rows(seed: int = 0, n_jobs: int = -1) -> list[TheoremRow]:
    """Play the learners of all three theorems.

    Parameters
    ----------
    seed : int, default=0
        Seeds the streams.
    n_jobs : int, default=-1
        Workers, as for `run`.
    """
    points: list[tuple[Callable[..., Iterable[TheoremRow]], tuple[float, ...]]] = [
        *((_third, (s,)) for s in range(_STREAMS)),
        *((_first, (size, margin)) for size in _SIZES for margin in _MARGINS),
        *((_second, (size, share)) for size in _SIZES for share in _NOISE),
    ]
    # Many small products: BLAS threads would only wait for each other.
    with threadpool_limits(1), finished_workers():
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        played = list(parallel(delayed(play)(seed, *point) for play, point in points))
    third = [list(rows) for rows in played[:_STREAMS]]
    return [
        *(row for rows in played[_STREAMS:] for row in rows),
        *(max(same, key=lambda row: row.measured / row.bound) for same in zip(*third, strict=True)),
    ]


def _first(seed: int, size: int, margin: float) -> list[TheoremRow]:
    streams = (
        theory.make_stream(_N, _D, _K, size, margin, random_state=_rng(seed, 1, s))
        for s in range(_STREAMS)
    )
    return [_worst(1, size, margin, streams, _EPOCHS)]


def _second(seed: int, size: int, share: float) -> list[TheoremRow]:
    def stream(s: int) -> Stream:
        rng = _rng(seed, 2, s)
        slack = np.where(rng.random(_N) < share, _SLACK, 0.0)
        return theory.make_stream(_N, _D, _K, size, _MARGIN, slack, random_state=rng)

    return [_worst(2, size, share, map(stream, range(_STREAMS)), 1)]


def _rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _worst(theorem: int, size: int, x: float, streams: Iterable[Stream], epochs: int) -> TheoremRow:
    """Return the stream that comes nearest to its bound."""
    rows = []
    for s in streams:
        updates, mistakes = _perceptron(s, epochs)
        tight = theory.mistake_bound(s.X, s.Y, s.W, gamma=s.gamma)
        paper = theory.mistake_bound(s.X, s.Y, s.W, gamma=s.gamma, form="paper")
        setting = f"sets of {size}"
        rows.append(TheoremRow(theorem, setting, x, updates, mistakes, tight, paper, True))
    return max(rows, key=lambda row: row.measured / row.bound)


def _perceptron(s: Stream, epochs: int) -> tuple[int, int]:
    """Count updates and mistakes of Avg Perceptron until nothing changes, or for some epochs."""
    learner = Learner("avg", "perceptron", False, {"eta0": 1.0, "update": False})
    model = OnlineModel(learner, s.W.shape[0], s.X.shape[1], s.X.dtype, False)
    rows, n_before = Rows(s.X), -1
    while model.n_updates > n_before and model.t < epochs * len(rows):
        n_before = model.n_updates
        model.learn(rows, s.Y)
    return model.n_updates, model.n_mistakes


def _third(seed: int, number: int) -> list[TheoremRow]:
    """Measure regret against a proven lower bound of the optimum, so never too little of it."""
    T = _ROUNDS[-1]
    s = theory.make_stream(T, 8, 4, 2, 0.3, random_state=_rng(seed, 3, number))
    optima = [theory.offline_optimum(s.X[:n], s.Y[:n], _ALPHA, tol=0.02).dual for n in _ROUNDS]
    rows = []
    for shrink, is_always in (("always", True), ("on-loss", False)):
        objectives = _pegasos(s, is_always)
        for n, optimum in zip(_ROUNDS, optima, strict=True):
            k = theory.stream_constants(s.X[:n], s.Y[:n], s.W, s.gamma)
            regret = float(objectives[:n].mean() - optimum)
            bound, paper = (
                theory.regret_bound(n, _ALPHA, k.R, k.c, form) for form in ("standard", "paper")
            )
            rows.append(TheoremRow(3, shrink, n, regret, None, bound, paper, is_always))
    return rows


def _pegasos(s: Stream, is_always: bool) -> npt.NDArray[np.float64]:
    """Return f_t(W^t) of every round: λ/2‖W‖² and the avg hinge, before the round is learnt."""
    learner = Learner("avg", "pegasos", False, {"alpha": _ALPHA, "shrink": is_always})
    model = OnlineModel(learner, s.W.shape[0], s.X.shape[1], s.X.dtype, False)
    is_candidate = s.Y.to_indicator().astype(np.bool_)
    objectives = np.empty(len(s.X))
    for t, (x, mask) in enumerate(zip(s.X, is_candidate, strict=True)):
        W, _ = model.weights()
        scores = W @ x
        margin = scores[mask].mean() - scores[~mask].max(initial=-math.inf)
        objectives[t] = 0.5 * _ALPHA * np.vdot(W, W) + max(0.0, 1.0 - margin)
        model.learn(Rows(s.X[t : t + 1]), s.Y[t : t + 1])
    return objectives
