"""Figures of tidy tables, for print and screen; nothing is learnt or judged here."""

from __future__ import annotations

import io
import re
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.experiments.spec import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from oneof.experiments.tables import CurveRow, ResultRow
    from oneof.experiments.theorems import TheoremRow

# Okabe and Ito's colours, which every kind of colour blindness tells apart; markers and lines tell
# the same in black and white.
BLUE, VERMILLION, GREEN, ORANGE = "#0072b2", "#d55e00", "#009e73", "#e69f00"
INK = "#2b2b2b"


@dataclass(frozen=True)
class Style:
    """How a learner or a setting looks in every figure: its name, and what Line2D takes."""

    label: str
    color: str
    linestyle: str
    marker: str


# The loss is told by colour and marker, the rule by the line.
LEARNERS = {
    "avg-perceptron": Style("Avg Perceptron", BLUE, "--", "o"),
    "avg-pegasos": Style("Avg Pegasos", BLUE, "-", "o"),
    "max-perceptron": Style("Max Perceptron", VERMILLION, "--", "^"),
    "max-pegasos": Style("Max Pegasos", VERMILLION, "-", "^"),
    "perceptron-exact": Style("Perceptron, exact labels", INK, "--", ""),
    "pegasos-exact": Style("Pegasos, exact labels", INK, "-", ""),
}
_LOOKS = ((BLUE, "o"), (VERMILLION, "^"), (GREEN, "s"), (ORANGE, "D"))

MISSING = "The figures need matplotlib: pip install 'oneof[plots]'"

_RC: dict[str, Any] = {
    "svg.hashsalt": "oneof",  # the same figure is the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
}
_INTERVAL = 1.96  # standard errors to each side: 95 %
_START = 0.02  # of all rounds: what comes before is steep, and would flatten the rest
_N_MARKERS = 7


def is_available() -> bool:
    """Tell whether figures can be drawn: matplotlib is an extra."""
    return find_spec("matplotlib") is not None


def style_of(learner: str, place: int = 0) -> Style:
    """Return a learner's look; learners that the paper does not know get one by their place."""
    color, marker = _LOOKS[place % len(_LOOKS)]
    return LEARNERS.get(learner) or Style(learner, color, "-.", marker)


def role_of(color: str) -> str:
    """Return what a page calls a colour of ours, which its style may lighten."""
    return f"var(--{_ROLES[color]})"


def sizes_of(rows: Sequence[CurveRow] | Sequence[ResultRow]) -> list[int]:
    """List the sizes of candidate sets, one panel each; without any, the panel of exact labels."""
    return sorted({row.size for row in rows if row.learner not in EXACT}) or [1]


