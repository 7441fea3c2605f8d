"""The offline optimum of avg Pegasos' objective, with a duality gap; no streams, no bounds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse
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

_MOST_FREE = 400  # variables that a leap moves together
_LEAPS = 20  # in a row, at most
_ROUNDING = 1e-14  # of dual variables, which are 1 at most


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
    coordinate ascent, Shalev-Shwartz and Zhang 2013, with the gaps choosing the rows). Once few
    variables are neither 0 nor settled, Newton steps move them together.

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
    rng = np.random.default_rng(random_state)
    ascent = _DualAscent(rows, candidate_mask(sets), alpha)
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
        ascent.leap()
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
        self._refresh()
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

    def leap(self) -> None:
        """Move all free dual variables together: Newton's step, cut short where it leaves the set.

        A row whose variables sum to 1 keeps that sum; variables at 0 stay there.
        """
        for _ in range(_LEAPS):
            rows, rivals, is_full, anchors = self._free()
            if not 0 < rows.size <= _MOST_FREE:
                return
            self._refresh()
            hinges = self._hinges(self.X @ self.V, self.average, self.is_candidate)
            slope = hinges[rows, rivals] - np.where(is_full, hinges[rows, anchors], 0.0)
            C, each = self.average[rows], np.arange(rows.size)
            C[is_full] = 0.0
            C[each[is_full], anchors[is_full]] = 1.0
            C[each, rivals] -= 1.0
            X = self.X[rows]
            gram = X @ X.T
            H = self.scale * (gram.toarray() if sparse.issparse(gram) else gram) * (C @ C.T)
            H[each, each] += 1e-10 * H.trace() / rows.size
            try:
                step = linalg.cho_solve(linalg.cho_factor(H, overwrite_a=True), slope)
            except linalg.LinAlgError:  # singular beyond repair: the row updates go on alone
                return
            D = np.zeros_like(self.A)
            D[rows, rivals] = step
            np.subtract.at(D, (rows[is_full], anchors[is_full]), step[is_full])
            growth = D.sum(axis=1)
            growth[rows[is_full]] = 0.0  # but for rounding
            room = min(_room(self.A, D), _room(1.0 - self.A.sum(axis=1), -growth))
            self.A = _feasible(self.A + min(1.0, room) * D)
            if room >= 1.0:
                return

    def _free(self) -> tuple[Array, Array, Array, Array]:
        """Return rows and rivals of free variables, if the row is full, and its largest rival."""
        rows, rivals = np.nonzero(self.A)
        anchors = np.argmax(self.A, axis=1)[rows]
        is_full = (self.A.sum(axis=1) >= 1 - _ROUNDING)[rows]
        is_free = ~(is_full & (rivals == anchors)) & (self.curvature[rows] > 0)
        return rows[is_free], rivals[is_free], is_full[is_free], anchors[is_free]

    def _refresh(self) -> None:
        contrasts = self.average * self.A.sum(axis=1, keepdims=True) - self.A
        self.V = np.ascontiguousarray(self.scale * (self.X.T @ contrasts))

    @staticmethod
    def _hinges(scores: Floats, average: Floats, is_candidate: Array) -> Floats:
        """Return 1 − the margin to each rival, −inf at candidates, of one row or of all.

        `margins_to_rivals` is three times slower on a single row.
        """
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


def _room(values: Floats, change: Floats) -> float:
    """Return how many times `change` fits before one of the `values` falls below 0."""
    falls = change < 0
    return float(np.min(np.maximum(0.0, values[falls]) / -change[falls], initial=np.inf))


def _feasible(A: Floats) -> Floats:
    """Return A without negative variables, rows scaled to sums of at most 1.

    A long step's rounding may leave the set, and then the dual value would be no lower bound.
    """
    A = np.where(_ROUNDING > A, 0.0, A)
    return np.asarray(A / np.maximum(1.0, A.sum(axis=1, keepdims=True)))


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
