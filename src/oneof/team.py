"""A team of models on one stream: shared rows, weights by mistakes, votes. No names of labels."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof import _kernels
from oneof.model import OnlineModel
from oneof.packing import known_run
from oneof.rows import row_of
from oneof.rules import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oneof.candidates import CandidateSets
    from oneof.packing import Packed
    from oneof.rows import Rows
    from oneof.rules import Learner

Array = npt.NDArray[Any]

_WEIGHT = Number(least=0)


@dataclass(frozen=True)
class Member:
    """A learner, and whether a constant feature 1 goes before the others."""

    learner: Learner
    has_intercept: bool


class Team:
    """Models that learn the same rows side by side; what a row is, scaled, is found out once.

    A member's weight is exp(−rate · its mistakes), against the best member's; the prediction is
    the class with the largest sum of weights among those the members predict.

    Parameters
    ----------
    members : sequence of Member
    n_classes, n_features : int
    dtype : numpy.dtype
    is_centred : bool
        What scaling means, see `OnlineModel`.
    rate : float
    """

    def __init__(
        self,
        members: Sequence[Member],
        n_classes: int,
        n_features: int,
        dtype: npt.DTypeLike,
        is_centred: bool,
        rate: float,
    ) -> None:
        self.members, self.n_classes, self.rate = tuple(members), n_classes, rate
        self.models = [
            OnlineModel(
                replace(m.learner, standardize=False), n_classes, n_features, dtype, m.has_intercept
            )
            for m in members
        ]
        # A model of no weight keeps the moments for all members that scale.
        scales = any(m.learner.standardize for m in members)
        front = replace(members[0].learner, standardize=scales, average=False)
        self._front = OnlineModel(front, 1, n_features, dtype, False, is_centred)
        self.n_mistakes = 0

    @property
    def learner(self) -> tuple[Member, ...]:
        """The members, which stay as they are."""
        return self.members

    @learner.setter
    def learner(self, members: Sequence[Member]) -> None:
        assert tuple(members) == self.members, "checked by refuse_change"

    @property
    def n_features(self) -> int:
        """Number of features, without the constant one."""
        return self.models[0].n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of weights and rows."""
        return self.models[0].dtype

    @property
    def t(self) -> int:
        """Rounds learnt in the team's life."""
        return self.models[0].t

    @property
    def n_updates(self) -> int:
        """Rounds that moved the weights of a member, on average over the members."""
        return sum(model.n_updates for model in self.models) // len(self.models)

    def weights(self) -> Array:
        """Return each member's share of the vote."""
        mistakes = np.array([model.n_mistakes for model in self.models])
        weights = np.exp(-self.rate * (mistakes - mistakes.min()))
        shares: Array = weights / weights.sum()
        return shares

    def member(self, i: int) -> OnlineModel:
        """Return a model that goes on by itself from where member i is."""
        member, state = self.members[i], self.models[i].state()
        if member.learner.standardize:
            state["moments"] = self._front.state()["moments"]
        return OnlineModel.from_state(member.learner, member.has_intercept, state)

    def learn(
        self,
        rows: Rows,
        candidates: CandidateSets | Packed,
        order: npt.NDArray[np.int64] | None = None,
        sample_weight: npt.NDArray[np.float64] | None = None,
        *,
        is_progressive: bool = False,
    ) -> npt.NDArray[np.int32] | None:
        """Learn one round per row, or per entry of `order`; all of them, or none and raise.

        Returns the class predicted in each round before learning from it, if `is_progressive`.
        """
        n_rounds = len(rows) if order is None else len(order)
        predictions = np.empty(n_rounds, dtype=np.int32)
        kept = self._copies(n_rounds)
        failed, n_mistakes = _kernels.learn_team(
            self._kernel(),
            rows.kernel,
            candidates.indptr,
            candidates.codes,
            order=order,
            sample_weight=sample_weight,
            predictions=predictions,
        )
        if failed < 0:
            self.n_mistakes += n_mistakes
            return predictions if is_progressive else None
        for model, copies in kept:
            model.restore(copies)
        tidy = _tidy(rows, failed if order is None else int(order[failed]))
        return self.learn(tidy, candidates, order, sample_weight, is_progressive=is_progressive)

    def scores(self, rows: Rows) -> Array:
        """Return each class's share of the vote, for each row."""
        shares = np.empty((len(rows), self.n_classes), dtype=self.dtype)
        self._score(rows, scores=shares)
        return shares

    def predict(self, rows: Rows) -> npt.NDArray[np.int32]:
        """Return the class with the largest vote of each row, the first one of equals."""
        predictions = np.empty(len(rows), dtype=np.int32)
        self._score(rows, predictions=predictions)
        return predictions

    def _score(self, rows: Rows, **results: Array) -> None:
        failed = _kernels.score_team(self._kernel(), rows.kernel, **results)
        if failed >= 0:
            self._score(_tidy(rows, failed), **results)

    def _kernel(self) -> _kernels.Team:
        learners, weights = zip(*(model.kernel for model in self.models), strict=True)
        scaled = [m.learner.standardize for m in self.members]
        front = self._front.kernel[1]
        return _kernels.Team(list(learners), list(weights), scaled, front, self.rate)

    def _copies(self, n_rounds: int) -> list[tuple[OnlineModel, Any]]:
        """Return what must be put back should so many rounds fail."""
        # A round alone is learnt by all members or by none, and leaves no trace but where rows are
        # centred, see team.hpp.
        models = self._every_model()
        if n_rounds == 1:
            models = [self._front] if self._front.is_centred else []
        return [(model, model.copies()) for model in models]

    @property
    def nbytes(self) -> int:
        """Memory of all weights, with the room for more."""
        return sum(model.nbytes for model in self._every_model())

    def grow(self, n_features: int, n_classes: int) -> None:
        """Add features and classes behind those there are, see `OnlineModel.grow`."""
        with self.unchanged_on_error(is_whole=True):
            for model in self.models:
                model.grow(n_features, n_classes)
            self._front.grow(n_features, 1)
            self.n_classes = n_classes

    @contextmanager
    def unchanged_on_error(self, *, is_whole: bool) -> Iterator[None]:
        """Have the size there was, should what follows raise; if it is not one call, weights too.

        One call to learn takes care of the weights itself.
        """
        n_classes, n_mistakes = self.n_classes, self.n_mistakes
        try:
            with ExitStack() as each:
                for model in self._every_model():
                    each.enter_context(model.unchanged_on_error(is_whole=is_whole))
                yield
        except BaseException:
            self.n_classes, self.n_mistakes = n_classes, n_mistakes
            raise

    def learn_one(
        self, columns: dict[Any, int] | int, codes: dict[Any, int], x: Any, y: Any, weight: Any
    ) -> bool:
        """Learn a dict of features and a label or labels, see `OnlineModel.learn_one`."""
        step = np.array([_WEIGHT.checked("w", weight)])
        candidates: Any = known_run(codes, [y], 0)
        row, are_known = self._row(columns, x)
        if not are_known or not len(candidates):
            return False
        self.learn(row, candidates, sample_weight=step)
        return True

    def predict_one(self, columns: dict[Any, int] | int, x: Any) -> int:
        """Return the class with the largest vote; features without a column are left out."""
        return int(self.predict(self._row(columns, x)[0])[0])

    def scores_one(self, columns: dict[Any, int] | int, x: Any) -> list[float]:
        """Return each class's share of the vote."""
        shares: list[float] = self.scores(self._row(columns, x)[0])[0].tolist()
        return shares

    def _row(self, columns: dict[Any, int] | int, x: Any) -> tuple[Rows, bool]:
        """Return a dict as a row, and whether all its features have a column; or raise."""
        # Any model's walk over the dict refuses what is no row of numbers.
        self._front.predict_one(columns, x)
        return row_of(columns, x, self.n_features, self.dtype)

    def _every_model(self) -> list[OnlineModel]:
        return [*self.models, self._front]

    def state(self) -> dict[str, Any]:
        """Return every array and number that learning on depends on, by name; arrays are views.

        What is member 3's begins with "3."; the moments that scaling members share are named as
        one model's are.
        """
        state: dict[str, Any] = {
            f"{i}.{name}": part
            for i, model in enumerate(self.models)
            for name, part in model.state().items()
        }
        if self._front.learner.standardize:
            state["moments"] = self._front.state()["moments"]
        return {**state, "n_mistakes": self.n_mistakes}

    @classmethod
    def from_state(cls, members: Sequence[Member], rate: float, state: Mapping[str, Any]) -> Team:
        """Make the team whose `state` was taken; its arrays are copied."""
        weights, moments = state["0.weights"], state.get("moments", ())
        n_features, n_classes = len(weights) - members[0].has_intercept, weights.shape[1]
        team = cls(members, n_classes, n_features, weights.dtype, len(moments) == 2, rate)
        for i, (member, model) in enumerate(zip(members, team.models, strict=True)):
            own = {name: state[f"{i}.{name}"] for name in model.state()}
            team.models[i] = OnlineModel.from_state(model.learner, member.has_intercept, own)
        front = team._front
        if front.learner.standardize:
            own = {**front.state(), "t": team.t, "moments": moments}
            team._front = OnlineModel.from_state(front.learner, False, own)
        team.n_mistakes = state["n_mistakes"]
        return team

    def __reduce__(self) -> tuple[Any, ...]:
        return Team.from_state, (self.members, self.rate, self.state())


def _tidy(rows: Rows, row: int) -> Rows:
    """Return the rows sorted and summed, if one could not be read for want of that; or raise."""
    tidy, _ = rows.usable()  # raises if a row itself is at fault
    if tidy is rows:
        raise ValueError(f"row {row} of X: a member's scores overflow: scale the features down")
    return tidy
