"""Training on files: the loop over pieces, counts on the way, stops and resumes. No terminal."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.streaming.checkpoint import Checkpoint
from oneof.streaming.counts import Counts
from oneof.streaming.pieces import Order, Piece, Place, pieces

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from oneof.online import OnlineClassifier
    from oneof.readers import Source

_EVERY = 5.0  # seconds between lines, once rounds no longer double so soon

# What a model keeps of how its rows were read, to read others in the same way.
_READING = (
    "zero_based", "hash_bits", "label_column", "truth_column", "ignore_columns",
    "categorical_columns",
)  # fmt: skip


class Watcher:
    """Is told how a training goes; this one does not care."""

    def line(self, counts: Counts, seconds: float) -> None:
        """Tell the counts so far, at rounds 1, 2, 4, 8, …, every few seconds, and at the end."""

    def advance(self, n_bytes: int) -> None:
        """Tell how far the input of all passes was read."""

    def checkpoint_failed(self, error: OSError) -> None:
        """Tell that checkpoints cannot be written; once, until one can."""


class Stopped(Exception):  # noqa: N818 - it is no error
    """Training was asked to stop, and did so between two rounds."""


@dataclass
class Training:
    """A learner, the rows it learns, and how far it has come.

    Parameters
    ----------
    estimator : OnlineClassifier
        Begun: its model has the classes of the source.
    source : Source
    order : Order
    watcher : Watcher
    checkpoint : path, optional
        Written every `every_rounds` rounds or `every_seconds` seconds; at a stop and at the end,
        `save` is for the caller.
    """

    estimator: OnlineClassifier
    source: Source
    order: Order
    watcher: Watcher = field(default_factory=Watcher)
    checkpoint: str | os.PathLike[str] | None = None
    every_rounds: int | None = None
    every_seconds: float | None = None
    counts: Counts = field(default_factory=Counts)
    place: Place = field(default_factory=Place)
    _is_busy: bool = field(default=False, init=False)
    _is_stopping: bool = field(default=False, init=False)
    _is_failing: bool = field(default=False, init=False)

    def run(self) -> None:
        """Learn all that is left."""
        self.source.fingerprint()  # now: the files may be gone at the end
        self._start = self._last_line = self._last_checkpoint = time.monotonic()
        self._last_rounds = self.counts.n_rounds
        for piece in pieces(self.source, self.order, self.place):
            self._learn(piece)
            if self._is_stopping:
                raise Stopped
            self._after_piece()
        self.place = Place(n_passes=self.order.passes)
        self.estimator.n_iter_ = self.order.passes
        self._describe_features()
        self.watcher.line(replace(self.counts), time.monotonic() - self._start)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint."""
        self._describe_features()
        run = Checkpoint.run_of(self.source, self.order)
        Checkpoint(run, self.place, self.counts).write(self.estimator, path)

    def _learn(self, piece: Piece) -> None:
        """Learn a piece, cut where a line is due, and only then move on."""
        self._is_busy = True
        at = 0
        while at < len(piece):
            due = 1 << self.counts.n_rounds.bit_length()  # the next power of two
            stop = min(len(piece), at + due - self.counts.n_rounds)
            self._learn_rows(piece, slice(at, stop))
            at = stop
            if self.counts.n_rounds == due:
                self._line()
        self.place = piece.after
        self._is_busy = False

    def _learn_rows(self, piece: Piece, rows: slice) -> None:
        is_whole = rows.stop - rows.start == len(piece)
        X = piece.X if is_whole else piece.X[rows]
        candidates = piece.candidates if is_whole else piece.candidates[rows]
        model = self.estimator.model_
        before = model.n_mistakes, model.n_updates
        predicted = self.estimator.learn_next(X, candidates)
        self.counts.n_mistakes += model.n_mistakes - before[0]
        self.counts.n_updates += model.n_updates - before[1]
        self.counts.add(candidates, predicted, None if piece.truth is None else piece.truth[rows])

    def _after_piece(self) -> None:
        now = time.monotonic()
        size = self.source.size
        self.watcher.advance((size or 0) * self.place.n_passes + self.source.tell())
        if now - self._last_line >= _EVERY:
            self._line()
        if self.checkpoint is None:
            return
        is_due = self.every_seconds is not None and (
            now - self._last_checkpoint >= self.every_seconds
        )
        if self.every_rounds is not None:
            is_due = self.counts.n_rounds - self._last_rounds >= self.every_rounds
        if is_due:
            self._save_if_possible(self.checkpoint)

    def _save_if_possible(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, or say so and go on."""
        try:
            self.save(path)
            self._is_failing = False
        except OSError as error:
            # The one before still stands, and there may be room again before a long run ends.
            if not self._is_failing:
                self.watcher.checkpoint_failed(error)
            self._is_failing = True
        self._last_checkpoint, self._last_rounds = time.monotonic(), self.counts.n_rounds

    def _line(self) -> None:
        self._last_line = time.monotonic()
        self.watcher.line(replace(self.counts), self._last_line - self._start)

    def _describe_features(self) -> None:
        """Let the model know what its features are called, and how text became numbers."""
        names = self.source.feature_names
        if names is not None:
            self.estimator.feature_names_in_ = np.array(names, dtype=object)
        settings = self.source.fingerprint()
        self.estimator.reading_ = {
            name: list(settings[name]) if isinstance(settings[name], tuple) else settings[name]
            for name in _READING
            if settings.get(name) not in (None, ())
        }

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM raise `Stopped`: between two pieces, or at once in a wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(*_: Any) -> None:
            self._is_stopping = True
            if not self._is_busy:
                raise Stopped

        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, stop) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)
