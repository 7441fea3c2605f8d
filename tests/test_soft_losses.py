"""The soft loss at its limits, the log-loss against its gradient, and their exponentials."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

import oneof
import reference
from oneof import metrics

PAIRS = [
    (oneof.SoftPerceptron, oneof.AvgPerceptron, oneof.MaxPerceptron, {"eta0": 0.3}),
    (oneof.SoftPegasos, oneof.AvgPegasos, oneof.MaxPegasos, {"alpha": 0.1}),
    (oneof.SoftPassiveAggressive, oneof.AvgPassiveAggressive, oneof.MaxPassiveAggressive, {}),
    (
        oneof.SoftPassiveAggressive,
        oneof.AvgPassiveAggressive,
        oneof.MaxPassiveAggressive,
        {"exact": True, "variant": "PA-II"},
    ),
]


def stream(n=40, d=6, K=5, seed=0):
    rng = np.random.default_rng(seed)
    sets = [set(rng.choice(K, size=rng.integers(1, K), replace=False).tolist()) for _ in range(n)]
    return rng.normal(size=(n, d)), sets, np.arange(K)


@pytest.mark.parametrize(("soft", "avg", "max_", "parameters"), PAIRS)
def test_the_limits_are_avg_and_max(soft, avg, max_, parameters):
    X, sets, classes = stream()
    # Away from W = 0, where the best of equal scores is a matter of order.
    begin = X[:5], [{k} for k in range(5)]
    for beta, other in ((1e-9, avg), (1e9, max_)):
        ours, theirs = soft(beta=beta, **parameters), other(**parameters)
        for model in (ours, theirs):
            model.partial_fit(*begin, classes=classes).partial_fit(X, sets)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-6)
        assert ours.n_updates_ == theirs.n_updates_


@pytest.mark.parametrize("beta", [1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4])
def test_the_margin_of_the_soft_loss(beta):
    """Seen from outside: a passive-aggressive step shows the hinge to the last digits."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        K = 4
        W, x = rng.normal(size=(1, K)) * 0.3, np.array([1.0])
        model = oneof.SoftPassiveAggressive(beta=beta, variant="PA", fit_intercept=False)
        model.partial_fit(x[None] * 0, [set(range(K))], classes=np.arange(K))
        model.model_._weights[:, :K] = W
        s, Y = W[0], {0, 1, 2}
        model.partial_fit(x[None], [Y])
        top = s[:3].max()
        below = math.fsum(np.expm1(beta * (s[:3] - top))) / 3
        hinge = 1 - (top + math.log1p(below) / beta) + s[3]
        q = np.exp(beta * (s[:3] - top))
        n = 1 + np.sum((q / q.sum()) ** 2)
        moved = s[3] - model.coef_[3, 0]
        assert moved == pytest.approx(max(0, hinge) / n, rel=1e-10, abs=1e-12)


def test_the_step_is_the_gradient_of_the_log_loss():
    X, sets, classes = stream(n=60)
    for x, Y in zip(X, sets, strict=True):
        rng = np.random.default_rng(len(Y))
        W = rng.normal(size=(6, 5))
        model = oneof.CandidateLogistic(eta0=0.7, step="sqrt", fit_intercept=False)
        model.partial_fit(0 * x[None], [set(range(5))], classes=classes)
        model.model_._weights[:, :5] = W
        model.partial_fit(x[None], [Y])
        step = (model.coef_.T - W) * np.sqrt(2) / 0.7
        numeric, h = np.zeros_like(W), 1e-5
        for at in np.ndindex(*W.shape):
            E = np.zeros_like(W)
            E[at] = h
            up, down = (reference.log_loss(reference.scores(V, x), Y) for V in (W + E, W - E))
            numeric[at] = (up - down) / (2 * h)
        np.testing.assert_allclose(step, -numeric, atol=1e-8)


def test_exponentials_hold_to_the_last_digits():
    rng = np.random.default_rng(0)
    for _ in range(200):
        s = rng.uniform(-4, 4, size=5)
        model = oneof.CandidateLogistic(eta0=1.0, fit_intercept=False)
        model.partial_fit([[0.0]], [set(range(5))], classes=range(5))
        model.model_._weights[:, :5] = s
        model.partial_fit([[1.0]], [{0, 1}])
        e = np.exp(s.astype(np.longdouble))
        p, q = e / e.sum(), np.append(e[:2] / e[:2].sum(), [0, 0, 0])
        np.testing.assert_allclose(model.coef_[:, 0] - s, (q - p).astype(float), atol=3e-15, rtol=0)


@pytest.mark.parametrize("lead", [0.0, 30.0, -30.0, 800.0, -800.0, 1e5])
def test_certain_and_impossible_sets_stay_finite(lead):
    """The contrast where all of p, or none of it, is on the candidates."""
    model = oneof.CandidateLogistic(eta0=1.0, fit_intercept=False)
    model.partial_fit([[0.0]], [{0, 1, 2, 3}], classes=range(4))
    s = np.array([lead, lead - 1, 0.0, -2.0])
    model.model_._weights[:, :4] = s
    model.partial_fit([[1.0]], [{0, 1}])
    p = np.exp(s - logsumexp(s))
    q = np.append(np.exp(s[:2] - logsumexp(s[:2])), [0, 0])
    np.testing.assert_allclose(model.coef_[:, 0] - s, q - p, atol=1e-9 * max(1, abs(lead)))


def test_probabilities_and_their_loss():
    X, sets, classes = stream(n=200)
    model = oneof.CandidateLogistic().partial_fit(X, sets, classes=classes)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(classes[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X))
    losses = [
        reference.log_loss(s, Y) for s, Y in zip(model.decision_function(X), sets, strict=True)
    ]
    assert metrics.log_loss(sets, P, classes=classes) == pytest.approx(np.mean(losses))
    assert metrics.neg_log_loss(model, X, sets) == pytest.approx(-np.mean(losses))


def test_two_classes_are_logistic_regression():
    """Its gradient step of size η/‖x‖² on w₁ − w₀ is twice ours on either."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    model = oneof.CandidateLogistic(eta0=0.5, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    w = np.zeros(3)
    for x, label in zip(X, y, strict=True):
        w += 2 * 0.5 / (x @ x) * (label - 1 / (1 + np.exp(-w @ x))) * x
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], w, rtol=1e-9)


def test_the_penalty_shrinks_by_the_implicit_step():
    models = [oneof.CandidateLogistic(eta0=2.0, alpha=a, fit_intercept=False) for a in (0.0, 0.5)]
    for model in models:
        model.partial_fit([[1.0]], [{0}], classes=[0, 1, 2])
    before = models[1].coef_.copy()
    np.testing.assert_allclose(before, models[0].coef_)
    W, _ = reference.gradient(before.T, np.array([2.0]), {1}, 2, "log", eta0=2.0, alpha=0.5)
    models[1].partial_fit([[2.0]], [{1}])
    np.testing.assert_allclose(models[1].coef_.T, W)
