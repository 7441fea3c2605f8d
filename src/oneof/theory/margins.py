"""Margins of fixed weights on labelled rows; here too, rows and weights are checked. No bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof.candidates import CandidateSets, candidate_sets

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def avg_margins(
    W: npt.ArrayLike, X: Any, Y: Any, *, normalise: bool = False, fit_intercept: bool = False
) -> Floats:
    """Return the avg margin of each row: (1/|Y|) Σ_{i∈Y} w_i·x − max_{j∉Y} w_j·x.

    A row whose set holds every class has no rival; its margin is +inf.

    Parameters
    ----------
    W : array-like of shape (n_classes, d)
        One row of weights per class, in the order of the candidate sets' classes, as in ``coef_``.
    X : array-like or sparse of shape (n, d)
        The rows.
    Y : CandidateSets, or anything an estimator takes as y
        The candidates of each row.
    normalise : bool, default=False
        Divide by the Frobenius norm ‖W‖. The margins of SPEC §4 are those of ‖W‖ = 1; without it
        the margins are those of W as it is, so that the avg hinge is ``max(0, 1 − margin)``.
    fit_intercept : bool, default=False
        Append a constant feature 1 to X; W then has d + 1 columns, the last for the constant.

    Examples
    --------
    >>> W = [[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]
    >>> avg_margins(W, [[1.0, 1.0], [1.0, 0.0]], [[0, 1, 2], [0, 1]])
    array([inf, 1.5])
    >>> avg_margins(W, [[1.0, 1.0], [1.0, 0.0]], [[0, 1, 2], [0, 1]], normalise=True)
    array([inf, 0.3])
    """
    return _margins("avg", W, X, Y, normalise, fit_intercept)


def max_margins(
    W: npt.ArrayLike, X: Any, Y: Any, *, normalise: bool = False, fit_intercept: bool = False
) -> Floats:
    """Return the max margin of each row: max_{i∈Y} w_i·x − max_{j∉Y} w_j·x.

    Parameters
    ----------
    W, X, Y, normalise, fit_intercept
        As for `avg_margins`.

    Examples
    --------
    >>> W = [[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]
    >>> max_margins(W, [[1.0, 1.0], [1.0, 0.0]], [[0, 1, 2], [0, 1]])
    array([inf,  3.])
    """
    return _margins("max", W, X, Y, normalise, fit_intercept)


def margins_of_scores(scores: Floats, is_candidate: Mask, loss: str) -> Floats:
    """Return the margins of (n, n_classes) scores; +inf where no class is a rival."""
    return np.asarray(margins_to_rivals(scores, is_candidate, loss).min(axis=1))


def margins_to_rivals(scores: Floats, is_candidate: Mask, loss: str = "avg") -> Floats:
    """Return the candidate term m(s, Y) minus each rival's score; +inf at candidates."""
    if loss == "avg":
        term = np.mean(scores, axis=1, where=is_candidate, keepdims=True)
    else:
        term = np.max(scores, axis=1, where=is_candidate, initial=-np.inf, keepdims=True)
    return np.where(is_candidate, np.inf, term - scores)


def checked_stream(X: Any, Y: Any, fit_intercept: bool = False) -> tuple[Any, CandidateSets]:
    """Return the rows as a float64 array or ``csr_array``, and their candidate sets."""
    rows, sets = _checked_rows(X), candidate_sets(Y)
    n = rows.shape[0]
    if n != len(sets):
        raise ValueError(f"X has {n} rows, but Y has {len(sets)}: give one candidate set per row")
    if n == 0:
        raise ValueError("X has no rows: give at least one")
    if not fit_intercept:
        return rows, sets
    ones = np.ones((n, 1))
    if sparse.issparse(rows):
        return sparse.csr_array(sparse.hstack([rows, sparse.csr_array(ones)])), sets
    return np.hstack([rows, ones]), sets


def checked_weights(W: npt.ArrayLike, X: Any, Y: CandidateSets) -> Floats:
    """Return W as float64 if it fits the rows and the classes."""
    weights, expected = np.asarray(W, dtype=np.float64), (Y.classes.size, X.shape[1])
    if weights.shape != expected:
        raise ValueError(
            f"W has shape {weights.shape}, but these rows and candidate sets need {expected}: give "
            "one row of weights per class, and a CandidateSets that names every class of W"
        )
    if not np.isfinite(weights).all():
        raise ValueError("W holds NaN or infinity: give finite weights")
    return weights


def unit_weights(W: Floats) -> Floats:
    """Return W/‖W‖ (Frobenius)."""
    norm = np.linalg.norm(W)
    if norm == 0:
        raise ValueError("W is zero and has no direction: give weights that are not all zero")
    return np.asarray(W / norm)


def candidate_mask(Y: CandidateSets) -> Mask:
    """Return the (n, n_classes) table that is True at candidates."""
    return np.asarray(Y.to_indicator(), dtype=np.bool_)


def squared_norms(X: Any) -> Floats:
    """Return ‖x‖² of each row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _margins(
    loss: str, W: npt.ArrayLike, X: Any, Y: Any, normalise: bool, fit_intercept: bool
) -> Floats:
    rows, sets = checked_stream(X, Y, fit_intercept)
    weights = checked_weights(W, rows, sets)
    if normalise:
        weights = unit_weights(weights)
    return margins_of_scores(rows @ weights.T, candidate_mask(sets), loss)


def _checked_rows(X: Any) -> Any:
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        bad = np.flatnonzero(~np.isfinite(rows.data))
        row_of_bad = np.searchsorted(rows.indptr, bad[:1], side="right") - 1
    else:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"X must have shape (n, n_features), not {rows.shape}")
        row_of_bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if row_of_bad.size:
        raise ValueError(
            f"row {row_of_bad[0]} of X holds NaN or infinity: fill it in or leave the row out"
        )
    return rows
