"""`oneof compare` from beginning to end: data, trials, Hedge's members, and the files of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oneof.experiments import compare_figures, compare_report, folder, plots
from oneof.experiments.compare import CompareRow, FoldRow, compare, summary
from oneof.experiments.manifest import machine, versions
from oneof.experiments.members import MemberRow, member_rows
from oneof.experiments.problems import problems
from oneof.experiments.reproduce import Clock, Watcher
from oneof.experiments.rivals import MISSING, has_vowpal_wabbit
from oneof.experiments.tables import csv_text

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from oneof.experiments.problems import Plan, Problem


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was found.

    Attributes
    ----------
    plan : Plan
    problems : list of Problem
    folds : list of FoldRow
        A row for each learner and fold.
    members : list of MemberRow
        Hedge and its members, for each fold.
    left_out : list of str
        Sentences on what is missing.
    """

    plan: Plan
    problems: list[Problem]
    folds: list[FoldRow]
    members: list[MemberRow]
    left_out: list[str]

    def summary(self) -> list[CompareRow]:
        """Average over folds."""
        return summary(self.folds)

    def tables(self) -> dict[str, str]:
        """Return the CSV files by name."""
        return {
            "compare.csv": csv_text(CompareRow, self.summary()),
            "folds.csv": csv_text(FoldRow, self.folds),
            "hedge.csv": csv_text(MemberRow, self.members),
        }

    def record(self, files: dict[str, bytes], clock: Clock) -> dict[str, Any]:
        """Return what must be known to compare again."""
        return {
            "command": self.plan.command(),
            "plan": asdict(self.plan),
            "datasets": {
                p.name: {"source": p.source, "rows": len(p.y), "features": p.X.shape[1]}
                for p in self.problems
            },
            "left_out": self.left_out,
            "versions": versions("vowpalwabbit"),
            "machine": machine(),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": {stage: round(taken, 3) for stage, taken in clock.seconds.items()},
            "files": {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()},
        }


def comparison(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    n_jobs: int = -1,
    watcher: Watcher | None = None,
) -> Comparison:
    """Compare all learners and write all that comes of it to a folder.

    Parameters
    ----------
    plan : Plan
    out : path-like
        The folder; it is made if need be, and files of an earlier comparison in it are replaced.
    n_jobs : int, default=-1
        Workers; what is found does not depend on it.
    watcher : Watcher, optional
        Is told how far the work is.
    """
    if n_jobs == 0:
        raise ValueError("jobs must be a number of workers, or -1 for every core, not 0")
    watcher, clock = watcher or Watcher(), Clock()
    path = folder.ready(out)
    found = _computed(plan, n_jobs, watcher, clock)
    watcher.begin("report")
    with clock.stage("figures"):
        figures = _drawn(found.summary())
    files = {name: text.encode() for name, text in found.tables().items()} | figures
    record = found.record(files, clock)
    files["report.html"] = compare_report.page(found, record).encode()
    files[folder.MANIFEST] = (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
    watcher.begin("files")
    folder.write(path, files)
    return found


def _computed(plan: Plan, n_jobs: int, watcher: Watcher, clock: Clock) -> Comparison:
    watcher.begin("data")
    with clock.stage("data"):
        wanted, left_out = problems(plan)
    watcher.begin("runs", 1_000_000)
    with clock.stage("trials"):
        folds = compare(wanted, plan, n_jobs=n_jobs, tell=watcher.advance)
    with clock.stage("members"):
        members = member_rows(wanted, plan, n_jobs)
    left_out += [] if has_vowpal_wabbit() else [MISSING]
    return Comparison(plan, wanted, folds, members, left_out)


def _drawn(rows: Sequence[CompareRow]) -> dict[str, bytes]:
    """Return a figure for each data set by file name; none, where matplotlib is not installed."""
    if not plots.is_available():
        return {}
    files = {}
    for name, group in groupby(rows, key=lambda row: row.dataset):
        figure = compare_figures.held_out(list(group))
        files[f"figures/{name}.svg"] = plots.svg(figure)
        files[f"figures/{name}.png"] = plots.png(figure)
    return files
