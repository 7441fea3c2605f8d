"""Features and classes that come late: what they change, and what they must not."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from learners import EVERYONE, LEARNERS, as_form, coefs, models_of, streams
from oneof import _kernels
from oneof.candidates import candidate_sets
from oneof.rows import Rows

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])
everyone = pytest.mark.parametrize("learner", EVERYONE, ids=lambda learner: learner.name)
averaging = pytest.mark.parametrize("average", [False, True])


def model_of(learner, n_classes, n_features, dtype=np.float64, **shared):
    estimator = learner.make(**shared)
    made = estimator.learner()
    return estimator.new_model(made, n_classes, n_features, dtype, is_centred=False)


def learn(model, X, sets, form="dense", **options):
    candidates = candidate_sets(sets, np.arange(model.n_classes))
    return model.learn(Rows(as_form(X.astype(model.dtype), form)), candidates, **options)


def logical(model):
    """Everything the model will ever use again, without padding and room."""
    return {name: np.ascontiguousarray(part).tobytes() for name, part in model.state().items()}


def is_tidy(model):
    """Padding and room are 0, as every growth relies on."""
    for one in models_of(model):
        halves = one._weights.reshape(len(one._weights), -1, one._stride)
        if halves[:, :, one.n_classes :].any() or one._room[len(halves) :].any():
            return False
    return True


@everyone
@every_type
@averaging
@settings(max_examples=8)
@given(stream=streams(), form=st.sampled_from(["dense", "csr32"]), data=st.data())
def test_a_late_feature_was_0_before(learner, dtype, average, stream, form, data):
    X, n = stream.X.copy(), len(stream.X)
    d = X.shape[1]
    known = np.sort(data.draw(st.lists(st.integers(0, d), min_size=n, max_size=n)))
    known[-1] = d
    X[np.arange(d) >= known[:, None]] = 0  # row i has the first known[i] features
    from_the_start = model_of(learner, stream.n_classes, d, dtype, average=average)
    late = model_of(learner, stream.n_classes, 0, dtype, average=average)
    expected = learn(from_the_start, X, stream.sets, form, is_progressive=True)
    for x, Y, n_known, k in zip(X, stream.sets, known, expected, strict=True):
        late.grow(int(n_known), stream.n_classes)
        assert learn(late, x[None, :n_known], [Y], form, is_progressive=True)[0] == k
    assert late.n_features == d
    assert logical(late) == logical(from_the_start)
    assert is_tidy(late)
    rows = Rows(as_form(X.astype(dtype), form))
    assert late.scores(rows).tobytes() == from_the_start.scores(rows).tobytes()


@everyone
@every_type
@averaging
@settings(max_examples=8)
@given(
    stream=streams(n_classes=st.integers(2, 70)),
    steps=st.lists(st.integers(0, 40), min_size=1, max_size=5),
)
def test_a_late_class_was_never_seen_before(learner, dtype, average, stream, steps):
    """Grown step by step, the model is one that was made with all classes and given the weights."""
    K, d = stream.n_classes, stream.X.shape[1]
    grown = model_of(learner, K, d, dtype, average=average)
    learn(grown, stream.X, stream.sets)
    before = coefs(grown)
    n_classes = K
    for step in steps:
        n_classes += step
        grown.grow(d, n_classes)
    estimator = learner.make(average=average)
    made = estimator.model_of(estimator.learner(), grown.state())
    assert is_tidy(grown)
    assert logical(made) == logical(grown)
    for W, kept in zip(coefs(grown), before, strict=True):
        np.testing.assert_array_equal(W[:, :K], kept)
        assert not W[:, K:].any()
    sets = [{(k + i) % n_classes for k in Y} for i, Y in enumerate(stream.sets)]
    for model in (made, grown):
        learn(model, stream.X, sets, "csr32")
    assert logical(grown) == logical(made)
    assert is_tidy(grown)
    rows = Rows(stream.X.astype(dtype))
    assert grown.scores(rows).tobytes() == made.scores(rows).tobytes()


@every_learner
@pytest.mark.parametrize("form", ["dense", "csr32"])
@settings(max_examples=8)
@given(stream=streams(n_classes=st.integers(3, 20), full_sets=False))
def test_the_reference_with_columns_added_says_the_same(learner, form, stream):
    """W gets a column of zeros when a class comes: from there on the paper's round is the same."""
    K = 1
    model = model_of(learner, K, stream.X.shape[1], fit_intercept=False)
    W = np.zeros((stream.X.shape[1], K))
    for t, (x, Y) in enumerate(zip(stream.X, stream.sets, strict=True), start=1):
        K = max(K, *(k + 1 for k in Y))
        W = np.column_stack([W, np.zeros((len(W), K - W.shape[1]))])
        model.grow(len(W), K)
        predicted = learn(model, x[None], [Y], form, is_progressive=True)[0]
        s = reference.scores(W, x)
        tolerance = 1e-12 * (1 + np.abs(x) @ np.abs(W).max(axis=1, initial=0))
        assert s[predicted] >= s.max() - tolerance
        expected, _ = learner.step(W, x, Y, t)
        after = model.weights()[0].T
        if np.abs(after - expected).max(initial=0) > 1e-9 * (1 + np.abs(expected).max(initial=0)):
            tops = np.sort(s)[::-1]
            near = [abs(1 - reference.margin(learner.term, s, Y)), tops[0] - tops[1]]
            others = np.sort(s[reference.rivals(s, Y)])[::-1]
            near += [others[0] - others[1]] if len(others) > 1 else []
            mine = np.sort(s[list(Y)])[::-1]
            near += [mine[0] - mine[1]] if len(mine) > 1 else []
            assert min(near) < tolerance  # rounding alone decided
        W = after


