"""What the quoting tools share: the place for results in a page, tables in Markdown, a day."""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- end of results -->)", re.DOTALL)


def replace(page: str, text: str) -> None:
    """Put a text between the marks of a page."""
    path = ROOT / page
    page_text, n = BLOCK.subn(lambda _: text + "\n", path.read_text(encoding="utf-8"))
    if n != 1:
        sys.exit(f"{page} must have one place for results, not {n}")
    path.write_text(page_text, encoding="utf-8")


def table(heads: list[str], lines: list[list[str]]) -> str:
    """Write a table."""
    head, *rows = (f"| {' | '.join(cells)} |" for cells in (heads, *lines))
    return "\n".join([head, f"|{'---|' * len(heads)}", *rows]) + "\n"


def day(moment: str) -> str:
    """Write the day of a moment that is given in ISO 8601."""
    return f"{datetime.fromisoformat(moment):%-d %B %Y}"
