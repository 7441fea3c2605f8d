"""The Passive-Aggressive estimators: parameters and documentation; no arithmetic."""

from __future__ import annotations

from typing import Any

from oneof.online import OnlineClassifier


class _PassiveAggressive(OnlineClassifier):
    _rule = "passive_aggressive"

    def __init__(
        self,
        C: float = 1.0,
        variant: str = "PA-I",
        exact: bool = False,
        *,
        fit_intercept: bool = True,
        max_iter: int = 10,
        shuffle: bool = True,
        average: bool = False,
        scale: str = "none",
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._set(
            C=C,
            variant=variant,
            exact=exact,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            average=average,
            scale=scale,
            warm_start=warm_start,
            random_state=random_state,
        )


class AvgPassiveAggressive(_PassiveAggressive):
    """Passive-Aggressive on the mean score of the candidates: each row moves W just far enough.

    With the margin (1/|Y|) Σ_{i∈Y} s_i − max_{j∉Y} s_j and ℓ = [1 − margin]₊: the candidates'
    weights gain τx/|Y| each and the rival's lose τx. With n = 1 + 1/|Y|, τ is ℓ/(n‖x‖²) (PA),
    min{C, ℓ/(n‖x‖²)} (PA-I) or ℓ/(n‖x‖² + 1/(2C)) (PA-II).

    Parameters
    ----------
    C : float, default=1.0
        The price of what is left of the loss: the smaller, the gentler. PA has none.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Leave no loss at all; leave some at the price Cξ; or at the price Cξ².
    exact : bool, default=False
        Move to the nearest W that beats every non-candidate by 1, not the best one alone: each
        gets a step of its own. Dearer, and often a little better.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, *Online Passive-Aggressive Algorithms*,
    JMLR 7, 2006.

    Examples
    --------
    >>> from oneof import AvgPassiveAggressive
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> AvgPassiveAggressive(variant="PA").partial_fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    """

    _loss = "avg"


class MaxPassiveAggressive(_PassiveAggressive):
    """Passive-Aggressive on the best candidate's score: each row moves W just far enough.

    With the margin max_{i∈Y} s_i − max_{j∉Y} s_j and ℓ = [1 − margin]₊: the best candidate's
    weights gain τx and the rival's lose τx, where τ is ℓ/(2‖x‖²) (PA), min{C, ℓ/(2‖x‖²)} (PA-I)
    or ℓ/(2‖x‖² + 1/(2C)) (PA-II).

    Parameters
    ----------
    C : float, default=1.0
        The price of what is left of the loss: the smaller, the gentler. PA has none.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Leave no loss at all; leave some at the price Cξ; or at the price Cξ².
    exact : bool, default=False
        Move to the nearest W in which the best candidate beats every non-candidate by 1, not the
        best one alone: each gets a step of its own.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import MaxPassiveAggressive
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> MaxPassiveAggressive(C=0.1, exact=True).partial_fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    """

    _loss = "max"


class SoftPassiveAggressive(_PassiveAggressive):
    """Passive-Aggressive between the mean and the best of the candidates' scores.

    With the margin β⁻¹ log((1/|Y|) Σ_{i∈Y} exp(βs_i)) − max_{j∉Y} s_j and ℓ = [1 − margin]₊:
    candidate i gains τq_i x, where q_i = exp(βs_i)/Σ_Y exp(βs), and the rival loses τx. With
    n = 1 + Σ_Y q_i², τ is ℓ/(n‖x‖²) (PA), min{C, ℓ/(n‖x‖²)} (PA-I) or ℓ/(n‖x‖² + 1/(2C)) (PA-II):
    what would leave no loss if the q_i stayed as they are.

    Parameters
    ----------
    beta : float, default=1.0
        β → 0 gives `AvgPassiveAggressive`, β → ∞ gives `MaxPassiveAggressive`.
    C : float, default=1.0
        The price of what is left of the loss: the smaller, the gentler. PA has none.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Leave no loss at all; leave some at the price Cξ; or at the price Cξ².
    exact : bool, default=False
        With these q_i, move to the nearest W that beats every non-candidate by 1.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import SoftPassiveAggressive
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> SoftPassiveAggressive(beta=2.0).partial_fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    """

    _loss = "soft"

    def __init__(
        self,
        beta: float = 1.0,
        C: float = 1.0,
        variant: str = "PA-I",
        exact: bool = False,
        *,
        fit_intercept: bool = True,
        max_iter: int = 10,
        shuffle: bool = True,
        average: bool = False,
        scale: str = "none",
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._set(
            beta=beta,
            C=C,
            variant=variant,
            exact=exact,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            average=average,
            scale=scale,
            warm_start=warm_start,
            random_state=random_state,
        )
