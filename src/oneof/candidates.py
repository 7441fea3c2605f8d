"""Candidate sets: every form in which labels arrive, packed into one; no features, no learning."""

from __future__ import annotations

import warnings
from itertools import chain, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from oneof import packing
from oneof.labels import (
    Array,
    Ints,
    Labels,
    checked,
    coded,
    encode,
    given_classes,
    is_container,
    is_unknown,
    one_dimensional,
    refuse_unknown,
    refuse_unknown_classes,
    show,
    sorted_labels,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class CandidateSets:
    """One set of candidate labels per row, packed.

    Make one with a ``from_...`` constructor; every estimator and metric also accepts the raw forms.
    Sets never change: the arrays are read-only.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The vocabulary: strings or integers, each once.
    indptr : array-like of shape (n + 1,)
        Row i holds ``codes[indptr[i]:indptr[i + 1]]``.
    codes : array-like of int
        Indices into `classes`, strictly increasing within each row.

    Examples
    --------
    >>> Y = CandidateSets.from_sets([{"cat", "dog"}, "dog", ["cat", "dog", "fox"]])
    >>> Y
    CandidateSets(3 rows, 3 classes, mean size 2.00, 33.3 % exact, 33.3 % full)
    >>> Y[1], Y.sizes(), Y.coverage(["cat", "fox", "fox"])
    ({'dog'}, array([2, 1, 3]), 0.6666666666666666)
    >>> Y[1:].to_indicator()
    array([[0, 1, 0],
           [1, 1, 1]], dtype=uint8)
    """

    __slots__ = ("classes", "codes", "indptr")

    classes: Array
    indptr: Ints
    codes: npt.NDArray[np.int32]

    def __init__(self, classes: npt.ArrayLike, indptr: npt.ArrayLike, codes: npt.ArrayLike) -> None:
        vocabulary = given_classes(classes)
        ends, members = packing.index_array(indptr, "indptr"), packing.index_array(codes, "codes")
        # Kernels index memory with these numbers unchecked.
        if not ends.size or ends[0] != 0 or ends[-1] != members.size or np.any(np.diff(ends) < 0):
            raise ValueError("indptr must rise from 0 to the number of codes")
        packing.refuse_empty(np.diff(ends))
        if members.size and not (members.min() >= 0 and members.max() < vocabulary.size):
            raise ValueError(f"codes must lie between 0 and {vocabulary.size - 1}")
        if not packing.is_rising(packing.row_of(ends) * vocabulary.size + members):
            raise ValueError("codes must be strictly increasing within each row")
        self._hold(vocabulary, ends, members)

    def _hold(self, classes: Array, indptr: Ints, codes: Array) -> None:
        self.classes, self.indptr, self.codes = classes, indptr, codes.astype(np.int32, copy=False)
        for array in (self.classes, self.indptr, self.codes):
            array.flags.writeable = False

    @classmethod
    def _packed(cls, classes: Array, indptr: Ints, codes: Array) -> CandidateSets:
        """Skip the checks of ``__init__``: the arrays are this module's own."""
        made = cls.__new__(cls)
        made._hold(classes, indptr, codes)
        return made

    @classmethod
    def _from_pairs(cls, classes: Array, rows: Array, codes: Array, n: int) -> CandidateSets:
        """Pack (row, code) pairs, in any order and with repetitions."""
        keys = rows * np.int64(classes.size) + codes
        if not packing.is_rising(keys):
            rows, codes = np.divmod(np.unique(keys), classes.size)
        return cls._packed(classes, packing.ends(np.bincount(rows, minlength=n)), codes)

    @classmethod
    def from_sets(cls, sets: Iterable[Any], classes: npt.ArrayLike | None = None) -> CandidateSets:
        """Pack a sequence of sets, lists, tuples or 1-D arrays of labels.

        Parameters
        ----------
        sets : sequence
            One collection of labels per row; a repeated label counts once. A bare label is its own
            singleton, and a string is a label, never a sequence of characters.
        classes : array-like, optional
            The vocabulary in its order; by default the sorted labels that occur.

        Examples
        --------
        >>> list(CandidateSets.from_sets([[3, 1, 3], 2, {1}]))
        [{1, 3}, {2}, {1}]
        """
        listed = packing.listed(sets)
        if classes is not None:
            vocabulary = given_classes(classes)
            table = {label: code for code, label in enumerate(vocabulary.tolist())}
            run = packing.known_run(table, listed, 0)
            if len(run) == len(listed):
                return cls._packed(vocabulary, run.indptr, run.codes)
        parts = [packing.members(part, row) for row, part in enumerate(listed)]
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        packing.refuse_empty(sizes)
        rows = np.repeat(np.arange(len(parts)), sizes)
        flat = list(chain.from_iterable(parts))
        vocabulary, codes = coded(flat, classes, lambda i: f"row {rows[i]}")
        return cls._from_pairs(vocabulary, rows, codes, len(parts))

    @classmethod
    def from_indicator(cls, Y: Any, classes: npt.ArrayLike | None = None) -> CandidateSets:
        """Pack an (n, n_classes) table of 0 and 1.

        Parameters
        ----------
        Y : ndarray, sparse matrix or array, or DataFrame of shape (n, n_classes)
            1 or True marks a candidate.
        classes : array-like, optional
            The columns' labels; by default 0, 1, …, or the column names of a DataFrame. If any of
            these names is one of `classes`, all must be, and columns are matched by name.

        Examples
        --------
        >>> list(CandidateSets.from_indicator([[1, 1, 0], [0, 0, 1]], classes=["a", "b", "c"])[1:])
        [{'c'}]
        """
        names = packing.column_names(Y)
        if names is not None and classes is not None:
            vocabulary = given_classes(classes)
            named = encode(names, vocabulary)
            if np.any(named >= 0):
                refuse_unknown(named, names, vocabulary, lambda i: f"column {i}")
                return cls.from_indicator(Y).aligned(vocabulary)
        (n, n_columns), rows, columns = packing.marked(Y)
        if classes is not None:
            vocabulary = given_classes(classes)
        elif names is not None:
            vocabulary = given_classes(names, "columns")
        elif n_columns:
            vocabulary = np.arange(n_columns)
        else:
            refuse_unknown_classes()
        if n_columns != vocabulary.size:
            raise ValueError(
                f"the indicator has {n_columns} columns, but there are {vocabulary.size} classes: "
                "give it one column per class, in the order of `classes`"
            )
        packing.refuse_empty(np.bincount(rows, minlength=n))
        return cls._from_pairs(vocabulary, rows, columns, n)

    @classmethod
    def from_labels(cls, y: Any, classes: npt.ArrayLike | None = None) -> CandidateSets:
        """Pack exact labels: every row is a singleton.

        Parameters
        ----------
        y : array-like of shape (n,)
            Strings or integers; booleans and whole floats pass, as they do in scikit-learn.
        classes : array-like, optional
            The vocabulary in its order; by default the sorted labels that occur.

        Examples
        --------
        >>> CandidateSets.from_labels(["b", "a", "b"]).codes
        array([1, 0, 1], dtype=int32)
        """
        labels = one_dimensional(y, "y")
        vocabulary, codes = coded(labels, classes, lambda i: f"row {i}")
        return cls._packed(vocabulary, np.arange(codes.size + 1), codes)

    @classmethod
    def from_annotations(
        cls,
        items: npt.ArrayLike,
        labels: npt.ArrayLike,
        min_votes: int = 1,
        classes: npt.ArrayLike | None = None,
        order: npt.ArrayLike | None = None,
    ) -> CandidateSets:
        """Pack the long table of crowd tools: one (item, label) pair per answer.

        Parameters
        ----------
        items, labels : array-like of shape (n_annotations,)
            Who answered does not matter: every answer is one vote.
        min_votes : int, default=1
            A label is a candidate of an item that gave it at least this many votes.
        classes : array-like, optional
            The vocabulary in its order; by default every label of the table, sorted.
        order : array-like of shape (n,), optional
            The item of each row; answers about other items are left out. By default the sorted
            items of the table.

        Examples
        --------
        >>> items, labels = [7, 7, 7, 4, 4], ["cat", "dog", "dog", "cat", "cat"]
        >>> list(CandidateSets.from_annotations(items, labels, min_votes=2, order=[7, 4]))
        [{'dog'}, {'cat'}]
        """
        ids, answers = one_dimensional(items, "items"), one_dimensional(labels, "labels")
        if len(ids) != len(answers):
            raise ValueError(
                f"there are {len(ids)} items but {len(answers)} labels: give one of each per answer"
            )
        if not isinstance(min_votes, Integral) or min_votes < 1:
            raise ValueError(f"min_votes must be an integer of at least 1, not {min_votes!r}")
        vocabulary, codes = coded(answers, classes, lambda i: f"annotation {i}")
        known = given_classes(order, "order") if order is not None and np.size(order) else None
        kept_ids = checked(ids, lambda i: f"annotation {i}", "items")
        if known is None:
            known = sorted_labels(kept_ids) if order is None and len(ids) else np.empty(0)
        rows = encode(kept_ids, known)
        keys, votes = np.unique(
            (rows * np.int64(vocabulary.size) + codes)[rows >= 0], return_counts=True
        )
        rows, codes = np.divmod(keys[votes >= min_votes], vocabulary.size)
        without = np.flatnonzero(np.bincount(rows, minlength=known.size) == 0)
        if without.size:
            raise ValueError(
                f"row {without[0]}: item {show(known[without[0]])} has no label with "
                f"min_votes={min_votes} or more votes ({without.size} such items): lower min_votes,"
                " or leave these items out of `order` or the table"
            )
        return cls._from_pairs(vocabulary, rows, codes, known.size)

    @classmethod
    def from_annotator_matrix(
        cls, Y: Any, missing: Any = -1, classes: npt.ArrayLike | None = None
    ) -> CandidateSets:
        """Pack the wide table of crowd tools: one row per item, one column per annotator.

        Parameters
        ----------
        Y : array-like of shape (n, n_annotators)
            Labels. Floats stand for integers, as they do where NaN marks a gap.
        missing : label, default=-1
            Marks "no answer"; NaN and None always do.
        classes : array-like, optional
            The vocabulary in its order; by default the sorted labels that occur.

        Examples
        --------
        >>> list(CandidateSets.from_annotator_matrix([[0, -1, 1], [2, 2, -1]]))
        [{0, 1}, {2}]
        """
        table = np.asarray(Y if hasattr(Y, "__array__") else np.array(Y, dtype=object))
        if table.ndim != 2:
            raise ValueError(f"Y must have shape (n, n_annotators), not {table.shape}")
        answered = ~is_unknown(table.ravel(), missing).reshape(table.shape)
        packing.refuse_empty(answered.sum(axis=1))
        rows, labels = np.nonzero(answered)[0], table[answered]
        vocabulary, codes = coded(labels, classes, lambda i: f"row {rows[i]}")
        return cls._from_pairs(vocabulary, rows, codes, len(table))

    def sizes(self) -> Ints:
        """Count the candidates of each row."""
        return np.diff(self.indptr)

    def contains(self, y: Any) -> npt.NDArray[np.bool_]:
        """Tell for each row whether label ``y[i]`` is a candidate; an unknown label is not."""
        codes = encode(self._truth(y), self.classes)
        is_inside = np.zeros(len(self), dtype=np.bool_)
        is_inside[packing.row_of(self.indptr)[self.codes == np.repeat(codes, self.sizes())]] = True
        return is_inside

    def coverage(self, y: Any, unknown: Any = None) -> float:
        """Share of rows whose set contains the true label, NaN if no truth is known.

        Rows where `y` is `unknown`, NaN or None are left out.
        """
        is_known = ~is_unknown(self._truth(y), unknown)
        return float(self.contains(y)[is_known].mean()) if is_known.any() else float("nan")

    def describe(self, y: Any = None, unknown: Any = None) -> dict[str, float]:
        """Count rows and classes; give the mean size, the share of exact and of full sets.

        With the true labels `y` also the coverage, see `coverage`.
        """
        sizes, K = self.sizes(), self.classes.size
        report: dict[str, float] = {"rows": len(self), "classes": K}
        for name, values in (("mean_size", sizes), ("exact", sizes == 1), ("full", sizes == K)):
            report[name] = float(values.mean()) if len(self) else float("nan")
        if y is not None:
            report["coverage"] = self.coverage(y, unknown)
        return report

    def to_indicator(self, sparse: bool = False) -> Any:
        """Return the (n, n_classes) uint8 table of 0 and 1, as a ``csr_array`` if `sparse`."""
        shape = (len(self), self.classes.size)
        if sparse:
            return packing.csr_ones(self.indptr, self.codes, shape)
        Y = np.zeros(shape, dtype=np.uint8)
        Y[packing.row_of(self.indptr), self.codes] = 1
        return Y

    def aligned(self, classes: npt.ArrayLike) -> CandidateSets:
        """Return the same sets coded in the vocabulary `classes`, which must name their labels."""
        if classes is self.classes:
            return self
        vocabulary = given_classes(classes)
        if vocabulary.dtype.kind == self.classes.dtype.kind and np.array_equal(
            vocabulary, self.classes
        ):
            return self
        codes, rows = encode(self.classes, vocabulary)[self.codes], packing.row_of(self.indptr)
        refuse_unknown(codes, self.classes[self.codes], vocabulary, lambda i: f"row {rows[i]}")
        return self._from_pairs(vocabulary, rows, codes, len(self))

    def _truth(self, y: Any) -> Labels:
        labels = one_dimensional(y, "y")
        if len(labels) != len(self):
            raise ValueError(f"y has {len(labels)} labels, but there are {len(self)} rows")
        return labels

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``: to scikit-learn's splitters this is a 1-D array."""
        return (len(self),)

    def __len__(self) -> int:
        return self.indptr.size - 1

    def __iter__(self) -> Iterator[set[Any]]:
        labels = self.classes.tolist()
        flat = [labels[code] for code in self.codes.tolist()]
        return (set(flat[start:stop]) for start, stop in pairwise(self.indptr.tolist()))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn writes y[rows, ...]
        if isinstance(key, Integral) and not isinstance(key, bool):
            row = range(len(self))[key]
            return set(self.classes[self.codes[self.indptr[row] : self.indptr[row + 1]]].tolist())
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(len(self))
            ends = self.indptr[start : max(start, stop) + 1]
            return self._packed(self.classes, ends - ends[0], self.codes[ends[0] : ends[-1]])
        rows = packing.rows(key, len(self))
        sizes = self.sizes()[rows]
        ends = packing.ends(sizes)
        taken = np.arange(ends[-1]) + np.repeat(self.indptr[rows] - ends[:-1], sizes)
        return self._packed(self.classes, ends, self.codes[taken])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return NotImplemented
        return all(np.array_equal(getattr(self, a), getattr(other, a)) for a in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[CandidateSets], tuple[Array, Array, Array]]:
        return type(self), (self.classes, self.indptr, self.codes)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False or (dtype is not None and np.dtype(dtype) != object):
            raise ValueError("candidate sets become an array only as a copy, of dtype object")
        array = np.empty(len(self), dtype=object)
        array[:] = [frozenset(labels) for labels in self]
        return array

    def __repr__(self) -> str:
        text = f"CandidateSets({len(self)} rows, {self.classes.size} classes"
        if len(self):
            d = self.describe()
            text += f", mean size {d['mean_size']:.2f}"
            text += f", {100 * d['exact']:.1f} % exact, {100 * d['full']:.1f} % full"
        return text + ")"


def candidate_sets(y: Any, classes: npt.ArrayLike | None = None) -> CandidateSets:
    """Turn whatever a user passes as y into `CandidateSets`.

    Parameters
    ----------
    y : CandidateSets, array-like, sparse matrix or sequence of collections
        1-D labels are exact; a 2-D array, sparse matrix or DataFrame is a 0/1 indicator; a sequence
        of sets, lists or tuples holds the candidates of each row.
    classes : array-like, optional
        The vocabulary to code the sets in.

    Examples
    --------
    >>> candidate_sets([{0, 2}, {1}], classes=[0, 1, 2]) == candidate_sets(
    ...     np.array([[1, 0, 1], [0, 1, 0]])
    ... )
    True
    """
    if isinstance(y, CandidateSets):
        return y if classes is None else y.aligned(classes)
    if y is None:
        raise ValueError("learning requires y to be passed, but the target y is None")
    if sparse.issparse(y):
        return CandidateSets.from_indicator(y, classes)
    if not hasattr(y, "__array__"):
        return CandidateSets.from_sets(y, classes)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: use ravel(), or give an "
            "indicator one column per class",
            DataConversionWarning,
            stacklevel=2,
        )
        array = array.ravel()
    if array.ndim > 1:
        return CandidateSets.from_indicator(y, classes)
    if array.dtype == object and any(is_container(type(label)) for label in array.flat):
        return CandidateSets.from_sets(array, classes)
    return CandidateSets.from_labels(array, classes)
