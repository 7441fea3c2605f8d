"""The command `oneof reproduce`: parses, calls, prints; no logic."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from oneof.cli import Interrupted


def reproduce(
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Only this data set; may be given several times. See `oneof datasets`."),
    ] = None,
    size: Annotated[
        list[int] | None,
        typer.Option(help="Only candidate sets of this size; may be given several times."),
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(help="Only this learner, for example avg-pegasos; several times, too."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Repetitions. The paper has 100.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of a run, for every data set.")] = None,
    alpha: Annotated[
        float | None, typer.Option(help="A fixed λ for Pegasos instead of a chosen one.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="paper; standardised (features standardised, an intercept); a .toml file that "
            "describes an experiment; or the manifest.json of an earlier run, to run it again."
        ),
    ] = "paper",
    seed: Annotated[int | None, typer.Option(help="Everything random follows from it.")] = None,
    jobs: Annotated[
        int, typer.Option(help="Workers; −1 takes every core. Results do not depend on it.")
    ] = -1,
    out: Annotated[Path, typer.Option(help="The folder that everything is written to.")] = Path(
        "reproduction"
    ),
) -> None:
    """Run the paper's experiments again, and report which of its claims hold.

    On each data set, six online learners see the same rows in the same order, 100 times: four learn
    from candidate sets, two from the true labels. OUT holds the curves, the claims with
    95 % intervals, the theorems beside what happens, and the table of final errors, as CSV files.
    A data set that cannot be had is left out, with a line that says how to
    get it; one that you name is a must.

    A first try, in seconds: `oneof reproduce --dataset ecoli --runs 10`
    """
    from oneof.cli.outcome import show
    from oneof.cli.progress import Progress
    from oneof.experiments import Spec
    from oneof.experiments import reproduce as reproduced

    start = time.perf_counter()
    spec = Spec.load(protocol).narrowed(
        datasets=dataset or (),
        sizes=size or (),
        learners=learner or (),
        runs=runs,
        rounds=rounds,
        alpha=alpha,
        seed=seed,
    )
    with Progress() as progress:
        try:
            outcome = reproduced(spec, out, required=dataset or (), n_jobs=jobs, watcher=progress)
        except KeyboardInterrupt:
            raise Interrupted(progress.interrupted(out)) from None
    show(outcome, out, time.perf_counter() - start)
