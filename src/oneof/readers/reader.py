"""What every format's reader has in common: classes, features, bad rows. No formats, no files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from oneof import _kernels
from oneof.labels import Array, given_classes, sorted_labels

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from threading import Event

    import numpy.typing as npt

    from oneof.readers.bad_rows import BadRows
    from oneof.readers.batch import Limits, Part, Place
    from oneof.readers.files import InputFile

MOST_CLASSES = 1_000_000


class Reader(ABC):
    """Reads the rows of files of one format.

    Parameters
    ----------
    classes : array or None
        The vocabulary; None collects the labels that occur, and codes mean nothing then.
    dtype : dtype
        Of the values, float32 or float64.
    limits : Limits
    bad_rows : BadRows
    is_labelled : bool
        Whether labels are read at all.
    """

    format: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]]
    can_grow: ClassVar[bool] = False  # beyond features that are declared

    def __init__(
        self,
        classes: Array | None,
        *,
        dtype: npt.DTypeLike,
        limits: Limits,
        bad_rows: BadRows,
        is_labelled: bool,
    ) -> None:
        self.classes, self.limits, self.bad_rows = classes, limits, bad_rows
        self.is_labelled = is_labelled
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, not {self.dtype}")

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Columns of the rows read so far, or of all where that is known."""

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, None if they have none."""
        return None

    @abstractmethod
    def found(self) -> dict[str, Any]:
        """Return what a pass has found: classes, width (columns), options that were "auto"."""

    @abstractmethod
    def read(self, file: InputFile, place: Place, stopping: Event) -> Generator[Part, None, None]:
        """Yield the rows of a file from a place on; where it waits, heed `stopping`."""

    @abstractmethod
    def widen(self, n_features: int) -> None:
        """Give rows at least this many columns: a pass that is continued had come so far."""


def text_classes(names: Iterable[str]) -> Array:
    """Return the classes that words stand for: sorted, integers if all of them are whole numbers.

    A whole number is written with an optional sign and without leading zeros; ``+3`` and ``3.0``
    are 3. Otherwise every word is a name, letter by letter.

    Examples
    --------
    >>> text_classes(["10", "+2", "2"]), text_classes(["10", "b"])
    (array([ 2, 10]), array(['10', 'b'], dtype='<U2'))
    """
    words = list(names)
    whole = [_kernels.whole_number(word) for word in words]
    numbers = [int(word) for word in whole if word is not None]
    if words and len(numbers) == len(words) and all(-(2**63) <= n < 2**63 for n in numbers):
        return np.unique(np.array(numbers, dtype=np.int64))
    return sorted_labels(given_classes(words).tolist())


def spelled(classes: Array) -> tuple[list[str], bool]:
    """Return the classes as words, and whether they are integers."""
    is_integer = classes.dtype.kind != "U"
    return [str(int(label)) if is_integer else label for label in classes.tolist()], is_integer
