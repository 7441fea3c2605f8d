"""Rows of features, in whatever array holds them, as the kernels read them; no labels."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from oneof import _kernels

if TYPE_CHECKING:
    from collections.abc import Mapping


class Rows:
    """A dense or CSR matrix of float32 or float64, never copied where the kernels can read it.

    Parameters
    ----------
    X : ndarray, csr_array or csr_matrix of shape (n, n_features)
        A dense array may be strided, Fortran-ordered and read-only.
    """

    __slots__ = ("X", "kernel", "n_features", "nbytes")

    def __init__(self, X: Any) -> None:
        self.n_features = int(X.shape[1])
        if sparse.issparse(X):
            data, indptr = np.ascontiguousarray(X.data), np.ascontiguousarray(X.indptr)
            indices = np.ascontiguousarray(X.indices, dtype=indptr.dtype)
            self.X = X
            self.nbytes = int(data.nbytes + indices.nbytes)
            self.kernel = _kernels.Rows.csr(data, indices, indptr, self.n_features)
        else:
            # The kernels count strides in elements.
            if not X.flags.aligned or any(step % X.itemsize for step in X.strides):
                X = X.copy()
            self.X = X
            self.nbytes = int(X.nbytes)
            self.kernel = _kernels.Rows.dense(X)

    def __len__(self) -> int:
        return len(self.kernel)

    def usable(self) -> tuple[Rows, float]:
        """Return rows that can be learnt from, and their largest magnitude; or raise.

        CSR rows whose indices are unsorted or repeated come back sorted and summed, as a copy.
        """
        fault, row, column, largest = self.kernel.check()
        if not fault:
            return self, largest
        if fault == "not canonical":
            tidy = sparse.csr_array(self.X, copy=True)
            tidy.sum_duplicates()
            return Rows(tidy).usable()
        if fault == "bad index":
            raise ValueError(
                f"row {row} of X is not a row of a CSR matrix with {self.n_features} columns: "
                "rebuild X"
            )
        what = "NaN" if np.isnan(self.X[row, column]) else "infinity"
        raise ValueError(
            f"Input X contains {what} at row {row}, column {column}: "
            "drop the row, or impute the value"
        )


def row_of(
    columns: dict[Any, int] | int, x: Mapping[Any, Any], n_features: int, dtype: np.dtype[Any]
) -> tuple[Rows, bool]:
    """Return a dict of numbers as one row, and whether each that is not 0 has a column.

    Those without are left out. The pairs are the kernel's own for such a dict, which has checked
    it: columns rise, values that share one are summed in the dict's order, no value is 0.
    """
    kind, are_known = dtype.type, True
    found: dict[int, Any] = {}
    for name, value in dict(x).items():
        number = kind(float(value))
        if number == 0:
            continue
        if isinstance(columns, dict):
            column, sign = columns.get(name, -1), 1
        else:
            column, sign = hashed_column(name, columns)
        if column < 0:
            are_known = False
            continue
        found[column] = kind(found[column] + sign * number if column in found else sign * number)
    kept = sorted(column for column, number in found.items() if number != 0)
    indices, indptr = np.array(kept, np.int32), np.array([0, len(kept)], np.int32)
    values = np.array([found[column] for column in kept], dtype)
    return Rows(sparse.csr_array((values, indices, indptr), (1, n_features))), are_known


def plain_name(name: Any) -> Any:
    """Return the name of a feature as plain strings, integers and tuples of them, or raise."""
    if isinstance(name, tuple):
        return tuple(plain_name(part) for part in name)
    if not isinstance(name, str | Integral):
        raise ValueError(f"{name!r} names no feature: strings, integers and tuples of these do")
    return str(name) if isinstance(name, str) else int(name)


def hashed_column(name: Any, n: int) -> tuple[int, int]:
    """Return the column of a feature's name among n, and the sign of its values there.

    MurmurHash3 of the name as UTF-8, as in scikit-learn's `FeatureHasher`; integers count as their
    decimal digits, tuples are hashed part by part. It never changes: models on disk rest on it.

    Examples
    --------
    >>> hashed_column("price", 16), hashed_column(7, 16) == hashed_column("7", 16)
    ((2, -1), True)
    """
    return _kernels.hashed_place(name, n)
