"""Avg linear separability: a witness with its margin, or a certificate. No learning, no bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse

from oneof.rules import Choice
from oneof.theory.margins import (
    Floats,
    Mask,
    candidate_mask,
    checked_stream,
    margins_to_rivals,
    squared_norms,
)

_CUTS = 200  # at least so many contrasts join the linear program at a time
_LARGEST_DENSE = 4_000_000  # entries of the dense problem that sharpens an answer
_MAX_STEPS = 100  # of sharpening
_SHARPNESS = 1e-9  # relative difference of limit and margin that counts as none
_SOLVER_TOLERANCE = 1e-7  # of the linear program's constraints; rows are at most 1 long there


@dataclass(frozen=True)
class Separability:
    """The largest avg margin over ‖W‖ = 1, held between `margin` and `limit`.

    Attributes
    ----------
    is_separable : bool
        Whether `W` separates every row, beyond rounding.
    W : ndarray of shape (n_classes, d), or None
        The witness, ‖W‖ = 1; None if there is none.
    margin : float
        The smallest margin of `W`, computed from it: a lower bound on the largest margin.
        −inf without a witness.
    limit : float
        ‖Σ weights·φ‖: no W with ‖W‖ = 1 has a larger margin on all the rows. If the rows are not
        separable it is zero up to rounding, which proves it.
    rows, rivals : ndarray of int
        The contrasts φ = x_row ⊗ (1_Y/|Y| − e_rival) of the certificate, rivals as class indices.
    weights : ndarray of shape (n_contrasts,)
        Their weights: none negative, sum 1.
    """

    is_separable: bool
    W: Floats | None
    margin: float
    limit: float
    rows: npt.NDArray[np.int64]
    rivals: npt.NDArray[np.int64]
    weights: Floats


def separability(X: Any, Y: Any, loss: str = "avg", *, fit_intercept: bool = False) -> Separability:
    """Decide whether some W gives every row a positive avg margin.

    A linear program looks for W, |w| ≤ 1 entrywise, with the largest margin γ:

        max γ such that φ·W ≥ γ for every contrast φ = x ⊗ (1_Y/|Y| − e_j), j ∉ Y.

    Either γ > 0, or the dual gives weights λ ≥ 0 with Σλ = 1 and Σλφ = 0 (Farkas). For any such
    weights min φ·W ≤ Σλφ·W ≤ ‖Σλφ‖‖W‖, so ‖Σλφ‖ bounds the margin of every unit W, and W along the
    shortest Σλφ has the largest; non-negative least squares finds it where that is cheap. Contrasts
    join the program as they are violated: few of them matter.

    Parameters
    ----------
    X, Y, fit_intercept
        As for `avg_margins`. With an intercept the witness has d + 1 columns.
    loss : {"avg"}
        Max separability is not convex; it is refused.

    Examples
    --------
    >>> found = separability([[1.0, 0.0], [0.0, 1.0]], [{0}, {1}])
    >>> found.is_separable, round(found.margin, 9), round(found.limit, 9)
    (True, 1.0, 1.0)
    >>> lost = separability([[1.0], [2.0]], [{0}, {1}])
    >>> lost.is_separable, round(lost.limit, 9), lost.weights.round(3)
    (False, 0.0, array([0.667, 0.333]))
    """
    if Choice({"avg": "avg", "max": "max"}).checked("loss", loss) == "max":
        raise ValueError("max separability is not convex and is not decided here: use loss='avg'")
    X, sets = checked_stream(X, Y, fit_intercept)
    return _Search(X, candidate_mask(sets)).result()


class _Search:
    """The contrasts (row, rival) that matter so far."""

    def __init__(self, X: Any, is_candidate: Mask) -> None:
        self.X, self.is_candidate = X, is_candidate
        self.average = is_candidate / is_candidate.sum(axis=1, keepdims=True)
        self.shape = (is_candidate.shape[1], X.shape[1])
        self.R = float(np.sqrt(squared_norms(X).max())) or 1.0
        # Margins within the rounding of their own computation prove nothing.
        self.rounding = 8 * sum(self.shape) * np.finfo(float).eps * self.R
        self.rows = self.rivals = np.empty(0, dtype=np.int64)

    def result(self) -> Separability:
        """Settle the question with the linear program, then sharpen the answer."""
        if self.is_candidate.all():
            W = _unit(np.ones(self.shape))
            return Separability(True, W, np.inf, np.inf, self.rows, self.rivals, np.empty(0))
        W, weights = self._sharpened(*self._programmed())
        weights = self._supported(weights)
        margin, limit = self._margin(W), float(np.linalg.norm(self._combined(weights)))
        is_separable = bool(margin > self.rounding)
        return Separability(
            is_separable,
            W if is_separable else None,
            margin if is_separable else -np.inf,
            limit,
            self.rows,
            self.rivals,
            weights,
        )

    def _programmed(self) -> tuple[Floats, Floats]:
        """Solve the linear program on ever more contrasts until W separates all rows or none."""
        mean_contrast = self.average - ~self.is_candidate / np.maximum(
            1, (~self.is_candidate).sum(axis=1, keepdims=True)
        )
        self._add_below(np.inf, _unit(np.asarray(self.X.T @ mean_contrast).T))
        while True:
            gamma, W, weights = _linear_program(self._contrasts() / self.R)
            W = _unit(W.reshape(self.shape))
            if self._margin(W) > self.rounding or gamma <= _SOLVER_TOLERANCE:
                return W, weights
            if not self._add_below(0.0, W):
                return W, weights

    def _sharpened(self, W: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Shorten Σλφ by non-negative least squares, until W along it has its length as margin."""
        weights = self._supported(weights)
        for _ in range(_MAX_STEPS):
            shortest = _shortest_combination(self._contrasts())
            if shortest is None:
                break
            weights = self._supported(shortest)
            V = self._combined(weights)
            limit = float(np.linalg.norm(V))
            if limit <= self.rounding:
                break
            W = max(W, V / limit, key=self._margin)
            if self._margin(W) >= (1 - _SHARPNESS) * limit:
                break
            n_new = self._add_below((1 - _SHARPNESS) * limit, V / limit)
            if n_new == 0:
                break
            weights = np.append(weights, np.zeros(n_new))
        return W, weights

    def _margin(self, W: Floats) -> float:
        return float(margins_to_rivals(self.X @ W.T, self.is_candidate).min())

    def _add_below(self, level: float, W: Floats) -> int:
        """Take up the worst contrasts whose margin is below `level`; return how many are new."""
        margins = margins_to_rivals(self.X @ W.T, self.is_candidate)
        rivals = np.argmin(margins, axis=1)
        worst = margins[np.arange(len(rivals)), rivals]
        n_classes = self.shape[0]
        known = self.rows * n_classes + self.rivals
        is_wanted = (worst < level) & ~np.isin(np.arange(len(rivals)) * n_classes + rivals, known)
        rows = np.flatnonzero(is_wanted)
        rows = rows[np.argsort(worst[rows], kind="stable")][: max(_CUTS, W.size)]
        self.rows, self.rivals = np.append(self.rows, rows), np.append(self.rivals, rivals[rows])
        return int(rows.size)

    def _supported(self, weights: Floats) -> Floats:
        """Forget the contrasts without weight; return the weights of the others."""
        is_kept = weights > 0
        self.rows, self.rivals = self.rows[is_kept], self.rivals[is_kept]
        return np.asarray(weights[is_kept])

    def _contrasts(self) -> Any:
        """Return one flattened φ = x ⊗ (1_Y/|Y| − e_j) per row, sparse."""
        X, c = sparse.csr_array(self.X[self.rows]), self.average[self.rows]
        c[np.arange(len(c)), self.rivals] -= 1
        return sparse.csr_array(sparse.hstack([sparse.diags_array(k) @ X for k in c.T]))

    def _combined(self, weights: Floats) -> Floats:
        """Return Σλφ in the shape of W."""
        return np.asarray(self._contrasts().T @ weights).reshape(self.shape)


