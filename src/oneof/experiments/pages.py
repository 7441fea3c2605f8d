"""What every report page is made of: its frame, tables, cards, words; nothing of an experiment."""

from __future__ import annotations

from datetime import datetime
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from oneof.experiments import plots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TITLES = {"usps": "USPS", "usps-resampled": "USPS, resampled", "mnist": "MNIST"}
_TITLES |= {"birdsong": "BirdSong"}
_MARKS = {
    "o": '<circle cx="24" cy="6" r="4"/>',
    "^": '<path d="M24 1l5 9h-10z"/>',
    "s": '<path d="M20 2h8v8h-8z"/>',
    "D": '<path d="M24 1l5 5l-5 5l-5-5z"/>',
}
_DASHES = {"-": "", "--": ' stroke-dasharray="7 4"'}


def framed(title: str, parts: Iterable[str]) -> str:
    """Return one HTML page, which loads nothing from anywhere.

    Parameters
    ----------
    title : str
        What the browser calls it.
    parts : iterable of str
        The body, in HTML.
    """
    folder = files("oneof.experiments")
    css = (folder / "page.css").read_text(encoding="utf-8")
    template = Template((folder / "page.html").read_text(encoding="utf-8"))
    return template.substitute(css=css, title=escape(title), body="\n".join(parts))


def title_of(dataset: str) -> str:
    """Name a data set as a heading does.

    Examples
    --------
    >>> title_of("usps"), title_of("ecoli")
    ('USPS', 'Ecoli')
    """
    return _TITLES.get(dataset, dataset.capitalize())


def cards(facts: Iterable[tuple[str, str]]) -> str:
    """Show numbers, each with what it counts, side by side."""
    items = "".join(f"<li><b>{number}</b> {what}</li>" for number, what in facts)
    return f'<ul class="facts">{items}</ul>'


def table(heads: str, lines: Iterable[str]) -> str:
    """Return a table, which scrolls by itself where it is wider than the screen.

    Parameters
    ----------
    heads, lines
        The cells of the head, and of each line, in HTML.
    """
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    head = f"<thead><tr>{heads}</tr></thead>"
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def sample(color: str, marker: str, linestyle: str = "") -> str:
    """Draw a piece of a curve, or its mark alone, for a legend.

    Parameters
    ----------
    color, marker, linestyle : str
        As a figure of ours has them.
    """
    role, mark = plots.role_of(color), _MARKS.get(marker, "")
    line = f'<path d="M0 6h48" stroke-width="2"{_DASHES.get(linestyle, "")}/>' if linestyle else ""
    return (
        f'<svg viewBox="0 0 48 12" aria-hidden="true" fill="{role}" stroke="{role}">'
        f"{line}{mark}</svg>"
    )


def origin(facts: Mapping[str, str]) -> str:
    """Say how the results were made."""
    items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()
    )
    return f"<h2>How this was made</h2><dl>{items}</dl>"


def day(moment: str) -> str:
    """Write a moment, given in ISO 8601, as people do."""
    return f"{datetime.fromisoformat(moment):%-d %B %Y, %H:%M %Z}"


def listed(facts: Mapping[str, Any]) -> str:
    """Write names and values in one line."""
    return ", ".join(f"{name} {value}" for name, value in facts.items())
