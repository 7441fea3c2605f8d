"""Learn classifiers online from ambiguous labels: the true label is *one of* these."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneof import ambiguity as ambiguity
    from oneof import datasets as datasets
    from oneof import experiments as experiments
    from oneof import metrics as metrics
    from oneof import readers as readers
    from oneof import theory as theory
    from oneof import writers as writers
    from oneof.candidates import CandidateSets
    from oneof.estimators import AvgPegasos, AvgPerceptron, MaxPegasos, MaxPerceptron
    from oneof.hedge import Hedge
    from oneof.logistic import CandidateLogistic
    from oneof.open_classifier import OpenClassifier
    from oneof.passive_aggressive import (
        AvgPassiveAggressive,
        MaxPassiveAggressive,
        SoftPassiveAggressive,
    )
    from oneof.persistence import load, save
    from oneof.soft import SoftPegasos, SoftPerceptron

__version__ = "0.1.0"

__all__ = [
    "AvgPassiveAggressive",
    "AvgPegasos",
    "AvgPerceptron",
    "CandidateLogistic",
    "CandidateSets",
    "Hedge",
    "MaxPassiveAggressive",
    "MaxPegasos",
    "MaxPerceptron",
    "OpenClassifier",
    "SoftPassiveAggressive",
    "SoftPegasos",
    "SoftPerceptron",
    "load",
    "save",
]

# Where each public name lives; imported on first use, so that the command answers at once.
_HOMES = {
    "AvgPassiveAggressive": "passive_aggressive",
    "AvgPegasos": "estimators",
    "AvgPerceptron": "estimators",
    "CandidateLogistic": "logistic",
    "CandidateSets": "candidates",
    "Hedge": "hedge",
    "MaxPassiveAggressive": "passive_aggressive",
    "MaxPegasos": "estimators",
    "MaxPerceptron": "estimators",
    "OpenClassifier": "open_classifier",
    "SoftPassiveAggressive": "passive_aggressive",
    "SoftPegasos": "soft",
    "SoftPerceptron": "soft",
    "load": "persistence",
    "save": "persistence",
}
_MODULES = {"ambiguity", "datasets", "experiments", "metrics", "readers", "theory", "writers"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"oneof.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"oneof.{name}")
    raise AttributeError(f"module 'oneof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
