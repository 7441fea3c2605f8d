"""The learners' names."""

import pytest
from sklearn.linear_model import Perceptron

import oneof
from oneof import catalogue


def test_every_public_learner_has_its_name():
    listed = set(catalogue.LEARNERS.values())
    public = {getattr(oneof, name) for name in oneof.__all__}
    assert listed == {kind for kind in public if hasattr(kind, "progressive_fit")}
    assert set(catalogue.SINGLE.values()) == listed - {oneof.Hedge}
    for name, kind in catalogue.LEARNERS.items():
        assert catalogue.name_of(kind()) == name
        assert name.replace("-", "") == kind.__name__.lower()


def test_anything_else_has_none():
    with pytest.raises(ValueError, match=r"Perceptron is not one of oneof's learners \(avg-perc"):
        catalogue.name_of(Perceptron())