def curves(rows: Sequence[CurveRow], *, panel: int | None = None) -> Figure:
    """Draw one data set's error rates over the rounds: a panel for each size of candidate sets.

    Parameters
    ----------
    rows : sequence of CurveRow
        Of one data set; the curves of exact labels are drawn in every panel.
    panel : int, optional
        Draw the panel of this size alone, without a legend, on the scale that all panels share.
    """
    sizes = sizes_of(rows) if panel is None else [panel]
    n_columns = 2 if len(sizes) == 4 else len(sizes)
    n_rows = -(-len(sizes) // n_columns)
    with drawing() as figure:
        figure.set_size_inches(3.6 * n_columns, 2.6 * n_rows + 0.7 * (panel is None))
        axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for size, ax in zip(sizes, axes.flat, strict=True):
            mine = [row for row in rows if row.size == size or row.learner in EXACT]
            for place, (learner, points) in enumerate(_grouped(mine, "learner")):
                _curve(ax, learner, points, place)
            ax.set_title("exact labels" if size == 1 else f"candidate sets of {size}")
        T = max(row.round for row in rows)
        top = max(row.error for row in rows if row.round >= _START * T)
        axes[0, 0].set(xlim=(0, T), ylim=(0, min(1.0, 1.05 * top)))
        axes[0, 0].xaxis.set_major_formatter("{x:,.0f}")
        axes[0, 0].locator_params(axis="x", nbins=3)
        for ax in axes[-1]:
            ax.set_xlabel("rounds")
        for ax in axes[:, 0]:
            ax.set_ylabel("error rate so far")
        if panel is None:
            handles, labels = axes[0, 0].get_legend_handles_labels()
            n = 3 if n_columns > 1 else 2
            figure.legend(handles, labels, loc="outside lower center", ncols=n, handlelength=3)
    return figure


def theorem(rows: Sequence[TheoremRow], number: int) -> Figure:
    """Draw what was measured beside a theorem's bound, one colour for each setting.

    Parameters
    ----------
    rows : sequence of TheoremRow
    number : {1, 2, 3}
        The theorem.
    """
    mine = [row for row in rows if row.theorem == number]
    with drawing() as figure:
        figure.set_size_inches(3.6, 2.9)
        ax = figure.subplots()
        settings = _grouped(mine, "setting")
        for (color, marker), (setting, points) in zip(_LOOKS, settings, strict=False):
            xs = [row.x for row in points]
            look: dict[str, Any] = {"color": color, "marker": marker, "linewidth": 1}
            bound_color = INK if number == 3 else color  # there, all settings have the same
            ax.plot(xs, [row.bound for row in points], color=bound_color, linewidth=1)
            ax.plot(xs, [row.measured for row in points], ls=":", label=setting, **look)
            mistakes = [row.mistakes or None for row in points]  # none at all has no place on a log
            if any(mistakes):
                ax.plot(xs, np.array(mistakes, float), ls="", markerfacecolor="none", **look)
        ax.set_yscale("log")
        label, scale = _ABSCISSAE[number]
        ax.set_xscale(scale)
        ax.set_xlabel(label)
        ax.set_ylabel("average regret" if number == 3 else "updates")
        ax.legend(title="lines: the bound", fontsize=8, title_fontsize=8)
    return figure


def png(figure: Figure, dpi: int = 160) -> bytes:
    """Return a figure as PNG, for slides and documents."""
    return _saved(figure, format="png", dpi=dpi, facecolor="white")


def svg(figure: Figure) -> bytes:
    """Return a figure as SVG, for print."""
    return _saved(figure, format="svg", metadata={"Date": None}, facecolor="white")


def inline_svg(figure: Figure, label: str) -> str:
    """Return a figure as an SVG element for a page, whose style gives it its colours.

    Parameters
    ----------
    figure : Figure
    label : str
        What the figure shows, in words, for those who cannot see it.
    """
    text = _saved(figure, format="svg", metadata={"Date": None}, transparent=True).decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z]+\d*_\d+"', "", text)  # names of parts, the same in every figure
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)  # a hundredth of a point is enough
    for color in _ROLES:
        text = text.replace(color, role_of(color))
    opening = f'<svg role="img" aria-label="{label}"'
    return re.sub(r'<svg[^>]*?(viewBox="[^"]*")[^>]*>', rf"{opening} \1>", text, count=1)


_ROLES = {BLUE: "blue", VERMILLION: "vermillion", GREEN: "green", ORANGE: "orange", INK: "ink"}
_ABSCISSAE = {
    1: ("margin γ", "log"),
    2: ("share of noisy rounds", "linear"),
    3: ("rounds T", "log"),
}


def _curve(ax: Axes, learner: str, points: Sequence[CurveRow], place: int) -> None:
    style = style_of(learner, place)
    xs, ys = [row.round for row in points], [row.error for row in points]
    at = (np.arange(_N_MARKERS) + (place % 4 + 1) / 5) * xs[-1] / _N_MARKERS
    ax.plot(xs, ys, **vars(style), markevery=np.searchsorted(xs, at).tolist())
    errors = [_INTERVAL * (row.error_se or 0.0) for row in points]
    low = [y - e for y, e in zip(ys, errors, strict=True)]
    high = [y + e for y, e in zip(ys, errors, strict=True)]
    ax.fill_between(xs, low, high, color=style.color, alpha=0.2, linewidth=0)


def _grouped(rows: Sequence[Any], field: str) -> Iterator[tuple[str, list[Any]]]:
    """Group neighbours by a field."""
    for name, group in groupby(rows, key=lambda row: str(getattr(row, field))):
        yield name, list(group)


@contextmanager
def drawing() -> Iterator[Figure]:
    """Give an empty figure with our settings."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with _look():
        yield Figure(layout=ConstrainedLayoutEngine(wspace=0.08))


def _saved(figure: Figure, **options: Any) -> bytes:
    stream = io.BytesIO()
    with _look():
        figure.savefig(stream, **options)
    return stream.getvalue()


def _look() -> AbstractContextManager[None]:
    """Make settings ours for a while, whatever the user's are: figures are the same everywhere."""
    import matplotlib

    settings: Any = {**matplotlib.rcParamsDefault, **_RC}
    return matplotlib.rc_context(settings)
