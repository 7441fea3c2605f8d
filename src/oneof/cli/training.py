"""From the options of `oneof train` to a training, and what is said at its end."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oneof
from oneof.catalogue import LEARNERS, name_of
from oneof.cli.learner_options import checked
from oneof.cli.options import one_of, opened, opened_for
from oneof.cli.table import ProgressTable
from oneof.persistence import rehearse
from oneof.readers import text_classes
from oneof.streaming.checkpoint import Checkpoint
from oneof.streaming.counts import Counts
from oneof.streaming.pieces import Order, Place
from oneof.streaming.training import Stopped, Training

if TYPE_CHECKING:
    from oneof.estimators import OnlineClassifier
    from oneof.readers import Source

_BATCH = 8192


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    files: list[str]
    model: str | None
    output: Path | None
    init: Path | None
    classes: str | None
    dtype: str
    passes: int
    window: int
    seed: int
    checkpoint: Path | None
    every: str
    resume: bool
    log: Path | None
    quiet: bool
    parameters: dict[str, Any]
    reading: dict[str, Any]


def trained(request: Request) -> None:
    """Train, write the model, and say what came of it."""
    every_rounds, every_seconds = _every(request.every)
    for path in filter(None, (request.output, request.checkpoint)):
        rehearse(path)
    estimator, found = _start(request)
    source = _source(request, estimator, every_rounds)
    if estimator is None:
        estimator = _new(request, source)
    order = Order(request.passes, request.window, request.seed)
    if found is not None and request.checkpoint is not None:
        found.refuse_other(source, order, request.checkpoint)
    counts, place = (found.counts, found.place) if found else (Counts(), Place())
    n_bytes = source.size and source.size * request.passes
    with ProgressTable(
        counts, n_bytes, quiet=request.quiet, log=request.log, is_resumed=found is not None
    ) as table:
        training = Training(
            estimator,
            source,
            order,
            table,
            request.checkpoint,
            every_rounds,
            every_seconds,
            counts,
            place,
        )
        try:
            training.run()
        except Stopped:
            raise KeyboardInterrupt(_stopped(request, training)) from None
    if request.output is not None:
        oneof.save(estimator, request.output)
    if not request.quiet:
        _say_result(request, training)


def _start(request: Request) -> tuple[OnlineClassifier | None, Checkpoint | None]:
    """Return the model to go on from, if there is one, and the checkpoint it comes from."""
    model = request.model and one_of("--model", request.model, LEARNERS)
    if request.resume and request.checkpoint is None:
        raise ValueError("--resume goes on from a checkpoint: name it with --checkpoint")
    exists = request.checkpoint is not None and request.checkpoint.exists()
    if exists and not request.resume:
        raise ValueError(
            f"{request.checkpoint} exists: add --resume to go on from it, or delete it"
        )
    found = None
    if exists and request.checkpoint is not None:
        estimator, found = Checkpoint.read(request.checkpoint)
        path: Path | None = request.checkpoint
    elif request.init is not None:
        estimator, path = oneof.load(request.init), request.init
    else:
        checked(model or next(iter(LEARNERS)), request.parameters)
        return None, None
    name = name_of(estimator)
    if model is not None and model != name:
        raise ValueError(f"{path} holds {name}, not {model}: leave --model out")
    wanted = checked(name, request.parameters)
    if found is not None:
        _refuse_other_parameters(estimator, wanted, path)
    estimator.set_params(**wanted)
    estimator.refuse_change(estimator.learner(), None)
    return estimator, found


def _refuse_other_parameters(
    estimator: OnlineClassifier, wanted: dict[str, Any], path: Path | None
) -> None:
    now = estimator.get_params(deep=False)
    for name, value in wanted.items():
        if _comparable(now[name]) != _comparable(value):
            raise ValueError(
                f"{path}: the checkpoint does not fit: {name} was {now[name]} and is {value} now: "
                "give what was given then, or start anew with another checkpoint"
            )


def _comparable(value: Any) -> Any:
    """Return what tells parameters apart; two lists of the same members are not equal."""
    if not isinstance(value, list):
        return value
    return [(name_of(member), member.get_params(deep=False)) for member in value]


def _every(text: str) -> tuple[int | None, float | None]:
    """Return how often checkpoints are written: the rounds or the seconds between two."""
    match = re.fullmatch(r"([0-9]+)(s?)", text)
    if match is None or int(match[1]) < 1:
        raise ValueError(
            f"--checkpoint-every takes rows, such as 100000, or seconds, such as 30s, not {text!r}"
        )
    number = int(match[1])
    return (None, number) if match[2] else (number, None)


def _source(request: Request, estimator: OnlineClassifier | None, every: int | None) -> Source:
    classes: Any = None
    if request.classes is not None:
        classes = text_classes(request.classes.split(","))
    # Checkpoints are written between batches.
    batch_rows = min(_BATCH, every) if request.checkpoint is not None and every else None
    if estimator is None:
        source = opened(
            request.files,
            request.reading,
            classes=classes,
            dtype=request.dtype,
            batch_rows=batch_rows,
        )
    else:
        if classes is not None and set(classes.tolist()) != set(estimator.classes_.tolist()):
            raise ValueError(
                f"--classes are {classes.tolist()}, but the model's are "
                f"{estimator.classes_.tolist()}: leave --classes out"
            )
        source = opened_for(
            estimator, request.files, request.reading, is_growing=True, batch_rows=batch_rows
        )
    if request.checkpoint is not None and source.size is None:
        raise ValueError(
            "--checkpoint needs input that can be read again from the middle: give files instead "
            "of standard input or a pipe"
        )
    return source


def _new(request: Request, source: Source) -> OnlineClassifier:
    model = request.model or next(iter(LEARNERS))
    given = checked(model, request.parameters)
    assert source.classes is not None, "training reads labels"
    # A model has room for at least one feature; it grows with the rows.
    return LEARNERS[model](**given).begin(source.classes, max(source.n_features, 1), source.dtype)


def _stopped(request: Request, training: Training) -> str:
    """Keep what was learnt; say where it is, and how to go on."""
    n = training.counts.n_rounds
    path = request.checkpoint
    if path is None and request.output is not None:
        path = request.output.with_name(request.output.name + ".checkpoint")
    if path is None:
        return f"interrupted after {n} rounds: without -o nothing is kept"
    training.save(path)
    if training.source.size is None:
        return f"interrupted after {n} rounds: the model so far is in {path}"
    again = f"--checkpoint {shlex.quote(str(path))} --resume"
    return f"interrupted after {n} rounds: go on with the same command and {again}"


def _say_result(request: Request, training: Training) -> None:
    counts, source = training.counts, training.source
    name, n = name_of(training.estimator), max(counts.n_rounds, 1)
    parts = [
        f"{name}: {counts.n_rounds} rounds, {counts.n_mistakes / n:.2%} mistakes",
        f"{source.n_skipped} bad rows skipped" if source.n_skipped else "",
        f"{counts.n_full} rows said nothing (every class a candidate)" if counts.n_full else "",
        f"{counts.n_errors / counts.n_known:.2%} errors on {counts.n_known} known truths"
        if counts.n_known
        else "",
        f"written to {request.output}" if request.output else "",
    ]
    print(", ".join(part for part in parts if part))
    if request.output is None:
        print("oneof: the model was not kept: name a file with -o", file=sys.stderr)
