"""Passive-Aggressive against a generic solver, its limits, and scikit-learn's binary relative."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn.linear_model import SGDClassifier

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


def learnt(W, x, Y, loss, **parameters):
    """W after one round of the kernel."""
    learner = Learner.make(loss, "passive_aggressive", {**parameters, **SHARED})
    model = OnlineModel(learner, W.shape[1], W.shape[0], W.dtype, False)
    model._weights[:, : W.shape[1]] = W
    model.learn(Rows(x[None]), candidate_sets([Y], range(W.shape[1])))
    return model._weights[:, : W.shape[1]].copy()


def problems(n, seed):
    """Random rounds: old weights, a row, candidates, a price."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        d, K = rng.integers(1, 5), rng.integers(2, 9)
        W = rng.normal(size=(d, K)) * 10 ** rng.uniform(-1, 1)
        x = rng.normal(size=d) * 10 ** rng.uniform(-1, 1)
        Y = set(rng.choice(K, size=rng.integers(1, K), replace=False).tolist())
        yield W, x, Y, 10 ** rng.uniform(-3, 1)


def constraints(W, x, Y, loss):
    """G, h of G·vec(ΔW) ≥ h: every non-candidate is beaten by 1."""
    s = reference.scores(W, x)
    winners = {reference.best(s, Y)} if loss == "max" else Y
    rows = []
    for j in reference.rivals(s, Y):
        c = np.zeros(len(s))
        c[list(winners)] = 1 / len(winners)
        c[j] = -1
        rows.append((np.outer(x, c).ravel(), 1 - c @ s))
    return np.array([r for r, _ in rows]), np.array([h for _, h in rows])


def cost(step, G, h, C, variant):
    xi = max(0.0, (h - G @ step.ravel()).max())
    price = {"PA": 0.0, "PA-I": C * xi, "PA-II": C * xi**2}[variant]
    return 0.5 * np.sum(step**2) + price, xi


def nearest(G, h):
    """The shortest v with Gv ≥ h, by non-negative least squares (Lawson and Hanson, ch. 23)."""
    E = np.vstack([G.T, h])
    z, _ = nnls(E, np.append(np.zeros(G.shape[1]), 1.0), maxiter=50 * len(h))
    r = E @ z - np.append(np.zeros(G.shape[1]), 1.0)
    return -r[:-1] / r[-1]


