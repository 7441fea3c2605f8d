"""How well predictions and scores fit candidate sets: pure functions, and scorers made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof.candidates import CandidateSets, candidate_sets

Array = npt.NDArray[Any]


def softmax(scores: npt.ArrayLike) -> Array:
    """Return exp(s) over its sum for each row of scores.

    Examples
    --------
    >>> from oneof.metrics import softmax
    >>> softmax([[0.0, 0.0], [1000.0, 0.0]]).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    s = np.asarray(scores, dtype=np.float64)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    shares: Array = e / e.sum(axis=-1, keepdims=True)
    return shares


def candidate_accuracy(
    Y: Any,
    predictions: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Share of rows whose predicted label is a candidate; with exact labels, the accuracy.

    Parameters
    ----------
    Y : candidate sets or labels
        Anything that `oneof.candidates.candidate_sets` takes.
    predictions : array-like of shape (n,)
    classes : array-like, optional
        The labels of an indicator's columns; not needed for other forms.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> from oneof.metrics import candidate_accuracy
    >>> candidate_accuracy([{"a", "b"}, {"c"}], ["b", "a"])
    0.5
    """
    is_indicator = sparse.issparse(Y) or getattr(Y, "ndim", 1) == 2
    candidates = candidate_sets(Y, classes if is_indicator else None)
    is_inside = candidates.contains(predictions).astype(np.float64)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(is_inside, weights=weights))


def ambiguous_loss(
    Y: Any,
    predictions: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Share of mistakes, ŷ ∉ Y: the paper's L_A, the one error rate that needs no truth.

    Parameters are those of `candidate_accuracy`, which it completes to 1.

    Examples
    --------
    >>> from oneof.metrics import ambiguous_loss
    >>> ambiguous_loss([{"a", "b"}, {"c"}, {"a"}, {"a"}], ["b", "a", "a", "a"])
    0.25
    """
    accuracy = candidate_accuracy(Y, predictions, classes=classes, sample_weight=sample_weight)
    return 1.0 - accuracy


def coverage(Y: Any, y: npt.ArrayLike) -> float:
    """Share of rows whose candidate set contains the true label.

    Examples
    --------
    >>> from oneof.metrics import coverage
    >>> coverage([{"a", "b"}, {"c"}], ["b", "a"])
    0.5
    """
    return candidate_sets(Y).coverage(y)


def avg_hinge(Y: Any, scores: npt.ArrayLike, *, classes: npt.ArrayLike | None = None) -> float:
    """Mean of L_APH = [1 − (1/|Y|) Σ_{i∈Y} s_i + max_{j∉Y} s_j]₊.

    Parameters
    ----------
    Y : candidate sets or labels
    scores : array-like of shape (n, n_classes)
        From `decision_function`; of shape (n,), s₁ − s₀ of two classes.
    classes : array-like, optional
        The labels of the columns, where `Y` does not know them.

    Examples
    --------
    >>> from oneof.metrics import avg_hinge
    >>> avg_hinge([{"a", "b"}], [[2.0, 1.0, 0.25]], classes=["a", "b", "c"])
    0.0
    >>> avg_hinge([{"a", "b"}], [[2.0, 1.0, 1.25]], classes=["a", "b", "c"])
    0.75
    """
    candidates, s, is_candidate = _scored(Y, scores, classes)
    terms = np.add.reduceat(s[is_candidate], candidates.indptr[:-1]) / candidates.sizes()
    return _hinge(terms, s, is_candidate)


def max_hinge(Y: Any, scores: npt.ArrayLike, *, classes: npt.ArrayLike | None = None) -> float:
    """Mean of L_MPH = [1 − max_{i∈Y} s_i + max_{j∉Y} s_j]₊; the parameters are `avg_hinge`'s.

    Examples
    --------
    >>> from oneof.metrics import max_hinge
    >>> max_hinge([{"a", "b"}], [[2.0, 1.0, 1.25]], classes=["a", "b", "c"])
    0.25
    """
    candidates, s, is_candidate = _scored(Y, scores, classes)
    terms = np.maximum.reduceat(s[is_candidate], candidates.indptr[:-1])
    return _hinge(terms, s, is_candidate)


def log_loss(
    Y: Any, probabilities: npt.ArrayLike, *, classes: npt.ArrayLike | None = None
) -> float:
    """Mean of −log Σ_{k∈Y} p_k: how unlikely the candidate sets are; with exact labels, log-loss.

    Parameters
    ----------
    Y : candidate sets or labels
    probabilities : array-like of shape (n, n_classes)
        From `predict_proba`; of shape (n,), those of the second of two classes. What is below the
        smallest normal number counts as that.
    classes : array-like, optional
        The labels of the columns, where `Y` does not know them.

    Examples
    --------
    >>> from oneof.metrics import log_loss
    >>> round(log_loss([{"a", "b"}, {"c"}], [[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]]), 4)
    0.5697
    """
    p = np.asarray(probabilities, dtype=np.float64)
    candidates, p, is_candidate = _scored(
        Y, np.column_stack([1 - p, p]) if p.ndim == 1 else p, classes
    )
    inside = np.add.reduceat(p[is_candidate], candidates.indptr[:-1])
    return float(-np.log(np.clip(inside, np.finfo(np.float64).tiny, 1.0)).mean())


def _scored(
    Y: Any, scores: npt.ArrayLike, classes: npt.ArrayLike | None
) -> tuple[CandidateSets, Array, Array]:
    candidates = candidate_sets(Y, classes)
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim == 1:
        s = np.column_stack([np.zeros_like(s), s])
    shape = (len(candidates), candidates.classes.size)
    if s.shape != shape or not len(s):
        raise ValueError(
            f"scores have shape {np.shape(scores)}, but there are {shape[0]} rows and {shape[1]} "
            "classes: give one score per row and class, and name the columns with `classes`"
        )
    return candidates, s, candidates.to_indicator() == 1


def _hinge(terms: Array, s: Array, is_candidate: Array) -> float:
    rivals = np.where(is_candidate, -np.inf, s).max(axis=1)
    return float(np.maximum(0.0, 1.0 - terms + rivals).mean())


def neg_ambiguous_loss(estimator: Any, X: Any, Y: Any) -> float:
    """Scorer for model selection without the truth: minus `ambiguous_loss`.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from oneof import CandidateSets, MaxPegasos
    >>> from oneof.metrics import neg_ambiguous_loss
    >>> X, Y = [[0.0], [1.0]] * 10, CandidateSets.from_sets([{"a", "b"}, {"c"}] * 10)
    >>> search = GridSearchCV(MaxPegasos(), {"alpha": [0.01, 0.1]}, scoring=neg_ambiguous_loss)
    >>> float(search.fit(X, Y).best_score_)
    0.0
    """
    return -ambiguous_loss(Y, estimator.predict(X), classes=estimator.classes_)


def neg_avg_hinge(estimator: Any, X: Any, Y: Any) -> float:
    """Scorer: minus `avg_hinge`."""
    return -avg_hinge(Y, estimator.decision_function(X), classes=estimator.classes_)


def neg_max_hinge(estimator: Any, X: Any, Y: Any) -> float:
    """Scorer: minus `max_hinge`."""
    return -max_hinge(Y, estimator.decision_function(X), classes=estimator.classes_)


def neg_log_loss(estimator: Any, X: Any, Y: Any) -> float:
    """Scorer: minus `log_loss`."""
    return -log_loss(Y, estimator.predict_proba(X), classes=estimator.classes_)
