"""The command `oneof`: answers at once where it can, and turns every failure into one sentence."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import oneof

if TYPE_CHECKING:
    from collections.abc import Sequence


INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C

# What to do about a file that cannot be written, where the system's own words do not tell.
_HINTS = {
    errno.ENOSPC: "make room, or name another place",
    errno.EDQUOT: "make room, or name another place",
    errno.EROFS: "name another place",
}


class Interrupted(Exception):  # noqa: N818 - it is caught, and shown as its sentence
    """Ctrl-C, with a sentence that says what was left behind."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code.

    0, 1 for a bug of ours, 2 for bad usage or input, 130 for Ctrl-C.
    """
    try:
        return _answered(list(sys.argv[1:] if arguments is None else arguments))
    finally:
        for stream in (sys.stdout, sys.stderr):
            _let_go(stream)


def _answered(given: list[str]) -> int:
    """Run the command; say in one sentence what went wrong."""
    try:
        code = _run(given)
        _flush_output()
        return code
    except Interrupted as stop:
        return say(str(stop), INTERRUPTED)
    except KeyboardInterrupt:
        return say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        return 0  # the reader of our output has gone
    except (ValueError, OSError) as error:
        hint = _HINTS.get(error.errno or 0) if isinstance(error, OSError) else None
        return say(": ".join(filter(None, (sentence_of(error), hint))), 2)
    except Exception as error:
        if os.environ.get("ONEOF_DEBUG"):
            raise
        what = f"{type(error).__name__}: {sentence_of(error)}"
        return say(
            f"this is a bug in oneof, please report it (ONEOF_DEBUG=1 shows more): {what}", 1
        )


def _run(given: list[str]) -> int:
    if given == ["--version"]:
        print(f"oneof {oneof.__version__}")
        return 0
    from oneof.cli.app import run  # typer and rich take a while

    return run(given)


def say(sentence: str, code: int) -> int:
    """Print a sentence for the user; return the exit code that goes with it."""
    with suppress(OSError):  # the code tells, too
        print(f"oneof: {sentence}", file=sys.stderr, flush=True)
    return code


def _flush_output() -> None:
    """Notice a full disk while it can still be said."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def _let_go(stream: TextIO | None) -> None:
    """Keep Python from complaining, when it ends, of what a stream does not take."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        assert stream is not None
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def sentence_of(error: Exception) -> str:
    """Write an error as one sentence: where, and what."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
