"""The examples of README and docs run as they are written, and print the text shown after them."""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page):
    """Each Python block of a page, with the text that should come out of it (None: not shown)."""
    blocks = list(FENCE.finditer(page.read_text()))
    for block, following in pairwise([*blocks, None]):
        if block[1] != "python":
            continue
        is_output = following and not following[1]
        between = page.read_text()[block.end() : following.start()] if is_output else ""
        yield block[2], following[2] if is_output and not between.strip() else None


WITH_EXAMPLES = [page for page in PAGES if any(examples(page))]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for code, expected in examples(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if expected is not None:
            assert printed.getvalue() == expected, code


def test_the_readme_has_examples():
    assert ROOT / "README.md" in WITH_EXAMPLES
    assert any(expected for _, expected in examples(ROOT / "README.md"))
