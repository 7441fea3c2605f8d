"""The command `oneof inspect`: parses, calls, prints; no logic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from oneof.cli.options import AsJson


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model file or a checkpoint.")],
    top: Annotated[
        int, typer.Option(min=0, help="How many of each class's heaviest features to show.")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Say what a model file holds, once its checksum and every field have been checked.

    For example:

    - `oneof inspect clicks.oneof`
    - `oneof inspect clicks.oneof --top 20 --json`
    """
    from oneof.persistence.models import read
    from oneof.streaming.description import described

    description = described(read(file), top)
    print(json.dumps(description) if as_json else "\n".join(_text(description)))


def _text(description: dict[str, Any]) -> list[str]:
    heaviest = description.pop("heaviest")
    labels = description.pop("classes")
    members = description.pop("members", [])
    shown = ", ".join(map(str, labels[:20])) + (", …" if len(labels) > 20 else "")
    lines = [f"{name.replace('_', ' '):<12} {_plain(v)}" for name, v in description.items()]
    lines.insert(2, f"{'classes':<12} {len(labels)}: {shown}")
    if members:
        lines += ["", "    weight   mistakes  member", *map(_member, members)]
    whose = " of the best member" if members else ""
    lines += ["", f"heaviest features{whose} (weight)"] if any(heaviest) else []
    for label, features in zip(labels, heaviest, strict=True):
        if features:
            lines.append(f"{label}: " + ", ".join(f"{n} ({w:+.4g})" for n, w in features))
    return lines


def _member(member: dict[str, Any]) -> str:
    parts = [member["learner"], _plain(member["parameters"]) if member["parameters"] else ""]
    return f"{member['weight']:>10.2%} {member['mistakes']:>10}  {' '.join(parts).rstrip()}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_plain(v)}" for name, v in value.items()) or "-"
    return str(value)
