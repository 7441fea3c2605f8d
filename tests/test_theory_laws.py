"""Searches for a stream that breaks a theorem: true bounds hold, planted wrong ones fall."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oneof.candidates import CandidateSets
from oneof.theory import mistake_bound, offline_optimum, regret_bound, stream_constants
from theory_cases import loop_margin, objective, packed, random_sets, separable_pool

seeds = st.integers(0, 2**32 - 1)


def hardest_rounds(X, mask, eta, update, n_rounds=300):
    """Run the Avg Perceptron of SPEC §3 on the row it does worst on; return rows that updated it.

    A stream may repeat its rows, and rounds without an update count in no bound.
    """
    sizes = mask.sum(axis=1)
    W, rounds = np.zeros((mask.shape[1], X.shape[1])), []
    for _ in range(n_rounds):
        scores = X @ W.T
        rival_scores = np.where(mask, -np.inf, scores)
        margins = (scores * mask).sum(axis=1) / sizes - rival_scores.max(axis=1)
        if update == "margin":
            is_update = margins < 1
        else:
            is_update = ~mask[np.arange(len(X)), scores.argmax(axis=1)]
        if not is_update.any():
            break
        t = np.argmin(np.where(is_update, margins, np.inf))
        contrast = mask[t] / sizes[t]
        contrast[np.argmax(rival_scores[t])] -= 1
        W += eta * np.outer(contrast, X[t])
        rounds.append(int(t))
    return rounds


def first_broken(bound, update, searches):
    """Return the first seed whose hardest rounds exceed `bound(k, eta)`, or None."""
    for seed in searches:
        rng = np.random.default_rng(seed)
        X, mask, W = separable_pool(rng)
        eta = 1.0 if seed % 2 else 10.0 ** rng.uniform(-2, 2)
        k = stream_constants(X, mask, W)
        if len(hardest_rounds(X, mask, eta, update)) > bound(k, eta) * (1 + 1e-9):
            return seed
    return None


@pytest.mark.parametrize("update", ["margin", "mistake"])
def test_no_stream_breaks_theorem_1(update):
    def bound(k, eta):
        return mistake_bound(R=k.R, c=k.c, gamma=k.gamma, eta0=eta, update=update)

    def paper(k, eta):
        if eta != 1:
            return math.inf
        return mistake_bound(R=k.R, c=k.c, gamma=k.gamma, form="paper")

    assert first_broken(bound, update, range(150)) is None
    assert first_broken(paper, update, range(1, 100, 2)) is None


@pytest.mark.parametrize("update", ["margin", "mistake"])
def test_the_search_finds_a_bound_without_kappa_broken(update):
    def wrong(k, eta):
        return (k.R**2 + (2 / eta if update == "margin" else 0)) / k.gamma**2

    assert first_broken(wrong, update, range(150)) is not None


def test_theorem_1_is_attained():
    # Class 0 wins every tie, so each of these orthogonal rows of class 1 is one mistake.
    n = 7
    X, Y = np.eye(n), CandidateSets([0, 1], np.arange(n + 1), np.ones(n, dtype=int))
    W = np.vstack([-np.ones(n), np.ones(n)])
    bound = mistake_bound(X, Y, W, update="mistake")
    mask = Y.to_indicator().astype(bool)
    assert bound == pytest.approx(n)
    assert len(hardest_rounds(X, mask, 1.0, "mistake")) == n
    k = stream_constants(X, Y, W)
    assert n > k.R**2 / k.gamma**2  # κ cannot be dropped


def suitable_weights(rng, X, mask):
    """Return weights that fit the rows about as well as a sum of contrasts does."""
    contrasts = mask / mask.sum(axis=1, keepdims=True) - ~mask / (~mask).sum(axis=1, keepdims=True)
    return contrasts.T @ X + 0.1 * rng.normal(size=(mask.shape[1], X.shape[1]))


@settings(max_examples=150, deadline=None)
@given(seeds, st.floats(0.05, 5), st.floats(-2, 2), st.sampled_from(["margin", "mistake"]))
def test_no_stream_breaks_theorem_2(seed, gamma, log_eta, update):
    """Any rows, any sets; weights that suit them or not; every γ > 0."""
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 12), rng.integers(1, 6), rng.integers(2, 6)
    X, mask = rng.normal(size=(n, d)), random_sets(rng, n, K)
    rounds = hardest_rounds(X, mask, 10**log_eta, update)
    assume(rounds)
    X, mask = X[rounds], mask[rounds]
    Y, W = packed(mask), suitable_weights(rng, X, mask)
    bound = mistake_bound(X, Y, W, gamma=gamma, eta0=10**log_eta, update=update)
    assert len(rounds) <= bound * (1 + 1e-9)


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0.05, 5))
def test_no_stream_breaks_the_papers_theorem_2(seed, gamma):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 12), rng.integers(1, 6), rng.integers(2, 6)
    X, mask = rng.normal(size=(n, d)), random_sets(rng, n, K)
    rounds = hardest_rounds(X, mask, 1.0, "margin")
    X, mask = X[rounds], mask[rounds]
    Y, W = packed(mask), suitable_weights(rng, X, mask)
    paper = mistake_bound(X, Y, W, gamma=gamma, form="paper")
    assert mistake_bound(X, Y, W, gamma=gamma) * (1 - 1e-12) <= paper
    assert len(rounds) <= paper


def test_a_bound_that_forgets_the_slack_is_broken():
    def is_broken(seed):
        rng = np.random.default_rng(seed)
        X, mask = rng.normal(size=(8, 3)), random_sets(rng, 8, 4)
        rounds = hardest_rounds(X, mask, 1.0, "margin")
        X, Y = X[rounds], packed(mask)[rounds]
        k = stream_constants(X, Y, rng.normal(size=(4, 3)), 2.0)
        return len(rounds) > mistake_bound(R=k.R, c=k.c, gamma=k.gamma)

    assert any(map(is_broken, range(20)))


def pegasos_average(X, mask, alpha, shrink):
    """Return (1/T) Σ f_t(W^t) of the Avg Pegasos of SPEC §3."""
    W, total = np.zeros((mask.shape[1], X.shape[1])), 0.0
    for t, (x, row) in enumerate(zip(X, mask, strict=True), start=1):
        (value,) = objective(W, x[None], row[None], alpha)
        total += value
        scores = W @ x
        margin = loop_margin(W, x, row, np.mean)
        if margin < 1:
            contrast = row / row.sum()
            contrast[np.argmax(np.where(row, -np.inf, scores))] -= 1
            W = (1 - 1 / t) * W + np.outer(contrast, x) / (alpha * t)
            W *= min(1.0, 1 / (np.sqrt(alpha) * np.linalg.norm(W)))
        elif shrink == "always":
            W = (1 - 1 / t) * W
    return total / len(X)


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(-3, 1), st.sampled_from(["random", "separable", "sorted"]))
def test_no_stream_breaks_theorem_3(seed, log_alpha, kind):
    rng, alpha = np.random.default_rng(seed), 10**log_alpha
    if kind == "separable":
        X, mask, _ = separable_pool(rng)
    else:
        n, d, K = rng.integers(1, 40), rng.integers(1, 6), rng.integers(2, 6)
        X, mask = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2), random_sets(rng, n, K)
    if kind == "sorted":
        order = np.lexsort(mask.T)
        X, mask = X[order], mask[order]
    best = offline_optimum(X, mask, alpha, tol=1e-2)
    R, c = np.linalg.norm(X, axis=1).max(), mask.sum(axis=1).min()
    regret = pegasos_average(X, mask, alpha, "always") - best.dual
    assert regret <= regret_bound(len(X), alpha, R, c) + best.gap + 1e-12
    if len(X) >= 3:
        assert regret <= regret_bound(len(X), alpha, R, c, form="paper") + best.gap + 1e-12
