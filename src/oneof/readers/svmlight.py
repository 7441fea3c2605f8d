"""The svmlight reader: ``3,7 1:0.5 9:2 # truth=3``. The parser is C++; this feeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from oneof import _kernels
from oneof.readers import faults
from oneof.readers.batch import Part, Place
from oneof.readers.lines import Lines
from oneof.readers.reader import MOST_CLASSES, Reader, spelled, text_classes

if TYPE_CHECKING:
    from collections.abc import Generator

    from oneof.labels import Array
    from oneof.readers.files import InputFile


class SvmlightReader(Reader):
    """Reads svmlight text.

    Parameters
    ----------
    n_features : int or None
        None takes every index as it comes.
    new_features : {"grow", "refuse", "ignore"}
        Whether rows with an index beyond `n_features` are bad, or read without it.
    zero_based : bool or "auto"
        Whether features count from 0 (the index is taken as it is written) or from 1; a first
        pass may find out.
    """

    format = "svmlight"
    suffixes = ("svm", "svmlight", "libsvm")

    def __init__(
        self,
        classes: Array | None,
        *,
        n_features: int | None,
        new_features: str,
        zero_based: bool | str,
        **shared: Any,
    ) -> None:
        super().__init__(classes, **shared)
        if not (isinstance(zero_based, bool) or zero_based == "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
        self._base = int(not zero_based)
        self._declared = n_features
        # The columns are not known before the base is.
        limit = None if zero_based == "auto" else n_features
        names, is_integer = spelled(self.classes) if self.classes is not None else ([], False)
        is_single = self.dtype == np.float32
        self._parser = (_kernels.SvmlightParser32 if is_single else _kernels.SvmlightParser64)(
            names,
            is_integer=is_integer,
            is_labelled=self.is_labelled,
            is_collecting=self.classes is None,
            most_classes=MOST_CLASSES,
            index_base=self._base,
            n_features=-1 if limit is None else limit,
            ignores_new=new_features == "ignore",
            max_line=self.limits.line_bytes,
        )
        self._width = 0

    @property
    def n_features(self) -> int:
        """Columns: the declared ones, else as many as the largest index so far asks for."""
        return max(self._width, self._parser.width) if self._declared is None else self._declared

    def widen(self, n_features: int) -> None:
        """Give rows at least this many columns."""
        self._width = max(self._width, n_features)

    def found(self) -> dict[str, Any]:
        """Return the classes of the labels, the columns, and whether features count from 0."""
        starts_at_one = 0 < self._parser.least < self._parser.width
        found: dict[str, Any] = {
            "zero_based": not starts_at_one,
            "width": self.n_features - starts_at_one,
        }
        if self._parser.names:
            found["classes"] = text_classes(self._parser.names)
        return found

    def read(self, file: InputFile, stream: Any, place: Place) -> Generator[Part, None, None]:
        """Yield the rows of an open file, from a place on."""
        parser, limits = self._parser, self.limits
        lines = Lines(stream, place, limits.line_bytes)
        for block in lines:
            if block.is_overlong:
                self._refuse(file, block, "long_line", b"", block.beginning())
            while block.start < block.stop:
                stop = parser.parse(
                    block.buffer, block.start, block.stop, limits.rows, limits.values
                )
                block.advance(stop, parser.n_lines)
                fault, _, text = parser.fault
                if fault:
                    end = block.next_line()
                    self._refuse(file, block, fault, text, bytes(block.buffer[stop:end]))
                    block.advance(end, 1)
                elif stop < block.stop:
                    yield self._part(block.place)
        if parser.n_rows:
            yield self._part(lines.place)

    def _refuse(self, file: InputFile, lines: Lines, fault: str, text: bytes, raw: bytes) -> None:
        reason = faults.sentence(
            fault,
            text,
            n_classes=0 if self.classes is None else len(self.classes),
            most_classes=MOST_CLASSES,
            n_features=self._declared,
            index_base=self._base,
            dtype=self.dtype,
            max_line=self.limits.line_bytes,
        )
        self.bad_rows.add(file.name, lines.line + 1, reason, raw)

    def _part(self, place: Place) -> Part:
        values, indices, indptr, sets, codes, truth = self._parser.take()
        X = sparse.csr_array((values, indices, indptr), (indptr.size - 1, self.n_features))
        # The parser has checked what these promise.
        X.has_canonical_format = True
        return Part(X, (sets, codes) if self.is_labelled else None, truth, place)
