"""The command `oneof train`: parses, calls, prints; no logic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from oneof.cli.learner_options import with_learner_options
from oneof.cli.options import READING, Files, Quiet

_RUN = "The run"


@with_learner_options
def train(
    files: Files,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The learner, for example max-pegasos. [default: avg-perceptron]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The model file to write.", show_default=False
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on from this model.", show_default=False),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="All labels, as cat,dog,fox. By default a quick first pass finds them.",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="float32|float64", help="Of the weights.")
    ] = "float32",
    passes: Annotated[
        int, typer.Option(min=1, help="How often every row is learnt.", rich_help_panel=_RUN)
    ] = 1,
    shuffle_buffer: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="ROWS",
            rich_help_panel=_RUN,
            help="Take this many rows at a time, and learn each such window in random order.",
        ),
    ] = 0,
    seed: Annotated[
        int, typer.Option(min=0, help="The shuffling follows from it.", rich_help_panel=_RUN)
    ] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_RUN,
            show_default=False,
            help="Keep the model and the place in the input here.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        str,
        typer.Option(
            metavar="ROWS|SECONDSs",
            rich_help_panel=_RUN,
            help="How often: 100000 for rows, 30s for seconds.",
        ),
    ] = "60s",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            rich_help_panel=_RUN,
            help="Go on from the checkpoint; from the beginning if there is none yet.",
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_RUN,
            show_default=False,
            help="Write the table as JSON Lines, too.",
        ),
    ] = None,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Learn a model from files of any size, in bounded memory.

    Each row is predicted before it is learnt, so the table that appears meanwhile is an honest
    estimate: how many predictions fell outside their row's candidates, so far and since the line
    before, and how many were wrong where the truth is given.

    For example:

    - `oneof train clicks.svm -o clicks.oneof`
    - `oneof train 'day-*.svm.gz' --model max-pegasos --alpha 0.01 --average -o clicks.oneof`
    - `oneof train today.svm --init clicks.oneof -o clicks.oneof`
    - `oneof train big.svm -o big.oneof --checkpoint big.ckpt --checkpoint-every 30s --resume`
    - `oneof train pets.csv --label-column kind --hash-bits 18 -o pets.oneof`
    - `zcat clicks.svm.gz | oneof train - --format svmlight --classes 0,1,2 -o clicks.oneof`
    """
    from oneof.cli.training import Request, trained

    reading = {name: options.pop(name) for name in READING}
    trained(
        Request(
            files=files, model=model, output=output, init=init, classes=classes, dtype=dtype,
            passes=passes, window=shuffle_buffer, seed=seed, checkpoint=checkpoint,
            every=checkpoint_every, resume=resume, log=log, quiet=quiet, parameters=options,
            reading=reading,
        )
    )  # fmt: skip
