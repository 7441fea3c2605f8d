"""The Parquet and Arrow readers: every layout of columns, every row that is bad, every position."""

import json
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet
from scipy import sparse

from oneof import _kernels
from oneof.readers import BadRow, InputError, open_source
from reading import joined


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arrow")


def write(folder, table, form, chunk=None):
    path = folder / f"rows.{form}"
    if form == "parquet":
        parquet.write_table(table, path, row_group_size=chunk)
    else:
        feather.write_feather(table, path, chunksize=chunk)
    return path


values = st.none() | st.floats(width=32) | st.sampled_from([0.0, 1.5])
indices = st.none() | st.integers(-1, 6) | st.just(2**31 - 1)
label_lists = st.none() | st.lists(st.sampled_from(["a", "b", "c", None]), max_size=3)
truths = st.none() | st.sampled_from(["a", "c"])


def is_finite(numbers):
    return all(v is not None and np.isfinite(v) for v in numbers)


def is_labelled(sets):
    return bool(sets) and None not in sets


@st.composite
def sparse_rows(draw):
    """Lists of indices and values, mostly good."""
    kind = draw(st.integers(0, 4))
    if kind:
        at = draw(st.lists(st.integers(0, 6), max_size=4, unique=kind > 1))
        at = at if kind == 2 else sorted(at)
        return at, [draw(st.floats(-9, 9, width=32)) for _ in at]
    return draw(st.lists(indices, max_size=3)), draw(st.lists(values, max_size=3))


def good_sparse(at, v, n_features):
    return (
        len(at) == len(v)
        and None not in at
        and all(0 <= i < n_features for i in at)
        and all(a < b for a, b in pairwise(at))
        and is_finite(v)
    )


forms = st.sampled_from(["parquet", "feather"])
sizes = st.integers(1, 5)


@given(
    st.lists(st.tuples(sparse_rows(), label_lists, truths), max_size=12),
    forms,
    sizes,
    sizes,
    st.sampled_from([pa.int32(), pa.int64()]),
    st.sampled_from([pa.string(), pa.large_string()]),
    st.booleans(),
)
def test_sparse_rows_good_and_bad(folder, rows, form, batch_rows, chunk, index, word, is_declared):
    table = pa.table(
        {
            "indices": pa.array([at for (at, _), _, _ in rows], pa.list_(index)),
            "values": pa.array([v for (_, v), _, _ in rows], pa.list_(pa.float32())),
            "candidates": pa.array([sets for _, sets, _ in rows], pa.list_(word)),
            "truth": pa.array([truth for _, _, truth in rows], word),
        }
    )
    limit = 7 if is_declared else 2**31 - 1
    good = [row for row in rows if good_sparse(*row[0], limit) and is_labelled(row[1])]
    options = {"n_features": 7} if is_declared else {}
    source = open_source(
        write(folder, table, form, chunk),
        classes=["c", "a", "b"],
        on_bad_row="skip",
        rejects=folder / "rejects",
        batch_rows=batch_rows,
        prefetch=0,
        **options,
    )
    batches = list(source)
    assert (source.n_rows_read, source.n_skipped) == (len(good), len(rows) - len(good))
    kept_lines = (folder / "rejects").read_text().splitlines()
    kept = [json.loads(line)["line"] - 1 for line in kept_lines]
    assert [row for i, row in enumerate(rows) if i not in kept] == good
    found = [pair for batch in batches for pair in features_of(batch)]
    assert found == [dict(zip(*row[0], strict=True)) for row in good]
    assert [s for b in batches for s in b.candidates] == [set(row[1]) for row in good]
    names = np.array([*source.classes.tolist(), None], dtype=object)
    codes = [b.truth if b.truth is not None else np.full(len(b), -1) for b in batches]
    assert [names[c] for part in codes for c in part] == [row[2] for row in good]


def features_of(batch):
    X = batch.X
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        yield dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))


