"""Files of rows from one format into another, exact labels made ambiguous. No terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof import ambiguity
from oneof.writers import open_writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneof.candidates import CandidateSets
    from oneof.readers import Batch, Source

Labels = tuple[Any, Any]  # candidate sets, and codes of the truth or None


def _as_they_are(batch: Batch, n_before: int) -> Labels:  # noqa: ARG001 - others count rows
    return batch.candidates, batch.truth


@dataclass
class Ambiguity:
    """Draws candidate sets for exact labels: of one size, at one rate, or for a share of rows."""

    size: int | None = None
    rate: float | None = None
    share: float | None = None
    extra: int = 1
    partner: float | None = None
    seed: int = 0
    keep_truth: bool = True
    _rng: Any = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def __call__(self, batch: Batch, n_before: int) -> Labels:
        """Return new candidates, and the truth if it is to be kept."""
        exact = batch.candidates
        assert exact is not None, "conversion reads labels"
        if exact.codes.size != len(exact):
            row = int(np.argmax(exact.sizes() != 1))
            raise ValueError(
                f"row {n_before + row + 1} has {exact.sizes()[row]} labels: only rows with one "
                "label each can be made ambiguous"
            )
        sets = self._drawn(exact)
        return sets, exact.codes if self.keep_truth else None

    def _drawn(self, exact: CandidateSets) -> CandidateSets:
        y, shared = (
            exact.classes[exact.codes], {"classes": exact.classes, "random_state": self._rng}
        )  # fmt: skip
        if self.size is not None:
            return ambiguity.uniform(y, self.size, **shared)
        if self.rate is not None:
            return ambiguity.independent(y, self.rate, **shared)
        assert self.share is not None, "one way was chosen"
        return ambiguity.controlled(y, self.share, self.extra, self.partner, **shared)


def converted(
    source: Source,
    path: str,
    form: str | None,
    labels: Callable[[Batch, int], Labels] = _as_they_are,
) -> int:
    """Write all rows of a source; return how many."""
    n = 0
    # Names that were all found by the first pass head the columns.
    with open_writer(path, form, feature_names=source.feature_names) as writer:
        for batch in source:
            candidates, truth = labels(batch, n)
            writer.write(batch.X, candidates, truth)
            n += len(batch)
    return n
