"""MATLAB files of the partial-label field, in their two common layouts, read as data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof.candidates import CandidateSets
from oneof.datasets.catalogue import NONE_STATED
from oneof.datasets.dataset import Array, Dataset

if TYPE_CHECKING:
    import os

# features, truth, candidates; and the axis of the last two that runs over the rows
_LAYOUTS = (("data", "target", "partial_target", 1), ("X", "Y", "Y_P", 0))


def load_partial_label_mat(path: str | os.PathLike[str]) -> Dataset:
    """Read a partially labelled data set from a MATLAB file.

    Two layouts are known: ``data`` (n × d), ``target`` and ``partial_target`` (classes × n, often
    sparse); and ``X`` (n × d), ``Y`` and ``Y_P`` (n × classes). The truth may also be a vector of
    the labels 1, 2, …. A table whose shape fits only the other way round is turned.

    Parameters
    ----------
    path : path-like
        A file of MATLAB's version 7 or earlier.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> path = tempfile.mkdtemp() + "/tiny.mat"
    >>> savemat(path, {"data": [[0.5], [2.0]], "target": [[1, 0], [0, 1]],
    ...                "partial_target": [[1, 0], [1, 1]]})
    >>> data = load_partial_label_mat(path)
    >>> data.y, list(data.candidates)
    (array([0, 1]), [{0, 1}, {1}])
    """
    path = Path(path)
    held = _variables(path)
    for *wanted, axis in _LAYOUTS:
        if all(name in held for name in wanted):
            X, truth, marks = (held[name] for name in wanted)
            try:
                return _dataset(path, X, truth, marks, axis)
            except ValueError as error:
                raise ValueError(f"{path} ({', '.join(wanted)}): {error}") from None
    found = ", ".join(sorted(held)) or "nothing"
    layouts = " or ".join(", ".join(wanted) for *wanted, _ in _LAYOUTS)
    raise ValueError(f"{path} must hold {layouts}, but it holds {found}")


def _variables(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    with path.open("rb") as stream:
        if stream.read(10) == b"MATLAB 7.3":
            raise ValueError(
                f"{path} is a MATLAB 7.3 (HDF5) file, which is not read here: "
                "save it again in MATLAB with the option '-v7'"
            )
        stream.seek(0)
        try:
            held = loadmat(stream)
        except Exception as error:  # SciPy's reader raises anything on a damaged file
            raise ValueError(f"{path} cannot be read as a MATLAB file ({error})") from None
    return {name: value for name, value in held.items() if not name.startswith("__")}


def _dataset(path: Path, X: Any, truth: Any, marks: Any, axis: int) -> Dataset:
    features = _features(X)
    n = features.shape[0]
    Y = _by_rows(marks, n, axis, "the candidates")
    K = Y.shape[1]
    return Dataset(
        name=path.stem,
        X=features,
        y=_labels(truth, n, K, axis),
        classes=np.array([str(k) for k in range(1, K + 1)]),
        candidates=CandidateSets.from_indicator(Y, classes=np.arange(K)),
        is_test=None,
        source=str(path),
        licence=NONE_STATED,
    )


def _features(X: Any) -> Any:
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError("the features must be a table of numbers, one row per example")
    return np.ascontiguousarray(X, dtype=np.float64)


def _by_rows(table: Any, n: int, axis: int, what: str) -> Array:
    """Return a 0/1 table with its n rows first; `axis` is where the layout has them."""
    dense = np.asarray(table.toarray() if sparse.issparse(table) else table)
    if dense.ndim != 2 or n not in dense.shape or dense.dtype.kind not in "fiub":
        raise ValueError(f"{what} must be a table with one side of {n} rows, not {dense.shape}")
    if dense.shape[axis] != n:
        axis = 1 - axis
    dense = dense if axis == 0 else dense.T
    if not np.all((dense == 0) | (dense == 1)):
        raise ValueError(f"{what} must be marked with 0 and 1")
    return dense.astype(np.uint8)


def _labels(truth: Any, n: int, n_classes: int, axis: int) -> npt.NDArray[np.int64]:
    if not sparse.issparse(truth) and truth.size == n and n_classes > 1:
        y: Array = truth.ravel()
        if y.dtype.kind not in "fiub" or not np.all(np.isin(y, np.arange(1, n_classes + 1))):
            raise ValueError(f"the true labels must be numbers from 1 to {n_classes}")
        return y.astype(np.int64) - 1
    table = _by_rows(truth, n, axis, "the truth")
    if table.shape[1] != n_classes:
        raise ValueError(f"the truth has {table.shape[1]} classes, the candidates {n_classes}")
    several = np.flatnonzero(table.sum(axis=1) > 1)
    if several.size:
        raise ValueError(f"row {several[0]} has more than one true label")
    return np.where(table.any(axis=1), table.argmax(axis=1), -1).astype(np.int64)
