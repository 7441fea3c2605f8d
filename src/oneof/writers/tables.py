"""Tables of named columns: CSV, TSV, JSON Lines, Parquet, Arrow. No features, no files."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.readers.arrow import pyarrow_module

if TYPE_CHECKING:
    from collections.abc import Mapping


class Output(ABC):  # noqa: B024 - what to write is for its kinds to say
    """Writes to a file that is open."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def finish(self) -> None:  # noqa: B027 - most have nothing to add
        """Write what comes at the end."""

    def abandon(self) -> None:  # noqa: B027
        """Let go of the file, which will not be kept."""


class Table(Output):
    """Writes named columns."""

    @abstractmethod
    def write(self, columns: Mapping[str, Any]) -> None:
        """Write rows given as columns."""


class CsvTable(Table):
    """Comma-separated text with a header."""

    delimiter = ","

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._header: list[str] | None = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write rows given as columns."""
        text = io.StringIO()
        rows = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        if self._header is None:
            self._header = list(columns)
            rows.writerow(self._header)
        rows.writerows(zip(*map(_cells, columns.values()), strict=True))
        self._file.write(text.getvalue().encode())


class TsvTable(CsvTable):
    """Tab-separated text with a header."""

    delimiter = "\t"


class JsonTable(Table):
    """An object for each row."""

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write rows given as columns."""
        names, lines = list(columns), []
        for row in zip(*(_listed(column) for column in columns.values()), strict=True):
            held = {name: v for name, v in zip(names, row, strict=True) if v is not None}
            lines.append(json.dumps(held, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.write("".join(lines).encode())


class ArrowTable(Table):
    """An Arrow IPC file; the first rows tell the columns' types."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self._pa = pyarrow_module()
        self._sink: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write rows given as columns."""
        if self._sink is None:
            table = self._pa.table(dict(columns))
            self._schema = self._pa.schema([_settled(self._pa, field) for field in table.schema])
            self._sink = self._open()
        self._sink.write_table(self._pa.table(dict(columns), self._schema))

    def _open(self) -> Any:
        return self._pa.ipc.new_file(self._file, self._schema)

    def finish(self) -> None:
        """Write what comes at the end."""
        if self._sink is None:
            self._schema = self._pa.schema([])
            self._sink = self._open()
        self._sink.close()

    def abandon(self) -> None:
        """Let go of the file."""
        if self._sink is not None:
            with suppress(OSError, ValueError):  # the file may be what has failed
                self._sink.close()


class ParquetTable(ArrowTable):
    """A Parquet file."""

    def _open(self) -> Any:
        from pyarrow import parquet

        # As small as with Snappy, pyarrow's default, and read faster.
        return parquet.ParquetWriter(self._file, self._schema, compression="lz4")


TABLES: dict[str, Any] = {
    "csv": CsvTable,
    "tsv": TsvTable,
    "jsonl": JsonTable,
    "parquet": ParquetTable,
    "arrow": ArrowTable,
}


def floats(values: Any) -> Any:
    """Return Python numbers whose shortest spelling is that of the type."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        return array.tolist()
    shortest = [float(str(v)) for v in array.ravel()]
    return np.array(shortest).reshape(array.shape).tolist()


def _listed(column: Any) -> list[Any]:
    return floats(column) if isinstance(column, np.ndarray) else list(column)


def _cells(column: Any) -> list[Any]:
    return ["" if v is None else v for v in _listed(column)]


def _settled(pa: Any, field: Any) -> Any:
    """Return a column's type; one of nothing but nulls in the first rows may hold words later."""
    return field.with_type(pa.string()) if pa.types.is_null(field.type) else field
