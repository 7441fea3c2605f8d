"""Predictions for files, a batch at a time, as named columns. No terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof.rows import Rows

if TYPE_CHECKING:
    from oneof.online import OnlineClassifier

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Wanted:
    """What to write for each row: the label, the `top` labels with their scores, all scores."""

    top: int = 0
    scores: bool = False


def checked(wanted: Wanted, estimator: OnlineClassifier) -> Wanted:
    """Raise if there are not so many classes."""
    n = estimator.classes_.size
    if wanted.top > n:
        raise ValueError(f"--top {wanted.top}: the model has {n} classes only")
    return wanted


def rows_of(estimator: OnlineClassifier, X: Any) -> Rows:
    """Return rows for a model, without the features that it does not know."""
    n = estimator.model_.n_features
    return Rows(X if X.shape[1] <= n else X[:, :n])


def columns_of(estimator: OnlineClassifier, X: Any, wanted: Wanted) -> dict[str, Array]:
    """Return the predictions for a batch, one array per column."""
    model, classes = estimator.model_, estimator.classes_
    rows = rows_of(estimator, X)
    if not wanted.top and not wanted.scores:
        return {"prediction": classes[model.predict(rows)]}
    scores = model.scores(rows)
    columns: dict[str, Array] = {"prediction": classes[np.argmax(scores, axis=1)]}
    if wanted.top:
        # A stable sort has the first of equals first, as prediction has.
        order = np.argsort(-scores, axis=1, kind="stable")[:, : wanted.top]
        best = np.take_along_axis(scores, order, axis=1)
        for place in range(wanted.top):
            suffix = f"_{place + 1}" if place else ""
            columns[f"prediction{suffix}"] = classes[order[:, place]]
            columns[f"score{suffix}"] = best[:, place]
    if wanted.scores:
        columns |= {f"score:{label}": scores[:, k] for k, label in enumerate(classes.tolist())}
    return columns
