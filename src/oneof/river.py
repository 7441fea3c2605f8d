"""River's contract for the learners, and metrics for candidate sets; no arithmetic of learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneof.estimators import AvgPerceptron
from oneof.open_classifier import OpenClassifier

try:
    from river import base, metrics
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ImportError(
        "oneof.river needs River: install it with pip install 'oneof[river]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from oneof.online import OnlineClassifier

__all__ = ["AverageSetSize", "CandidateAccuracy", "Candidates", "RiverClassifier"]


class Candidates(frozenset[Any]):
    """A set of candidate labels that equals each of its labels.

    River's ensembles and drift detectors ask ``y_pred == y``; of a plain set that is never true.
    With these, it says whether the prediction is a candidate.

    Examples
    --------
    >>> from oneof.river import Candidates
    >>> y = Candidates({"cat", "dog"})
    >>> "cat" == y, "fox" != y, y == {"cat", "dog"}
    (True, True, True)
    """

    def __eq__(self, other: object) -> bool:
        return other in self if not isinstance(other, set | frozenset) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


class RiverClassifier(base.MiniBatchClassifier):
    """Any learner of this package as a River classifier of labels and of candidate sets.

    Features and classes may appear at any time, see `oneof.OpenClassifier`, which does the work.

    Parameters
    ----------
    estimator
        Such as `oneof.MaxPegasos(alpha=0.01)`.
    classes
        Every label that will ever occur, where they are known: all are rivals from the first row.
    max_features
        Bound the memory by hashing features to so many columns.

    Examples
    --------
    >>> import random
    >>> from river import datasets, evaluate, preprocessing
    >>> import oneof
    >>> from oneof.river import CandidateAccuracy, RiverClassifier

    >>> rng, labels = random.Random(0), sorted({y for _, y in datasets.ImageSegments()})
    >>> stream = [(x, {y, rng.choice(labels)}) for x, y in datasets.ImageSegments()]
    >>> model = preprocessing.StandardScaler() | RiverClassifier(oneof.AvgPerceptron(average=True))
    >>> evaluate.progressive_val_score(stream, model, CandidateAccuracy())
    CandidateAccuracy: 81.98%

    """

    def __init__(
        self,
        estimator: OnlineClassifier,
        classes: list[Any] | None = None,
        max_features: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.max_features = max_features
        self._open = OpenClassifier(estimator, classes, max_features)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"estimator": AvgPerceptron()}

    @property
    def _raw_memory_usage(self) -> int:
        return self._open.nbytes

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row from a label or from a set, list or tuple of labels, one of which is true.

        Parameters
        ----------
        x
            A dictionary of features.
        y
            A label or candidate labels.
        w
            Multiplies the step.

        """
        self._open.learn_one(x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:  # type: ignore[override]
        """Predict the label of a row; None before there are classes.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self._open.predict_one(x)

    def predict_proba_one(  # type: ignore[override]
        self, x: Mapping[Any, Any]
    ) -> dict[Any, float]:
        """Return the softmax of the labels' scores: it orders them, but is not calibrated.

        Parameters
        ----------
        x
            A dictionary of features.

        """
        return self._open.predict_proba_one(x)

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn rows in their order: the same bits as by `learn_one`, one after the other.

        Parameters
        ----------
        X
            A dataframe of features.
        y
            A series of labels or of sets of labels.

        """
        self._open.learn_many(X, y)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the label of each row.

        Parameters
        ----------
        X
            A dataframe of features.

        """
        import pandas as pd

        return pd.Series(self._open.predict_many(X), index=X.index, dtype=object)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the softmax of the labels' scores for each row, see `predict_proba_one`.

        Parameters
        ----------
        X
            A dataframe of features.

        """
        import pandas as pd

        shares = self._open.predict_proba_many(X)
        return pd.DataFrame(shares, index=X.index, columns=self._open.classes_)


def _labels(y: Any) -> Any:
    return y if isinstance(y, set | frozenset | list | tuple) else (y,)


class CandidateAccuracy(metrics.base.MeanMetric, metrics.base.MultiClassMetric):
    """Share of predictions that are candidates; with exact labels, the accuracy.

    River's own metrics compare the prediction with the whole set, and find it wrong always.

    Examples
    --------
    >>> from oneof.river import CandidateAccuracy
    >>> metric = CandidateAccuracy()
    >>> for y_true, y_pred in [({"a", "b"}, "b"), ({"a", "b"}, "c"), ("c", "c")]:
    ...     metric.update(y_true, y_pred)
    >>> metric
    CandidateAccuracy: 66.67%

    """

    def _eval(self, y_true: Any, y_pred: Any) -> bool:
        return y_pred in _labels(y_true)


class AverageSetSize(metrics.base.MeanMetric, metrics.base.MultiClassMetric):
    """Average number of candidates, to tell how much `CandidateAccuracy` is worth: 1 is exact.

    Examples
    --------
    >>> from oneof.river import AverageSetSize
    >>> metric = AverageSetSize()
    >>> for y_true in ({"a", "b"}, "c", {"a", "b", "c"}):
    ...     metric.update(y_true, None)
    >>> metric
    AverageSetSize: 2.

    """

    _fmt = ",.2f"

    @property
    def bigger_is_better(self) -> bool:
        """Large sets say little."""
        return False

    def _eval(self, y_true: Any, y_pred: Any) -> int:  # noqa: ARG002
        return len(set(_labels(y_true)))
