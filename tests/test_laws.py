"""What must always hold, for every learner of the table."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import oneof
import reference
from learners import (
    EVERYONE,
    FORMS,
    LEARNERS,
    Learner,
    Stream,
    as_form,
    bits,
    coefs,
    models_of,
    streams,
)  # fmt: skip
from oneof import _kernels
from oneof.rows import Rows

every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
everyone = pytest.mark.parametrize("learner", EVERYONE, ids=lambda learner: learner.name)
any_scale = st.sampled_from(["none", "standardize"])
every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def learnt(learner, stream, X=None, **shared):
    X = stream.X if X is None else X
    return learner.make(**shared).partial_fit(X, stream.sets, classes=stream.classes)


def is_near_tie(learner: Learner, s, Y, tolerance):
    """Whether rounding alone decides who is best, who is the rival, or whether there is a loss."""
    others = reference.rivals(s, Y)
    if not others:
        return False

    def gap(values):
        top = sorted(values, reverse=True)[:2]
        return top[0] - top[1] if len(top) == 2 else np.inf

    close = [
        gap(s[others]),
        gap(s[list(Y)]) if learner.loss == "max" else np.inf,
        abs(s[reference.best(s, Y)] - s[reference.rival(s, Y)]),
        abs(1 - reference.margin(learner.term, s, Y)) if learner.loss != "log" else np.inf,
    ]
    exact_zero = not s.any()  # ties at W = 0 are exact, and the first class wins
    return min(close[3:] if exact_zero else close) < tolerance


@every_learner
@every_type
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15)
@given(stream=streams(), weight=st.sampled_from([1.0, 0.0, 0.37, 4.0]), intercept=st.booleans())
def test_kernel_follows_the_paper_round_by_round(learner, dtype, form, stream, weight, intercept):
    model = learner.make(fit_intercept=intercept)
    eps = np.finfo(dtype).eps
    W = np.zeros((stream.X.shape[1] + intercept, stream.n_classes))
    n_updates = n_mistakes = 0
    for t, (x, Y) in enumerate(zip(stream.X, stream.sets, strict=True), start=1):
        row = as_form(x[None].astype(dtype), form)
        with_one = np.append(x, 1.0) if intercept else x
        s = reference.scores(W, with_one)
        size = np.abs(with_one) @ np.abs(W) if len(W) else s
        tolerance = 64 * eps * (1 + size.max())
        is_close = is_near_tie(learner, s, Y, tolerance)
        before = model.predict(row)[0] if t > 1 else 0
        assert s[before] >= s[reference.prediction(s)] - tolerance
        model.partial_fit(row, [Y], classes=stream.classes, sample_weight=[weight])
        after = np.column_stack([model.coef_, model.intercept_]).T.astype(float)[: len(W)]
        if not is_close:
            expected, is_update = learner.step(W, with_one, Y, t, weight)
            n_updates += is_update
            n_mistakes += reference.is_mistake(s, Y)
            step = np.abs(expected - W).max()
            room = 64 * eps * (np.abs(W).max() + step + 1 / np.sqrt(len(W)))
            room += learner.sensitivity(with_one, step, weight) * tolerance
            np.testing.assert_allclose(after, expected, rtol=64 * eps, atol=room)
        else:
            n_updates, n_mistakes = model.n_updates_, model.n_mistakes_
        assert (model.t_, model.n_updates_, model.n_mistakes_) == (t, n_updates, n_mistakes)
        W = after


@every_learner
@every_type
@settings(max_examples=25)
@given(stream=streams(), intercept=st.booleans())
def test_averaged_weights_are_the_mean_after_each_round(learner, dtype, stream, intercept):
    mean = learner.make(fit_intercept=intercept, average=True)
    # U and the sum's share of V nearly cancel where a step is large or the scale is small (2⁻⁶).
    steepest = (1 / learner.parameters["alpha"] if learner.rule == "pegasos" else 1) * np.abs(
        stream.X
    ).max(initial=1)
    amplified = 64 if "alpha" in learner.parameters else 1
    total, largest = 0.0, 0.0
    for t, (x, Y) in enumerate(zip(stream.X, stream.sets, strict=True), start=1):
        row = x[None].astype(dtype)
        s = mean.decision_function(row) if t > 1 else np.zeros(stream.n_classes)
        predicted = mean.progressive_fit(row, [Y], classes=stream.classes)[0]
        assert predicted == (int(s[0] > 0) if stream.n_classes == 2 and t > 1 else np.argmax(s))
        W = current_weights(mean, intercept)
        total, largest = total + W, max(largest, np.abs(W).max())
        W_bar = np.column_stack([mean.coef_, mean.intercept_])
        room = 8 * t * np.finfo(dtype).eps * (largest + steepest) * amplified
        np.testing.assert_allclose(W_bar, total / t, rtol=0, atol=room)
        np.testing.assert_allclose(
            np.atleast_1d(scores_of(mean, row)),
            W_bar @ np.append(x, 1.0),
            rtol=0,
            atol=room * (1 + np.abs(x).sum()),
        )


def current_weights(model, has_intercept):
    """W after the last round, one row per class, the intercept last."""
    m = model.model_
    W = (m._weights[:, : m.n_classes].astype(float) * m._scale[0]).T
    return np.roll(W, -1, axis=1) if has_intercept else np.column_stack([W, np.zeros(len(W))])


def scores_of(model, X):
    s = model.model_.scores(oneof.rows.Rows(X))
    return s[0]


@everyone
@every_type
@pytest.mark.parametrize("average", [False, True])
@settings(max_examples=10)
@given(stream=streams(), data=st.data(), scale=any_scale)
def test_chunks_and_forms_do_not_show(learner, dtype, average, stream, data, scale):
    X, shared = stream.X.astype(dtype), {"average": average, "scale": scale}
    whole = learnt(learner, stream, X, **shared)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=3)))
    chunked, progressive = learner.make(**shared), learner.make(**shared)
    predictions = []
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        if start == stop:
            continue
        chunk, sets = X[start:stop], stream.sets[start:stop]
        chunked.partial_fit(chunk, sets, classes=stream.classes)
        predictions += progressive.progressive_fit(chunk, sets, classes=stream.classes).tolist()
    assert bits(chunked) == bits(whole) == bits(progressive)
    n_wrong = sum(k not in Y for k, Y in zip(predictions, stream.sets, strict=True))
    assert n_wrong == whole.n_mistakes_
    for form in FORMS:
        other = learnt(learner, stream, as_form(X, form), **shared)
        if form.startswith("csr"):
            shapes = [[W.shape for W in coefs(m.model_)] for m in (other, whole)]
            assert shapes[0] == shapes[1]
        else:
            assert bits(other) == bits(whole)


@everyone
@every_type
@pytest.mark.parametrize("average", [False, True])
@settings(max_examples=15)
@given(stream=streams())
def test_dense_and_sparse_rows_learn_alike(learner, dtype, average, stream):
    """A dense row is the pairs of what is not 0, so even the bits are the same."""
    X = stream.X.astype(dtype)
    dense = learnt(learner, stream, X, average=average)
    for form in ("csr32", "csr64"):
        sparse = as_form(X, form)
        assert bits(learnt(learner, stream, sparse, average=average)) == bits(dense)
        np.testing.assert_array_equal(scores_of(dense, X), scores_of(dense, sparse))


@everyone
@settings(max_examples=20)
@given(stream=streams(full_sets=False, n_classes=st.integers(2, 12)), seed=st.integers(0, 10**6))
def test_permuting_classes_permutes_the_model(learner, stream, seed):
    K = stream.n_classes
    rng = np.random.default_rng(seed)
    order = rng.permutation(K)
    # Away from W = 0, where all scores tie; and no row so long that its step blots out the rest.
    start = rng.normal(size=(stream.X.shape[1] + 1, K))
    X = stream.X / (1 + np.linalg.norm(stream.X, axis=1, keepdims=True))
    if learner.rule == "passive_aggressive":
        # A row that comes again finds margins of exactly 1, and rivals level with each other.
        X = X + 0.1 * rng.normal(size=X.shape)
    models = []
    for columns in (np.arange(K), order):
        model = learnt(learner, Stream(X[:1], [set(range(K))], K))
        for one in filter(lambda one: one.n_classes == K, models_of(model.model_)):
            n = len(one._weights)
            one._weights[:, :K] = start[:n, columns]
            one._scale[2] = np.sum(start[:n] ** 2)
        rank = np.argsort(columns)
        sets = [{int(rank[k]) for k in Y} for Y in stream.sets]
        models.append(model.partial_fit(X, sets))
    straight, permuted = models
    assert straight.n_updates_ == permuted.n_updates_
    for mine, other in zip(coefs(straight.model_), coefs(permuted.model_), strict=True):
        scale = 1e-9 * (1 + np.abs(mine).max())
        np.testing.assert_allclose(mine[:, order], other, rtol=1e-9, atol=scale)
    s = scores_of(straight, X)
    np.testing.assert_allclose(
        s[..., order], scores_of(permuted, X), rtol=1e-9, atol=1e-9 * (1 + np.abs(s).max())
    )


@everyone
@settings(max_examples=20)
@given(stream=streams(full_sets=False))
def test_renamed_classes_learn_the_same(learner, stream):
    names = np.array([f"class {k:03d}" for k in range(stream.n_classes)])
    plain = learnt(learner, stream)
    sets = [{str(names[k]) for k in Y} for Y in stream.sets]
    named = learner.make().partial_fit(stream.X, sets, classes=names)
    assert bits(named) == bits(plain)
    assert named.predict(stream.X).tolist() == names[plain.predict(stream.X)].tolist()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("avg", "max_"),
    [
        (oneof.AvgPerceptron(), oneof.MaxPerceptron()),
        (oneof.AvgPegasos(), oneof.MaxPegasos()),
        (oneof.AvgPassiveAggressive(), oneof.MaxPassiveAggressive()),
        (oneof.AvgPassiveAggressive(exact=True), oneof.MaxPassiveAggressive(exact=True)),
        (oneof.SoftPerceptron(beta=0.3), oneof.MaxPerceptron()),
        (oneof.SoftPassiveAggressive(exact=True), oneof.AvgPassiveAggressive(exact=True)),
    ],
)
@settings(max_examples=30)
@given(stream=streams(full_sets=False))
def test_avg_and_max_agree_on_exact_labels(avg, max_, average, stream):
    y = [min(Y) for Y in stream.sets]
    models = [clone(m).set_params(average=average) for m in (avg, max_)]
    for model in models:
        model.partial_fit(stream.X, y, classes=stream.classes)
    assert bits(models[0]) == bits(models[1])


@everyone
@every_type
@pytest.mark.parametrize("average", [False, True])
@settings(max_examples=10)
@given(stream=streams(), data=st.data(), scale=any_scale)
def test_stored_and_continued_is_never_stopped(learner, dtype, average, stream, data, scale):
    cut = data.draw(st.integers(1, len(stream.X)))
    X = stream.X.astype(dtype)
    first = Stream(X[:cut], stream.sets[:cut], stream.n_classes)
    model = learnt(learner, first, average=average, scale=scale)
    before = bits(model)
    copy = pickle.loads(pickle.dumps(model))
    assert bits(model) == bits(copy) == before
    if cut < len(X):
        copy.partial_fit(X[cut:], stream.sets[cut:])
    assert bits(copy) == bits(learnt(learner, stream, X, average=average, scale=scale))


@everyone
@settings(max_examples=20)
@given(
    stream=streams(n_rounds=st.integers(3, 25)),
    kind=st.sampled_from(["nan", "inf", "huge"]),
    data=st.data(),
    form=st.sampled_from(FORMS),
    n_before=st.sampled_from([1, 2]),
    scale=any_scale,
)
def test_a_bad_row_changes_nothing(learner, stream, kind, data, form, n_before, scale):
    model = learnt(
        learner, Stream(stream.X[:n_before], stream.sets[:n_before], stream.n_classes), scale=scale
    )
    before, attributes = bits(model), set(vars(model))
    X = stream.X.copy()
    row = data.draw(st.integers(0, len(X) - 1))
    column = data.draw(st.integers(0, X.shape[1] - 1))
    X[row, column] = {"nan": np.nan, "inf": -np.inf, "huge": 1.7e308}[kind]
    sets = [Y if len(Y) < stream.n_classes else {0} for Y in stream.sets]
    if kind == "huge":
        # Learnt first, the huge row makes the scores of the second overflow.
        X, row = np.vstack([X[row], X[row], X]), 1
        sets = [{0}, {1}, *sets]
        expected = "scores overflow"
    else:
        what = "NaN" if kind == "nan" else "infinity"
        expected = f"contains {what} at row {row}, column {column}"
    if kind == "huge" and (learner.is_bounded or scale == "standardize"):
        return
    with pytest.raises(ValueError, match=expected):
        model.partial_fit(as_form(X, form), sets)
    assert bits(model) == before
    assert set(vars(model)) == attributes


PROGRAM = """
import hashlib, pickle, sys
import numpy as np, oneof
from learners import EVERYONE, as_form, bits
rng = np.random.default_rng(5)
digest = hashlib.sha256()
for K, d in [(2, 1), (3, 7), (4, 30), (8, 9), (10, 130), (17, 33), (70, 20), (300, 3)]:
    X = rng.normal(size=(60, d)) * (rng.random((60, d)) < 0.4)
    sets = [rng.choice(K, size=rng.integers(1, K + 1), replace=False).tolist() for _ in X]
    for learner in EVERYONE:
        for dtype in (np.float32, np.float64):
            for form in ("dense", "csr32"):
                for average, scale in ((False, "none"), (True, "none"), (False, "standardize")):
                    model = learner.make(average=average, scale=scale)
                    data = as_form(X.astype(dtype), form)
                    labels = model.progressive_fit(data, sets, classes=np.arange(K))
                    scores = model.model_.scores(oneof.rows.Rows(data))
                    digest.update(repr(bits(model)).encode() + labels.tobytes() + scores.tobytes())
