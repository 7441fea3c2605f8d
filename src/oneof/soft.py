"""The Perceptron and Pegasos between mean and best candidate: parameters and documentation."""

from __future__ import annotations

from typing import Any

from oneof.online import OnlineClassifier


class SoftPerceptron(OnlineClassifier):
    """Perceptron between the mean and the best of the candidates' scores.

    With the margin β⁻¹ log((1/|Y|) Σ_{i∈Y} exp(βs_i)) − max_{j∉Y} s_j: where 1 − margin > 0,
    candidate i gains ηq_i x, where q_i = exp(βs_i)/Σ_Y exp(βs), and the rival loses ηx.

    Parameters
    ----------
    beta : float, default=1.0
        β → 0 gives `AvgPerceptron`, β → ∞ gives `MaxPerceptron`. β multiplies scores: with a
        larger step, or longer rows, the same β is harder.
    eta0 : float, default=1.0
        The step size η.
    update : {"margin", "mistake"}, default="margin"
        Learn where 1 − margin > 0, or only where the prediction is no candidate.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import SoftPerceptron
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> SoftPerceptron(beta=0.5).partial_fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    """

    _loss = "soft"
    _rule = "perceptron"

    def __init__(
        self,
        beta: float = 1.0,
        eta0: float = 1.0,
        update: str = "margin",
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
            eta0=eta0,
            update=update,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            average=average,
            scale=scale,
            warm_start=warm_start,
            random_state=random_state,
        )


class SoftPegasos(OnlineClassifier):
    """Pegasos between the mean and the best of the candidates' scores.

    With the margin β⁻¹ log((1/|Y|) Σ_{i∈Y} exp(βs_i)) − max_{j∉Y} s_j: where 1 − margin > 0, W
    shrinks by 1 − 1/t, candidate i gains q_i x/(λt), where q_i = exp(βs_i)/Σ_Y exp(βs), the rival
    loses x/(λt), and W is projected to ‖W‖ ≤ 1/√λ.

    Parameters
    ----------
    beta : float, default=1.0
        β → 0 gives `AvgPegasos`, β → ∞ gives `MaxPegasos`.
    alpha : float, default=0.01
        The regularisation λ. The larger, the smaller the steps.
    shrink : {"on-loss", "always"}, default="on-loss"
        Shrink W only where the loss is positive, or in every round.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import SoftPegasos
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> SoftPegasos(alpha=0.1, random_state=0).fit(X, Y).predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    """

    _loss = "soft"
    _rule = "pegasos"

    def __init__(
        self,
        beta: float = 1.0,
        alpha: float = 0.01,
        shrink: str = "on-loss",
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
            alpha=alpha,
            shrink=shrink,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            average=average,
            scale=scale,
            warm_start=warm_start,
            random_state=random_state,
        )
