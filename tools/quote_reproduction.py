"""Quotes a run of `oneof reproduce` in README and docs/reproduction.md: its claims and a figure.

Usage: python tools/quote_reproduction.py FOLDER
Replaces what stands between the marks ``<!-- results -->`` and ``<!-- end of results -->``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from quoting import ROOT, day, replace, table

from oneof.experiments import plots
from oneof.experiments.claims import REPRODUCED, ClaimRow, by_claim
from oneof.experiments.pages import title_of
from oneof.experiments.tables import CurveRow, ResultRow, read_csv

FIGURE, DRAWN = "docs/reproduction.png", "mnist"


def main(folder: Path) -> None:
    """Draw the figure, and put the results in both pages."""
    claims = read_csv(folder / "claims.csv", ClaimRow)
    record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    curves = [r for r in read_csv(folder / "curves.csv", CurveRow) if r.dataset == DRAWN]
    (ROOT / FIGURE).write_bytes(plots.png(plots.curves(curves), dpi=100))
    results = read_csv(folder / "results.csv", ResultRow)
    replace("README.md", f"{summary(claims, record)}\n{figure(FIGURE)}\n{short_table(claims)}")
    name = FIGURE.removeprefix("docs/")
    text = f"{summary(claims, record)}\n{figure(name)}\n{long_table(claims)}\n{errors(results)}"
    replace("docs/reproduction.md", text)


def summary(claims: list[ClaimRow], record: dict) -> str:
    """Count the verdicts, with the day and the seed."""
    verdicts = [rows[0].claim_verdict for rows in by_claim(claims)]
    spec = record["spec"]
    return (
        f"On {day(record['finished'])}, with seed {spec['seed']} and {spec['runs']} runs, "
        f"{verdicts.count(REPRODUCED)} of {len(verdicts)} claims were reproduced, "
        f"{verdicts.count('not reproduced')} were not, {verdicts.count('undecided')} stayed "
        "undecided.\n"
    )


def figure(path: str) -> str:
    """Show the figure."""
    return (
        f"![Error rates over the rounds on {title_of(DRAWN)}, for candidate sets of four "
        f"sizes]({path})\n"
    )


def short_table(claims: list[ClaimRow]) -> str:
    """Tabulate the verdicts."""
    heads = ["data set", "sets of", "the paper says", "verdict"]
    return table(heads, [[*named(r), verdict(r.claim_verdict)] for r, *_ in by_claim(claims)])


def long_table(claims: list[ClaimRow]) -> str:
    """Tabulate the verdicts and what they rest on."""
    heads = ["data set", "sets of", "the paper says", "A − B"]
    lines = []
    for rows in by_claim(claims):
        pairs = "<br>".join(f"{row.learner_a} − {row.learner_b}" for row in rows)
        ds = "<br>".join(
            f"{100 * r.difference:+.1f} [{100 * r.low:+.1f}, {100 * r.high:+.1f}]" for r in rows
        ).replace("-", "−")
        lines.append([*named(rows[0]), pairs, ds, verdict(rows[0].claim_verdict)])
    return table([*heads, "d in points, 95 % interval", "verdict"], lines)


def errors(results: list[ResultRow]) -> str:
    """Tabulate the final errors."""
    learners = list(dict.fromkeys(row.learner for row in results))
    cells = {(row.dataset, row.size, row.learner): row for row in results}
    lines = []
    for dataset, size in dict.fromkeys((r.dataset, r.size) for r in results if r.size > 1):
        found = [cells.get((dataset, size, name)) or cells[dataset, 1, name] for name in learners]
        numbers = [f"{100 * row.error:.1f}" for row in found]
        lines.append([title_of(dataset), str(size), *numbers])
    return "Final error rates in per cent:\n\n" + table(["data set", "sets of", *learners], lines)


def named(row: ClaimRow) -> list[str]:
    """Name a claim."""
    return [title_of(row.dataset), str(row.size), row.text]


def verdict(words: str) -> str:
    """Make what was reproduced stand out."""
    return f"**{words}**" if words == REPRODUCED else words


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