@given(
    st.lists(st.tuples(values, st.none() | st.integers(-9, 9), label_lists), max_size=9),
    forms,
    sizes,
    sizes,
)
def test_numeric_columns_good_and_bad(folder, rows, form, batch_rows, chunk):
    table = pa.table(
        {
            "u": pa.array([row[0] for row in rows], pa.float32()),
            "v": pa.array([row[1] for row in rows], pa.int16()),
            "candidates": pa.array([row[2] for row in rows], pa.list_(pa.string())),
        }
    )
    good = [row for row in rows if is_finite(row[:2]) and is_labelled(row[2])]
    path = write(folder, table, form, chunk)
    read = {"on_bad_row": "skip", "batch_rows": batch_rows, "prefetch": 0}
    if not good:
        with pytest.raises(InputError, match=r"no good row|there are no rows"):
            open_source(path, **read)
        return
    source = open_source(path, **read)
    X, sets, _ = joined(source)
    assert X.tolist() == [list(row[:2]) for row in good]
    assert sets == [set(row[2]) for row in good]
    assert source.classes.tolist() == sorted({w for row in good for w in row[2]})
    assert source.feature_names == ["u", "v"]
    assert source.n_skipped == len(rows) - len(good)


ROWS = 50
SPARSE = pa.table(
    {
        "indices": pa.array([[i % 4, 4 + i % 3] for i in range(ROWS)], pa.list_(pa.int32())),
        "values": pa.array([[float(i), 1.0] for i in range(ROWS)], pa.list_(pa.float32())),
        "candidates": pa.array([[i % 3, 3 + i % 2] for i in range(ROWS)], pa.list_(pa.int8())),
        "truth": pa.array([i % 3 for i in range(ROWS)], pa.uint8()),
    }
)


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("chunk", [7, 50])
def test_every_position_continues_with_the_same_rows(folder, form, chunk):
    path = write(folder, SPARSE, form, chunk)
    source = open_source([path, path], batch_rows=4)
    whole = joined(source)
    assert whole[2] == 2 * [i % 3 for i in range(ROWS)]
    assert source.tell() == source.size
    read = 0
    for batch in open_source([path, path], batch_rows=4):
        read += len(batch)
        source.seek(json.loads(json.dumps(batch.position)))
        rest = joined(source)
        np.testing.assert_array_equal(rest[0], whole[0][read:])
        assert rest[1:] == (whole[1][read:], whole[2][read:])
        assert source.n_rows_read == 2 * ROWS


def test_values_of_the_right_type_are_not_copied(folder):
    (batch,) = open_source(write(folder, SPARSE, "parquet"), classes=range(5), n_features=7)
    assert isinstance(batch.X, sparse.csr_array)
    for array in (batch.X.data, batch.X.indices):
        assert not array.flags.owndata
        assert not array.flags.writeable


def test_indices_beyond_those_declared_can_be_left_out(folder):
    path = write(folder, SPARSE, "parquet")
    (batch,) = open_source(path, n_features=5, new_features="ignore")
    assert batch.X.toarray()[:3].tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 2, 0, 0]]
    with pytest.raises(BadRow, match="parquet:2: an index is beyond the 5 features"):
        open_source(path, n_features=5)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([None, np.nan, np.inf, -np.inf, "negative", "same", "falling", "large"]),
    st.integers(0, 99),
)
def test_one_fault_among_many_values_is_found(sizes, dtype, fault, seed):
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(sizes)).astype(np.int32)
    rows = [np.sort(rng.choice(50, n, replace=False)) for n in sizes]
    indices = np.concatenate(rows).astype(np.int32)
    values = rng.normal(size=indices.size).astype(dtype)
    width, i = int(indices.max(initial=-1)) + 1, int(rng.integers(max(1, *sizes)))
    row = int(indptr[np.argmax(sizes)])
    if fault is None or max(sizes) < 2:
        assert _kernels.sparse_width(values, indices, indptr, 50) == width
        return
    if isinstance(fault, float):
        values[row + i] = fault
    elif fault == "negative":
        indices[row] = -1
    elif fault == "large":
        indices[row + max(sizes) - 1] = 50
    else:
        i = max(i, 1)
        indices[row + i] = indices[row + i - 1] - (fault == "falling")
    assert _kernels.sparse_width(values, indices, indptr, 50) < 0


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64()])
def test_an_index_that_no_column_can_have_makes_a_bad_row(folder, kind):
    table = pa.table(
        {
            "indices": pa.array([[2**31 - 1], [1], [0], []], pa.list_(kind)),
            "values": pa.array([[1.0], [2.0], [3.0], []], pa.list_(pa.float32())),
            "candidates": [["a"]] * 4,
        }
    )
    path = write(folder, table, "parquet")
    for n_features, is_good in ((None, [1, 2, 3]), (1, [2, 3]), (0, [3])):
        source = open_source(path, classes=["a"], on_bad_row="skip", n_features=n_features)
        (batch,) = source
        assert source.n_skipped == 4 - len(is_good)
        assert batch.X.shape == (len(is_good), 2 if n_features is None else n_features)
        assert batch.X.data.tolist() == [[0.0, 2.0, 3.0][i] for i in is_good if i < 3]


