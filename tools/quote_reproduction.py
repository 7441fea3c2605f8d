"""Quotes a run of `oneof reproduce` in README and docs/reproduction.md: its claims and a figure.

Usage: python tools/quote_reproduction.py FOLDER
Replaces what stands between the marks ``<!-- results -->`` and ``<!-- end of results -->``.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime
from pathlib import Path

from oneof.experiments import plots
from oneof.experiments.claims import REPRODUCED, ClaimRow, by_claim
from oneof.experiments.report import title_of
from oneof.experiments.tables import CurveRow, ResultRow, read_csv

ROOT = Path(__file__).parent.parent
FIGURE, DRAWN = "docs/reproduction.png", "mnist"
BLOCK = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- end of results -->)", re.DOTALL)


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


def replace(page: str, text: str) -> None:
    """Put a text between the marks of a page."""
    path = ROOT / page
    page_text, n = BLOCK.subn(lambda _: text + "\n", path.read_text(encoding="utf-8"))
    if n != 1:
        sys.exit(f"{page} must have one place for results, not {n}")
    path.write_text(page_text, encoding="utf-8")


def summary(claims: list[ClaimRow], record: dict) -> str:
    """Count the verdicts, with the day and the seed."""
    verdicts = [rows[0].claim_verdict for rows in by_claim(claims)]
    day = datetime.fromisoformat(record["finished"])
    spec = record["spec"]
    return (
        f"On {day:%-d %B %Y}, with seed {spec['seed']} and {spec['runs']} runs, "
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
    lines = ["| data set | sets of | the paper says | verdict |", "|---|---|---|---|"]
    for first, *_ in by_claim(claims):
        cells = (title_of(first.dataset), first.size, first.text, verdict(first.claim_verdict))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def long_table(claims: list[ClaimRow]) -> str:
    """Tabulate the verdicts and what they rest on."""
    lines = [
        "| data set | sets of | the paper says | A − B | d in points, 95 % interval | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for rows in by_claim(claims):
        first = rows[0]
        pairs = "<br>".join(f"{row.learner_a} − {row.learner_b}" for row in rows)
        ds = "<br>".join(
            f"{100 * r.difference:+.1f} [{100 * r.low:+.1f}, {100 * r.high:+.1f}]" for r in rows
        ).replace("-", "−")
        cells = (title_of(first.dataset), first.size, first.text, pairs, ds)
        lines.append(f"| {' | '.join(map(str, cells))} | {verdict(first.claim_verdict)} |")
    return "\n".join(lines) + "\n"


def errors(results: list[ResultRow]) -> str:
    """Tabulate the final errors."""
    learners = list(dict.fromkeys(row.learner for row in results))
    cells = {(row.dataset, row.size, row.learner): row for row in results}
    lines = [
        "Final error rates in per cent:\n",
        f"| data set | sets of | {' | '.join(learners)} |",
        "|" + "---|" * (len(learners) + 2),
    ]
    for dataset, size in dict.fromkeys((r.dataset, r.size) for r in results if r.size > 1):
        found = [cells.get((dataset, size, name)) or cells[dataset, 1, name] for name in learners]
        numbers = " | ".join(f"{100 * row.error:.1f}" for row in found)
        lines.append(f"| {title_of(dataset)} | {size} | {numbers} |")
    return "\n".join(lines) + "\n"


def verdict(words: str) -> str:
    """Make what was reproduced stand out."""
    return f"**{words}**" if words == REPRODUCED else words


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
