"""The command `oneof compare`: parses, calls, prints; no logic."""

from __future__ import annotations

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
    that predicted outside the candidates least often. OUT holds the table as CSV and as a page,
    and a figure. With vowpalwabbit installed, its csoaa learners are in the table, too.

    For example:

    - oneof compare --dataset ecoli --passes 1 --folds 3

    - oneof compare --dataset mine.mat
    """
    from rich.console import Console

    from oneof.cli.progress import Progress
    from oneof.experiments.comparison import comparison

    with Progress() as progress:
        try:
            found = comparison(
                out, dataset or (), passes or (1, 20), folds, scale, seed, jobs, progress
            )
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted: nothing was written to {out}") from None
    console = Console(markup=False, highlight=False)
    for reason in found.notes:
        console.print(f"Left out: {reason}", style="yellow")
    console.print(found.table(), soft_wrap=True)
    console.print(f"The report is in {out / 'report.md'}", style="bold", soft_wrap=True)
