"""Every learner with the settings it may choose from, and Vowpal Wabbit's; nothing is run here."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from oneof.catalogue import LEARNERS, SINGLE, setting_of
from oneof.hedge import Hedge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneof.candidates import CandidateSets
    from oneof.online import OnlineClassifier

# Steps of features scaled to variance 1.
_STEPS, _PRICES = (0.01, 0.1, 1.0), (0.001, 0.003, 0.01, 0.03, 0.1)
_GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "perceptron": {"eta0": _STEPS},
    "pegasos": {"alpha": (0.001, 0.01, 0.1)},
    "passive-aggressive": {"C": _PRICES, "exact": (True,)},
    "logistic": {"eta0": (1.0, 2.0, 3.0, 5.0)},
}
_BETAS = {"beta": (1.0, 3.0, 10.0)}

_SLOWER = 50  # times a learner of ours: its rows are written out as text, and read

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
        for loss in ("squared", "logistic"):
            found[f"vw-csoaa-{loss}"] = [VowpalWabbit(loss)]
    return found


def has_vowpal_wabbit() -> bool:
    """Tell whether its package is installed."""
    return find_spec("vowpalwabbit") is not None


def words(estimator: OnlineClassifier | VowpalWabbit) -> str:
    """Say how a setting differs from the defaults."""
    mine = setting_of(estimator).items()
    return ", ".join(f"{name}={value}" for name, value in mine if name != "scale")


def label_of(learner: str) -> str:
    """Name a learner as a Python program would, or as its own command does.

    Examples
    --------
    >>> from oneof.experiments.rivals import label_of
    >>> label_of("soft-pegasos"), label_of("vw-csoaa-logistic")
    ('SoftPegasos', 'Vowpal Wabbit, csoaa, logistic')
    """
    if learner.startswith("vw-"):
        return learner.replace("vw", "Vowpal Wabbit").replace("-", ", ")
    return LEARNERS[learner].__name__


def cost_of(estimator: OnlineClassifier | VowpalWabbit, X: Any) -> float:
    """Estimate what one pass takes, in values that a learner of ours learns from."""
    n_values = X.nnz if sparse.issparse(X) else X.size
    return float(n_values * (_SLOWER if isinstance(estimator, VowpalWabbit) else 1))


class VowpalWabbit(BaseEstimator):  # type: ignore[misc]
    """Its reduction to one cost per class: 0 for candidates, 1 for all others.

    It scales features and steps by itself (its defaults: adaptive, normalised, invariant).
    """

    def __init__(
        self, loss: str = "squared", rate: float = 0.5, max_iter: int = 1, random_state: Any = None
    ) -> None:
        self.loss, self.rate = loss, rate
        self.max_iter, self.random_state = max_iter, random_state

    def progressive_fit(self, X: Any, Y: CandidateSets, classes: Any = None) -> Any:
        """Learn once, in the given order; return the class predicted for each row before it."""
        del classes  # Y knows them
        examples = self._begun(X, Y)
        predicted = [self._learnt(example) for example in examples]
        self._end(examples)
        return np.array(predicted)

    def fit(self, X: Any, Y: CandidateSets) -> Any:
        """Learn `max_iter` passes, each in an order of its own."""
        rng = np.random.default_rng(self.random_state)
        examples = self._begun(X, Y)
        for _ in range(self.max_iter):
            for i in rng.permutation(len(examples)):
                self._learnt(examples[i])
        self._end(examples)
        return self

    def predict(self, X: Any) -> Any:
        """Return the class with the least cost of each row."""
        return np.array([self._vw.predict(text) - 1 for text in _texts(X)])

    def _begun(self, X: Any, Y: CandidateSets) -> list[Any]:
        from vowpalwabbit import Workspace

        self._vw = Workspace(
            f"--csoaa {Y.classes.size} --loss_function {self.loss} -l {self.rate} --quiet"
        )
        costs = 1 - np.asarray(Y.to_indicator())
        labels = (" ".join(f"{k}:{cost}" for k, cost in enumerate(row, 1)) for row in costs)
        return [self._vw.parse(a + b) for a, b in zip(labels, _texts(X), strict=True)]

    def _learnt(self, example: Any) -> int:
        """Learn an example; return the class that was predicted before."""
        self._vw.learn(example)
        return int(example.get_multiclass_prediction()) - 1

    def _end(self, examples: list[Any]) -> None:
        for example in examples:
            self._vw.finish_example(example)


def _texts(X: Any) -> Iterator[str]:
    """Write rows as Vowpal Wabbit reads them."""
    rows = sparse.csr_array(X)
    for start, stop in pairwise(rows.indptr.tolist()):
        pairs = zip(rows.indices[start:stop].tolist(), rows.data[start:stop].tolist(), strict=True)
        yield " | " + " ".join([f"{j}:{value:.7g}" for j, value in pairs])
