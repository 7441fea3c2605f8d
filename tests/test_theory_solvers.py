"""Separability and the offline optimum: proofs checked from the definitions, generic solvers."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.theory import avg_margins, make_stream, offline_optimum, separability
from theory_cases import (
    contrast_matrix,
    loop_margin,
    objective,
    packed,
    random_sets,
    separable_pool,
)

seeds = st.integers(0, 2**32 - 1)


def assert_proven(found, X, mask):
    """Check a witness and a certificate from the definitions alone."""
    if found.is_separable:
        assert np.linalg.norm(found.W) == pytest.approx(1)
        margins = [loop_margin(found.W, x, row, np.mean) for x, row in zip(X, mask, strict=True)]
        assert min(margins) == pytest.approx(found.margin)
        assert found.margin > 0
        assert found.margin <= found.limit * (1 + 1e-9)
    else:
        assert found.W is None
        assert found.margin == -math.inf
        assert found.limit <= 1e-9 * np.linalg.norm(X, axis=1).max()
    total = np.zeros((mask.shape[1], X.shape[1]))
    for t, j, weight in zip(found.rows, found.rivals, found.weights, strict=True):
        assert weight > 0
        assert not mask[t, j]
        contrast = mask[t] / mask[t].sum()
        contrast[j] -= 1
        total += weight * np.outer(contrast, X[t])
    if len(found.weights):
        assert sum(found.weights) == pytest.approx(1)
        assert np.linalg.norm(total) == pytest.approx(found.limit, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_separability_is_proven_and_agrees_with_a_plain_linear_program(seed):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 15), rng.integers(1, 6), rng.integers(2, 6)
    X, mask = rng.normal(size=(n, d)), random_sets(rng, n, K, full=True)
    found = separability(X, packed(mask))
    assert_proven(found, X, mask)
    phi, _ = contrast_matrix(X, mask)
    plain = optimize.linprog(
        np.zeros(K * d), A_ub=-phi, b_ub=-np.ones(len(phi)), bounds=(None, None), method="highs-ds"
    )
    assert found.is_separable == (plain.status == 0)


@settings(max_examples=40, deadline=None)
@given(seeds, st.booleans())
def test_the_margin_is_the_largest(seed, is_sparse):
    rng = np.random.default_rng(seed)
    X, mask, W = separable_pool(rng)
    found = separability(sparse.csr_matrix(X) if is_sparse else X, packed(mask))
    assert_proven(found, X, mask)
    assert found.margin >= (1 - 1e-6) * found.limit
    assert found.margin >= avg_margins(W, X, mask).min() * (1 - 1e-9)


def test_an_intercept_can_separate():
    X, Y = np.array([[1.0], [2.0]]), [{0}, {1}]
    assert not separability(X, Y).is_separable
    found = separability(X, Y, fit_intercept=True)
    assert found.is_separable
    assert found.W.shape == (2, 2)
    assert avg_margins(found.W, X, Y, fit_intercept=True).min() == pytest.approx(found.margin)


def test_separability_at_the_edges():
    full = separability([[1.0]], [{0, 1}])
    assert (full.is_separable, full.margin, full.limit) == (True, math.inf, math.inf)
    assert not separability([[0.0]], CandidateSets([0, 1], [0, 1], [0])).is_separable
    assert not separability([[1.0, 2.0], [1.0, 2.0]], [{0}, {1}]).is_separable
    with pytest.raises(ValueError, match="not convex"):
        separability([[1.0]], [{0, 1}], loss="max")


@pytest.mark.parametrize("is_sharpened", [True, False])
def test_a_large_problem_needs_few_of_its_contrasts(monkeypatch, is_sharpened):
    if not is_sharpened:
        monkeypatch.setattr("oneof.theory.separation._LARGEST_DENSE", 0)
    s = make_stream(3000, 20, 6, (1, 4), 0.05, random_state=1)
    found = separability(s.X, s.Y)
    assert found.is_separable
    assert_proven(found, s.X, s.Y.to_indicator().astype(bool))
    assert len(found.weights) <= 6 * 20 + 1
    assert found.margin >= 0.05 or not is_sharpened
    assert 0.05 <= found.limit <= 0.5
    flipped = np.array(s.Y.to_indicator())
    flipped[:50] = 1 - flipped[:50]
    lost = separability(s.X, flipped)
    assert not lost.is_separable
    assert_proven(lost, s.X, flipped.astype(bool))


def solved_by_slsqp(X, mask, alpha):
    """Return the minimum of λ/2‖W‖² + mean ξ with ξ ≥ 0 and ξ_t ≥ 1 − φ·W, by a generic solver."""
    phi, places = contrast_matrix(X, mask)
    n, D = len(X), mask.shape[1] * X.shape[1]
    picks = np.zeros((len(places), n))
    picks[np.arange(len(places)), [t for t, _ in places]] = 1
    A = np.hstack([phi, picks])
    found = optimize.minimize(
        lambda v: 0.5 * alpha * v[:D] @ v[:D] + v[D:].mean(),
        np.append(np.zeros(D), np.ones(n)),
        jac=lambda v: np.append(alpha * v[:D], np.full(n, 1 / n)),
        bounds=[(None, None)] * D + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda _: A},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assume(found.success)
    return found.fun


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(-2, 1))
def test_the_optimum_agrees_with_a_generic_solver(seed, log_alpha):
    rng, alpha = np.random.default_rng(seed), 10**log_alpha
    n, d, K = rng.integers(1, 10), rng.integers(1, 4), rng.integers(2, 5)
    X, mask = rng.normal(size=(n, d)), random_sets(rng, n, K)
    found = offline_optimum(X, mask, alpha, tol=1e-6)
    assert found.W.shape == (K, d)
    assert found.primal == pytest.approx(objective(found.W, X, mask, alpha).mean())
    assert found.gap == found.primal - found.dual <= 1e-6 * found.primal
    assert solved_by_slsqp(X, mask, alpha) == pytest.approx(found.dual, rel=1e-5, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(-3, 1), st.integers(1, 5))
def test_no_weights_are_below_the_dual(seed, log_alpha, max_passes):
    """However early it stops."""
    rng, alpha = np.random.default_rng(seed), 10**log_alpha
    n, d, K = rng.integers(1, 30), rng.integers(1, 6), rng.integers(2, 6)
    X, mask = rng.normal(size=(n, d)), random_sets(rng, n, K, full=True)
    best = offline_optimum(X, packed(mask), alpha, tol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = offline_optimum(X, packed(mask), alpha, tol=1e-9, max_passes=max_passes)
    assert early.dual <= best.primal + 1e-12
    assert best.dual <= early.primal + 1e-12


def test_the_optimum_of_sparse_rows_with_an_intercept_is_that_of_dense_ones():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.4)
    mask = random_sets(rng, 40, 4)
    dense = offline_optimum(X, mask, 0.1, tol=1e-9, fit_intercept=True)
    thin = offline_optimum(sparse.csr_matrix(X), mask, 0.1, tol=1e-9, fit_intercept=True)
    by_hand = offline_optimum(np.hstack([X, np.ones((40, 1))]), mask, 0.1, tol=1e-9)
    assert dense.W.shape == (4, 7)
    np.testing.assert_allclose(thin.W, dense.W, atol=1e-4)
    assert np.array_equal(by_hand.W, dense.W)


def test_repeated_entries_of_sparse_rows_count_as_their_sum():
    rng = np.random.default_rng(3)
    halves, mask = rng.normal(size=(2, 30, 5)), random_sets(rng, 30, 4)
    twice = sparse.csr_array(
        (
            np.concatenate(halves, axis=1).ravel(),
            np.tile(np.arange(5), 60),
            10 * np.arange(31),
        ),
        shape=(30, 5),
    )
    expected = offline_optimum(halves.sum(axis=0), mask, 0.1, tol=1e-9)
    found = offline_optimum(twice, mask, 0.1, tol=1e-9, max_passes=500)
    np.testing.assert_allclose(found.W, expected.W, atol=1e-4)


def test_rows_of_zeros_and_full_sets_have_their_losses():
    zero = offline_optimum([[0.0]], CandidateSets([0, 1], [0, 1], [1]), 1.0)
    assert (zero.primal, zero.gap) == (1.0, 0.0)
    full = offline_optimum([[1.0]], [{0, 1}], 1.0)
    assert (full.primal, full.dual) == (0.0, 0.0)


def test_an_early_stop_is_told():
    rng = np.random.default_rng(0)
    X, mask = rng.normal(size=(50, 5)), random_sets(rng, 50, 4)
    with pytest.warns(ConvergenceWarning, match="raise max_passes"):
        offline_optimum(X, mask, 1e-3, tol=1e-9, max_passes=2)


@pytest.mark.parametrize("change", [{"alpha": 0}, {"tol": 0}, {"max_passes": 0}])
def test_bad_arguments_of_the_optimum_are_refused(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        offline_optimum([[1.0]], [{0, 1}], **({"alpha": 1.0} | change))
