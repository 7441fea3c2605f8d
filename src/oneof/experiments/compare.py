"""`oneof compare`: every learner on every set, settings chosen without the truth. No drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from oneof import ambiguity, datasets
from oneof.datasets import DatasetUnavailable
from oneof.experiments.rivals import VowpalWabbit, settings, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from oneof.candidates import CandidateSets

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


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, candidates over 0, 1, …, and the true codes, which only the evaluation sees."""

    name: str
    size: int | None
    X: Any
    Y: CandidateSets
    y: npt.NDArray[np.int64]


class FoldRow(NamedTuple):
    """One learner on one fold, with the setting it chose by its mistakes."""

    dataset: str
    size: int | None
    passes: int
    learner: str
    fold: int
    chosen: str
    mistakes: float
    progressive_error: float
    held_out_error: float


class CompareRow(NamedTuple):
    """The same over all folds: means, the standard error of the last one."""

    dataset: str
    size: int | None
    passes: int
    learner: str
    chosen: str
    mistakes: float
    progressive_error: float
    held_out_error: float
    se: float | None
    folds: int


def problems(names: Iterable[str], seed: int) -> tuple[list[Problem], dict[str, str]]:
    """Load sets by name or .mat file, with real candidates or generated ones; and why not."""
    found, skipped = [], {}
    for name in names:
        is_file = name.endswith(".mat")
        try:
            data = datasets.load_partial_label_mat(name) if is_file else datasets.load(name)
        except DatasetUnavailable as reason:
            skipped[name] = str(reason)
            continue
        is_known = data.y >= 0
        X, y, codes = data.X[is_known], data.y[is_known], np.arange(len(data.classes))
        if data.candidates is not None:
            found.append(Problem(data.name, None, X, data.candidates[is_known], y))
            continue
        for size in SETS.get(name) or (2, 4):
            if size is not None and size < len(codes):
                Y = ambiguity.uniform(y, size, classes=codes, random_state=seed)
                found.append(Problem(data.name, size, X, Y, y))
    return found, skipped


def compare(
    wanted: Sequence[Problem],
    *,
    passes: Sequence[int] = (1, 20),
    folds: int = 10,
    scale: str = "standardize",
    seed: int = 0,
    n_jobs: int = -1,
    tell: Callable[[int], None] = lambda _: None,
) -> list[FoldRow]:
    """Train on all folds but one, choose settings by mistakes there, and test on that one.

    With one pass, a setting's mistakes are its progressive ones: each row is predicted, then
    learnt. With more, rows that were learnt before are no test: the mistakes counted are those on
    the third and the last quarter of the training rows, predicted after all passes over the rows
    before them.
    """
    jobs = [(p, n, fold) for p in wanted for n in passes for fold in range(folds)]
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fold)(p, n, fold, folds, scale, seed) for p, n, fold in jobs
    )
    rows: list[FoldRow] = []
    for found in results:
        rows += found
        tell(1)
    return rows


def summary(rows: Iterable[FoldRow]) -> list[CompareRow]:
    """Average over folds; the setting named is the one chosen most often."""
    groups: dict[tuple[Any, ...], list[FoldRow]] = {}
    for row in rows:
        groups.setdefault(row[:4], []).append(row)
    return [CompareRow(*key, *_averages(found)) for key, found in groups.items()]


def _averages(rows: list[FoldRow]) -> tuple[Any, ...]:
    errors = np.array([row.held_out_error for row in rows])
    chosen = [row.chosen for row in rows]
    n = len(rows)
    return (
        max(chosen, key=chosen.count),
        float(np.mean([row.mistakes for row in rows])),
        float(np.mean([row.progressive_error for row in rows])),
        float(errors.mean()),
        float(errors.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
        n,
    )


def _fold(p: Problem, passes: int, fold: int, folds: int, scale: str, seed: int) -> list[FoldRow]:
    order = np.random.default_rng([seed, 0]).permutation(len(p.y))
    test = np.array_split(order, folds)[fold]
    rng = np.random.default_rng([seed, 1, fold])
    train = rng.permutation(np.setdiff1d(order, test))
    rows = []
    for learner, tried in settings(scale).items():
        if learner.startswith("vw") and (passes > 1 or not isinstance(p.X, np.ndarray)):
            continue
        fits = [_once(p, setting, train) for setting in tried]
        if passes == 1:
            counts = [mistakes for _, mistakes, _ in fits]
        else:
            counts = [_unseen_mistakes(p, setting, train, passes, seed) for setting in tried]
        best = int(np.argmin(counts))
        model, mistakes, error = fits[best]
        if passes > 1:
            model, mistakes = _fitted(p, tried[best], train, passes, seed), counts[best]
        held_out = float(np.mean(_codes(model, p.X[test]) != p.y[test]))
        rows.append(
            FoldRow(
                p.name, p.size, passes, learner, fold, words(tried[best]), mistakes, error, held_out
            )
        )
    return rows


def _once(p: Problem, setting: Any, rows: npt.NDArray[np.int64]) -> tuple[Any, float, float]:
    """Learn one pass; return the model, the share of mistakes, and that of errors."""
    model = VowpalWabbit(setting.loss, setting.rate) if _is_vw(setting) else clone(setting)
    predicted = model.progressive_fit(p.X[rows], p.Y[rows], classes=p.Y.classes)
    mistakes = float(np.mean(~p.Y[rows].contains(predicted)))
    return model, mistakes, float(np.mean(predicted != p.y[rows]))


def _fitted(p: Problem, setting: Any, rows: npt.NDArray[np.int64], passes: int, seed: int) -> Any:
    model = clone(setting).set_params(max_iter=passes, random_state=seed)
    return model.fit(p.X[rows], p.Y[rows])


def _unseen_mistakes(
    p: Problem, setting: Any, rows: npt.NDArray[np.int64], passes: int, seed: int
) -> float:
    """Return the share of mistakes on quarters that were not learnt yet."""
    quarters = np.array_split(rows, 4)
    wrong = 0
    for k in (2, 3):
        model = _fitted(p, setting, np.concatenate(quarters[:k]), passes, seed)
        wrong += int(np.sum(~p.Y[quarters[k]].contains(model.predict(p.X[quarters[k]]))))
    return wrong / (len(quarters[2]) + len(quarters[3]))


def _codes(model: Any, X: Any) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = np.asarray(model.predict(X))
    return codes


def _is_vw(setting: Any) -> bool:
    return isinstance(setting, VowpalWabbit)
