"""Synthetic candidate sets: who is inside, how many, how often, and what is refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from oneof import ambiguity
from oneof.candidates import CandidateSets

SURE = 1e-6  # seeds are fixed: a smaller p-value is a wrong distribution, not bad luck


def confusion_of(K, seed=0):
    return np.random.default_rng(seed).random((K, K))


DRAWS = {
    "uniform": lambda y, K, seed: ambiguity.uniform(
        y, min(3, K), classes=range(K), random_state=seed
    ),
    "independent": lambda y, K, seed: ambiguity.independent(
        y, 0.4, classes=range(K), random_state=seed
    ),
    "controlled": lambda y, K, seed: ambiguity.controlled(
        y, 0.6, 2, 0.5, classes=range(K), random_state=seed
    ),
    "unpartnered": lambda y, K, seed: ambiguity.controlled(
        y, 0.6, 2, classes=range(K), random_state=seed
    ),
    "from_confusion": lambda y, K, seed: ambiguity.from_confusion(
        y, confusion_of(K), classes=range(K), random_state=seed
    ),
}

streams = st.integers(4, 12).flatmap(
    lambda K: st.tuples(st.lists(st.integers(0, K - 1), max_size=40), st.just(K))
)
each_draw = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


@pytest.fixture(params=[None, 7], ids=["one block, sets listed", "blocks of 7 cells, sets drawn"])
def block(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(ambiguity, "_CELLS", request.param)
        monkeypatch.setattr(ambiguity, "_CHOICES", 0)


@each_draw
@given(stream=streams, seed=st.integers(0, 2**32))
def test_truth_is_inside_and_the_same_seed_draws_the_same_sets(draw, stream, seed):
    y, K = stream
    Y = draw(y, K, seed)
    assert len(Y) == len(y)
    assert Y.classes.tolist() == list(range(K))
    assert Y.contains(np.array(y, dtype=int)).all()
    assert draw(y, K, seed) == Y
    assert draw(y, K, np.random.default_rng(seed)) == Y


@each_draw
@given(stream=streams, data=st.data())
def test_a_set_does_not_depend_on_the_labels_of_other_rows(draw, stream, data):
    y, K = stream
    if not y:
        return
    row = data.draw(st.integers(0, len(y) - 1))
    others = data.draw(st.lists(st.integers(0, K - 1), min_size=len(y), max_size=len(y)))
    others[row] = y[row]
    assert draw(y, K, 5)[row] == draw(others, K, 5)[row]


@each_draw
def test_a_generator_goes_on_and_seeds_differ(draw):
    y = np.arange(200) % 5
    rng = np.random.default_rng(1)
    assert draw(y, 5, rng) != draw(y, 5, rng)
    assert draw(y, 5, 1) != draw(y, 5, 2)
    assert draw(y, 5, None) != draw(y, 5, None)


@pytest.mark.usefixtures("block")
@each_draw
def test_rows_are_kept_in_order_over_blocks(draw):
    y = np.arange(300) % 6
    Y = draw(y, 6, 3)
    assert len(Y) == 300
    assert Y.contains(y).all()
    whole = CandidateSets(Y.classes, Y.indptr, Y.codes)  # the public constructor checks all
    assert whole == Y


@given(stream=streams, data=st.data())
def test_uniform_has_the_exact_size(stream, data):
    y, K = stream
    size = data.draw(st.integers(1, K))
    Y = ambiguity.uniform(y, size, classes=range(K), random_state=0)
    assert (Y.sizes() == size).all()


@pytest.mark.parametrize("size", [1, 2, 20, 39, 40])
def test_uniform_has_the_exact_size_and_the_truth_in_a_large_vocabulary(size):
    y = np.arange(400) % 40
    Y = ambiguity.uniform(y, size, classes=range(40), random_state=0)
    assert (Y.sizes() == size).all()
    assert Y.contains(y).all()


@given(stream=streams, p=st.floats(0, 1), epsilon=st.none() | st.floats(0, 1), r=st.integers(1, 2))
def test_controlled_has_the_exact_share_and_number_of_false_labels(stream, p, epsilon, r):
    y, K = stream
    Y = ambiguity.controlled(y, p, r, epsilon, classes=range(K), random_state=0)
    n_ambiguous = round(p * len(y))
    assert sorted(Y.sizes()) == [1] * (len(y) - n_ambiguous) + [1 + r] * n_ambiguous


@pytest.mark.usefixtures("block")
def test_the_share_is_of_all_rows_whatever_the_blocks():
    Y = ambiguity.controlled(np.arange(300) % 6, 0.6, 2, 0.5, random_state=0)
    assert np.bincount(Y.sizes()).tolist() == [0, 120, 0, 180]


def counts_of_subsets(Y, truth, n_classes, size):
    """Count how often each set of `size` false labels occurs."""
    others = [k for k in range(n_classes) if k != truth]
    counts = dict.fromkeys(map(frozenset, combinations(others, size)), 0)
    for labels in Y:
        counts[frozenset(labels - {truth})] += 1
    return list(counts.values())


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("truth", [0, 2, 4])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_uniform_draws_every_subset_equally_often(truth, size):
    Y = ambiguity.uniform(np.full(6000, truth), size, classes=range(5), random_state=truth)
    assert chisquare(counts_of_subsets(Y, truth, 5, size - 1)).pvalue > SURE


def test_controlled_without_a_partner_draws_every_subset_equally_often():
    Y = ambiguity.controlled(np.full(6000, 3), 1.0, 2, classes=range(5), random_state=0)
    assert chisquare(counts_of_subsets(Y, 3, 5, 2)).pvalue > SURE


@pytest.mark.parametrize("truth", [1, 5])
def test_the_partner_co_occurs_with_probability_epsilon_and_the_rest_is_uniform(truth):
    K, n, epsilon = 6, 20000, 0.3
    Y = ambiguity.controlled(np.full(n, truth), 1.0, 2, epsilon, classes=range(K), random_state=1)
    marks, partner = Y.to_indicator(), (truth + 1) % K
    with_partner = marks[marks[:, partner] == 1]
    without = marks[marks[:, partner] == 0]
    observed = [len(with_partner), len(without)]
    assert chisquare(observed, [epsilon * n, (1 - epsilon) * n]).pvalue > SURE
    rest = [k for k in range(K) if k not in (truth, partner)]
    assert chisquare(with_partner[:, rest].sum(axis=0)).pvalue > SURE
    assert chisquare(without[:, rest].sum(axis=0)).pvalue > SURE


def test_epsilon_of_0_and_1():
    y = np.arange(500) % 5
    always = ambiguity.controlled(y, 1, 1, 1, random_state=0)
    assert always.contains((y + 1) % 5).all()
    assert not ambiguity.controlled(y, 1, 3, 0, random_state=0).contains((y + 1) % 5).any()
    full = ambiguity.controlled(y, 1, 4, 1, random_state=0)
    assert (full.sizes() == 5).all()


def test_which_rows_are_ambiguous_is_uniform():
    times = np.zeros(10)
    for seed in range(600):
        times += ambiguity.controlled(np.arange(10), 0.3, 1, random_state=seed).sizes() > 1
    assert times.sum() == 1800
    assert chisquare(times).pvalue > SURE


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 1.0])
def test_independent_adds_each_wrong_label_at_the_rate_q(q):
    n, K = 20000, 4
    y = np.arange(n) % K
    marks = ambiguity.independent(y, q, random_state=2).to_indicator().astype(bool)
    wrong = np.arange(K) != y[:, None]
    assert_rate(marks[wrong], q)
    # Two labels join one set together at the rate q².
    assert_rate(marks[y == 0][:, 1] & marks[y == 0][:, 2], q * q)


def test_from_confusion_adds_label_k_at_the_rate_of_its_row():
    K, n = 4, 40000
    y = np.arange(n) % K
    rates = confusion_of(K)
    rates[0, 1], rates[2, 3], rates[1, 1] = 0, 1, 0
    marks = ambiguity.from_confusion(y, rates, random_state=4).to_indicator().astype(bool)
    for truth in range(K):
        for k in range(K):
            assert_rate(marks[y == truth, k], 1.0 if k == truth else rates[truth, k])


def assert_rate(joined, rate):
    """Check a frequency: exactly at 0 and 1, within 5 standard deviations between."""
    assert abs(joined.mean() - rate) <= 5 * np.sqrt(rate * (1 - rate) / joined.size)


def test_labels_may_be_strings_and_classes_may_add_more():
    Y = ambiguity.uniform(["b", "a"], 2, classes=["c", "b", "a"], random_state=0)
    assert Y.classes.tolist() == ["c", "b", "a"]
    assert Y.contains(["b", "a"]).all()
    assert ambiguity.uniform(["b", "a"], 2, random_state=0)[0] == {"a", "b"}
    assert len(ambiguity.independent([], 0.5, classes=[1, 2])) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y: ambiguity.uniform(y, 0), "size must be an integer from 1 to 3, not 0"),
        (lambda y: ambiguity.uniform(y, 4), "size must be an integer from 1 to 3, not 4"),
        (lambda y: ambiguity.uniform(y, 2.0), "size must be an integer from 1 to 3, not 2.0"),
        (lambda y: ambiguity.uniform(y, True), "size must be an integer"),
        (lambda y: ambiguity.independent(y, 1.5), "q must be a number from 0 to 1, not 1.5"),
        (lambda y: ambiguity.independent(y, float("nan")), "q must be a number from 0 to 1"),
        (lambda y: ambiguity.independent(y, "half"), "q must be a number from 0 to 1"),
        (lambda y: ambiguity.controlled(y, -1, 1), "p must be a number from 0 to 1"),
        (lambda y: ambiguity.controlled(y, 1, 3), "r must be an integer from 1 to 2, not 3"),
        (lambda y: ambiguity.controlled(y, 1, 2, 0.5), "r must be an integer from 1 to 1, not 2"),
        (lambda y: ambiguity.controlled(y, 1, 1, 2), "epsilon must be a number from 0 to 1"),
        (lambda y: ambiguity.controlled(y[:2], 1, 1, 0.5), "with so few classes"),
        (lambda y: ambiguity.from_confusion(y, np.eye(2)), r"must have shape \(3, 3\)"),
        (lambda y: ambiguity.from_confusion(y, np.eye(3) * 2), r"confusion\[0, 0\] is 2"),
        (lambda y: ambiguity.from_confusion(y, np.full((3, 3), np.nan)), r"\[0, 0\] is nan"),
        (lambda y: ambiguity.uniform(y, 2, classes=["a", "b"]), "'c'"),
        (lambda y: ambiguity.uniform(y, 2, random_state=-1), "random_state must be"),
        (lambda y: ambiguity.uniform(y, 2, random_state="x"), "random_state must be"),
        (lambda y: ambiguity.uniform(y, 2, random_state=True), "random_state must be"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call(["a", "b", "c"])
