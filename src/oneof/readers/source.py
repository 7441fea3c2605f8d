"""Sources: the batches of several files as one stream that can be continued. No formats."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.readers.batch import Batch, Part, Place
from oneof.readers.errors import InputError
from oneof.readers.files import InputFile, joint_name, total_size
from oneof.readers.prefetch import prefetched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from oneof.labels import Array
    from oneof.readers.reader import Reader

Items = Generator[tuple[Batch | None, dict[str, int], int], None, None]

_START = {"file": 0, "offset": 0, "line": 0, "rows": 0, "skipped": 0, "kept": 0, "n_features": 0}


class Source:
    """A stream of batches; make one with `open_source`.

    Each iteration reads from the beginning or, once, from the position last sought. Only one
    iteration runs at a time: a new one ends the one before. Counters, `tell` and `feature_names`
    tell of the rows that were handed out, not of those read ahead.
    """

    def __init__(
        self, files: Sequence[InputFile], reader: Reader, settings: Mapping[str, Any], prefetch: int
    ) -> None:
        self._files, self._reader, self._prefetch = files, reader, prefetch
        self._settings = dict(settings)
        self._position: dict[str, int] = dict(_START)
        self._n_features = reader.n_features
        self._n_bytes = 0
        # Weak: an iteration that the caller drops ends, thread and files, there and then.
        self._running: Callable[[], Generator[Batch, None, None] | None] = lambda: None
        self._is_fresh = True
        self._spent: set[str] = set()

    @property
    def classes(self) -> Array | None:
        """The vocabulary of all batches; None if labels are not read and none were named."""
        return self._reader.classes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._reader.dtype

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features so far; None if the format has none, or if they are hashed."""
        names = self._reader.feature_names
        return None if names is None else names[: self._n_features]

    @property
    def n_features(self) -> int:
        """Columns of the batch handed out last; of all batches where that is known before."""
        return self._n_features

    @property
    def n_rows_read(self) -> int:
        """Rows handed out since the beginning of the input, without the skipped ones."""
        return self._position["rows"]

    @property
    def n_skipped(self) -> int:
        """Bad rows since the beginning of the input."""
        return self._position["skipped"]

    @property
    def position(self) -> dict[str, int]:
        """Where reading would continue after the last batch handed out."""
        return dict(self._position)

    @property
    def size(self) -> int | None:
        """Bytes of all files as they are stored; None if unknown."""
        return total_size(self._files)

    def tell(self) -> int:
        """Bytes of the files, as they are stored, up to the last batch handed out."""
        return self._n_bytes

    def fingerprint(self) -> dict[str, Any]:
        """Describe the input and how it is read, for a checkpoint to compare.

        Files count by their name without folders, their size and a hash of their start and end.
        """
        return {"files": [file.fingerprint for file in self._files], **self._settings}

    def seek(self, position: Mapping[str, int] | None = None) -> None:
        """Let the next iteration start at a batch's position, or at the beginning.

        What cannot seek (standard input, a FIFO, compressed files) is read and dropped up to
        there. A reader that collects feature names must be given those collected so far.
        """
        wanted = dict(_START if position is None else position)
        if set(wanted) != set(_START) or not all(
            isinstance(n, int) and n >= 0 for n in wanted.values()
        ):
            raise ValueError(f"{position!r} is not a position of a source")
        if wanted["file"] > len(self._files):
            raise ValueError("the position lies beyond the files of this input")
        self.close()
        self._is_fresh = True
        self._reader.widen(wanted["n_features"])
        self._position = wanted
        self._n_features = max(self._reader.n_features, wanted["n_features"])

    def refuse_empty(self) -> None:
        """Raise if what was read, to its end, held no good row."""
        if not self.n_rows_read:
            raise InputError(
                joint_name(self._files),
                f"no good row in the input, which skipped {self.n_skipped}: check the format"
                if self.n_skipped
                else "there are no rows: check that this is the right file",
            )

    def close(self) -> None:
        """End the running iteration: its thread and its files."""
        if (running := self._running()) is not None:
            running.close()

    def __iter__(self) -> Iterator[Batch]:
        if not self._is_fresh:
            self.seek()
        self._is_fresh = False
        running = self._batches(self._position)
        self._running = weakref.ref(running)
        return running

    def _batches(self, start: Mapping[str, int]) -> Generator[Batch, None, None]:
        stopping = Event()
        items = self._read(start, stopping)
        if self._prefetch:
            items = prefetched(items, self._prefetch, stopping)
        try:
            for batch, position, n_bytes in items:
                self._position, self._n_bytes = position, n_bytes
                self._n_features = position["n_features"]
                if batch is not None:
                    yield batch
                del batch
        finally:
            items.close()

    def _read(self, start: Mapping[str, int], stopping: Event) -> Items:
        """Yield the batches and, at the end of each file, none: bad rows may have followed."""
        bad_rows, n_rows = self._reader.bad_rows, start["rows"]
        n_bytes = sum(file.size or 0 for file in self._files[: start["file"]])
        place = Place(start["offset"], start["line"])
        try:
            bad_rows.start(start["skipped"], start["kept"])
            for i, file in enumerate(self._files[start["file"] :], start["file"]):
                self._spend(file)
                for part in self._reader.read(file, place, stopping):
                    if stopping.is_set():
                        return
                    n_rows += part.X.shape[0]
                    position = self._position_at(i, part.place, n_rows)
                    yield self._batch(part, position), position, n_bytes + file.n_read
                    del part
                n_bytes += file.n_read
                place = Place()
                yield None, self._position_at(i + 1, place, n_rows), n_bytes
        finally:
            bad_rows.close()

    def _position_at(self, file: int, place: Place, n_rows: int) -> dict[str, int]:
        bad_rows = self._reader.bad_rows
        bad_rows.flush()
        return {
            "file": file,
            "offset": place.offset,
            "line": place.line,
            "rows": n_rows,
            "skipped": bad_rows.n_skipped,
            "kept": bad_rows.kept,
            "n_features": self._reader.n_features,
        }

    def _spend(self, file: InputFile) -> None:
        """Refuse to read a second time what can be read only once."""
        if file.is_regular:
            return
        if file.name in self._spent:
            raise InputError(file.name, "can be read only once: give a file for several passes")
        self._spent.add(file.name)

    def _batch(self, part: Part, position: dict[str, int]) -> Batch:
        candidates = None
        if part.sets is not None and self.classes is not None:
            indptr, codes = part.sets
            # Readers check what __init__ would check again, in every batch for all classes.
            candidates = CandidateSets._packed(self.classes, indptr, codes)
        truth = None if part.truth is None else np.asarray(part.truth, dtype=np.int32)
        return Batch(part.X, candidates, truth, position)
