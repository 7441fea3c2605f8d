"""scale="standardize": rows against their moments computed afresh, at the edges, in all forms."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import oneof
from learners import LEARNERS, as_form, streams

every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def standardized(X):
    """Each row by the mean and deviation of the rows up to and with it; 0 where nothing varied."""
    Z = np.zeros(X.shape)
    for t in range(1, len(X) + 1):
        seen = X[:t].astype(np.float64)
        deviation = seen.std(axis=0)
        is_varied = (seen != seen[0]).any(axis=0)
        np.divide(seen[-1] - seen.mean(axis=0), deviation, out=Z[t - 1], where=is_varied)
    return Z


def divided(X):
    """Each row by the root mean square of the rows up to and with it."""
    roots = np.sqrt(np.cumsum(X.astype(np.float64) ** 2, axis=0))
    n = np.arange(1, len(X) + 1)[:, None]
    return np.divide(X * np.sqrt(n), roots, out=np.zeros(X.shape), where=roots > 0)


def plain_stream(seed=0, n=60, d=11, K=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + 10 * rng.normal(size=d)
    X[rng.random((n, d)) < 0.3] = 0
    sets = [set(rng.choice(K, size=2, replace=False).tolist()) for _ in X]
    return X.astype(np.float32).astype(np.float64), sets, np.arange(K)


def models(X, Z, sets, classes, dtype=np.float64, form="dense", **parameters):
    """One that scales the rows, and one that gets them scaled."""
    ours = oneof.CandidateLogistic(scale="standardize", **parameters)
    theirs = oneof.CandidateLogistic(**parameters)
    ours.partial_fit(as_form(X.astype(dtype), form), sets, classes=classes)
    return ours, theirs.partial_fit(Z.astype(dtype), sets, classes=classes)


@every_type
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("form", ["dense", "fortran", "strided"])
def test_dense_rows_are_centred_and_scaled(dtype, average, form):
    X, sets, classes = plain_stream()
    ours, theirs = models(X, standardized(X), sets, classes, dtype, form, average=average)
    tolerance = 2e-3 if dtype == np.float32 else 1e-10
    W, V = (m.model_._weights[:, :5] for m in (ours, theirs))
    np.testing.assert_allclose(W, V, rtol=0, atol=tolerance * np.abs(V).max())
    assert ours.n_mistakes_ == theirs.n_mistakes_
    scaler = StandardScaler().fit(X)
    np.testing.assert_allclose(ours.mean_, scaler.mean_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.scale_, np.sqrt(scaler.var_), rtol=1e-12)
    scores = theirs.decision_function(scaler.transform(X).astype(dtype))
    room = tolerance * (1 + np.abs(scores).max())
    np.testing.assert_allclose(ours.decision_function(X.astype(dtype)), scores, atol=room)


@every_type
@pytest.mark.parametrize("form", ["csr32", "csr64"])
def test_sparse_rows_are_scaled_only(dtype, form):
    X, sets, classes = plain_stream()
    ours, theirs = models(X, divided(X), sets, classes, dtype, form)
    tolerance = 2e-3 if dtype == np.float32 else 1e-10
    W, V = (m.model_._weights[:, :5] for m in (ours, theirs))
    np.testing.assert_allclose(W, V, rtol=0, atol=tolerance * np.abs(V).max())
    np.testing.assert_array_equal(ours.mean_, 0)
    np.testing.assert_allclose(ours.scale_, np.sqrt((X**2).mean(axis=0)), rtol=1e-12)


@every_type
@pytest.mark.parametrize("first", ["dense", "csr32"])
def test_the_first_rows_decide_and_the_others_follow(dtype, first):
    """A model that began dense centres sparse rows as well, and the other way round."""
    X, sets, classes = plain_stream()
    X = X.astype(dtype)
    results = []
    for forms in ((first,) * 4, (first, "dense", "csr64", "strided"), (first, "csr32", *FORMS[:2])):
        model = oneof.AvgPegasos(scale="standardize")
        for part, form in zip(np.array_split(np.arange(60), 4), forms, strict=True):
            model.partial_fit(as_form(X[part], form), [sets[i] for i in part], classes=classes)
        results.append(model)
        np.testing.assert_array_equal(model.predict(X), model.predict(as_form(X, "csr32")))
    for other in results[1:]:
        np.testing.assert_array_equal(other.model_._moments, results[0].model_._moments)
        np.testing.assert_array_equal(other.coef_, results[0].coef_)


FORMS = ["dense", "fortran"]


@every_type
@pytest.mark.parametrize("form", ["dense", "csr32"])
def test_coefficients_are_those_of_the_rows_as_they_come(dtype, form):
    X, sets, classes = plain_stream()
    for learner in LEARNERS:
        for average in (False, True):
            model = learner.make(scale="standardize", average=average)
            rows = as_form(X.astype(dtype), form)
            model.partial_fit(rows, sets, classes=classes)
            scores = X @ model.coef_.T.astype(float) + model.intercept_
            size = np.abs(X) @ np.abs(model.coef_.T) + np.abs(model.intercept_)
            eps = 64 * np.finfo(dtype).eps
            room = eps * (1 + size.max() + np.abs(model.model_._weights).max() * 30)
            np.testing.assert_allclose(model.decision_function(rows), scores, rtol=0, atol=room)


def test_features_that_do_not_vary_count_as_0():
    X, sets, classes = plain_stream()
    X[:, 3], X[:, 4] = 0.1, 0.0
    model = oneof.AvgPerceptron(scale="standardize").partial_fit(X, sets, classes=classes)
    assert not model.coef_[:, [3, 4]].any()
    assert model.scale_[3] == model.scale_[4] == 0
    row = X[:1].copy()
    row[0, 3] = 1e6
    np.testing.assert_array_equal(model.decision_function(row), model.decision_function(X[:1]))


def test_the_first_row_moves_the_intercept_only():
    model = oneof.AvgPerceptron(scale="standardize").partial_fit(
        [[5.0, -3.0]], [{0}], classes=[0, 1]
    )
    assert not model.coef_.any()
    assert model.intercept_.tolist() == [1.0, -1.0]
    bare = oneof.AvgPerceptron(scale="standardize", fit_intercept=False)
    bare.partial_fit([[5.0, -3.0]], [{0}], classes=[0, 1])
    assert not bare.coef_.any()


def test_large_means_keep_their_digits():
    """Welford's update, not Σx² − (Σx)²/n, which has none left here."""
    rng = np.random.default_rng(0)
    X = 1e9 + rng.normal(size=(500, 3))
    model = oneof.AvgPerceptron(scale="standardize").partial_fit(X, [{0}] * 500, classes=[0, 1])
    np.testing.assert_allclose(model.scale_, X.std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-100, 1e-30, 1.0, 1e30, 1e100])
