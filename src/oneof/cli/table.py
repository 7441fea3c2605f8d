"""The progressive table and the bar of a training, on the error output; no logic."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from oneof.cli import sentence_of
from oneof.streaming.counts import Counts
from oneof.streaming.training import Watcher

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_HEAD = ("rounds", "mistakes", "since last", "updates", "set size", "rows/s", "error")


class ProgressTable(Watcher):
    """Prints a line of the table when told to, and writes it to a log.

    Parameters
    ----------
    before : Counts
        What earlier parts of the run have counted.
    n_bytes : int or None
        Bytes of all passes; None shows no bar.
    log : path, optional
        JSON Lines; `is_resumed` goes on behind what is there.
    """

    def __init__(
        self,
        before: Counts,
        n_bytes: int | None,
        *,
        quiet: bool,
        log: Path | None,
        is_resumed: bool,
    ) -> None:
        self._first = self._last = replace(before)
        self._n_bytes, self._quiet, self._log_path = n_bytes, quiet, log
        self._is_resumed = is_resumed
        self._n_lines = 0
        self._bar: Any = None
        self._log: TextIO | None = None

    def line(self, counts: Counts, seconds: float) -> None:
        """Print and log the counts."""
        if counts.n_rounds == self._last.n_rounds and self._n_lines:
            return
        n_new = counts.n_rounds - self._last.n_rounds
        since_last = (counts.n_mistakes - self._last.n_mistakes) / max(n_new, 1)
        rate = (counts.n_rounds - self._first.n_rounds) / max(seconds, 1e-9)
        if self._log is not None:
            row = {**asdict(counts), "since_last": since_last, "seconds": seconds}
            self._record(row)
        if not self._quiet:
            if not self._n_lines:
                self._print("".join(f"{word:>11}" for word in _HEAD))
            self._print(_row(counts, since_last, rate))
        self._n_lines += 1
        self._last = counts

    def advance(self, n_bytes: int) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.update(self._task, completed=n_bytes)

    def checkpoint_failed(self, error: OSError) -> None:
        """Say it, even if no progress is to be shown."""
        self._print(f"oneof: {sentence_of(error)}: training goes on without a new checkpoint")

    def _print(self, text: str) -> None:
        with suppress(OSError):  # training is not for those who watch: they may leave
            if sys.stderr is None:
                return
            if self._bar is None:
                print(text, file=sys.stderr, flush=True)
            else:
                self._bar.console.print(text, highlight=False, markup=False)

    def _record(self, row: dict[str, Any]) -> None:
        """Log a row; a log that takes no more has ended, and training has not."""
        try:
            print(json.dumps(row), file=self._log, flush=True)
        except OSError as error:
            self._print(f"oneof: {self._log_path}: {error.strerror}: training goes on without it")
            self._close_log()

    def _close_log(self) -> None:
        if self._log is not None:
            with suppress(OSError):  # it was flushed after every row
                self._log.close()
            self._log = None

    def __enter__(self) -> Self:
        if self._log_path is not None:
            self._log = self._log_path.open("a" if self._is_resumed else "w", encoding="utf-8")
        if not self._quiet and self._n_bytes and sys.stderr and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("learning", total=self._n_bytes)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._close_log()


def _row(counts: Counts, since_last: float, rate: float) -> str:
    n = max(counts.n_rounds, 1)
    cells = [
        f"{counts.n_rounds}",
        f"{counts.n_mistakes / n:.2%}",
        f"{since_last:.2%}",
        f"{counts.n_updates / n:.2%}",
        f"{counts.n_labels / n:.2f}",
        f"{rate:.0f}",
        f"{counts.n_errors / counts.n_known:.2%}" if counts.n_known else "-",
    ]
    return "".join(f"{cell:>11}" for cell in cells)
