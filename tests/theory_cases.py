"""Random rows, sets and streams, and SPEC §4's definitions as plain loops; no tests."""

import math

import numpy as np

from oneof.candidates import CandidateSets
from oneof.theory import make_stream, separability


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


def separable_pool(rng):
    """Rows, sets and the unit weights of the largest margin: they make the bound the smallest."""
    K, n = rng.integers(2, 6), rng.integers(2, 15)
    d, size, R = rng.integers(K, 12), rng.integers(1, K), 10.0 ** rng.integers(-1, 2)
    margin = rng.uniform(0.1, 0.9) * R / np.sqrt(size * (K - size))
    s = make_stream(n, d, K, int(size), margin, R=R, random_state=rng)
    return s.X, s.Y.to_indicator().astype(bool), separability(s.X, s.Y).W


def objective(W, X, mask, alpha):
    """Return f_t(W) of each row, as SPEC §4 has it."""
    hinges = [max(0.0, 1 - loop_margin(W, x, row, np.mean)) for x, row in zip(X, mask, strict=True)]
    return 0.5 * alpha * np.sum(W**2) + np.array(hinges)