@pytest.mark.parametrize("form", ["dense", "csr32"])
def test_units_do_not_matter(unit, form):
    X, sets, classes = plain_stream()
    a, b = (
        oneof.MaxPerceptron(scale="standardize").partial_fit(
            as_form(x, form), sets, classes=classes
        )
        for x in (X, X * unit)
    )
    np.testing.assert_allclose(a.coef_, b.coef_ * unit, rtol=1e-6, atol=1e-9)


def test_values_that_overflow_the_spread_change_nothing():
    X, sets, classes = plain_stream()
    for form in ("dense", "csr32"):
        model = oneof.AvgPerceptron(scale="standardize").partial_fit(
            as_form(X, form), sets, classes=classes
        )
        before = pickle.dumps(model)
        for n in (1, 60):
            bad = X[:n].copy()
            bad[n - 1, 2] = 1e200
            with pytest.raises(ValueError, match="scores overflow"):
                model.partial_fit(as_form(bad, form), sets[:n])
            assert pickle.dumps(model) == before


def test_the_scale_is_not_changed_midway():
    X, sets, classes = plain_stream()
    model = oneof.AvgPerceptron().partial_fit(X, sets, classes=classes)
    with pytest.raises(AttributeError, match='mean_ is there with scale="standardize" only'):
        _ = model.mean_
    with pytest.raises(ValueError, match="scale was none when this model began and is standardize"):
        model.set_params(scale="standardize").partial_fit(X, sets)
    with pytest.raises(ValueError, match="scale must be 'none' or 'standardize', not 'minmax'"):
        oneof.AvgPerceptron(scale="minmax").partial_fit(X, sets)


@settings(max_examples=20)
@given(stream=streams(), data=st.data())
def test_late_features_were_0_before(stream, data):
    """A model that grows has the bits of one that had all features from the start."""
    d = stream.X.shape[1]
    cut, known = data.draw(st.integers(0, len(stream.X))), data.draw(st.integers(0, d))
    X = stream.X.copy()
    X[:cut, known:] = 0
    rows = [{f"x{j}": v for j, v in enumerate(x) if v or j < known} for x in X]
    names = {f"x{j}": 0.0 for j in range(d)}
    late, early = (oneof.OpenClassifier(oneof.AvgPerceptron(scale="standardize")) for _ in range(2))
    early.learn_one(names, set(range(stream.n_classes)))
    late.learn_one({}, set(range(stream.n_classes)))
    for row, Y in zip(rows, stream.sets, strict=True):
        late.learn_one(row, Y)
        early.learn_one(row, Y)
    for row in rows:
        ours, theirs = late.scores_one(row), early.scores_one(row)
        assert ours.keys() == theirs.keys()
        np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-9, atol=1e-9)


def test_dicts_frames_and_sparse_rows_scale_alike():
    X, sets, classes = plain_stream(d=4)
    one = oneof.OpenClassifier(oneof.AvgPegasos(scale="standardize"), classes=classes)
    for x, Y in zip(X, sets, strict=True):
        one.learn_one(dict(enumerate(x)), Y)
    with pytest.raises(ValueError, match="overflow"):
        one.learn_one({0: 1e200}, {1})
    array = oneof.AvgPegasos(scale="standardize")
    array.partial_fit(sparse.csr_array(X), sets, classes=classes)
    np.testing.assert_array_equal(one.model_.state()["moments"], array.model_.state()["moments"])
    np.testing.assert_array_equal(one.model_.weights()[0], array.coef_)


def test_scaling_helps_where_features_differ_in_size():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = (np.eye(3)[y] * 2 + rng.normal(size=(600, 3))) * [1.0, 100.0, 1e-3] + [0.0, 1e3, 0.0]
    Y = [{int(k), int((k + rng.integers(1, 3)) % 3)} for k in y]
    right = {}
    for scale in ("none", "standardize"):
        model = oneof.AvgPerceptron(scale=scale, average=True).partial_fit(X, Y, classes=range(3))
        right[scale] = (model.predict(X) == y).mean()
    assert right["standardize"] > 0.8 > right["none"] + 0.1
