"""`oneof reproduce` from end to end on bundled data: files, determinism, refusals, interruption."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneof.cli import main
from oneof.experiments import Spec, Watcher, plots, reproduce
from oneof.experiments import folder as report_folder
from oneof.experiments.tables import ResultRow, RunRow, read_csv
from pages import Loads, text_of

FEW = ["--runs", "3", "--rounds", "200"]
SMALL = ["--dataset", "ecoli", "--dataset", "dermatology", *FEW]
TABLES = {
    "results.csv": "dataset,size,learner,alpha,rounds,runs,error,error_se,mistakes,mistakes_se",
    "curves.csv": "dataset,size,learner,round,error,error_se",
    "claims.csv": (
        "claim,dataset,size,text,learner_a,learner_b,condition,difference,low,high,verdict,"
        "claim_verdict"
    ),
    "runs.csv": "dataset,size,learner,run,error,mistakes",
    "tuning.csv": "dataset,size,learner,alpha,mistakes",
    "theorems.csv": "theorem,setting,x,measured,mistakes,bound,paper_bound,covered",
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Give the folder of one small run."""
    folder = tmp_path_factory.mktemp("run") / "out"
    command = [sys.executable, "-m", "oneof", "reproduce", *SMALL, "--jobs", "1", "--out", folder]
    with (folder.parent / "screen.txt").open("w", encoding="utf-8") as screen:
        subprocess.run(command, check=True, stdout=screen)
    return folder


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_promised_file_is_there_and_no_other(out):
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    drawn = ["ecoli", "dermatology", "theorem-1", "theorem-2", "theorem-3"]
    figures = {f"figures/{name}.{suffix}" for name in drawn for suffix in ("svg", "png")}
    assert names == {*TABLES, "report.html", "manifest.json", *figures}
    for name in figures:
        raw = (out / name).read_bytes()
        assert raw.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")


@pytest.mark.parametrize("name", TABLES)
def test_the_columns_are_the_promised_ones(out, name):
    assert (out / name).read_text().splitlines()[0] == TABLES[name]


def test_results_have_one_row_for_each_cell_and_agree_with_the_runs(out):
    results = read_csv(out / "results.csv", ResultRow)
    runs = read_csv(out / "runs.csv", RunRow)
    assert len(results) == (2 + 3 * 4) + (2 + 2 * 4)
    for row in results:
        key = (row.dataset, row.size, row.learner)
        mine = [r.error for r in runs if (r.dataset, r.size, r.learner) == key]
        assert len(mine) == row.runs == 3
        assert sum(mine) / 3 == pytest.approx(row.error)
        assert (row.size == 1) == row.learner.endswith("-exact")
        assert (row.alpha is None) == row.learner.startswith(("avg-perc", "max-perc", "perc"))
        assert 0 <= row.mistakes <= row.error <= 1  # the truth is a candidate


def test_curves_end_at_the_final_error(out):
    final = {(r["dataset"], r["size"], r["learner"]): r for r in rows_of(out / "results.csv")}
    ends = {}
    for row in rows_of(out / "curves.csv"):
        ends[row["dataset"], row["size"], row["learner"]] = row
    assert ends.keys() == final.keys()
    for key, row in ends.items():
        assert row["round"] == "200"
        assert (row["error"], row["error_se"]) == (final[key]["error"], final[key]["error_se"])


def test_claims_cover_the_data_sets_that_were_run(out):
    rows = rows_of(out / "claims.csv")
    assert {(r["dataset"], r["size"]) for r in rows} == {
        ("dermatology", "2"), ("dermatology", "4"), ("ecoli", "2"), ("ecoli", "4"), ("ecoli", "6")
    }  # fmt: skip
    assert {r["verdict"] for r in rows} <= {"reproduced", "not reproduced", "undecided"}
    for row in rows:
        assert float(row["low"]) < float(row["difference"]) < float(row["high"])


def test_the_theorems_hold_where_they_are_said_to(out):
    rows = rows_of(out / "theorems.csv")
    assert {(r["theorem"], r["covered"]) for r in rows} == {
        ("1", "True"), ("2", "True"), ("3", "True"), ("3", "False")
    }  # fmt: skip
    for row in rows:
        if row["covered"] == "True":
            assert float(row["measured"]) <= float(row["bound"])
            assert float(row["bound"]) <= float(row["paper_bound"]) * (1 + 1e-9)
    beyond = [r for r in rows if float(r["measured"]) > float(r["bound"])]
    assert {r["setting"] for r in beyond} == {"on-loss"}


