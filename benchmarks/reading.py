"""The speed of the readers as ratios, measured in one process with interleaved repeats.

Run with `make bench`. The rows are 20 000 of MNIST with candidate sets of 3. One thread reads and
parses, and the processor's time counts, but where two threads are measured.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from common import (
    Table,
    ambiguous,
    cpu_seconds,
    load,
    run,
    seconds,
)  # first: one thread only

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import oneof
from oneof.readers import open_source
from oneof.writers import open_writer

N = 20_000
CLASSES = np.arange(10)


def rows():
    X, y = load("mnist")
    return sparse.csr_array(X[:N]), ambiguous(y[:N], 3)


def read(path: Path, **options):
    """Read a file from its beginning to its end, and drop it."""

    def task() -> None:
        source = open_source(path, classes=CLASSES, n_features=784, prefetch=0, **options)
        assert sum(map(len, source)) == N

    return task


def raw(path: Path):
    """Read the bytes alone, in blocks of the readers' size."""
    buffer = bytearray(1 << 18)

    def task() -> None:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    return task


def rate(path: Path, taken: float) -> str:
    return f"{path.stat().st_size / taken / 1e6:.0f} MB/s"


def svmlight(table: Table) -> None:
    table.head("svmlight text of MNIST, against scikit-learn's load_svmlight_file and a bare read")
    X, Y = rows()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mnist.svm"
        with open_writer(path) as writer:
            writer.write(X, Y)
        theirs, bare, ours = cpu_seconds(
            lambda: load_svmlight_file(str(path), multilabel=True, dtype=np.float32),
            raw(path),
            read(path),
            repeats=5,
        )
        table.at_least("faster than load_svmlight_file", 10, theirs / ours, rate(path, ours))
        table.at_most("time over that of reading the bytes", 60, ours / bare, rate(path, bare))


def formats(table: Table) -> None:
    table.head("The other formats, against svmlight text of the same rows")
    X, Y = rows()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"mnist.{form}" for form in ("svm", "parquet", "arrow", "svm.gz")]
        for path in paths:
            with open_writer(path) as writer:
                for start in range(0, N, 5000):
                    part = slice(start, start + 5000)
                    writer.write(X[part], Y[part])
        text, parquet, arrow, gz = cpu_seconds(*map(read, paths), repeats=5)
        table.at_most(
            "Parquet, whose decoder is not ours, takes",
            1.25,
            parquet / text,
            rate(paths[1], parquet),
        )
        table.at_least("Arrow is faster by", 5, text / arrow, rate(paths[2], arrow))
        table.at_most("gzip takes longer by", 8, gz / text, rate(paths[3], gz))


def dense_csv(table: Table) -> None:
    table.head("CSV, against pandas.read_csv and its split of the candidates, 784 columns")
    import pandas

    X, Y = rows()
    X, Y = X[:4000].toarray(), Y[:4000]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mnist.csv"
        with open_writer(path) as writer:
            writer.write(X, Y)

        def theirs() -> None:
            frame = pandas.read_csv(path)
            frame["candidates"].str.split("|")
            frame.drop(columns="candidates").to_numpy(np.float32)

        def ours() -> None:
            assert sum(map(len, open_source(path, classes=CLASSES, prefetch=0))) == len(X)

        pandas_time, our_time = cpu_seconds(theirs, ours, repeats=5)
        table.at_least("faster than pandas", 1.5, pandas_time / our_time, rate(path, our_time))


def overlap(table: Table) -> None:
    table.head("Reading and learning together, AvgPegasos: two threads against one")
    X, Y = rows()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mnist.svm"
        with open_writer(path) as writer:
            writer.write(X, Y)

        def learn(prefetch: int) -> None:
            model = oneof.AvgPegasos()
            source = open_source(path, classes=CLASSES, n_features=784, prefetch=prefetch)
            for batch in source:
                model.partial_fit(batch.X, batch.candidates)

        one, two = seconds(lambda: learn(0), lambda: learn(2), repeats=7)
        table.at_most("time over that of one thread", 1, two / one, f"{1e6 * two / N:.2f} µs a row")


GROUPS = {"svmlight": svmlight, "formats": formats, "csv": dense_csv, "overlap": overlap}


if __name__ == "__main__":
    sys.exit(run(GROUPS))
