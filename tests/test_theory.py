"""Margins, constants, bounds and streams: against loops and numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from oneof.candidates import CandidateSets
from oneof.theory import (
    avg_margins,
    make_stream,
    max_margins,
    mistake_bound,
    regret_bound,
    stream_constants,
)
from theory_cases import loop_margin, packed, random_sets

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_margins_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers([1, 1, 2], 6)
    X, W, mask = rng.normal(size=(n, d)), rng.normal(size=(K, d)), random_sets(rng, n, K, full=True)
    for function, term in ((avg_margins, np.mean), (max_margins, max)):
        expected = np.array([loop_margin(W, x, row, term) for x, row in zip(X, mask, strict=True)])
        np.testing.assert_allclose(function(W, X, packed(mask)), expected, atol=1e-12)
        np.testing.assert_allclose(function(W, sparse.csr_matrix(X), mask), expected, atol=1e-12)
        np.testing.assert_allclose(
            function(W, X, mask, normalise=True), expected / np.linalg.norm(W), atol=1e-12
        )


def test_the_intercept_is_a_constant_feature():
    W, X, Y = [[1.0, 5.0], [2.0, 0.0]], [[3.0]], CandidateSets([0, 1], [0, 1], [0])
    assert avg_margins(W, X, Y, fit_intercept=True) == 3 + 5 - 6
    assert avg_margins(W, sparse.csr_array(X), Y, fit_intercept=True) == 3 + 5 - 6


def test_repeated_entries_of_a_sparse_row_count_as_their_sum():
    X = sparse.csr_array((np.array([3.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert stream_constants(X, [{0, 1}], [[1.0], [0.0]]).R == 4.0
    assert X.nnz == 2


@pytest.mark.parametrize(
    ("W", "X", "Y", "message"),
    [
        ([[1.0]], [[1.0]], [{0, 1}], "W has shape"),
        ([[1.0], [np.nan]], [[1.0]], [{0, 1}], "W holds NaN"),
        ([[1.0], [1.0]], [[1.0], [np.inf]], [{0}, {1}], "row 1 of X"),
        ([[1.0], [1.0]], sparse.csr_array([[0.0], [np.nan]]), [{0}, {1}], "row 1 of X"),
        ([[1.0], [1.0]], [[1.0]], [{0}, {1}], "X has 1 rows, but Y has 2"),
        ([[1.0], [1.0]], [1.0], [{0}, {1}], "X must have shape"),
    ],
)
def test_bad_streams_and_weights_are_refused(W, X, Y, message):
    with pytest.raises(ValueError, match=message):
        avg_margins(W, X, Y)


def test_zero_weights_have_no_direction():
    with pytest.raises(ValueError, match="no direction"):
        avg_margins([[0.0], [0.0]], [[1.0]], [{0, 1}], normalise=True)


@given(seeds, st.floats(0.01, 10))
def test_constants_are_those_of_the_definition(seed, gamma):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers([1, 1, 2], 6)
    X, W, mask = rng.normal(size=(n, d)), rng.normal(size=(K, d)), random_sets(rng, n, K, full=True)
    k = stream_constants(X, mask, W, gamma)
    unit, D2, D2_paper = W / np.linalg.norm(W), 0.0, 0.0
    for x, row in zip(X, mask, strict=True):
        slack = max(0.0, gamma - loop_margin(unit, x, row, np.mean))
        D2 += row.sum() * slack**2
        D2_paper += (row.sum() * slack) ** 2
    assert (k.T, k.c, k.kappa) == (n, mask.sum(axis=1).min(), 1 + 1 / mask.sum(axis=1).min())
    expected = max(np.linalg.norm(x) for x in X), math.sqrt(D2), math.sqrt(D2_paper)
    assert (k.R, k.D, k.D_paper) == pytest.approx(expected, abs=1e-12)


def test_bounds_by_hand():
    # κ = 3/2, R² = 4: κR² = 6.
    numbers = {"R": 2, "c": 2, "gamma": 0.5}
    assert mistake_bound(**numbers) == (2 + 6) / 0.25
    assert mistake_bound(**numbers, form="paper") == (2 + 6) / 0.25
    assert mistake_bound(**numbers, eta0=4) == (0.5 + 6) / 0.25
    assert mistake_bound(**numbers, eta0=4, update="mistake") == 6 / 0.25
    assert mistake_bound(**numbers, D=0, form="paper") == 2 * (1 + 6) / 0.25
    D, kappa, R2 = 3.0, 1.5, 4.0
    delta = ((D**2 + kappa * D**2 * R2) / kappa) ** 0.25
    Z2 = 1 + D**2 / delta**2
    paper = 2 * Z2 / 0.25 + 2 * kappa * (R2 + delta**2) * Z2 / 0.25
    assert mistake_bound(**numbers, D=D, form="paper") == pytest.approx(paper)
    tight = (math.sqrt(0.5 + 6) + math.sqrt(1.5) * 3) ** 2 / 0.25
    assert mistake_bound(**numbers, D=D, eta0=4) == pytest.approx(tight)
    assert mistake_bound(**numbers, D=D, update="mistake") == pytest.approx(1.5 * 25 / 0.25)


@given(st.floats(0, 100), st.integers(1, 20), st.floats(0.01, 10), st.floats(0, 100))
def test_tight_is_never_above_paper(R, c, gamma, D):
    for slack in (None, D):
        tight = mistake_bound(R=R, c=c, gamma=gamma, D=slack)
        assert tight <= mistake_bound(R=R, c=c, gamma=gamma, D=slack, form="paper") * (1 + 1e-12)
    assert mistake_bound(R=R, c=c, gamma=gamma, D=0) == mistake_bound(R=R, c=c, gamma=gamma)


def test_a_stream_without_rivals_allows_no_mistake():
    assert mistake_bound([[1.0]], [{0, 1}], [[1.0], [0.0]]) == 0


def test_regret_bounds_by_hand():
    G2 = (math.sqrt(0.25) + math.sqrt(1.5) * 2) ** 2
    expected = G2 * (1 + math.log(10)) / (2 * 0.25 * 10)
    assert regret_bound(10, 0.25, R=2, c=2) == pytest.approx(expected)
    expected = G2 * math.log(10) / (0.25 * 10)
    assert regret_bound(10, 0.25, R=2, c=2, form="paper") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "R, c and gamma are needed"),
        ({"R": 1, "c": 1, "gamma": 0}, "gamma must be"),
        ({"R": 1, "c": 1, "gamma": math.nan}, "gamma must be"),
        ({"R": -1, "c": 1, "gamma": 1}, "R must be"),
        ({"R": 1, "c": 0, "gamma": 1}, "c must be"),
        ({"R": 1, "c": 1, "gamma": 1, "D": -1}, "D must be"),
        ({"R": 1, "c": 1, "gamma": 1, "eta0": 0}, "eta0 must be"),
        ({"R": 1, "c": 1, "gamma": 1, "form": "loose"}, "form must be"),
        ({"R": 1, "c": 1, "gamma": 1, "eta0": 2, "form": "paper"}, "the paper's bound"),
        ({"R": 1, "c": 1, "gamma": 1, "update": "mistake", "form": "paper"}, "the paper's bound"),
        ({"X": [[1.0]], "Y": [{0, 1}], "W": [[1.0], [0.0]], "R": 1}, "either a stream"),
        ({"X": [[1.0], [1.0]], "Y": [{0}, {1}], "W": [[1.0], [0.0]]}, "does not separate"),
    ],
)
def test_bad_arguments_of_mistake_bound_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        mistake_bound(**arguments)


def test_the_papers_regret_bound_means_nothing_before_round_three():
    with pytest.raises(ValueError, match="at least 3, not 2"):
        regret_bound(2, 1.0, R=1, c=1, form="paper")


@given(
    seed=seeds,
    n=st.integers(1, 40),
    d=st.integers(1, 8),
    K=st.integers(2, 7),
    loss=st.sampled_from(["avg", "max"]),
    R=st.sampled_from([0.01, 1.0, 300.0]),
    noise=st.booleans(),
    data=st.data(),
)
def test_streams_keep_their_promises(seed, n, d, K, loss, R, noise, data):
    low = data.draw(st.integers(1, K))
    high = data.draw(st.integers(low, K))
    gamma = R * data.draw(st.floats(1e-3, 0.02))
    rng = np.random.default_rng(seed)
    wanted = rng.uniform(0, 2 * gamma, n) * (rng.random(n) < 0.3) if noise else 0.0
    try:
        s = make_stream(n, d, K, (low, high), gamma, wanted, R=R, loss=loss, random_state=seed)
    except ValueError as error:  # in few dimensions some weights leave too little room
        assume(d >= K or "out of reach" not in str(error))
        raise
    margins = (avg_margins if loss == "avg" else max_margins)(s.W, s.X, s.Y)
    wanted = np.broadcast_to(wanted, n)
    eps = 1e-12 * R
    assert np.all(margins[wanted == 0] >= gamma - eps)
    assert np.all(s.slack[wanted == 0] == 0)
    assert np.all(s.slack <= wanted + eps)
    if loss == "avg":
        has_rival = np.isfinite(margins)
        np.testing.assert_allclose(s.slack[has_rival], wanted[has_rival], atol=eps)
        k = stream_constants(s.X, s.Y, s.W, gamma)
        expected = np.sum(s.Y.sizes() * s.slack**2), np.sum((s.Y.sizes() * s.slack) ** 2)
        assert (k.D**2, k.D_paper**2) == pytest.approx(expected, abs=n * R * eps)
    assert np.linalg.norm(s.X, axis=1).max() <= R * (1 + 1e-12)
    assert np.linalg.norm(s.W) == pytest.approx(1)
    assert s.X.shape == (n, d)
    assert s.Y.classes.tolist() == list(range(K))
    assert np.all((s.Y.sizes() >= low) & (s.Y.sizes() <= high))
    assert s.Y.contains(s.y).all()


def test_streams_of_a_seed_are_equal_and_varied():
    a, b = (make_stream(500, 12, 6, 3, 0.1, random_state=7) for _ in range(2))
    assert np.array_equal(a.X, b.X)
    assert a.Y == b.Y
    counts = a.Y.to_indicator().sum(axis=0)  # 250 each are expected, with a deviation of 11
    assert counts.min() > 180
    assert np.bincount(a.y, minlength=6).min() > 30


def test_the_largest_margin_is_within_reach():
    s = make_stream(50, 9, 4, 2, 0.5 * math.sqrt(4 / 3) * (1 - 1e-9), random_state=0)
    assert avg_margins(s.W, s.X, s.Y).min() == pytest.approx(s.gamma)


@pytest.mark.parametrize("form", ["tight", "paper"])
def test_a_stream_gives_the_bound_of_its_numbers(form):
    s = make_stream(60, 9, 5, (1, 3), 0.1, np.linspace(0, 0.2, 60), random_state=0)
    k = stream_constants(s.X, s.Y, s.W, 0.1)
    D = {"tight": k.D, "paper": k.D_paper}[form]
    expected = mistake_bound(R=k.R, c=k.c, gamma=0.1, D=D, form=form)
    assert mistake_bound(s.X, s.Y, s.W, gamma=0.1, form=form) == expected
    clean = mistake_bound(s.X[:1], s.Y[:1], s.W, form=form)
    one = stream_constants(s.X[:1], s.Y[:1], s.W)
    assert clean == mistake_bound(R=one.R, c=one.c, gamma=one.gamma, form=form)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": 0.58}, "margin is out of reach"),
        ({"margin": 0}, "margin must be"),
        ({"size": 5}, "size must rise"),
        ({"size": (3, 2)}, "size must rise"),
        ({"slack": -1}, "slack must be"),
        ({"slack": [1.0]}, "slack must be"),
        ({"slack": 3.0}, "slack 3 is out of reach"),
        ({"loss": "soft"}, "loss must be"),
    ],
)
def test_impossible_streams_are_refused(changes, message):
    arguments = {"n": 5, "d": 4, "n_classes": 4, "size": 2, "margin": 0.2} | changes
    with pytest.raises(ValueError, match=message):
        make_stream(**arguments, random_state=0)
