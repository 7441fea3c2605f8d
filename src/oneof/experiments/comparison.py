"""The files of `oneof compare`: tables, a page, a figure; nothing is learnt here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.experiments import folder, plots
from oneof.experiments.compare import (
    SETS,
    CompareRow,
    FoldRow,
    compare,
    problems,
    summary,
)
from oneof.experiments.manifest import machine, versions
from oneof.experiments.rivals import MISSING, has_vowpal_wabbit
from oneof.experiments.tables import csv_text
from oneof.rules import SHARED

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from oneof.experiments.reproduce import Watcher


@dataclass(frozen=True)
class Comparison:
    """What was found: a row per learner and fold, and sentences on what was left out."""

    rows: list[FoldRow]
    notes: list[str]
    facts: dict[str, Any]

    def summary(self) -> list[CompareRow]:
        """Average over folds, the best learner of each set first."""
        return sorted(
            summary(self.rows),
            key=lambda r: (r.dataset, r.size or 0, r.passes, r.held_out_error),
        )

    def table(self) -> str:
        """Return the table in Markdown, one for each set, size and number of passes."""
        parts = []
        for (name, size, passes), group in groupby(self.summary(), key=lambda r: r[:3]):
            sets = "real candidate sets" if size is None else f"sets of {size}"
            times = "one pass" if passes == 1 else f"{passes} passes"
            lines = [_line(row) for row in group]
            parts.append("\n".join([f"### {name}, {sets}, {times}\n", _HEAD, *lines]))
        return "\n\n".join(parts)

    def page(self) -> str:
        """Return the whole report in Markdown."""
        facts = "\n".join(f"- {name}: {value}" for name, value in self.facts.items())
        notes = "".join(f"- left out: {note}\n" for note in self.notes)
        return f"# Which learner?\n\n{_INTRODUCTION}\n\n{facts}\n{notes}\n{self.table()}\n"


_INTRODUCTION = (
    "Error on held-out rows against the true label (mean ± standard error over folds);\n"
    "mistakes, predictions outside the candidates, by which each learner chose its setting;\n"
    "and, of the first pass, errors of predictions made before each row was learnt. The truth\n"
    "was used to count errors only."
)
_HEAD = (
    "| learner | held-out error | mistakes | progressive error | setting chosen most often |\n"
    "|---|---|---|---|---|"
)


def comparison(
    out: str | os.PathLike[str],
    names: Sequence[str],
    passes: Sequence[int],
    folds: int,
    scale: str,
    seed: int,
    n_jobs: int,
    watcher: Watcher,
) -> Comparison:
    """Compare, and write all that comes of it to a folder."""
    if folds < 2 or min(passes) < 1 or n_jobs == 0 or seed < 0:
        raise ValueError("folds must be 2 or more, passes 1 or more, jobs not 0, seed 0 or more")
    SHARED["scale"].checked("scale", scale)
    path = folder.ready(out)
    watcher.begin("data")
    wanted, skipped = problems(names or tuple(SETS), seed)
    missing = [skipped[name] for name in names if name in skipped]
    if missing or not wanted:
        raise ValueError("; ".join(missing or skipped.values()) or "there is nothing to compare")
    few = [p.name for p in wanted if len(p.y) < 4 * folds]
    if few:
        raise ValueError(f"{few[0]} has too few rows for {folds} folds: ask for fewer")
    watcher.begin("runs", len(wanted) * len(passes) * folds)
    rows = compare(
        wanted, passes=passes, folds=folds, scale=scale, seed=seed, n_jobs=n_jobs,
        tell=watcher.advance,
    )  # fmt: skip
    notes = [*skipped.values(), *([] if has_vowpal_wabbit() else [MISSING])]
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "folds": folds,
        "scale": scale,
        "versions": ", ".join(f"{k} {v}" for k, v in versions().items()),
    }
    found = Comparison(rows, notes, facts)
    watcher.begin("files")
    folder.write(path, _files(found))
    return found


def _files(found: Comparison) -> dict[str, bytes]:
    files = {
        "compare.csv": csv_text(CompareRow, found.summary()).encode(),
        "folds.csv": csv_text(FoldRow, found.rows).encode(),
        "report.md": found.page().encode(),
    }
    if plots.is_available():
        files["figures/compare.png"] = plots.png(figure(found.summary()))
        files["report.md"] += b"\n![Held-out errors](figures/compare.png)\n"
    record = {**found.facts, "machine": machine(), "left_out": found.notes, "files": sorted(files)}
    files[folder.MANIFEST] = json.dumps(record, indent=1).encode()
    return files


def figure(rows: Sequence[CompareRow]) -> Any:
    """Draw held-out errors with their standard errors, a panel per set and number of passes."""
    panels = [list(group) for _, group in groupby(rows, key=lambda r: r[:3])]
    n_columns = min(3, len(panels))
    n_rows = -(-len(panels) // n_columns)
    with plots.drawing() as drawn:
        drawn.set_size_inches(4.2 * n_columns, 0.6 + 2.9 * n_rows)
        axes = drawn.subplots(n_rows, n_columns, squeeze=False).ravel()
        for ax, panel in zip(axes, panels, strict=False):
            _panel(ax, panel)
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
    return drawn


def _panel(ax: Any, rows: list[CompareRow]) -> None:
    at = np.arange(len(rows))[::-1]
    first = rows[0]
    sets = "real sets" if first.size is None else f"sets of {first.size}"
    for y, row in zip(at, rows, strict=True):
        color = plots.VERMILLION if row.learner.startswith("vw-") else plots.BLUE
        error = row.se or 0.0
        ax.errorbar(row.held_out_error, y, xerr=error, fmt="o", color=color, markersize=4)
    ax.set_yticks(at, [row.learner for row in rows], fontsize=7)
    ax.set_title(f"{first.dataset}, {sets}, {first.passes} pass{'es' * (first.passes > 1)}")
    ax.set_xlabel("held-out error")


def _line(row: CompareRow) -> str:
    se = "" if row.se is None else f" ± {row.se:.3f}"
    return (
        f"| {row.learner} | {row.held_out_error:.3f}{se} | {row.mistakes:.3f} | "
        f"{row.progressive_error:.3f} | {row.chosen or 'defaults'} |"
    )
