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


LOSSES = {"avg": avg_term, "max": max_term}


def margin(loss, s, Y):
    return LOSSES[loss](s, Y)[0] - s[rival(s, Y)]


def contrast(loss, s, Y):
    c = np.zeros(len(s))
    for i, gradient in LOSSES[loss](s, Y)[1].items():
        c[i] = gradient
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


RULES = {"perceptron": perceptron, "pegasos": pegasos}


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
