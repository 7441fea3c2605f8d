"""Inputs as streams of bytes: paths, globs, standard input, compression. No rows, no formats."""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import lzma
import os
import select
import stat
import sys
import zlib
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.readers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

STANDARD_INPUT = "-"
_SAMPLE = 1 << 16

# How each compression starts, and the name that promises it.
_MAGIC = {"gz": b"\x1f\x8b", "xz": b"\xfd7zXZ\0", "zst": b"\x28\xb5\x2f\xfd"}
_LONG = {"gz": "gzip", "xz": "xz", "zst": "zstandard"}


def resolved(paths: Any) -> list[str]:
    """Return the named files in the order given; a pattern gives its files sorted."""
    given: list[Any] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("there is no input: name a file, a pattern, or - for standard input")
    found: list[str] = []
    for path in [os.fspath(path) for path in given]:
        if path == STANDARD_INPUT or os.path.exists(path) or not glob.has_magic(path):
            found.append(path)
            continue
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            raise InputError(path, "no file matches this pattern: check it, or the folder")
        found += matches
    if found.count(STANDARD_INPUT) > 1:
        raise ValueError("standard input (-) can be read once only: name it once")
    return found


def bare_name(path: str) -> tuple[str, str]:
    """Split a name into the part without compression, and the compression."""
    stem, dot, last = path.rpartition(".")
    return (stem, last.lower()) if dot and last.lower() in _MAGIC else (path, "")


class InputFile:
    """One input: what it is, and how to open it.

    Opening checks; nothing is opened before.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "standard input" if path == STANDARD_INPUT else path
        self.n_read = 0  # compressed bytes, of the stream opened last
        try:
            state = os.fstat(sys.stdin.fileno()) if path == STANDARD_INPUT else os.stat(path)
        except OSError as error:
            raise InputError(self.name, f"{error.strerror}: check the name") from None
        if stat.S_ISDIR(state.st_mode):
            raise InputError(self.name, "is a folder: name its files, for example with a pattern")
        self.is_regular = stat.S_ISREG(state.st_mode) and path != STANDARD_INPUT
        self.size = state.st_size if self.is_regular else None

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What tells the file from others: its name, its size, and a hash of its start and end."""
        if not self.is_regular or self.size is None:
            return {"name": self.path, "size": None, "sample": None}
        with open(self.path, "rb") as file:
            start = file.read(_SAMPLE)
            file.seek(max(self.size - _SAMPLE, 0))
            sample = hashlib.sha256(start + file.read(_SAMPLE)).hexdigest()
        return {"name": Path(self.path).name, "size": self.size, "sample": sample[:16]}

    @contextmanager
    def open(self, stopping: Event) -> Iterator[Stream]:
        """Open the uncompressed bytes; every failure to read names the file."""
        with self.failures_named():
            raw = self._raw(stopping)
        with io.BufferedReader(_Counted(self, raw), 1 << 17) as file:
            with self.failures_named():
                stream = self._uncompressed(file)
            yield Stream(self, stream)

    def _raw(self, stopping: Event) -> io.RawIOBase:
        if self.is_regular:
            return io.FileIO(self.path)
        if self.path == STANDARD_INPUT:
            return _Waiting(os.dup(sys.stdin.fileno()), stopping)
        # Opened so, a FIFO does not wait for its writer; reading does, and can be stopped.
        return _Waiting(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), stopping)

    def _uncompressed(self, file: Any) -> Any:
        start = file.peek(8)
        found = next((kind for kind, magic in _MAGIC.items() if start.startswith(magic)), "")
        promised = bare_name(self.path)[1]
        if promised and found != promised:
            raise InputError(
                self.name,
                f"is not {_LONG[promised]} data, though its name says so: "
                "rename it, or fetch it again",
            )
        return _OPENERS[found](file) if found else file

    @contextmanager
    def failures_named(self) -> Iterator[None]:
        """Turn failures to read into one sentence."""
        try:
            yield
        except InputError:
            raise
        except EOFError:
            raise InputError(
                self.name,
                "the compressed data end too early: the file is cut off, so fetch it again",
            ) from None
        except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise _damaged(self.name, error) from None
        except OSError as error:
            raise InputError(self.name, f"cannot be read ({error.strerror or error})") from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise _damaged(self.name, error) from None


def _damaged(name: str, error: Exception) -> InputError:
    return InputError(name, f"the compressed data are damaged ({error}): fetch the file again")


def zstandard() -> Any:
    """Return the module that knows zstandard, the standard library's or its twin."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ValueError(
            "zstandard files need one more package: pip install 'oneof[zstd]'"
        ) from None
    return zstd


_OPENERS: dict[str, Callable[[Any], Any]] = {
    "gz": gzip.open,
    "xz": lzma.open,
    "zst": lambda file: zstandard().open(file),
}


class _Counted(io.RawIOBase):
    """Counts the bytes that were read."""

    def __init__(self, owner: InputFile, raw: io.RawIOBase) -> None:
        self._owner, self._raw = owner, raw
        owner.n_read = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        self._owner.n_read = self._raw.seek(offset, whence)
        return self._owner.n_read

    def readinto(self, buffer: Any) -> int | None:
        n = self._raw.readinto(buffer)
        self._owner.n_read += n or 0
        return n

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Waiting(io.RawIOBase):
    """A pipe or terminal, read without ever waiting for longer than a stop takes."""

    def __init__(self, descriptor: int, stopping: Event) -> None:
        self._descriptor, self._stopping = descriptor, stopping

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not select.select([self._descriptor], [], [], 0.05)[0]:
            if self._stopping.is_set():
                return 0
        return os.readv(self._descriptor, [buffer])

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


class Stream:
    """The uncompressed bytes of an input; failures name the input."""

    def __init__(self, owner: InputFile, stream: Any) -> None:
        self._owner, self._stream = owner, stream

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into a buffer; 0 at the end."""
        with self._owner.failures_named():
            return int(self._stream.readinto(buffer))

    def skip(self, start: int, stop: int) -> None:
        """Move from `start`, where the stream is, on to `stop`, which must be there."""
        with self._owner.failures_named():
            if self._stream.seekable():
                # A plain file can be sought beyond its end: the byte before must be there.
                if self._stream.seek(stop - 1) == stop - 1 and self._stream.read(1):
                    return
            else:
                while start < stop and (read := self._stream.read(min(stop - start, 1 << 20))):
                    start += len(read)
                if start == stop:
                    return
        raise InputError(
            self._owner.name, "ends before the place to continue from: it is not the same file"
        )


def total_size(files: Sequence[InputFile]) -> int | None:
    """Add up the sizes; None if one is unknown."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(size or 0 for size in sizes)


def joint_name(files: Sequence[InputFile]) -> str:
    """Name several files in a sentence."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and the other files"
