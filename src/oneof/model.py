"""OnlineModel: a learner's weights and what has been counted; calls the kernels, reads no files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof import _kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneof.candidates import CandidateSets
    from oneof.packing import Packed
    from oneof.rows import Rows
    from oneof.rules import Learner

Array = npt.NDArray[Any]

# Far enough below the largest float for squares, sums of scores and scaled weights (W / 2⁻⁶⁰ and
# W / 2⁻¹⁰⁰).
_SAFE = {np.dtype(np.float32): 1e18, np.dtype(np.float64): 1e120}

# What the kernel keeps beside the weights: three numbers of the scale, three counters.
_NUMBERS = ("scale", "sums_share", "squared_norm", "t", "n_updates", "n_mistakes")


class OnlineModel:
    """The weights W = scale·V of one learner, its round number t and its counters.

    Parameters
    ----------
    learner : Learner
        Loss, rule and parameters; may be replaced between calls by one of the same `average` and
        `standardize`.
    n_classes, n_features : int
    dtype : numpy.dtype
        float32 or float64, of weights and rows.
    has_intercept : bool
        Whether a constant feature 1 goes before the others.
    is_centred : bool
        What `standardize` means: subtract the mean before scaling, or only scale, which leaves
        what is 0 at 0.
    """

    def __init__(
        self,
        learner: Learner,
        n_classes: int,
        n_features: int,
        dtype: npt.DTypeLike,
        has_intercept: bool,
        is_centred: bool = True,
    ) -> None:
        self._learner, self._kernel_learner = learner, _kernel_learner(learner)
        self.has_intercept = has_intercept
        dtype = np.dtype(dtype)
        width = _kernels.padded(n_classes, dtype.itemsize) * (1 + learner.average)
        self._scale, self._counters = np.array([1.0, 0.0, 0.0]), np.zeros(3, dtype=np.int64)
        room = _aligned_zeros((n_features + has_intercept, width), dtype)
        # Of each feature its spread and, if rows are centred, its mean; see moments.hpp.
        self._moments: Array | None = None
        if learner.standardize:
            self._moments = np.zeros((1 + is_centred, max(n_features, 1)))
        self._attach(room, n_features, n_classes)
        self._reach = 0.0  # no weight is larger

    def _attach(self, room: Array, n_features: int, n_classes: int) -> None:
        """Use the first rows of `room`; the others are 0, for features to come."""
        weights = room[: n_features + self.has_intercept]
        self._kernel = _kernels.Weights(
            weights,
            self._scale,
            self._counters,
            n_classes,
            self.has_intercept,
            self.learner.average,
            self._moments,
        )
        self._room, self._weights, self.n_classes = room, weights, n_classes

    @property
    def learner(self) -> Learner:
        """Loss, rule and parameters."""
        return self._learner

    @learner.setter
    def learner(self, learner: Learner) -> None:
        if learner != self._learner:
            self._learner, self._kernel_learner = learner, _kernel_learner(learner)

    @property
    def kernel(self) -> tuple[_kernels.Learner, _kernels.Weights]:
        """Learner and weights as the kernels take them, until either is replaced."""
        return self._kernel_learner, self._kernel

    @property
    def is_centred(self) -> bool:
        """Whether rows are lessened by their mean, and so every feature's moments move."""
        return self._moments is not None and len(self._moments) == 2

    @property
    def n_features(self) -> int:
        """Number of features, without the constant one."""
        return int(self._weights.shape[0]) - self.has_intercept

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of weights and rows."""
        return self._weights.dtype

    @property
    def nbytes(self) -> int:
        """Memory of the weights, with the room for more."""
        return int(self._room.nbytes)

    @property
    def t(self) -> int:
        """Rounds learnt in the model's life."""
        return int(self._counters[0])

    @property
    def n_updates(self) -> int:
        """Rounds whose loss (or mistake) moved the weights."""
        return int(self._counters[1])

    @property
    def n_mistakes(self) -> int:
        """Rounds whose prediction, made before learning, was not a candidate."""
        return int(self._counters[2])

    def grow(self, n_features: int, n_classes: int) -> None:
        """Add features and classes behind those there are; all of them, or none and raise.

        Their weights and averages are 0, and what was learnt stays as it is. So a late feature is
        one that was 0 in every row before, to the last bit; a late class is one that no round has
        moved yet: neither a candidate nor a rival before it came.

        Room for features is doubled, and for classes where their weights exceed a cache line, so
        that growing one by one costs no more than copying the weights a few times.
        """
        if n_features < self.n_features or n_classes < self.n_classes:
            raise ValueError(
                f"a model with {self.n_features} features and {self.n_classes} classes cannot "
                f"shrink to {n_features} and {n_classes}"
            )
        room, n_rows = self._room, n_features + self.has_intercept
        if n_rows > len(room) or n_classes > self._stride:
            room = self._larger_room(n_rows, n_classes)
        if self._moments is not None and n_features > self._moments.shape[1]:
            kept, self._moments = self._moments, np.zeros((len(self._moments), len(room)))
            self._moments[:, : kept.shape[1]] = kept
        self._attach(room, n_features, n_classes)

    @contextmanager
    def unchanged_on_error(self, *, is_whole: bool) -> Iterator[None]:
        """Have the size there was, should what follows raise; if it is not one call, weights too.

        One call to learn takes care of the weights itself.
        """
        room, n_features, n_classes = self._room, self.n_features, self.n_classes
        kept = None if is_whole else self.copies()
        try:
            yield
        except BaseException:
            self._attach(room, n_features, n_classes)
            if kept is not None:
                self.restore(kept)
                room[len(self._weights) :] = 0
            if self._moments is not None:
                self._moments[:, n_features:] = 0
            raise

    def _larger_room(self, n_rows: int, n_classes: int) -> Array:
        """Copy the weights to where at least so many rows and classes have room."""
        if n_rows > len(self._room):
            n_rows = max(n_rows, 2 * len(self._room))
        old, stride = self._stride, self._stride
        if n_classes > stride:  # up to a cache line, twice the old one is the only larger one
            stride = max(_kernels.padded(n_classes, self.dtype.itemsize), 2 * old)
        n_halves = 1 + self.learner.average
        room = _aligned_zeros((max(n_rows, len(self._room)), stride * n_halves), self.dtype)
        for half in range(n_halves):
            kept = self._weights[:, half * old : half * old + self.n_classes]
            room[: len(kept), half * stride : half * stride + self.n_classes] = kept
        return room

    @property
    def _stride(self) -> int:
        """Numbers from V to U in a feature's row; its classes and padding."""
        return int(self._room.shape[1]) // (1 + self.learner.average)

    def weights(self) -> tuple[Array, Array]:
        """Return the weights that predict as coef (n_classes, n_features) and intercept.

        They are those of the rows as they come: what scaling does to a row is part of them.
        """
        V, scale = self._weights[:, : self.n_classes], self._scale
        if self.learner.average:
            U = self._weights[:, self._stride : self._stride + self.n_classes]
            W = (U + scale[1] * V) / max(self.t, 1)
        else:
            W = V * self.dtype.type(scale[0])
        intercept = W[0].copy() if self.has_intercept else np.zeros(self.n_classes, W.dtype)
        coef = W[self.has_intercept :]
        if self._moments is not None:
            mean, deviation = self.moments()
            share = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
            coef = coef * share[:, None]
            intercept = intercept - mean @ coef
        return np.ascontiguousarray(coef.T, dtype=self.dtype), intercept.astype(self.dtype)

    def moments(self) -> tuple[Array, Array]:
        """Return what scaling subtracts from each feature (0 if not centred) and divides by."""
        assert self._moments is not None, "rows are taken as they are"
        spread, *mean = self._moments[:, : self.n_features]
        deviation = np.sqrt(spread / max(self.t, 1))
        return (mean[0].copy() if mean else np.zeros_like(deviation)), deviation

    def learn(
        self,
        rows: Rows,
        candidates: CandidateSets | Packed,
        order: npt.NDArray[np.int64] | None = None,
        sample_weight: npt.NDArray[np.float64] | None = None,
        *,
        is_progressive: bool = False,
    ) -> npt.NDArray[np.int32] | None:
        """Learn one round per row, or per entry of `order`; all of them, or none and raise.

        Returns the class predicted in each round before learning from it, if `is_progressive`.
        """
        n_rounds = len(rows) if order is None else len(order)
        rows, undo = self._prepared(rows, n_rounds, sample_weight)
        predictions = np.empty(n_rounds, dtype=np.int32) if is_progressive else None
        failed = _kernels.learn(
            self._kernel_learner,
            self._kernel,
            rows.kernel,
            candidates.indptr,
            candidates.codes,
            order=order,
            sample_weight=sample_weight,
            predictions=predictions,
        )
        if failed < 0:
            return predictions
        assert undo is not None, "checked rows within reach never fail"
        self.restore(undo)
        row = failed if order is None else int(order[failed])
        tidy, _ = rows.usable()  # raises if the row itself is at fault
        if tidy is not rows:
            return self.learn(tidy, candidates, order, sample_weight, is_progressive=is_progressive)
        raise _overflow(row)

    def scores(self, rows: Rows) -> Array:
        """Return the score of each row and class."""
        scores = np.empty((len(rows), self.n_classes), dtype=self.dtype)
        self._score(rows, scores=scores)
        return scores

    def predict(self, rows: Rows) -> npt.NDArray[np.int32]:
        """Return the class with the largest score of each row, the first one of equals."""
        predictions = np.empty(len(rows), dtype=np.int32)
        self._score(rows, predictions=predictions)
        return predictions

    def learn_one(
        self, columns: dict[Any, int] | int, codes: dict[Any, int], x: Any, y: Any, weight: Any
    ) -> bool:
        """Learn a dict of features and a label or labels; if one is unknown, do nothing: False.

        `columns` and `codes` number features and labels; features may also be hashed to so many
        columns.
        """
        self._reach = np.inf
        learner = self._kernel_learner
        return _kernels.learn_one(learner, self._kernel, columns, codes, x, y, weight) >= 0

    def predict_one(self, columns: dict[Any, int] | int, x: Any) -> int:
        """Return the class with the largest score; features without a column are left out."""
        return _kernels.predict_one(self._kernel, columns, x)

    def scores_one(self, columns: dict[Any, int] | int, x: Any) -> list[float]:
        """Return the score of each class."""
        return _kernels.scores_one(self._kernel, columns, x)

    def _score(self, rows: Rows, **results: Array) -> None:
        failed = _kernels.score(self._kernel, rows.kernel, **results)
        if failed < 0:
            return
        tidy, _ = rows.usable()  # raises if the row itself is at fault
        if tidy is rows:
            raise _overflow(failed)
        self._score(tidy, **results)

    def _prepared(
        self, rows: Rows, n_rounds: int, sample_weight: npt.NDArray[np.float64] | None
    ) -> tuple[Rows, tuple[Array | float, ...] | None]:
        """Make sure that a bad row can change nothing: return rows, and the state to return to.

        Kernels stop at a row that is not finite. Where the weights are small beside the rows it is
        cheapest to keep a copy of them; else the rows are read beforehand, and the copy is
        needed only when scores might overflow.
        """
        if self._weights.nbytes <= rows.nbytes / 4:
            self._reach = np.inf
            return rows, self.copies()
        rows, largest = rows.usable()
        if self._moments is not None:
            if largest > 1e140:  # the spread may overflow
                return rows, self.copies()
            largest = np.sqrt(self.t + n_rounds)  # no feature lies further from its mean
        step = self.learner.largest_step * largest
        if sample_weight is not None and len(sample_weight):
            step *= float(sample_weight.max())
        limit = _SAFE[self.dtype] / (
            (1.0 + largest) * (1 + rows.n_features) * (1 + self.t + n_rounds)
        )
        for known in (self._reach, None):
            reach = self._largest_weight() if known is None else known
            self._reach = reach + n_rounds * max(step, self.learner.largest_step)
            if self._reach < limit:
                return rows, None
        return rows, self.copies()

    def _largest_weight(self) -> float:
        V = self._weights
        return float(max(V.max(), -V.min()) * self._scale[0]) if V.size else 0.0

    def copies(self) -> tuple[Array | float, ...]:
        """Return what `restore` goes back to, while features and classes stay as they are."""
        # Before the first round all weights are 0 and need no copy.
        kept = [array.copy() if self.t else 0.0 for array in self._arrays()]
        return (*kept, self._scale.copy(), self._counters.copy())

    def restore(self, state: tuple[Array | float, ...]) -> None:
        """Go back to where `copies` were taken."""
        mine = (*self._arrays(), self._scale, self._counters)
        for array, kept in zip(mine, state, strict=True):
            array[...] = kept

    def _arrays(self) -> list[Array]:
        moments = [] if self._moments is None else [self._moments[:, : self.n_features]]
        return [self._weights, *moments]

    def state(self) -> dict[str, Any]:
        """Return every array and number that learning on depends on, by name; arrays are views.

        `from_state` continues from it as if nothing had happened, bit for bit. Who adds to what a
        model remembers adds it here: pickle, model files and checkpoints keep what this names.
        """
        K, stride = self.n_classes, self._stride
        arrays = {"weights": self._weights[:, :K]}
        if self.learner.average:
            arrays["sums"] = self._weights[:, stride : stride + K]
        if self._moments is not None:
            arrays["moments"] = self._moments[:, : self.n_features]
        numbers = (*self._scale.tolist(), *self._counters.tolist())
        return {**arrays, **dict(zip(_NUMBERS, numbers, strict=True))}

    @classmethod
    def from_state(
        cls, learner: Learner, has_intercept: bool, state: Mapping[str, Any]
    ) -> OnlineModel:
        """Make the model whose `state` was taken; its arrays are copied."""
        n_rows, n_classes = state["weights"].shape
        n_features = n_rows - has_intercept
        dtype, moments = state["weights"].dtype, state.get("moments", ())
        model = cls(learner, n_classes, n_features, dtype, has_intercept, len(moments) == 2)
        model._weights[:, :n_classes] = state["weights"]
        if learner.average:
            model._weights[:, model._stride : model._stride + n_classes] = state["sums"]
        if model._moments is not None:
            model._moments[:, :n_features] = moments
        numbers = [state[name] for name in _NUMBERS]
        model._scale[:], model._counters[:] = numbers[:3], numbers[3:]
        model._reach = np.inf  # unknown
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        return OnlineModel.from_state, (self.learner, self.has_intercept, self.state())


def _kernel_learner(learner: Learner) -> _kernels.Learner:
    loss, rule = getattr(_kernels.Loss, learner.loss), getattr(_kernels.Rule, learner.rule)
    options = dict(learner.options)
    if "variant" in options:
        options["variant"] = getattr(_kernels.Variant, options["variant"])
    return _kernels.Learner(loss, rule, **options)


def _overflow(row: int) -> ValueError:
    return ValueError(f"row {row} of X: its scores overflow: scale the features down")


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    n_bytes, unit = shape[0] * shape[1] * dtype.itemsize, _kernels.alignment
    room = np.zeros(n_bytes + unit, dtype=np.uint8)
    start = -room.ctypes.data % unit
    return room[start : start + n_bytes].view(dtype).reshape(shape)
