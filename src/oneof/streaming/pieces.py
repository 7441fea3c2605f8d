"""The rows of a source in the order they are learnt, and where to go on after each piece."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from oneof.candidates import CandidateSets
from oneof.packing import ends

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneof.readers import Batch, Source

Codes = npt.NDArray[np.int32]

_PIECE = 8192  # rounds of a shuffled window learnt at a time


@dataclass(frozen=True)
class Order:
    """How often the rows are learnt, and in what order.

    With a window, rows are taken that many at a time and each window is shuffled as a whole; which
    permutation it gets depends on the seed, the pass and the window's number alone.
    """

    passes: int = 1
    window: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Place:
    """Where to go on: a pass, a position of the source, and inside a window what is done.

    `skip` rows after the position belong to earlier windows; `n_done` rounds of the window have
    been learnt.
    """

    n_passes: int = 0
    position: dict[str, int] | None = None
    skip: int = 0
    n_windows: int = 0
    n_done: int = 0

    @classmethod
    def from_json(cls, value: Any) -> Place:
        """Check what `to_json` gave."""
        if not isinstance(value, dict) or set(value) != set(asdict(cls())):
            raise ValueError("its place in the input is damaged")
        counts = {name: n for name, n in value.items() if name != "position"}
        position = value["position"]
        if not _are_counts(counts) or not (position is None or _are_counts(position)):
            raise ValueError("its place in the input is damaged")
        return cls(**value)

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def _are_counts(values: Any) -> bool:
    return isinstance(values, dict) and all(
        type(n) is int and 0 <= n < 2**62 for n in values.values()
    )


@dataclass(frozen=True)
class Piece:
    """Rows to learn one after the other, and where to go on once they are learnt."""

    X: Any
    candidates: CandidateSets
    truth: Codes | None
    after: Place

    def __len__(self) -> int:
        return int(self.X.shape[0])


def pieces(source: Source, order: Order, place: Place) -> Iterator[Piece]:
    """Yield every row of every pass from `place` on."""
    while place.n_passes < order.passes:
        source.seek(place.position)
        yield from _shuffled(source, order, place) if order.window else _plain(source, place)
        place = Place(n_passes=place.n_passes + 1)


def _plain(source: Source, place: Place) -> Iterator[Piece]:
    for batch in source:
        after = replace(place, position=batch.position)
        yield Piece(batch.X, _sets(batch), batch.truth, after)


def _shuffled(source: Source, order: Order, place: Place) -> Iterator[Piece]:
    for window, start, following in _windows(source, order.window, place):
        n = len(window)
        seed = (order.seed, start.n_passes, start.n_windows)
        rows = np.random.default_rng(seed).permutation(n)
        for first in range(start.n_done, n, _PIECE):
            last = min(first + _PIECE, n)
            after = replace(start, n_done=last) if last < n else following
            yield _taken(window, rows[first:last], after)


def _windows(source: Source, size: int, place: Place) -> Iterator[tuple[Piece, Place, Place]]:
    """Yield windows of `size` rows, however the batches are cut, with this and the next start."""
    parts: list[Piece] = []
    n_missing, skip, start, position = size, place.skip, place, place.position
    for batch in source:
        at = min(skip, len(batch))
        skip -= at
        while at < len(batch):
            rows = slice(at, min(at + n_missing, len(batch)))
            parts.append(_taken(batch, rows, place))
            n_missing -= rows.stop - at
            at = rows.stop
            if not n_missing:
                following = Place(place.n_passes, position, at, start.n_windows + 1)
                yield _joined(parts), start, following
                parts, n_missing, start = [], size, following
        position = batch.position
    if parts:
        yield _joined(parts), start, Place(n_passes=place.n_passes + 1)


def _sets(batch: Batch) -> CandidateSets:
    assert batch.candidates is not None, "training reads labels"
    return batch.candidates


def _taken(rows: Batch | Piece, which: Any, after: Place) -> Piece:
    truth = None if rows.truth is None else rows.truth[which]
    return Piece(rows.X[which], rows.candidates[which], truth, after)  # type: ignore[index]


def _joined(parts: list[Piece]) -> Piece:
    """Put parts under each other; later ones may have more columns."""
    truth = None
    if any(part.truth is not None for part in parts):
        truth = np.concatenate(
            [np.full(len(p), -1, np.int32) if p.truth is None else p.truth for p in parts]
        )
    sizes = np.concatenate([part.candidates.sizes() for part in parts])
    codes = np.concatenate([part.candidates.codes for part in parts])
    sets = CandidateSets._packed(parts[0].candidates.classes, ends(sizes), codes)
    return Piece(_stacked([part.X for part in parts]), sets, truth, parts[0].after)


def _stacked(matrices: list[Any]) -> Any:
    if not sparse.issparse(matrices[0]):
        return np.concatenate(matrices)
    n_nonzero = np.concatenate([np.diff(X.indptr) for X in matrices])
    shape = (n_nonzero.size, max(X.shape[1] for X in matrices))
    data = np.concatenate([X.data for X in matrices])
    indices = np.concatenate([X.indices for X in matrices])
    return sparse.csr_array((data, indices, ends(n_nonzero)), shape)
