"""Imports go one way, and files stay short."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "oneof"

# Each module may import from those to its left, and from none to its right.
ORDER = [
    "_kernels", "labels", "packing", "candidates",
    "readers",
    "rules", "rows", "metrics", "model", "team",
    "online", "estimators", "logistic", "passive_aggressive", "soft", "hedge",
    "catalogue", "frames", "open_classifier", "persistence", "ambiguity", "datasets",
    "writers", "streaming",
    "theory", "experiments", "river", "cli", "__main__",
]  # fmt: skip
# Names that only part of the package may know.
SOLE = {"_kernels": {"packing", "readers", "rows", "model", "team"}}


def modules_of(path):
    """Give the package's modules that a file imports when it is loaded or run."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "oneof" and len(parts) > 1 and parts[1] in ORDER:
                yield parts[1]


def module_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    mine = module_of(path)
    for other in modules_of(path):
        assert ORDER.index(other) <= ORDER.index(mine), f"{mine} must not import {other}"
        if other != mine:
            assert mine in SOLE.get(other, {mine}), f"{mine} must not import {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_first_line_says_what_lives_there(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
