"""What is written is read back as it was, and appears whole or not at all."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import sparse

from oneof import CandidateSets
from oneof.readers import open_source
from oneof.writers import ROWS, open_table, open_writer
from reading import joined


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("writers")


@st.composite
def tables(draw):
    """Rows, sets of words or numbers, truth."""
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    width = 32 if dtype == np.float32 else 64
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    number = st.just(0.0) | st.floats(allow_nan=False, allow_infinity=False, width=width)
    X = np.array(draw(st.lists(number, min_size=n * d, max_size=n * d)), dtype).reshape(n, d)
    X[np.signbit(X) & (X == 0)] = 0  # sparse rows may lose the sign of zero
    labels = draw(st.sampled_from([["cat", "é-1", "b/c"], [-1, 3, 7]]))
    sets = st.sets(st.sampled_from(labels), min_size=1)
    Y = CandidateSets.from_sets([*(draw(sets) for _ in range(n)), set(labels)], labels)[:n]
    truth = np.array([draw(st.integers(-1, 2)) for _ in range(n)])
    return X, Y, truth if draw(st.booleans()) else None


@given(
    tables(),
    st.sampled_from(list(ROWS)),
    st.booleans(),
    st.sampled_from(["", ".gz", ".xz", ".zst"]),
)
def test_rows_are_read_back_as_they_were(folder, table, form, is_sparse, suffix):
    X, Y, truth = table
    is_text = form not in ("parquet", "arrow")
    path = folder / f"rows.{form}{suffix if is_text else ''}"
    names = None if form == "svmlight" else [f"n{j}" for j in range(X.shape[1])]
    with open_writer(path, feature_names=names) as writer:
        for part in (slice(0, 1), slice(1, None)):
            rows = sparse.csr_array(X[part]) if is_sparse else X[part]
            writer.write(rows, Y[part], None if truth is None else truth[part])
    named = {"n_features": X.shape[1]} if form == "svmlight" else {}
    if form == "jsonl":
        named = {"feature_names": names}
    if is_sparse and form in ("parquet", "arrow"):
        named = {"n_features": X.shape[1]}
    source = open_source(path, classes=Y.classes, dtype=X.dtype, prefetch=0, **named)
    found, sets, true = joined(source)
    np.testing.assert_array_equal(found, X)
    assert sets == list(Y)
    labels = [*Y.classes.tolist(), None]
    assert true == ([None] * len(X) if truth is None else [labels[code] for code in truth])


def test_lists_in_parquet_promise_that_they_hold_no_nulls(folder):
    path = folder / "promise.parquet"
    with open_writer(path) as writer:
        writer.write(sparse.eye_array(2).tocsr(), CandidateSets.from_labels(["a", "b"]))
    with parquet.ParquetFile(path) as file:
        kinds = {field.name: field.type.value_field for field in file.schema_arrow}
    assert [kind.nullable for kind in kinds.values()] == [False] * 3
    assert kinds["candidates"].type == "string"


@pytest.mark.parametrize(
    ("form", "label", "stands"),
    [("svmlight", "a b", "svmlight"), ("svmlight", "a,b", "svmlight"), ("csv", "a|b", "CSV")],
)
def test_a_label_that_the_format_cannot_hold_is_refused(folder, form, label, stands):
    path = folder / f"refused.{form}"
    with (
        pytest.raises(ValueError, match=f"the label .* cannot be written as {stands}"),
        open_writer(path, form) as writer,
    ):
        writer.write(np.eye(2), CandidateSets.from_labels([label, "c"]))
    assert not path.exists()


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv.gz", "rows.jsonl.zst", "rows.parquet"])
def test_a_failure_leaves_what_was_there(folder, name):
    path = folder / name
    path.write_bytes(b"what was there")
    writing = open_writer(path)
    writing.__enter__().write(np.eye(2), CandidateSets.from_labels(["a", "b"]))
    assert not writing.__exit__(RuntimeError, RuntimeError(), None)
    assert path.read_bytes() == b"what was there"
    assert [p for p in os.listdir(folder) if "partial" in p] == []


def test_a_full_disk_is_one_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full to stand for a full disk")
    Y = CandidateSets.from_labels(["a"] * 10_000)
    with pytest.raises(OSError, match="No space left"), open_writer("/dev/full", "csv") as writer:
        writer.write(np.ones((10_000, 2)), Y)


def test_tables_in_every_format(folder):
    columns = {"row": [0, 1], "label": ["a", 'say "x", b'], "score": np.array([0.5, 0.1], "f4")}
    for form in ("csv", "tsv", "jsonl"):
        with open_table(folder / f"t.{form}") as table:
            table.write(columns)
            table.write({name: column[:1] for name, column in columns.items()})
    text = 'row,label,score\n0,a,0.5\n1,"say ""x"", b",0.1\n0,a,0.5\n'
    assert (folder / "t.csv").read_text() == text
    assert (folder / "t.jsonl").read_text().splitlines()[1] == (
        '{"row": 1, "label": "say \\"x\\", b", "score": 0.1}'
    )
    from pyarrow import feather, parquet

    for form, read in (("parquet", parquet.read_table), ("arrow", feather.read_table)):
        with open_table(folder / f"t.{form}") as table:
            table.write(columns)
            table.write(columns)
        assert read(folder / f"t.{form}").to_pydict()["label"] == 2 * columns["label"]
    with pytest.raises(ValueError, match="the format is not named: choose one of"):
        open_table("rows").__enter__()
    with pytest.raises(ValueError, match="'svmlight' cannot be written: choose one of"):
        open_table("rows.svm").__enter__()


def test_standard_output():
    program = (
        "import numpy as np; from oneof import CandidateSets\n"
        "from oneof.writers import open_writer\n"
        "with open_writer('-', 'svmlight') as writer:\n"
        "    writer.write(np.eye(2, dtype='f4') / 10, CandidateSets.from_labels(['a', 'b']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"a 0:0.1\nb 1:0.1\n"
