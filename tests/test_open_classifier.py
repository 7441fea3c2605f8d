"""Rows as dicts, with features and classes that come when they come."""

import gc
import math
import pickle
import sys
from collections import ChainMap, Counter
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher

import oneof
import reference
from learners import EVERYONE, LEARNERS, coefs, models_of, streams
from oneof import OpenClassifier
from oneof.candidates import candidate_sets
from oneof.rows import Rows, hashed_column

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
everyone = pytest.mark.parametrize("learner", EVERYONE, ids=lambda learner: learner.name)
averaging = pytest.mark.parametrize("average", [False, True])


def as_dicts(X, rng, with_zeros=0.3):
    """Rows as dicts in any order; a value of 0 is written down or left out."""
    dicts = []
    for x in X:
        order = rng.permutation(len(x))
        dicts.append({f"f{j}": float(x[j]) for j in order if x[j] or rng.random() < with_zeros})
    return dicts


def bits(model):
    """Everything that will ever be used again."""
    weights = None if model.model_ is None else model.model_.state()
    weights = weights and {k: np.ascontiguousarray(v).tobytes() for k, v in weights.items()}
    return model.classes_, model.feature_names_, weights


def looped(model, rows, ys):
    for x, y in zip(rows, ys, strict=True):
        model.learn_one(x, y)
    return model


@everyone
@averaging
@settings(max_examples=10)
@given(stream=streams(), seed=st.integers(0, 10**6), intercept=st.booleans())
def test_dicts_and_arrays_learn_the_same_bits(learner, average, stream, seed, intercept):
    rows = as_dicts(stream.X, np.random.default_rng(seed))
    estimator = learner.make(average=average, fit_intercept=intercept)
    model = OpenClassifier(estimator, classes=stream.classes)
    predicted = []
    for x, Y in zip(rows, stream.sets, strict=True):
        predicted.append(model.predict_one(x))
        model.learn_one(x, Y)
    columns = [int(name[1:]) for name in model.feature_names_]
    if not columns:
        return
    X = stream.X[:, columns]
    for form in (X, sparse.csr_array(X)):
        batch = learner.make(average=average, fit_intercept=intercept)
        labels = batch.progressive_fit(form, stream.sets, classes=stream.classes)
        assert labels.tolist() == predicted
        state = {k: np.ascontiguousarray(v).tobytes() for k, v in batch.model_.state().items()}
        assert bits(model) == (list(stream.classes), model.feature_names_, state)
        scores = [list(model.scores_one(x).values()) for x in rows]
        np.testing.assert_array_equal(scores, batch.model_.scores(Rows(X)))


@every_learner
def test_rivers_way_scikit_learns_way_and_the_papers_way_are_one(learner):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 6))
    sets = [set(rng.choice(5, size=rng.integers(1, 4), replace=False).tolist()) for _ in X]
    rows = [{f"f{j}": v for j, v in enumerate(x)} for x in X.tolist()]
    one = looped(OpenClassifier(learner.make(fit_intercept=False), classes=range(5)), rows, sets)
    batch = learner.make(fit_intercept=False).partial_fit(X, sets, classes=np.arange(5))
    W, _, n_updates, n_mistakes, _ = reference.learn(
        X, sets, 5, learner.term, learner.rule, **learner.rule_parameters
    )
    np.testing.assert_array_equal(one.model_.weights()[0], batch.coef_)
    np.testing.assert_allclose(batch.coef_.T, W, rtol=1e-9, atol=1e-9 * np.abs(W).max())
    assert (one.model_.n_updates, one.model_.n_mistakes) == (n_updates, n_mistakes)


@everyone
@averaging
@settings(max_examples=10)
@given(stream=streams(n_classes=st.integers(1, 30)))
def test_labels_become_classes_as_they_come(learner, average, stream):
    """As a model that grows by hand, whose classes are numbered in the order they come."""
    rows = [dict(enumerate(x)) for x in stream.X.tolist()]
    open_ = looped(OpenClassifier(learner.make(average=average)), rows, stream.sets)
    order = []
    for Y in stream.sets:
        order += sorted(Y - set(order))
    assert open_.classes_ == order
    by_hand, known = OpenClassifier(learner.make(average=average)), 0
    by_hand._name_features(open_.feature_names_)
    for x, Y in zip(stream.X[:, open_.feature_names_], stream.sets, strict=True):
        codes = {order.index(label) for label in Y}
        by_hand._name_classes(range(known, max(known, *(code + 1 for code in codes))))
        known = len(by_hand.classes_)
        by_hand._make_room().learn(Rows(x[None]), candidate_sets([codes], np.arange(known)))
    assert bits(open_)[2] == bits(by_hand)[2]


