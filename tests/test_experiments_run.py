"""Running a specification: what learners see, which λ is taken, and independence of workers."""

import dataclasses

import numpy as np
import pytest
from joblib import parallel_config

import oneof
from oneof import datasets
from oneof.experiments import DatasetSpec, Examples, Spec, count_rounds, load_examples, run
from oneof.experiments.rounds import Cell, Play, Rounds, checkpoints
from oneof.experiments.run import Tuning
from oneof.experiments.tables import (
    CurveRow,
    ResultRow,
    RunRow,
    TuningRow,
    csv_text,
    curve_rows,
    read_csv,
    result_rows,
    run_rows,
    tuning_rows,
)


@pytest.fixture(scope="module")
def spec():
    small = Spec.load("paper").narrowed(datasets=["ecoli", "dermatology"], runs=4, rounds=300)
    return dataclasses.replace(small, alphas=(0.01, 1.0), tuning_runs=2)


@pytest.fixture(scope="module")
def examples(spec):
    return load_examples(spec)[0]


@pytest.fixture(scope="module")
def results(spec, examples):
    return run(spec, examples, n_jobs=1)


def texts(results):
    return [
        csv_text(ResultRow, result_rows(results)),
        csv_text(CurveRow, curve_rows(results)),
        csv_text(RunRow, run_rows(results)),
        csv_text(TuningRow, tuning_rows(results)),
    ]


def find(results, dataset, size, learner):
    (found,) = (s for s in results.series if (s.dataset, s.cell) == (dataset, Cell(size, learner)))
    return found


def test_every_cell_is_there_once_in_the_order_of_the_specification(spec, results):
    keys = [(s.dataset, s.cell.size, s.cell.learner) for s in results.series]
    candidate_learners = [name for name in spec.learners if not name.endswith("exact")]
    expected = []
    for d in spec.datasets:
        expected += [(d.name, 1, "perceptron-exact"), (d.name, 1, "pegasos-exact")]
        expected += [(d.name, size, name) for size in d.sizes for name in candidate_learners]
    assert keys == expected


def test_the_public_estimators_do_the_same_on_the_same_rounds(spec, examples, results):
    """What a run reports is what a user would get from `progressive_fit`, to the last error."""
    (ecoli,) = (e for e in examples if e.name == "ecoli")
    rounds = Rounds(ecoli, (spec.seed, 0, 2))
    kinds = {
        "avg-perceptron": oneof.AvgPerceptron,
        "max-pegasos": oneof.MaxPegasos,
        "pegasos-exact": oneof.AvgPegasos,
    }
    for (size, name), kind in zip(
        [(4, "avg-perceptron"), (2, "max-pegasos"), (1, "pegasos-exact")],
        kinds.values(),
        strict=True,
    ):
        series = find(results, "ecoli", size, name)
        options = {} if series.alpha is None else {"alpha": series.alpha}
        model = kind(fit_intercept=False, **options)
        predicted = model.progressive_fit(rounds.rows.X, rounds.candidates(size))
        errors = np.cumsum(predicted != rounds.truth)
        assert series.errors[2].tolist() == errors[series.checkpoints - 1].tolist()
        assert series.mistakes[2] == model.n_mistakes_


def test_an_example_keeps_its_candidates_and_all_sizes_share_the_rounds(examples):
    for e in examples:
        rounds = Rounds(e, (0, 0, 0))
        by_row = {}
        X = np.asarray(
            rounds.rows.X.todense() if hasattr(rounds.rows.X, "todense") else rounds.rows.X
        )
        for x, y, candidates in zip(X, rounds.truth, rounds.candidates(4), strict=True):
            assert y in candidates
            assert len(candidates) == 4
            by_row.setdefault((x.tobytes(), int(y)), set()).add(frozenset(candidates))
        if e.name == "dermatology":  # no two rows are equal there
            assert all(len(sets) == 1 for sets in by_row.values())
        assert rounds.candidates(1).codes.tolist() == rounds.truth.tolist()


def test_draws_differ_between_runs_sizes_data_sets_and_purposes(examples):
    def order(seed, e=examples[0]):
        return Rounds(e, seed).truth.tolist()

    assert order((0, 0, 0)) == order((0, 0, 0))
    assert order((0, 0, 0)) != order((0, 0, 1))
    assert order((0, 0, 0)) != order((0, 1, 0))
    assert order((0, 0, 0)) != order((1, 0, 0))
    renamed = dataclasses.replace(examples[0], name="other")
    assert order((0, 0, 0)) != order((0, 0, 0), renamed)


def test_results_do_not_depend_on_the_number_or_kind_of_workers(spec, examples, results):
    expected = texts(results)
    assert texts(run(spec, examples, n_jobs=3)) == expected
    with parallel_config(backend="loky"):
        assert texts(run(spec, examples, n_jobs=2)) == expected


