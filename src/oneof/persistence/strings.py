"""Class labels and names as arrays of numbers, and back, checked; no learners."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from oneof.persistence.layout import fault

Array = npt.NDArray[Any]

_KINDS = {"i": "int", "b": "bool", "U": "str", "O": "str"}
# NumPy gives every string of an array the room of the longest.
_ROOM = 64 << 20


def packed(name: str, labels: Array) -> tuple[str, dict[str, Array]]:
    """Return what labels are ("int", "bool", "str") and the arrays that hold them.

    Strings are one run of UTF-8 and the place where each ends.
    """
    kind = _KINDS[labels.dtype.kind]
    if kind != "str":
        return kind, {name: labels.astype(np.uint8 if kind == "bool" else np.int64)}
    texts = [label.encode("utf-8", "surrogatepass") for label in labels.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    if _room(ends) > _limit(ends):
        raise ValueError(f"one of the {name} is far longer than the others: shorten it")
    text = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return kind, {f"{name}.text": text, f"{name}.ends": ends}


def unpacked(name: str, kind: str, arrays: dict[str, Array]) -> Array | list[str]:
    """Take the labels out of `arrays`, and check them."""
    if kind == "str":
        return _strings(name, arrays)
    labels = arrays.pop(name, None)
    expected = {"int": np.int64, "bool": np.uint8}.get(kind)
    if labels is None or labels.ndim != 1 or labels.dtype != expected:
        fault(f"its {name} are not there or not of the kind {kind!r}: the file is damaged")
    if kind == "int":
        return labels
    if labels.size and labels.max() > 1:
        fault(f"its {name} are no truth values: the file is damaged")
    return labels.astype(np.bool_)


def _strings(name: str, arrays: dict[str, Array]) -> list[str]:
    text, ends = arrays.pop(f"{name}.text", None), arrays.pop(f"{name}.ends", None)
    if text is None or ends is None or text.dtype != np.uint8 or ends.dtype != np.int64:
        fault(f"its {name} are not there: the file is damaged")
    if text.ndim != 1 or ends.ndim != 1:
        fault(f"its {name} have the wrong shape: the file is damaged")
    # A difference of large numbers of either sign might wrap round.
    if ends.size and (ends.min() < 0 or ends.max() > text.size):
        fault(f"its {name} reach beyond their text: the file is damaged")
    if (int(ends[-1]) if ends.size else 0) != text.size or np.any(np.diff(ends, prepend=0) < 0):
        fault(f"its {name} do not fill their text: the file is damaged")
    if _room(ends) > _limit(ends):
        fault(f"one of its {name} is far longer than the others, more than memory is given for")
    raw, starts = text.tobytes(), [0, *ends.tolist()]
    try:
        return [
            raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(starts)
        ]
    except UnicodeDecodeError:
        fault(f"its {name} are no text: the file is damaged")


def _room(ends: npt.NDArray[np.int64]) -> int:
    """Bytes of the strings as a NumPy array."""
    return 4 * ends.size * int(np.diff(ends, prepend=0).max(initial=0))


def _limit(ends: npt.NDArray[np.int64]) -> int:
    return _ROOM + 64 * (int(ends[-1]) if ends.size else 0)
