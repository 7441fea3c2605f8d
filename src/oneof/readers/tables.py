"""Features of Arrow columns to dense or CSR rows, and what is wrong with them. No labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from oneof import _kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneof.labels import Array, Ints

_LARGEST = 2**31 - 2


class Faults:
    """The first thing that is wrong with each row of a batch."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._reasons: dict[int, str] = {}

    def add(self, is_bad: Any, reason: str) -> None:
        """Note a reason for the rows of a mask."""
        for i in np.flatnonzero(np.asarray(is_bad)):
            self._reasons.setdefault(int(i), reason)

    def add_one(self, row: int, reason: str) -> None:
        """Note a reason for one row."""
        self._reasons.setdefault(row, reason)

    def good(self) -> Any:
        """Return the mask of the rows with no fault."""
        good = np.ones(self._n, dtype=np.bool_)
        good[list(self._reasons)] = False
        return good

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(sorted(self._reasons.items()))


class Rows(Protocol):
    """Rows of a batch, some of them bad."""

    def X(self, n_features: int, good: Any) -> Any:  # noqa: N802 - the word of the mathematics
        """Return the good rows as an array."""


class Table(Protocol):
    """How columns become rows."""

    names: list[str] | None
    columns: list[str]
    width: int

    def rows(self, batch: Any, faults: Faults) -> Rows:
        """Read the rows of a record batch, and note which are bad."""