def test_the_manifest_runs_it_again_to_the_same_bytes_with_other_workers(out, tmp_path):
    manifest = str(out / "manifest.json")
    again = ["reproduce", "--protocol", manifest, "--jobs", "3", "--out", str(tmp_path)]
    assert main(again) == 0
    for name in TABLES:
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes(), name
    for name in ("figures/ecoli.svg", "figures/theorem-3.svg"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes(), name


def test_the_manifest_says_what_is_needed(out):
    record = json.loads((out / "manifest.json").read_text())
    assert Spec.from_dict(record["spec"]).runs == 3
    assert record["datasets"]["ecoli"]["rows"] == 336
    assert len(record["datasets"]["ecoli"]["sha256"]) == 64
    assert {"python", "oneof", "numpy"} <= record["versions"].keys()
    assert {"data", "runs", "theorems", "figures"} == record["seconds"].keys()
    assert len(record["alphas"]) == (1 + 2 * 3) + (1 + 2 * 2)
    assert set(TABLES) < record["files"].keys()


def test_the_report_is_one_file_that_loads_nothing(out):
    page = Loads((out / "report.html").read_text())
    assert page.found  # the marks of the curves, each defined in the page itself
    assert all(re.fullmatch(r"#\w+|\"#\w+\"", reference) for reference in page.found)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)


def test_the_report_tells_everything(out):
    page = (out / "report.html").read_text()
    text = text_of(page)
    assert page.count("<svg role=") == 3 + 2 + 3
    for row in read_csv(out / "results.csv", ResultRow):
        assert f"{100 * row.error:.1f} ± {100 * row.error_se:.1f}" in text
    for row in rows_of(out / "claims.csv"):
        assert row["text"] in text
        assert f"{100 * float(row['low']):+.1f}".replace("-", "−") in text
    for words in ("seed 0", "numpy", "Theorem 3", "The λ chosen", "runs of each learner"):
        assert words in text


def test_curves_can_be_drawn_again_from_their_file(out):
    from oneof.experiments.tables import CurveRow

    rows = [r for r in read_csv(out / "curves.csv", CurveRow) if r.dataset == "ecoli"]
    figure = plots.curves(rows)
    assert len(figure.axes) == 3
    assert all(len(ax.lines) == 6 and len(ax.collections) == 6 for ax in figure.axes)
    styles = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(styles) == 6


def test_what_the_screen_says(out):
    shown = (out.parent / "screen.txt").read_text()
    assert "dermatology, sets of 2: the avg learners do better" in shown
    assert "avg-pegasos − max-pegasos" in shown
    assert f"The report is in {out / 'report.html'}\n" in shown


