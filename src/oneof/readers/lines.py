"""Whole lines of a stream, a block at a time, in a buffer that is used again. No formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneof.readers.batch import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1 << 18
_SHOWN = 1 << 10
_BOM = b"\xef\xbb\xbf"


class Lines:
    """Blocks of whole lines; each line ends with a line feed, the last one of a file too.

    ``buffer[start:stop]`` are the unread lines of the block. A line beyond `max_line` bytes is
    never held: it makes a block of its own, empty, with `is_overlong`, and `buffer` shows its
    beginning.
    """

    def __init__(self, stream: Any, max_line: int) -> None:
        self._stream, self._max_line = stream, max_line
        self.buffer = bytearray(_BLOCK)
        self.offset = self.line = 0
        self.start = self.stop = self._filled = 0
        self._end = 0  # of what was read
        self.is_overlong = False
        self._is_ended = False

    @property
    def place(self) -> Place:
        """Where the unread lines start."""
        return Place(min(self.offset, self._end), self.line)  # a last line may lack its end

    def __iter__(self) -> Iterator[Lines]:
        """Yield this object, once for each block, from where the last iteration was left."""
        while self._filled - self.start < len(_BOM) and not self._is_ended:
            self._more()
        if self.offset == 0 and self.buffer.startswith(_BOM, 0, self._filled):
            self.start = self.offset = len(_BOM)
        while self._filled > self.start or not self._is_ended:
            self.stop = self.buffer.rfind(b"\n", self.start, self._filled) + 1
            if self.stop:
                yield self
            elif self._filled - self.start > self._max_line:
                yield from self._overlong()
            self._more()

    def skip_to(self, place: Place) -> None:
        """Go on from a place, if it lies behind what has been read."""
        if place.offset <= self.offset:
            return
        in_buffer = min(place.offset - self.offset, self._filled - self.start)
        self.advance(self.start + in_buffer, place.line - self.line)
        if place.offset > self.offset:
            self._stream.skip(self.offset, place.offset)
            self.offset = self._end = place.offset

    def advance(self, to: int, n_lines: int) -> None:
        """Count what lies before `to` as read."""
        self.offset += to - self.start
        self.line += n_lines
        self.start = to

    def next_line(self) -> int:
        """Return where the line after the first unread one starts."""
        return self.buffer.find(b"\n", self.start, self.stop) + 1

    def beginning(self) -> bytes:
        """Return the first bytes of a line that is too long to hold."""
        return bytes(self.buffer[self.start : self.start + _SHOWN])

    def _more(self) -> None:
        """Read on behind what is unread, which moves to the front."""
        rest = self._filled - self.start
        self.buffer[:rest] = self.buffer[self.start : self._filled]
        self.start, self._filled = 0, rest
        if self._is_ended:
            return
        if rest == len(self.buffer):
            self.buffer += bytes(rest)
        with memoryview(self.buffer) as view, view[rest:] as room:
            read = self._stream.readinto(room)
        self._filled += read
        self._end += read
        if not read:
            self._is_ended = True
            if rest:  # no line is complete: what is left is the last line, without its end
                self.buffer[rest : rest + 1] = b"\n"
                self._filled += 1

    def _overlong(self) -> Iterator[Lines]:
        """Let the caller see the beginning of the line, then drop it, a block at a time."""
        self.stop, self.is_overlong = self.start, True
        yield self
        self.is_overlong = False
        while (end := self.buffer.find(b"\n", self.start, self._filled)) < 0:
            self.offset += self._filled - self.start
            self.start = self._filled
            self._more()
            if self._is_ended and self._filled == self.start:
                self.line += 1
                return
        self.advance(end + 1, 1)
