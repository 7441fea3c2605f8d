"""Fixtures of the data-set tests: a machine cut off from everything, and a set of four rows."""

from __future__ import annotations

import urllib.error

import numpy as np
import pytest

from oneof.datasets import archives, sources
from oneof.datasets.catalogue import CATALOGUE, Archive, Entry


@pytest.fixture(autouse=True, name="alone")
def alone_fixture(monkeypatch, tmp_path):
    """Cut the test off: no user's data, no user's cache, no network, no memory of failures."""
    monkeypatch.delenv("ONEOF_DATA", raising=False)
    monkeypatch.setenv("ONEOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sources, "_failed", {})

    def no_network(*_, **__):
        raise urllib.error.URLError("no network in tests")

    def no_pip(*_, **__):
        raise OSError("no pip in tests")

    monkeypatch.setattr(sources.urllib.request, "urlopen", no_network)
    monkeypatch.setattr(archives.subprocess, "run", no_pip)


@pytest.fixture(name="tiny")
def tiny_fixture(monkeypatch):
    """Put a small set of pixels into the catalogue, with every kind of source."""
    entry = Entry(
        name="tiny",
        n_features=3,
        counts=(2, 1, 1),
        train_counts=(1, 1, 0),
        licence="none",
        classes=("a", "b", "c"),
        is_pixels=True,
        openml_id=1,
        openml_labels=("1", "2", "3"),
        archive=Archive("tiny==1", "0" * 64, "tiny/tiny.pkl.gz"),
        instead="ecoli",
    )
    monkeypatch.setitem(CATALOGUE, "tiny", entry)
    return entry


X = np.array([[0, 51, 255], [255, 0, 0], [0, 0, 0], [102, 0, 0]], dtype=np.uint8)
Y = np.array([0, 1, 0, 2])
