"""Labels and vocabularies: what a label is, and its code. No rows, no sets, no learning."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import repeat
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Labels = Array | list[Any]  # a numeric array, or a list of labels
Where = Callable[[int], str]  # names the place of the i-th label in an error message

_GAPS = ("NoneType", "NAType", "NaTType")  # pandas' own, known by name: pandas stays unimported


def show(label: Any) -> str:
    """Write a label, or a few, for an error message."""
    if isinstance(label, np.ndarray | np.generic):
        label = label.tolist()
    return reprlib.repr(label)


def is_container(kind: type) -> bool:
    """Tell whether objects of this type hold labels rather than being one."""
    return issubclass(kind, Iterable) and not issubclass(kind, str | bytes | np.generic)


def one_dimensional(y: Any, name: str) -> Labels:
    """Return `y` as a numeric array or a list, neither checked nor copied."""
    if hasattr(y, "__array__"):
        array = np.asarray(y)
        if array.ndim != 1:
            raise ValueError(
                f"{name} must be one-dimensional, one label per entry, not of shape {array.shape}"
            )
        labels = _plain(array)
    elif not is_container(type(y)) or isinstance(y, Set | Mapping):
        raise ValueError(f"{name} must be an array or a list of labels, not {show(y)}")
    else:
        labels = list(y)
    if isinstance(labels, list) and any(map(is_container, set(map(type, labels)))):
        i = next(i for i, label in enumerate(labels) if is_container(type(label)))
        raise ValueError(f"{name}[{i}] is {show(labels[i])}: {name} takes one label per entry")
    return labels


def checked(labels: Labels, where: Where, name: str = "y") -> Labels:
    """Return legal labels as an int64 or bool array or a list of strings, or raise."""
    labels = _plain(labels)
    if isinstance(labels, list):
        kinds = {kind: _sort_of(kind) for kind in set(map(type, labels))}
        sorts = set(kinds.values())
        if sorts <= {"string"}:
            return labels
        if sorts != {"number"}:
            _refuse_sorts(labels, kinds, where, name)
        labels = np.array(labels)
    if labels.dtype.kind == "f":
        _check_whole(labels, where, name)
    is_outside = ~_are_integers(labels)
    if is_outside.any():
        i = int(np.argmax(is_outside))
        raise ValueError(
            f"{where(i)}: label {show(labels[i])} is beyond 64 bits: use a string instead"
        )
    return labels if labels.dtype.kind == "b" else labels.astype(np.int64, copy=False)


def _are_integers(labels: Array) -> npt.NDArray[np.bool_]:
    """Tell which numbers are whole and within 64 bits."""
    if labels.dtype.kind in "bi":
        return np.ones(labels.shape, dtype=np.bool_)
    if labels.dtype.kind == "f":  # half precision does not reach the bounds
        labels = labels.astype(np.result_type(labels, np.float64))
    is_inside = (labels >= -(2**63)) & (labels < 2**63)
    return np.asarray(is_inside & (labels == np.floor(labels)), dtype=np.bool_)


def _check_whole(labels: Array, where: Where, name: str = "y") -> None:
    """Refuse floats that stand for no integer."""
    is_bad = ~(np.isfinite(labels) & (labels == np.floor(labels)))
    if not is_bad.any():
        return
    i = int(np.argmax(is_bad))
    if np.isnan(labels).any():
        _refuse_gap(where(int(np.argmax(np.isnan(labels)))), name)
    if np.isinf(labels[i]):
        raise ValueError(
            f"Input {name} contains infinity or a value too large for {labels.dtype!r}: "
            f"{where(i)} needs a string or an integer"
        )
    raise ValueError(
        f"Unknown label type: continuous: {where(i)} holds {show(labels[i])}, but a label is a "
        "string or an integer, so turn the numbers into classes first"
    )


def is_unknown(labels: Labels, unknown: Any = None) -> npt.NDArray[np.bool_]:
    """Tell which labels are missing: `unknown` itself, NaN and None."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biuf":
        is_same = labels == unknown if isinstance(unknown, Real) else False
        return np.asarray(is_same | (labels != labels), dtype=np.bool_)
    values = labels.tolist() if isinstance(labels, np.ndarray) else labels
    return np.fromiter((_is_gap(v) or v == unknown for v in values), np.bool_, len(values))


def given_classes(classes: Any, name: str = "classes") -> Array:
    """Return a vocabulary that the user wrote, in its order, as an array of its own."""
    labels = checked(one_dimensional(classes, name), lambda i: f"{name}[{i}]", name)
    if not len(labels):
        raise ValueError(f"{name} is empty: name at least one label")
    vocabulary = _vocabulary(labels)
    values = vocabulary.tolist()
    if len(set(values)) < len(values):
        first: dict[Any, int] = {}
        i = next(i for i, label in enumerate(values) if first.setdefault(label, i) != i)
        raise ValueError(
            f"{name}[{i}] repeats {show(values[i])}, which is {name}[{first[values[i]]}] already: "
            "name each once"
        )
    return vocabulary


