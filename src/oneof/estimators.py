"""The paper's four learners: parameters and documentation; no arithmetic."""

from __future__ import annotations

from typing import Any

from oneof.online import OnlineClassifier


class _Perceptron(OnlineClassifier):
    _rule = "perceptron"

    def __init__(
        self,
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


class _Pegasos(OnlineClassifier):
    _rule = "pegasos"

    def __init__(
        self,
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


class AvgPerceptron(_Perceptron):
    """Perceptron on the mean score of the candidates (the paper's Algorithm 1).

    With the margin (1/|Y|) Σ_{i∈Y} s_i − max_{j∉Y} s_j: where 1 − margin > 0, every candidate's
    weights gain η·x/|Y|, and the rival's lose η·x.

    Parameters
    ----------
    eta0 : float, default=1.0
        The step size η.
    update : {"margin", "mistake"}, default="margin"
        Learn where 1 − margin > 0, or only where the prediction is no candidate.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> AvgPerceptron(random_state=0).fit(X, Y).predict([[0.0, 2.0], [2.0, 0.0]]).tolist()
    ['cat', 'dog']
    """

    _loss = "avg"


class MaxPerceptron(_Perceptron):
    """Perceptron on the best candidate's score (the paper's Algorithm 2).

    With the margin max_{i∈Y} s_i − max_{j∉Y} s_j: where 1 − margin > 0, the best candidate's
    weights gain η·x, and the rival's lose η·x.

    Parameters
    ----------
    eta0 : float, default=1.0
        The step size η.
    update : {"margin", "mistake"}, default="margin"
        Learn where 1 − margin > 0, or only where the prediction is no candidate.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import MaxPerceptron
    >>> stream = MaxPerceptron()
    >>> stream.progressive_fit([[1.0], [-1.0], [2.0]], [{0}, {1, 2}, {0, 2}], classes=[0, 1, 2])
    array([0, 0, 0])
    >>> stream.t_, stream.n_updates_, stream.n_mistakes_
    (3, 2, 1)
    """

    _loss = "max"


class AvgPegasos(_Pegasos):
    """Pegasos on the mean score of the candidates (the paper's Algorithm 3).

    With the margin (1/|Y|) Σ_{i∈Y} s_i − max_{j∉Y} s_j: where 1 − margin > 0, W shrinks by
    1 − 1/t, every candidate's weights gain x/(λt|Y|), the rival's lose x/(λt), and W is
    projected to ‖W‖ ≤ 1/√λ.

    Parameters
    ----------
    alpha : float, default=0.01
        The regularisation λ. The larger, the smaller the steps.
    shrink : {"on-loss", "always"}, default="on-loss"
        Shrink W only where the loss is positive, as the paper's algorithm does, or in every
        round, as the paper's Theorem 3 asks.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import AvgPegasos
    >>> X, Y = [[0.0, 1.0], [1.0, 0.0]], [{"cat", "fox"}, {"dog"}]
    >>> model = AvgPegasos(alpha=0.1, random_state=0).fit(X, Y)
    >>> model.score(X, Y)
    1.0
    """

    _loss = "avg"


class MaxPegasos(_Pegasos):
    """Pegasos on the best candidate's score (the paper's Algorithm 4).

    With the margin max_{i∈Y} s_i − max_{j∉Y} s_j: where 1 − margin > 0, W shrinks by 1 − 1/t, the
    best candidate's weights gain x/(λt), the rival's lose as much, and W is projected to
    ‖W‖ ≤ 1/√λ.

    Parameters
    ----------
    alpha : float, default=0.01
        The regularisation λ. The larger, the smaller the steps.
    shrink : {"on-loss", "always"}, default="on-loss"
        Shrink W only where the loss is positive, as the paper's algorithm does, or in every round.
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    Examples
    --------
    >>> from oneof import MaxPegasos
    >>> model = MaxPegasos(alpha=0.1).partial_fit([[1.0]], [{"a", "b"}], classes=["a", "b", "c"])
    >>> model.partial_fit([[-1.0]], [{"c"}]).predict([[1.0], [-2.0]]).tolist()
    ['a', 'c']
    """

    _loss = "max"