print(oneof._kernels.isa, digest.hexdigest())
"""


def test_every_build_gives_the_same_bits():
    answers = {}
    for isa in _kernels.builds:
        environment = {**os.environ, "ONEOF_ISA": isa, "PYTHONPATH": os.path.dirname(__file__)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        chosen, answers[isa] = done.stdout.split()
        assert chosen == isa
    assert len(set(answers.values())) == 1, answers


def test_an_unknown_build_is_refused():
    done = subprocess.run(
        [sys.executable, "-c", "import oneof._kernels"],
        env={**os.environ, "ONEOF_ISA": "v9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert (
        f"ONEOF_ISA=v9 is not one of the builds this machine runs: {', '.join(_kernels.builds)}"
        in done.stderr
    )


@everyone
def test_threads_do_not_show(learner):
    """Two passes that begin together and take longer than a thread's turn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    sets = [set(rng.choice(9, size=3, replace=False).tolist()) for _ in X]
    order = rng.integers(0, len(X), 100_000)
    rows, Y = Rows(X), oneof.CandidateSets.from_sets(sets, classes=np.arange(9))
    begun = threading.Barrier(2)

    def long_pass(is_together):
        model = learnt(learner, Stream(X, sets, 9))
        if is_together:
            begun.wait(timeout=60)
        model.model_.learn(rows, Y, order)
        return bits(model)

    alone = long_pass(False)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(long_pass, [True, True])) == [alone, alone]