@everyone
@averaging
@pytest.mark.parametrize("max_features", [None, 7, 1000])
@settings(max_examples=6)
@given(stream=streams(n_classes=st.integers(1, 20)), data=st.data())
def test_many_at_once_are_one_by_one(learner, average, max_features, stream, data):
    """Features and classes come in mid-batch, columns in any order, sparse or not."""
    estimator = learner.make(average=average)
    one, many = (OpenClassifier(estimator, max_features=max_features) for _ in range(2))
    n, d = stream.X.shape
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        columns = data.draw(st.permutations(range(d)))[: data.draw(st.integers(0, d))]
        X = pd.DataFrame(stream.X[start:stop, columns], columns=[f"f{j}" for j in columns])
        sets = stream.sets[start:stop]
        looped(one, X.to_dict("records"), sets)
        if columns and data.draw(st.booleans()):
            X = X.astype(pd.SparseDtype(float, 0.0))
        many.learn_many(X, pd.Series(sets, dtype=object))
        assert bits(one) == bits(many)
        assert many.predict_many(X) == [one.predict_one(x) for x in X.to_dict("records")]
        for x, shares in zip(X.to_dict("records"), many.predict_proba_many(X), strict=True):
            assert list(one.predict_proba_one(x).values()) == shares.tolist()


BAD = {
    "NaN": ({"a": 1.0, "b": math.nan}, "x", r"feature 'b' is NaN: leave it out, or impute"),
    "infinity": ({"b": -math.inf}, "x", r"feature 'b' is infinite"),
    "text": ({"b": "red"}, "x", r"feature 'b' is 'red', not a number: leave it out, or encode"),
    "nothing": ({"b": None}, "x", r"feature 'b' is None, not a number"),
    "a list": ({"b": [1.0]}, "x", r"feature 'b' is \[1.0\], not a number"),
    "complex": ({"b": 1j}, "x", r"feature 'b' is 1j, not a number"),
    "a huge integer": ({"b": 10**400}, "x", r"feature 'b' is too large"),
    "new and NaN": ({"new": 1.0, "new too": math.nan}, "z", r"feature 'new too' is NaN"),
    "overflow": ({"a": 1e308, "b": -1e308, "new": 1.0}, {"x", "z"}, r"scores overflow"),
    "no dict": ([1.0, 2.0], "x", r"a row of features is a dict, not \[1.0, 2.0\]"),
    "no row": (None, "x", r"a row of features is a dict, not None"),
    "a float's name": ({"a": 1.0, 2.5: 1.0}, "x", r"2.5 names no feature: strings, integers"),
    "None's name": ({None: 1.0}, "x", r"None names no feature"),
    "an odd tuple": ({("a", 1.5): 1.0}, "x", r"1.5 names no feature"),
    "no candidate": ({"new": 1.0}, set(), r"y has no candidate: give it a label"),
    "no label": ({"new": 1.0}, None, r"Input y contains NaN: y has no label"),
    "a label of another kind": ({"new": 1.0}, 3, r"label 3 is a number, but"),
    "no label at all": ({"new": 1.0}, {"x", 1.5}, r"."),
    "a nested set": ({"new": 1.0}, ["x", ["y"]], r"\['y'\] is not a label"),
    "a mapping": ({"new": 1.0}, {"x": 1}, r"is a mapping"),
}


LARGE_STEPS = [
    oneof.AvgPerceptron(eta0=10),
    oneof.Hedge([oneof.MaxPegasos(scale="standardize"), oneof.AvgPerceptron(eta0=10)]),
]
large_steps = pytest.mark.parametrize("estimator", LARGE_STEPS, ids=lambda e: type(e).__name__)


