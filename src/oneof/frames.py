"""DataFrames by the names of their columns, as rows of the columns that weights have; no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from oneof.labels import Ints, show
from oneof.rows import hashed_column


def checked(X: Any) -> tuple[list[Any], Any]:
    """Return the names and the finite float64 values of a DataFrame, or raise.

    Values are an array, or a CSR array if all columns are sparse.
    """
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        raise ValueError(f"rows by the batch come as a DataFrame, not as {show(X)}")
    names = X.columns.tolist()
    if len(set(names)) < len(names):
        name = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"column {name!r} occurs twice: rename one, or drop it")
    try:
        values = X.to_numpy(dtype=np.float64) if not _is_sparse(X) else _csr(X)
    except (TypeError, ValueError):
        _refuse_text(names, X)
        raise
    data = values if isinstance(values, np.ndarray) else values.data
    if not np.isfinite(data).all():
        _refuse_infinite(names, values)
    return names, values


def names_in_order(names: list[Any], values: Any) -> list[Any]:
    """Return the names in the order in which, row by row, they have a value other than 0."""
    rows, at, _ = _pairs(values)
    columns, first = np.unique(at, return_index=True)
    order = np.lexsort((columns, rows[first]))
    return [names[column] for column in columns[order]]


def matrix(names: list[Any], values: Any, columns: dict[Any, int] | int) -> Any:
    """Return rows for weights whose columns are named or hashed; unknown names are left out.

    They hold the pairs of column and value that a dict of the same features has.
    """
    if isinstance(columns, dict):
        n_columns = len(columns)
        places = np.fromiter((columns.get(name, -1) for name in names), np.int64, len(names))
        signs = None
    else:
        n_columns = columns
        hashed = np.array([hashed_column(name, columns) for name in names], np.int64)
        places, signs = hashed.reshape(-1, 2).T
    if isinstance(values, np.ndarray) and signs is None and n_columns <= 8 * len(names):
        return _dense_of(values, places, n_columns)
    return _csr_of(values, places, signs, n_columns)


def _dense_of(values: Any, places: Ints, n_columns: int) -> Any:
    """Put column i of the values where `places[i]` says; zeros cost the kernels next to nothing."""
    if np.array_equal(places, np.arange(n_columns)):
        return values
    table = np.zeros((len(values), n_columns))
    table[:, places[places >= 0]] = values[:, places >= 0]
    return table


def _csr_of(values: Any, places: Ints, signs: Ints | None, n_columns: int) -> Any:
    """Do the same as CSR rows; values that meet are summed in the columns' order."""
    rows, at, data = _pairs(values)
    keys = rows * np.int64(n_columns) + places[at]
    data = data if signs is None else data * signs[at]
    is_kept = (places[at] >= 0) & (data != 0)
    unique, inverse = np.unique(keys[is_kept], return_inverse=True)
    sums = np.zeros(unique.size)
    np.add.at(sums, inverse, data[is_kept])
    rows, indices = np.divmod(unique[sums != 0], np.int64(n_columns))
    indptr = np.zeros(values.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=values.shape[0]), out=indptr[1:])
    return sparse.csr_array((sums[sums != 0], indices, indptr), shape=(values.shape[0], n_columns))


def _pairs(values: Any) -> tuple[Ints, Ints, Any]:
    """Return row, column and value of what is not 0, row by row."""
    if isinstance(values, np.ndarray):
        rows, at = np.nonzero(values)
        return rows, at, values[rows, at]
    row_of = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    is_there = values.data != 0
    return row_of[is_there], values.indices[is_there], values.data[is_there]


def _is_sparse(X: Any) -> bool:
    return X.shape[1] > 0 and all(type(kind).__name__ == "SparseDtype" for kind in X.dtypes)


def _csr(X: Any) -> Any:
    if any(kind.fill_value != 0 for kind in X.dtypes):
        return np.asarray(X.sparse.to_dense(), dtype=np.float64)
    return sparse.csr_array(X.sparse.to_coo(), dtype=np.float64)


def _refuse_text(names: list[Any], X: Any) -> None:
    """Name the first value that is no number."""
    for i, name in enumerate(names):
        for row, value in enumerate(X.iloc[:, i].tolist()):
            try:
                float("text" if isinstance(value, str) else value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"row {row}: feature {name!r} is {show(value)}, not a number: leave it out, or "
                    "encode it"
                ) from None


def _refuse_infinite(names: list[Any], values: Any) -> None:
    table = values if isinstance(values, np.ndarray) else values.toarray()
    row, column = np.argwhere(~np.isfinite(table))[0]
    what = "NaN" if np.isnan(table[row, column]) else "infinite"
    raise ValueError(
        f"row {row}: feature {names[column]!r} is {what}: leave it out, or impute the value"
    )
