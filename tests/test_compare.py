"""The comparison: settings chosen without the truth, folds that are held out, whole files."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import oneof
from oneof.catalogue import LEARNERS
from oneof.cli import main
from oneof.experiments import compare as comparing
from oneof.experiments import members, plots, rivals
from oneof.experiments.comparison import comparison
from oneof.experiments.problems import Plan, Problem, problems
from oneof.experiments.reproduce import Watcher
from oneof.experiments.tables import read_csv
from pages import Loads, text_of

FEW = {
    "avg-perceptron": [oneof.AvgPerceptron(eta0=e, scale="standardize") for e in (0.1, 1e-9)],
    "hedge": [oneof.Hedge([oneof.AvgPerceptron(), oneof.CandidateLogistic()])],
}


@pytest.fixture
def few(monkeypatch):
    for module in (comparing, members):
        monkeypatch.setattr(module, "settings", lambda _scale: FEW)


with_few = pytest.mark.usefixtures("few")


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = 3 * np.eye(4)[y] @ rng.normal(size=(4, 5)) + rng.normal(size=(n, 5))
    Y = oneof.CandidateSets.from_sets([{int(k), int((k + 1 + rng.integers(3)) % 4)} for k in y])
    return Problem("blobs", None, X, Y, y)


@with_few
def test_the_truth_changes_the_errors_only():
    """With another truth the same settings are chosen by the same mistakes."""
    p = problem()
    lies = Problem(p.name, p.size, p.X, p.Y, (p.y + 1) % 4)
    for passes in (1, 2):
        honest, lied = (
            comparing.compare([q], Plan(passes=(passes,), folds=3), n_jobs=1) for q in (p, lies)
        )
        for a, b in zip(honest, lied, strict=True):
            assert (a.chosen, a.mistakes) == (b.chosen, b.mistakes)
            assert a.held_out_error != b.held_out_error
        assert any("eta0=0.1" in row.chosen for row in honest)


@with_few
def test_held_out_rows_are_not_learnt():
    """Poisoned candidates in one fold change what is found on the others, and only there."""
    p = problem()
    order = np.random.default_rng([0, 0]).permutation(len(p.y))
    test = np.array_split(order, 3)[1]
    Y = [{(int(k) + 2) % 4} if i in set(test) else set(p.Y[i]) for i, k in enumerate(p.y)]
    Y = oneof.CandidateSets.from_sets(Y, classes=range(4))
    poisoned = Problem(p.name, p.size, p.X, Y, p.y)
    plan = Plan(passes=(1, 2), folds=3)
    clean, other = (comparing.compare([q], plan, n_jobs=1) for q in (p, poisoned))
    for a, b in zip(clean, other, strict=True):
        assert (a == b) == (a.fold == 1)


@with_few
def test_the_summary_is_the_mean_over_folds():
    rows = comparing.compare([problem()], Plan(passes=(1,), folds=4), n_jobs=1)
    for row in comparing.summary(rows):
        errors = [r.held_out_error for r in rows if r.learner == row.learner]
        assert row.held_out_error == pytest.approx(np.mean(errors))
        assert row.se == pytest.approx(np.std(errors, ddof=1) / 2)
        assert row.folds == 4


def test_every_learner_is_compared_and_says_its_setting():
    found = rivals.settings("standardize")
    assert set(LEARNERS) <= set(found)
    for name, tried in found.items():
        said = [rivals.words(setting) for setting in tried]
        assert len(set(said)) == len(said), name
    assert rivals.words(oneof.CandidateLogistic(eta0=1.0)) == "eta0=1.0"


TABLES = {
    "compare.csv": comparing.CompareRow,
    "folds.csv": comparing.FoldRow,
    "hedge.csv": members.MemberRow,
}


@with_few
def test_every_promised_file_is_there_and_no_other(tmp_path):
    plan = Plan(("ecoli", "dermatology"), passes=(1, 2), folds=3, seed=1)
    found = comparison(plan, tmp_path, n_jobs=1)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    figures = {f"figures/{name}.{end}" for name in plan.names for end in ("svg", "png")}
    assert names == {*TABLES, "report.html", "manifest.json", *figures}
    for name, kind in TABLES.items():
        assert read_csv(tmp_path / name, kind), name
    rows = read_csv(tmp_path / "compare.csv", comparing.CompareRow)
    assert {row.learner for row in rows} == set(FEW)
    assert {(r.dataset, r.size) for r in rows} == {(p.name, p.size) for p in found.problems}
    assert {(r.dataset, r.size, r.passes) for r in rows if r.dataset == "dermatology"} == {
        ("dermatology", size, passes) for size in (2, 4) for passes in (1, 2)
    }
    for name in figures:
        raw = (tmp_path / name).read_bytes()
        assert raw.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    record = json.loads((tmp_path / "manifest.json").read_text())
    assert Plan(**{**record["plan"], "names": plan.names, "passes": plan.passes}) == plan
    assert record["datasets"]["ecoli"]["rows"] == 336
    assert {"oneof", "numpy"} <= record["versions"].keys()
    assert set(TABLES) < record["files"].keys()


@with_few
def test_the_report_is_one_file_that_loads_nothing_and_tells_everything(tmp_path):
    found = comparison(Plan(("ecoli",), passes=(1, 2), folds=3), tmp_path, n_jobs=1)
    page = (tmp_path / "report.html").read_text()
    assert all(re.fullmatch(r"#\w+|\"#\w+\"", reference) for reference in Loads(page).found)
    assert not {"script", "link", "img", "iframe", "object"} & set(Loads(page).tags)
    assert page.count("<svg role=") == 3  # one for each size
    text = text_of(page)
    for row in found.summary():
        assert (
            f"{100 * row.held_out_error:.1f} ± {100 * row.se:.1f}{100 * row.mistakes:.1f}" in text
        )
        assert row.chosen in text
        if row.passes == 1:
            assert f"{100 * row.progressive_error:.1f}" in text
    for row in members.hedge_rows(found.members):
        sign = f"{100 * row.difference:+.1f}".replace("-", "−")
        mark = "✓" if row.difference <= 0.01 else "✗"
        numbers = f"{100 * row.hedge:.1f}{100 * row.best:.1f}{sign} {mark}{row.best_member}"
        assert f"Ecoli, sets of {row.size}{numbers}" in text
    for words in (
        "oneof compare --dataset ecoli --passes 1 --passes 2 --folds 3",
        "Seed 0",
        "numpy",
    ):
        assert words in text


@with_few
def test_without_matplotlib_everything_but_the_figures_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(plots, "find_spec", lambda _: None)
    comparison(Plan(("ecoli",), passes=(1,), folds=3), tmp_path, n_jobs=1)
    assert {p.name for p in tmp_path.iterdir()} == {*TABLES, "report.html", "manifest.json"}
    assert "The figures need matplotlib" in (tmp_path / "report.html").read_text()


@with_few
def test_the_numbers_do_not_depend_on_the_workers(tmp_path):
    plan = Plan(("ecoli",), passes=(1, 2), folds=3)
    found = [comparison(plan, tmp_path / str(n), n_jobs=n) for n in (1, 2)]
    assert found[0].folds == found[1].folds
    assert found[0].members == found[1].members
    for name in (*TABLES, "figures/ecoli.svg"):
        first, second = ((tmp_path / str(n) / name).read_bytes() for n in (1, 2))
        assert first == second, name


@with_few
def test_hedge_is_compared_with_its_members_on_its_own_stream():
    """Members by themselves make the mistakes that Hedge counts for them."""
    p, plan = problem(), Plan(passes=(1,), folds=3)
    rows = members.member_rows([p], plan, n_jobs=1)
    for row in comparing.compare([p], plan, n_jobs=1):
        if row.learner == "hedge":
            (mine,) = [r for r in rows if r.fold == row.fold and r.member == members.HEDGE]
            assert (mine.mistakes, mine.progressive_error) == (row.mistakes, row.progressive_error)
    train, _ = p.split(1, plan)
    hedge = clone(FEW["hedge"][0]).partial_fit(p.X[train], p.Y[train], classes=p.Y.classes)
    alone = [r.mistakes for r in rows if r.fold == 1 and r.member != members.HEDGE]
    assert alone == (hedge.member_mistakes_ / len(train)).tolist()


def test_the_best_member_is_best_over_all_folds():
    rows = [
        members.MemberRow("blobs", None, fold, name, 0.0, error)
        for name, errors in {"Hedge": (0.5, 0.3), "A()": (0.1, 0.6), "B()": (0.4, 0.2)}.items()
        for fold, error in enumerate(errors)
    ]
    (found,) = members.hedge_rows(rows)
    assert found == ("blobs", None, 0.4, "B()", pytest.approx(0.3))
    assert found.difference == pytest.approx(0.1)


def test_a_plan_is_written_as_the_command_that_makes_it(monkeypatch, tmp_path):
    seen = []

    def noted(plan, *_, **__):
        seen.append(plan)
        raise ValueError("noted")

    monkeypatch.setattr("oneof.experiments.comparison.comparison", noted)
    plans = [Plan(), Plan(("my set.mat", "ecoli"), (3,), 4, "none", 5)]
    monkeypatch.chdir(tmp_path)
    for plan in plans:
        arguments = ["oneof", "compare", "--dataset", "my set.mat", "--dataset", "ecoli"]
        arguments += ["--passes", "3", "--folds", "4", "--scale", "none", "--seed", "5"]
        arguments = arguments if plan.names else arguments[:2]
        assert shlex.split(plan.command()) == arguments
        main(arguments[1:])
    assert seen == plans


class Interrupts(Watcher):
    """Is Ctrl-C, at the first progress."""

    def advance(self, _):
        raise KeyboardInterrupt


@with_few
def test_an_interruption_writes_nothing(tmp_path):
    for n_jobs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            comparison(
                Plan(("ecoli",), passes=(1,), folds=3),
                tmp_path,
                n_jobs=n_jobs,
                watcher=Interrupts(),
            )
    assert list(tmp_path.iterdir()) == []


# A job that a shell has put into the background is deaf to Ctrl-C, and so are its children.
HEARS_CTRL_C = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from oneof.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_ctrl_c_ends_a_real_comparison_with_a_sentence_and_no_file(tmp_path):
    """The terminal sends it to the workers, too."""
    out = tmp_path / "out"
    arguments = ["compare", "--dataset", "satimage", "--jobs", "2", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C, *arguments],
        env={**os.environ, "ONEOF_CACHE": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while not out.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(2)  # the workers begin
        os.killpg(process.pid, signal.SIGINT)
        shown, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert shown == ""
    assert re.fullmatch(r"oneof: interrupted \(\w+\): nothing was written to .*out\n", errors)
    assert list(out.iterdir()) == []


class Counts(Watcher):
    """Adds up what it is told."""

    def begin(self, stage, total=None):
        self.total, self.done = (total, 0) if stage == "runs" else (self.total, self.done)

    total, done = None, 0

    def advance(self, units):
        self.done += units


@with_few
def test_the_progress_comes_to_the_whole(tmp_path):
    counts = Counts()
    comparison(Plan(("ecoli",), passes=(1,), folds=3), tmp_path, n_jobs=1, watcher=counts)
    assert counts.done == pytest.approx(counts.total, rel=1e-3)


@with_few
def test_the_command(tmp_path, capsys):
    arguments = ["compare", "--dataset", "ecoli", "--passes", "1", "--folds", "3", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "ecoli, candidate sets of 4, 1 pass\n" in shown
    rows = read_csv(tmp_path / "compare.csv", comparing.CompareRow)
    for row in rows:
        assert f"{row.held_out_error:.3f} ± {row.se:.3f}" in shown
    assert f"The report is in {tmp_path / 'report.html'}\n" in shown


def test_vowpal_wabbit_predicts_each_row_before_it_learns_it():
    pytest.importorskip("vowpalwabbit")
    p = problem()
    model = rivals.VowpalWabbit("logistic")
    predicted = model.progressive_fit(p.X, p.Y)
    for n in (0, 1, 50, 119):
        before = rivals.VowpalWabbit("logistic")
        before.progressive_fit(p.X[:n], p.Y[np.arange(n)])
        assert before.predict(p.X[n : n + 1]) == predicted[n]


def test_vowpal_wabbit_is_told_where_values_are_not_0():
    X = np.array([[0.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
    for rows in (X, sparse.csr_array(X)):
        assert list(rivals._texts(rows)) == [" | 1:2 2:0.5", " | "]


def test_vowpal_wabbit_learns_more_in_more_passes():
    pytest.importorskip("vowpalwabbit")
    p = problem()
    errors = [
        np.mean(rivals.VowpalWabbit(max_iter=n, random_state=0).fit(p.X, p.Y).predict(p.X) != p.y)
        for n in (1, 20)
    ]
    assert errors[1] < errors[0]


def test_a_set_that_is_named_must_be_there_and_others_may_be_missing(monkeypatch):
    load = oneof.datasets.load

    def only_ecoli(name):
        if name == "ecoli":
            return load(name)
        raise oneof.datasets.DatasetUnavailable(f"{name} is not here")

    monkeypatch.setattr(oneof.datasets, "load", only_ecoli)
    found, left_out = problems(Plan(passes=(1,)))
    assert {p.name for p in found} == {"ecoli"}
    assert "lost is not here" in left_out
    with pytest.raises(OSError, match="lost is not here"):
        problems(Plan(("ecoli", "lost")))


def test_a_file_of_partial_labels_is_a_problem_and_names_must_differ(tmp_path):
    from scipy.io import savemat

    rng = np.random.default_rng(0)
    truth = np.eye(3)[rng.integers(0, 3, 60)].T
    marks = np.maximum(truth, rng.integers(0, 2, truth.shape))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        held = {"data": rng.normal(size=(60, 2)), "target": truth, "partial_target": marks}
        savemat(tmp_path / folder / "mine.mat", held)
    names = [str(tmp_path / folder / "mine.mat") for folder in ("a", "b")]
    ((p,), _) = problems(Plan((names[0],)))
    assert (p.name, p.size, p.X.shape) == ("mine", None, (60, 2))
    assert p.Y.contains(p.y).all()
    with pytest.raises(ValueError, match="two data sets are called mine"):
        problems(Plan(tuple(names)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "1"], "folds must be 2 or more"),
        (["--jobs", "0"], "jobs must be a number of workers"),
        (["--dataset", "ecoli", "--dataset", "ecoli"], "ecoli is asked for twice"),
        (["--passes", "2", "--passes", "2"], "2 is asked for twice"),
        (["--dataset", "crowd_dog"], "crowd_dog"),
        (["--scale", "minmax"], "scale must be 'none' or 'standardize'"),
        (["--dataset", "nosuch"], "nosuch"),
        (["--dataset", "nosuch.mat"], "nosuch.mat"),
        (["--dataset", "ecoli", "--folds", "100"], "too few rows for 100 folds"),
    ],
)
@with_few
def test_wrong_usage_is_one_sentence(tmp_path, capsys, arguments, message):
    code = main(["compare", "--jobs", "1", *arguments, "--out", str(tmp_path)])
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []
