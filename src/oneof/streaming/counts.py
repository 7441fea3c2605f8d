"""What a pass over a stream counts: rounds, mistakes, updates, sizes, errors. No learning."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets

Codes = npt.NDArray[np.int32]


@dataclass
class Counts:
    """Counts of the rounds so far.

    `n_labels` adds up the sizes of the sets, `n_full` counts sets of all classes, `n_known` the
    rows whose truth was given, and `n_errors` those of them that were predicted otherwise.
    """

    n_rounds: int = 0
    n_mistakes: int = 0
    n_updates: int = 0
    n_labels: int = 0
    n_full: int = 0
    n_known: int = 0
    n_errors: int = 0

    @classmethod
    def from_json(cls, value: Any) -> Counts:
        """Check what `to_json` gave."""
        if (
            not isinstance(value, dict)
            or set(value) != set(asdict(cls()))
            or not all(type(n) is int and 0 <= n < 2**62 for n in value.values())
        ):
            raise ValueError("its counts are damaged")
        return cls(**value)

    def to_json(self) -> dict[str, int]:
        """Return what JSON can hold."""
        return asdict(self)

    def add(self, candidates: CandidateSets, predicted: Codes, truth: Codes | None) -> None:
        """Count rows, but for mistakes and updates, which the model counts."""
        self.n_rounds += len(candidates)
        self.n_labels += candidates.codes.size
        self.n_full += int(np.count_nonzero(candidates.sizes() == candidates.classes.size))
        if truth is not None:
            is_known = truth >= 0
            self.n_known += int(np.count_nonzero(is_known))
            self.n_errors += int(np.count_nonzero(is_known & (predicted != truth)))
