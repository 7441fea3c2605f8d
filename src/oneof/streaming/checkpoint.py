"""Checkpoints: a model file with the run it belongs to and its place in the input."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneof.persistence import models
from oneof.streaming.counts import Counts
from oneof.streaming.pieces import Order, Place

if TYPE_CHECKING:
    import os

    from oneof.online import OnlineClassifier
    from oneof.readers import Source

_WORDS = {
    "files": "the input",
    "passes": "--passes",
    "window": "--shuffle-buffer",
    "seed": "--seed",
    "format": "--format",
    "zero_based": "the numbering of features",
}


# What a first pass may find, or a resumed run knows from its model.
_FOUND = {"feature_names", "n_features", "new_features"}


@dataclass(frozen=True)
class Checkpoint:
    """Where a run was: what it reads and how, its place there, its counts."""

    run: dict[str, Any]
    place: Place
    counts: Counts

    @staticmethod
    def run_of(source: Source, order: Order) -> dict[str, Any]:
        """Describe what must be the same when a run is resumed."""
        run = {name: v for name, v in source.fingerprint().items() if name not in _FOUND}
        # As JSON has it: lists for tuples.
        return dict(json.loads(json.dumps(run))) | {
            "passes": order.passes,
            "window": order.window,
            "seed": order.seed,
        }

    def write(self, estimator: OnlineClassifier, path: str | os.PathLike[str]) -> None:
        """Write the checkpoint whole, or leave the one before."""
        part = {
            "run": self.run, "place": self.place.to_json(), "counts": self.counts.to_json()
        }  # fmt: skip
        models.write(estimator, path, {"checkpoint": part})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> tuple[OnlineClassifier, Checkpoint]:
        """Read a checkpoint, every field checked."""
        file = models.read(path)
        part = file.parts.get("checkpoint")
        if part is None:
            raise ValueError(
                f"{path}: this is a finished model, not a checkpoint: go on from it with --init"
            )
        try:
            if set(part) != {"run", "place", "counts"} or not isinstance(part["run"], dict):
                raise ValueError("its fields are not those of a checkpoint")
            place, counts = Place.from_json(part["place"]), Counts.from_json(part["counts"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}: the checkpoint is damaged") from None
        return file.model, cls(part["run"], place, counts)

    def refuse_other(self, source: Source, order: Order, path: str | os.PathLike[str]) -> None:
        """Raise if the checkpoint belongs to another run."""
        now = self.run_of(source, order)
        for name in sorted(set(now) | set(self.run)):
            if now.get(name) != self.run.get(name):
                what = _WORDS.get(name, name)
                raise ValueError(
                    f"{path}: the checkpoint does not fit: {what} was {_shown(self.run.get(name))} "
                    f"and is {_shown(now.get(name))} now: give what was given then, or start anew "
                    "with another checkpoint"
                )


def _shown(value: Any) -> str:
    """Write a value for a message; files by their names and sizes."""
    if isinstance(value, list):
        parts = [
            f"{f.get('name')} ({f.get('size')} bytes)" if isinstance(f, dict) else str(f)
            for f in value[:3]
        ]
        return ", ".join(parts) + (", …" if len(value) > 3 else "")
    return repr(value)