def test_results_do_not_depend_on_what_else_is_run(spec, results):
    alone = spec.narrowed(datasets=["ecoli"], sizes=[4], learners=["max-pegasos"])
    (series,) = run(alone, load_examples(alone)[0]).series
    together = find(results, "ecoli", 4, "max-pegasos")
    assert series.alpha == together.alpha
    assert (series.errors == together.errors).all()


def test_alpha_has_the_fewest_mistakes_and_the_smallest_of_equals_is_taken(results):
    tuned = [s for s in results.series if s.alpha is not None]
    assert len(tuned) == len(results.tuning) == (1 + 2 * 3) + (1 + 2 * 2)
    for t in results.tuning:
        assert find(results, t.dataset, t.cell.size, t.cell.learner).alpha == t.best
    cell = Cell(2, "avg-pegasos")
    assert Tuning("ecoli", cell, (10.0, 0.1, 1.0), (0.3, 0.2, 0.2)).best == 0.1


def test_mistakes_of_tuning_need_no_truth(spec, examples):
    """λ is chosen by ŷ ∉ Y: the rate is that of the model's own counter on the tuning runs."""
    (ecoli,) = (e for e in examples if e.name == "ecoli")
    tuning = run(spec, [ecoli]).tuning
    (t,) = (t for t in tuning if t.cell == Cell(6, "avg-pegasos"))
    for alpha, rate in zip(t.alphas, t.mistake_rates, strict=True):
        counts = []
        for i in range(spec.tuning_runs):
            rounds = Rounds(ecoli, (spec.seed, 1, i))
            model = oneof.AvgPegasos(alpha, fit_intercept=False)
            model.partial_fit(rounds.rows.X, rounds.candidates(6))
            counts.append(model.n_mistakes_)
        assert rate == pytest.approx(np.mean(counts) / ecoli.rounds)


def test_a_fixed_alpha_needs_no_tuning(spec, examples):
    fixed = spec.narrowed(alpha=0.25)
    results = run(fixed, examples)
    assert results.tuning == ()
    assert {s.alpha for s in results.series if "pegasos" in s.cell.learner} == {0.25}
    assert {s.alpha for s in results.series if "perceptron" in s.cell.learner} == {None}


def test_the_rounds_are_counted(spec, examples):
    told = []
    run(spec, examples, on_rounds=told.append)
    assert sum(told) == count_rounds(spec, examples)


def test_the_tables_hold_the_averages(results):
    rows = {(r.dataset, r.size, r.learner): r for r in result_rows(results)}
    curves = curve_rows(results)
    for s in results.series:
        row = rows[s.dataset, s.cell.size, s.cell.learner]
        rates = s.errors[:, -1] / 300
        assert (row.rounds, row.runs) == (300, 4)
        assert row.error == pytest.approx(rates.mean())
        assert row.error_se == pytest.approx(rates.std(ddof=1) / 2)
        assert row.mistakes == pytest.approx(s.mistakes.mean() / 300)
        mine = [
            c
            for c in curves
            if (c.dataset, c.size, c.learner) == (row.dataset, row.size, row.learner)
        ]
        assert [c.round for c in mine] == s.checkpoints.tolist()
        assert mine[-1].error == pytest.approx(row.error)
        assert mine[-1].error_se == pytest.approx(row.error_se)


def test_a_single_run_has_no_standard_error(spec, examples):
    rows = result_rows(run(spec.narrowed(runs=1, alpha=1), examples))
    assert {(row.error_se, row.mistakes_se) for row in rows} == {(None, None)}


@pytest.mark.parametrize("rounds", [1, 2, 7, 100, 10_000, 60_000])
def test_checkpoints_rise_to_the_last_round(rounds):
    ends = checkpoints(rounds)
    assert ends[0] == 1
    assert ends[-1] == rounds
    assert (np.diff(ends, prepend=0) > 0).all()
    assert ends.size >= min(rounds, 120)
    assert np.diff(ends, prepend=0).max() <= max(1, rounds / 120 + 1)


def test_tables_survive_csv(results, tmp_path):
    for kind, rows in (
        (ResultRow, result_rows(results)),
        (CurveRow, curve_rows(results)),
        (RunRow, run_rows(results)),
        (TuningRow, tuning_rows(results)),
    ):
        path = tmp_path / "table.csv"
        path.write_text(csv_text(kind, rows))
        assert csv_text(kind, read_csv(path, kind)) == path.read_text()
    with pytest.raises(ValueError, match="does not have the columns dataset, size, learner, round"):
        read_csv(path, CurveRow)


def test_columns_are_the_promised_ones():
    assert ",".join(ResultRow._fields) == (
        "dataset,size,learner,alpha,rounds,runs,error,error_se,mistakes,mistakes_se"
    )
    assert ",".join(CurveRow._fields) == "dataset,size,learner,round,error,error_se"


