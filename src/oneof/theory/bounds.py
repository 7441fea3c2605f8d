"""The bounds of Theorems 1, 2 and 3 and the constants they speak of; no learning, no solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oneof.rules import Choice, Number
from oneof.theory.margins import (
    candidate_mask,
    checked_stream,
    checked_weights,
    margins_of_scores,
    squared_norms,
    unit_weights,
)

_FORMS = Choice({"paper": "paper", "tight": "tight"})
_REGRET_FORMS = Choice({"paper": "paper", "standard": "standard"})
_UPDATES = Choice({"margin": False, "mistake": True})
_ABOVE_ZERO, _FROM_ZERO, _FROM_ONE = Number(above=0), Number(least=0), Number(least=1)


@dataclass(frozen=True)
class StreamConstants:
    """What the theorems need to know of a stream and of weights W with ‖W‖ = 1.

    Attributes
    ----------
    T : int
        Number of rounds.
    R : float
        max ‖x^t‖.
    c : int
        min |Y^t|.
    gamma : float
        The margin γ asked of every round.
    D : float
        √(Σ |Y^t| d_t²), with the slack d_t = max{0, γ − margin_t(W)}: for the tight form.
    D_paper : float
        √(Σ (|Y^t| d_t)²): for the paper's form.
    """

    T: int
    R: float
    c: int
    gamma: float
    D: float
    D_paper: float

    @property
    def kappa(self) -> float:
        """κ = 1 + 1/c."""
        return kappa(self.c)


def kappa(c: float) -> float:
    """Return κ = 1 + 1/c: no avg contrast has a larger squared norm."""
    return 1.0 + 1.0 / c


def stream_constants(
    X: Any, Y: Any, W: npt.ArrayLike, gamma: float | None = None, *, fit_intercept: bool = False
) -> StreamConstants:
    """Measure R, c, κ and the slack D of a stream against fixed weights.

    Parameters
    ----------
    X, Y, W, fit_intercept
        As for `avg_margins`; W is divided by its norm.
    gamma : float, optional
        The margin γ > 0; by default the smallest avg margin of W/‖W‖, which leaves no slack.

    Examples
    --------
    >>> k = stream_constants([[3.0, 4.0], [0.0, 1.0]], [[0], [1, 2]], [[0, -1], [0, 0], [0, 0]], 1)
    >>> k.R, k.c, k.kappa
    (5.0, 1, 2.0)
    >>> float(k.D), k.D_paper  # the first row has margin −4 and so the slack 5
    (5.0, 5.0)
    """
    rows, sets = checked_stream(X, Y, fit_intercept)
    weights = unit_weights(checked_weights(W, rows, sets))
    margins = margins_of_scores(rows @ weights.T, candidate_mask(sets), "avg")
    if gamma is None:
        gamma = float(margins.min())
        if gamma <= 0:
            raise ValueError(
                f"W does not separate the stream, its smallest margin is {gamma:.3g}: "
                "pass gamma to allow slack"
            )
    _check_gamma(gamma)
    slack = np.zeros_like(margins)
    np.subtract(gamma, margins, out=slack, where=margins < gamma)
    sizes = sets.sizes()
    return StreamConstants(
        T=len(sets),
        R=math.sqrt(squared_norms(rows).max()),
        c=int(sizes.min()),
        gamma=float(gamma),
        D=math.sqrt(np.sum(sizes * slack**2)),
        D_paper=math.sqrt(np.sum((sizes * slack) ** 2)),
    )


def mistake_bound(
    X: Any = None,
    Y: Any = None,
    W: npt.ArrayLike | None = None,
    *,
    gamma: float | None = None,
    R: float | None = None,
    c: float | None = None,
    D: float | None = None,
    eta0: float = 1.0,
    update: str = "margin",
    form: str = "tight",
    fit_intercept: bool = False,
) -> float:
    """Bound the updates, and so the mistakes, of `AvgPerceptron` (Theorems 1 and 2).

    With A = 2/η + κR² (A = κR² for ``update="mistake"``) and κ = 1 + 1/c the tight form is

        m ≤ (√A + √κ·D)²/γ², D² = Σ |Y^t| d_t².

    The paper's form, for η = 1 and ``update="margin"`` only, is (2 + κR²)/γ² without slack
    (Theorem 1), and with slack (Theorem 2)

        2Z²/γ² + 2κ(R² + Δ²)Z²/γ², D² = Σ (|Y^t| d_t)², Δ⁴ = (D² + κD²R²)/κ, Z² = 1 + D²/Δ².

    Parameters
    ----------
    X, Y, W : optional
        A stream and weights, as for `stream_constants`, which then gives R, c and D; Theorem 1 is
        used if no round has slack. Or leave them out and give numbers.
    gamma : float
        The margin γ. May be left out with a stream that W separates: its smallest margin.
    R, c, D : float
        The numbers, if there is no stream. Without D there is no slack and Theorem 1 is used; with
        it, D = 0 included, Theorem 2, where D is the one of the form in question.
    eta0 : float, default=1.0
        The step size η.
    update : {"margin", "mistake"}, default="margin"
        When the learner updates. "mistake" bounds do not depend on η.
    form : {"tight", "paper"}, default="tight"
        "tight" is never above "paper" where both hold.
    fit_intercept : bool, default=False
        Whether X gets a constant feature 1, which then counts in R and in W.

    Examples
    --------
    >>> mistake_bound(R=1, c=2, gamma=0.5)
    14.0
    >>> mistake_bound(R=1, c=1, gamma=0.5, update="mistake")  # the classical 2R²/γ²
    8.0
    >>> mistake_bound(R=1, c=2, gamma=0.5, D=0, form="paper")
    20.0
    >>> X, Y, W = [[1.0], [-1.0]], [{0}, {1}], [[1.0], [-1.0]]
    >>> round(mistake_bound(X, Y, W), 9)
    2.0
    """
    form, is_on_mistake = _FORMS.checked("form", form), _UPDATES.checked("update", update)
    if X is not None:
        if Y is None or W is None or (R, c, D) != (None, None, None):
            raise ValueError("give either a stream, X, Y and W, or the numbers R, c, gamma and D")
        k = stream_constants(X, Y, W, gamma, fit_intercept=fit_intercept)
        R, c, gamma = k.R, k.c, k.gamma
        D = (k.D_paper if form == "paper" else k.D) or None
    if R is None or c is None or gamma is None:
        raise ValueError("R, c and gamma are needed: give them, or a stream X, Y and W")
    R, k1 = _FROM_ZERO.checked("R", R), kappa(_FROM_ONE.checked("c", c))
    D = None if D is None else _FROM_ZERO.checked("D", D)
    eta0 = _ABOVE_ZERO.checked("eta0", eta0)
    _check_gamma(gamma)
    if form == "tight":
        A = k1 * R**2 + (0.0 if is_on_mistake else 2 / eta0)
        D = D or 0.0
        return float((A + 2 * D * math.sqrt(A * k1) + k1 * D**2) / gamma**2)
    if is_on_mistake or eta0 != 1:
        raise ValueError("the paper's bound is for eta0=1 and update='margin': use form='tight'")
    if D is None:
        return float((2 + k1 * R**2) / gamma**2)
    # Δ² and Z², with D cancelled so that D = 0 gives the limit.
    delta2 = D * math.sqrt((1 + k1 * R**2) / k1)
    z2 = 1 + D * math.sqrt(k1 / (1 + k1 * R**2))
    return float(2 * z2 * (1 + k1 * (R**2 + delta2)) / gamma**2)


def regret_bound(T: int, alpha: float, R: float, c: float, form: str = "standard") -> float:
    """Bound the average regret of `AvgPegasos` with ``shrink="always"`` (Theorem 3).

    The regret is (1/T) Σ f_t(W^t) − min_W (1/T) Σ f_t(W), with f_t(W) = λ/2‖W‖² + the avg hinge of
    round t, and G = √λ + √κ·R. The standard form is G²(1 + ln T)/(2λT); the paper's, G² ln T/(λT),
    means nothing for T < 3 and is refused there.

    Parameters
    ----------
    T : int
        Number of rounds.
    alpha : float
        λ.
    R, c : float
        max ‖x^t‖ and min |Y^t|, for example from `stream_constants`.
    form : {"standard", "paper"}, default="standard"
        "standard" is never above "paper" where both hold.

    Examples
    --------
    >>> regret_bound(1, alpha=1.0, R=0.0, c=1)
    0.5
    >>> regret_bound(1000, alpha=0.1, R=1, c=2) < regret_bound(1000, 0.1, 1, 2, form="paper")
    True
    """
    form = _REGRET_FORMS.checked("form", form)
    T = int(Number(least=1, is_integer=True).checked("T", T))
    alpha, R = _ABOVE_ZERO.checked("alpha", alpha), _FROM_ZERO.checked("R", R)
    G2 = (math.sqrt(alpha) + math.sqrt(kappa(_FROM_ONE.checked("c", c))) * R) ** 2
    if form == "standard":
        return G2 * (1 + math.log(T)) / (2 * alpha * T)
    if T < 3:
        raise ValueError(f"the paper's regret bound needs T of at least 3, not {T}: see 'standard'")
    return G2 * math.log(T) / (alpha * T)


def _check_gamma(gamma: float) -> None:
    """Let +inf pass: it is the margin of a stream without a single rival."""
    if not gamma > 0:
        raise ValueError(f"gamma must be a number above 0, not {gamma!r}")
