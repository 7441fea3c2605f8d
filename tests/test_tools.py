"""The tools run."""

import subprocess
import sys
from pathlib import Path

from oneof import Hedge, MaxPerceptron

TOOLS = Path(__file__).parent.parent / "tools"


def test_the_fuzzer_reports_what_it_read():
    command = [sys.executable, TOOLS / "fuzz.py", "--inputs", "500", "--first", "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("500 inputs, ")
    assert done.stdout.rstrip().endswith("no crash, none misread")


def test_a_comparison_is_quoted_from_its_folder(tmp_path, monkeypatch):
    """Every number of the page stands in the folder's tables; what is around the marks stays."""
    from oneof.experiments.compare import CompareRow
    from oneof.experiments.comparison import comparison
    from oneof.experiments.members import MemberRow, hedge_rows
    from oneof.experiments.problems import Plan
    from oneof.experiments.tables import read_csv

    monkeypatch.syspath_prepend(TOOLS)
    import quote_comparison
    import quoting

    few = {"max-perceptron": [MaxPerceptron()], "hedge": [Hedge(scale="standardize")]}
    for module in ("compare", "members"):
        monkeypatch.setattr(f"oneof.experiments.{module}.settings", lambda _scale: few)
    comparison(Plan(("digits",), passes=(1,), folds=3, seed=7), tmp_path, n_jobs=1)
    monkeypatch.setattr(quoting, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "which-learner.md"
    page.write_text("before\n<!-- results -->\nstale\n<!-- end of results -->\nafter\n")
    quote_comparison.main(tmp_path)
    text = page.read_text()
    assert text.startswith("before\n<!-- results -->\nRun on ")
    assert text.endswith("|\n\n<!-- end of results -->\nafter\n")
    assert "stale" not in text
    assert "with seed 7, 3 folds" in text
    assert "$ oneof compare --dataset digits --passes 1 --folds 3 --seed 7\n" in text
    rows = read_csv(tmp_path / "compare.csv", CompareRow)
    for size in (2, 4, 6, 8):
        best, other = sorted((r for r in rows if r.size == size), key=lambda r: r.held_out_error)
        assert f"| **{1 - best.held_out_error:.3f} ± {best.se:.3f}** |" in text
        assert f"| {1 - other.held_out_error:.3f} ± {other.se:.3f} |" in text
        assert f"Digits, sets of {size}, 1 pass" in text
    for row in hedge_rows(read_csv(tmp_path / "hedge.csv", MemberRow)):
        difference = f"{row.difference:+.3f}".replace("-", "−")
        numbers = f"{row.hedge:.3f} | {row.best:.3f} | {difference} | `{row.best_member}`"
        assert f"| Digits | {row.size} | {numbers} |" in text
    assert "| Digits | 4 | 0." in text
    assert "Real data" not in text  # nothing of it was run


def test_the_docs_have_a_place_for_each_quoted_page(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    import quoting

    for name in ("README.md", "docs/reproduction.md", "docs/which-learner.md"):
        page = (TOOLS.parent / name).read_text(encoding="utf-8")
        assert len(quoting.BLOCK.findall(page)) == 1, name
