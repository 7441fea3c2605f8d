"""OnlineClassifier: scikit-learn's contract, the same for every learner; no arithmetic."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from oneof.candidates import CandidateSets, candidate_sets
from oneof.labels import given_classes
from oneof.metrics import candidate_accuracy, softmax
from oneof.model import OnlineModel
from oneof.rows import Rows
from oneof.rules import Learner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Array = npt.NDArray[Any]

# Everything else becomes the first.
_FLOATS: list[np.dtype[Any]] = [np.dtype(np.float64), np.dtype(np.float32)]
_CSR = (sparse.csr_array, sparse.csr_matrix)


class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What every learner of candidate sets shares; a subclass names its loss and rule.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Append a constant feature 1, treated like any other. The paper has none.
    max_iter : int, default=10
        Epochs of `fit`.
    shuffle : bool, default=True
        Draw a new order of the rows for each epoch of `fit`.
    average : bool, default=False
        Predict with the mean of the weights after each round.
    scale : {"none", "standardize"}, default="none"
        Learn from each feature minus its mean, divided by its standard deviation; both are those
        of the rows learnt so far, the row at hand included, and predictions take them as they
        are then. A feature that has not varied counts as 0. If the first rows are sparse, what is
        0 stays 0: each feature is divided by its root mean square only. `coef_` and `intercept_`
        are those of the rows as they come: `X @ coef_.T + intercept_` are the scores.
    warm_start : bool, default=False
        `fit` goes on from the model there is.
    random_state : int, RandomState or None, default=None
        Seeds the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features)
        Two classes have two rows, too.
    intercept_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has names.
    t_, n_updates_, n_mistakes_ : int
        Rounds; rounds that moved the weights; rounds whose prediction, made before learning, was
        not a candidate. Of the model's whole life.
    n_iter_ : int
        Epochs of the last call.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What a row is lessened and divided by, with `scale="standardize"`.

    Notes
    -----
    float32 rows stay float32, everything else is float64. Any chunking of a stream into calls
    gives the same bits. A call that raises has changed nothing. One estimator must not learn in
    two threads at once; two estimators may, the GIL is released.
    """

    _loss: str
    _rule: str

    def _set(self, **parameters: Any) -> None:
        """Keep what a constructor was given, as it is."""
        self.__dict__.update(parameters)

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn `max_iter` epochs, from scratch unless `warm_start`.

        Parameters
        ----------
        X : ndarray, sparse matrix or DataFrame of shape (n, n_features)
        y : candidate sets or labels
            `CandidateSets`, a sequence of sets, a 0/1 indicator, or 1-D exact labels.
        sample_weight : array-like of shape (n,), optional
            Multiplies the step of each row.
        """
        with self._unchanged_on_error():
            is_new = not (self.warm_start and hasattr(self, "model_"))
            rows, candidates, weight = self._batch(X, y, None, sample_weight, is_new, is_whole=True)
            rng = check_random_state(self.random_state)
            for _ in range(self.max_iter):
                order = rng.permutation(len(rows)) if self.shuffle else None
                self.model_.learn(rows, candidates, order, weight)
            self.n_iter_ = self.max_iter
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn each row once, in the given order, and go on from what was learnt before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            Every label that will ever occur; needed by the first call unless `y` is
            `CandidateSets`, which know theirs, or already names them all.
        """
        with self._unchanged_on_error():
            is_new = not hasattr(self, "model_")
            rows, candidates, weight = self._batch(X, y, classes, sample_weight, is_new)
            self.model_.learn(rows, candidates, sample_weight=weight)
            self.n_iter_ = 1
        return self

    def progressive_fit(self, X: Any, y: Any, classes: npt.ArrayLike | None = None) -> Array:
        """Learn as `partial_fit` does; return the label predicted for each row before learning it.

        These predictions are an honest estimate of the error: no row was seen before its own.
        """
        with self._unchanged_on_error():
            is_new = not hasattr(self, "model_")
            rows, candidates, _ = self._batch(X, y, classes, None, is_new)
            predictions = self.model_.learn(rows, candidates, is_progressive=True)
            self.n_iter_ = 1
        labels: Array = self.classes_[predictions]
        return labels

    def begin(
        self, classes: npt.ArrayLike, n_features: int, dtype: npt.DTypeLike = np.float64
    ) -> Self:
        """Become a model that has learnt nothing yet, for a stream to be fed to `learn_next`.

        Its features may grow in number, so `scale="standardize"` scales them and does not centre.
        """
        self.classes_ = given_classes(classes)
        self.n_features_in_ = n_features
        self.model_ = self.new_model(
            self.learner(), self.classes_.size, n_features, dtype, is_centred=False
        )
        self.n_iter_ = 1
        return self

    def learn_next(self, X: Any, candidates: CandidateSets) -> npt.NDArray[np.int32]:
        """Learn the next rows of a stream whose features may grow in number.

        Parameters
        ----------
        X : ndarray or csr_array
            Of the model's dtype. New columns come behind the known ones; CSR rows may have fewer.
        candidates : CandidateSets
            In the classes of the model.

        Returns
        -------
        ndarray of int32
            The class predicted for each row before learning it, as an index of `classes_`.
        """
        model: OnlineModel = self.model_
        if X.shape[1] > model.n_features:
            model.grow(X.shape[1], model.n_classes)
            self.n_features_in_ = X.shape[1]
        predicted = model.learn(
            Rows(X), candidate_sets(candidates, self.classes_), is_progressive=True
        )
        assert predicted is not None
        return predicted

    def predict(self, X: Any) -> Array:
        """Return the label with the largest score of each row."""
        codes = self._fitted().predict(self._rows(X))
        labels: Array = self.classes_[codes]
        return labels

    def decision_function(self, X: Any) -> Array:
        """Return the scores, of shape (n, n_classes); with two classes s₁ − s₀, of shape (n,)."""
        scores = self._fitted().scores(self._rows(X))
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows predicted inside their candidate set.

        With exact labels, this is the accuracy.
        """
        self._fitted()
        return candidate_accuracy(
            y, self.predict(X), classes=self.classes_, sample_weight=sample_weight
        )

    @property
    def coef_(self) -> Array:
        """The weights that predict, of shape (n_classes, n_features)."""
        return self._fitted().weights()[0]

    @property
    def intercept_(self) -> Array:
        """The weights of the constant feature, of shape (n_classes,)."""
        return self._fitted().weights()[1]

    @property
    def t_(self) -> int:
        """Rounds learnt in the model's life."""
        return self._fitted().t

    @property
    def n_updates_(self) -> int:
        """Rounds that moved the weights."""
        return self._fitted().n_updates

    @property
    def n_mistakes_(self) -> int:
        """Rounds whose prediction, made before learning, was not a candidate."""
        return self._fitted().n_mistakes

    @property
    def mean_(self) -> Array:
        """What is subtracted from each feature, with `scale="standardize"`."""
        return self._moments("mean_")[0]

    @property
    def scale_(self) -> Array:
        """What each feature is divided by, with `scale="standardize"`."""
        return self._moments("scale_")[1]

    def _moments(self, name: str) -> tuple[Array, Array]:
        model = self._fitted()
        if not model.learner.standardize:
            raise AttributeError(f'{name} is there with scale="standardize" only')
        return model.moments()

    def _fitted(self) -> OnlineModel:
        check_is_fitted(self)
        model: OnlineModel = self.model_
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Forget what a failing call has set; the model itself takes care of its weights."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _batch(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None,
        sample_weight: npt.ArrayLike | None,
        is_new: bool,
        is_whole: bool = False,
    ) -> tuple[Rows, CandidateSets, npt.NDArray[np.float64] | None]:
        """Check a batch and make the model ready for it."""
        learner = self.learner()
        rows = self._rows(X, is_new)
        if is_new:
            candidates = candidate_sets(y, classes)
            self.classes_ = candidates.classes
        else:
            self.refuse_change(learner, classes)
            candidates = candidate_sets(y, self.classes_)
        if len(candidates) != len(rows):
            raise ValueError(
                f"X has {len(rows)} rows, but y has {len(candidates)} candidate sets: "
                "give one per row"
            )
        weight: npt.NDArray[np.float64] | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight,
                rows.X,
                dtype=np.float64,
                ensure_non_negative=True,
                allow_all_zero_weights=not is_whole,  # one chunk of a stream may be all zeros
            )
        if is_new:
            is_centred = not sparse.issparse(rows.X)
            self.model_ = self.new_model(
                learner, self.classes_.size, rows.n_features, rows.X.dtype, is_centred=is_centred
            )
        self.model_.learner = learner
        return rows, candidates, weight

    def learner(self) -> Learner:
        """Check the parameters; return what they come to."""
        return Learner.make(self._loss, self._rule, vars(self))

    def new_model(
        self,
        learner: Learner,
        n_classes: int,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        is_centred: bool,
    ) -> OnlineModel:
        """Return a model of a `learner()` of this estimator's that has learnt nothing."""
        return OnlineModel(learner, n_classes, n_features, dtype, self.fit_intercept, is_centred)

    def model_of(self, learner: Learner, state: Mapping[str, Any]) -> OnlineModel:
        """Return the model of a `learner()` of this estimator's whose `state` was taken."""
        return OnlineModel.from_state(learner, bool(self.fit_intercept), state)

    @staticmethod
    def shares(scores: Array) -> Array:
        """Return scores as numbers that add up to 1 in each row: their softmax."""
        return softmax(scores)

    def refuse_change(self, learner: Learner, classes: npt.ArrayLike | None) -> None:
        """Raise if what a model keeps for life was changed: two parameters and the classes."""
        model: OnlineModel = self.model_
        names = ("none", "standardize")
        for name, then, now in (
            ("average", model.learner.average, learner.average),
            ("fit_intercept", model.has_intercept, self.fit_intercept),
            ("scale", *(names[m.standardize] for m in (model.learner, learner))),
        ):
            if then != now:
                raise ValueError(
                    f"{name} was {then} when this model began and is {now} now: "
                    "set it back, or begin a new model with fit"
                )
        self._refuse_other_classes(classes)

    def _refuse_other_classes(self, classes: npt.ArrayLike | None) -> None:
        if classes is None:
            return
        given = given_classes(classes)
        if set(given.tolist()) != set(self.classes_.tolist()):
            raise ValueError(
                f"classes are {given.tolist()} now, but were {self.classes_.tolist()} in the first "
                "call: name every class there, or begin a new model with fit"
            )

    def _rows(self, X: Any, is_new: bool = False) -> Rows:
        """Check the shape and type of X; the kernels check its values."""
        dtypes = _FLOATS if is_new else [self.model_.dtype]
        if not self._is_plain(X, dtypes, is_new):
            X = validate_data(
                self, X, reset=is_new, accept_sparse="csr", dtype=dtypes, ensure_all_finite=False
            )
        elif is_new:
            self.n_features_in_ = X.shape[1]
            if self._has_names():
                del self.feature_names_in_
        return Rows(X)

    def _is_plain(self, X: Any, dtypes: list[np.dtype[Any]], is_new: bool) -> bool:
        """Tell whether validate_data, which takes longer than a short pass, would only nod."""
        return (
            (type(X) is np.ndarray or isinstance(X, _CSR))
            and X.ndim == 2
            and X.dtype in dtypes
            and min(X.shape) > 0
            and (is_new or (X.shape[1] == self.n_features_in_ and not self._has_names()))
        )

    def _has_names(self) -> bool:
        return hasattr(self, "feature_names_in_")
