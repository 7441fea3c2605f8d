"""The report: one self-contained page of tables and figures; nothing is learnt or judged here."""

from __future__ import annotations

from html import escape
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oneof.experiments import plots
from oneof.experiments.claims import NOT_REPRODUCED, REPRODUCED, UNDECIDED, by_claim
from oneof.experiments.pages import cards, day, framed, listed, origin, sample, table, title_of
from oneof.experiments.run import count_rounds
from oneof.experiments.spec import EXACT
from oneof.experiments.tables import curve_rows, result_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneof.experiments.claims import ClaimRow
    from oneof.experiments.examples import Examples
    from oneof.experiments.reproduce import Outcome
    from oneof.experiments.tables import CurveRow, ResultRow
    from oneof.experiments.theorems import TheoremRow

_LOOKS = {REPRODUCED: "good", NOT_REPRODUCED: "bad", UNDECIDED: "open"}
_MARKS = {REPRODUCED: "✓", NOT_REPRODUCED: "✗", UNDECIDED: "?"}

_INTRODUCTION = """
<p>The experiments of Bhattacharjee and Manwani, <i>Online Algorithms for Multiclass Classification
using Partial Labels</i>, repeated with <code>oneof</code>; the paper's claims and theorems beside
what came out. Every row comes with a set of candidate labels, one of which is true. Four learners
see the sets, two see the true labels. An error is a prediction, made <em>before</em> its row was
learnt, that is not the true label.</p>"""

_RULE = """
<p>A claim consists of comparisons of two learners, A − B, that saw the same rows and the same
candidates in every run. d is the mean over runs of the difference of their error rates, here in
points (hundredths), with its 95 % interval. <i>Better</i> asks for d &lt; 0, <i>worse</i> for
d &gt; 0, <i>much better</i> for d below −2 points, <i>comparable</i> for d within ±2 points. A
comparison is reproduced (✓) if its whole interval lies where the claim asks, not reproduced (✗) if
none of it does, undecided (?) otherwise; a claim needs all its comparisons. “The avg learners do
better” is asked of each rule by itself, and “the best” is compared with each of the other three
learners of candidate sets.</p>"""

_CURVES = """
<p>The share of the rounds so far that were predicted wrongly, averaged over the runs. Bands are
95 % intervals of that average, often thinner than the lines.</p>"""

_FINAL = """
<p>Errors in per cent of all rounds, ± their standard error over the runs; in grey the mistakes:
predictions outside the candidates, which needs no truth to count. The best learner of candidate
sets is bold.</p>"""

_ALPHAS = """
<p>λ has the lowest rate of mistakes over tuning runs of their own. † marks the smallest or the
largest λ that was tried. Where λ is so large that every round has a loss, it only scales W: all
such λ predict alike, up to rounding.</p>"""

_THEOREMS = {
    1: "<b>Theorem 1.</b> Updates of Avg Perceptron on streams that some weights separate with "
    "margin γ, repeated until nothing changes. Hollow: mistakes, which the theorem is about.",
    2: "<b>Theorem 2.</b> The same with noise: a share of the rounds lies on the wrong side of "
    "the weights. The bound is the tight form; the paper's own is looser.",
    3: "<b>Theorem 3.</b> Average regret of Avg Pegasos. The theorem asks that W shrinks in every "
    "round (always); the paper's boxed algorithm shrinks it only at a loss (on-loss).",
}
_BROKEN = {
    True: "Nothing measured lies above a bound that covers it.",
    False: "<b>A bound that covers it was exceeded: please report this.</b>",
}


def page(outcome: Outcome, record: Mapping[str, Any]) -> str:
    """Return the whole report as one HTML page, which loads nothing from anywhere.

    Parameters
    ----------
    outcome : Outcome
        What was found.
    record : mapping
        The manifest of the run.
    """
    results, curves = result_rows(outcome.results), curve_rows(outcome.results)
    body = (
        _head(outcome, record),
        _claims(outcome.claims),
        _curves(outcome.examples, curves),
        _final_errors(results),
        _alphas(results, outcome.results.spec.alphas),
        _theorems(outcome.theorems),
        _origin(outcome, record),
    )
    return framed("oneof: the paper, run again", body)


