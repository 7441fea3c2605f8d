"""Numbers at their limits, and what must not depend on how a stream reaches the model."""

import numpy as np
import pytest
from scipy import sparse

import oneof
import reference
from oneof.candidates import candidate_sets
from oneof.model import OnlineModel
from oneof.rows import Rows
from oneof.rules import Learner

SHARED = {
    "fit_intercept": False, "max_iter": 1, "shuffle": False, "average": False, "scale": "none",
    "warm_start": False,
}  # fmt: skip
PERCEPTRON = {"eta0": 1.0, "update": "margin", **SHARED}
PEGASOS = {"alpha": 0.01, "shrink": "on-loss", **SHARED}


def model_of(loss, rule, n_classes, n_features, dtype=np.float64, **parameters):
    defaults = PEGASOS if rule == "pegasos" else PERCEPTRON
    learner = Learner.make(loss, rule, {**defaults, **parameters})
    return OnlineModel(learner, n_classes, n_features, dtype, False)


def norm2_of(model):
    V = model._weights[:, : model.n_classes].astype(float)
    return model._scale[0] ** 2 * np.sum(V**2)


def random_stream(n, d, K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sets = [set(rng.choice(K, size=min(2, K), replace=False).tolist()) for _ in range(n)]
    return X, sets


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
def test_the_scale_is_folded_before_it_underflows(dtype, average):
    """λ so large that every round shrinks W a thousandfold: 2000 rounds are 10⁻⁶⁰⁰⁰ unfolded."""
    X, sets = random_stream(2000, 5, 4)
    X *= 1e3
    model = model_of("avg", "pegasos", 4, 5, dtype, alpha=1e-3, average=average)
    model.learn(Rows(X.astype(dtype)), candidate_sets(sets, range(4)))
    smallest = 2.0**-6 if average else {np.float32: 2.0**-60, np.float64: 2.0**-100}[dtype]
    assert smallest <= model._scale[0] <= 1
    W = np.zeros((5, 4))
    W_last, _, _, _, W_bar = reference.learn(X, sets, 4, "avg", "pegasos", alpha=1e-3)
    W = (model._weights[:, :4] * model._scale[0]).astype(float)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    if dtype == np.float64:  # float32 takes another way at the first near-tie
        np.testing.assert_allclose(W, W_last, rtol=0, atol=tolerance * np.abs(W_last).max())
        if average:
            np.testing.assert_allclose(
                model.weights()[0].T, W_bar, rtol=0, atol=tolerance * np.abs(W_bar).max()
            )
    assert np.linalg.norm(W) <= (1 + tolerance) / np.sqrt(1e-3)


def test_always_shrinking_for_long_keeps_the_weights():
    """After the only update every round shrinks: W after t rounds is (k/t)·W after round k."""
    model = model_of("avg", "pegasos", 2, 1, shrink="always", alpha=0.5)
    model.learn(Rows(np.array([[1.0]])), candidate_sets([{0}], range(2)))
    first = model.weights()[0].copy()
    n = 1_000_000
    zero = sparse.csr_array((np.zeros(0), np.zeros(0, np.int32), np.zeros(n + 1, np.int32)), (n, 1))
    full = oneof.CandidateSets(
        range(2), 2 * np.arange(n + 1), np.tile(np.array([0, 1], np.int32), n)
    )
    model.learn(Rows(zero), full)
    np.testing.assert_allclose(model.weights()[0], first / (n + 1), rtol=1e-9)


def test_rounds_beyond_32_bits():
    X, sets = random_stream(50, 3, 4)
    rows, candidates = Rows(X), candidate_sets(sets, range(4))
    model = model_of("avg", "pegasos", 4, 3, shrink="always", average=True)
    model.learn(rows, candidates)
    model._counters[0] = t = 2**31 - 20
    before = model._weights[:, :4] * model._scale[0]
    model.learn(rows, candidates)
    assert model.t == 2**31 + 30
    W = before.copy()
    for i, (x, Y) in enumerate(zip(X, sets, strict=True), start=1):
        W, _ = reference.pegasos(W, x, Y, t + i, "avg", alpha=0.01, shrink="always")
    np.testing.assert_allclose(model._weights[:, :4] * model._scale[0], W, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kept_norm_does_not_drift(dtype):
    """‖W‖² decides the projection; it is kept from round to round and refreshed now and then."""
    X, sets = random_stream(500, 3, 3)
    model = model_of("max", "pegasos", 3, 3, dtype, alpha=1e-4)
    order = np.random.default_rng(1).integers(0, 500, size=2_000_000)
    model.learn(Rows(X.astype(dtype)), candidate_sets(sets, range(3)), order)
    assert model._scale[2] == pytest.approx(norm2_of(model), rel=1e-6)
    assert norm2_of(model) <= 1e4 * (1 + 1e-5)


def test_the_norm_is_refreshed_at_fixed_rounds():
    """A wrong norm is put right at t = 2¹⁴, wherever the calls begin and end."""
    X, sets = random_stream(1, 3, 3)
    rows, candidates = Rows(X), candidate_sets(sets, range(3))
    model = model_of("max", "pegasos", 3, 3)
    model.learn(rows, candidates, np.zeros(2**14 - 1, dtype=np.int64))
    model._scale[2] *= 0.5
    model.learn(rows, candidates)
    assert model._scale[2] == pytest.approx(norm2_of(model), rel=1e-12)


@pytest.mark.parametrize("K", [2, 3, 17, 20_000])
@pytest.mark.parametrize("loss", ["avg", "max"])
@pytest.mark.parametrize("rule", ["perceptron", "pegasos"])
def test_few_and_many_classes(K, loss, rule):
    X, sets = random_stream(6, 3, K)
    for form in (X, sparse.csr_array(X)):
        for average in (False, True):
            model = model_of(loss, rule, K, 3, average=average)
            predictions = model.learn(
                Rows(form), candidate_sets(sets, np.arange(K)), is_progressive=True
            )
            parameters = {"alpha": 0.01} if rule == "pegasos" else {}
            W, expected, n_updates, n_mistakes, W_bar = reference.learn(
                X, sets, K, loss, rule, **parameters
            )
            np.testing.assert_allclose(
                model.weights()[0].T, W_bar if average else W, rtol=1e-9, atol=1e-9
            )
            assert model.n_updates == n_updates
            if not average:
                assert predictions.tolist() == expected
                assert model.n_mistakes == n_mistakes


def test_many_candidates_of_many_classes():
    K = 3000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 4))
    sets = [
        set(rng.choice(K, size=size, replace=False).tolist()) for size in (1, 40, 700, K - 1, K)
    ]
    model = model_of("avg", "perceptron", K, 4)
    model.learn(Rows(X), candidate_sets(sets, np.arange(K)))
    W = reference.learn(X, sets, K, "avg", "perceptron")[0]
    np.testing.assert_allclose(model.weights()[0].T, W, atol=1e-12)
    assert model.n_updates == 4  # all classes are candidates: no rival, no loss


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_feature_zero_rows_and_no_candidates_to_lose_to(form):
    X = np.array([[0.0], [0.0], [2.0], [0.0]])
    sets = [{0}, {1}, {1}, {0, 1, 2}]
    for loss in ("avg", "max"):
        model = model_of(loss, "perceptron", 3, 1)
        model.learn(Rows(form(X)), candidate_sets(sets, range(3)))
        W, _, n_updates, n_mistakes, _ = reference.learn(X, sets, 3, loss, "perceptron")
        np.testing.assert_array_equal(model.weights()[0].T, W)
        assert (model.n_updates, model.n_mistakes) == (n_updates, n_mistakes) == (3, 2)


