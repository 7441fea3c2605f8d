"""The folder of a report: checked beforehand, never a half-written file in it. No contents."""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

MANIFEST = "manifest.json"


def ready(folder: str | os.PathLike[str]) -> Path:
    """Make the folder, and make sure that files can be written and replaced in it.

    Raises
    ------
    OSError
        They cannot; the sentence says why, and what to do.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for place in (path, *(d for d in path.iterdir() if d.name == "figures")):
            probe = place / f".{uuid.uuid4().hex}.part"
            try:
                probe.touch()
            finally:
                probe.unlink(missing_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise OSError(f"nothing can be written to {path} ({why}): name another folder") from None
    return path


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, each under its final name only when it is whole; the manifest last.

    Files that the folder's earlier manifest lists and that are not among the new ones go: an old
    figure beside new numbers would mislead.
    """
    before = _listed(folder)
    for name in sorted(files, key=lambda name: name == MANIFEST):
        _write(folder / name, files[name])
    for name in before - set(files):
        with suppress(OSError):
            (folder / name).unlink()


def _write(path: Path, raw: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(raw)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _listed(folder: Path) -> set[str]:
    """Name the files that the folder's manifest lists, those inside the folder only."""
    try:
        names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    paths = [PurePosixPath(str(name)) for name in names]
    return {str(path) for path in paths if not path.is_absolute() and ".." not in path.parts}