def sorted_labels(labels: Labels) -> Array:
    """Return the vocabulary of checked labels, at least one: each once, sorted."""
    return np.unique(labels) if isinstance(labels, np.ndarray) else _vocabulary(sorted(set(labels)))


def encode(labels: Labels, vocabulary: Array) -> Ints:
    """Return each label's index in `vocabulary`, −1 where it has none."""
    labels = _plain(labels)
    if isinstance(labels, list):
        table = {label: code for code, label in enumerate(vocabulary.tolist())}
        return np.fromiter(map(table.get, labels, repeat(-1)), np.int64, len(labels))
    if vocabulary.dtype.kind == "U" or not vocabulary.size:
        return np.full(labels.size, -1)
    is_integer = _are_integers(labels)
    integers = np.where(is_integer, labels, 0).astype(np.int64)
    known = vocabulary.astype(np.int64)
    order = np.argsort(known)
    codes = order[np.minimum(np.searchsorted(known, integers, sorter=order), known.size - 1)]
    return np.where(is_integer & (known[codes] == integers), codes, -1)


def coded(labels: Labels, classes: Any, where: Where) -> tuple[Array, Ints]:
    """Check labels; return their vocabulary, `classes` if it is given, and their codes."""
    labels = checked(labels, where)
    if classes is None and not len(labels):
        refuse_unknown_classes()
    vocabulary = sorted_labels(labels) if classes is None else given_classes(classes)
    codes = encode(labels, vocabulary)
    refuse_unknown(codes, labels, vocabulary, where)
    return vocabulary, codes


def refuse_unknown(codes: Ints, labels: Labels, vocabulary: Array, where: Where) -> None:
    """Raise if a label has no code."""
    if codes.size and codes.min() < 0:
        i = int(np.argmin(codes))
        raise ValueError(
            f"{where(i)}: label {show(labels[i])} is not among the {vocabulary.size} classes "
            f"{show(vocabulary)}: correct it, or name it in `classes` from the start"
        )


def refuse_unknown_classes() -> NoReturn:
    """Raise because neither rows nor the user tell the vocabulary."""
    raise ValueError("there are no rows to learn the classes from: name them with `classes`")


def _plain(labels: Labels) -> Labels:
    """Turn an array of strings or objects into a list: NumPy would compare them one by one."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind not in "biuf":
        if labels.dtype.kind not in "OUTS":  # others' tolist() turns dates into numbers
            raise ValueError(
                f"Unknown label type: {labels.dtype}: labels are strings or integers, so turn "
                "these into strings first"
            )
        return list(labels.tolist())
    return labels


def _sort_of(kind: type) -> str:
    """Name what labels of this type are, in the words of an error message."""
    if issubclass(kind, str):
        return "string"
    if issubclass(kind, Integral | float | np.floating | np.bool_):
        return "number"
    return "gap" if kind.__name__ in _GAPS else "neither"


def _refuse_sorts(
    labels: list[Any], kinds: Mapping[type, str], where: Where, name: str
) -> NoReturn:
    """Name the first label that is no label, or that does not go with the first one."""
    first = kinds[type(labels[0])]
    for i, label in enumerate(labels):
        sort = kinds[type(label)]
        if _is_gap(label):
            _refuse_gap(where(i), name)
        if sort == "neither":
            raise ValueError(
                f"{where(i)}: {show(label)} is not a label: labels are strings or integers"
            )
        if sort != first:
            break
    raise ValueError(
        f"{where(i)}: label {show(label)} is a {sort}, but {where(0)} has the {first} "
        f"{show(labels[0])}: use strings or integers throughout"
    )


def _refuse_gap(place: str, name: str) -> NoReturn:
    raise ValueError(
        f"Input {name} contains NaN: {place} has no label, so give one or leave it out"
    )


def _is_gap(label: Any) -> bool:
    if isinstance(label, float | np.floating):
        return bool(label != label)
    return type(label).__name__ in _GAPS


def _vocabulary(labels: Labels) -> Array:
    """Make an array of checked labels, a copy."""
    vocabulary = np.array(labels)
    if isinstance(labels, list) and vocabulary.tolist() != labels:
        label = next(label for label in labels if label.endswith("\0"))
        raise ValueError(
            f"label {show(label)} ends with a NUL character, which NumPy would lose: remove it"
        )
    return vocabulary
