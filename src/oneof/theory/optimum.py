"""The offline optimum of avg Pegasos' objective, with a duality gap; no streams, no bounds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from oneof.rules import Number
from oneof.theory.margins import (
    Array,
    Floats,
    candidate_mask,
    checked_stream,
    squared_norms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class OfflineOptimum:
    """Weights, and the proof of how good they are.

    Attributes
    ----------
    W : ndarray of shape (n_classes, d)
        The best weights found.
    primal : float
        Their objective: at least the minimum.
    dual : float
        A proven lower bound on the minimum, so regret against it is never understated.
    gap : float
        ``primal − dual``.
    """

    W: Floats
    primal: float
    dual: float
    gap: float


def offline_optimum(
    X: Any,
    Y: Any,
    alpha: float,
    tol: float = 1e-3,
    *,
    fit_intercept: bool = False,
    max_passes: int = 10_000,
    random_state: int | None = 0,
) -> OfflineOptimum:
    """Minimise P(W) = λ/2‖W‖² + (1/n) Σ_t max_{j∉Y_t} [1 − φ_tj·W]₊.

    Here φ_tj = x_t ⊗ (1_Y/|Y| − e_j) and φ_tj·W is the row's margin to rival j. The dual is

        max D(α) = −λ/2‖W(α)‖² + (1/n) Σ α_tj, α_tj ≥ 0, Σ_j α_tj ≤ 1, W(α) = Σ α_tj φ_tj/(λn),

    solved row by row: with all other rows fixed, a row's best α_t has a closed form. Each pass
    measures every row's share of the gap and updates those with a large one (stochastic dual
    coordinate ascent, Shalev-Shwartz and Zhang 2013, with the gaps choosing the rows).

    Parameters
    ----------
    X, Y, fit_intercept
        As for `avg_margins`. The intercept is a feature like any other, and regularised.
    alpha : float
        λ > 0.
    tol : float, default=1e-3
        Stop when the gap is at most `tol` times the primal value.
    max_passes : int, default=10000
        Warn and return what there is after so many passes.
    random_state : int, default=0
        Orders the rows of a pass.

    Examples
    --------
    >>> best = offline_optimum([[1.0], [-1.0]], [{0}, {1}], alpha=1.0, tol=1e-9)
    >>> best.W
    array([[ 0.5],
           [-0.5]])
    >>> best.primal, best.dual
    (0.25, 0.25)
    """
    rows, sets = checked_stream(X, Y, fit_intercept)
    alpha = Number(above=0).checked("alpha", alpha)
    tol = Number(above=0).checked("tol", tol)
    passes = int(Number(least=1, is_integer=True).checked("max_passes", max_passes))
    rng, ascent = (
        np.random.default_rng(random_state),
        _DualAscent(rows, candidate_mask(sets), alpha),
    )
    best_W, best_primal = ascent.V, np.inf
    for _ in range(passes):
        primal, dual, row_gaps = ascent.measured()
        if primal < best_primal:
            best_W, best_primal = ascent.V.copy(), primal
        gap = best_primal - dual
        if gap <= tol * best_primal:
            break
        # Rows at or below half the mean hold at most half of the whole gap.
        ascent.update(rng.permutation(np.flatnonzero(row_gaps > row_gaps.mean() / 2)))
    else:
        warnings.warn(
            f"the gap is still {gap:.3g} after {passes} passes: raise max_passes, alpha or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return OfflineOptimum(best_W.T.copy(), float(best_primal), float(dual), float(gap))


class _DualAscent:
    """The dual variables A (n, K) and the weights V (d, K) they stand for."""

    def __init__(self, X: Any, is_candidate: Array, alpha: float) -> None:
        n = X.shape[0]
        self.X, self.scale, self.alpha = X, 1.0 / (alpha * n), alpha
        self.is_candidate, self.sizes = is_candidate, is_candidate.sum(axis=1)
        self.average = is_candidate / self.sizes[:, None]
        self.curvature = self.scale * squared_norms(X)
        self.A = np.zeros(is_candidate.shape)
        # A row of zeros has the hinge 1 whatever W is: its best dual weight is 1 on any rival.
        empty = np.flatnonzero((self.curvature == 0) & ~is_candidate.all(axis=1))
        self.A[empty, np.argmin(is_candidate[empty], axis=1)] = 1.0
        self.parts = list(_row_parts(X))
        self.V = np.zeros((X.shape[1], is_candidate.shape[1]))

    def measured(self) -> tuple[float, float, Floats]:
        """Recompute V from A; return primal and dual values and the gap of each row."""
        self.V = np.ascontiguousarray(self.scale * (self.X.T @ self._contrasts()))
        hinges = self._hinges(self.X @ self.V, self.average, self.is_candidate)
        worst = np.max(hinges, axis=1, initial=0.0)
        norm = 0.5 * self.alpha * float(np.vdot(self.V, self.V))
        weighted = np.einsum("ij,ij->i", self.A, np.where(self.is_candidate, 0.0, hinges))
        return norm + worst.mean(), self.A.sum() / len(worst) - norm, worst - weighted

    def update(self, rows: Array) -> None:
        """Set each row's dual variables to their best values, one row after the other."""
        for t in rows:
            features, values = self.parts[t]
            a, q, average = self.A[t], self.curvature[t], self.average[t]
            contrast = average * a.sum() - a
            scores = values @ self.V[features] - q * contrast
            a_new = best_dual_row(
                self._hinges(scores, average, self.is_candidate[t]), self.sizes[t], q
            )
            change = (self.scale * values)[:, None] * (average * a_new.sum() - a_new - contrast)
            self.V[features] += change
            self.A[t] = a_new

    def _contrasts(self) -> Floats:
        return np.asarray(self.average * self.A.sum(axis=1, keepdims=True) - self.A)

    @staticmethod
    def _hinges(scores: Floats, average: Floats, is_candidate: Array) -> Floats:
        """Return 1 − avg score + rival score for each rival; −inf at candidates."""
        mean = np.sum(scores * average, axis=-1, keepdims=True)
        return np.where(is_candidate, -np.inf, 1.0 - mean + scores)


def best_dual_row(hinges: Floats, size: int, q: float) -> Floats:
    """Maximise Σ α_j ℓ_j − (q/2)(Σ α_j² + (Σ α_j)²/|Y|) over α ≥ 0, Σ α ≤ 1.

    The solution is α_j = [ℓ_j − θ]₊/q; θ and its support come from the sorted hinges ℓ.
    """
    falling = -np.sort(-hinges)
    if falling[0] <= 0:
        return np.zeros_like(hinges)
    sums, counts = np.cumsum(falling), np.arange(1, falling.size + 1)
    theta = _last_below(sums / (size + counts), falling)
    alphas = np.maximum(hinges - theta, 0.0)
    if alphas.sum() > q:
        alphas = np.maximum(hinges - _last_below((sums - q) / counts, falling), 0.0)
    return np.asarray(alphas / q)


def _last_below(thetas: Floats, falling: Floats) -> float:
    """Return the θ of the largest support whose every hinge exceeds it."""
    return float(thetas[np.count_nonzero(falling > thetas) - 1])


def _row_parts(X: Any) -> Iterator[tuple[Any, Floats]]:
    """Yield each row as (features, values); a dense row has all features."""
    for t in range(X.shape[0]):
        if sparse.issparse(X):
            start, stop = X.indptr[t], X.indptr[t + 1]
            yield X.indices[start:stop], X.data[start:stop]
        else:
            yield slice(None), X[t]
