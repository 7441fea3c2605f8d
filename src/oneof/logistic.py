"""Online logistic regression on candidate sets: parameters and documentation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from oneof.metrics import softmax
from oneof.online import OnlineClassifier


class CandidateLogistic(OnlineClassifier):
    """Logistic regression on candidate sets: minus the logarithm of the set's probability.

    With p = softmax(s), the loss of a row is −log Σ_{k∈Y} p_k. Its step moves class k by
    size·(q_k − p_k)x, where q is p restricted to the candidates and scaled to sum 1: what the
    model believes of them is what it learns from them, as expectation-maximisation does.

    Parameters
    ----------
    eta0 : float, default=3.0
        η: the step's size is η/‖x‖² or η/√t.
    step : {"normalized", "sqrt"}, default="normalized"
        Divide η by the row's squared length, which makes its meaning the same for all data; or by
        √t, whose steps fade.
    alpha : float, default=0.0
        λ of the penalty (λ/2)‖W‖²: every step shrinks W by 1/(1 + size·λ).
    fit_intercept, max_iter, shuffle, average, scale, warm_start, random_state
        As for every learner, see `OnlineClassifier`; so are the attributes.

    References
    ----------
    Jin and Ghahramani, *Learning with Multiple Labels*, NIPS 2002.

    Examples
    --------
    >>> from oneof import CandidateLogistic
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> Y = [{"cat", "fox"}, {"dog"}, {"cat"}, {"dog", "fox"}]
    >>> model = CandidateLogistic().partial_fit(X, Y)
    >>> model.predict(X).tolist()
    ['cat', 'dog', 'cat', 'dog']
    >>> model.predict_proba(X[:2]).round(2).tolist()
    [[0.77, 0.13, 0.09], [0.03, 0.94, 0.02]]
    """

    _loss = "log"
    _rule = "gradient"

    def __init__(
        self,
        eta0: float = 3.0,
        step: str = "normalized",
        alpha: float = 0.0,
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
            step=step,
            alpha=alpha,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            average=average,
            scale=scale,
            warm_start=warm_start,
            random_state=random_state,
        )

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the probability of each row and class, softmax of the scores."""
        p: npt.NDArray[Any] = softmax(self._fitted().scores(self._rows(X)))
        return p

    def predict_log_proba(self, X: Any) -> npt.NDArray[Any]:
        """Return the logarithms of `predict_proba`."""
        p: npt.NDArray[Any] = np.log(self.predict_proba(X))
        return p
