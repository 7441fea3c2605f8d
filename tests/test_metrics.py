"""The metrics against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import accuracy_score, hinge_loss, log_loss

import oneof
import reference
from learners import streams
from oneof import metrics


@settings(max_examples=50)
@given(stream=streams())
def test_losses_are_those_of_the_paper(stream):
    rng = np.random.default_rng(len(stream.X))
    S = rng.normal(size=(len(stream.sets), stream.n_classes)) * 2
    given_scores = S[:, 1] - S[:, 0] if stream.n_classes == 2 else S
    for name, function in (("avg", metrics.avg_hinge), ("max", metrics.max_hinge)):
        expected = np.mean(
            [reference.hinge(name, s, Y) for s, Y in zip(S, stream.sets, strict=True)]
        )
        assert function(stream.sets, given_scores, classes=stream.classes) == pytest.approx(
            expected
        )
    predictions = S.argmax(axis=1)
    mistakes = [reference.is_mistake(s, Y) for s, Y in zip(S, stream.sets, strict=True)]
    assert metrics.ambiguous_loss(stream.sets, predictions) == pytest.approx(np.mean(mistakes))


def test_exact_labels_give_scikit_learns_metrics():
    rng = np.random.default_rng(0)
    y, S = rng.integers(0, 3, 50), rng.normal(size=(50, 3))
    predictions = S.argmax(axis=1)
    assert metrics.candidate_accuracy(y, predictions) == accuracy_score(y, predictions)
    for hinge in (metrics.avg_hinge, metrics.max_hinge):
        assert hinge(y, S) == pytest.approx(hinge_loss(y, S))
    P = np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)
    assert metrics.log_loss(y, P) == pytest.approx(log_loss(y, P))
    y, p = rng.integers(0, 2, 50), rng.random(50)
    assert metrics.log_loss(y, p) == pytest.approx(log_loss(y, p))


def test_weights_labels_never_seen_and_indicators():
    Y = [{"a", "b"}, {"c"}, {"a"}]
    assert metrics.candidate_accuracy(Y, ["b", "z", "b"], sample_weight=[3, 1, 1]) == 0.6
    table = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert metrics.candidate_accuracy(table, ["b", "z", "b"], classes=["a", "b", "c"]) == 1 / 3
    assert metrics.coverage(Y, ["a", "c", "c"]) == pytest.approx(2 / 3)
    assert metrics.coverage(oneof.CandidateSets.from_sets(Y), ["a", "c", "a"]) == 1


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\), but there are 2 rows and 3 classes"):
        metrics.avg_hinge([{"a", "b"}, {"c"}], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="y has 1 labels, but there are 2 rows"):
        metrics.ambiguous_loss([{"a"}, {"b"}], ["a"])
