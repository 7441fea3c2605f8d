"""The data sets of an experiment, loaded and brought into the form it asks for; no learning."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from oneof import datasets
from oneof.datasets import Dataset, DatasetUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from oneof.experiments.spec import DatasetSpec, Spec

_CHUNK = 1 << 22  # values turned into CSR at a time: it takes several times their memory
_SPARSE = 0.5  # with fewer values other than 0 than this share, CSR rows are learnt faster


@dataclass(frozen=True, eq=False)
class Examples:
    """The rows and true labels that rounds are drawn from.

    Attributes
    ----------
    name, source, licence : str
        The data set, where it came from, and what is known of its licence.
    X : ndarray or CSR array of shape (n, d)
    y : ndarray of shape (n,)
        Codes from 0 to n_classes − 1.
    n_classes : int
    sizes : tuple of int
        The sizes of candidate sets that make sense here.
    rounds : int
        T.
    instead_of : str
        The data set that could not be had, if this one stands in for it.
    """

    name: str
    source: str
    licence: str
    X: Any
    y: npt.NDArray[np.int32]
    n_classes: int
    sizes: tuple[int, ...]
    rounds: int
    instead_of: str = ""

    def digest(self) -> str:
        """Return the SHA-256 of the values that are learnt from."""
        arrays = [self.X.data, self.X.indices] if sparse.issparse(self.X) else [self.X]
        total = hashlib.sha256()
        for array in (*arrays, self.y):
            total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()


def load_examples(
    spec: Spec, required: Collection[str] = (), on_name: Callable[[str], None] = lambda _: None
) -> tuple[list[Examples], dict[str, str]]:
    """Load the data sets of a specification.

    Parameters
    ----------
    spec : Spec
    required : collection of str
        Data sets without which there is no experiment.
    on_name : callable
        Told each name before it is loaded.

    Returns
    -------
    examples : list of Examples
        In the specification's order.
    skipped : dict
        For each data set that could not be had or has nothing to run, the sentence that says why.

    Raises
    ------
    DatasetUnavailable, ValueError
        A required data set cannot be had or has nothing to run, or there is none at all.
    """
    found: dict[str, Examples] = {}
    skipped: dict[str, str] = {}
    # Those that stand in for others know last whether they are wanted.
    for d in sorted(spec.datasets, key=lambda d: bool(d.instead_of)):
        if d.instead_of in found:
            continue
        on_name(d.name)
        try:
            found[d.name] = _prepared(datasets.load(d.name), d, spec.standardise)
        except (DatasetUnavailable, _NothingToRun) as reason:
            if d.name in required:
                raise
            skipped[d.name] = str(reason)
    if not found:
        raise ValueError(f"there is nothing to run: {'; '.join(skipped.values())}")
    return [found[d.name] for d in spec.datasets if d.name in found], skipped


class _NothingToRun(ValueError):  # noqa: N818 - it is caught, or shown as its sentence
    """The data set is here, but the experiment cannot use it."""


def _prepared(data: Dataset, d: DatasetSpec, standardise: bool) -> Examples:
    K = data.classes.size
    sizes = tuple(size for size in d.sizes if size < K)
    if not sizes:
        raise _NothingToRun(
            f"{d.name} has {K} classes: choose sizes of candidate sets below that, "
            f"not {' and '.join(map(str, d.sizes))}"
        )
    if data.X.shape[1] == 0:
        raise _NothingToRun(f"{d.name} has labels and no features: choose another data set")
    is_used = data.y >= 0
    if d.part == "train":
        if data.is_test is None:
            raise _NothingToRun(
                f"{d.name} as it is here ({data.source}) has no official training part: "
                "take all its rows"
            )
        is_used &= ~data.is_test
    X = data.X if is_used.all() else data.X[is_used]
    if standardise:  # a sparse matrix keeps its zeros
        X = StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)
    elif not sparse.issparse(X) and np.count_nonzero(X) < _SPARSE * X.size:
        parts = np.array_split(X, 1 + X.size // _CHUNK)
        X = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    y = data.y[is_used].astype(np.int32)
    return Examples(d.name, data.source, data.licence, X, y, K, sizes, d.rounds, d.instead_of)
