"""The report of a comparison: one self-contained page; nothing is learnt or judged here."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oneof.experiments import compare_figures, plots
from oneof.experiments.compare_figures import LOOKS, sets_of, times
from oneof.experiments.members import ASKED, hedge_rows
from oneof.experiments.pages import cards, day, framed, listed, origin, sample, table, title_of
from oneof.experiments.rivals import label_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneof.experiments.compare import CompareRow
    from oneof.experiments.comparison import Comparison
    from oneof.experiments.members import MemberRow

_INTRODUCTION = """
<p>Every learner of <code>oneof</code> on data sets whose rows come with a set of candidate labels,
one of which is true: real sets, or the truth and others drawn at random. Each fold is held out
once; on the other folds every learner tries its settings and keeps the one with the fewest
<i>mistakes</i>: predictions outside the candidates. The truth is used to count errors, never to
choose.</p>"""

_BRIEF = """
<p>Errors in per cent on held-out rows, ± their standard error over the folds: the best learner of
each comparison, Hedge, which runs several learners and trusts each by its mistakes, and the better
of Vowpal Wabbit's two.</p>"""

_HEDGE = f"""
<p>Progressive errors in per cent, each prediction made before its row was learnt, over one pass of
the training rows, means over the folds. The best member is the one that the truth picks out
afterwards; Hedge should lose no more than {100 * ASKED:g} point to it (✓).</p>"""

_DETAILS = """
<p>Errors in per cent. <i>Held out</i>: ± the standard error over the folds; in grey the mistakes
that the setting was chosen by. <i>Progressive</i>: of the first pass, each prediction made before
its row was learnt. The best is bold.</p>"""


def page(found: Comparison, record: Mapping[str, Any]) -> str:
    """Return the whole report as one HTML page, which loads nothing from anywhere.

    Parameters
    ----------
    found : Comparison
    record : mapping
        The manifest of the comparison.
    """
    rows = found.summary()
    parts = (
        _head(found, rows, record),
        f"<h2>In brief</h2>{_BRIEF}{_brief(rows)}",
        _beside_members(found.members),
        _all_of_them(rows),
        _origin(record),
    )
    return framed("oneof: which learner?", parts)


def _head(found: Comparison, rows: Sequence[CompareRow], record: Mapping[str, Any]) -> str:
    facts = [
        (f"{len(dict.fromkeys(row.learner for row in rows))}", "learners"),
        (f"{len(found.problems)}", "data sets, each size of sets counted"),
        (f"{found.plan.folds}", "folds"),
        (f"{sum(record['seconds'].values()):.0f} s", "for all of it"),
    ]
    return (
        f'<h1>Which learner?</h1>{_INTRODUCTION}<p class="soft">Seed {found.plan.seed}, '
        f"{day(record['finished'])}</p>{cards(facts)}"
    )


def _brief(rows: Sequence[CompareRow]) -> str:
    lines = []
    for mine in _comparisons(rows):
        first, best = mine[0], _least(mine)
        hedge = _least(row for row in mine if row.learner == "hedge")
        rival = _least(row for row in mine if row.learner.startswith("vw-"))
        lines.append(
            f'<td>{_problem(first)}</td><td class="number">{first.passes}</td>'
            f"<td>{_name(best.learner) if best else ''}</td>{_error(best)}{_error(hedge)}"
            f"{_error(rival)}"
        )
    heads = ("best", "Hedge", "Vowpal Wabbit")
    return table(
        '<th>data set</th><th class="number">passes</th><th>best learner</th>'
        + "".join(f'<th class="number">{head}</th>' for head in heads),
        lines,
    )


def _beside_members(rows: Sequence[MemberRow]) -> str:
    lines = []
    for row in hedge_rows(rows):
        look, mark = ("good", "✓") if row.difference <= ASKED else ("bad", "✗")
        difference = f"{100 * row.difference:+.1f}".replace("-", "−")
        lines.append(
            f'<td>{_problem(row)}</td><td class="number">{100 * row.hedge:.1f}</td>'
            f'<td class="number">{100 * row.best:.1f}</td>'
            f'<td class="number {look}">{difference} {mark}</td>'
            f"<td>{escape(row.best_member)}</td>"
        )
    heads = "".join(f'<th class="number">{head}</th>' for head in ("Hedge", "best", "difference"))
    heads = f"<th>data set</th>{heads}<th>best member</th>"
    return f"<h2>Hedge and its members</h2>{_HEDGE}{table(heads, lines)}" if lines else ""


