"""The paper's claims as comparisons, and the verdicts that the runs give; nothing by hand.

A claim holds for one data set and one size and consists of comparisons of two learners, A and B, of
the error rates of the same runs. d is the mean difference A − B, its interval the 95 % interval of
Student's t over runs. What a claim's words ask of d:

- "better", "worse": the whole interval below, or above, 0;
- "much better": below −0.02, so two errors fewer in a hundred rounds;
- "comparable": within ±0.02.

A comparison is reproduced if its whole interval lies where the claim asks, not reproduced if none
of it does, else undecided. A claim is reproduced if all its comparisons are, not reproduced if any
of them is not, else undecided. "The avg learners do better than the max learners" compares each avg
learner with the max learner of the same rule; "the best" is compared with each of the other three
learners of candidate sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, groupby, product
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneof.experiments.tables import RunRow

Floats = npt.NDArray[np.float64]

MUCH = 0.02

REPRODUCED, NOT_REPRODUCED, UNDECIDED = "reproduced", "not reproduced", "undecided"


@dataclass(frozen=True)
class Word:
    """What a claim's word asks of the difference d: low < d < high."""

    low: float
    high: float
    condition: str


BETTER = Word(-math.inf, 0.0, "d < 0")
MUCH_BETTER = Word(-math.inf, -MUCH, f"d < -{MUCH:g}")
WORSE = Word(0.0, math.inf, "d > 0")
COMPARABLE = Word(-MUCH, MUCH, f"|d| < {MUCH:g}")

Pairs = tuple[tuple[str, str], ...]

AVG_MAX: Pairs = (("avg-perceptron", "max-perceptron"), ("avg-pegasos", "max-pegasos"))
MAX_AVG: Pairs = tuple((b, a) for a, b in AVG_MAX)
_CANDIDATE_LEARNERS = ("avg-perceptron", "max-perceptron", "avg-pegasos", "max-pegasos")


def _best(learner: str) -> Pairs:
    return tuple((learner, other) for other in _CANDIDATE_LEARNERS if other != learner)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, for the forms of one data set and some sizes of candidate sets."""

    number: int
    datasets: tuple[str, ...]
    sizes: tuple[int, ...]
    text: str
    word: Word
    pairs: Pairs


_USPS = ("usps", "usps-resampled")  # the same digits, in two forms

PAPER = (
    Claim(1, ("dermatology",), (2, 4), "the avg learners do better", BETTER, AVG_MAX),
    Claim(
        2, ("ecoli",), (2, 4), "Max Pegasos is comparable to the avg learners", COMPARABLE,
        (("max-pegasos", "avg-perceptron"), ("max-pegasos", "avg-pegasos")),
    ),
    Claim(2, ("ecoli",), (6,), "the max learners are significantly worse", WORSE, MAX_AVG),
    Claim(3, ("satimage",), (2,), "Max Pegasos is best", BETTER, _best("max-pegasos")),
    Claim(3, ("satimage",), (4,), "the avg learners are much better", MUCH_BETTER, AVG_MAX),
    Claim(4, _USPS, (2, 4), "the max learners are better", BETTER, MAX_AVG),
    Claim(4, _USPS, (6, 8), "the avg learners are much better", MUCH_BETTER, AVG_MAX),
    Claim(5, ("mnist",), (2, 4), "the max learners are much better", MUCH_BETTER, MAX_AVG),
    Claim(5, ("mnist",), (6, 8), "Avg Pegasos is best", BETTER, _best("avg-pegasos")),
)  # fmt: skip


class ClaimRow(NamedTuple):
    """One comparison of a claim; `verdict` is the comparison's, `claim_verdict` the claim's."""

    claim: int
    dataset: str
    size: int
    text: str
    learner_a: str
    learner_b: str
    condition: str
    difference: float
    low: float | None
    high: float | None
    verdict: str
    claim_verdict: str


def claim_rows(runs: Iterable[RunRow], claims: Sequence[Claim] = PAPER) -> list[ClaimRow]:
    """Judge each claim whose data set, size and learners were run.

    Parameters
    ----------
    runs : iterable of RunRow
        The error of every run.
    claims : sequence of Claim, default=PAPER

    Examples
    --------
    >>> from oneof.experiments.tables import RunRow
    >>> runs = [RunRow("usps", 2, name, i, error + i / 1000, 0.0)
    ...         for name, error in [("max-perceptron", 0.1), ("avg-perceptron", 0.3)]
    ...         for i in range(5)]
    >>> claim = Claim(4, ("usps",), (2,), "max is better", BETTER, MAX_AVG[:1])
    >>> [(round(row.difference, 3), row.verdict) for row in claim_rows(runs, [claim])]
    [(-0.2, 'reproduced')]
    """
    errors: dict[tuple[str, int, str], list[tuple[int, float]]] = {}
    for row in runs:
        errors.setdefault((row.dataset, row.size, row.learner), []).append((row.run, row.error))
    finals = {key: np.array([error for _, error in sorted(pairs)]) for key, pairs in errors.items()}
    rows = []
    for claim in claims:
        for dataset, size in product(claim.datasets, claim.sizes):
            sides = [tuple((dataset, size, learner) for learner in pair) for pair in claim.pairs]
            if finals.keys() >= set(chain(*sides)):
                differences = [finals[a] - finals[b] for a, b in sides]
                rows += _judged_claim(claim, dataset, size, differences)
    return rows


def _judged_claim(
    claim: Claim, dataset: str, size: int, differences: Sequence[Floats]
) -> list[ClaimRow]:
    estimates = [_estimate(claim.word, d) for d in differences]
    verdict = overall([estimate[-1] for estimate in estimates])
    start = (claim.number, dataset, size, claim.text)
    return [
        ClaimRow(*start, a, b, claim.word.condition, *estimate, verdict)
        for (a, b), estimate in zip(claim.pairs, estimates, strict=True)
    ]


def interval(differences: Floats, level: float = 0.95) -> tuple[float, float] | None:
    """Return Student's t interval of the mean; None for a single run, which tells no spread."""
    n = len(differences)
    if n < 2:
        return None
    half = stats.t.ppf(0.5 + level / 2, n - 1) * differences.std(ddof=1) / math.sqrt(n)
    return float(differences.mean() - half), float(differences.mean() + half)


def judged(word: Word, low: float, high: float) -> str:
    """Return the verdict for an interval: within, outside or across what the word asks for."""
    if word.low < low and high < word.high:
        return REPRODUCED
    if high <= word.low or low >= word.high:
        return NOT_REPRODUCED
    return UNDECIDED


def by_claim(rows: Iterable[ClaimRow]) -> list[list[ClaimRow]]:
    """Group the comparisons of each claim."""
    key = attrgetter("claim", "dataset", "size", "text")
    return [list(comparisons) for _, comparisons in groupby(rows, key=key)]


def overall(verdicts: Sequence[str]) -> str:
    """Return the verdict of a claim whose comparisons have these."""
    if NOT_REPRODUCED in verdicts:
        return NOT_REPRODUCED
    return UNDECIDED if UNDECIDED in verdicts else REPRODUCED


def _estimate(word: Word, differences: Floats) -> tuple[float, float | None, float | None, str]:
    ends = interval(differences)
    if ends is None:
        return float(differences.mean()), None, None, UNDECIDED
    return float(differences.mean()), *ends, judged(word, *ends)
