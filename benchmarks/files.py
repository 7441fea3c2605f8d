"""Training on files against Vowpal Wabbit, end to end, and the memory it takes.

Run with `make bench`. MNIST's 60 000 training rows with three candidates each, as text, Parquet and
Vowpal Wabbit's cache; neither's process start is counted. Reading overlaps learning on two threads,
in both; Arrow decodes the columns of Parquet on as many threads as there are processors, as it does
unless it is told otherwise, and is measured with one of its own, too. `pip install vowpalwabbit`
gives the other side; without it these lines are left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import Table, ambiguous, load, run, seconds  # first: it keeps NumPy to one thread

import numpy as np
import pyarrow
from pyarrow import parquet
from scipy import sparse

from oneof.catalogue import LEARNERS
from oneof.cli import main as oneof_command
from oneof.writers import open_writer

CLASSES = "0,1,2,3,4,5,6,7,8,9"
LEARNER = "avg-pegasos"


def write_files(folder: Path) -> None:
    """Write the rows for both sides; values have four digits in every text."""
    X, y = load("mnist")
    X, y = sparse.csr_matrix(X[:60_000]), y[:60_000]
    Y = ambiguous(y, 3)
    words = [f"{v / 255:.4g}" for v in range(256)]
    codes = np.rint(X.data * 255).astype(int).tolist()
    indices, ends = X.indices.tolist(), X.indptr.tolist()
    with (folder / "rows.svm").open("w") as ours, (folder / "rows.vw").open("w") as theirs:
        for i, truth in enumerate(y.tolist()):
            at = range(ends[i], ends[i + 1])
            features = " ".join(f"{indices[j]}:{words[codes[j]]}" for j in at)
            candidates = Y.codes[3 * i : 3 * i + 3].tolist()
            labels = ",".join(map(str, candidates))
            costs = " ".join(f"{k + 1}:{int(k not in candidates)}" for k in range(10))
            ours.write(f"{labels} {features} # truth={truth}\n")
            theirs.write(f"{costs} | {features}\n")
    with open_writer(folder / "rows.parquet") as writer:
        writer.write(X, Y, y.astype(np.int32))
    write_as_by_default(folder / "rows.parquet", folder / "default.parquet")


def write_as_by_default(path: Path, copy: Path) -> None:
    """Write a table again as pyarrow and pandas do: lists that may hold nulls, Snappy."""
    columns = {}
    for name, column in zip((table := parquet.read_table(path)).column_names, table, strict=True):
        kind = column.type
        columns[name] = column.cast(pyarrow.list_(kind.value_type)) if name != "truth" else column
    parquet.write_table(pyarrow.table(columns), copy)


def command(*arguments) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        code = oneof_command([str(a) for a in arguments])
    assert code == 0, arguments


def train(path: Path, *options: str):
    out = path.with_suffix(".oneof")
    return lambda: command("train", path, "--classes", CLASSES, "-q", "-o", out, *options)


def with_arrow_threads(n: int, task):
    def run() -> None:
        pyarrow.set_cpu_count(n)
        task()

    return run


def wabbit(arguments: str):
    from vowpalwabbit import Workspace

    return lambda: Workspace(f"--csoaa 10 --quiet {arguments}").finish()


def against_vowpal_wabbit(table: Table) -> None:
    table.head("Against Vowpal Wabbit --csoaa 10, MNIST with 3 candidates, files end to end")
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        print("  left out: vowpalwabbit is not installed (pip install vowpalwabbit)")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        text, cache = f"-d {folder}/rows.vw", f"-d {folder}/rows.vw --cache_file {folder}/cache"
        wabbit(cache)()
        tasks = our_tasks(folder) | {"VW, text": wabbit(text), "VW, cache": wabbit(cache)}
        report(table, dict(zip(tasks, seconds(*tasks.values(), repeats=7), strict=True)))
        accuracy(table, folder)


def our_tasks(folder: Path) -> dict:
    model = ("--model", LEARNER)
    of_text, of_parquet = train(folder / "rows.svm", *model), train(folder / "rows.parquet", *model)
    n = os.cpu_count() or 1
    return {
        "text": of_text,
        "first pass": lambda: command("train", folder / "rows.svm", *model, "-q"),
        "Parquet": with_arrow_threads(n, of_parquet),
        "Parquet, one thread": with_arrow_threads(1, of_parquet),
        "Parquet, default": with_arrow_threads(n, train(folder / "default.parquet", *model)),
        "predict": lambda: command("predict", folder / "rows.svm", "-m", folder / "rows.oneof",
                                   "-o", folder / "p.csv"),
    }  # fmt: skip


def report(table: Table, taken: dict[str, float]) -> None:
    def against(other: str, what: str, ours: str, target: float | None = None) -> None:
        ratio, note = taken[other] / taken[ours], f"{taken[other]:.2f} s → {taken[ours]:.2f} s"
        if target is None:
            table.line(f"  {what}", "", f"{ratio:.1f} ×", True, note)
        else:
            table.at_least(what, target, ratio, note)

    against("VW, text", "oneof train, text, against its text", "text", 5)
    against("VW, text", "with a first pass for the classes", "first pass")
    against("VW, text", "oneof train, Parquet, against its text", "Parquet", 10)
    against("VW, text", "with one thread of Arrow's", "Parquet, one thread")
    against("VW, text", "written as pandas does", "Parquet, default")
    against("VW, cache", "oneof train, Parquet, against its cache", "Parquet", 5)
    ratio = taken["predict"] / taken["text"]
    table.at_most("oneof predict against oneof train, text", 1, ratio, f"{taken['predict']:.2f} s")


def accuracy(table: Table, folder: Path) -> None:
    """Compare progressive errors: every row predicted before it is learnt."""
    y = load("mnist")[1][:60_000]
    wabbit(f"-d {folder}/rows.vw -p {folder}/predictions")()
    predicted = np.loadtxt(folder / "predictions", dtype=int, usecols=0) - 1
    theirs = float(np.mean(predicted != y))
    errors = {}
    for name, kind in LEARNERS.items():
        averages = "average" in kind().get_params(deep=False)
        for options in ([], ["--average"])[: 1 + averages]:
            log = folder / "log"
            train(folder / "rows.svm", "--model", name, "--log", str(log), *options)()
            last = json.loads(log.read_text().splitlines()[-1])
            errors[" ".join([name, *options])] = last["n_errors"] / last["n_known"]
    best = min(errors, key=errors.__getitem__)
    for name, error in errors.items():
        print(f"    {name:<42} progressive error {error:.2%}")
    table.line(
        "progressive error of our best learner",
        f"≤ {theirs:.2%}",
        f"{errors[best]:.2%}",
        errors[best] <= theirs,
        best,
    )


MEASURED = """
import sys
from oneof.cli import main
import oneof.cli.app, oneof.cli.training