def test_layouts_of_x_are_read_where_they_lie():
    X, sets = random_stream(40, 12, 5)
    Y = candidate_sets(sets, range(5))
    padded = np.zeros((80, 30))
    padded[::2, 3:27:2] = X
    record = np.zeros((40, 12), dtype=[("flag", "i1"), ("value", "f8")])
    record["value"] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    forms = [np.asfortranarray(X), padded[::2, 3:27:2], X[::-1][::-1], frozen, record["value"]]
    expected = model_of("avg", "pegasos", 5, 12)
    expected.learn(Rows(X), Y)
    for form in forms:
        model = model_of("avg", "pegasos", 5, 12)
        rows = Rows(form)
        model.learn(rows, Y)
        np.testing.assert_array_equal(model._weights, expected._weights)
        np.testing.assert_array_equal(model.scores(rows), expected.scores(Rows(X)))


def test_an_order_is_the_rows_taken_in_that_order():
    X, sets = random_stream(30, 4, 5)
    order = np.random.default_rng(3).integers(0, 30, size=100)
    weight = np.random.default_rng(4).random(30)
    Y = candidate_sets(sets, range(5))
    for form in (X, sparse.csr_array(X)):
        drawn, taken = (model_of("max", "pegasos", 5, 4) for _ in range(2))
        p = drawn.learn(Rows(form), Y, order, weight, is_progressive=True)
        q = taken.learn(
            Rows(form[order]), Y[order], sample_weight=weight[order], is_progressive=True
        )
        np.testing.assert_array_equal(drawn._weights, taken._weights)
        np.testing.assert_array_equal(p, q)


def test_few_rows_of_a_large_model_are_checked_beforehand():
    """The weights are too large to copy for a few rows, so the rows are read first."""
    X, sets = random_stream(3, 2000, 50)
    Y = candidate_sets(sets, range(50))
    model = model_of("avg", "perceptron", 50, 2000)
    model.learn(Rows(X), Y)
    before = model._weights.copy(), model._counters.copy()
    X[2, 1500] = np.nan
    with pytest.raises(ValueError, match="contains NaN at row 2, column 1500"):
        model.learn(Rows(X), Y)
    X[2, 1500] = 1e308
    with pytest.raises(ValueError, match="row 1 of X: its scores overflow"):
        model.learn(Rows(np.vstack([X[2], X[2], X[2]])), Y)
    np.testing.assert_array_equal(model._weights, before[0])
    np.testing.assert_array_equal(model._counters, before[1])


def test_huge_but_harmless_values_are_learnt():
    X, sets = random_stream(20, 3, 3)
    for dtype, factor in ((np.float32, 1e12), (np.float64, 1e100)):
        rows = Rows((X * factor).astype(dtype))
        model = model_of("avg", "perceptron", 3, 3, dtype)
        model.learn(rows, candidate_sets(sets, range(3)))
        assert np.isfinite(model.weights()[0]).all()
        assert model.t == 20


def test_a_state_names_everything_and_is_a_view():
    X, sets = random_stream(40, 6, 5)
    model = model_of("avg", "pegasos", 5, 6, average=True)
    model.learn(Rows(X), candidate_sets(sets, range(5)))
    state = model.state()
    assert list(state) == [
        "weights", "sums", "scale", "sums_share", "squared_norm", "t", "n_updates", "n_mistakes"
    ]  # fmt: skip
    assert state["t"] == 40
    assert np.shares_memory(state["weights"], model._weights)
    again = OnlineModel.from_state(model.learner, False, state)
    assert not np.shares_memory(again._weights, model._weights)
    assert again._weights.tobytes() == model._weights.tobytes()
    assert str(again.state()) == str(state)