def test_features_come_in_the_form_the_protocol_asks_for(spec):
    plain, _ = load_examples(spec.narrowed(datasets=["satimage"]))
    assert (plain[0].X == datasets.load("satimage").X).all()
    scaled, _ = load_examples(dataclasses.replace(spec, standardise=True))
    for e in scaled:
        assert np.allclose(e.X.mean(axis=0), 0, atol=1e-9)
        assert np.isin(e.X.std(axis=0).round(9), [0, 1]).all()
    play = Play(Cell(2, "avg-pegasos"), 0.5)
    assert play.learner(spec).options["alpha"] == 0.5


@pytest.fixture
def data_is_local(monkeypatch, tmp_path):
    """Take the user's data, cache and network away."""
    monkeypatch.delenv("ONEOF_DATA", raising=False)
    monkeypatch.setenv("ONEOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets.sources, "remote", lambda _: [])


@pytest.mark.usefixtures("data_is_local")
class TestWithoutANetwork:
    def test_what_cannot_be_had_is_left_out_with_a_way_to_get_it(self):
        examples, skipped = load_examples(Spec.load("paper"))
        assert [e.name for e in examples] == ["dermatology", "ecoli", "satimage", "digits"]
        assert list(skipped) == ["usps", "mnist", "usps-resampled"]
        assert "put mnist.npz in a folder and name the folder in ONEOF_DATA" in skipped["mnist"]

    def test_what_is_asked_for_by_name_is_a_must(self):
        spec = Spec.load("paper").narrowed(datasets=["ecoli", "mnist"])
        with pytest.raises(datasets.DatasetUnavailable, match=r"put mnist\.npz in a folder"):
            load_examples(spec, required=["ecoli", "mnist"])

    def test_nothing_at_all_is_an_error(self):
        spec = Spec.load("paper").narrowed(datasets=["mnist"])
        with pytest.raises(ValueError, match="there is nothing to run: the data set mnist is not"):
            load_examples(spec)

    def test_a_stand_in_stays_out_where_it_is_not_needed(self):
        spec = dataclasses.replace(
            Spec.load("paper"),
            datasets=(
                DatasetSpec("digits", (2,), 10, instead_of="ecoli"),
                DatasetSpec("ecoli", (2,), 10),
            ),
        )
        examples, skipped = load_examples(spec)
        assert [e.name for e in examples] == ["ecoli"]
        assert skipped == {}

    def test_sizes_that_say_nothing_are_dropped_or_refused(self):
        spec = Spec.load("paper").narrowed(datasets=["dermatology", "digits"], sizes=[2, 6, 9])
        examples, _ = load_examples(spec)
        assert [e.sizes for e in examples] == [(2,), (2, 6, 9)]
        only_large = spec.narrowed(sizes=[6])
        examples, skipped = load_examples(only_large)
        assert [e.name for e in examples] == ["digits"]
        assert "dermatology has 6 classes: choose sizes" in skipped["dermatology"]
        with pytest.raises(ValueError, match="dermatology has 6 classes"):
            load_examples(only_large, required=["dermatology"])

    def test_an_unknown_name_is_refused(self):
        with pytest.raises(ValueError, match="there is no data set 'iris': choose one of"):
            load_examples(Spec.load("paper").narrowed(datasets=["iris"]))


def test_only_training_rows_where_asked_for(monkeypatch):
    satimage = datasets.load("satimage")
    spec = dataclasses.replace(
        Spec.load("paper"), datasets=(DatasetSpec("satimage", (2,), 10, part="train"),)
    )
    (examples,) = load_examples(spec)[0]
    assert (examples.y == satimage.y[~satimage.is_test]).all()
    without = dataclasses.replace(satimage, is_test=None)
    monkeypatch.setattr(datasets, "load", lambda _: without)
    with pytest.raises(ValueError, match="no official training part"):
        load_examples(spec)


def test_rows_without_a_truth_and_sets_without_features(monkeypatch):
    ecoli = datasets.load("ecoli")
    y = ecoli.y.copy()
    y[:5] = -1
    monkeypatch.setattr(datasets, "load", lambda _: dataclasses.replace(ecoli, y=y))
    spec = Spec.load("paper").narrowed(datasets=["ecoli"])
    assert len(load_examples(spec)[0][0].y) == 331
    no_features = dataclasses.replace(ecoli, X=np.zeros((336, 0)))
    monkeypatch.setattr(datasets, "load", lambda _: no_features)
    with pytest.raises(ValueError, match="ecoli has labels and no features"):
        load_examples(spec)


def test_equal_rows_have_equal_digests_and_others_do_not(examples):
    e = examples[0]
    assert isinstance(e, Examples)
    assert e.digest() == dataclasses.replace(e, name="other").digest()
    changed = e.y.copy()
    changed[0] ^= 1
    assert e.digest() != dataclasses.replace(e, y=changed).digest()
