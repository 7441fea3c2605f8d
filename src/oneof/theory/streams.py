"""Synthetic streams of known margin and slack against known weights. No learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneof.candidates import CandidateSets
from oneof.rules import Choice, Number
from oneof.theory.margins import (
    Array,
    Floats,
    margins_of_scores,
    margins_to_rivals,
    unit_weights,
)

_TRIES = 30

Proposal = Callable[[Any], tuple[Array, Floats]]  # sizes → candidate masks and unit directions


@dataclass(frozen=True)
class Stream:
    """A stream and what is known of it.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Rows with ‖x‖ ≤ R.
    Y : CandidateSets
        The candidates; the classes are 0, …, n_classes − 1.
    y : ndarray of shape (n,)
        The true labels: the candidate that W scores highest.
    W : ndarray of shape (n_classes, d)
        Weights with ‖W‖ = 1.
    gamma : float
        The margin γ of the rounds without slack: none has less, up to rounding.
    slack : ndarray of shape (n,)
        d_t = max{0, γ − margin_t(W)}, as Theorem 2 has it.
    R : float
        The bound on the norms.
    loss : str
        The margin meant: "avg" or "max".
    """

    X: Floats
    Y: CandidateSets
    y: npt.NDArray[np.int64]
    W: Floats
    gamma: float
    slack: Floats
    R: float
    loss: str


def make_stream(
    n: int,
    d: int,
    n_classes: int,
    size: int | tuple[int, int],
    margin: float,
    slack: npt.ArrayLike = 0.0,
    *,
    R: float = 1.0,
    loss: str = "avg",
    random_state: int | np.random.Generator | None = None,
) -> Stream:
    """Draw a stream that weights W with ‖W‖ = 1 classify with margin γ, slack apart.

    For d ≥ n_classes the sets are drawn uniformly and the rows are fitted to them. In fewer
    dimensions most sets cannot be had with much margin; there, hard rows take the classes that W
    scores highest as their candidates.

    Parameters
    ----------
    n, d, n_classes : int
        Rounds, features and classes.
    size : int or (low, high)
        Candidates per round; a pair, both ends included, draws each round's size uniformly.
    margin : float
        γ > 0: no round without slack has a smaller margin, up to rounding, and many are near it.
    slack : float or array-like of shape (n,), default=0
        How far each round's margin falls short of γ. With ``loss="avg"`` the margin is exactly
        γ − slack where slack is positive; with "max" at least that.
    R : float, default=1
        No row is longer.
    loss : {"avg", "max"}, default="avg"
        Which margin is meant.
    random_state : int, Generator or None
        Seeds the draw.

    Examples
    --------
    >>> from oneof.theory import avg_margins
    >>> s = make_stream(100, 20, 5, (1, 3), margin=0.2, random_state=0)
    >>> s.Y
    CandidateSets(100 rows, 5 classes, mean size 2.06, 29.0 % exact, 0.0 % full)
    >>> margins = avg_margins(s.W, s.X, s.Y)
    >>> bool(margins.min() > 0.2 - 1e-12), bool(s.Y.contains(s.y).all())
    (True, True)
    """
    rng = np.random.default_rng(random_state)
    whole = Number(least=1, is_integer=True)
    n, d, K = (
        int(whole.checked(name, value))
        for name, value in (("n", n), ("d", d), ("n_classes", n_classes))
    )
    gamma, R = Number(above=0).checked("margin", margin), Number(above=0).checked("R", R)
    loss = Choice({"avg": "avg", "max": "max"}).checked("loss", loss)
    sizes, wanted = _sizes(size, n, K, rng), _slack(slack, n)

    W = _weights(d, K, rng)
    # Beating every class with one of the candidates is the max margin's way.
    is_leader, U = _directions(W, sizes if loss == "avg" else np.ones_like(sizes), gamma / R, rng)
    contrasts = margins_to_rivals(U @ W.T, is_leader)
    reach = R * contrasts.min(axis=1)
    surplus = np.where(np.isinf(reach), 0.0, np.maximum(reach, gamma) - gamma)
    target = np.where(wanted > 0, gamma - wanted, gamma + surplus * rng.random(n) ** 4)
    if np.any(np.abs(target) > reach * (1 + 1e-9)):
        t = int(np.argmax(np.abs(target) - reach))
        raise ValueError(
            f"slack {wanted[t]:.3g} is out of reach in round {t}: with R={R:g} the margin can be "
            f"{-reach[t]:.3g} at least; give less slack or a larger R"
        )
    X = _rows_with_margin(W, is_leader, U, contrasts, target, R, rng)

    is_candidate = is_leader if loss == "avg" else _with_others(is_leader, sizes, rng)
    scores = X @ W.T
    margins = margins_of_scores(scores, is_candidate, loss)
    codes = np.nonzero(is_candidate)[1]
    Y = CandidateSets(np.arange(K), np.concatenate([[0], np.cumsum(sizes)]), codes)
    y = np.argmax(np.where(is_candidate, scores, -np.inf), axis=1)
    short = np.where(wanted > 0, np.maximum(0.0, gamma - margins), 0.0)
    return Stream(X, Y, y, W, gamma, short, R, loss)


def _sizes(size: Any, n: int, K: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    low, high = size if isinstance(size, tuple) else (size, size)
    whole = Number(least=1, is_integer=True)
    low, high = int(whole.checked("size", low)), int(whole.checked("size", high))
    if not low <= high <= K:
        raise ValueError(f"size must rise and be at most n_classes={K}, not {size!r}")
    return np.asarray(rng.integers(low, high, size=n, endpoint=True))


def _slack(slack: npt.ArrayLike, n: int) -> Floats:
    given = np.asarray(slack, dtype=np.float64)
    if given.shape not in ((), (n,)) or not np.all((given >= 0) & np.isfinite(given)):
        raise ValueError(f"slack must be one finite number of at least 0, or {n} of them")
    return np.asarray(np.broadcast_to(given, n))


def _weights(d: int, K: int, rng: np.random.Generator) -> Floats:
    """Return unit weights that sum to zero over the classes, equally far apart if d allows it."""
    W = rng.standard_normal((K, d))
    if d >= K:
        W = np.linalg.qr(W.T)[0].T
    # What all classes share changes no margin and wastes norm.
    return unit_weights(W - W.mean(axis=0) if K > 1 else W)


def _directions(
    W: Floats, sizes: Array, least: float, rng: np.random.Generator
) -> tuple[Array, Floats]:
    """Return candidates and, for each row, a unit x with an avg margin of at least `least`."""
    K, d = W.shape
    is_candidate, U = np.zeros((sizes.size, K), dtype=np.bool_), np.zeros((sizes.size, d))
    best = np.full(sizes.size, -np.inf)

    def any_set(m: Array) -> tuple[Array, Floats]:
        chosen = _first(rng.random((m.size, K)), m)
        # Weights equally far apart have this set's largest margin here.
        pull = np.where(chosen, K - m[:, None], -m[:, None])
        return chosen, pull @ W

    def top_set(m: Array) -> tuple[Array, Floats]:
        x = rng.standard_normal((m.size, d))
        return _first(-(x @ W.T), m), x

    proposals: list[Proposal] = [any_set, any_set, *[top_set] * _TRIES]
    for propose in proposals:
        rows = np.flatnonzero(best < least)
        chosen, x = propose(sizes[rows])
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
        margins = margins_to_rivals(x @ W.T, chosen).min(axis=1)
        is_better = margins > best[rows]
        kept = rows[is_better]
        best[kept], is_candidate[kept], U[kept] = (
            margins[is_better],
            chosen[is_better],
            x[is_better],
        )
    if best.min() < least:
        raise ValueError(
            f"the margin is out of reach: margin/R is {least:.3g}, but a round of these sizes was "
            f"found to allow {best.min():.3g} only; lower margin or raise R"
        )
    return is_candidate, U


def _rows_with_margin(
    W: Floats,
    is_candidate: Array,
    U: Floats,
    contrasts: Floats,
    target: Floats,
    R: float,
    rng: np.random.Generator,
) -> Floats:
    """Return x = bz + au with random z, the avg margin `target`, and ‖x‖ ≤ R.

    The margin to rival j is b·z_j + a·u_j with u_j > 0, so a = max_j (target − b·z_j)/u_j makes the
    smallest of them `target`. Halving b shortens x: at b = 0 it is within R.
    """
    Z = rng.standard_normal(U.shape)
    Z *= R / np.linalg.norm(Z, axis=1, keepdims=True)
    z_margins = np.where(is_candidate, 0.0, margins_to_rivals(Z @ W.T, is_candidate))
    is_rival, uz = ~is_candidate, np.einsum("ij,ij->i", U, Z)
    b = np.ones(len(U))
    for shorter in (*[0.5] * _TRIES, 0.0, 0.0):
        need = np.divide(
            target[:, None] - b[:, None] * z_margins,
            contrasts,
            out=np.full_like(contrasts, -np.inf),
            where=is_rival,
        )
        a = np.where(is_rival.any(axis=1), need.max(axis=1), 0.0)
        is_long = (b * R) ** 2 + 2 * a * b * uz + a**2 > R**2
        if not np.any(is_long & (b > 0)):
            break
        b[is_long] *= shorter
    return np.asarray(b[:, None] * Z + a[:, None] * U)


def _with_others(is_candidate: Array, sizes: Array, rng: np.random.Generator) -> Array:
    """Fill each set up to its size with classes drawn uniformly."""
    return _first(rng.random(is_candidate.shape) - is_candidate, sizes)


def _first(keys: Floats, m: Array) -> Array:
    """Mark the m smallest keys of each row."""
    ranks = np.argsort(np.argsort(keys, axis=1), axis=1)
    return np.asarray(ranks < m[:, None])
