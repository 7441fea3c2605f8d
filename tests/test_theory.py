"""Theory: formulas against loops, certificates checked by hand, and searches for broken bounds."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.theory import (
    avg_margins,
    make_stream,
    max_margins,
    mistake_bound,
    offline_optimum,
    regret_bound,
    separability,
    stream_constants,
)

seeds = st.integers(0, 2**32 - 1)


def random_sets(rng, n, K, full=False):
    mask = rng.random((n, K)) < rng.uniform(0.1, 0.9)
    mask[np.arange(n), rng.integers(K, size=n)] = True
    if not full:
        mask[mask.all(axis=1), rng.integers(K)] = False
    return mask


def packed(mask):
    return CandidateSets.from_indicator(mask.astype(np.uint8))


def loop_margin(W, x, mask, term):
    scores = [float(np.dot(w, x)) for w in W]
    candidates = [s for s, is_in in zip(scores, mask, strict=True) if is_in]
    rivals = [s for s, is_in in zip(scores, mask, strict=True) if not is_in]
    return term(candidates) - max(rivals) if rivals else math.inf


def contrast_matrix(X, mask):
    """Every (row, rival) contrast, one flattened (K, d) matrix each."""
    parts, places = [], []
    for t, (x, is_candidate) in enumerate(zip(X, mask, strict=True)):
        for j in np.flatnonzero(~is_candidate):
            c = is_candidate / is_candidate.sum()
            c[j] -= 1
            parts.append(np.outer(c, x).ravel())
            places.append((t, j))
    return np.array(parts).reshape(len(parts), mask.shape[1] * X.shape[1]), places


# ---- margins


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


# ---- the constants and the bounds


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
    assert k.R == pytest.approx(max(np.linalg.norm(x) for x in X))
    assert (k.D, k.D_paper) == pytest.approx((math.sqrt(D2), math.sqrt(D2_paper)), abs=1e-12)


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


# ---- streams


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
    s = make_stream(n, d, K, (low, high), gamma, wanted, R=R, loss=loss, random_state=seed)
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
        expected = math.sqrt(np.sum(s.Y.sizes() * s.slack**2))
        assert k.D == pytest.approx(expected, abs=n * 10 * eps)
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": 0.51}, "margin is out of reach"),
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


# ---- Theorems 1 and 2: a search for streams that break a bound


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


def separable_pool(rng):
    """Rows, sets and the unit weights of the largest margin: they make the bound the smallest."""
    K, n = rng.integers(2, 6), rng.integers(2, 15)
    d, size, R = rng.integers(K, 12), rng.integers(1, K), 10.0 ** rng.integers(-1, 2)
    margin = rng.uniform(0.1, 0.9) * R / np.sqrt(size * (K - size))
    s = make_stream(n, d, K, int(size), margin, R=R, random_state=rng)
    return s.X, s.Y.to_indicator().astype(bool), separability(s.X, s.Y).W


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


# ---- Theorem 3


def objective(W, X, mask, alpha):
    """Return f_t(W) of each row, as SPEC §4 has it."""
    hinges = [max(0.0, 1 - loop_margin(W, x, row, np.mean)) for x, row in zip(X, mask, strict=True)]
    return 0.5 * alpha * np.sum(W**2) + np.array(hinges)


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


# ---- separability


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


def test_a_large_problem_needs_few_of_its_contrasts():
    s = make_stream(3000, 20, 6, (1, 4), 0.05, random_state=1)
    found = separability(s.X, s.Y)
    assert_proven(found, s.X, s.Y.to_indicator().astype(bool))
    assert found.margin >= 0.05
    assert len(found.weights) <= 6 * 20 + 1
    flipped = np.array(s.Y.to_indicator())
    flipped[:50] = 1 - flipped[:50]
    lost = separability(s.X, flipped)
    assert not lost.is_separable
    assert_proven(lost, s.X, flipped.astype(bool))


# ---- the offline optimum


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
