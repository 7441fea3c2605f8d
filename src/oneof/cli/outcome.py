"""What `oneof reproduce` and `oneof compare` print when they are done; no logic."""

from __future__ import annotations

from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from oneof.experiments import plots
from oneof.experiments.claims import by_claim
from oneof.experiments.compare_figures import sets_of, times
from oneof.experiments.rivals import label_of

if TYPE_CHECKING:
    from pathlib import Path

    from oneof.experiments.claims import ClaimRow
    from oneof.experiments.compare import CompareRow
    from oneof.experiments.comparison import Comparison
    from oneof.experiments.reproduce import Outcome

_STYLES = {"reproduced": "green", "not reproduced": "red", "undecided": "yellow"}
_MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}


def show(outcome: Outcome, out: Path, seconds: float) -> None:
    """Print what was left out, the claims, and where the report is."""
    console = Console(markup=False, highlight=False)
    for reason in outcome.skipped.values():
        console.print(f"Left out: {reason}", style="yellow")
    if outcome.claims:
        console.print("What the paper claims, and what these runs say", style="bold")
        console.print(
            "d is the difference of two learners' error rates, A − B, with its 95 % interval over "
            "runs, here in points.\n"
        )
        console.print(_claims_table(outcome.claims))
    ran = ", ".join(e.name for e in outcome.examples)
    console.print(f"{ran}: {outcome.results.spec.runs} runs in {seconds:.0f} s")
    if not plots.is_available():
        console.print(plots.MISSING, style="yellow")
    console.print(f"The report is in {out / 'report.html'}", style="bold", soft_wrap=True)


def show_comparison(found: Comparison, out: Path, seconds: float) -> None:
    """Print what was left out, every learner on every set, and where the report is."""
    console = Console(markup=False, highlight=False)
    for reason in found.left_out:
        console.print(f"Left out: {reason}", style="yellow")
    for (name, size, passes), group in groupby(found.summary(), key=lambda row: row[:3]):
        console.print(f"{name}, {sets_of(size)}, {times(passes)}", style="bold")
        console.print(_learners_table(sorted(group, key=lambda row: row.held_out_error)))
    names = ", ".join(dict.fromkeys(p.name for p in found.problems))
    console.print(f"{names}: {found.plan.folds} folds in {seconds:.0f} s", soft_wrap=True)
    if not plots.is_available():
        console.print(plots.MISSING, style="yellow")
    console.print(f"The report is in {out / 'report.html'}", style="bold", soft_wrap=True)


def _learners_table(rows: list[CompareRow]) -> Table:
    """Tabulate the learners, the best first."""
    table = Table(box=None, padding=(0, 2))
    for name in ("learner", "held-out error", "mistakes", "progressive error"):
        table.add_column(name, justify="left" if name == "learner" else "right")
    for row in rows:
        se = "" if row.se is None else f" ± {row.se:.3f}"
        errors = (f"{row.mistakes:.3f}", f"{row.progressive_error:.3f}")
        table.add_row(label_of(row.learner), f"{row.held_out_error:.3f}{se}", *errors)
    return table


def _claims_table(rows: list[ClaimRow]) -> Table:
    """Tabulate the claims: the verdict, and what it rests on."""
    table = Table.grid(padding=(0, 2))
    for comparisons in by_claim(rows):
        first = comparisons[0]
        title = f"{first.dataset}, sets of {first.size}: {first.text}"
        table.add_row(
            Text(first.claim_verdict, style=_STYLES[first.claim_verdict]), Text(title, style="bold")
        )
        for row, asked in zip_longest(comparisons, [first.condition]):
            pair = f"{row.learner_a} − {row.learner_b}"
            table.add_row(asked or "", f"{_MARKS[row.verdict]} {pair:<33} {_estimate(row)}")
        table.add_row()
    return table


def _estimate(row: ClaimRow) -> str:
    points = f"{100 * row.difference:+6.1f}"
    if row.low is None or row.high is None:
        return points
    return f"{points} [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
