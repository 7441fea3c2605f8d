"""Files that appear whole or not at all; knows nothing of what is written."""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` once all is written and on disk, not before.

    Whatever goes wrong, `path` stays as it was. A device or pipe cannot be replaced: it is written.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        if target.exists():
            # Its folder may allow to replace it; whoever made the file read-only meant to keep it.
            os.close(os.open(target, os.O_WRONLY))
        _remove_abandoned(target)
        partial = _partial(target)
        try:
            with partial.open("wb") as file:
                if target.exists():
                    os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        _sync(target.parent)
    except OSError as error:
        if error.filename in (None, str(target), str(_partial(target))):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


class _RehearsalError(Exception):
    """Ends a write that was not meant."""


def rehearse(path: str | os.PathLike[str]) -> None:
    """Raise now if `replacing` could not even begin, rather than after hours of work."""
    if not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path):
        with suppress(_RehearsalError), replacing(path):
            raise _RehearsalError


def _partial(target: Path) -> Path:
    """Return where `target` is while this process writes it."""
    return target.with_name(f".{target.name}.{os.getpid()}.partial")


def _remove_abandoned(target: Path) -> None:
    """Remove what a process that was killed has left."""
    name = re.compile(rf"\.{re.escape(target.name)}\.(\d+)\.partial")
    with suppress(OSError):
        for path in target.parent.iterdir():
            match = name.fullmatch(path.name)
            if match and not _is_running(int(match[1])):
                path.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _sync(folder: Path) -> None:
    """Make sure that the new name outlives a loss of power."""
    with suppress(OSError):  # some file systems cannot
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