def _head(outcome: Outcome, record: Mapping[str, Any]) -> str:
    spec = outcome.results.spec
    verdicts = [rows[0].claim_verdict for rows in by_claim(outcome.claims)]
    claims = [
        (f"{verdicts.count(REPRODUCED)} of {len(verdicts)}", "claims reproduced"),
        (f"{verdicts.count(NOT_REPRODUCED)}", "not reproduced"),
        (f"{verdicts.count(UNDECIDED)}", "undecided"),
    ]
    work = [
        (f"{spec.runs:,}", "runs of each learner"),
        (f"{count_rounds(spec, outcome.examples) / 1e6:,.1f} M", "rounds learnt"),
        (f"{sum(record['seconds'].values()):.0f} s", "for all of it"),
    ]
    facts = [*(claims if verdicts else ()), *work]
    return (
        f"<h1>The paper, run again</h1>{_INTRODUCTION}"
        f'<p class="soft">Protocol <b>{escape(spec.name)}</b>, seed {spec.seed}, '
        f"{day(record['finished'])}</p>{cards(facts)}"
    )


def _claims(claims: Sequence[ClaimRow]) -> str:
    if not claims:
        return ""
    found = []
    for rows in by_claim(claims):
        first = rows[0]
        lines = "".join(
            f'<tr><td class="{_LOOKS[row.verdict]}">{_MARKS[row.verdict]}</td>'
            f"<td>{_name(row.learner_a)} − {_name(row.learner_b)}</td>"
            f'<td class="number">{_difference(row)}</td></tr>'
            for row in rows
        )
        found.append(
            f'<div class="claim {_LOOKS[first.claim_verdict]}"><p><b>{title_of(first.dataset)}, '
            f"sets of {first.size}:</b> {escape(first.text)} "
            f'<span class="soft whole">({_condition(first)})</span></p>'
            f'<p class="verdict">{first.claim_verdict}</p><table>{lines}</table></div>'
        )
    return f'<h2>The claims</h2>{_RULE}<div class="claims">{"".join(found)}</div>'


def _curves(examples: Sequence[Examples], curves: Sequence[CurveRow]) -> str:
    if not plots.is_available():
        return f"<h2>Errors over the rounds</h2><p>{escape(plots.MISSING)}</p>"
    learners = _learners(curves)
    legend = "".join(f"<li>{_sample(name)}{_name(name)}</li>" for name in learners)
    parts = [f'<h2>Errors over the rounds</h2>{_CURVES}<ul class="legend">{legend}</ul>']
    for e in examples:
        rows = [row for row in curves if row.dataset == e.name]
        panels = [
            plots.inline_svg(
                plots.curves(rows, panel=size),
                f"error rates on {title_of(e.name)} with candidate sets of {size}",
            )
            for size in plots.sizes_of(rows)
        ]
        figures = "".join(f"<figure>{panel}</figure>" for panel in panels)
        kind = "panels pairs" if len(panels) in (2, 4) else "panels"
        parts.append(f'<h3>{title_of(e.name)}</h3><div class="{kind}">{figures}</div>')
    return "".join(parts)


def _final_errors(results: Sequence[ResultRow]) -> str:
    return f"<h2>Final errors</h2>{_FINAL}{_by_size(results, _learners(results), _error)}"


def _alphas(results: Sequence[ResultRow], tried: Sequence[float]) -> str:
    learners = _learners([row for row in results if row.alpha is not None])
    if len(tried) == 1 or not learners:
        return ""

    def alpha(row: ResultRow, _: bool) -> str:
        edge = " †" if row.alpha in (min(tried), max(tried)) else ""
        return f'<td class="number">{row.alpha:g}{edge}</td>'

    return f"<h2>The λ chosen</h2>{_ALPHAS}{_by_size(results, learners, alpha)}"


def _by_size(
    results: Sequence[ResultRow], learners: Sequence[str], cell: Callable[[ResultRow, bool], str]
) -> str:
    """Tabulate one cell for each learner; what exact labels give stands beside every size."""
    lines = []
    for dataset, group in groupby(results, key=attrgetter("dataset")):
        rows = list(group)
        exact = {row.learner: row for row in rows if row.learner in EXACT}
        for size in plots.sizes_of(rows):
            own = {r.learner: r for r in rows if r.size == size and r.learner not in EXACT}
            best = min(own.values(), key=attrgetter("error"), default=None)
            found = [{**exact, **own}.get(name) for name in learners]
            cells = "".join(cell(row, row is best) if row else "<td></td>" for row in found)
            name = f'<td class="whole">{title_of(dataset)}</td>'
            lines.append(f'{name}<td class="number">{size}</td>{cells}')
    heads = "".join(f'<th class="number">{name}</th>' for name in ("size", *map(_name, learners)))
    return table(f"<th>data set</th>{heads}", lines)


