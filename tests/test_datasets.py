"""Data sets by name: what is there, and files in the folder ONEOF_DATA. No network."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from oneof import datasets
from oneof.datasets import sources
from oneof.datasets.catalogue import CATALOGUE, Entry
from oneof.datasets.dataset import built
from tiny_dataset import X, Y, alone_fixture, tiny_fixture

__all__ = ["alone_fixture", "tiny_fixture"]  # pytest finds them here

DATA = os.environ.get("ONEOF_DATA")
PAPER = {"dermatology": 6, "ecoli": 8, "satimage": 6, "usps": 10, "mnist": 10}

needs_data = pytest.mark.skipif(not DATA, reason="ONEOF_DATA names no folder with the data sets")


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEOF_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["ecoli", "dermatology", "satimage", "digits"])
def test_these_need_nothing(name):
    data = datasets.load(name)
    entry = CATALOGUE[name]
    assert data.X.shape == (entry.n_rows, entry.n_features)
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert tuple(np.bincount(data.y)) == entry.counts
    assert data.classes.tolist() == list(entry.classes)
    assert data.candidates is None
    assert data.source == ("scikit-learn" if name == "digits" else "package")


def test_satimage_has_its_official_test_part():
    assert np.flatnonzero(datasets.load("satimage").is_test).tolist() == list(range(4435, 6435))


def test_the_paper_is_in_the_catalogue():
    assert datasets.names()[:5] == tuple(PAPER)
    rows = {"dermatology": 358, "ecoli": 336, "satimage": 6435, "usps": 9298, "mnist": 70000}
    for name, n_classes in PAPER.items():
        assert CATALOGUE[name].n_rows == rows[name]
        assert len(CATALOGUE[name].counts) == len(CATALOGUE[name].classes) == n_classes


def test_the_bundled_files_are_small_and_attributed():
    bundled = Path(datasets.__file__).parent / "bundled"
    readme = (bundled / "README.md").read_text(encoding="utf-8")
    assert "creativecommons.org/licenses/by/4.0" in readme
    for file in bundled.glob("*.npz"):
        assert file.name in readme
        assert file.stat().st_size < 100_000


def test_the_package_comes_first(folder):
    (folder / "ecoli.npz").write_bytes(b"another")
    assert datasets.load("ecoli").source == "package"


def test_without_the_variable_no_file_is_meant(monkeypatch, tmp_path):
    np.savez(tmp_path / "pll_lost.npz", X=X, y=Y)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(datasets.DatasetUnavailable):
        datasets.load("lost")


@needs_data
@pytest.mark.parametrize("name", ["ecoli", "dermatology", "satimage"])
def test_the_bundled_rows_are_those_of_an_independent_copy(name):
    with np.load(Path(DATA) / f"{name}.npz") as copy:
        rows, y = copy["X"].astype(float), copy["y"]
    is_complete = ~np.isnan(rows).any(axis=1)
    data = datasets.load(name)
    assert np.array_equal(data.X, rows[is_complete])
    assert np.array_equal(data.y, y[is_complete])


@needs_data
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "usps-resampled"])
def test_the_folder_gives_every_set(monkeypatch, name):
    monkeypatch.setenv("ONEOF_DATA", DATA)
    data, entry = datasets.load(name), CATALOGUE[name]
    assert data.X.shape == (entry.n_rows, entry.n_features)
    assert (data.is_test is not None) == (name in ("satimage", "usps", "mnist", "reuters_r8"))
    assert (data.candidates is not None) == entry.has_candidates
    if entry.has_candidates:
        assert data.candidates.coverage(data.y) > 0.99
    if entry.is_pixels:
        assert data.X.dtype == np.float32
        assert (data.X.min(), data.X.max()) == (0, 1)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no data set 'iris': choose one of dermatology, ecoli"):
        datasets.load("iris")


def test_describe_says_where_a_set_would_come_from(tiny, folder):
    where = {row.name: row.where for row in datasets.describe()}
    assert where["ecoli"] == "package"
    assert where["digits"] == "scikit-learn"
    assert where["tiny"] == "download: OpenML 1, else tiny==1"
    assert where["usps"] == "download: OpenML 41082"
    assert where["lost"] == "needs pll_lost.npz"
    sources.keep(tiny, {"X": X, "y": Y}, "OpenML 1")
    assert datasets.describe()[-1].where == "cache"
    np.savez(folder / "tiny.npz", X=X, y=Y)
    assert datasets.describe()[-1].where == str(folder / "tiny.npz")


# The folder ONEOF_DATA


@pytest.mark.usefixtures("tiny")
def test_pixels_are_scaled_and_the_official_split_is_known_by_its_counts(folder):
    np.savez(folder / "tiny.npz", X=X, y=Y)
    data = datasets.load("tiny")
    assert data.X.tolist() == (X.astype(np.float32) / np.float32(255)).tolist()
    assert data.is_test.tolist() == [False, False, True, True]
    assert data.source == str(folder / "tiny.npz")
    np.savez(folder / "tiny.npz", X=X[::-1] / 255 * 2 - 1, y=Y[::-1])
    turned = datasets.load("tiny")
    assert np.allclose(turned.X, data.X[::-1], atol=1e-6)
    assert turned.is_test is None


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": X[:, :2], "y": Y}, r"X has shape \(4, 2\), not \(4, 3\)"),
        ({"X": X[:3], "y": Y[:3]}, r"y has shape \(3,\)"),
        ({"X": X, "y": [0, 0, 1, 1]}, "classes do not have 2, 1, 1 rows"),
        ({"X": X, "y": [0, 0, 2, 7]}, "classes do not have 2, 1, 1 rows"),
        ({"X": X, "y": [0, 1, 2, -1]}, "classes do not have 2, 1, 1 rows"),
        ({"X": X, "y": [0.0, 1.0, 0.0, np.nan]}, "float64, not 4 integers"),
        ({"X": np.where(X == 51, np.nan, X), "y": Y}, "not finite"),
        ({"X": X.astype(int) * 2, "y": Y}, r"pixels lie in \[0, 510\]"),
        ({"X": X.astype(int) - 9, "y": Y}, r"pixels lie in \[-9, 246\]"),
        ({"X": X.astype(str), "y": Y}, "not numbers"),
        ({"y": Y}, r"X has shape \(4, 0\)"),
        ({"X": X, "y": Y, "is_test": [True]}, r"is_test has shape \(1,\)"),
    ],
)
def test_a_wrong_file_is_named_and_refused(folder, arrays, words):
    np.savez(folder / "tiny.npz", **arrays)
    with pytest.raises(ValueError, match=words) as error:
        datasets.load("tiny")
    assert str(error.value).startswith(f"{folder / 'tiny.npz'} is not the data set tiny: ")
    assert str(error.value).endswith("; replace the file or take it away")


@pytest.mark.usefixtures("tiny")
def test_a_damaged_file_is_named_and_refused(folder):
    path = folder / "tiny.npz"
    np.savez_compressed(path, X=X, y=Y)
    whole = path.read_bytes()
    objects = io.BytesIO()
    np.savez(objects, X=np.array([{}]), y=Y)
    single = io.BytesIO()
    np.save(single, X)
    missing = io.BytesIO()
    np.savez(missing, X=X)
    damaged = [b"", b"no archive", whole[: len(whole) // 2]]
    for raw in [*damaged, *(buffer.getvalue() for buffer in (objects, single, missing))]:
        path.write_bytes(raw)
        with pytest.raises(ValueError, match=r"tiny\.npz cannot be read as NPZ arrays X and y"):
            datasets.load("tiny")


def test_candidates_must_be_there(monkeypatch, folder):
    entry = replace(CATALOGUE["crowd_dog"], counts=(1, 1), classes=("a", "b"))
    monkeypatch.setitem(CATALOGUE, "crowd_dog", entry)
    path = folder / "crowd_dog.npz"
    np.savez(path, y=[0, 1], Y=[[1, 1], [0, 1]])
    data = datasets.load("crowd_dog")
    assert list(data.candidates) == [{0, 1}, {1}]
    assert data.X.shape == (2, 0)
    np.savez(path, y=[0, 1])
    with pytest.raises(ValueError, match="no table Y of 2 rows"):
        datasets.load("crowd_dog")
    np.savez(path, y=[0, 1], Y=[[1, 1], [0, 0]])
    with pytest.raises(ValueError, match="is not the data set crowd_dog: row 1"):
        datasets.load("crowd_dog")


def test_sparse_features():
    entry = Entry(name="s", n_features=4, counts=(1, 1), licence="", classes=("a", "b"))
    table = sparse.csr_array(np.array([[0, 2, 0, 1], [3, 0, 0, 0]], dtype=np.int32))
    parts = {f"X_{part}": getattr(table, part) for part in ("data", "indices", "indptr")}
    data = built(entry, {**parts, "X_shape": np.array([2, 4]), "y": np.array([0, 1])}, "here")
    assert sparse.issparse(data.X)
    assert data.X.dtype == np.float64
    assert np.array_equal(data.X.toarray(), table.toarray())


def test_each_entry_of_the_catalogue_is_whole():
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert len(entry.classes) == len(entry.counts) == len(set(entry.classes))
        assert not entry.openml_labels or len(entry.openml_labels) == len(entry.classes)
        assert sum(entry.train_counts) < entry.n_rows
        assert not entry.instead or entry.instead in CATALOGUE