def _all_of_them(rows: Sequence[CompareRow]) -> str:
    passes = list(dict.fromkeys(row.passes for row in rows))
    legend = "".join(
        f"<li>{sample(*LOOKS[i % len(LOOKS)])}{times(n)}</li>" for i, n in enumerate(passes)
    )
    drawn = plots.is_available()
    shown = f'<ul class="legend">{legend}</ul>' if drawn else f"<p>{escape(plots.MISSING)}</p>"
    parts = [f"<h2>Every learner</h2>{_DETAILS}{shown}"]
    for dataset, group in groupby(rows, key=lambda row: row.dataset):
        mine = list(group)
        for place, size in enumerate(dict.fromkeys(row.size for row in mine)):
            title = f"{title_of(dataset)}, {sets_of(size)}"
            figure = ""
            if drawn:
                svg = plots.inline_svg(
                    compare_figures.held_out(mine, panel=place),
                    escape(f"held-out errors of every learner on {title}", quote=True),
                )
                figure = f"<figure>{svg}</figure>"
            found = [row for row in mine if row.size == size]
            parts.append(
                f'<h3>{escape(title)}</h3><div class="beside">{figure}{_learners(found)}</div>'
            )
            parts.append(_settings(found))
    return "".join(parts)


def _learners(rows: Sequence[CompareRow]) -> str:
    """Tabulate the errors of one problem, a learner in each line."""
    found = {(row.learner, row.passes): row for row in rows}
    passes = list(dict.fromkeys(row.passes for row in rows))
    first = [row for row in rows if row.passes == passes[0]]
    progressive = {row.learner: row.progressive_error for row in first}
    bests = [_least(row for row in rows if row.passes == n) for n in passes]
    lines = []
    for learner, error in progressive.items():
        kind = "number best" if error == min(progressive.values()) else "number"
        cells = "".join(
            _error(row, is_best=row is best, with_mistakes=True)
            for best, row in zip(bests, (found.get((learner, n)) for n in passes), strict=True)
        )
        progress = f'<td class="{kind}">{100 * error:.1f}</td>'
        lines.append(f"<td>{_name(learner)}</td>{cells}{progress}")
    names = (*(f"held out, {times(n)}" for n in passes), "progressive")
    heads = "".join(f'<th class="number">{name}</th>' for name in names)
    return table(f"<th>learner</th>{heads}", lines)


def _settings(rows: Sequence[CompareRow]) -> str:
    passes = list(dict.fromkeys(row.passes for row in rows))
    chosen = {(row.learner, row.passes): row.chosen or "defaults" for row in rows}
    lines = [
        f"<td>{_name(learner)}</td>"
        + "".join(f"<td>{escape(chosen[learner, n])}</td>" for n in passes)
        for learner in dict.fromkeys(row.learner for row in rows)
    ]
    heads = "<th>learner</th>" + "".join(f"<th>{times(n)}</th>" for n in passes)
    shown = table(heads, lines)
    return f"<details><summary>The settings chosen most often</summary>{shown}</details>"


def _origin(record: Mapping[str, Any]) -> str:
    plan = record["plan"]
    facts = {
        "command": record["command"],
        "settings": f"seed {plan['seed']}; {plan['folds']} folds; scale {plan['scale']}",
        **{
            f"data: {title_of(name)}": f"{data['rows']:,} rows, {data['features']:,} features; "
            f"from {data['source']}"
            for name, data in record["datasets"].items()
        },
        **{f"left out ({i})": why for i, why in enumerate(record["left_out"], 1)},
        "versions": listed(record["versions"]),
        "machine": listed(record["machine"]),
        "seconds": listed({k: f"{taken:.1f}" for k, taken in record["seconds"].items()}),
    }
    return origin(facts)


def _comparisons(rows: Sequence[CompareRow]) -> Iterator[list[CompareRow]]:
    """Group what can be compared: the same set and the same number of passes."""
    for _, group in groupby(rows, key=lambda row: row[:3]):
        yield list(group)


def _least(rows: Iterable[CompareRow]) -> CompareRow | None:
    return min(rows, key=lambda row: row.held_out_error, default=None)


def _problem(row: Any) -> str:
    return escape(title_of(row.dataset) + ("" if row.size is None else f", sets of {row.size}"))


def _name(learner: str) -> str:
    return escape(label_of(learner))


def _error(row: CompareRow | None, *, is_best: bool = False, with_mistakes: bool = False) -> str:
    if row is None:
        return "<td></td>"
    spread = "" if row.se is None else f' <span class="soft">± {100 * row.se:.1f}</span>'
    mistakes = f'<br><span class="soft">{100 * row.mistakes:.1f}</span>' if with_mistakes else ""
    kind = "number best" if is_best else "number"
    return f'<td class="{kind}">{100 * row.held_out_error:.1f}{spread}{mistakes}</td>'
