"""What a loaded data set is, and the checks that raw arrays pass to become one. No reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof.candidates import CandidateSets

if TYPE_CHECKING:
    from oneof.datasets.catalogue import Entry

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]


class DatasetUnavailable(OSError):  # noqa: N818 - it says what is the case, as a caller reads it
    """A data set is not here and cannot be fetched; the message says how to get it."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    name : str
        Its name in `names`.
    X : ndarray or CSR array of shape (n, d)
        The features; pixels lie in [0, 1]. d is 0 where a set has labels only.
    y : ndarray of shape (n,)
        The true label of each row: its index in `classes`, −1 where it is not known.
    classes : ndarray of shape (n_classes,)
        The names of the classes.
    candidates : CandidateSets or None
        The real candidate sets over the labels 0, 1, … of `y`, where the set has them.
    is_test : ndarray of bool or None
        Marks the rows of the official test part, where there is one.
    source : str
        Where the arrays came from.
    licence : str
        What is known of the licence.
    """

    name: str
    X: Any
    y: npt.NDArray[np.int64]
    classes: npt.NDArray[np.str_]
    candidates: CandidateSets | None
    is_test: npt.NDArray[np.bool_] | None
    source: str
    licence: str

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name}: {n} rows, {d} features, {self.classes.size} classes)"


def built(entry: Entry, arrays: Arrays, source: str) -> Dataset:
    """Check `arrays` against the catalogue and give them their final form.

    Parameters
    ----------
    entry : Entry
        What the data set must be.
    arrays : mapping
        y; X, or a CSR matrix as X_data, X_indices, X_indptr, X_shape; optionally is_test and the
        0/1 table Y of candidates.
    source : str
        Where they came from, for the reader of the `Dataset`.

    Raises
    ------
    ValueError
        The arrays are not this data set.
    """
    y = arrays["y"]
    if y.shape != (entry.n_rows,) or y.dtype.kind not in "iu":
        raise ValueError(f"y has shape {y.shape} and type {y.dtype}, not {entry.n_rows} integers")
    X, y = _features(arrays, entry.n_rows), y.astype(np.int64)
    if X.shape != (entry.n_rows, entry.n_features):
        raise ValueError(f"X has shape {X.shape}, not {(entry.n_rows, entry.n_features)}")
    if _counts(y, len(entry.classes)) != entry.counts:
        raise ValueError(f"its classes do not have {', '.join(map(str, entry.counts))} rows")
    if not np.all(np.isfinite(X.data if sparse.issparse(X) else X)):
        raise ValueError("X holds values that are not finite")
    return Dataset(
        name=entry.name,
        X=_in_unit_range(X) if entry.is_pixels else _as_float(X),
        y=y,
        classes=np.array(entry.classes),
        candidates=_candidates(entry, arrays),
        is_test=_test_part(entry, arrays, y),
        source=source,
        licence=entry.licence,
    )


def _features(arrays: Arrays, n: int) -> Any:
    if "X_data" in arrays:
        parts = (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"])
        return sparse.csr_array(parts, shape=tuple(arrays["X_shape"].tolist()))
    X = arrays.get("X", np.empty((n, 0)))
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X holds {X.dtype}, not numbers")
    return X


def _as_float(X: Any) -> Any:
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _counts(y: Array, n_classes: int) -> tuple[int, ...]:
    if y.size and y.min() < 0:
        return ()
    return tuple(np.bincount(y, minlength=n_classes).tolist())


def _in_unit_range(X: Array) -> Array:
    """Scale pixels from 0..255 or [−1, 1], as copies of the digits come, to [0, 1]."""
    low, high = float(X.min()), float(X.max())
    if not (low >= 0 and high <= 255) and not (low >= -1 and high <= 1):
        raise ValueError(f"its pixels lie in [{low:g}, {high:g}]")
    scaled = X.astype(np.float32)
    if high > 1:
        scaled /= np.float32(255)
    elif low < 0:
        scaled += 1
        scaled /= 2
    return scaled


def _candidates(entry: Entry, arrays: Arrays) -> CandidateSets | None:
    if not entry.has_candidates:
        return None
    if "Y" not in arrays or len(arrays["Y"]) != entry.n_rows:
        raise ValueError(f"it has no table Y of {entry.n_rows} rows of candidates")
    return CandidateSets.from_indicator(arrays["Y"], classes=np.arange(len(entry.classes)))


def _test_part(entry: Entry, arrays: Arrays, y: Array) -> npt.NDArray[np.bool_] | None:
    if "is_test" in arrays:
        is_test = arrays["is_test"].astype(np.bool_)
        if is_test.shape != y.shape:
            raise ValueError(f"is_test has shape {is_test.shape}, not {y.shape}")
        return is_test
    n_train = sum(entry.train_counts)
    # Another order of rows has no official split.
    if n_train and _counts(y[:n_train], len(entry.classes)) == entry.train_counts:
        return np.arange(y.size) >= n_train
    return None
