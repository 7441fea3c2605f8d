"""What readers of text share: a compiled parser fed with blocks of lines. No formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy import sparse

from oneof.readers import faults
from oneof.readers.batch import Part, Place
from oneof.readers.lines import Lines
from oneof.readers.reader import MOST_CLASSES, Reader, spelled, text_classes

if TYPE_CHECKING:
    from collections.abc import Generator
    from threading import Event

    from oneof import _kernels
    from oneof.labels import Array
    from oneof.readers.files import InputFile


class TextReader(Reader):
    """Reads lines with a parser of `_kernels`."""

    _parser: _kernels.RowParser32  # or 64

    def _vocabulary(self) -> dict[str, Any]:
        """Return what every parser wants to know."""
        names, is_integer = spelled(self.classes) if self.classes is not None else ([], False)
        return {
            "classes": names,
            "is_integer": is_integer,
            "is_labelled": self.is_labelled,
            "is_collecting": self.classes is None,
            "most_classes": MOST_CLASSES,
            "max_line": self.limits.line_bytes,
        }

    def _found_classes(self) -> dict[str, Array]:
        names = self._parser.names if self._parser else []
        return {"classes": text_classes(names)} if names else {}

    def read(self, file: InputFile, place: Place, stopping: Event) -> Generator[Part, None, None]:
        """Yield the rows of a file from a place on."""
        with file.open(stopping) as stream:
            lines = Lines(stream, self.limits.line_bytes)
            self._begin(file, lines)
            self._parser.take()  # what a pass that was left before its end had read ahead
            lines.skip_to(place)
            yield from self._parts(file, lines)

    def _begin(self, file: InputFile, lines: Lines) -> None:
        """Read what comes before the rows."""

    def _about_fault(self, field: int) -> dict[str, object]:  # noqa: ARG002
        """Return what a format's sentences on faults name."""
        return {}

    def _parts(self, file: InputFile, lines: Lines) -> Generator[Part, None, None]:
        parser, limits = self._parser, self.limits
        for block in lines:
            if block.is_overlong:
                self._refuse(file, block, "long_line", 0, b"", block.beginning())
            while block.start < block.stop:
                stop = parser.parse(
                    block.buffer, block.start, block.stop, limits.rows, limits.values
                )
                block.advance(stop, parser.n_lines)
                fault, field, text = parser.fault
                if fault:
                    end = block.next_line()
                    raw = bytes(block.buffer[stop:end])
                    self._refuse(file, block, fault, field, text, raw)
                    block.advance(end, 1)
                elif stop < block.stop:
                    yield self._part(block.place)
        if parser.n_rows:
            yield self._part(lines.place)

    def _refuse(
        self, file: InputFile, lines: Lines, fault: str, field: int, text: bytes, raw: bytes
    ) -> None:
        reason = faults.sentence(
            fault,
            text,
            n_classes=0 if self.classes is None else len(self.classes),
            most_classes=MOST_CLASSES,
            dtype=self.dtype,
            max_line=self.limits.line_bytes,
            **self._about_fault(field),
        )
        self.bad_rows.add(file.name, lines.line + 1, reason, raw)

    def _part(self, place: Place) -> Part:
        values, indices, indptr, sets, codes, truth = self._parser.take()
        X = self._rows(values, indices, indptr)
        return Part(X, (sets, codes) if self.is_labelled else None, truth, place)

    def _rows(self, values: Array, indices: Array, indptr: Array) -> Any:
        """Return the rows of a batch as an array."""
        X = sparse.csr_array((values, indices, indptr), (indptr.size - 1, self.n_features))
        # The parser has checked what these promise.
        X.has_canonical_format = True
        return X
