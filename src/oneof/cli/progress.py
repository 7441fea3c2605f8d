"""A progress bar with the time left, on the terminal's error output; no logic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from oneof.experiments import Watcher

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_WORDS = {
    "data": "loading the data sets",
    "runs": "learning",
    "theorems": "trying the theorems",
    "report": "drawing the figures and the report",
    "files": "writing",
}


class Progress(Watcher):
    """Shows the stage of an experiment while it lasts; vanishes when it is over."""

    def __init__(self) -> None:
        self.stage = "data"
        self._task: TaskID | None = None
        console = Console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )

    def begin(self, stage: str, total: int | None = None) -> None:
        """Begin a stage; without a total its bar only pulses."""
        self.stage = stage
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(_WORDS[stage], total=total)

    def advance(self, units: int) -> None:
        """Count units of the stage as done."""
        if self._task is not None:
            self._bar.advance(self._task, units)

    def interrupted(self, out: Path) -> str:
        """Say what an interruption at this stage leaves in the folder of the report."""
        if self.stage == "files":
            return f"interrupted while writing: every file in {out} is whole, but some may be old"
        return f"interrupted ({self.stage}): nothing was written to {out}"

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()
