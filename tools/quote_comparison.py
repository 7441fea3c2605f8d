"""Quotes a run of `oneof compare` in docs/which-learner.md: accuracies, Hedge and its members.

Usage: python tools/quote_comparison.py FOLDER
Replaces what stands between the marks ``<!-- results -->`` and ``<!-- end of results -->``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from quoting import day, replace, table

from oneof.experiments.compare import CompareRow
from oneof.experiments.members import ASKED, HedgeRow, MemberRow, hedge_rows
from oneof.experiments.pages import title_of
from oneof.experiments.rivals import label_of
from oneof.experiments.tables import read_csv

PAGE = "docs/which-learner.md"

# What the page shows of all that the report holds: tables whose columns are a data set, a size of
# candidate sets and a number of passes.
SIZES = (2, 4, 6, 8)
SHOWN = {
    "Real data with real candidate sets:": [
        (name, None, passes) for name in ("lost", "birdsong") for passes in (1, 20)
    ],
    "scikit-learn's digits; the truth and 1, 3, 5 or 7 of the 9 other labels, drawn at random:": [
        ("digits", size, 1) for size in SIZES
    ],
    "USPS, the same:": [("usps", size, 1) for size in SIZES],
    "Fewer classes, shorter rows, drawn in the same way:": [
        ("dermatology", 4, 20),
        ("ecoli", 4, 20),
        ("satimage", 2, 20),
        ("satimage", 4, 20),
    ],
}


def main(folder: Path) -> None:
    """Put the tables in the page."""
    rows = read_csv(folder / "compare.csv", CompareRow)
    members = read_csv(folder / "hedge.csv", MemberRow)
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    parts = [summary(record)]
    for title, columns in SHOWN.items():
        if found := accuracies(rows, columns):
            parts.append(f"{title}\n\n{found}")
    parts.append(beside_members(hedge_rows(members)))
    replace(PAGE, "\n".join(parts))


def summary(record: dict) -> str:
    """Say what was run, when, and by which command."""
    plan, versions = record["plan"], record["versions"]
    rival = versions.get("vowpalwabbit")
    return (
        f"Run on {day(record['finished'])} with seed {plan['seed']}, {plan['folds']} folds, "
        f'`scale="{plan["scale"]}"`'
        f"{f', Vowpal Wabbit {rival}' if rival else ''}, by the command\n\n"
        f"```console\n$ {record['command']}\n```\n\n"
        "The report of that run holds more: progressive errors, every set and size after every "
        "number of passes, the settings chosen, and each fold as CSV.\n"
    )


def accuracies(rows: list[CompareRow], columns: list[tuple[str, int | None, int]]) -> str:
    """Tabulate accuracies, the best of each column in bold; nothing, if no column was run."""
    cells = {(row.dataset, row.size, row.passes, row.learner): row for row in rows}
    learners = dict.fromkeys(row.learner for row in rows)
    ran = [key for key in columns if any((*key, name) in cells for name in learners)]
    least = {key: min(row.held_out_error for row in rows if row[:3] == key) for key in ran}
    lines = [
        [label(name), *(accuracy(cells.get((*key, name)), least[key]) for key in ran)]
        for name in learners
    ]
    return table(["learner", *map(heading, ran)], lines) if ran else ""


def heading(key: tuple[str, int | None, int]) -> str:
    """Name a column."""
    dataset, size, passes = key
    sets = "" if size is None else f", sets of {size}"
    return f"{title_of(dataset)}{sets}, {passes} pass{'es' if passes > 1 else ''}"


def label(learner: str) -> str:
    """Name a learner, as code if it is ours."""
    name = label_of(learner)
    return name if learner.startswith("vw-") else f"`{name}`"


def accuracy(row: CompareRow | None, least: float) -> str:
    """Write an accuracy with its standard error."""
    if row is None:
        return ""
    spread = "" if row.se is None else f" ± {row.se:.3f}"
    text = f"{1 - row.held_out_error:.3f}{spread}"
    return f"**{text}**" if row.held_out_error == least else text


def beside_members(rows: list[HedgeRow]) -> str:
    """Tabulate what Hedge loses to the best of its members."""
    within = sum(row.difference <= ASKED for row in rows)
    lines = [
        [
            title_of(row.dataset),
            "real" if row.size is None else str(row.size),
            f"{row.hedge:.3f}",
            f"{row.best:.3f}",
            f"{row.difference:+.3f}".replace("-", "−"),
            f"`{row.best_member}`",
        ]
        for row in rows
    ]
    heads = ["data set", "sets of", "Hedge", "best member", "difference", "which member"]
    return (
        f"What `Hedge` loses to the best of its members: at most {ASKED:g} on {within} of "
        f"{len(rows)} sets. Progressive errors over one pass of the training rows; the best member "
        f"is the one that the truth picks out afterwards.\n\n{table(heads, lines)}"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