@large_steps
@pytest.mark.parametrize("max_features", [None, 16])
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_changes_nothing(case, declared, max_features, estimator):
    x, y, message = BAD[case]
    classes = ["x", "y", "w"] if declared else None
    model = OpenClassifier(estimator, classes, max_features)
    looped(model, [{"a": 1.0, "b": -1.0}, {"b": 3.0}], ["x", {"y"}])
    before = pickle.dumps(model)
    if declared and case in ("new and NaN", "overflow"):
        y = "x"
    if declared and case == "a label of another kind":
        message = r"label 3 is not among|label 3 is a number, but"
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before
    if not isinstance(x, dict):
        with pytest.raises(ValueError, match=message):
            model.predict_one(x)
    fresh = OpenClassifier(clone(estimator), classes, max_features)
    before = pickle.dumps(fresh)
    if case not in ("overflow", "a label of another kind"):
        with pytest.raises(ValueError, match=message):
            fresh.learn_one(x, y)
        assert pickle.dumps(fresh) == before


@large_steps
@pytest.mark.parametrize("x", [{"a": math.nan}, {"unknown": math.inf}, {"a": "red"}])
def test_predicting_refuses_what_learning_refuses(x, estimator):
    model = looped(OpenClassifier(estimator), [{"a": 1.0}] * 2, ["x", "y"])
    for ask in (model.predict_one, model.scores_one, model.predict_proba_one):
        with pytest.raises(ValueError, match=r"feature '(a|unknown)' is"):
            ask(x)


BAD_BATCHES = {
    "NaN": ({"a": [1.0, 2.0], "new": [3.0, math.nan]}, ["x", "z"], r"row 1: feature 'new' is NaN"),
    "text": ({"a": [1.0, 2.0], "new": [3.0, "red"]}, ["x", "z"], r"row 1: feature 'new' is 'red'"),
    "length": ({"new": [1.0, 2.0]}, ["x"], r"X has 2 rows, but y has 1: give one per row"),
    "late no candidate": (
        {"a": [1.0, 2.0, 3.0], "new": [1.0, 1.0, 1.0]},
        ["z", "x", []],
        r"row 2 has no candidate",
    ),
    "late overflow": ({"a": [1e308] * 3, "b": [-1e308] * 3}, ["z", "y", "v"], r"overflow"),
    "no label": ({"a": [1.0]}, [None], r"row 0 has no label"),
    "a name": ({"a": [1.0], 1.5: [1.0]}, ["x"], r"1.5 names no feature"),
}


@large_steps
@pytest.mark.parametrize("case", BAD_BATCHES)
def test_a_bad_batch_changes_nothing(case, estimator):
    columns, y, message = BAD_BATCHES[case]
    model = OpenClassifier(estimator)
    # There is room for another feature and another class.
    looped(model, [{"a": 1.0, "b": -1.0}, {"b": 3.0, "c": 1.0}], ["x", {"y", "w"}])
    parts = models_of(model.model_)
    assert all(len(one._room) > len(one._weights) for one in parts)
    assert all(one._stride > one.n_classes for one in parts)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_many(pd.DataFrame(columns), pd.Series(y, dtype=object))
    assert pickle.dumps(model) == before
    assert not any(one._room[len(one._weights) :].any() for one in parts)
    assert model.scores_one({"a": 1.0}).keys() == {"x", "w", "y"}
    with pytest.raises(ValueError, match="rows by the batch come as a DataFrame"):
        model.learn_many([[1.0]], ["x"])
    twice = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="column 'a' occurs twice"):
        model.learn_many(twice, ["x"])
    assert pickle.dumps(model) == before


def test_declared_classes_are_rivals_from_the_start_and_all_there_are():
    model = OpenClassifier(oneof.AvgPerceptron(), classes=["b", "a", "c"])
    assert model.predict_one({"f": 1.0}) == "b"
    model.learn_one({"f": 1.0}, "a")
    assert model.model_.n_updates == 1
    assert model.classes_ == ["b", "a", "c"]
    with pytest.raises(ValueError, match="y: label 'z' is not among the 3 classes"):
        model.learn_one({"f": 1.0}, {"a", "z"})