def megabytes(name):  # of this program alone, unlike what getrusage tells
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    return int(lines[name].split()[0]) >> 10

before = megabytes("VmRSS")
code = main(sys.argv[1:])
print("MB", before, megabytes("VmHWM"))
sys.exit(code)
"""


def memory(table: Table) -> None:
    table.head("Memory of training on a generated file of 2 GB, above the libraries' own")
    with tempfile.TemporaryDirectory() as name:
        path, part = Path(name, "rows.svm"), Path(name, "part.svm")
        rng = np.random.default_rng(0)
        lines = []
        for _ in range(20_000):
            places = np.sort(rng.choice(50_000, 75, replace=False)).tolist()
            values = rng.random(75).tolist()
            features = " ".join(f"{j}:{v:.4f}" for j, v in zip(places, values, strict=True))
            lines.append(f"{rng.integers(10)},{10 + rng.integers(10)} {features}\n")
        part.write_text("".join(lines))
        block = part.read_bytes()
        with path.open("wb") as file:
            while file.tell() < 2 << 30:
                file.write(block)
        model_megabytes = 50_001 * 32 * 4 / 2**20
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "train", str(path), "-q", "-o", f"{name}/m"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        _, before, after = done.stdout.splitlines()[-1].split()
        above = int(after) - int(before) - model_megabytes
        table.line(
            "2 GB of svmlight text, sparse",
            "≤ 150 MB",
            f"{above:.0f} MB",
            above <= 150,
            f"the libraries take {before} MB, the model {model_megabytes:.0f} MB",
        )


GROUPS = {"vw": against_vowpal_wabbit, "memory": memory}


if __name__ == "__main__":
    sys.exit(run(GROUPS))