@pytest.mark.parametrize("loss", ["avg", "max"])
@pytest.mark.parametrize("variant", ["PA", "PA-II"])
def test_exact_steps_are_those_of_a_generic_solver(loss, variant):
    for W, x, Y, C in problems(1500, seed=len(loss + variant)):
        G, h = constraints(W, x, Y, loss)
        step = learnt(W, x, Y, loss, C=C, variant=variant, exact=True) - W
        ours, xi = cost(step, G, h, C, variant)
        if h.max() <= 0:
            assert not step.any()
            continue
        if variant == "PA":
            assert xi <= 1e-9 * (1 + np.abs(W).max() * np.abs(x).max())
            best = 0.5 * np.sum(nearest(G, h) ** 2)
        else:  # the slack is one more coordinate, √(2C)ξ
            v = nearest(np.column_stack([G, np.full(len(h), 1 / np.sqrt(2 * C))]), h)
            best = 0.5 * np.sum(v**2)
        assert ours == pytest.approx(best, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("loss", ["avg", "max"])
def test_exact_steps_with_a_linear_price(loss):
    n_finished = 0
    for W, x, Y, C in problems(500, seed=3):
        G, h = constraints(W, x, Y, loss)
        step = learnt(W, x, Y, loss, C=C, variant="PA-I", exact=True) - W
        ours, _ = cost(step, G, h, C, "PA-I")
        found = minimize(
            lambda v, C=C: 0.5 * v[:-1] @ v[:-1] + C * v[-1],
            np.append(step.ravel() * 0, max(0.0, h.max())),
            jac=lambda v, C=C: np.append(v[:-1], C),
            method="SLSQP",
            bounds=[(None, None)] * step.size + [(0, None)],
            constraints={
                "type": "ineq",
                "fun": lambda v, G=G, h=h: G @ v[:-1] + v[-1] - h,
                "jac": lambda _, G=G: np.column_stack([G, np.ones(len(G))]),
            },
            options={"ftol": 1e-14, "maxiter": 500},
        )
        best, _ = cost(found.x[:-1], G, h, C, "PA-I")
        assert ours <= best + 1e-7 * max(1, best)
        # A stalled search is no witness; a finished one is met.
        if found.success:
            n_finished += 1
            assert ours == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert n_finished > 400


@pytest.mark.parametrize("loss", ["avg", "max"])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_exact_steps_satisfy_the_conditions_of_optimality(loss, variant):
    """λ ≥ 0, λ_j > 0 only where rival j is beaten by exactly 1 − ξ, and ξ priced right."""
    for W, x, Y, C in problems(1500, seed=7):
        G, h = constraints(W, x, Y, loss)
        step = learnt(W, x, Y, loss, C=C, variant=variant, exact=True) - W
        others = reference.rivals(W[0], Y)
        j = int(np.argmax(np.abs(x)))
        lam = -step[j, others] / x[j]
        _, xi = cost(step, G, h, C, variant)
        slack = G @ step.ravel() + xi - h
        scale = 1 + np.abs(h).max()
        assert np.all(lam >= -1e-12 * scale)
        assert np.all(slack >= -1e-9 * scale)
        assert np.all(np.minimum(lam * (x @ x), slack) <= 1e-8 * scale)
        if variant == "PA-I":
            assert lam.sum() <= C * (1 + 1e-9)
            assert xi <= 1e-8 * scale or lam.sum() == pytest.approx(C, rel=1e-6)
        elif variant == "PA-II":
            assert lam.sum() == pytest.approx(2 * C * xi, rel=1e-6, abs=1e-9 * scale)


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("loss", ["avg", "max"])
def test_one_rival_and_all_rivals_agree_where_there_is_one(loss, variant):
    for W, x, _, C in problems(200, seed=11):
        Y = set(range(W.shape[1] - 1))
        one, all_ = (learnt(W, x, Y, loss, C=C, variant=variant, exact=e) for e in (False, True))
        np.testing.assert_allclose(one, all_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_pa_leaves_no_loss_behind(exact):
    for W, x, Y, _ in problems(300, seed=5):
        s = reference.scores(learnt(W, x, Y, "avg", C=1.0, variant="PA", exact=exact), x)
        term, _ = reference.avg_term(s, Y)
        before = reference.scores(W, x)
        rivals = reference.rivals(s, Y) if exact else [reference.rival(before, Y)]
        assert min(term - s[j] for j in rivals) >= 1 - 1e-8 * (1 + np.abs(before).max())


@pytest.mark.parametrize(("variant", "rate"), [("PA-I", "pa1"), ("PA-II", "pa2")])
@pytest.mark.parametrize("exact", [False, True])
def test_two_classes_are_scikit_learns_passive_aggressive(variant, rate, exact):
    """Its w is our w₁ − w₀; its C is twice ours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X @ rng.normal(size=5) + 0.5 * rng.normal(size=200) > 0).astype(int)
    theirs = SGDClassifier(
        loss="hinge", penalty=None, learning_rate=rate, eta0=0.4, fit_intercept=False,
        shuffle=False, max_iter=1, tol=None,
    ).fit(X, y)  # fmt: skip
    ours = oneof.AvgPassiveAggressive(C=0.2, variant=variant, exact=exact, fit_intercept=False)
    ours.partial_fit(X, y)
    np.testing.assert_allclose(ours.coef_[1] - ours.coef_[0], theirs.coef_[0], rtol=1e-9)


def test_rows_too_short_to_step_by_are_left_alone():
    for dtype, tiny in ((np.float64, 1e-160), (np.float32, 1e-20)):
        model = oneof.AvgPassiveAggressive(variant="PA", fit_intercept=False)
        X = np.array([[tiny], [1.0], [0.0]], dtype)
        model.partial_fit(X, [{0}, {1}, {0}], classes=[0, 1, 2])
        assert np.isfinite(model.coef_).all()
        assert (model.t_, model.n_updates_) == (3, 1)
