"""Every learner with the settings it may choose from, and Vowpal Wabbit's; nothing is run here."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.catalogue import SINGLE, setting_of
from oneof.hedge import Hedge

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.estimators import OnlineClassifier

# Steps of features scaled to variance 1.
_STEPS, _PRICES = (0.01, 0.1, 1.0), (0.001, 0.003, 0.01, 0.03, 0.1)
_GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "perceptron": {"eta0": _STEPS},
    "pegasos": {"alpha": (0.001, 0.01, 0.1)},
    "passive-aggressive": {"C": _PRICES, "exact": (True,)},
    "logistic": {"eta0": (1.0, 2.0, 3.0, 5.0)},
}
_BETAS = {"beta": (1.0, 3.0, 10.0)}

MISSING = "Vowpal Wabbit is left out: pip install vowpalwabbit"


def settings(scale: str) -> dict[str, list[Any]]:
    """Return each learner's estimators, one for each setting, by the learner's name.

    Examples
    --------
    >>> from oneof.experiments.rivals import settings
    >>> sorted(len(tried) for tried in settings("none").values())[-1]
    30
    """
    found: dict[str, list[Any]] = {}
    for name, kind in SINGLE.items():
        grid = dict(next(g for ending, g in _GRIDS.items() if name.endswith(ending)))
        if name.startswith("soft-"):
            grid |= _BETAS
        found[name] = [
            kind(scale=scale, average=average, **dict(zip(grid, values, strict=True)))
            for average in (False, True)
            for values in product(*grid.values())
        ]
    found["hedge"] = [Hedge(scale=scale)]
    if has_vowpal_wabbit():
        for loss in ("hinge", "squared", "logistic"):
            found[f"vw-csoaa-{loss}"] = [VowpalWabbit(loss, 0.5)]
    return found


def has_vowpal_wabbit() -> bool:
    """Tell whether its package is installed."""
    return find_spec("vowpalwabbit") is not None


def words(estimator: OnlineClassifier | VowpalWabbit) -> str:
    """Say how a setting differs from the defaults."""
    if isinstance(estimator, VowpalWabbit):
        return f"learning_rate={estimator.rate:g}"
    mine = setting_of(estimator).items()
    return ", ".join(f"{name}={value}" for name, value in mine if name != "scale")


class VowpalWabbit:
    """Its reduction to one cost per class: 0 for candidates, 1 for all others.

    It scales features and steps by itself (its defaults: adaptive, normalised, invariant).
    """

    def __init__(self, loss: str, rate: float) -> None:
        self.loss, self.rate = loss, rate

    def progressive_fit(self, X: Any, Y: CandidateSets, classes: Any = None) -> Any:
        """Learn once; return the class predicted for each row before it was learnt."""
        del classes  # Y knows them
        from vowpalwabbit import Workspace

        self._vw = Workspace(
            f"--csoaa {Y.classes.size} --loss_function {self.loss} -l {self.rate} --quiet"
        )
        self._n_classes = Y.classes.size
        return self.learn_more(X, Y)

    def learn_more(self, X: Any, Y: CandidateSets) -> Any:
        """Learn on; return what was predicted before."""
        costs = 1 - np.asarray(Y.to_indicator())
        predicted = []
        for x, row in zip(X, costs, strict=True):
            text = " ".join(f"{k + 1}:{cost}" for k, cost in enumerate(row)) + _features(x)
            predicted.append(self._vw.predict(_features(x)) - 1)
            self._vw.learn(text)
        return np.array(predicted)

    def predict(self, X: Any) -> Any:
        """Return the class with the least cost of each row."""
        return np.array([self._vw.predict(_features(x)) - 1 for x in X])


def _features(x: Any) -> str:
    return " | " + " ".join(f"{j}:{x[j]:.7g}" for j in np.flatnonzero(x))
