"""From the options of `oneof train` to a training, and what is said at its end."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import oneof
from oneof.catalogue import LEARNERS, name_of
from oneof.cli import Interrupted, sentence_of
from oneof.cli.learner_options import checked
from oneof.cli.options import one_of, opened, opened_for
from oneof.cli.table import ProgressTable
from oneof.persistence import rehearse
from oneof.readers import text_classes
from oneof.readers.errors import UnwritableRejects
from oneof.streaming.checkpoint import Checkpoint
from oneof.streaming.counts import Counts
from oneof.streaming.pieces import Order, Place
from oneof.streaming.training import Stopped, Training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneof.online import OnlineClassifier
    from oneof.readers import Source

_BATCH = 8192
_LOST = "what was learnt is lost, for not even the temporary folder could be written"


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
            with training.stoppable():
                training.run()
                _write(request, training)
        except Stopped:
            raise Interrupted(_stopped(request, training)) from None
        except (OSError, UnwritableRejects) as error:
            raise OSError(_unwritten(request, training, error)) from None
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


def _write(request: Request, training: Training) -> None:
    """Write the model, and last the checkpoint: without it a resumed run ends in the same bytes."""
    if not training.counts.n_rounds and request.init is None:
        training.source.refuse_empty()
    if request.output is not None:
        oneof.save(training.estimator, request.output)
    if request.checkpoint is not None:
        training.save(request.checkpoint)


def _stopped(request: Request, training: Training) -> str:
    """Keep what was learnt; say where it is, and how to go on."""
    what = f"interrupted after {training.counts.n_rounds} rounds"
    if request.output is None and request.checkpoint is None:
        return f"{what}: without -o nothing is kept"
    return f"{what}: {_kept(request, training) or _LOST}"


def _unwritten(request: Request, training: Training, error: OSError | UnwritableRejects) -> str:
    """Say what could not be written; keep what was learnt, unless the model holds it already."""
    what = sentence_of(error)
    if request.output and getattr(error, "filename", None) == str(request.checkpoint):
        return f"{what}: the model is in {request.output}, only the last checkpoint is not written"
    kept = _kept(request, training)
    return f"{what}, but nothing is lost: {kept}" if kept else f"{what}: {_LOST}"


def _kept(request: Request, training: Training) -> str | None:
    """Write a checkpoint where that is possible; say where it is, and how to go on."""
    for path in _shelters(request):
        with suppress(OSError):
            training.save(path)
            if training.source.size is None:
                return f"the model so far is in {path}"
            again = f"--checkpoint {shlex.quote(str(path))} --resume"
            return f"go on with the same command and {again}"
    return None


def _shelters(request: Request) -> Iterator[Path]:
    """Give places for a checkpoint: the one named, beside the output, a temporary folder."""
    output = request.output
    if request.checkpoint is not None:
        yield request.checkpoint
    if output is not None and (output.is_file() or not output.exists()):  # devices have no folder
        beside = _beside(output)
        if not beside.exists():  # it may be all that is left of another run
            yield beside
    with suppress(OSError):
        # A name that others can foresee could be a link of theirs: the folder is ours alone.
        folder = Path(tempfile.mkdtemp(prefix="oneof-"))
        yield folder / _beside(output or request.checkpoint or Path("model")).name
        folder.rmdir()


def _beside(output: Path) -> Path:
    return output.with_name(output.name + ".checkpoint")


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
