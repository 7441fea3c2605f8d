"""Figures of a comparison: held-out errors of every learner; nothing is learnt or judged here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneof.experiments import plots
from oneof.experiments.rivals import label_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from oneof.experiments.compare import CompareRow

# Passes are told by colour and marker.
LOOKS = ((plots.BLUE, "o"), (plots.VERMILLION, "^"), (plots.GREEN, "s"), (plots.ORANGE, "D"))
_FAR = 3.0  # times the best error: what lies beyond says only that it is far


def held_out(rows: Sequence[CompareRow], *, panel: int | None = None) -> Figure:
    """Draw one data set's held-out errors with their standard errors, a panel for each size.

    Parameters
    ----------
    rows : sequence of CompareRow
        Of one data set.
    panel : int, optional
        Draw only the panel of this place, without title and legend.
    """
    sizes = list(dict.fromkeys(row.size for row in rows))
    sizes = sizes if panel is None else sizes[panel : panel + 1]
    with plots.drawing() as figure:
        height = 0.8 + 0.19 * len(dict.fromkeys(row.learner for row in rows))
        figure.set_size_inches(1.6 + 2.2 * len(sizes), height + 0.4 * (panel is None))
        axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)
        for size, ax in zip(sizes, axes.flat, strict=True):
            _panel(ax, [row for row in rows if row.size == size])
            ax.set_title(sets_of(size) if panel is None else "")
        if panel is None:
            handles, labels = axes[0, 0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def sets_of(size: int | None) -> str:
    """Name the candidate sets of a problem."""
    return "real candidate sets" if size is None else f"candidate sets of {size}"


def times(passes: int) -> str:
    """Name a number of passes."""
    return "1 pass" if passes == 1 else f"{passes} passes"


def _panel(ax: Axes, rows: Sequence[CompareRow]) -> None:
    learners = list(dict.fromkeys(row.learner for row in rows))
    best, worst = (f(row.held_out_error + (row.se or 0.0) for row in rows) for f in (min, max))
    edge = min(max(_FAR * best, best + 0.05), worst + 0.1 * (worst - best) + 0.01)
    all_passes = list(dict.fromkeys(row.passes for row in rows))
    for place, passes in enumerate(all_passes):
        color, marker = LOOKS[place % len(LOOKS)]
        mine = [row for row in rows if row.passes == passes]
        ys = [learners.index(row.learner) for row in mine]
        look: dict[str, Any] = {"color": color, "marker": marker, "linestyle": ""}
        xs, spread = [row.held_out_error for row in mine], [row.se or 0.0 for row in mine]
        ax.errorbar(xs, ys, xerr=spread, elinewidth=1, label=times(passes), **look)
        above = 0.45 * (place - (len(all_passes) - 1) / 2)
        for y, x in zip(ys, xs, strict=True):
            if x > edge:
                at = (edge, y + above)
                ax.annotate(f"{x:.2f} →", at, color=color, ha="right", va="center", size=6)
    left, _ = ax.get_xlim()
    ax.set_xlim(max(0.0, min(left, best - 0.03 * edge)), edge)
    ax.set_ylim(len(learners) - 0.5, -0.5)
    ax.set_yticks(range(len(learners)), [label_of(name) for name in learners], fontsize=8)
    ax.set_xlabel("held-out error")
