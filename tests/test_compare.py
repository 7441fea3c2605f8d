"""The comparison: settings chosen without the truth, folds that are held out, whole files."""

import json

import numpy as np
import pytest

import oneof
from oneof.catalogue import LEARNERS
from oneof.cli import main
from oneof.experiments import compare as comparing
from oneof.experiments import rivals
from oneof.experiments.comparison import comparison
from oneof.experiments.reproduce import Watcher
from oneof.experiments.tables import read_csv

FEW = {
    "avg-perceptron": [oneof.AvgPerceptron(eta0=e, scale="standardize") for e in (0.1, 1e-9)],
    "hedge": [oneof.Hedge([oneof.AvgPerceptron(), oneof.CandidateLogistic()])],
}


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(comparing, "settings", lambda _scale: FEW)


with_few = pytest.mark.usefixtures("few")


def problem(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = 3 * np.eye(4)[y] @ rng.normal(size=(4, 5)) + rng.normal(size=(n, 5))
    Y = oneof.CandidateSets.from_sets([{int(k), int((k + 1 + rng.integers(3)) % 4)} for k in y])
    return comparing.Problem("blobs", None, X, Y, y)


@with_few
def test_the_truth_changes_the_errors_only():
    """With another truth the same settings are chosen by the same mistakes."""
    p = problem()
    lies = comparing.Problem(p.name, p.size, p.X, p.Y, (p.y + 1) % 4)
    for passes in (1, 2):
        honest, lied = (
            comparing.compare([q], passes=[passes], folds=3, n_jobs=1) for q in (p, lies)
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
    poisoned = comparing.Problem(p.name, p.size, p.X, Y, p.y)
    clean, other = (comparing.compare([q], passes=[1, 2], folds=3, n_jobs=1) for q in (p, poisoned))
    for a, b in zip(clean, other, strict=True):
        assert (a == b) == (a.fold == 1)


@with_few
def test_the_summary_is_the_mean_over_folds():
    rows = comparing.compare([problem()], passes=[1], folds=4, n_jobs=1)
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


@with_few
def test_the_files_are_whole(tmp_path):
    found = comparison(tmp_path, ["ecoli"], [1], 3, "standardize", 0, 1, Watcher())
    rows = read_csv(tmp_path / "compare.csv", comparing.CompareRow)
    assert {row.learner for row in rows} == set(FEW)
    assert sorted({row.size for row in rows}) == [2, 4, 6]
    page = (tmp_path / "report.md").read_text()
    assert found.table() in page
    assert "ecoli, sets of 4, one pass" in page
    assert (tmp_path / "figures" / "compare.png").read_bytes()[:4] == b"\x89PNG"
    record = json.loads((tmp_path / "manifest.json").read_text())
    assert record["seed"] == 0


@with_few
def test_the_command(tmp_path, capsys):
    arguments = ["compare", "--dataset", "ecoli", "--passes", "1", "--folds", "3", "--jobs", "1"]
    assert main([*arguments, "--out", str(tmp_path)]) == 0
    assert "| hedge |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "1"], "folds must be 2 or more"),
        (["--scale", "minmax"], "scale must be 'none' or 'standardize'"),
        (["--dataset", "nosuch"], "nosuch"),
        (["--dataset", "nosuch.mat"], "nosuch.mat"),
        (["--dataset", "ecoli", "--folds", "100"], "too few rows for 100 folds"),
    ],
)
@with_few
def test_wrong_usage_is_one_sentence(tmp_path, capsys, arguments, message):
    code = main(["compare", *arguments, "--jobs", "1", "--out", str(tmp_path)])
    error = capsys.readouterr().err
    assert code == 2
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "report.md").exists()
