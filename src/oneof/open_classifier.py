"""OpenClassifier: rows are dicts, features and classes come when they come; no arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof import frames, packing
from oneof.labels import Array, checked, encode, given_classes, refuse_unknown
from oneof.online import OnlineClassifier
from oneof.rows import Rows, plain_name
from oneof.rules import Number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneof.model import OnlineModel

_MAX_FEATURES = Number(least=1, most=2**31 - 1, is_integer=True)


class OpenClassifier:
    """Learn from one row at a time, whose features and classes need not be known beforehand.

    A row is a dict of features; what is missing counts as 0. A feature that appears late counts as
    one that was 0 in every row before. A class that appears late was never a rival before. All
    arithmetic is the estimator's: fed the same rows as arrays, it learns the same weights.

    Parameters
    ----------
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos, ..., Hedge
        The learner and its parameters. It is not changed; `max_iter`, `shuffle`, `warm_start` and
        `random_state` say nothing here.
    classes : array-like, optional
        Every label that will ever occur; others are refused then. Without it, a label becomes a
        class when it first appears, in this order; those that appear at once are sorted.
    max_features : int, optional
        Bound the memory: names are hashed to so many columns, those that share one are summed,
        half of them with the sign turned, as by scikit-learn's `FeatureHasher`. Without it, every
        feature that was ever learnt with a value other than 0 has a column of its own.

    Attributes
    ----------
    classes_ : list
        The labels, in the order of their codes.
    feature_names_ : list or None
        The names of the features, in the order of their columns; None if they are hashed.
    model_ : OnlineModel or None
        The weights; None before there are classes.

    Examples
    --------
    >>> from oneof import MaxPerceptron, OpenClassifier
    >>> model = OpenClassifier(MaxPerceptron())
    >>> model.learn_one({"barks": 1.0, "legs": 4}, {"dog", "fox"})
    >>> model.learn_one({"meows": 1.0, "legs": 4}, {"cat"})
    >>> model.learn_one({"barks": 2.0}, "dog")
    >>> model.predict_one({"meows": 1.0}), model.predict_one({"barks": 1.0, "new": 1.0})
    ('cat', 'dog')
    >>> model.classes_, model.feature_names_
    (['dog', 'fox', 'cat'], ['barks', 'legs', 'meows'])
    """

    def __init__(
        self, estimator: OnlineClassifier, classes: Any = None, max_features: int | None = None
    ) -> None:
        if not isinstance(estimator, OnlineClassifier):
            raise ValueError(
                f"estimator must be a learner such as oneof.AvgPerceptron(), not {estimator!r}"
            )
        self.estimator, self.classes, self.max_features = estimator, classes, max_features
        self._learner = estimator.learner()
        self._columns: dict[Any, int] | int = {}
        if max_features is not None:
            self._columns = int(_MAX_FEATURES.checked("max_features", max_features))
        self._codes: dict[Any, int] = {}
        self.classes_: list[Any] = []
        self.model_: OnlineModel | None = None
        if classes is not None:
            self._name_classes(given_classes(classes).tolist())
            self._make_room()

    @classmethod
    def from_parts(
        cls,
        estimator: OnlineClassifier,
        model: OnlineModel | None,
        labels: Iterable[Any],
        names: Iterable[Any] | None = None,
        **parameters: Any,
    ) -> OpenClassifier:
        """Make the classifier that had this `model_`, `classes_` and `feature_names_`."""
        made = cls(estimator, **parameters)
        made._name_classes([label for label in labels if label not in made._codes])
        made._name_features(names or ())
        made.model_ = model
        return made

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Numbers by name: a string, an integer or a tuple of these.
        y : label, or set, list or tuple of labels
            The candidates: one of them is true.
        w : float, default=1.0
            Multiplies the step.
        """
        model = self.model_
        if model is None or not model.learn_one(self._columns, self._codes, x, y, w):
            self._learn_unknown(x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the label with the largest score, the first of equals; None without classes."""
        model = self.model_
        return None if model is None else self.classes_[model.predict_one(self._columns, x)]

    def scores_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the score of each label."""
        model = self.model_
        if model is None:
            return {}
        return dict(zip(self.classes_, model.scores_one(self._columns, x), strict=True))

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the softmax of the scores by label: they order the labels, but are not calibrated.

        Scores grow with the rows and the steps; how sure these numbers look says nothing. Those of
        `Hedge` are shares of a vote and stay as they are.
        """
        scores = self.scores_one(x)
        if not scores:
            return {}
        shares = self.estimator.shares(np.array([list(scores.values())]))[0].tolist()
        return dict(zip(scores, shares, strict=True))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a DataFrame in their order: the same bits as one by one.

        Parameters
        ----------
        X : DataFrame of shape (n, n_features)
            The columns' names are the features'.
        y : Series, array or list of length n
            Labels, or sets of labels.
        """
        names, values = frames.checked(X)
        ys, n = packing.listed(y), values.shape[0]
        if len(ys) != n:
            raise ValueError(f"X has {n} rows, but y has {len(ys)}: give one per row")
        if not ys:
            return
        run = packing.known_run(self._codes, ys, 0)
        with self._unchanged_on_error(is_whole=len(run) == n):
            if isinstance(self._columns, dict) and not self._columns.keys() >= set(names):
                self._name_features(frames.names_in_order(names, values))
            rows = frames.matrix(names, values, self._columns)
            start, stop = 0, len(run)
            while stop < n:
                self._learn_run(rows[start:stop], run)
                ys[stop] = self._join(ys[stop], stop)
                run = packing.known_run(self._codes, ys, stop)
                start, stop = stop, stop + len(run)
            self._learn_run(rows[start:], run)

    def predict_many(self, X: Any) -> list[Any]:
        """Return the label of each row of a DataFrame."""
        rows = self._rows(X)
        if self.model_ is None:
            return [None] * len(rows)
        return [self.classes_[code] for code in self.model_.predict(rows).tolist()]

    def predict_proba_many(self, X: Any) -> Array:
        """Return the softmax of each row's scores, a column per class; see `predict_proba_one`."""
        rows = self._rows(X)
        if self.model_ is None:
            return np.empty((len(rows), 0))
        return self.estimator.shares(self.model_.scores(rows))

    @property
    def nbytes(self) -> int:
        """Memory of the weights, the names and the classes."""
        held = [
            self._columns,
            self._codes,
            self.classes_,
            *self._codes,
            *(self.feature_names_ or ()),
        ]
        weights = 0 if self.model_ is None else self.model_.nbytes
        return weights + sum(map(sys.getsizeof, held))

    @property
    def _n_names(self) -> int:
        return len(self._columns) if isinstance(self._columns, dict) else 0

    @property
    def feature_names_(self) -> list[Any] | None:
        """The names of the columns, in their order; None if they are hashed."""
        return list(self._columns) if isinstance(self._columns, dict) else None

    def _rows(self, X: Any) -> Rows:
        return Rows(frames.matrix(*frames.checked(X), self._columns))

    def _learn_run(self, rows: Any, candidates: packing.Packed) -> None:
        """Learn rows whose labels all have codes."""
        if len(candidates):
            self._make_room().learn(Rows(rows), candidates)

    def _learn_unknown(self, x: Any, y: Any, w: float) -> None:
        """Learn a row with new features or labels, which join if it can be learnt."""
        with self._unchanged_on_error():
            if isinstance(x, Mapping):
                self._name_features(name for name, value in x.items() if not _is_zero(value))
            labels = self._join(y, None)
            if not self._make_room().learn_one(self._columns, self._codes, x, labels, w):
                raise ValueError("the row of features changed meanwhile")

    def _join(self, y: Any, row: int | None) -> list[Any]:
        """Return the labels of y, all of which are classes now."""
        place = "y" if row is None else f"row {row}"
        members = list(packing.members(y, row or 0))
        if not members:
            raise ValueError(f"{place} has no candidate: give it a label, or leave the row out")
        # Strings throughout or integers throughout, so one that is a class already goes along.
        known = self.classes_[:1]
        labels = checked([*known, *members], lambda i: place if i >= len(known) else "before")
        labels = [str(label) for label in labels] if isinstance(labels, list) else labels.tolist()
        labels = labels[len(known) :]
        new = sorted({label for label in labels if label not in self._codes})
        if new and self.classes is not None:
            vocabulary = given_classes(self.classes)
            refuse_unknown(encode(new, vocabulary), new, vocabulary, lambda _: place)
        self._name_classes(new)
        return labels

    def _name_classes(self, labels: Iterable[Any]) -> None:
        for label in labels:
            self._codes[label] = len(self._codes)
            self.classes_.append(label)

    def _name_features(self, names: Iterable[Any]) -> None:
        if isinstance(self._columns, dict):
            for name in names:
                if name not in self._columns:
                    self._columns[plain_name(name)] = len(self._columns)

    def _make_room(self) -> OnlineModel:
        """Return the model, with a weight for each feature and class."""
        n_features = self._columns if isinstance(self._columns, int) else len(self._columns)
        n_classes = len(self.classes_)
        if self.model_ is None:
            self.model_ = self.estimator.new_model(
                self._learner, n_classes, n_features, np.float64, is_centred=False
            )
        elif (self.model_.n_features, self.model_.n_classes) != (n_features, n_classes):
            self.model_.grow(n_features, n_classes)
        return self.model_

    @contextmanager
    def _unchanged_on_error(self, *, is_whole: bool = True) -> Iterator[None]:
        """Forget new names and classes if learning fails; where it is not one call, weights too."""
        n_features, n_classes, model = self._n_names, len(self.classes_), self.model_
        try:
            with nullcontext() if model is None else model.unchanged_on_error(is_whole=is_whole):
                yield
        except BaseException:
            self.model_ = model
            while isinstance(self._columns, dict) and len(self._columns) > n_features:
                self._columns.popitem()
            while len(self.classes_) > n_classes:
                del self._codes[self.classes_.pop()]
            raise


def _is_zero(value: Any) -> bool:
    try:
        return bool(value == 0)
    except (TypeError, ValueError):  # no number: the kernel's walk says so
        return False
