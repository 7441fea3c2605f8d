"""The scikit-learn contract, and what users do with it."""

import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oneof
from learners import coefs
from oneof.catalogue import LEARNERS
from oneof.metrics import neg_ambiguous_loss, neg_avg_hinge, neg_max_hinge

ESTIMATORS = list(LEARNERS.values())
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)

CHECKS = """
import sys, warnings
import oneof
from sklearn.utils.estimator_checks import check_estimator
# scikit-learn lists these two for its own SGDClassifier: a weighted step is not a repeated one.
reason = "a row of weight 2 is one round with a double step, not two rounds"
expected = {
    "check_sample_weight_equivalence_on_dense_data": reason,
    "check_sample_weight_equivalence_on_sparse_data": reason,
}
for name in sys.argv[1:]:
    results = check_estimator(
        getattr(oneof, name)(), expected_failed_checks=expected, on_skip=None, on_fail=None
    )
    for r in results:
        if r["status"] not in ("passed", "xfail"):
            print(name, r["status"], r["check_name"], repr(r["exception"]))
    print(name, "checked", len(results), sum(r["status"] == "xfail" for r in results))
"""


def test_scikit_learns_checks_pass_with_the_array_api():
    """In a process of its own: SciPy reads SCIPY_ARRAY_API when it is imported."""
    names = [e.__name__ for e in ESTIMATORS]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECKS, *names],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[name, "checked"] for name in names], (
        done.stdout
    )
    for line in lines:
        n_checks, n_expected = map(int, line.split()[2:])
        assert n_checks > 50
        assert n_expected == 2


