"""Packed rows: raw forms taken apart, and the index arithmetic of indptr. No vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof import _kernels
from oneof.labels import Array, Ints, is_container, is_unknown, show

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_PLAIN = (set, list, tuple, frozenset)


def listed(sets: Any) -> list[Any]:
    """Return the rows of a sequence of sets."""
    if not is_container(type(sets)) or isinstance(sets, Set | Mapping) or hasattr(sets, "columns"):
        raise ValueError(
            f"candidate sets come as a sequence with one set per row, not as {show(sets)}: "
            "put them in a list"
        )
    if isinstance(sets, np.ndarray) and sets.ndim == 0:
        raise ValueError("candidate sets come as a sequence, not as an array without rows")
    return list(sets.tolist() if getattr(sets, "ndim", 0) == 1 else sets)


def members(part: Any, row: int) -> Collection[Any]:
    """Return the labels of one row; a bare label is its own singleton."""
    if type(part) in _PLAIN:
        return part  # type: ignore[no-any-return]
    if not is_container(type(part)):
        return (part,)
    if isinstance(part, Mapping):
        raise ValueError(
            f"row {row}: {show(part)} is a mapping: give the set of its candidates instead"
        )
    if not hasattr(part, "__array__"):
        return list(part)
    array = np.asarray(part)
    if array.ndim > 1:
        raise ValueError(f"row {row}: an array of labels has one dimension, not {array.ndim}")
    return list(np.atleast_1d(array).tolist())


def column_names(Y: Any) -> list[Any] | None:
    """Return the names of a DataFrame's columns; 0, 1, … is what it has without names."""
    names = list(getattr(Y, "columns", ()))
    return None if names == list(range(len(names))) else names


def marked(Y: Any) -> tuple[tuple[int, int], Ints, Ints]:
    """Return the shape of a table of 0 and 1, and the row and column of each 1."""
    try:
        table = Y if sparse.issparse(Y) else np.asarray(Y)
    except ValueError:
        raise ValueError("an indicator's rows must all have one entry per class") from None
    if table.ndim != 2:
        raise ValueError(
            f"an indicator has shape (n, n_classes), one row per set, not {table.shape}"
        )
    if sparse.issparse(Y):
        csr = sparse.csr_array(Y, copy=True)
        csr.sum_duplicates()
        rows, columns, values = row_of(csr.indptr), csr.indices.astype(np.int64), csr.data
        is_one = _are_ones(values, lambda i: (rows[i], columns[i]))
        return table.shape, rows[is_one], columns[is_one]
    is_one = _are_ones(table.ravel(), lambda i: divmod(i, table.shape[1])).reshape(table.shape)
    rows, columns = np.nonzero(is_one)
    return table.shape, rows, columns


def _are_ones(values: Array, place: Callable[[int], tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Tell which values are 1, once all are 0 or 1."""
    if values.dtype == object:  # pandas' NA has no truth value
        values = np.where(is_unknown(values), np.nan, values)
    is_one = np.asarray(values == 1, dtype=np.bool_)
    is_bad = ~(is_one | np.asarray(values == 0, dtype=np.bool_))
    if is_bad.any():
        i = int(np.argmax(is_bad))
        row, column = place(i)
        raise ValueError(
            f"row {row}, column {column}: an indicator holds 0 and 1 only, not {show(values[i])}"
        )
    return is_one


def refuse_empty(sizes: Ints) -> None:
    """Raise if a row has no candidate."""
    if sizes.size and sizes.min() < 1:
        raise ValueError(
            f"row {int(np.argmin(sizes))} has no candidate ({int(np.sum(sizes < 1))} such rows): "
            "every set needs at least one label; leave these rows out, or give them every class"
        )


def index_array(values: Any, name: str) -> Ints:
    """Return a copy as a 1-D array of int64."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a one-dimensional array of integers")
    return array.astype(np.int64)


def is_rising(keys: Ints) -> bool:
    """Tell whether each key is larger than the one before."""
    return bool(np.all(keys[1:] > keys[:-1]))


def ends(sizes: Ints) -> Ints:
    """Return indptr for rows of these sizes."""
    indptr = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def row_of(indptr: Ints) -> Ints:
    """Return the row of each packed code."""
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def csr_ones(indptr: Ints, codes: Array, shape: tuple[int, int]) -> Any:
    """Return the sparse uint8 indicator; it shares no memory with the packed rows."""
    ones = np.ones(codes.size, dtype=np.uint8)
    return sparse.csr_array((ones, codes, indptr), shape=shape, copy=True)


def rows(key: Any, n: int) -> Ints:
    """Return the rows that a slice, mask or index array selects among `n`."""
    if not isinstance(key, slice):
        is_tuple, key = isinstance(key, tuple), np.asarray(key)  # a tuple indexes dimensions
        key = key.astype(np.int64) if key.shape == (0,) else key
        if is_tuple or key.ndim != 1 or key.dtype.kind not in "biu":
            raise IndexError("rows are selected by an integer, a slice, a mask or an index array")
    selected: Ints = np.arange(n)[key]
    return selected


@dataclass(frozen=True, slots=True)
class Packed:
    """The packed codes of some rows: ``codes[indptr[i]:indptr[i + 1]]``, rising, are row i's."""

    indptr: Ints
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return self.indptr.size - 1


def known_run(codes: dict[Any, int], ys: list[Any], start: int) -> Packed:
    """Pack labels and sets, lists and tuples of labels from `start` to the first unknown label."""
    return Packed(*_kernels.codes_many(codes, ys, start))
