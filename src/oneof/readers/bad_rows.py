"""What happens to bad rows: stop at the first, or count, keep and go on. No reading."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from oneof.readers.errors import BadRow, InputError, UnwritableRejects

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

POLICIES = ("stop", "skip")
_MOST = 1 << 16


class BadRows:
    """Counts bad rows, or raises at the first.

    Parameters
    ----------
    policy : {"stop", "skip"}
    rejects : path, optional
        A file for the bad rows, one JSON object a line: file, line, reason, raw. A raw row is
        kept up to 65536 bytes; what is not UTF-8 is written with backslashes.
    """

    def __init__(self, policy: str, rejects: str | os.PathLike[str] | None = None) -> None:
        if policy not in POLICIES:
            raise ValueError(f"on_bad_row must be 'stop' or 'skip', not {policy!r}")
        if rejects is not None and policy == "stop":
            raise ValueError("rejects keeps the rows that are skipped: say on_bad_row='skip' too")
        self.policy, self.rejects = policy, rejects
        self.n_skipped = 0
        self._file: IO[bytes] | None = None

    def start(self, n_skipped: int = 0, kept: int = 0) -> None:
        """Begin a pass: after `n_skipped` bad rows, which take `kept` bytes of the rejects."""
        self.n_skipped = n_skipped
        if self.rejects is None:
            return
        self.close()
        with self._failures_named():
            self._file = Path(self.rejects).open("r+b" if kept else "wb")  # noqa: SIM115
            if self._file.seek(0, 2) < kept:
                raise InputError(str(self.rejects), "is shorter than it was: it is another file")
            self._file.truncate(self._file.seek(kept))

    @property
    def kept(self) -> int:
        """Bytes of the rejects so far."""
        return self._file.tell() if self._file else 0

    def add(self, path: str, line: int, reason: str, raw: bytes) -> None:
        """Raise, or count the row and keep it."""
        if self.policy == "stop":
            raise BadRow(path, line, reason)
        self.n_skipped += 1
        if self._file:
            row = {"file": path, "line": line, "reason": reason, "raw": _written(raw)}
            with self._failures_named():
                self._file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

    def flush(self) -> None:
        """Hand what is kept to the operating system."""
        if self._file:
            with self._failures_named():
                self._file.flush()

    def close(self) -> None:
        """Close the rejects."""
        if self._file:
            with suppress(OSError):  # flushed before; what failed then has been said
                self._file.close()
            self._file = None

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UnwritableRejects(
                str(self.rejects), f"cannot be written ({error.strerror})"
            ) from None


def _written(raw: bytes) -> Any:
    return raw[:_MOST].decode("utf-8", "backslashreplace").rstrip("\r\n")