def test_before_anything_is_known():
    model = OpenClassifier(oneof.MaxPegasos())
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_one({"a": 1.0}) is None
    assert model.scores_one({"a": 1.0}) == model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(frame) == [None, None]
    assert model.predict_proba_many(frame).shape == (2, 0)
    model.learn_many(frame[:0], [])
    assert model.model_ is None
    model.learn_one({}, "only")
    assert (model.predict_one({}), model.predict_proba_one({})) == ("only", {"only": 1.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((object(),), "estimator must be a learner such as oneof.AvgPerceptron"),
        ((oneof.MaxPegasos(alpha=-1),), "alpha must be a finite number above 0"),
        ((oneof.MaxPegasos(), []), "classes is empty"),
        ((oneof.MaxPegasos(), ["a", "a"]), "classes.1. repeats 'a'"),
        (
            (oneof.MaxPegasos(), None, 0),
            "max_features must be an integer of at least 1 and .*, not 0",
        ),
        (
            (oneof.MaxPegasos(), None, 2**31),
            "max_features must be an integer .* at most 2147483647",
        ),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        OpenClassifier(*arguments)


@large_steps
@pytest.mark.parametrize("w", [-1.0, math.nan, math.inf])
def test_bad_weights_of_rows(w, estimator):
    model = OpenClassifier(estimator)
    with pytest.raises(ValueError, match="w must be a finite number of at least 0"):
        model.learn_one({"a": 1.0}, "x", w)
    assert model.model_ is None


def test_a_rows_weight_multiplies_its_step():
    single = oneof.AvgPerceptron(fit_intercept=False)
    for estimator in (single, oneof.Hedge([single])):
        model = OpenClassifier(estimator, classes=["x", "y"])
        model.learn_one({"a": 1.0}, "x", 0.25)
        assert coefs(model.model_)[0].tolist() == [[0.25, -0.25]]
        model.learn_one({"a": 1.0}, "y", w=0)
        assert model.model_.t == 2
        assert coefs(model.model_)[0].tolist() == [[0.25, -0.25]]


@large_steps
def test_numbers_of_every_kind(estimator):
    expected = looped(OpenClassifier(estimator), [{"a": 2.0, "b": 1.0}] * 2, "xy")
    for two, one in (
        (2, True),
        (np.float32(2), np.float64(1)),
        (np.int8(2), np.bool_(True)),
        (Decimal(2), np.array(1.0)),
    ):
        model = looped(OpenClassifier(estimator), [{"a": two, "b": one}] * 2, "xy")
        assert bits(model) == bits(expected)
    for kind in (Counter, ChainMap, MappingProxyType):
        model = looped(OpenClassifier(estimator), [kind({"a": 2, "b": 1})] * 2, "xy")
        assert sorted(bits(model)[1]) == ["a", "b"]
        assert model.predict_one(kind({"a": 2.0})) == expected.predict_one({"a": 2.0})


def test_a_feature_comes_when_it_is_first_not_0():
    model = OpenClassifier(oneof.AvgPerceptron())
    rows = [{"a": 0.0, "b": 1.0}, {"a": 0, "c": False, "b": 2.0}, {"d": 1, "c": -1.0, "a": 1.0}]
    looped(model, rows, "xyx")
    assert model.feature_names_ == ["b", "d", "c", "a"]
    many = OpenClassifier(oneof.AvgPerceptron())
    many.learn_many(pd.DataFrame(rows, columns=["a", "b", "d", "c"]).fillna(0.0), list("xyx"))
    assert many.feature_names_ == ["b", "a", "d", "c"]


def test_names_of_every_kind():
    names = ["a", 7, np.int64(8), ("a", 7), ("a", ("b", 2)), np.str_("c"), "ü\u4e2d", -(10**30)]
    model = looped(OpenClassifier(oneof.AvgPerceptron()), [dict.fromkeys(names, 1.0)] * 2, "xy")
    assert model.feature_names_ == names
    assert {type(name) for name in model.feature_names_} == {str, int, tuple}
    hashed = OpenClassifier(oneof.AvgPerceptron(), max_features=2**20)
    looped(hashed, [dict.fromkeys(names, 1.0)] * 2, "xy")
    assert np.count_nonzero(hashed.model_.weights()[0][0]) == len(names)
    deep = "x"
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(RecursionError):
        hashed_column(deep, 8)


def test_labels_of_every_kind():
    for y in (
        ["a", "b"],
        ("b", "a", "a"),
        frozenset("ab"),
        np.array(["a", "b"]),
        {"a": 1, "b": 2}.keys(),
    ):
        model = looped(OpenClassifier(oneof.AvgPerceptron()), [{"f": 1.0}] * 3, ["c", y, y])
        assert model.classes_ == ["c", "a", "b"]
        assert {type(label) for label in model.classes_} == {str}
    for y in (True, np.True_):
        model = looped(OpenClassifier(oneof.AvgPerceptron()), [{"f": 1.0}] * 2, [y, False])
        assert model.predict_one({"f": 5.0}) is False
    for y in (3, np.int8(3), 3.0):
        model = looped(OpenClassifier(oneof.AvgPerceptron()), [{"f": 1.0}] * 2, [y, {y, 4}])
        assert model.classes_ == [3, 4]
        assert type(model.classes_[0]) is int
    many = OpenClassifier(oneof.AvgPerceptron())
    many.learn_many(pd.DataFrame({"f": [1.0, 2.0]}), [np.array(["a", "b"]), np.array(["a"])])
    assert (many.classes_, many.model_.t) == (["a", "b"], 2)


@given(name=st.text(), n=st.integers(1, 2**31 - 1))
def test_strings_are_hashed_as_by_feature_hasher(name, n):
    hashed = FeatureHasher(n, input_type="pair").transform([[(name, 1.0)]])
    assert hashed_column(name, n) == (hashed.indices[0], hashed.data[0])


def test_other_names_are_hashed_by_their_parts():
    assert hashed_column(7, 1000) == hashed_column("7", 1000) == hashed_column(np.int8(7), 1000)
    names = ["a", ("a",), ("a", "b"), "ab", (("a",), "b"), ("a", ("b",))]
    assert len({hashed_column(name, 2**31 - 1) for name in names}) == len(names)


def test_the_hash_never_changes():
    """Models on disk rest on these."""
    known = {
        "a": (354738, 1),
        "price": (294386, -1),
        "ü": (59050, 1),
        7: (689704, 1),
        -12: (707711, -1),
        ("a", 7): (828127, 1),
    }
    assert {name: hashed_column(name, 1 << 20) for name in known} == known


@averaging
@settings(max_examples=20)
@given(stream=streams(), n=st.integers(1, 12), seed=st.integers(0, 100))
def test_hashed_features_are_feature_hashers(average, stream, n, seed):
    X = np.rint(4 * stream.X)  # whole numbers: collisions may be summed in any order
    rows = as_dicts(X, np.random.default_rng(seed))
    open_ = OpenClassifier(oneof.AvgPerceptron(average=average), stream.classes, max_features=n)
    looped(open_, rows, stream.sets)
    hashed = sparse.csr_array(FeatureHasher(n).transform(rows))
    hashed.eliminate_zeros()
    batch = oneof.AvgPerceptron(average=average)
    batch.partial_fit(hashed, stream.sets, classes=stream.classes)
    state = {k: np.ascontiguousarray(v).tobytes() for k, v in batch.model_.state().items()}
    assert bits(open_) == (list(stream.classes), None, state)
    assert open_.model_.n_features == n


@pytest.mark.parametrize("estimator", [oneof.AvgPegasos(), oneof.Hedge([oneof.AvgPegasos()])])
def test_features_that_cancel_each_other_leave_no_trace(estimator):
    """A column whose sum is 0 is left out, as a 0 is: it would move the others' partial sums."""
    n = 64
    names = [f"f{i}" for i in range(2000)]
    pair = [name for name in names if hashed_column(name, n) == hashed_column("f0", n)][:2]
    others = {hashed_column(name, n)[0]: name for name in names}
    others.pop(hashed_column("f0", n)[0])
    rng = np.random.default_rng(3)
    with_pair, without = (OpenClassifier(estimator, range(3), max_features=n) for _ in range(2))
    for k in rng.integers(0, 3, 60).tolist():
        row = {name: rng.normal() for name in others.values() if rng.random() < 0.5}
        without.learn_one(row, k)
        with_pair.learn_one({pair[0]: 0.7, **row, pair[1]: -0.7}, k)
    assert bits(with_pair) == bits(without)


def test_memory_is_bounded_where_wanted():
    model = OpenClassifier(oneof.MaxPerceptron(), max_features=64)
    for i in range(500):
        model.learn_one({f"word {i}": 1.0, ("pair", i): 1.0}, {i % 3})
    assert model.model_._room.shape[0] == 65
    assert model.feature_names_ is None


@pytest.mark.parametrize(
    "estimator",
    [
        oneof.AvgPegasos(),
        oneof.AvgPegasos(average=True),
        oneof.Hedge([oneof.AvgPegasos(scale="standardize"), oneof.MaxPegasos(average=True)]),
    ],
)
def test_stored_and_continued_is_never_stopped(estimator):
    rng = np.random.default_rng(0)
    rows = as_dicts(rng.normal(size=(40, 5)), rng)
    sets = [set(rng.choice(30, 2).tolist()) for _ in rows]
    for parameters in ({}, {"max_features": 4}, {"classes": range(30)}):
        never = looped(OpenClassifier(estimator, **parameters), rows, sets)
        half = looped(OpenClassifier(estimator, **parameters), rows[:20], sets[:20])
        before = pickle.dumps(half)
        parts = half.model_, half.classes_, half.feature_names_
        for copy in (
            pickle.loads(pickle.dumps(half)),
            OpenClassifier.from_parts(estimator, *pickle.loads(pickle.dumps(parts)), **parameters),
        ):
            assert bits(looped(copy, rows[20:], sets[20:])) == bits(never)
        assert pickle.dumps(half) == before


def test_the_shares_of_a_vote_stay_as_they_are():
    """A softmax would make them nearly equal; a member votes for one class alone."""
    model = OpenClassifier(oneof.Hedge([oneof.AvgPerceptron()]))
    looped(model, [{"a": 1.0}, {"b": 1.0}] * 3, "xyxyxy")
    assert model.predict_proba_one({"b": 2.0}) == {"x": 0.0, "y": 1.0}
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    assert model.predict_proba_many(frame).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_no_reference_is_lost_or_kept():
    names = [f"name {i}" for i in range(5)]
    labels = ["label one", "label two"]
    x, y = dict.fromkeys(names, 1.5), set(labels)
    model = OpenClassifier(oneof.AvgPerceptron(), max_features=8)
    named = OpenClassifier(oneof.AvgPerceptron())
    looped(named, [x, x], [y, labels[0]])
    looped(model, [x, x], [y, labels[0]])
    counted = [x, y, *names, *labels, model._codes, named._columns]
    before = [sys.getrefcount(thing) for thing in counted]
    for _ in range(100):
        for one in (model, named):
            one.learn_one(x, y)
            one.predict_one(x)
            one.scores_one(x)
            for value in (math.nan, "text"):
                with suppress(ValueError):
                    one.learn_one({names[0]: value}, y)
    gc.collect()
    assert [sys.getrefcount(thing) for thing in counted] == before


class Meddler:
    """A number that changes its row while it is read."""

    def __init__(self, row, change):
        self.row, self.change = row, change

    def __float__(self):
        self.change(self.row)
        return 1.0


@large_steps
@pytest.mark.parametrize(
    "change",
    [
        dict.clear,
        lambda row: row.update({f"new {i}": 1.0 for i in range(1000)}),
        lambda row: [row.pop(name) for name in list(row)[1:]],
        lambda row: row.update({f"more {len(row)}": 0.0}),
    ],
)
@pytest.mark.parametrize("max_features", [None, 8])
def test_a_row_that_changes_while_it_is_read_does_no_harm(change, max_features, estimator):
    model = OpenClassifier(estimator, max_features=max_features)
    looped(model, [{f"f{i}": 1.0 for i in range(300)}] * 2, "xy")
    for n in (2, 300):
        row = {f"f{i}": 1.0 for i in range(n)}
        row["f1"] = Meddler(row, change)
        with suppress(ValueError):
            model.learn_one(row, "x")
    assert model.predict_one({"f0": 1.0}) in ("x", "y")


class Interrupted:
    def __float__(self):
        raise KeyboardInterrupt


@large_steps
def test_other_errors_pass_through(estimator):
    model = looped(OpenClassifier(estimator), [{"a": 1.0}] * 2, "xy")
    before = pickle.dumps(model)
    for x in ({"a": Interrupted()}, {"a": 1.0, "new": Interrupted()}):
        with pytest.raises(KeyboardInterrupt):
            model.learn_one(x, "z")
    assert pickle.dumps(model) == before
