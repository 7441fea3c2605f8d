"""The command `oneof compare`: parses, calls, prints; no logic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import Interrupted


def compare(
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this data set, or a .mat file of yours with partial labels; several times, "
            "too. See `oneof datasets`."
        ),
    ] = None,
    passes: Annotated[
        list[int] | None, typer.Option(help="Passes over the training rows; 1 and 20 by default.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of the cross-validation.")] = 10,
    scale: Annotated[
        str, typer.Option(help="standardize or none: what learners do with the features.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Workers; −1 takes every core. Results do not depend on it.")
    ] = -1,
    out: Annotated[Path, typer.Option(help="The folder that everything is written to.")] = Path(
        "comparison"
    ),
) -> None:
    """Compare all learners, with settings chosen by their mistakes, never by the truth.

    Each fold is held out once; on the others every learner tries its settings and keeps the one
    that predicted outside the candidates least often. OUT holds one page with all tables and
    figures, and these as files. Where the package vowpalwabbit is installed, its csoaa learners
    are compared, too.

    For example:

    - oneof compare --dataset ecoli --passes 1 --folds 3

    - oneof compare --dataset mine.mat
    """
    from oneof.cli.outcome import show_comparison
    from oneof.cli.progress import Progress
    from oneof.experiments.comparison import comparison
    from oneof.experiments.problems import Plan

    start = time.perf_counter()
    plan = Plan(tuple(dataset or ()), tuple(passes or (1, 20)), folds, scale, seed)
    with Progress() as progress:
        try:
            found = comparison(plan, out, n_jobs=jobs, watcher=progress)
        except KeyboardInterrupt:
            raise Interrupted(progress.interrupted(out)) from None
    show_comparison(found, out, time.perf_counter() - start)
