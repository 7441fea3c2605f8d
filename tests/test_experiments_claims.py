"""Verdicts on claims, from runs made up for the purpose."""

import numpy as np
import pytest
from scipy import stats

from oneof.experiments.claims import (
    AVG_MAX,
    BETTER,
    COMPARABLE,
    MUCH_BETTER,
    NOT_REPRODUCED,
    PAPER,
    REPRODUCED,
    UNDECIDED,
    WORSE,
    Claim,
    claim_rows,
    overall,
)
from oneof.experiments.tables import RunRow

CANDIDATE_LEARNERS = ("avg-perceptron", "max-perceptron", "avg-pegasos", "max-pegasos")


def runs_of(learner, errors, dataset="ecoli", size=2):
    return [RunRow(dataset, size, learner, i, float(e), 0.0) for i, e in enumerate(errors)]


def verdict(word, differences):
    """Judge a claim about A and B whose runs differ so; the runs themselves vary much more."""
    common = np.linspace(0.1, 0.9, len(differences))
    runs = runs_of("a", common + differences) + runs_of("b", common)
    (row,) = claim_rows(runs, [Claim(0, ("ecoli",), (2,), "", word, (("a", "b"),))])
    return row.verdict


def spread(mean, half_width, n=10):
    """Return n differences whose 95 % interval is mean ± half_width."""
    z = np.array([1.0, -1.0] * (n // 2))
    scale = half_width / (stats.t.ppf(0.975, n - 1) * z.std(ddof=1) / np.sqrt(n))
    return mean + scale * z


@pytest.mark.parametrize(
    ("word", "mean", "half_width", "expected"),
    [
        (BETTER, -0.01, 0.005, REPRODUCED),
        (BETTER, -0.01, 0.011, UNDECIDED),
        (BETTER, 0.01, 0.011, UNDECIDED),
        (BETTER, 0.01, 0.005, NOT_REPRODUCED),
        (WORSE, 0.01, 0.005, REPRODUCED),
        (WORSE, 0.01, 0.011, UNDECIDED),
        (WORSE, -0.01, 0.005, NOT_REPRODUCED),
        (MUCH_BETTER, -0.03, 0.005, REPRODUCED),
        (MUCH_BETTER, -0.03, 0.015, UNDECIDED),
        (MUCH_BETTER, -0.01, 0.005, NOT_REPRODUCED),
        (MUCH_BETTER, 0.03, 0.005, NOT_REPRODUCED),
        (COMPARABLE, 0.0, 0.015, REPRODUCED),
        (COMPARABLE, -0.015, 0.004, REPRODUCED),
        (COMPARABLE, 0.015, 0.01, UNDECIDED),
        (COMPARABLE, 0.0, 0.05, UNDECIDED),
        (COMPARABLE, 0.05, 0.02, NOT_REPRODUCED),
        (COMPARABLE, -0.05, 0.02, NOT_REPRODUCED),
    ],
)
def test_a_verdict_is_where_the_interval_lies(word, mean, half_width, expected):
    assert verdict(word, spread(mean, half_width)) == expected


def test_the_interval_is_students_over_paired_runs():
    rng = np.random.default_rng(0)
    a, b = rng.random(12), rng.random(12)
    claim = Claim(0, ("ecoli",), (2,), "", BETTER, (("a", "b"),))
    shuffled = rng.permutation(runs_of("a", a) + runs_of("b", b)).tolist()
    runs = [RunRow(d, int(s), n, int(i), float(e), float(m)) for d, s, n, i, e, m in shuffled]
    (row,) = claim_rows(runs, [claim])
    test = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (row.low, row.high) == pytest.approx((test.low, test.high))
    assert row.difference == pytest.approx((a - b).mean())


def test_an_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    claim = Claim(0, ("ecoli",), (2,), "", BETTER, (("a", "b"),))
    n_covered = 0
    for _ in range(400):
        runs = runs_of("a", rng.normal(0.3, 0.1, 6)) + runs_of("b", rng.normal(0.1, 0.1, 6))
        (row,) = claim_rows(runs, [claim])
        n_covered += row.low <= 0.2 <= row.high
    assert 365 <= n_covered <= 395


def test_one_run_decides_nothing():
    (row,) = claim_rows(
        runs_of("a", [0.1]) + runs_of("b", [0.9]),
        [Claim(0, ("ecoli",), (2,), "", BETTER, (("a", "b"),))],
    )
    assert (row.low, row.high, row.verdict, row.claim_verdict) == (None, None, UNDECIDED, UNDECIDED)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([REPRODUCED, REPRODUCED], REPRODUCED),
        ([REPRODUCED, UNDECIDED], UNDECIDED),
        ([UNDECIDED, NOT_REPRODUCED], NOT_REPRODUCED),
        ([REPRODUCED, NOT_REPRODUCED], NOT_REPRODUCED),
    ],
)
def test_a_claim_needs_all_its_comparisons(verdicts, expected):
    assert overall(verdicts) == expected


def test_a_claim_whose_learners_were_not_all_run_is_left_out():
    runs = runs_of("avg-perceptron", [0.1, 0.2]) + runs_of("max-perceptron", [0.3, 0.5])
    claim = Claim(1, ("ecoli",), (2,), "", BETTER, AVG_MAX)
    assert claim_rows(runs, [claim]) == []
    assert len(claim_rows(runs, [Claim(1, ("ecoli",), (2, 4), "", BETTER, AVG_MAX[:1])])) == 1


def test_usps_is_judged_in_whichever_form_it_was_run_and_other_digits_are_not():
    for dataset, expected in (("usps", 2), ("usps-resampled", 2), ("digits", 0)):
        runs = [r for n in CANDIDATE_LEARNERS for r in runs_of(n, [0.1, 0.2], dataset, 8)]
        assert [row.dataset for row in claim_rows(runs)] == [dataset] * expected


def test_the_papers_claims_are_all_there():
    said = {(c.number, c.datasets[0], size): c for c in PAPER for size in c.sizes}
    assert sorted(said) == sorted(
        [(1, "dermatology", s) for s in (2, 4)]
        + [(2, "ecoli", s) for s in (2, 4, 6)]
        + [(3, "satimage", s) for s in (2, 4)]
        + [(4, "usps", s) for s in (2, 4, 6, 8)]
        + [(5, "mnist", s) for s in (2, 4, 6, 8)]
    )
    assert len(said[3, "satimage", 2].pairs) == 3
    for claim in PAPER:
        for a, b in claim.pairs:
            assert a != b
        if "avg learners" in claim.text and claim.word in (BETTER, MUCH_BETTER):
            assert all(a.startswith("avg") and b.startswith("max") for a, b in claim.pairs)
        if claim.text.startswith("the max learners"):
            assert all(a.startswith("max") and b.startswith("avg") for a, b in claim.pairs)
