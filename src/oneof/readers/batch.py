"""What readers yield: rows with their candidates, and where they came from. No reading."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from oneof.candidates import CandidateSets
    from oneof.labels import Array


@dataclass(frozen=True, slots=True)
class Batch:
    """A bounded number of rows.

    Parameters
    ----------
    X : csr_array or ndarray of shape (n, n_features)
    candidates : CandidateSets or None
        None where labels are not read.
    truth : ndarray of int32 or None
        The true label's index in the classes, −1 where it is not given; None if none is.
    position : dict
        Where reading may continue after this batch, see `Source.seek`; JSON can hold it.
    """

    X: Any
    candidates: CandidateSets | None
    truth: npt.NDArray[np.int32] | None
    position: dict[str, int]

    def __len__(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True, slots=True)
class Place:
    """A place between two rows of a file: uncompressed bytes and lines (or rows) before it."""

    offset: int = 0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What a format's reader makes of some rows of one file; codes are indices of classes."""

    X: Any
    sets: tuple[npt.NDArray[np.int64], Array] | None
    truth: npt.NDArray[np.int32] | None
    place: Place


@dataclass(frozen=True)
class Limits:
    """Where a batch ends: whichever comes first. A line that is longer is a bad row."""

    rows: int = 8192
    values: int = 1 << 18
    line_bytes: int = 1 << 24

    @classmethod
    def of(cls, rows: int | None, line_bytes: int | None) -> Limits:
        """Check the limits that are given, and take the rest as it is."""
        given = {"batch_rows": rows, "max_line": line_bytes}
        for name, value in given.items():
            if value is not None and not (isinstance(value, Integral) and 0 < value < 2**30):
                raise ValueError(f"{name} must be an integer of at least 1, not {value!r}")
        return cls(rows=rows or cls.rows, line_bytes=line_bytes or cls.line_bytes)
