"""Hedge, a team of learners weighed by their mistakes: parameters and documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from oneof.logistic import CandidateLogistic
from oneof.online import OnlineClassifier
from oneof.passive_aggressive import MaxPassiveAggressive, SoftPassiveAggressive
from oneof.rules import Flag, Learner, Number
from oneof.soft import SoftPerceptron
from oneof.team import Member, Team

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

MOST_MEMBERS = 1000
_RATE = Number(above=0, most=1000)  # one mistake more, and no weight is left


def portfolio(scale: str = "none") -> list[OnlineClassifier]:
    """Return the eight learners that `Hedge` runs unless told otherwise.

    They differ in how fast they learn and in how soon they commit to one candidate, which is what
    data differ in; half of them average their weights.

    Examples
    --------
    >>> from oneof.hedge import portfolio
    >>> len(portfolio())
    8
    """
    return [
        CandidateLogistic(eta0=1.0, scale=scale),
        CandidateLogistic(eta0=3.0, scale=scale),
        CandidateLogistic(eta0=3.0, scale=scale, average=True),
        CandidateLogistic(eta0=10.0, scale=scale, average=True),
        SoftPassiveAggressive(beta=3.0, C=0.01, exact=True, scale=scale),
        SoftPassiveAggressive(beta=3.0, C=0.03, exact=True, scale=scale, average=True),
        MaxPassiveAggressive(C=0.03, exact=True, scale=scale, average=True),
        SoftPerceptron(beta=1.0, eta0=0.1, scale=scale, average=True),
    ]


class Hedge(OnlineClassifier):
    """Run several learners side by side, and trust each by its mistakes so far.

    Member a votes with weight exp(−rate · its mistakes): predictions, each made before its row was
    learnt, that were no candidate. That needs no truth. The members share each row: it is read,
    checked and scaled once.

    Parameters
    ----------
    members : list of learners, optional
        What to run, at most 1000; `oneof.hedge.portfolio()` by default. They are cloned, not
        changed; their `max_iter`, `shuffle`, `warm_start` and `random_state` say nothing here.
    rate : float, default=0.1
        How fast mistakes cost trust; at most 1000.
    scale : {"none", "standardize"}, default="none"
        Of the default members; members of your own have theirs.
    fit_intercept : bool, default=True
        Of the default members.
    max_iter, shuffle, warm_start, random_state
        As for every learner, see `OnlineClassifier`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Each member's share of the vote.
    best_member_ : estimator
        The member with the fewest mistakes, fitted, on its own; the first of equals.
    member_mistakes_ : ndarray of shape (n_members,)
    classes_, n_features_in_, feature_names_in_, t_, n_updates_, n_mistakes_, n_iter_
        As for every learner. `n_updates_` are those of a member on average, `n_mistakes_` those of
        the vote. There is no `coef_`.

    Notes
    -----
    Hedge is fooled where mistakes mislead: a distractor that always comes with the truth is never
    a mistake, so a member that predicts it always has the same weight as one that predicts the
    truth. And in later epochs the rows are known already: trust then goes to who remembers best,
    not to who predicts best. Fit one epoch, or hold rows out, where that matters.

    References
    ----------
    Freund and Schapire, *A Decision-Theoretic Generalization of On-Line Learning*, JCSS 55, 1997.

    Examples
    --------
    >>> from oneof import AvgPerceptron, Hedge, MaxPerceptron
    >>> X, Y = [[0.0, 1.0], [1.0, 0.0]] * 5, [{"cat", "fox"}, {"dog"}] * 5
    >>> model = Hedge([AvgPerceptron(), MaxPerceptron(eta0=0.1)]).partial_fit(X, Y)
    >>> model.predict([[0.0, 2.0]]).tolist(), model.weights_.round(2).tolist()
    (['cat'], [0.52, 0.48])
    >>> type(model.best_member_).__name__, model.best_member_.t_
    ('AvgPerceptron', 10)
    """

    def __init__(
        self,
        members: list[OnlineClassifier] | None = None,
        rate: float = 0.1,
        *,
        scale: str = "none",
        fit_intercept: bool = True,
        max_iter: int = 1,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._set(
            members=members,
            rate=rate,
            scale=scale,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            warm_start=warm_start,
            random_state=random_state,
        )

    @property
    def weights_(self) -> npt.NDArray[np.float64]:
        """Each member's share of the vote."""
        shares: npt.NDArray[np.float64] = self._team().weights()
        return shares

    @property
    def member_mistakes_(self) -> npt.NDArray[np.int64]:
        """Each member's mistakes."""
        return np.array([model.n_mistakes for model in self._team().models])

    @property
    def best_member_(self) -> OnlineClassifier:
        """The member with the fewest mistakes, as an estimator that goes on by itself."""
        i = int(self.member_mistakes_.argmin())
        best: OnlineClassifier = clone(self.estimators()[i])
        for name in ("classes_", "n_features_in_", "feature_names_in_", "n_iter_"):
            if hasattr(self, name):
                setattr(best, name, getattr(self, name))
        best.model_ = self._team().member(i)
        return best

    @property
    def coef_(self) -> Any:
        """There is none: raises."""
        raise AttributeError("Hedge has no coef_ of its own: see best_member_.coef_")

    intercept_ = coef_

    def _team(self) -> Team:
        team: Any = self._fitted()
        return team  # type: ignore[no-any-return]

    def estimators(self) -> list[OnlineClassifier]:
        """Return the members that run, as they are before learning; or raise."""
        if self.members is None:
            members = portfolio(self.scale)
            return [m.set_params(fit_intercept=self.fit_intercept) for m in members]
        members = list(self.members)
        odd = [m for m in members if not isinstance(m, OnlineClassifier) or isinstance(m, Hedge)]
        if odd or not members:
            raise ValueError(
                f"members must be learners such as oneof.AvgPerceptron(), not "
                f"{odd[0] if odd else members!r}"
            )
        if len(members) > MOST_MEMBERS:
            raise ValueError(
                f"members must be at most {MOST_MEMBERS} learners, not {len(members)}: "
                "leave out those that hardly differ"
            )
        return members

    def _checked_members(self) -> list[Member]:
        _RATE.checked("rate", self.rate)
        Flag().checked("fit_intercept", self.fit_intercept)
        return [Member(m.learner(), bool(m.fit_intercept)) for m in self.estimators()]

    def learner(self) -> Any:
        """Check the parameters; return what they come to."""
        Learner.check_shared({"average": False, **vars(self)})
        return tuple(self._checked_members())

    def refuse_change(self, learner: Any, classes: npt.ArrayLike | None) -> None:
        """Raise if the members or the classes were changed."""
        if learner != self._team().members or float(self.rate) != self._team().rate:
            raise ValueError(
                "the members, or the rate, are not those that this model began with: "
                "set them back, or begin a new model with fit"
            )
        self._refuse_other_classes(classes)

    def new_model(
        self,
        learner: Any,
        n_classes: int,
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        is_centred: bool,
    ) -> Any:
        """Return a team that has learnt nothing."""
        return Team(learner, n_classes, n_features, dtype, is_centred, float(self.rate))

    def model_of(self, learner: Any, state: Mapping[str, Any]) -> Any:
        """Return the team whose `state` was taken."""
        return Team.from_state(learner, float(self.rate), state)

    @staticmethod
    def shares(scores: Any) -> Any:
        """Return the shares of the vote, as they are: they add up to 1."""
        return scores