def table_of(
    schema: Any,
    special: set[str | None],
    names: list[str] | None,
    n_features: int | None,
    new_features: str,
    dtype: np.dtype[Any],
) -> Table:
    """Find out how the columns of a schema, the special ones aside, hold features."""
    import pyarrow as pa

    kinds = {field.name: field.type for field in schema if field.name not in special}
    if len(schema.names) != len(set(schema.names)):
        raise ValueError("two columns have the same name: rename one")
    if set(kinds) == {"indices", "values"} and all(map(_is_list, kinds.values())):
        return Sparse(n_features, new_features == "ignore", dtype)
    if len(kinds) == 1 and (_is_list(kind := next(iter(kinds.values()))) or _is_fixed(kind)):
        return Listed(next(iter(kinds)), n_features, dtype)
    used = list(kinds) if names is None else names
    absent = [name for name in used if name not in kinds]
    extra = [name for name in kinds if name not in set(used)]
    if absent:
        raise ValueError(f"has no column {absent[0]!r}, which is a feature")
    if extra and new_features != "ignore":
        raise ValueError(f"the column {extra[0]!r} is not one of the {len(used)} features")
    if not used:
        raise ValueError("has no column of features")
    if n_features not in (None, len(used)):
        raise ValueError(f"has {len(used)} columns of features, where {n_features} are expected")
    for name in used:
        kind = kinds[name]
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (is_number or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
            raise ValueError(
                f"the column {name!r} holds {kind}, not numbers: "
                "encode it, or leave it out with ignore_columns"
            )
    return Dense(used, dtype)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_fixed(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_fixed_size_list(kind))


def _numbers(column: Any, dtype: np.dtype[Any]) -> Array:
    """Return a column as numbers, NaN where it is null; no copy where none is needed."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    array: Array = column.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        return array.astype(dtype, copy=False)


_NOT_FINITE = "is null, not finite or too large: drop the row, or impute the value"


class Dense:
    """A column for each feature."""

    def __init__(self, names: list[str], dtype: np.dtype[Any]) -> None:
        self.names: list[str] | None = names
        self.columns, self._dtype, self.width = names, dtype, len(names)

    def rows(self, batch: Any, faults: Faults) -> Rows:
        """Read the rows of a record batch."""
        X = np.empty((batch.num_rows, self.width), self._dtype)
        for j, name in enumerate(self.columns):
            X[:, j] = _numbers(batch.column(name), self._dtype)
        if _kernels.Rows.dense(X).check()[0]:
            is_bad = ~np.isfinite(X)
            for i in np.flatnonzero(is_bad.any(axis=1)):
                name = self.columns[int(np.argmax(is_bad[i]))]
                faults.add_one(int(i), f"the value of column {name!r} {_NOT_FINITE}")
        return _DenseRows(X)


@dataclass(frozen=True)
class _DenseRows:
    values: Array

    def X(self, n_features: int, good: Any) -> Array:  # noqa: ARG002, N802 - columns say it
        return self.values if good.all() else self.values[good]


class Listed:
    """A column with a list of all features in each row."""

    names: list[str] | None = None

    def __init__(self, name: str, n_features: int | None, dtype: np.dtype[Any]) -> None:
        self.columns, self._dtype = [name], dtype
        self.width = n_features or 0

    def rows(self, batch: Any, faults: Faults) -> Rows:
        """Read the rows of a record batch."""
        column = batch.column(self.columns[0])
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        if _is_fixed(column.type):
            sizes = np.where(is_null, 0, column.type.list_size)
        else:
            sizes = column.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        self.width = self.width or int(sizes.max(initial=0))
        faults.add(
            sizes != self.width, f"the row does not have {self.width} features, as others do"
        )
        flat = _numbers(column.flatten(), self._dtype)
        kept = np.repeat(sizes == self.width, sizes)
        X = np.zeros((batch.num_rows, self.width), self._dtype)
        if kept.all() and not is_null.any():
            X = flat.reshape(batch.num_rows, self.width)
        else:
            X[sizes == self.width] = flat[kept].reshape(-1, self.width)
        if _kernels.Rows.dense(X).check()[0]:
            faults.add(~np.isfinite(X).all(axis=1), f"a value {_NOT_FINITE}")
        return _DenseRows(X)


class Sparse:
    """Two columns with lists: the indices of features, from 0 and rising, and their values."""

    names: list[str] | None = None

    def __init__(self, n_features: int | None, ignores_new: bool, dtype: np.dtype[Any]) -> None:
        self._declared, self._ignores_new, self._dtype = n_features, ignores_new, dtype
        self.columns = ["indices", "values"]
        self.width = n_features or 0

    def rows(self, batch: Any, faults: Faults) -> Rows:
        """Read the rows of a record batch."""
        indices, values = batch.column("indices"), batch.column("values")
        sizes = indices.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        others = values.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        faults.add(indices.is_null(), "indices are null: write an empty list")
        faults.add(values.is_null(), "values are null: write an empty list")
        faults.add(sizes != others, "there are not as many values as indices")
        columns, numbers = indices.flatten(), _numbers(values.flatten(), self._dtype)
        if np.any(sizes != others):
            same = sizes == others
            columns = columns.filter(np.repeat(same, sizes))
            numbers, sizes = numbers[np.repeat(same, others)], np.where(same, sizes, 0)
        places = self._places(columns)
        indptr = np.zeros(sizes.size + 1, np.int32)
        np.cumsum(sizes, out=indptr[1:])
        limit = _LARGEST + 1 if self._declared is None else self._declared
        width = _kernels.sparse_width(numbers, places, indptr, limit)
        has_fault = width < 0
        if has_fault:
            self._find(numbers, places, sizes, faults)
        good = faults.good()
        if self._declared is None:
            if not good.all():
                width = int(places[np.repeat(good, sizes)].max(initial=-1)) + 1
            self.width = max(self.width, width)
        return _SparseRows(numbers, places, indptr, sizes, self._declared if has_fault else None)

    def _places(self, columns: Any) -> Array:
        """Return the indices as int32; what is not one of 0 to 2147483646 becomes −1."""
        import pyarrow as pa

        if not pa.types.is_integer(columns.type):
            raise ValueError(f"indices must be integers, not {columns.type}")
        if columns.type == pa.int32() and not columns.null_count:
            return np.asarray(columns.to_numpy())
        wide = columns.fill_null(-1 if pa.types.is_signed_integer(columns.type) else 2**32 - 1)
        array: Array = wide.to_numpy(zero_copy_only=False)
        if array.min(initial=0) >= 0 and array.max(initial=0) <= _LARGEST:
            return array.astype(np.int32)
        is_bad = (array < 0) | (array > _LARGEST)
        return np.where(is_bad, -1, array).astype(np.int32)

    def _find(self, numbers: Array, places: Array, sizes: Ints, faults: Faults) -> None:
        """Tell which rows are at fault, and why."""
        rows = np.repeat(np.arange(sizes.size), sizes)

        def add(is_bad: Any, reason: str) -> None:
            faults.add(np.bincount(rows[is_bad], minlength=sizes.size) > 0, reason)

        is_out = (places < 0) | (places > _LARGEST)
        add(is_out, f"an index is null, negative or beyond {_LARGEST}: number features from 0")
        same = np.append(False, rows[1:] == rows[:-1])
        add(
            same & (np.diff(places, prepend=-1) <= 0),
            "the indices do not rise: sort them, each once",
        )
        add(~np.isfinite(numbers), f"a value {_NOT_FINITE}")
        if self._declared is not None and not self._ignores_new:
            add(places >= self._declared, f"an index is beyond the {self._declared} features")


@dataclass(frozen=True)
class _SparseRows:
    values: Array
    indices: Array
    indptr: Array
    sizes: Ints
    limit: int | None  # indices from here on are left out; None: there are none

    def X(self, n_features: int, good: Any) -> Any:  # noqa: N802 - the word of the mathematics
        values, indices, indptr = self.values, self.indices, self.indptr
        if self.limit is not None or not good.all():
            keep = np.repeat(good, self.sizes)
            if self.limit is not None:
                keep &= indices < self.limit
            rows = np.repeat(np.arange(self.sizes.size), self.sizes)[keep]
            sizes = np.bincount(rows, minlength=self.sizes.size)[good]
            indptr = np.append(0, np.cumsum(sizes)).astype(np.int32)
            values, indices = values[keep], indices[keep]
        X = sparse.csr_array((values, indices, indptr), (indptr.size - 1, n_features))
        X.has_canonical_format = True
        return X
