"""The bytes of a model file: safetensors, whole and checked; no learners."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Array = npt.NDArray[Any]

NEWEST = 2  # of the format versions, the largest that is read
_HEADER_LIMIT = 4 << 20  # what Python makes of a header may be some twenty times as large
_BLOCK = 1 << 20
_NO_HASH = "0" * 64

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"), "I32": np.dtype("<i4"), "U32": np.dtype("<u4"), "U8": np.dtype("u1"),
}  # fmt: skip
_NAMES = {(kind.kind, kind.itemsize): name for name, kind in _TYPES.items()}


def write(
    file: BinaryIO, version: int, parts: Mapping[str, Any], tensors: Mapping[str, Array]
) -> None:
    """Write JSON parts and arrays of one or two dimensions, with a hash over all of it."""
    # The largest items first, as safetensors has it: every array lies aligned.
    ordered = sorted(tensors.items(), key=lambda pair: (-pair[1].itemsize, pair[0]))
    header = _header(version, parts, ordered)
    if len(header) > _HEADER_LIMIT:
        raise ValueError(f"the file's header would exceed {_HEADER_LIMIT >> 20} MiB")
    digest = hashlib.sha256(header)
    for _, array in ordered:
        for block in _blocks(array):
            digest.update(block)
    file.write(header.replace(_NO_HASH.encode(), digest.hexdigest().encode(), 1))
    for _, array in ordered:
        for block in _blocks(array):
            file.write(block)


def _header(version: int, parts: Mapping[str, Any], tensors: list[tuple[str, Array]]) -> bytes:
    metadata = {"oneof": str(version), "sha256": _NO_HASH}
    metadata |= {name: _json(part) for name, part in parts.items()}
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in tensors:
        start, end = end, end + array.nbytes
        kind = _NAMES[array.dtype.kind, array.itemsize]
        table[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    text = _json(table).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _blocks(array: Array) -> Iterator[memoryview]:
    """Give an array's bytes, a few rows at a time."""
    rows = array.reshape(len(array), -1)
    n = max(1, _BLOCK // max(1, rows.shape[1] * rows.itemsize))
    for start in range(0, len(rows) if rows.size else 0, n):
        block = np.ascontiguousarray(rows[start : start + n])
        yield block.astype(block.dtype.newbyteorder("<"), copy=False).data.cast("B")


def read(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any], dict[str, Array]]:
    """Return format version, parts and arrays of a file, after checking every byte's hash.

    Nothing is allocated before the file has been found large enough to fill it. To be called
    inside `naming`.
    """
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            fault("this is no regular file: give a model file")
        return _read(file, status.st_size)


class _FaultError(Exception):
    """What is wrong with a file's content."""


def fault(what: str) -> NoReturn:
    """Say what is wrong with a file's content, inside `naming`."""
    raise _FaultError(what)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the file's name before what is wrong with it."""
    try:
        yield
    except _FaultError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def _read(file: BinaryIO, size: int) -> tuple[int, dict[str, Any], dict[str, Array]]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if size < 10 or length > _HEADER_LIMIT or length < 2:
        fault("this is no oneof model file")
    if 8 + length > size:
        fault(f"the file is truncated: {size} bytes, and its header alone has {8 + length}")
    text = file.read(length)
    if not text.startswith(b"{"):
        fault("this is no oneof model file")
    table = parsed(text)
    version, parts, expected = _metadata(table.pop("__metadata__", None))
    layout = _layout(table, size - 8 - length)
    zeroed = text.replace(expected.encode(), _NO_HASH.encode(), 1)
    digest = hashlib.sha256(start + zeroed)
    tensors = {}
    for name, kind, shape in layout:
        array = np.empty(shape, dtype=kind)
        _fill(file, array.reshape(-1).view(np.uint8))
        digest.update(array.data.cast("B") if array.size else b"")
        tensors[name] = array.astype(kind.newbyteorder("="), copy=False)
    if digest.hexdigest() != expected:
        fault(
            "its checksum does not hold: the file was altered or damaged after it was written, "
            "so use another copy"
        )
    return version, parts, tensors


def parsed(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object strictly: no name twice, no NaN, no infinity."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        fault("its header is no valid JSON: the file is damaged")
    if not isinstance(value, dict):
        fault("its header holds no JSON object: the file is damaged")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        fault("its header names something twice: the file is damaged")
    return made


def _metadata(metadata: Any) -> tuple[int, dict[str, Any], str]:
    """Return the format version, the JSON parts and the hash."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("oneof"), str):
        fault("this is no oneof model file")
    version = metadata.pop("oneof")
    if not re.fullmatch(r"[1-9][0-9]{0,5}", version):
        fault("its format version is no number: the file is damaged")
    if int(version) > NEWEST:
        fault(
            f"a newer oneof wrote this file, in format {version}; this one reads formats up to "
            f"{NEWEST}: upgrade oneof"
        )
    expected = metadata.pop("sha256", None)
    if not isinstance(expected, str) or not re.fullmatch("[0-9a-f]{64}", expected):
        fault("its checksum is missing: the file is damaged")
    if not all(isinstance(part, str) for part in metadata.values()):
        fault("its header is damaged")
    return int(version), {name: parsed(part) for name, part in metadata.items()}, expected


def _layout(table: dict[str, Any], size: int) -> list[tuple[str, np.dtype[Any], tuple[int, ...]]]:
    """Check that the arrays fill the rest of the file, one after the other, without a gap."""
    entries = []
    for name, entry in table.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            fault(f"its array {name!r} is not described as safetensors has it")
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if kind not in _TYPES if isinstance(kind, str) else True:
            fault(f"its array {name!r} has a type that model files do not use")
        if not _are_counts(shape) or not 1 <= len(shape) <= 2:
            fault(f"its array {name!r} has no valid shape")
        if not _are_counts(offsets) or len(offsets) != 2:
            fault(f"its array {name!r} has no valid offsets")
        if offsets[1] - offsets[0] != prod(shape) * _TYPES[kind].itemsize:
            fault(f"the size of its array {name!r} is not that of its shape")
        entries.append((offsets, name, _TYPES[kind], tuple(shape)))
    end = 0
    for (start, stop), name, _, _ in sorted(entries, key=lambda entry: entry[0]):
        if start != end:
            fault(f"its array {name!r} does not begin where the one before ends")
        end = stop
    if end > size:
        fault(f"the file is truncated: {end - size} bytes are missing")
    if end < size:
        fault(f"the file has {size - end} bytes too many at its end")
    return [entry[1:] for entry in sorted(entries, key=lambda entry: entry[0])]


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**40 for v in values)


def _fill(file: BinaryIO, room: npt.NDArray[np.uint8]) -> None:
    view, done = room.data, 0
    while done < room.size:
        n = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not n:
            fault("the file became shorter while it was read")
        done += n
