"""The command `oneof`: answers at once where it can, and turns every failure into one sentence."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import oneof

if TYPE_CHECKING:
    from collections.abc import Sequence


INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C


class Interrupted(Exception):  # noqa: N818 - it is caught, and shown as its sentence
    """Ctrl-C, with a sentence that says what was left behind."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code.

    0, 1 for a bug of ours, 2 for bad usage or input, 130 for Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        print(f"oneof {oneof.__version__}")
        return 0
    try:
        from oneof.cli.app import run  # typer and rich take a while

        return run(given)
    except Interrupted as stop:
        return say(str(stop), INTERRUPTED)
    except KeyboardInterrupt:
        return say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone; keep Python from complaining when it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError) as error:
        return say(_sentence(error), 2)
    except Exception as error:
        if os.environ.get("ONEOF_DEBUG"):
            raise
        what = f"{type(error).__name__}: {_sentence(error)}"
        return say(
            f"this is a bug in oneof, please report it (ONEOF_DEBUG=1 shows more): {what}", 1
        )


def say(sentence: str, code: int) -> int:
    """Print a sentence for the user; return the exit code that goes with it."""
    print(f"oneof: {sentence}", file=sys.stderr)
    return code


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())