def test_a_column_of_lists_is_dense_rows(folder):
    for kind in (pa.list_(pa.float64()), pa.list_(pa.float64(), 2)):
        rows = pa.array([[1, 2], None, [3, 4], [5, None]], kind)
        table = pa.table({"x": rows, "candidates": pa.array(["a", "b", "b", "a"])})
        source = open_source(write(folder, table, "parquet"), on_bad_row="skip")
        X, sets, _ = joined(source)
        assert (X.tolist(), sets) == ([[1, 2], [3, 4]], [{"a"}, {"b"}])
        assert source.n_skipped == 2


def test_columns_are_matched_by_name_and_labels_may_be_dictionaries(folder):
    table = pa.table(
        {
            "v": [1, 2],
            "label": pa.array(["a", "b"]).dictionary_encode(),
            "id": ["x", "y"],
            "u": [True, False],
        }
    )
    path = write(folder, table, "feather")
    ours = {"label_column": "label", "ignore_columns": ["id"]}
    source = open_source(path, feature_names=["u", "v"], **ours)
    X, sets, _ = joined(source)
    assert (X.tolist(), sets) == ([[1, 1], [0, 2]], [{"a"}, {"b"}])
    assert joined(open_source(path, labelled=False, **ours))[1] == [None, None]
    with pytest.raises(InputError, match="has 2 columns of features, where 3 are expected"):
        open_source(path, n_features=3, **ours)
    with pytest.raises(InputError, match="no column 'w', which is a feature"):
        open_source(path, feature_names=["w"], **ours)
    with pytest.raises(InputError, match="the column 'u' is not one of the 1 features"):
        open_source(path, feature_names=["v"], **ours)
    with pytest.raises(InputError, match="the column 'id' holds string, not numbers"):
        open_source(path, label_column="label")
    with pytest.raises(InputError, match="has no column 'candidates', only v, label, id, u"):
        open_source(path)
    with pytest.raises(InputError, match="its labels are strings, but the classes are integers"):
        list(open_source(path, classes=[1, 2], **ours))


def test_what_cannot_be_read_is_one_sentence(folder):
    path = folder / "broken.parquet"
    whole = write(folder, SPARSE, "parquet").read_bytes()
    for data in (b"", b"PAR1", whole[: len(whole) // 2], whole[:40] + b"\xff" * 60 + whole[100:]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"broken\.parquet.*cannot be read: ") as refused:
            list(open_source(path, classes=range(5)))
        assert "\n" not in str(refused.value)
    with pytest.raises(BadRow, match=r"rows\.parquet:2: the label 4 is not among the 4 classes"):
        list(open_source(write(folder, SPARSE, "parquet"), classes=range(4)))


def test_the_extra_that_is_missing_is_named_with_its_command(folder, monkeypatch):
    path = write(folder, SPARSE, "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'oneof\[parquet\]'"):
        open_source(path)
