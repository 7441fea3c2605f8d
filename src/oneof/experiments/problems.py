"""What learners are compared on: data sets with real or generated candidates; no learning."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof import ambiguity, datasets
from oneof.datasets import Dataset, DatasetUnavailable
from oneof.rules import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from oneof.candidates import CandidateSets

    Ints = npt.NDArray[np.int64]

# The sizes of generated candidate sets; None stands for the real ones.
SETS: dict[str, tuple[int | None, ...]] = {
    "lost": (None,),
    "birdsong": (None,),
    "digits": (2, 4, 6, 8),
    "dermatology": (2, 4),
    "ecoli": (2, 4, 6),
    "satimage": (2, 4),
    "usps": (2, 4, 6, 8),
}
_OTHERS = (2, 4)


@dataclass(frozen=True)
class Plan:
    """What is compared, and how; equal plans give the same numbers.

    Parameters
    ----------
    names : tuple of str
        Data sets, or .mat files; all of `SETS` that can be had, if there are none.
    passes : tuple of int
        How often the training rows are learnt; each number is a comparison of its own.
    folds : int
    scale : {"standardize", "none"}
    seed : int
    """

    names: tuple[str, ...] = ()
    passes: tuple[int, ...] = (1, 20)
    folds: int = 10
    scale: str = "standardize"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2 or not self.passes or min(self.passes) < 1 or self.seed < 0:
            raise ValueError("folds must be 2 or more, passes 1 or more, seed 0 or more")
        SHARED["scale"].checked("scale", self.scale)
        for values in (self.names, self.passes):
            for place, value in enumerate(values):
                if value in values[:place]:
                    raise ValueError(f"{value} is asked for twice: name it once")

    def command(self) -> str:
        """Write the command that makes the comparison.

        Examples
        --------
        >>> Plan(("ecoli",), passes=(1,), seed=3).command()
        'oneof compare --dataset ecoli --passes 1 --seed 3'
        """
        usual = Plan()
        words = ["oneof", "compare"]
        for name in self.names:
            words += ["--dataset", name]
        for n in self.passes if self.passes != usual.passes else ():
            words += ["--passes", str(n)]
        for key in ("folds", "scale", "seed"):
            if getattr(self, key) != getattr(usual, key):
                words += [f"--{key}", str(getattr(self, key))]
        return shlex.join(words)


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, candidates over 0, 1, …, and the true codes, which only the evaluation sees."""

    name: str
    size: int | None
    X: Any
    Y: CandidateSets
    y: Ints
    source: str = ""

    def split(self, fold: int, plan: Plan) -> tuple[Ints, Ints]:
        """Return the training rows, in the order they are learnt in, and the held-out ones."""
        order = np.random.default_rng([plan.seed, 0]).permutation(len(self.y))
        test = np.array_split(order, plan.folds)[fold]
        rng = np.random.default_rng([plan.seed, 1, fold])
        return rng.permutation(np.setdiff1d(order, test)), test


def problems(plan: Plan) -> tuple[list[Problem], list[str]]:
    """Load what a plan names; also return a sentence for each set that cannot be had.

    Raises
    ------
    ValueError, OSError
        A set that the plan names cannot be had or has too few rows, or there is none at all.
    """
    found: list[Problem] = []
    left_out = []
    for name in plan.names or tuple(SETS):
        try:
            found += _problems_of(name, _loaded(name), plan)
        except DatasetUnavailable as reason:
            if plan.names:
                raise
            left_out.append(str(reason))
    if not found:
        raise ValueError("; ".join(left_out) or "there is nothing to compare")
    for p in found:
        if sum((p.name, p.size) == (other.name, other.size) for other in found) > 1:
            raise ValueError(f"two data sets are called {p.name}: compare them one by one")
    return found, left_out


def _loaded(name: str) -> Dataset:
    return datasets.load_partial_label_mat(name) if name.endswith(".mat") else datasets.load(name)


def _problems_of(name: str, data: Dataset, plan: Plan) -> Iterator[Problem]:
    is_known = data.y >= 0
    X, y, codes = data.X[is_known], data.y[is_known], np.arange(len(data.classes))
    if X.shape[1] == 0:
        raise ValueError(f"{name} has labels and no features: choose another data set")
    if len(y) < 4 * plan.folds:
        raise ValueError(f"{name} has too few rows for {plan.folds} folds: ask for fewer")
    if data.candidates is not None:
        yield Problem(data.name, None, X, data.candidates[is_known], y, data.source)
        return
    for size in _sizes(SETS.get(name, _OTHERS), codes.size):
        Y = ambiguity.uniform(y, size, classes=codes, random_state=plan.seed)
        yield Problem(data.name, size, X, Y, y, data.source)


def _sizes(wanted: Iterable[int | None], n_classes: int) -> list[int]:
    return [size for size in wanted if size is not None and size < n_classes]
