"""The Parquet and Arrow IPC readers: columns to rows, whole arrays at a time. No text."""

from __future__ import annotations

import json
from abc import abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.readers.batch import Part, Place
from oneof.readers.codes import Codes
from oneof.readers.errors import InputError
from oneof.readers.reader import Reader
from oneof.readers.tables import Faults, Table, table_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from threading import Event

    from oneof.labels import Array
    from oneof.readers.files import InputFile


class ArrowReader(Reader):
    """Reads record batches; what holds them is for a subclass to say.

    Parameters
    ----------
    label_column, truth_column : str or None
        The candidates: a list of labels, or one label. The truth: one label; None takes the
        column "truth" if there is one.
    ignore_columns : tuple of str
        Columns that are no features.
    feature_names : list of str or None
        The features declared, in their order.
    n_features : int or None
        Columns of sparse rows; None takes every index as it comes.
    new_features : {"grow", "refuse", "ignore"}
        Whether features that were not declared are refused or left out.
    """

    options = (
        "label_column", "truth_column", "ignore_columns", "feature_names", "n_features",
    )  # fmt: skip

    def __init__(
        self,
        classes: Array | None,
        *,
        label_column: str,
        truth_column: str | None,
        ignore_columns: tuple[str, ...],
        feature_names: list[str] | None,
        n_features: int | None,
        new_features: str,
        **shared: Any,
    ) -> None:
        super().__init__(classes, **shared)
        pyarrow_module()
        self._label_column, self._truth_column = label_column, truth_column
        self._ignored = ignore_columns
        self._features = feature_names, n_features, new_features
        self._codes = Codes(classes)
        self._table: Table | None = None
        self._width = n_features or len(feature_names or ())

    @property
    def n_features(self) -> int:
        """Columns: the declared ones, else as many as the rows so far ask for."""
        return max(self._width, self._table.width if self._table else 0)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the numeric columns; None where rows are lists."""
        declared = self._features[0]
        return self._table.names if self._table else declared

    def widen(self, n_features: int) -> None:
        """Give rows at least this many columns."""
        if self._features[1] is None:
            self._width = max(self._width, n_features)

    def found(self) -> dict[str, Any]:
        """Return the classes of the labels, and the columns."""
        return {"classes": self._codes.found(), "width": self.n_features}

    def read(self, file: InputFile, place: Place, stopping: Event) -> Generator[Part, None, None]:
        """Yield the rows of a file from a place on."""
        if not file.is_regular:
            raise InputError(
                file.name, f"{self.format} needs a file that can be sought, not a pipe"
            )
        row = place.line
        with _failures_named(file.name):
            for batch, share in self._batches(file, row):
                if stopping.is_set():
                    return
                part = self._part(file, batch, row)
                row += batch.num_rows
                file.n_read = int((file.size or 0) * share)
                if part is not None:
                    yield part
        file.n_read = file.size or 0

    @abstractmethod
    def _batches(self, file: InputFile, row: int) -> Iterator[tuple[Any, float]]:
        """Yield record batches from a row on, and the share of the file read by then."""

    def _bounded(self, n_rows: int, n_values: int) -> int:
        """Return how many rows make a batch where `n_rows` have `n_values` values in all."""
        return max(1, min(self.limits.rows, self.limits.values * n_rows // max(n_values, 1)))

    def _look_at(self, schema: Any) -> list[str]:
        """Find out, from the first file, what the columns are; return those that are used."""
        if self._table is None:
            names = set(schema.names)
            truth = self._truth_column or ("truth" if "truth" in names else None)
            for name in [self._label_column] * self.is_labelled + [truth] * (truth is not None):
                if name not in names:
                    raise ValueError(f"has no column {name!r}, only {', '.join(schema.names)}")
            special = {self._label_column, truth, *self._ignored}
            self._truth = truth if self.is_labelled else None
            self._table = table_of(schema, special, *self._features, self.dtype)
        labels = [self._label_column] * self.is_labelled
        truths = [self._truth] if self._truth is not None else []
        return [*labels, *truths, *self._table.columns]

    def _part(self, file: InputFile, batch: Any, row: int) -> Part | None:
        table = self._table
        assert table is not None
        faults = Faults(batch.num_rows)
        made = table.rows(batch, faults)
        sets, truth = None, None
        if self.is_labelled:
            sets = self._codes.sets(batch.column(self._label_column), faults)
            if self._truth is not None:
                truth = self._codes.labels(batch.column(self._truth), faults)
        for i, reason in faults:
            raw = json.dumps(batch.slice(i, 1).to_pylist()[0], default=str).encode()
            self.bad_rows.add(file.name, row + i + 1, reason, raw)
        good = faults.good()
        if not good.any():
            return None
        X = made.X(max(self._width, table.width), good)
        if sets is not None:
            sets = self._codes.packed(*sets, good)
        if truth is not None:
            truth = truth[good]
            self._codes.note(truth)
            truth = truth.astype(np.int32) if (truth >= 0).any() else None
        return Part(X, sets, truth, Place(0, row + batch.num_rows))


class ParquetReader(ArrowReader):
    """Reads Parquet files, a row group at a time, a few pages in memory."""

    format = "parquet"
    suffixes = ("parquet", "pq")

    def _batches(self, file: InputFile, row: int) -> Iterator[tuple[Any, float]]:
        from pyarrow import parquet

        with parquet.ParquetFile(file.path, buffer_size=1 << 18) as opened:
            facts, start = opened.metadata, 0
            columns = self._look_at(opened.schema_arrow)
            for g in range(facts.num_row_groups):
                group = facts.row_group(g)
                stop = start + group.num_rows
                if row < stop:
                    longest = max(group.column(c).num_values for c in range(group.num_columns))
                    size = self._bounded(
                        group.num_rows, max(longest, group.num_rows * len(columns))
                    )
                    for batch in opened.iter_batches(size, [g], columns):
                        start += batch.num_rows
                        if start > row:
                            rest = batch.slice(max(0, batch.num_rows - (start - row)))
                            yield rest, start / facts.num_rows
                start = stop


class IpcReader(ArrowReader):
    """Reads Arrow IPC files (Feather, version 2), mapped into memory."""

    format = "arrow"
    suffixes = ("arrow", "feather", "ipc")

    def _batches(self, file: InputFile, row: int) -> Iterator[tuple[Any, float]]:
        import pyarrow as pa

        with pa.memory_map(file.path) as mapped, pa.ipc.open_file(mapped) as opened:
            start = 0
            columns = self._look_at(opened.schema)
            for b in range(opened.num_record_batches):
                batch = opened.get_batch(b).select(columns)
                size = self._bounded(batch.num_rows, batch.nbytes // 8)
                for first in range(0, batch.num_rows, size):
                    part = batch.slice(first, size)
                    start += part.num_rows
                    if start > row:
                        rest = part.slice(max(0, part.num_rows - (start - row)))
                        yield rest, (b + 1) / opened.num_record_batches


def pyarrow_module() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise ValueError(
            "Parquet and Arrow need one more package: pip install 'oneof[parquet]'"
        ) from None
    return pyarrow


@contextmanager
def _failures_named(name: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except InputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(name, f"cannot be read: {what}") from None
