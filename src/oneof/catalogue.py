"""The learners by the names that commands, model files and reports use; no arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneof.estimators import AvgPegasos, AvgPerceptron, MaxPegasos, MaxPerceptron
from oneof.hedge import Hedge
from oneof.logistic import CandidateLogistic
from oneof.passive_aggressive import (
    AvgPassiveAggressive,
    MaxPassiveAggressive,
    SoftPassiveAggressive,
)
from oneof.soft import SoftPegasos, SoftPerceptron

if TYPE_CHECKING:
    from oneof.online import OnlineClassifier

# A new learner joins here; its parameters are those of its constructor.
SINGLE: dict[str, type[OnlineClassifier]] = {
    "avg-perceptron": AvgPerceptron,
    "max-perceptron": MaxPerceptron,
    "avg-pegasos": AvgPegasos,
    "max-pegasos": MaxPegasos,
    "avg-passive-aggressive": AvgPassiveAggressive,
    "max-passive-aggressive": MaxPassiveAggressive,
    "soft-perceptron": SoftPerceptron,
    "soft-pegasos": SoftPegasos,
    "soft-passive-aggressive": SoftPassiveAggressive,
    "candidate-logistic": CandidateLogistic,
}
# With the teams of single learners.
LEARNERS: dict[str, type[OnlineClassifier]] = {**SINGLE, "hedge": Hedge}


def setting_of(estimator: OnlineClassifier) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    defaults = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {name: value for name, value in given.items() if value != defaults[name]}


def name_of(estimator: OnlineClassifier) -> str:
    """Return the name under which an estimator's class is listed, or raise."""
    for name, kind in LEARNERS.items():
        if type(estimator) is kind:
            return name
    raise ValueError(
        f"{type(estimator).__name__} is not one of oneof's learners ({', '.join(LEARNERS)})"
    )