@everyone
@averaging
@settings(max_examples=6)
@given(stream=streams(n_classes=st.integers(2, 12)), data=st.data())
def test_growing_one_by_one_or_at_once_and_stored_between(learner, average, stream, data):
    X, sets, d = stream.X, stream.sets, stream.X.shape[1]
    K = stream.n_classes + data.draw(st.integers(0, 60))
    one, many = (model_of(learner, stream.n_classes, d, average=average) for _ in range(2))
    learn(one, X, sets)
    learn(many, X, sets)
    one.grow(d + 20, K)
    for k in range(stream.n_classes, K + 1):
        many.grow(d, k)
    many = pickle.loads(pickle.dumps(many))
    for n in range(21):
        many.grow(d + n, K)
    wide = np.column_stack([X, np.ones((len(X), 20))])
    for model in (one, many):
        learn(model, wide, sets)
    assert logical(one) == logical(many)


def test_weights_stay_where_they_are_while_there_is_room():
    model = model_of(LEARNERS[0], 3, 1)
    moves = 0
    for n in range(2, 3000):
        room = model._room
        model.grow(n, 3)
        moves += model._room is not room
    assert moves <= 12
    for K in range(4, 3000):
        room = model._room
        model.grow(2999, K)
        moves += model._room is not room
    assert moves <= 12 + 2 + 9


def test_features_without_weights_do_not_move_the_refresh_of_the_norm():
    """A model made for 100 000 features and one made for 3 refresh ‖W‖² at the same round."""
    learner = next(one for one in LEARNERS if one.name == "max-pegasos")
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(2**14 + 5, 3)), [{int(k)} for k in rng.integers(0, 4, 2**14 + 5)]
    for K in (4, 9):
        narrow, wide = (model_of(learner, K, d, average=False) for d in (3, 100_000))
        for model in (narrow, wide):
            learn(model, X, sets)
        wide._weights = wide._weights[: len(narrow._weights)]
        assert logical(narrow) == logical(wide)


@pytest.mark.parametrize("learner", [LEARNERS[0], EVERYONE[-1]], ids=lambda one: one.name)
@pytest.mark.parametrize(("n_features", "n_classes"), [(2, 4), (3, 3)])
def test_a_model_does_not_shrink(learner, n_features, n_classes):
    model = model_of(learner, 4, 3)
    learn(model, np.eye(3), [{0}, {1}, {2}])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="3 features and 4 classes cannot shrink to"):
        model.grow(n_features, n_classes)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("learner", [LEARNERS[0], EVERYONE[-1]], ids=lambda one: one.name)
def test_no_memory_changes_nothing(learner):
    model = model_of(learner, 4, 3, scale="standardize")
    before = pickle.dumps(model)
    with pytest.raises(MemoryError):
        model.grow(2**55, 4)
    assert pickle.dumps(model) == before
    learn(model, np.eye(3), [{0}, {1}, {2}])


def test_a_team_whose_last_part_cannot_grow_stays_as_it_was(monkeypatch):
    model = model_of(EVERYONE[-1], 4, 3, scale="standardize")
    learn(model, np.eye(3), [{0}, {1}, {2}])
    before = pickle.dumps(model)
    last = models_of(model)[-1]
    grow = type(last).grow

    def fail_at_last(self, n_features, n_classes):
        if self is last:
            raise MemoryError
        grow(self, n_features, n_classes)

    monkeypatch.setattr(type(last), "grow", fail_at_last)
    with pytest.raises(MemoryError):
        model.grow(5, 6)
    monkeypatch.undo()
    assert pickle.dumps(model) == before
    assert (model.n_classes, {one.n_features for one in models_of(model)}) == (4, {3})
    learn(model, np.eye(3), [{3}, {1}, {2}])


def test_the_kernels_take_wide_strides_beyond_a_cache_line_only():
    def weights(n_classes, width, is_averaged=False):
        room = np.zeros(3 * width * 8 + 64, dtype=np.uint8)
        start = -room.ctypes.data % 64
        array = room[start : start + 3 * width * 8].view(np.float64).reshape(3, width)
        scale, counters = np.ones(3), np.zeros(3, dtype=np.int64)
        return _kernels.Weights(array, scale, counters, n_classes, True, is_averaged)

    weights(9, 16), weights(9, 24), weights(9, 48, is_averaged=True)
    for n_classes, width in ((2, 4), (8, 16), (9, 20), (9, 8)):
        with pytest.raises(ValueError, match="aligned, contiguous and padded"):
            weights(n_classes, width)
    with pytest.raises(ValueError, match="aligned, contiguous and padded"):
        weights(9, 33, is_averaged=True)
