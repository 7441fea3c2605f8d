"""The JSON Lines reader: ``{"x": {"f": 1.0} or [..], "candidates": [..], "truth": ..}``."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse

from oneof import _kernels
from oneof.labels import Array, given_classes, show, sorted_labels
from oneof.readers.batch import Part, Place
from oneof.readers.faults import shown
from oneof.readers.lines import Lines
from oneof.readers.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Generator
    from threading import Event

    from oneof.readers.files import InputFile


class _Bad(Exception):  # noqa: N818 - it is caught, never shown as a class
    """What is wrong with a row."""


class JsonLinesReader(Reader):
    """Reads JSON Lines, one object a line.

    Parameters
    ----------
    label_column, truth_column : str
        The keys of the candidates and of the truth.
    feature_names : list of str or None
        The features declared, in their order; None takes names as they come.
    hash_bits : int or None
        Hash the names to 2 to the power of this many columns.
    n_features : int or None
        Length of rows that are lists; None takes that of the first.
    new_features : {"grow", "refuse", "ignore"}
        Whether names that were not declared join, are refused, or are left out.
    """

    format = "jsonl"
    suffixes = ("jsonl", "ndjson")
    options = ("label_column", "truth_column", "feature_names", "hash_bits", "n_features")
    can_grow = True

    def __init__(
        self,
        classes: Array | None,
        *,
        label_column: str,
        truth_column: str | None,
        feature_names: list[str] | None,
        hash_bits: int | None,
        n_features: int | None,
        new_features: str,
        **shared: Any,
    ) -> None:
        super().__init__(classes, **shared)
        self._keys = label_column, truth_column or "truth"
        self._new_features = new_features
        self._columns = {name: i for i, name in enumerate(feature_names or ())}
        self._n_hashed = 0 if hash_bits is None else 1 << hash_bits
        self._is_listed: bool | None = None if feature_names is None and not hash_bits else False
        self._length = n_features
        self._width = 0
        self._codes = {} if classes is None else dict(_coded(classes.tolist()))
        self._kind = None if classes is None else type(classes.tolist()[0])
        self._start()

    def _start(self) -> None:
        self._values: list[float] = []
        self._indices: list[int] = []
        self._ends, self._set_ends = [0], [0]
        self._set_codes: list[int] = []
        self._truth: list[int] = []

    @property
    def n_features(self) -> int:
        """Columns: those hashed to, those of the lists, or the names so far."""
        if self._n_hashed:
            return self._n_hashed
        return max(len(self._columns), self._length or 0, self._width)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features so far; None if they are hashed or have none."""
        return None if self._n_hashed or self._is_listed else list(self._columns)

    def widen(self, n_features: int) -> None:
        """Give rows at least this many columns."""
        if not self._n_hashed and self._length is None:
            self._width = max(self._width, n_features)

    def found(self) -> dict[str, Any]:
        """Return the classes of the labels, the columns and their names."""
        labels = given_classes(list(self._codes))
        kept = labels.tolist() if labels.dtype.kind == "U" else labels
        return {
            "classes": sorted_labels(kept),
            "width": self.n_features,
            "feature_names": self.feature_names,
        }

    def read(self, file: InputFile, place: Place, stopping: Event) -> Generator[Part, None, None]:
        """Yield the rows of a file from a place on."""
        with file.open(stopping) as stream:
            lines = Lines(stream, self.limits.line_bytes)
            lines.skip_to(place)
            self._start()  # a pass that was left before its end had read ahead
            for block in lines:
                if block.is_overlong:
                    self._refuse(file, block, self._too_long(), block.beginning())
                while block.start < block.stop:
                    self._read_line(file, block)
                    if self._is_full():
                        yield self._part(lines.place)
            if len(self._truth):
                yield self._part(lines.place)

    def _is_full(self) -> bool:
        limits = self.limits
        return len(self._truth) >= limits.rows or len(self._values) >= limits.values

    def _read_line(self, file: InputFile, lines: Lines) -> None:
        end = lines.next_line()
        line = bytes(lines.buffer[lines.start : end - 1]).strip(b" \t\r")
        if line:
            try:
                if end - 1 - lines.start > self.limits.line_bytes:
                    raise _Bad(self._too_long())
                self._add(_parsed(line))
            except _Bad as bad:
                self._refuse(file, lines, str(bad), line)
        lines.advance(end, 1)

    def _refuse(self, file: InputFile, lines: Lines, reason: str, raw: bytes) -> None:
        self.bad_rows.add(file.name, lines.line + 1, reason, raw)

    def _too_long(self) -> str:
        return (
            f"the line is longer than {self.limits.line_bytes} bytes: is this the right file? "
            "(max_line sets the limit)"
        )

    def _add(self, row: Any) -> None:
        """Take a row, or raise with nothing changed."""
        if not isinstance(row, dict):
            raise _Bad(f"the line holds {show(row)}, not an object: write {{...}}")
        n_codes, n_columns = len(self._codes), len(self._columns)
        kind, is_listed, length = self._kind, self._is_listed, self._length
        try:
            codes, truth = self._labels(row) if self.is_labelled else ([], -1)
            if "x" not in row:
                raise _Bad('the row has no features: give them as "x"')
            pairs = self._pairs(row["x"])
        except _Bad:
            for known, size in ((self._codes, n_codes), (self._columns, n_columns)):
                while len(known) > size:
                    known.popitem()
            self._kind, self._is_listed, self._length = kind, is_listed, length
            raise
        self._indices += [index for index, _ in pairs]
        self._values += [value for _, value in pairs]
        self._ends.append(len(self._values))
        self._set_codes += codes
        self._set_ends.append(len(self._set_codes))
        self._truth.append(truth)

    def _labels(self, row: dict[str, Any]) -> tuple[list[int], int]:
        key, truth_key = self._keys
        given = row.get(key)
        labels = given if isinstance(given, list) else [] if given is None else [given]
        if not labels:
            raise _Bad(f'the row has no candidates: give at least one label as "{key}"')
        codes = sorted({self._code(label) for label in labels})
        truth = row.get(truth_key)
        return codes, -1 if truth is None else self._code(truth)

    def _code(self, label: Any) -> int:
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if type(label) not in (str, int) or (type(label) is int and not -(2**63) <= label < 2**63):
            raise _Bad(f"{show(label)} is not a label: labels are strings or integers")
        if self._kind is None:
            self._kind = type(label)
        elif type(label) is not self._kind:
            raise _Bad(
                f"the label {show(label)} is {_noun(type(label))}, but others are "
                f"{_noun(self._kind)}: use strings or integers throughout"
            )
        code = self._codes.get(label)
        if code is None:
            if self.classes is not None:
                raise _Bad(
                    f"the label {show(label)} is not among the {len(self._codes)} classes: "
                    "correct it, or name it in `classes`"
                )
            _check_text(label, "label")
            code = self._codes[label] = len(self._codes)
        return code

    def _pairs(self, x: Any) -> list[tuple[int, float]]:
        """Return the (index, value) pairs of a row, by rising index."""
        is_listed = isinstance(x, list)
        if not is_listed and not isinstance(x, dict):
            raise _Bad(f"x is {show(x)}: give a list of numbers or an object of named features")
        if self._is_listed is None:
            self._is_listed = is_listed
        if is_listed != self._is_listed:
            ours, others = ("a list", "names")[:: 1 if is_listed else -1]
            raise _Bad(f"x is by {ours}, where other rows are by {others}: use one of both")
        if is_listed:
            return self._listed(x)
        pairs: dict[int, float] = {}
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            number = self._number(value, name)
            index, sign = self._place(name)
            if index >= 0:
                pairs[index] = self._number(pairs.get(index, 0.0) + sign * number, name)
        return sorted(pairs.items())

    def _listed(self, x: list[Any]) -> list[tuple[int, float]]:
        if self._length is None:
            self._length = self._width or len(x)
        if len(x) != self._length:
            raise _Bad(f"x has {len(x)} numbers, where other rows have {self._length}")
        return [(i, self._number(value, i)) for i, value in enumerate(x)]

    def _place(self, name: str) -> tuple[int, int]:
        """Return a feature's column, −1 for none, and its sign."""
        if self._n_hashed:
            _check_text(name, "feature")
            return _kernels.hashed_place(name, self._n_hashed)
        index = self._columns.get(name)
        if index is None:
            if self._new_features == "ignore":
                return -1, 1
            if self._new_features == "refuse":
                raise _Bad(
                    f"the feature {show(name)} is not one of the {len(self._columns)} that are "
                    "known: correct it, or say new_features='ignore'"
                )
            if len(self._columns) < self._width:
                # A new name would take the column of one that was met before the place.
                raise ValueError(
                    f"{self._width} features had names before the place to continue from, and "
                    f"{len(self._columns)} are known: give them all as feature_names"
                )
            _check_text(name, "feature")
            index = self._columns[name] = len(self._columns)
        return index, 1

    def _number(self, value: Any, name: Any) -> float:
        if not isinstance(value, bool | int | float):
            raise _Bad(f"the value {show(value)} of feature {show(name)} is not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not abs(number) <= self._largest:
            raise _Bad(
                f"the value {show(value)} of feature {show(name)} is too large for {self.dtype}: "
                "scale the feature down"
            )
        return number

    @property
    def _largest(self) -> float:
        return _LARGEST[self.dtype]

    def _part(self, place: Place) -> Part:
        n, values = len(self._truth), np.array(self._values, dtype=self.dtype)
        if self._is_listed:
            X: Any = values.reshape(n, self.n_features)
        else:
            indptr = np.array(self._ends, dtype=np.int32)
            indices = np.array(self._indices, dtype=np.int32)
            X = sparse.csr_array((values, indices, indptr), (n, self.n_features))
            X.has_canonical_format = True
        sets = None
        if self.is_labelled:
            sets = np.array(self._set_ends), np.array(self._set_codes, dtype=np.int32)
        truth = np.array(self._truth, dtype=np.int32)
        self._start()
        return Part(X, sets, truth if (truth >= 0).any() else None, place)


# The halfway point beyond the largest float32 rounds to infinity.
_LARGEST = {
    np.dtype(np.float32): float.fromhex("0x1.fffffefffffffp127"),
    np.dtype(np.float64): float.fromhex("0x1.fffffffffffffp1023"),
}


def _coded(labels: list[Any]) -> zip[tuple[Any, int]]:
    return zip(labels, range(len(labels)), strict=True)


def _noun(kind: type) -> str:
    return "a string" if kind is str else "a number"


def _check_text(text: Any, what: str) -> None:
    if isinstance(text, str):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _Bad(f"the {what} {text!a} holds half a character: correct it") from None
        if what == "label" and text.endswith("\0"):
            raise _Bad(f"the label {show(text)} ends with a NUL character: remove it")


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _Bad("the line is not UTF-8: convert the file to UTF-8") from None
    except json.JSONDecodeError as error:
        raise _Bad(f"the line is not JSON ({error.msg} at column {error.colno})") from None
    except (ValueError, RecursionError):
        raise _Bad(f"the line is not JSON that can be read: {shown(line)}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Bad(f"the key {show(twice)} occurs twice: keep one")
    return held


def _no_constant(name: str) -> NoReturn:
    raise _Bad(f"{name} is not finite: drop the row, or impute the value")
