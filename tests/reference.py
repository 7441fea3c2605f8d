"""The paper in NumPy, one round at a time, with the words of the mathematics.

Shared by every test that asks "is this what the paper says?"; imports nothing of the package.
W has one column per class, Y is a set of class indices, t counts rounds from 1.
"""

import numpy as np


def scores(W, x):
    return W.T @ x


def rivals(s, Y):
    return [k for k in range(len(s)) if k not in Y]


def rival(s, Y):
    return max(rivals(s, Y), key=lambda k: (s[k], -k))


def best(s, Y):
    return max(Y, key=lambda k: (s[k], -k))


def prediction(s):
    return int(np.argmax(s))


def is_mistake(s, Y):
    return prediction(s) not in Y


# Losses: the candidate term m(s, Y) and its gradient on the candidates (max: on i* only).
def avg_term(s, Y):
    return sum(s[i] for i in Y) / len(Y), {i: 1 / len(Y) for i in Y}


def max_term(s, Y):
    return max(s[i] for i in Y), {best(s, Y): 1.0}


def soft_term(s, Y, beta):
    top = s[best(s, Y)]
    e = {i: np.exp(beta * (s[i] - top)) for i in Y}
    total = sum(e.values())
    return top + np.log(total / len(Y)) / beta, {i: e[i] / total for i in Y}


# A loss is one of these names, or a function like soft_term with its β.
LOSSES = {"avg": avg_term, "max": max_term}


def term(loss, s, Y):
    return (LOSSES.get(loss) or loss)(s, Y)


def margin(loss, s, Y):
    return term(loss, s, Y)[0] - s[rival(s, Y)]


def contrast(loss, s, Y):
    c = np.zeros(len(s))
    for i, share in term(loss, s, Y)[1].items():
        c[i] = share
    c[rival(s, Y)] = -1.0
    return c


def hinge(loss, s, Y):
    return max(0.0, 1.0 - margin(loss, s, Y)) if rivals(s, Y) else 0.0


# Rules: from W before round t to W after it, and whether the round was an update.
def perceptron(W, x, Y, _t, loss, eta0=1.0, update="margin", sample_weight=1.0):
    s = scores(W, x)
    is_update = is_mistake(s, Y) if update == "mistake" else hinge(loss, s, Y) > 0
    if not is_update:
        return W, False
    return W + sample_weight * eta0 * np.outer(x, contrast(loss, s, Y)), True


def pegasos(W, x, Y, t, loss, alpha=0.01, shrink="on-loss", sample_weight=1.0):
    s = scores(W, x)
    is_update = hinge(loss, s, Y) > 0
    if is_update or shrink == "always":
        W = (1 - 1 / t) * W
    if not is_update:
        return W, False
    W = W + sample_weight / (alpha * t) * np.outer(x, contrast(loss, s, Y))
    norm = np.linalg.norm(W)
    return W * min(1.0, 1 / np.sqrt(alpha) / norm) if norm > 0 else W, True


def passive_aggressive(W, x, Y, _t, loss, C=1.0, variant="PA-I", exact=False, sample_weight=1.0):
    s, xx = scores(W, x), x @ x
    if xx == 0 or hinge(loss, s, Y) == 0:
        return W, False
    if exact:
        return W + sample_weight * np.outer(x, exact_contrast(loss, s, Y, xx, C, variant)), True
    c = contrast(loss, s, Y)
    n, step = c @ c, hinge(loss, s, Y) / (c @ c * xx)
    if variant == "PA-I":
        step = min(C, step)
    elif variant == "PA-II":
        step = hinge(loss, s, Y) / (n * xx + 1 / (2 * C))
    return W + sample_weight * step * np.outer(x, c), True


def exact_contrast(loss, s, Y, xx, C, variant):
    """The step and contrast of all rivals at once: λ_j = [ℓ_j − θ]₊/xx for each."""
    m, shares = term(loss, s, Y)
    losses = sorted((max(0.0, 1 - m + s[j]) for j in rivals(s, Y)), reverse=True)
    a = sum(q**2 for q in shares.values()) + (1 / (2 * C * xx) if variant == "PA-II" else 0)
    theta = grown(losses, lambda S: a * sum(S) / (1 + len(S) * a))
    if variant == "PA-I" and sum(max(0, loss - theta) for loss in losses) > C * xx:
        theta = grown(losses, lambda S: (sum(S) - C * xx) / len(S))
    u = np.zeros(len(s))
    for j in rivals(s, Y):
        u[j] = -max(0.0, 1 - m + s[j] - theta) / xx
    for i, q in shares.items():
        u[i] = -q * sum(u[rivals(s, Y)])
    return u


def grown(losses, theta_of):
    """θ of the support that grows while the next loss exceeds the θ that includes it."""
    n = 1
    while n < len(losses) and losses[n] > theta_of(losses[: n + 1]):
        n += 1
    return theta_of(losses[:n])


def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum()


def log_loss(s, Y):
    return -np.log(sum(softmax(s)[i] for i in Y))


def gradient(W, x, Y, t, _loss, eta0=3.0, step="normalized", alpha=0.0, sample_weight=1.0):
    s, xx, inside = scores(W, x), x @ x, sorted(Y)
    if xx == 0 or not rivals(s, Y):
        return W, False
    p, q = softmax(s), np.zeros(len(s))
    q[inside] = softmax(s[inside])
    size = eta0 / xx if step == "normalized" else eta0 / np.sqrt(t)
    return W / (1 + size * alpha) + sample_weight * size * np.outer(x, q - p), True


RULES = {
    "perceptron": perceptron,
    "pegasos": pegasos,
    "passive_aggressive": passive_aggressive,
    "gradient": gradient,
}


def learn(X, candidates, n_classes, loss, rule, weights=None, **parameters):
    """Run a whole stream: W after the last round, predictions, updates, mistakes, and W̄."""
    W = np.zeros((X.shape[1], n_classes))
    mean, predictions, n_updates, n_mistakes = np.zeros_like(W), [], 0, 0
    for t, (x, Y) in enumerate(zip(X, candidates, strict=True), start=1):
        s = scores(W, x)
        predictions.append(prediction(s))
        n_mistakes += is_mistake(s, Y)
        weight = 1.0 if weights is None else weights[t - 1]
        W, is_update = RULES[rule](W, x, Y, t, loss, sample_weight=weight, **parameters)
        n_updates += is_update
        mean += (W - mean) / t
    return W, predictions, n_updates, n_mistakes, mean