def _error(row: ResultRow, is_best: bool) -> str:
    spread = (
        "" if row.error_se is None else f' <span class="soft">± {100 * row.error_se:.1f}</span>'
    )
    mistakes = f'<br><span class="soft">{100 * row.mistakes:.1f}</span>'
    kind = "number best" if is_best else "number"
    return f'<td class="{kind}">{100 * row.error:.1f}{spread}{mistakes}</td>'


def _theorems(rows: Sequence[TheoremRow]) -> str:
    figures = []
    for number, text in _THEOREMS.items():
        drawn = ""
        if plots.is_available():
            label = f"what was measured beside the bound of Theorem {number}"
            drawn = plots.inline_svg(plots.theorem(rows, number), label)
        share = max(
            row.measured / row.bound for row in rows if row.theorem == number and row.covered
        )
        figures.append(
            f"<figure>{drawn}<figcaption>{text} At most {100 * share:.0f} % of the bound is "
            "reached.</figcaption></figure>"
        )
    uncovered = [row for row in rows if not row.covered and row.measured > row.bound]
    beyond = (
        f"On-loss, which no theorem covers, exceeds the bound of Theorem 3 at T = "
        f"{min(row.x for row in uncovered):,.0f}."
        if uncovered
        else ""
    )
    holds = _BROKEN[all(row.measured <= row.bound for row in rows if row.covered)]
    return (
        f"<h2>The theorems</h2><p>Streams of known margin and noise; each point is the worst of "
        f'several. {holds} {beyond}</p><div class="panels">{"".join(figures)}</div>'
    )


def _origin(outcome: Outcome, record: Mapping[str, Any]) -> str:
    spec = outcome.results.spec
    features = "standardised" if spec.standardise else "as they are distributed"
    chosen = (
        f"λ = {spec.alphas[0]:g}"
        if len(spec.alphas) == 1
        else f"λ chosen from {len(spec.alphas)} in {spec.tuning_runs} other runs"
    )
    intercept = "with an intercept" if spec.fit_intercept else "without an intercept"
    facts = {
        "protocol": f"{spec.name}: features {features}, {intercept}; η = {spec.eta0:g}; seed "
        f"{spec.seed}; {spec.runs} runs; {chosen}",
        **{f"data: {title_of(e.name)}": _facts(e) for e in outcome.examples},
        **{f"left out: {title_of(name)}": why for name, why in outcome.skipped.items()},
        "versions": listed(record["versions"]),
        "machine": listed(record["machine"]),
        "seconds": listed({k: f"{taken:.1f}" for k, taken in record["seconds"].items()}),
        "again": "oneof reproduce --protocol manifest.json gives the same CSV files, byte for byte",
    }
    return origin(facts)


def _condition(row: ClaimRow) -> str:
    """Write what a claim asks for in points, as the page does."""
    return escape(row.condition.replace("0.02", "2 points").replace("-", "−"))


def _facts(e: Examples) -> str:
    stands_in = f", standing in for {title_of(e.instead_of)}" if e.instead_of else ""
    return (
        f"{len(e.y):,} rows, {e.X.shape[1]:,} features, {e.n_classes} classes, "
        f"{e.rounds:,} rounds a run; from {e.source}; licence: {e.licence}{stands_in}"
    )


def _learners(rows: Sequence[CurveRow] | Sequence[ResultRow]) -> list[str]:
    """List the learners, those of exact labels last."""
    return sorted(dict.fromkeys(row.learner for row in rows), key=lambda name: name in EXACT)


def _name(learner: str) -> str:
    style = plots.LEARNERS.get(learner)
    return escape(style.label if style else learner)


def _sample(learner: str) -> str:
    """Draw a piece of the learner's line, as the legend shows it."""
    style = plots.style_of(learner)
    return sample(style.color, style.marker, style.linestyle)


def _difference(row: ClaimRow) -> str:
    text = f"{100 * row.difference:+.1f}"
    if row.low is not None and row.high is not None:
        text += f" [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
    return text.replace("-", "−")
