"""How well a model does on labelled files, a batch at a time. No terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.streaming.prediction import rows_of

if TYPE_CHECKING:
    from oneof.online import OnlineClassifier
    from oneof.readers import Batch


class Evaluation:
    """Mistakes, and, where the truth is known, coverage, errors and the confusion of classes.

    The truth of a row is what the file gives; in a batch where it gives none and every row has one
    label only, these labels.
    """

    def __init__(self, estimator: OnlineClassifier) -> None:
        self.estimator = estimator
        K = estimator.classes_.size
        self.n_rows = self.n_mistakes = self.n_labels = self.n_full = self.n_covered = 0
        self.confusion = np.zeros((K, K), dtype=np.int64)  # truth × prediction

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        sets = batch.candidates
        assert sets is not None, "evaluation reads labels"
        K, sizes = self.estimator.classes_.size, sets.sizes()
        predicted = self.estimator.model_.predict(rows_of(self.estimator, batch.X)).astype(np.int64)
        self.n_rows += len(sets)
        self.n_labels += sets.codes.size
        self.n_full += int(np.count_nonzero(sizes == K))
        self.n_mistakes += len(sets) - _n_inside(sets, predicted)
        truth = batch.truth
        if truth is None and np.all(sizes == 1):
            truth = sets.codes
        if truth is None:
            return
        self.n_covered += _n_inside(sets, truth.astype(np.int64))
        is_known = truth >= 0
        pairs = truth[is_known] * np.int64(K) + predicted[is_known]
        self.confusion += np.bincount(pairs, minlength=K * K).reshape(K, K)

    def report(self) -> dict[str, Any]:
        """Return all figures, by name; JSON can hold them."""
        n, n_known = self.n_rows, int(self.confusion.sum())
        report: dict[str, Any] = {
            "rows": n,
            "mistakes": _share(self.n_mistakes, n),
            "mean_size": _share(self.n_labels, n),
            "full": self.n_full,
            "known": n_known,
        }
        if n_known:
            right = int(np.trace(self.confusion))
            report |= {
                "error": _share(n_known - right, n_known),
                "coverage": _share(self.n_covered, n_known),
                "classes": self._by_class(),
                "confusion": self.confusion.tolist(),
            }
        return report

    def _by_class(self) -> list[dict[str, Any]]:
        right = np.diag(self.confusion).tolist()
        truths, predictions = self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        return [
            {
                "label": label,
                "rows": int(truths[k]),
                "predicted": int(predictions[k]),
                "recall": _share(right[k], int(truths[k])),
                "precision": _share(right[k], int(predictions[k])),
            }
            for k, label in enumerate(self.estimator.classes_.tolist())
        ]


def _n_inside(sets: Any, codes: Any) -> int:
    """Count the rows whose set holds the code."""
    return int(np.count_nonzero(sets.codes == np.repeat(codes, sets.sizes())))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
