"""Rows of features with their candidates, in every format that is read. No files."""

from __future__ import annotations

import re
from abc import abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from oneof.labels import Array, show
from oneof.readers.arrow import pyarrow_module
from oneof.writers.tables import (
    ArrowTable,
    CsvTable,
    JsonTable,
    Output,
    ParquetTable,
    Table,
    TsvTable,
    floats,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneof.candidates import CandidateSets

_MOST_COLUMNS = 1 << 16
# What a label may not hold where it stands between commas and blanks, or between bars.
_UNFIT = re.compile(r"[\x00-\x20\x7f,:#]|^$")
_UNFIT_CELL = re.compile(r"[\x00-\x1f\x7f|]|^$|^ | $")


class RowWriter(Output):
    """Writes rows of features with their candidates."""

    def __init__(self, file: Any, names: list[str] | None) -> None:
        super().__init__(file)
        self._names = names

    @abstractmethod
    def write(
        self, X: Any, candidates: CandidateSets | None = None, truth: Array | None = None
    ) -> None:
        """Write rows; `truth` holds codes of the candidates' classes, −1 where it is unknown."""


class Svmlight(RowWriter):
    """``3,7 1:0.5 # truth=3``; features count from 0."""

    def write(
        self, X: Any, candidates: CandidateSets | None = None, truth: Array | None = None
    ) -> None:
        """Write rows."""
        X = sparse.csr_array(X)
        names = (
            [] if candidates is None else _words(candidates.classes.tolist(), _UNFIT, "svmlight")
        )
        numbers = list(map(_spelling(X.dtype), X.data.tolist()))
        pairs = [f"{i}:{v}" for i, v in zip(X.indices.tolist(), numbers, strict=True)]
        ends = X.indptr.tolist()
        lines = []
        for i, labels in enumerate(_named(candidates, names, X.shape[0])):
            words = [",".join(labels)] if labels is not None else []
            words += pairs[ends[i] : ends[i + 1]]
            if truth is not None and truth[i] >= 0:
                words.append(f"# truth={names[truth[i]]}")
            lines.append(" ".join(words) + "\n")
        self._file.write("".join(lines).encode())


class Tabled(RowWriter):
    """Rows as a table: the candidates, the truth if it is given, and the features."""

    table: ClassVar[type[Table]]

    def __init__(self, file: Any, names: list[str] | None) -> None:
        super().__init__(file, names)
        self._table = self.table(file)
        self._has_truth: bool | None = None

    def write(
        self, X: Any, candidates: CandidateSets | None = None, truth: Array | None = None
    ) -> None:
        """Write rows; the first ones tell whether there is a truth."""
        columns: dict[str, Any] = {}
        labels = [] if candidates is None else candidates.classes.tolist()
        if candidates is not None:
            columns["candidates"] = self._sets(candidates, labels, X.shape[0])
        if self._has_truth is None:
            self._has_truth = truth is not None
        if self._has_truth:
            codes = [-1] * X.shape[0] if truth is None else truth.tolist()
            columns["truth"] = self._truths(
                [labels[code] if code >= 0 else None for code in codes], labels
            )
        elif truth is not None and (truth >= 0).any():
            raise ValueError("the first rows came without truth: give a column of -1 there")
        self._table.write({**columns, **self._features(X, columns)})

    def finish(self) -> None:
        """Write what comes at the end."""
        self._table.finish()

    def abandon(self) -> None:
        """Let go of the file."""
        self._table.abandon()

    def _sets(self, candidates: CandidateSets, labels: list[Any], n: int) -> list[Any]:
        return list(_named(candidates, labels, n))

    def _truths(self, truths: list[Any], labels: list[Any]) -> Any:  # noqa: ARG002
        return truths

    def _features(self, X: Any, special: Mapping[str, Any]) -> dict[str, Any]:
        """Return dense columns by name."""
        names = self._names
        if X.shape[1] > _MOST_COLUMNS:
            raise ValueError(
                f"{X.shape[1]} columns are too many for this format: write svmlight or JSON Lines"
            )
        if names is None:
            names = [f"f{j}" for j in range(X.shape[1])]
        if len(names) != X.shape[1]:
            raise ValueError(f"there are {len(names)} feature names for {X.shape[1]} columns")
        taken = next((name for name in names if name in special), None)
        if taken is not None:
            raise ValueError(f"a feature is named {taken!r}, as is a column of labels: rename it")
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return {name: dense[:, j] for j, name in enumerate(names)}


class CsvRows(Tabled):
    """Candidates separated by ``|``, then a column for each feature."""

    table = CsvTable

    def _sets(self, candidates: CandidateSets, labels: list[Any], n: int) -> list[Any]:
        words = _words(labels, _UNFIT_CELL, "CSV")
        return ["|".join(row) for row in _named(candidates, words, n)]


class TsvRows(CsvRows):
    """The same, separated by tabs."""

    table = TsvTable


class JsonRows(Tabled):
    """``{"candidates": [..], "truth": .., "x": {..}}``; dense rows without names are lists."""

    table = JsonTable

    def _features(self, X: Any, special: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        if not sparse.issparse(X) and self._names is None:
            return {"x": floats(X)}
        X = sparse.csr_array(X)
        names = self._names or [str(j) for j in range(X.shape[1])]
        values, ends = floats(X.data), X.indptr.tolist()
        used = [names[j] for j in X.indices.tolist()]
        parts = [slice(a, b) for a, b in pairwise(ends)]
        return {"x": [dict(zip(used[part], values[part], strict=True)) for part in parts]}


class ArrowRows(Tabled):
    """A column for each feature; rows that are sparse as lists of indices and values."""

    table: ClassVar[type[Table]] = ArrowTable

    def _sets(self, candidates: CandidateSets, labels: list[Any], n: int) -> Any:
        pa = pyarrow_module()
        kind = pa.int64() if isinstance(labels[0], int) else pa.string()
        return pa.array(super()._sets(candidates, labels, n), _list_of(kind))

    def _truths(self, truths: list[Any], labels: list[Any]) -> Any:
        """Return the truth with its type, which the first rows may not show."""
        pa = pyarrow_module()
        return pa.array(truths, pa.int64() if isinstance(labels[0], int) else pa.string())

    def _features(self, X: Any, special: Mapping[str, Any]) -> dict[str, Any]:
        if not sparse.issparse(X):
            return super()._features(X, special)
        pa, X = pyarrow_module(), sparse.csr_array(X)
        ends = pa.array(X.indptr.astype(np.int32))
        columns = {"indices": pa.array(X.indices.astype(np.int32)), "values": pa.array(X.data)}
        return {
            name: pa.ListArray.from_arrays(ends, column, type=_list_of(column.type))
            for name, column in columns.items()
        }


class ParquetRows(ArrowRows):
    """The same as Parquet."""

    table = ParquetTable


ROWS: dict[str, Any] = {
    "svmlight": Svmlight,
    "csv": CsvRows,
    "tsv": TsvRows,
    "jsonl": JsonRows,
    "parquet": ParquetRows,
    "arrow": ArrowRows,
}


def _list_of(kind: Any) -> Any:
    """Return the type of lists without nulls, which Parquet need not look for as it reads."""
    pa = pyarrow_module()
    return pa.list_(pa.field("item", kind, nullable=False))


def _words(classes: list[Any], unfit: re.Pattern[str], form: str) -> list[str]:
    """Return the classes as words that the format can hold."""
    words = [str(label) for label in classes]
    for word in words:
        if unfit.search(word):
            raise ValueError(
                f"the label {show(word)} cannot be written as {form}, where it would mean "
                "something else: rename it, or write JSON Lines or Parquet"
            )
    return words


def _named(candidates: CandidateSets | None, words: list[Any], n: int) -> Iterator[Any]:
    """Give the labels of each row."""
    if candidates is None:
        yield from [None] * n
        return
    if len(candidates) != n:
        raise ValueError(f"there are {len(candidates)} sets for {n} rows")
    ends, codes = candidates.indptr.tolist(), candidates.codes.tolist()
    for start, stop in pairwise(ends):
        yield [words[code] for code in codes[start:stop]]


def _spelling(dtype: np.dtype[Any]) -> Any:
    """Return what writes a number of this type shortest, to be read back as it is."""
    return (lambda v: str(np.float32(v))) if dtype == np.float32 else repr
