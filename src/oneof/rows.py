"""Rows of features, in whatever array holds them, as the kernels read them; no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from oneof import _kernels


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
        value = self.X[row, column]
        what = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(
            f"Input X contains {what} at row {row}, column {column}: "
            "drop the row, or impute the value"
        )
