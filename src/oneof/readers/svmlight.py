"""The svmlight reader: ``3,7 1:0.5 9:2 # truth=3``. The parser is C++; this feeds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oneof import _kernels
from oneof.readers.text import TextReader

if TYPE_CHECKING:
    from oneof.labels import Array


class SvmlightReader(TextReader):
    """Reads svmlight text.

    Parameters
    ----------
    n_features : int or None
        None takes every index as it comes.
    new_features : {"grow", "refuse", "ignore"}
        Whether rows with an index beyond `n_features` are bad, or read without it.
    zero_based : bool or "auto"
        Whether features count from 0 (the index is taken as it is written) or from 1; a first
        pass may find out.
    """

    format = "svmlight"
    suffixes = ("svm", "svmlight", "libsvm")
    options = ("n_features", "zero_based")

    def __init__(
        self,
        classes: Array | None,
        *,
        n_features: int | None,
        new_features: str,
        zero_based: bool | str,
        **shared: Any,
    ) -> None:
        super().__init__(classes, **shared)
        if not (isinstance(zero_based, bool) or zero_based == "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
        self._base = int(not zero_based)
        self._declared = n_features
        # The columns are not known before the base is.
        limit = None if zero_based == "auto" else n_features
        kind = _kernels.SvmlightParser32 if self.dtype == np.float32 else _kernels.SvmlightParser64
        self._parser = kind(
            **self._vocabulary(),
            index_base=self._base,
            n_features=-1 if limit is None else limit,
            ignores_new=new_features == "ignore",
        )
        self._width = 0

    @property
    def n_features(self) -> int:
        """Columns: the declared ones, else as many as the largest index so far asks for."""
        return max(self._width, self._parser.width) if self._declared is None else self._declared

    def widen(self, n_features: int) -> None:
        """Give rows at least this many columns."""
        self._width = max(self._width, n_features)

    def found(self) -> dict[str, Any]:
        """Return the classes of the labels, the columns, and whether features count from 0."""
        starts_at_one = 0 < self._parser.least < self._parser.width
        return {
            "zero_based": not starts_at_one,
            "width": self._parser.width - starts_at_one,
            **self._found_classes(),
        }

    def _about_fault(self, field: int) -> dict[str, object]:  # noqa: ARG002
        return {"n_features": self._declared, "index_base": self._base}
