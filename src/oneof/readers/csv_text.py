"""The CSV and TSV readers: what the header's columns are. The parser is C++; this feeds it."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneof import _kernels
from oneof.readers.errors import BadRow, InputError
from oneof.readers.text import TextReader

if TYPE_CHECKING:
    from oneof.labels import Array
    from oneof.readers.files import InputFile
    from oneof.readers.lines import Lines

# The parser's kinds of columns.
_IGNORED, _LABEL, _TRUTH, _NUMBER, _HASHED_NUMBER, _HASHED_WORD = range(6)


class CsvReader(TextReader):
    """Reads comma-separated text with a header: dense rows, or hashed ones.

    Parameters
    ----------
    label_column, truth_column : str or None
        The candidates, separated by ``|``; the truth, which may be empty.
    ignore_columns, categorical_columns : tuple of str
        Columns that are no features; columns of words, which need `hash_bits`.
    feature_names : list of str or None
        The features declared, in their order; None takes those of the first header.
    hash_bits : int or None
        Hash the names to 2 to the power of this many columns.
    new_features : {"grow", "refuse", "ignore"}
        Whether columns beyond `feature_names` are refused or left out.
    """

    format = "csv"
    suffixes: ClassVar[tuple[str, ...]] = ("csv",)
    delimiter: ClassVar[str] = ","
    options = (
        "label_column", "truth_column", "ignore_columns", "categorical_columns", "feature_names",
        "hash_bits",
    )  # fmt: skip

    def __init__(
        self,
        classes: Array | None,
        *,
        label_column: str,
        truth_column: str | None,
        ignore_columns: tuple[str, ...],
        categorical_columns: tuple[str, ...],
        feature_names: list[str] | None,
        hash_bits: int | None,
        new_features: str,
        **shared: Any,
    ) -> None:
        super().__init__(classes, **shared)
        if categorical_columns and hash_bits is None:
            raise ValueError(
                "categorical_columns needs hash_bits, which says how many columns they share: 18 "
                "is a good start"
            )
        self._label_column, self._truth_column = label_column, truth_column
        self._ignored, self._words = ignore_columns, categorical_columns
        self._names, self._ignores_new = feature_names, new_features == "ignore"
        self._n_hashed = 0 if hash_bits is None else 1 << hash_bits
        self._header: list[str] = []
        self._parser: Any = None  # once the width is known
        if self._n_hashed or feature_names is not None:
            self._make_parser()

    def _make_parser(self) -> None:
        kind = _kernels.CsvParser32 if self.dtype == np.float32 else _kernels.CsvParser64
        self._parser = kind(
            **self._vocabulary(),
            delimiter=self.delimiter,
            width=self.n_features,
            is_hashed=self._n_hashed > 0,
        )

    @property
    def n_features(self) -> int:
        """Columns: those of the header, or those hashed to."""
        return self._n_hashed or len(self._names or ())

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None if they are hashed."""
        return None if self._n_hashed else self._names

    def widen(self, n_features: int) -> None:
        """Do nothing: the header says how many columns there are."""

    def found(self) -> dict[str, Any]:
        """Return the classes of the labels, and the columns."""
        names = {} if self._n_hashed else {"feature_names": self._names}
        return {"width": self.n_features, **names, **self._found_classes()}

    def _begin(self, file: InputFile, lines: Lines) -> None:
        """Read the header."""
        for block in lines:
            while block.start < block.stop:
                end = block.next_line()
                line = bytes(block.buffer[block.start : end])
                if line.strip():
                    self._look_at(file, self._cells(file, line, block.line + 1))
                    block.advance(end, 1)
                    return
                block.advance(end, 1)
            if block.is_overlong:
                raise BadRow(file.name, 1, "the header is too long: is this the right file?")
        raise InputError(file.name, "there is no header: the first line names the columns")

    def _cells(self, file: InputFile, line: bytes, number: int) -> list[str]:
        try:
            text = line.decode().rstrip("\r\n")
            (cells,) = csv.reader([text], delimiter=self.delimiter, strict=True)
        except UnicodeDecodeError:
            raise BadRow(file.name, number, "the header is not UTF-8: convert the file") from None
        except (csv.Error, ValueError) as error:
            raise BadRow(file.name, number, f"the header is not CSV ({error})") from None
        return [cell.strip() for cell in cells]

    def _look_at(self, file: InputFile, header: list[str]) -> None:
        """Tell the parser what the columns of this file are."""
        if len(set(header)) < len(header):
            name = next(name for name in header if header.count(name) > 1)
            raise InputError(file.name, f"two columns are named {name!r}: rename one")
        if all(_kernels.number(name) is not None for name in header):
            raise InputError(
                file.name, "the first line holds numbers only: it must name the columns"
            )
        truth = self._truth_column or ("truth" if "truth" in header else None)
        special = dict.fromkeys(self._ignored, _IGNORED)
        if truth is not None:
            special[truth] = _TRUTH if self.is_labelled else _IGNORED
        special[self._label_column] = _LABEL if self.is_labelled else _IGNORED
        if self.is_labelled:
            self._require(file, header, [self._label_column, *([truth] if truth else [])])
        self._require(file, header, self._words)
        features = [name for name in header if name not in special]
        if "" in features:
            raise InputError(
                file.name,
                "a column has no name: name it, or leave it out with ignore_columns=['']",
            )
        if self._parser is None:
            self._names = features
            self._make_parser()
        if not self._n_hashed:
            self._require(file, header, self._names or ())
        places = {name: j for j, name in enumerate(self._names or ())}
        columns = [self._column(name, special, places, file) for name in header]
        self._parser.set_columns(columns)
        self._header = header

    def _column(
        self, name: str, special: dict[str, int], places: dict[str, int], file: InputFile
    ) -> tuple[int, int, str]:
        if name in special:
            return special[name], 0, ""
        if self._n_hashed:
            return (_HASHED_WORD if name in self._words else _HASHED_NUMBER), 0, name
        if name in places:
            return _NUMBER, places[name], ""
        if self._ignores_new:
            return _IGNORED, 0, ""
        raise InputError(
            file.name,
            f"the column {name!r} is not one of the {len(places)} features: "
            "leave it out with ignore_columns",
        )

    def _require(self, file: InputFile, header: list[str], names: Any) -> None:
        present = set(header)
        for name in names:
            if name not in present:
                raise InputError(
                    file.name,
                    f"there is no column {name!r} among {', '.join(header[:8])}"
                    f"{', …' if len(header) > 8 else ''}: check the header, or the column's name",
                )

    def _about_fault(self, field: int) -> dict[str, object]:
        name = repr(self._header[field]) if field < len(self._header) else None
        return {"column": name, "n_columns": len(self._header), "n_fields": field}

    def _rows(self, values: Array, indices: Array, indptr: Array) -> Any:
        """Return the rows of a batch as an array."""
        if self._n_hashed:
            return super()._rows(values, indices, indptr)
        return values.reshape(indptr.size - 1, self.n_features)


class TsvReader(CsvReader):
    """Reads tab-separated text with a header."""

    format = "tsv"
    suffixes = ("tsv",)
    delimiter = "\t"