@pytest.fixture(scope="module")
def problem():
    """Four blobs; each row's set is its class and one distractor."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=400)
    X = 3 * np.eye(4)[y] @ rng.normal(size=(4, 6)) + rng.normal(size=(400, 6))
    Y = [{int(k), int((k + rng.integers(1, 4)) % 4)} for k in y]
    return X, Y, y


@every_estimator
def test_learns_the_truth_from_ambiguous_labels(estimator, problem):
    X, Y, y = problem
    model = make_pipeline(StandardScaler(), estimator(random_state=0)).fit(X, Y)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.score(X, Y) >= model.score(X, y) > 0.9


@every_estimator
def test_every_form_of_y_is_the_same(estimator, problem):
    X, Y, _ = problem
    packed = oneof.CandidateSets.from_sets(Y)
    forms = [Y, [sorted(s) for s in Y], packed, packed.to_indicator(), packed.to_indicator(True)]
    models = [estimator().partial_fit(X, form, classes=range(4)).model_ for form in forms]
    for model in models[1:]:
        np.testing.assert_array_equal(coefs(model), coefs(models[0]))


@every_estimator
@pytest.mark.parametrize("scorer", [neg_ambiguous_loss, neg_avg_hinge, neg_max_hinge])
def test_grid_search_on_candidate_sets(estimator, problem, scorer):
    X, Y, _ = problem
    name = next(p for p in ("eta0", "alpha", "C", "rate") if p in estimator().get_params())
    grid = {f"{estimator.__name__.lower()}__{name}": [0.01, 1.0]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimator(random_state=0)), grid, scoring=scorer, n_jobs=2
    )
    search.fit(X, oneof.CandidateSets.from_sets(Y))
    assert -1 < search.best_score_ <= 0


def test_splits_and_cross_validation_take_candidate_sets(problem):
    X, Y, _ = problem
    Y = oneof.CandidateSets.from_sets(Y)
    scores = cross_val_score(oneof.AvgPegasos(random_state=0), X, Y, cv=3)
    assert np.all(scores > 0.8)
    X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
    assert oneof.AvgPegasos(random_state=0).fit(X_train, Y_train).score(X_test, Y_test) > 0.8


def test_frames_keep_their_names(problem):
    X, Y, _ = problem
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names)
    model = oneof.AvgPerceptron(random_state=0).fit(frame, Y)
    assert model.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"a": "z"}), Y)


def test_candidates_as_a_series_and_a_frame(problem):
    X, Y, _ = problem
    indicator = oneof.CandidateSets.from_sets(Y).to_indicator()
    frame = pd.DataFrame(indicator, columns=range(4))
    models = [oneof.MaxPegasos().partial_fit(X, form) for form in (pd.Series(Y), frame, indicator)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


@every_estimator
def test_stored_by_pickle_and_joblib(estimator, problem, tmp_path):
    X, Y, _ = problem
    average = {} if estimator is oneof.Hedge else {"average": True}
    model = estimator(**average, random_state=0).fit(X.astype(np.float32), Y)
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        copy.partial_fit(X, Y)
        assert copy.t_ == model.t_ + len(X)


def test_float32_stays_and_everything_else_is_float64():
    for given, kept in [
        ("f4", "f4"),
        ("f8", "f8"),
        ("i8", "f8"),
        ("u1", "f8"),
        (">f4", "f8"),
        ("f2", "f8"),
    ]:
        X = np.array([[1, 0], [0, 1]], dtype=given)
        model = oneof.AvgPegasos().partial_fit(X, ["a", "b"])
        assert model.coef_.dtype == kept
        assert model.decision_function(X).dtype == kept


def test_two_classes_have_one_decision_and_two_weight_columns():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = oneof.MaxPerceptron(random_state=0).fit(X, ["a", "b"])
    assert model.coef_.shape == (2, 2)
    s = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), s[:, 1] - s[:, 0])
    assert model.predict(X).tolist() == ["a", "b"]


def test_one_class_alone_is_never_a_mistake():
    X = np.ones((3, 2))
    model = oneof.AvgPegasos().fit(X, ["only"] * 3)
    assert model.predict(X).tolist() == ["only"] * 3
    assert (model.n_mistakes_, model.n_updates_) == (0, 0)
    assert model.decision_function(X).shape == (3, 1)
    assert not model.coef_.any()


def test_progressive_predictions_come_before_learning(problem):
    X, Y, _ = problem
    model, twin = oneof.AvgPegasos(), oneof.AvgPegasos()
    predictions = model.progressive_fit(X, Y, classes=range(4))
    for i in range(len(X)):
        if i:
            assert twin.predict(X[i : i + 1])[0] == predictions[i]
        twin.partial_fit(X[i : i + 1], [Y[i]], classes=range(4))
    assert model.n_mistakes_ == sum(k not in s for k, s in zip(predictions, Y, strict=True))


def test_fit_shuffles_by_seed_and_starts_warm(problem):
    X, Y, _ = problem
    first, second = (oneof.MaxPerceptron(max_iter=3, random_state=1).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    other = oneof.MaxPerceptron(max_iter=3, random_state=2).fit(X, Y)
    assert not np.array_equal(first.coef_, other.coef_)
    in_order = oneof.MaxPerceptron(max_iter=1, shuffle=False).fit(X, Y)
    np.testing.assert_array_equal(in_order.coef_, oneof.MaxPerceptron().partial_fit(X, Y).coef_)
    assert first.n_iter_ == 3
    assert first.fit(X, Y).t_ == 3 * len(X)
    assert first.set_params(warm_start=True).fit(X, Y).t_ == 6 * len(X)


def test_sample_weight_multiplies_the_step():
    X, Y = np.array([[1.0, 2.0]]), [{0}]
    for weight in (0.0, 0.5, 3.0):
        model = oneof.AvgPerceptron(eta0=2.0)
        model.partial_fit(X, Y, classes=[0, 1], sample_weight=[weight])
        np.testing.assert_allclose(model.coef_, weight * np.array([[2.0, 4.0], [-2.0, -4.0]]))
        assert model.t_ == 1


def fitted():
    return oneof.AvgPegasos(alpha=0.5).partial_fit(
        [[1.0, 0.0], [0.0, 1.0]], [{"a"}, {"b"}], classes=["a", "b", "c"]
    )


GOOD_X = [[1.0, 2.0], [3.0, 4.0]]
BAD = {
    "an unknown label": ((GOOD_X, [{"a"}, {"z"}]), r"row 1: label 'z' is not among the 3 classes"),
    "an empty set": ((GOOD_X, [{"a"}, set()]), r"row 1"),
    "a wrong length": ((GOOD_X, [{"a"}]), r"X has 2 rows, but y has 1 candidate sets"),
    "too few features": (([[1.0], [2.0]], [{"a"}, {"b"}]), r"expecting 2 features"),
    "a NaN": (([[1.0, 2.0], [3.0, np.nan]], [{"a"}, {"b"}]), r"contains NaN at row 1, column 1"),
    "text": (([["x", "y"], ["z", "w"]], [{"a"}, {"b"}]), r"could not convert string to float"),
    "no rows": ((np.empty((0, 2)), []), r"0 sample"),
    "growing classes": ((GOOD_X, [{"a"}, {"b"}], ["a", "b", "c", "d"]), r"classes are .*'d'\] now"),
    "a negative weight": ((GOOD_X, [{"a"}, {"b"}], None, [1.0, -1.0]), r"[Nn]egative"),
    "an infinite weight": ((GOOD_X, [{"a"}, {"b"}], None, [1.0, np.inf]), r"infinity"),
    "weights for other rows": ((GOOD_X, [{"a"}, {"b"}], None, [1.0]), r"sample_weight.shape"),
    "a wide indicator": ((GOOD_X, np.ones((2, 4))), r"4 columns, but there are 3 classes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_batches_change_nothing(case):
    arguments, message = BAD[case]
    model = fitted()
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*arguments)
    assert pickle.dumps(model) == before
    fresh = oneof.AvgPegasos()
    if case not in ("too few features", "growing classes", "an unknown label", "a wide indicator"):
        with pytest.raises(ValueError, match=r"."):
            fresh.partial_fit(arguments[0], arguments[1], ["a", "b", "c"], *arguments[3:])
        assert vars(fresh) == vars(oneof.AvgPegasos())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a finite number above 0, not 0.0"),
        ({"alpha": np.inf}, "alpha must be a finite number above 0"),
        ({"shrink": "sometimes"}, "shrink must be 'on-loss' or 'always', not 'sometimes'"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1, not 0"),
        ({"max_iter": 1.5}, "max_iter must be an integer of at least 1, not 1.5"),
        ({"average": "yes"}, "average must be True or False, not 'yes'"),
        ({"average": True}, "average was False when this model began and is True now"),
        ({"fit_intercept": False}, "fit_intercept was True when this model began and is False now"),
    ],
)
def test_bad_parameters_change_nothing(parameters, message):
    model = fitted()
    before = pickle.dumps(model.model_)
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).partial_fit(GOOD_X, ["a", "b"])
    assert pickle.dumps(model.model_) == before


def test_parameters_may_change_between_calls():
    model = fitted().set_params(alpha=100.0)
    model.partial_fit(GOOD_X, ["a", "b"])
    assert np.linalg.norm(np.column_stack([model.coef_, model.intercept_])) <= 0.1 + 1e-12


def test_unfitted_and_refused():
    model = oneof.MaxPegasos()
    for ask in (lambda: model.predict(GOOD_X), lambda: model.coef_, lambda: model.t_):
        with pytest.raises(ValueError, match="not fitted"):
            ask()
    with pytest.raises(ValueError, match="contains infinity at row 0, column 1"):
        fitted().predict([[1.0, np.inf]])
    with pytest.raises(ValueError, match="row 1 of X: its scores overflow"):
        fitted().predict([[1.0, 1.0], [1.7e308, -1.7e308]])


def test_csr_rows_unsorted_and_repeated_are_summed():
    X = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 0, 1], [0, 3, 4]), shape=(2, 3))
    assert not X.has_canonical_format
    tidy = X.toarray()
    for average in (False, True):
        model = oneof.AvgPegasos(average=average).partial_fit(X, ["a", "b"])
        np.testing.assert_array_equal(
            model.coef_,
            oneof.AvgPegasos(average=average).partial_fit(sparse.csr_array(tidy), ["a", "b"]).coef_,
        )
        np.testing.assert_allclose(model.decision_function(X), model.decision_function(tidy))
    assert X.indices.tolist() == [2, 0, 0, 1]


def test_other_sparse_formats_and_mixed_index_types():
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    expected = oneof.MaxPegasos().partial_fit(X, ["a", "b"]).coef_
    mixed = sparse.csr_array(X)
    mixed.indptr = mixed.indptr.astype(np.int64)
    for form in (sparse.coo_matrix(X), sparse.csc_array(X), sparse.lil_array(X), mixed):
        np.testing.assert_allclose(oneof.MaxPegasos().partial_fit(form, ["a", "b"]).coef_, expected)


def test_inside_scikit_learns_own_meta_estimators(problem):
    X, _, y = problem
    model = OneVsRestClassifier(oneof.AvgPegasos(random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.8


def test_clone_forgets_the_model(problem):
    X, Y, _ = problem
    model = oneof.AvgPerceptron(eta0=0.5).fit(X, Y)
    assert vars(clone(model)) == vars(oneof.AvgPerceptron(eta0=0.5))
