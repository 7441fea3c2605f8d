"""`oneof reproduce` from beginning to end: data, runs, theorems, claims, and the files of them."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneof.experiments import folder, plots, report
from oneof.experiments.claims import ClaimRow, claim_rows
from oneof.experiments.examples import Examples, load_examples
from oneof.experiments.manifest import manifest
from oneof.experiments.run import Results, count_rounds, run
from oneof.experiments.tables import (
    CurveRow,
    ResultRow,
    RunRow,
    TuningRow,
    csv_text,
    curve_rows,
    result_rows,
    run_rows,
    tuning_rows,
)
from oneof.experiments.theorems import TheoremRow, theorem_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator

    from oneof.experiments.spec import Spec


class Watcher:
    """Is told how far the work is; this one does not care."""

    def begin(self, stage: str, total: int | None = None) -> None:
        """Begin a stage, of `total` units if that is known."""

    def advance(self, units: int) -> None:
        """Count units of the stage as done."""


class Clock:
    """Measures what each stage takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done inside."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found.

    Attributes
    ----------
    examples, skipped
        The data sets that were run, and why others were not.
    results : Results
    claims : list of ClaimRow
    theorems : list of TheoremRow
    """

    examples: list[Examples]
    skipped: dict[str, str]
    results: Results
    claims: list[ClaimRow]
    theorems: list[TheoremRow]

    def tables(self) -> dict[str, str]:
        """Return the CSV files by name."""
        return {
            "results.csv": csv_text(ResultRow, result_rows(self.results)),
            "curves.csv": csv_text(CurveRow, curve_rows(self.results)),
            "runs.csv": csv_text(RunRow, run_rows(self.results)),
            "tuning.csv": csv_text(TuningRow, tuning_rows(self.results)),
            "claims.csv": csv_text(ClaimRow, self.claims),
            "theorems.csv": csv_text(TheoremRow, self.theorems),
        }


def reproduce(
    spec: Spec,
    out: str | os.PathLike[str],
    *,
    required: Collection[str] = (),
    n_jobs: int = -1,
    watcher: Watcher | None = None,
) -> Outcome:
    """Run a specification and write all that comes of it to a folder.

    Parameters
    ----------
    spec : Spec
    out : path-like
        The folder; it is made if need be, and files of an earlier run in it are replaced.
    required : collection of str
        Data sets without which nothing is run; others are left out where they cannot be had.
    n_jobs : int, default=-1
        Workers; what is found does not depend on it.
    watcher : Watcher, optional
        Is told how far the work is.

    Returns
    -------
    Outcome
    """
    if n_jobs == 0:
        raise ValueError("jobs must be a number of workers, or -1 for every core, not 0")
    watcher, clock = watcher or Watcher(), Clock()
    path = folder.ready(out)
    outcome = computed(spec, required, n_jobs, watcher, clock)
    watcher.begin("report")
    with clock.stage("figures"):
        figures = drawn(outcome)
    files = contents(outcome, figures, clock)
    watcher.begin("files")
    folder.write(path, files)
    return outcome


def computed(
    spec: Spec, required: Collection[str], n_jobs: int, watcher: Watcher, clock: Clock
) -> Outcome:
    """Load, run, play the theorems and judge the claims; nothing is written."""
    watcher.begin("data")
    with clock.stage("data"):
        examples, skipped = load_examples(spec, required)
    watcher.begin("runs", count_rounds(spec, examples))
    with clock.stage("runs"):
        results = run(spec, examples, n_jobs=n_jobs, on_rounds=watcher.advance)
    watcher.begin("theorems")
    with clock.stage("theorems"):
        theorems = theorem_rows(spec.seed, n_jobs)
    claims = claim_rows(run_rows(results))
    return Outcome(examples, skipped, results, claims, theorems)


def drawn(outcome: Outcome) -> dict[str, bytes]:
    """Return the figures by file name; none, where matplotlib is not installed."""
    if not plots.is_available():
        return {}
    curves = curve_rows(outcome.results)
    figures = {
        e.name: plots.curves([row for row in curves if row.dataset == e.name])
        for e in outcome.examples
    }
    for number in (1, 2, 3):
        figures[f"theorem-{number}"] = plots.theorem(outcome.theorems, number)
    formats = {"svg": plots.svg, "png": plots.png}
    return {
        f"figures/{name}.{suffix}": save(figure)
        for name, figure in figures.items()
        for suffix, save in formats.items()
    }


def contents(outcome: Outcome, figures: dict[str, bytes], clock: Clock) -> dict[str, bytes]:
    """Return every file of the report folder by name."""
    files = {name: text.encode() for name, text in outcome.tables().items()} | figures
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    record = manifest(
        outcome.results, outcome.examples, outcome.skipped, files, finished, clock.seconds
    )
    files["report.html"] = report.page(outcome, record).encode()
    files[folder.MANIFEST] = (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
    return files