def test_without_matplotlib_everything_but_the_figures_is_written(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(plots, "find_spec", lambda _: None)
    fixed = ["--dataset", "ecoli", "--runs", "1", "--rounds", "20", "--alpha", "1"]
    assert main(["reproduce", *fixed, "--out", str(tmp_path)]) == 0
    assert "pip install 'oneof[plots]'" in capfd.readouterr().out
    assert {p.name for p in tmp_path.iterdir()} == {*TABLES, "report.html", "manifest.json"}
    assert "The figures need matplotlib" in (tmp_path / "report.html").read_text()
    assert {r.alpha for r in read_csv(tmp_path / "results.csv", ResultRow)} == {None, 1.0}


def test_the_files_of_an_earlier_run_go_and_others_stay(tmp_path):
    manifest = {"files": {"figures/a.svg": "", "a.csv": ""}}
    first = {"figures/a.svg": b"1", "a.csv": b"1", "manifest.json": json.dumps(manifest).encode()}
    report_folder.write(tmp_path, first)
    (tmp_path / "figures" / "mine.svg").write_text("not of the run")
    report_folder.write(tmp_path, {"figures/b.svg": b"2", "a.csv": b"2", "manifest.json": b"{}"})
    held = {
        str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert held == {
        "figures/b.svg": b"2",
        "figures/mine.svg": b"not of the run",
        "a.csv": b"2",
        "manifest.json": b"{}",
    }


def test_a_manifest_cannot_name_files_outside(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("precious")
    inside = tmp_path / "out"
    inside.mkdir()
    files = {"../outside.txt": "", str(outside): ""}
    (inside / "manifest.json").write_text(json.dumps({"files": files}))
    report_folder.write(inside, {"manifest.json": b"{}"})
    assert outside.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dataset", "iris"], "there is no data set 'iris': choose one of dermatology"),
        (["--dataset", "mnist"], "put mnist.npz in a folder and name the folder in ONEOF_DATA"),
        (["--dataset", "crowd_dog"], "put crowd_dog.npz in a folder"),
        (["--dataset", "ecoli", "--size", "8"], "ecoli has 8 classes: choose sizes"),
        (["--dataset", "ecoli", "--size", "0"], "sizes must be an integer of at least 1, not 0"),
        (["--dataset", "ecoli", "--dataset", "ecoli"], "datasets holds 'ecoli' twice"),
        (["--learner", "svm"], "each of learners must be 'avg-perceptron' or"),
        (["--runs", "0"], "runs must be an integer of at least 1, not 0"),
        (["--rounds", "-3"], "rounds must be an integer of at least 1"),
        (["--alpha", "0"], "alphas must be a finite number above 0"),
        (["--alpha", "nan"], "alphas must be a finite number above 0"),
        (["--seed", "-1"], "seed must be an integer of at least 0"),
        (["--protocol", "mine"], "there is no protocol 'mine'"),
        (["--protocol", "mine.toml"], "mine.toml: No such file"),
        (["--runs", "many"], "Invalid value for '--runs'"),
        (["--jobs", "0"], "jobs must be a number of workers, or -1"),
    ],
)
def test_wrong_usage_is_one_sentence_and_2(arguments, words, tmp_path, monkeypatch, capfd):
    from oneof.datasets import sources

    monkeypatch.delenv("ONEOF_DATA", raising=False)
    monkeypatch.setenv("ONEOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "remote", lambda _: [])
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("oneof: ")
    assert words in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("bad", ["file", "file/below", "taken", "/proc/oneof"])
def test_an_unwritable_folder_is_found_before_anything_is_computed(
    bad, tmp_path, monkeypatch, capfd
):
    if bad.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc here")
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "figures").write_text("not a folder")

    def nothing_may_be_loaded(*_, **__):
        raise AssertionError

    module = sys.modules[reproduce.__module__]  # the package has its function by that name
    monkeypatch.setattr(module, "load_examples", nothing_may_be_loaded)
    assert main(["reproduce", *SMALL, "--out", str(tmp_path / bad)]) == 2
    assert "nothing can be written to" in capfd.readouterr().err
    assert (tmp_path / "file").read_text() == "in the way"


class Interrupts(Watcher):
    """Is Ctrl-C, at the first progress."""

    def advance(self, _):
        raise KeyboardInterrupt


def test_an_interruption_writes_nothing(tmp_path):
    spec = Spec.load("paper").narrowed(datasets=["ecoli"], runs=3, rounds=50)
    with pytest.raises(KeyboardInterrupt):
        reproduce(spec, tmp_path, watcher=Interrupts())
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_whole_files_only(tmp_path, monkeypatch):
    report_folder.write(tmp_path, {"a.csv": b"old", "b.csv": b"old"})
    replace = Path.replace

    def failing(self, target):
        if Path(target).name == "b.csv":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError, match="No space left"):
        report_folder.write(tmp_path, {"a.csv": b"new", "b.csv": b"new"})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "a.csv": b"new",
        "b.csv": b"old",
    }


# A job that a shell has put into the background is deaf to Ctrl-C, and so are its children.
HEARS_CTRL_C = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from oneof.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_ends_a_real_run_with_a_sentence_and_no_file(tmp_path):
    out = tmp_path / "out"
    arguments = ["reproduce", "--dataset", "satimage", "--runs", "20000", "--out", str(out)]
    environment = {**os.environ, "ONEOF_CACHE": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not out.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert shown == ""
    assert re.fullmatch(r"oneof: interrupted \(\w+\): nothing was written to .*out\n", errors)
    assert list(out.iterdir()) == []


def test_the_table_of_data_sets(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["datasets"]) == 0
    shown = capfd.readouterr().out
    for words in (
        "ecoli",
        "336",
        "package",
        "CC BY 4.0",
        "crowd_sentiment_polarity",
        "scikit-learn",
    ):
        assert words in shown
