"""Hedge: the votes counted by hand, its members as if alone, and the estimator's contract."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import oneof
from learners import FORMS, as_form, streams
from oneof.hedge import portfolio
from oneof.rows import Rows


def members():
    return [
        oneof.AvgPerceptron(),
        oneof.MaxPegasos(alpha=0.1, average=True),
        oneof.CandidateLogistic(scale="standardize", fit_intercept=False),
        oneof.SoftPassiveAggressive(exact=True, scale="standardize"),
    ]


def plain_stream(n=400, d=8, K=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = np.eye(K)[y] @ rng.normal(size=(K, d)) + 0.5 * rng.normal(size=(n, d)) + 3
    Y = [{int(k), int((k + rng.integers(1, K)) % K)} for k in y]
    return X, oneof.CandidateSets.from_sets(Y), y


def bits(model):
    team = model.model_
    models = [*team.models, team._front]
    arrays = [a for m in models for a in m.state().values()]
    return pickle.dumps([np.asarray(a).tobytes() for a in arrays] + [team.n_mistakes])


def test_votes_are_weighed_by_mistakes_so_far():
    X, Y, _ = plain_stream()
    model = oneof.Hedge(members(), rate=0.3)
    ours = model.progressive_fit(X, Y)
    alone = members()
    guesses = np.array([m.progressive_fit(X, Y) for m in alone])
    mistakes, n_wrong = np.zeros(4), 0
    for t in range(len(X)):
        votes = np.zeros(5)
        for a in range(4):
            votes[guesses[a, t]] += np.exp(-0.3 * mistakes[a])
        assert ours[t] == votes.argmax()
        mistakes += [guess not in Y[t] for guess in guesses[:, t]]
        n_wrong += ours[t] not in Y[t]
    assert model.member_mistakes_.tolist() == mistakes.tolist()
    assert (model.n_mistakes_, model.t_) == (n_wrong, len(X))
    w = np.exp(-0.3 * mistakes)
    np.testing.assert_allclose(model.weights_, w / w.sum())
    votes = np.zeros((len(X), 5))
    for m, weight in zip(alone, model.weights_, strict=True):
        votes[np.arange(len(X)), m.predict(X)] += weight
    np.testing.assert_allclose(model.decision_function(X), votes, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_member_is_the_learner_alone(form, dtype):
    X, Y, _ = plain_stream()
    X = as_form(X.astype(dtype), form)
    for i, member in enumerate(members()):
        model = oneof.Hedge([member]).partial_fit(X, Y)
        alone = members()[i].partial_fit(X, Y)
        best = model.best_member_
        assert type(best) is type(member)
        assert best.get_params() == member.get_params()
        np.testing.assert_array_equal(best.coef_, alone.coef_)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))
        assert best.partial_fit(X, Y).n_mistakes_ == alone.partial_fit(X, Y).n_mistakes_
        assert model.t_ == len(Y)  # on its own: the team has not moved


@settings(max_examples=25)
@given(stream=streams(), data=st.data(), form=st.sampled_from(FORMS))
def test_chunks_do_not_show_and_pickles_go_on(stream, data, form):
    X = as_form(stream.X, form)
    whole = oneof.Hedge(members()).partial_fit(X, stream.sets, classes=stream.classes)
    chunked, predictions = oneof.Hedge(members()), []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream.X)), max_size=3)))
    for a, b in zip([0, *cuts], [*cuts, len(stream.X)], strict=True):
        if a < b:
            chunked = pickle.loads(pickle.dumps(chunked))
            labels = chunked.progressive_fit(X[a:b], stream.sets[a:b], classes=stream.classes)
            predictions += labels.tolist()
    assert bits(chunked) == bits(whole)
    n_wrong = sum(k not in Y for k, Y in zip(predictions, stream.sets, strict=True))
    assert n_wrong == whole.n_mistakes_


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e306])
def test_a_bad_row_changes_nothing(value):
    X, Y, _ = plain_stream()
    model = oneof.Hedge(members()).partial_fit(X, Y)
    before = bits(model)
    bad = X.copy()
    bad[-2:, 3] = value
    with pytest.raises(ValueError, match=r"at row 398, column 3|scores overflow"):
        model.partial_fit(bad, Y)
    assert bits(model) == before


@pytest.mark.parametrize("order", [None, "drawn"])
def test_turns_do_not_show(order):
    """Members with large weights learn many rows a turn, small ones a row: both as if alone."""
    for d in (8, 900):
        X, Y, _ = plain_stream(d=d)
        rows = None if order is None else np.random.default_rng(1).integers(0, len(X), 700)
        X = X * (np.random.default_rng(2).random(X.shape) < 0.5)
        whole = oneof.Hedge(members()).partial_fit(X[:1], Y[:1])
        whole.model_.learn(Rows(X), Y, rows)
        for i, member in enumerate(members()):
            alone = member.partial_fit(X[:1], Y[:1])
            alone.model_.learn(Rows(X), Y, rows)
            state = whole.model_.member(i).state()
            assert state.keys() == alone.model_.state().keys()
            for name, value in alone.model_.state().items():
                np.testing.assert_array_equal(state[name], value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_a_bad_row_alone_changes_nothing(form, value):
    """It is taken back without a copy of the weights: no member may learn before all have seen."""
    X, Y, _ = plain_stream()
    model = oneof.Hedge(members()).partial_fit(as_form(X, form), Y)
    before = bits(model)
    bad = X[:1].copy()
    bad[0, 3] = value
    with pytest.raises(ValueError, match=r"at row 0, column 3|scores overflow"):
        model.partial_fit(as_form(bad, form), Y[:1])
    assert bits(model) == before


@pytest.mark.parametrize("scale", ["none", "standardize"])
def test_no_member_learns_alone_what_another_cannot(scale):
    X, Y, _ = plain_stream()
    team = [oneof.AvgPerceptron(scale=scale), oneof.AvgPerceptron(eta0=1e200)]
    model = oneof.Hedge(team).partial_fit(sparse.csr_array(X), Y)
    before = bits(model)
    with pytest.raises(ValueError, match="row 0 of X: a member's scores overflow"):
        model.partial_fit(sparse.csr_array(X[:1] * 1e130), Y[:1])
    assert bits(model) == before


def test_a_bad_row_far_behind_changes_nothing():
    """Many rows before it have been learnt, and voted on, by then."""
    X, Y, _ = plain_stream(n=20_000)
    model = oneof.Hedge(members()).partial_fit(X[:100], Y[:100])
    before = bits(model)
    X[-1, 3] = np.nan
    with pytest.raises(ValueError, match="at row 19999, column 3"):
        model.partial_fit(X, Y)
    assert bits(model) == before


def test_epochs_weights_and_exact_labels():
    X, Y, y = plain_stream()
    weight = np.random.default_rng(0).random(len(X))
    model = oneof.Hedge(members()[:2], max_iter=3, random_state=1).fit(X, Y, sample_weight=weight)
    alone = oneof.AvgPerceptron(max_iter=3, random_state=1).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.model_.member(0).weights()[0], alone.coef_)
    assert (model.t_, model.n_iter_) == (3 * len(X), 3)
    assert oneof.Hedge(scale="standardize").fit(X, y).score(X, y) > 0.9


def test_it_finds_the_member_that_is_right():
    X, Y, y = plain_stream(n=2000)
    poor = [oneof.AvgPerceptron(eta0=1e-9, fit_intercept=False) for _ in range(3)]
    model = oneof.Hedge([*poor, oneof.CandidateLogistic(scale="standardize")]).partial_fit(X, Y)
    assert isinstance(model.best_member_, oneof.CandidateLogistic)
    assert model.weights_[3] > 0.99
    assert (model.predict(X) == y).mean() > 0.9


def test_a_distractor_that_always_comes_with_the_truth_fools_it():
    """What the documentation says: nothing in the candidates tells the two apart."""
    X, _, y = plain_stream(n=1000)
    Y = [{int(k), (int(k) + 1) % 5} for k in y]
    model = oneof.Hedge(scale="standardize").partial_fit(X, Y, classes=range(5))
    wrong = model.predict(X) == (y + 1) % 5
    assert model.score(X, Y) > 0.95
    assert wrong.mean() > 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": []}, r"members must be learners such as oneof.AvgPerceptron\(\), not \[\]"),
        ({"members": [3]}, "not 3"),
        ({"members": [oneof.Hedge()]}, "not Hedge"),
        ({"rate": 0}, "rate must be a finite number above 0 and at most 1000, not 0"),
        ({"rate": 1001}, "at most 1000, not 1001"),
        ({"scale": "no"}, "scale must be"),
        ({"fit_intercept": 2}, "fit_intercept must be True or False"),
        ({"members": [oneof.AvgPerceptron(eta0=-1)]}, "eta0 must be"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        oneof.Hedge(**parameters).partial_fit([[1.0], [2.0]], [{0}, {1}])


@pytest.mark.parametrize("rate", [Fraction(1, 10), np.float32(0.1), 1000])
def test_any_number_is_a_rate(rate):
    X, Y, _ = plain_stream()
    model = oneof.Hedge(members(), rate).partial_fit(X, Y)
    assert model.partial_fit(X, Y).t_ == 2 * len(X)
    assert model.weights_.sum() == pytest.approx(1)


def test_the_members_stay_the_same():
    X, Y, _ = plain_stream()
    model = oneof.Hedge(members()).partial_fit(X, Y)
    with pytest.raises(ValueError, match="are not those that this model began with"):
        model.set_params(members=members()[:2]).partial_fit(X, Y)
    with pytest.raises(AttributeError, match="see best_member_"):
        _ = model.coef_
    assert not hasattr(clone(model), "model_")


def test_the_default_portfolio():
    X, Y, y = plain_stream(n=1500)
    for scale in ("none", "standardize"):
        model = oneof.Hedge(scale=scale).partial_fit(X, Y)
        assert len(model.weights_) == len(portfolio()) == 8
        assert (model.predict(X) == y).mean() > 0.8
        assert model.best_member_.scale == scale
    thin = oneof.Hedge(scale="standardize").partial_fit(sparse.csr_array(X), Y)
    assert not thin.best_member_.mean_.any()
