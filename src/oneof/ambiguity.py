"""Synthetic candidate sets: exact labels made ambiguous, seeded; no features, no learning."""

from __future__ import annotations

import math
from itertools import combinations
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof.candidates import CandidateSets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Table = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
Rng = np.random.Generator

_CHOICES = 1000  # so few sets are listed once, and a row only draws a number
_CELLS = 1 << 22  # cells of a table drawn at a time: memory stays small however many the rows


def uniform(
    y: npt.ArrayLike,
    size: int,
    *,
    classes: npt.ArrayLike | None = None,
    random_state: int | Rng | None = None,
) -> CandidateSets:
    """Draw sets of one size: the true label and size − 1 others, each choice equally likely.

    This is the ambiguity of the paper's experiments. As in every function here, the set of a row
    depends on its own label and the seed, not on the labels of other rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    size : int
        The number of candidates in each set, from 1 to the number of classes.
    classes : array-like, optional
        The vocabulary in its order; by default the sorted labels that occur.
    random_state : int, Generator or None
        The seed. None draws differently each time.

    Examples
    --------
    >>> Y = uniform(["a", "b", "c", "a"], size=2, random_state=0)
    >>> Y.sizes(), Y.coverage(["a", "b", "c", "a"])
    (array([2, 2, 2, 2]), 1.0)

    References
    ----------
    Bhattacharjee and Manwani, *Online Algorithms for Multiclass Classification using Partial
    Labels*.
    """
    codes, vocabulary = _codes(y, classes)
    K = vocabulary.size
    n_others = _whole("size", size, 1, K) - 1

    rng = _generator(random_state)
    if math.comb(K - 1, n_others) <= _CHOICES:
        members = _every_set(K, n_others)
        choice = rng.integers(0, members.shape[1], codes.size)
        indptr = np.arange(codes.size + 1) * size
        return CandidateSets(vocabulary, indptr, members[codes, choice].ravel())

    def draw(truth: Codes, _: slice) -> Table:
        return _turned(_subsets(rng, np.full(truth.size, n_others), K - 1), truth)

    return _packed(draw, codes, vocabulary)


def independent(
    y: npt.ArrayLike,
    q: float,
    *,
    classes: npt.ArrayLike | None = None,
    random_state: int | Rng | None = None,
) -> CandidateSets:
    """Add each wrong label to each set with probability `q`, independently of all others.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    q : float
        A probability, from 0 (exact labels) to 1 (every set is full).
    classes, random_state
        See `uniform`.

    Examples
    --------
    >>> Y = independent([0, 1, 2, 3] * 1000, q=0.5, random_state=0)
    >>> round(Y.describe()["mean_size"], 1)
    2.5
    """
    codes, vocabulary = _codes(y, classes)
    rate = _probability("q", q)
    rng = _generator(random_state)

    def draw(truth: Codes, _: slice) -> Table:
        return rng.random((truth.size, vocabulary.size)) < rate

    return _packed(draw, codes, vocabulary)


def controlled(
    y: npt.ArrayLike,
    p: float,
    r: int,
    epsilon: float | None = None,
    *,
    classes: npt.ArrayLike | None = None,
    random_state: int | Rng | None = None,
) -> CandidateSets:
    """Follow the (p, r, ε) protocol of the partial-label literature.

    A share `p` of the rows is ambiguous and has `r` false labels; the other rows are exact. Each
    class has one partner, the next class in the vocabulary (the first, for the last). The partner
    of the true label is among the r false labels with probability `epsilon`; the remaining false
    labels are drawn uniformly from the classes other than these two.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    p : float
        The share of ambiguous rows: round(p·n) rows, any of them equally likely.
    r : int
        The number of false labels of an ambiguous row, from 1 to the number of classes less one;
        less two if `epsilon` is below 1, so that the partner can stay out.
    epsilon : float, optional
        The probability that the partner co-occurs. None gives no class a partner: all r false
        labels are drawn uniformly.
    classes, random_state
        See `uniform`.

    Examples
    --------
    >>> Y = controlled([0, 1, 2, 3], p=0.5, r=1, epsilon=1.0, random_state=0)
    >>> sorted(map(sorted, Y), key=len)
    [[0], [3], [1, 2], [2, 3]]

    References
    ----------
    Cour, Sapp and Taskar, *Learning from Partial Labels*, JMLR 12 (2011).
    """
    codes, vocabulary = _codes(y, classes)
    K, share = vocabulary.size, _probability("p", p)
    rate = None if epsilon is None else _probability("epsilon", epsilon)
    n_false = _whole("r", r, 1, K - 1 if rate is None or rate == 1 else K - 2)
    rng = _generator(random_state)
    is_ambiguous = rng.permutation(codes.size) < round(share * codes.size)
    n_wrong = np.where(is_ambiguous, n_false, 0)

    def draw(truth: Codes, rows: slice) -> Table:
        wanted = n_wrong[rows]
        if rate is None:
            return _turned(_subsets(rng, wanted, K - 1), truth)
        has_partner = (rng.random(truth.size) < rate) & (wanted > 0)
        others = _subsets(rng, wanted - has_partner, K - 2)
        return _turned(np.column_stack([has_partner, others]), truth)

    return _packed(draw, codes, vocabulary)