def _linear_program(phi: Any) -> tuple[float, Floats, Floats]:
    """Return the largest γ with φ·w ≥ γ, |w| ≤ 1, its w, and the dual weights with Σλ = 1."""
    n, n_weights = phi.shape
    found = optimize.linprog(
        np.append(np.zeros(n_weights), -1.0),
        A_ub=sparse.hstack([-phi, np.ones((n, 1))], format="csc"),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * n_weights + [(None, None)],
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"the linear program failed: {found.message}")
    weights = np.maximum(0.0, -found.ineqlin.marginals)
    return -float(found.fun), np.asarray(found.x[:-1]), weights / weights.sum()


def _shortest_combination(phi: Any) -> Floats | None:
    """Minimise ‖Σλφ‖² + (Σλ − 1)² over λ ≥ 0 and rescale to Σλ = 1: the shortest such Σλφ."""
    n, n_weights = phi.shape
    if n * n_weights > _LARGEST_DENSE:
        return None
    table = np.vstack([phi.toarray().T, np.ones(n)])
    try:
        weights, _ = optimize.nnls(table, np.append(np.zeros(n_weights), 1.0))
    except RuntimeError:  # no convergence; what the linear program found still holds
        return None
    return np.asarray(weights / weights.sum())


def _unit(W: Floats) -> Floats:
    return np.asarray(W / (np.linalg.norm(W) or 1.0))