def from_confusion(
    y: npt.ArrayLike,
    confusion: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    random_state: int | Rng | None = None,
) -> CandidateSets:
    """Add each wrong label k to a row of truth y with probability ``confusion[y, k]``.

    Parameters
    ----------
    y : array-like of shape (n,)
        The true labels.
    confusion : array-like of shape (n_classes, n_classes)
        Probabilities, rows and columns in the order of the vocabulary; the diagonal counts as 1,
        and rows need not sum to 1.
    classes, random_state
        See `uniform`.

    Examples
    --------
    >>> looks_like = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]  # every cat might be a dog
    >>> list(map(sorted, from_confusion(["cat", "dog", "fox"], looks_like, random_state=0)))
    [['cat', 'dog'], ['dog'], ['fox']]
    """
    codes, vocabulary = _codes(y, classes)
    rates = _confusion(confusion, vocabulary.size)
    rng = _generator(random_state)

    def draw(truth: Codes, _: slice) -> Table:
        return rng.random((truth.size, vocabulary.size)) < rates[truth]

    return _packed(draw, codes, vocabulary)


def _packed(
    draw: Callable[[Codes, slice], Table], codes: Codes, vocabulary: npt.NDArray[Any]
) -> CandidateSets:
    """Pack the tables that `draw` makes of blocks of rows, with the true labels added."""
    sizes, members = [np.zeros(1, np.int64)], [np.empty(0, np.int64)]
    for rows in _blocks(codes.size, vocabulary.size):
        truth = codes[rows]
        table = draw(truth, rows)
        table[np.arange(truth.size), truth] = True
        sizes.append(np.count_nonzero(table, axis=1))
        members.append(np.nonzero(table)[1])
    indptr = np.cumsum(np.concatenate(sizes))
    return CandidateSets(vocabulary, indptr, np.concatenate(members))


def _blocks(n: int, n_classes: int) -> Iterator[slice]:
    length = max(1, _CELLS // n_classes)
    return (slice(start, start + length) for start in range(0, n, length))


def _every_set(n_classes: int, n_others: int) -> npt.NDArray[np.int32]:
    """List the sets of each true label: its classes in rising order, at [truth, choice]."""
    steps = np.array(list(combinations(range(1, n_classes), n_others)), dtype=np.int32)
    steps = np.column_stack([np.zeros(len(steps), dtype=np.int32), steps])
    truth = np.arange(n_classes, dtype=np.int32)[:, None, None]
    return np.sort((truth + steps) % np.int32(n_classes), axis=2)


def _subsets(rng: Rng, sizes: Codes, n_items: int) -> Table:
    """Draw for each row a uniform subset of ``sizes[row]`` of `n_items` items, by Floyd's method.

    The largest items come last, one step each; the row's draw from the items up to this one is
    taken, or this one if the draw is taken already. A row joins in at its own first step.
    """
    table = np.zeros((sizes.size, n_items), dtype=np.bool_)
    for last in range(n_items - int(sizes.max(initial=0)), n_items):
        item = rng.integers(0, last + 1, sizes.size)
        rows = np.flatnonzero(last >= n_items - sizes)
        item = item[rows]
        table[rows, np.where(table[rows, item], last, item)] = True
    return table


def _turned(others: Table, truth: Codes) -> Table:
    """Place item j of each row at class truth + 1 + j, counted round the vocabulary."""
    K = others.shape[1] + 1
    table = np.column_stack([np.ones(truth.size, dtype=np.bool_), others])
    return np.take_along_axis(table, (np.arange(K) - truth[:, None]) % K, axis=1)


def _codes(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Codes, npt.NDArray[Any]]:
    exact = CandidateSets.from_labels(y, classes)
    return exact.codes.astype(np.int64), exact.classes


def _generator(random_state: int | Rng | None) -> Rng:
    is_seed = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, Rng) or (is_seed and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ValueError(
        "random_state must be an integer of at least 0, a numpy.random.Generator or None, "
        f"not {random_state!r}"
    )


def _whole(name: str, value: int, least: int, most: int) -> int:
    if most < least:
        raise ValueError(f"{name} cannot be chosen: with so few classes no set can be ambiguous")
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, not {value!r}")
    return int(value)


def _probability(name: str, value: float) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def _confusion(confusion: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.float64]:
    rates = np.asarray(confusion, dtype=np.float64)
    if rates.shape != (n_classes, n_classes):
        raise ValueError(
            f"confusion must have shape {(n_classes, n_classes)}, one row and one column per "
            f"class, not {rates.shape}"
        )
    wrong = np.argwhere(~((rates >= 0) & (rates <= 1)))
    if wrong.size:
        row, column = wrong[0]
        raise ValueError(
            f"confusion[{row}, {column}] is {rates[row, column]:g}: give probabilities from 0 to 1"
        )
    return rates
