"""Candidate sets: every form in which they arrive, every outcome, and slicing."""

import copy
import pickle
from collections import Counter
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
    check_cv,
    train_test_split,
)
from sklearn.utils import _safe_indexing, indexable, resample, shuffle

from oneof.candidates import CandidateSets, candidate_sets

from_sets = CandidateSets.from_sets


@st.composite
def vocabularies(draw):
    integers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)
    strings = st.text(max_size=3).filter(lambda s: not s.endswith("\0"))
    return draw(st.lists(draw(st.sampled_from([integers, strings])), min_size=1, unique=True))


@st.composite
def tables(draw, min_rows=0):
    """Draw a vocabulary in any order, and rows of its labels with repetitions."""
    classes = draw(vocabularies())
    row = st.lists(st.sampled_from(classes), min_size=1, max_size=6)
    return classes, draw(st.lists(row, min_size=min_rows, max_size=8))


def keys(row):
    return dict.fromkeys(row).keys()


def sound(Y):
    """Assert what every kernel relies on, and return the sets as a list."""
    assert (Y.indptr.dtype, Y.codes.dtype) == (np.int64, np.int32)
    assert Y.indptr[0] == 0
    assert Y.indptr[-1] == Y.codes.size
    for array in (Y.classes, Y.indptr, Y.codes):
        assert not array.flags.writeable
        assert array.flags.c_contiguous
    for start, stop in zip(Y.indptr[:-1], Y.indptr[1:], strict=True):
        row = Y.codes[start:stop]
        assert row.size
        assert np.all(np.diff(row) > 0)
        assert row[0] >= 0
        assert row[-1] < Y.classes.size
    return list(Y)


@given(tables(), st.sampled_from([list, set, frozenset, tuple, np.array, pd.Series, keys]))
def test_sets_of_every_kind_of_collection(table, collection):
    classes, rows = table
    parts = [collection(row) for row in rows]
    Y = from_sets(parts, classes)
    assert Y.classes.tolist() == classes
    assert sound(Y) == [set(row) for row in rows]
    assert Y.sizes().tolist() == [len(set(row)) for row in rows]


@given(tables(min_rows=1))
def test_without_classes_the_vocabulary_is_what_occurs_sorted(table):
    _, rows = table
    Y = from_sets(rows)
    assert Y.classes.tolist() == sorted({label for row in rows for label in row})
    assert sound(Y) == [set(row) for row in rows]


def test_rows_come_from_any_sequence_and_a_bare_label_is_a_singleton():
    expected = [{"cat", "dog"}, {"dog"}]
    rows = [{"cat", "dog"}, "dog"]
    for sequence in (rows, tuple(rows), iter(rows), pd.Series(rows, index=[7, 3])):
        assert sound(from_sets(sequence)) == expected
    assert sound(from_sets(np.array([[1, 2], [2, 2]]))) == [{1, 2}, {2}]
    assert sound(from_sets([np.int8(1), np.array(2), range(3)])) == [{1}, {2}, {0, 1, 2}]
    assert sound(from_sets(["dog"])) == [{"dog"}]


SETS = {
    "empty set": ([{1}, set(), [], {1}], r"^row 1 has no candidate \(2 such rows\)"),
    "unknown label": ([{"a"}, {"b", "c"}], "^row 1: label 'c' is not among the 2 classes"),
    "None in a set": ([{"a"}, ["a", None]], "^Input y contains NaN: row 1 "),
    "None as a set": ([["a"], None], "^Input y contains NaN: row 1 "),
    "NaN in a set": ([[1.0], [1.0, np.nan]], "^Input y contains NaN: row 1 "),
    "mixed in a row": ([["a"], ["a", 1]], "^row 1: label 1 is a number, but row 0 has the string"),
    "mixed over rows": ([[1], [2], ["b"]], "^row 2: label 'b' is a string, but row 0 has the num"),
    "fraction": ([[0, 1], [0.5]], "^Unknown label type: continuous: row 1 holds 0.5"),
    "set in a set": ([["a"], ["a", {"b"}]], "^row 1: {'b'} is not a label"),
    "mapping as a set": ([["a"], {"a": 0.5}], "^row 1: {'a': 0.5} is a mapping"),
    "table as a set": ([["a"], np.eye(2)], "^row 1: an array of labels has one dimension, not 2"),
    "a set of rows": ({"a", "b"}, "^candidate sets come as a sequence"),
    "a mapping of rows": ({0: ["a"]}, "^candidate sets come as a sequence"),
    "one string": ("ab", "^candidate sets come as a sequence .* not as 'ab'"),
    "a number": (3, "^candidate sets come as a sequence .* not as 3"),
    "no rows at all": (np.array(3), "^candidate sets come as a sequence, not as an array without"),
    "a DataFrame": (pd.DataFrame({"a": [1]}), "^candidate sets come as a sequence"),
}


@pytest.mark.parametrize("case", SETS)
def test_sets_refuse_in_one_sentence(case):
    sets, sentence = SETS[case]
    with pytest.raises(ValueError, match=sentence) as refused:
        from_sets(sets, ["a", "b"] if case == "unknown label" else None)
    assert "\n" not in str(refused.value) or case == "a DataFrame"


@given(tables(min_rows=1), st.data())
def test_a_label_outside_the_classes_is_refused_and_its_first_row_named(table, data):
    classes, rows = table
    outside = data.draw(st.sampled_from([label for row in rows for label in row]))
    kept = [label for label in classes if label != outside]
    assume(kept)
    first = next(i for i, row in enumerate(rows) if outside in row)
    with pytest.raises(ValueError, match=rf"^row {first}: label .* is not among the {len(kept)}"):
        from_sets(rows, kept)


def test_no_rows_need_classes():
    with pytest.raises(ValueError, match=r"^there are no rows to learn the classes from"):
        from_sets([])
    with pytest.raises(ValueError, match=r"^there are no rows to learn the classes from"):
        CandidateSets.from_labels([])
    for Y in (from_sets([], ["ab"]), CandidateSets.from_labels(np.empty(0), ["ab"])):
        assert sound(Y) == []
        assert Y.shape == (0,)
        assert repr(Y) == "CandidateSets(0 rows, 1 classes)"
        assert np.isnan(Y.describe()["mean_size"])
        assert Y.to_indicator().shape == Y.to_indicator(sparse=True).shape == (0, 1)


@given(tables())
def test_sets_to_indicator_and_back(table):
    classes, rows = table
    Y = from_sets(rows, classes)
    table = Y.to_indicator()
    assert table.dtype == np.uint8
    assert table.tolist() == [[int(label in row) for label in classes] for row in rows]
    thin = Y.to_indicator(sparse=True)
    assert isinstance(thin, sparse.csr_array)
    np.testing.assert_array_equal(thin.toarray(), table)
    forms = [table, table.astype(bool), table.astype(float), np.asfortranarray(table)]
    forms += [table.astype(object), pd.DataFrame(table, columns=classes)]
    forms += [kind(table) for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array)]
    for form in [*forms, thin, *([table.tolist()] if rows else [])]:
        again = CandidateSets.from_indicator(form, classes)
        sound(again)
        assert again == Y


def test_the_sparse_indicator_shares_no_memory():
    Y = from_sets([[0, 1], [1]])
    thin = Y.to_indicator(sparse=True)
    thin.data[:] = 0
    thin.indices[:] = 0
    thin.eliminate_zeros()
    assert list(Y) == [{0, 1}, {1}]


def test_sparse_indicators_may_be_unsorted_and_store_zeros():
    Y = sparse.csr_array(
        (np.array([1, 1, 0, 1]), np.array([2, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    before = Y.copy()
    assert sound(CandidateSets.from_indicator(Y)) == [{0, 2}, {1}]
    np.testing.assert_array_equal(Y.indices, before.indices)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([[1, 0], [0, 0]], r"^row 1 has no candidate \(1 such rows\)"),
        (sparse.csr_array([[1, 0], [0, 0]]), "^row 1 has no candidate"),
        ([[1, 0], [1, 2]], "^row 1, column 1: an indicator holds 0 and 1 only, not 2"),
        (sparse.csr_array([[1, 0], [1, 2]]), "^row 1, column 1: .* not 2"),
        (sparse.coo_array(([1, 1], ([0, 0], [1, 1])), (1, 2)), "^row 0, column 1: .* not 2"),
        (sparse.csr_array(([1, 1], [1, 1], [0, 2]), (1, 2)), "^row 0, column 1: .* not 2"),
        (np.array([[1, 0], [np.nan, 1]]), "^row 1, column 0: .* not nan"),
        (np.array([[1, 0], [None, 1]]), "^row 1, column 0: .* not nan"),
        (np.array([[0.5, 1]]), "^row 0, column 0: .* not 0.5"),
        (np.array([[1, -1]]), "^row 0, column 1: .* not -1"),
        (np.array([["1", "0"]]), "^row 0, column 0: .* not '1'"),
        (pd.DataFrame({"a": [1], "b": [pd.NA]}), "^row 0, column 1: .* not nan"),
        ([[1, 0], [1]], "^an indicator's rows must all have one entry per class"),
        ([1, 0], r"^an indicator has shape \(n, n_classes\), one row per set, not \(2,\)"),
        (np.ones((1, 1, 1)), r"^an indicator has shape .* not \(1, 1, 1\)"),
        (np.ones((2, 0)), "^there are no rows to learn the classes from"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), r"^columns\[1\] repeats 'a'"),
        (pd.DataFrame([[1, 0]], columns=["a", 1]), r"^columns\[1\]: label 1 is a number"),
    ],
)
def test_indicators_refuse_in_one_sentence(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        CandidateSets.from_indicator(table)


def test_an_indicator_has_one_column_per_class():
    assert CandidateSets.from_indicator([[1, 0, 1]]).classes.tolist() == [0, 1, 2]
    assert CandidateSets.from_indicator(np.empty((0, 3))).classes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^the indicator has 2 columns, but there are 3 classes"):
        CandidateSets.from_indicator([[1, 0]], ["a", "b", "c"])


def test_a_dataframe_is_matched_by_name_and_else_by_position():
    table = pd.DataFrame({"b": [1, 0], "a": [1, 1]}, index=[9, 4])
    assert CandidateSets.from_indicator(table).classes.tolist() == ["b", "a"]
    Y = CandidateSets.from_indicator(table, ["a", "b", "c"])
    assert (Y.classes.tolist(), sound(Y)) == (["a", "b", "c"], [{"a", "b"}, {"a"}])
    assert list(CandidateSets.from_indicator(table, ["x", "y"])) == [{"x", "y"}, {"y"}]
    with pytest.raises(ValueError, match=r"^column 0: label 'b' is not among the 2 classes"):
        CandidateSets.from_indicator(table, ["a", "c"])
    nameless = pd.DataFrame([[1, 0, 1]])
    assert list(CandidateSets.from_indicator(nameless, [1, 2, 3])) == [{1, 3}]
    assert list(CandidateSets.from_indicator(nameless, [2, 0, 1])) == [{2, 1}]
    assert list(CandidateSets.from_indicator(pd.DataFrame([[1, 0]], columns=[7, 5]))) == [{7}]
    mixed = pd.DataFrame({"a": [True, False], "b": [0, 1]})
    assert list(CandidateSets.from_indicator(mixed)) == [{"a"}, {"b"}]


@given(tables())
def test_labels_are_singletons(table):
    classes, rows = table
    labels = [row[0] for row in rows]
    for form in (labels, tuple(labels), pd.Series(labels, dtype=object, index=labels)):
        Y = CandidateSets.from_labels(form, classes)
        assert sound(Y) == [{label} for label in labels]
        assert from_sets(labels, classes) == Y


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.array([1.0, np.nan]), "^Input y contains NaN: row 1 "),
        (["a", "c"], "^row 1: label 'c' is not among the 2 classes"),
        ([0, 1], r"^row 0: label 0 is not among the 2 classes \['a', 'b'\]"),
        (["a", ["b"]], r"^y\[1\] is \['b'\]: y takes one label per entry"),
        ([["a"]], r"^y\[0\] is \['a'\]: y takes one label per entry"),
        (np.array([["a"]]), r"^y must be one-dimensional, .* not of shape \(1, 1\)"),
        ("ab", "^y must be an array or a list of labels, not 'ab'"),
        (None, "^y must be an array or a list of labels, not None"),
    ],
)
def test_labels_refuse_in_one_sentence(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        CandidateSets.from_labels(y, ["a", "b"])


@given(tables(min_rows=1), st.integers(1, 3), st.booleans(), st.data())
def test_annotations_count_votes(table, min_votes, is_named, data):
    classes, rows = table
    pairs = [
        (f"item {i}" if is_named else 7 * i, label) for i, row in enumerate(rows) for label in row
    ]
    pairs = data.draw(st.permutations(pairs))
    items, labels = (list(column) for column in zip(*pairs, strict=True))
    order = [f"item {i}" if is_named else 7 * i for i in reversed(range(len(rows)))]
    expected = [{k for k, n in Counter(row).items() if n >= min_votes} for row in reversed(rows)]

    def made(**options):
        return CandidateSets.from_annotations(items, labels, min_votes, classes, **options)

    if not all(expected):
        row = expected.index(set())
        with pytest.raises(ValueError, match=f"^row {row}: item {order[row]!r} has no label with "):
            made(order=order)
        return
    Y = made(order=order)
    assert Y.classes.tolist() == classes
    assert sound(Y) == expected
    sorted_rows = sorted(range(len(order)), key=order.__getitem__)
    assert made() == Y[sorted_rows]
    assert sound(made(order=order[:1])) == expected[:1]
    assert sound(made(order=[])) == []


def test_annotations_keep_the_labels_that_no_item_keeps():
    Y = CandidateSets.from_annotations([1, 1, 1], ["b", "b", "a"], min_votes=2)
    assert (Y.classes.tolist(), list(Y)) == (["a", "b"], [{"b"}])


ANNOTATIONS = {
    "lengths": (([1, 2], ["a"]), {}, "^there are 2 items but 1 labels"),
    "no answers": (([], []), {}, "^there are no rows to learn the classes from"),
    "votes": (([1], ["a"]), {"min_votes": 0}, "^min_votes must be an integer of at least 1, not 0"),
    "half a vote": (([1], ["a"]), {"min_votes": 1.5}, "^min_votes must be an integer .* not 1.5"),
    "too few votes": (
        ([1, 2, 2, 3], ["a", "a", "a", "a"]),
        {"min_votes": 2},
        r"^row 0: item 1 has no label with min_votes=2 or more votes \(2 such items\)",
    ),
    "no answer to an item": (([1], ["a"]), {"order": [1, 5]}, "^row 1: item 5 has no label with"),
    "repeated order": (([1], ["a"]), {"order": [1, 1]}, r"^order\[1\] repeats 1, which is order"),
    "unknown label": (
        ([1, 1], ["a", "z"]),
        {"classes": ["a", "b"]},
        "^annotation 1: label 'z' is not among the 2 classes",
    ),
    "missing label": (
        ([1, 1], ["a", None]),
        {},
        "^Input y contains NaN: annotation 1 has no label",
    ),
    "missing item": (([1, np.nan], ["a", "a"]), {}, "^Input items contains NaN: annotation 1 "),
    "mixed items": (([1, "x"], ["a", "a"]), {}, "^annotation 1: label 'x' is a string"),
    "mixed labels": (([1, 1], ["a", 1]), {}, "^annotation 1: label 1 is a number"),
    "table": ((np.ones((1, 2)), ["a"]), {}, "^items must be one-dimensional"),
}


@pytest.mark.parametrize("case", ANNOTATIONS)
def test_annotations_refuse_in_one_sentence(case):
    columns, options, sentence = ANNOTATIONS[case]
    with pytest.raises(ValueError, match=sentence):
        CandidateSets.from_annotations(*columns, **options)


def test_annotations_of_nothing_with_classes():
    assert len(CandidateSets.from_annotations([], [], classes=["a"])) == 0


@given(tables(min_rows=1), st.data())
def test_an_annotator_matrix_is_the_sets_of_its_rows(table, data):
    classes, rows = table
    width = max(map(len, rows)) + 1
    gap = "?" if isinstance(classes[0], str) else -1
    while gap in classes:
        gap = gap + gap[:1] if isinstance(gap, str) else gap - 1
    gaps = st.sampled_from([gap, None, float("nan")])
    wide = [
        data.draw(st.permutations(row + [data.draw(gaps) for _ in range(width - len(row))]))
        for row in rows
    ]
    for form in (wide, np.array(wide, dtype=object)):
        Y = CandidateSets.from_annotator_matrix(form, missing=gap, classes=classes)
        assert sound(Y) == [set(row) for row in rows]


def test_an_annotator_matrix_of_each_dtype():
    made = CandidateSets.from_annotator_matrix
    expected = [{0, 1}, {2}]
    wide = np.array([[0, -1, 1], [2, 2, -1]])
    for form in (wide, wide.astype(np.int8), wide.astype(float), wide.tolist(), pd.DataFrame(wide)):
        Y = made(form)
        assert sound(Y) == expected
        assert Y.classes.dtype == np.int64
    gaps = np.where(wide < 0, np.nan, wide)
    assert sound(made(gaps)) == sound(made(pd.DataFrame(gaps))) == expected
    assert sound(made(np.where(wide < 0, 9, wide), missing=9)) == expected
    assert sound(made(pd.DataFrame({"ann": ["a", None], "bob": ["b", "b"]}))) == [{"a", "b"}, {"b"}]
    assert sound(made(np.array([["a", ""], ["b", "a"]]), missing="")) == [{"a"}, {"a", "b"}]


@pytest.mark.parametrize(
    ("wide", "sentence"),
    [
        ([[0, 1], [-1, -1]], r"^row 1 has no candidate \(1 such rows\)"),
        ([[0, None], [1, 0.5]], "^Unknown label type: continuous: row 1 holds 0.5"),
        (np.array([[0.0, np.nan], [1.0, np.inf]]), "^Input y contains infinity .*: row 1 "),
        ([["a", None], ["b", 1]], "^row 1: label 1 is a number, but row 0 has the string 'a'"),
        ([["a", "?"], ["z", "a"]], "^row 1: label 'z' is not among the 2 classes"),
        ([0, 1], r"^Y must have shape \(n, n_annotators\), not \(2,\)"),
        ([[0, 1], [1]], r"^Y must have shape \(n, n_annotators\), not \(2,\)"),
    ],
)
def test_annotator_matrices_refuse_in_one_sentence(wide, sentence):
    classes = ["a", "b"] if "classes" in sentence else None
    missing = "?" if classes else -1
    with pytest.raises(ValueError, match=sentence):
        CandidateSets.from_annotator_matrix(wide, missing, classes)


@pytest.mark.parametrize(
    ("classes", "indptr", "codes", "sentence"),
    [
        ([0, 1], [0, 1], [2], "^codes must lie between 0 and 1"),
        ([0, 1], [0, 1], [-1], "^codes must lie between 0 and 1"),
        ([0, 1], [0, 2], [1, 0], "^codes must be strictly increasing within each row"),
        ([0, 1], [0, 2], [1, 1], "^codes must be strictly increasing within each row"),
        ([0, 1], [0, 1], [0, 1], "^indptr must rise from 0 to the number of codes"),
        ([0, 1], [1, 2], [0, 1], "^indptr must rise from 0"),
        ([0, 1], [0, 2, 1, 2], [0, 1], "^indptr must rise from 0"),
        ([0, 1], [], [], "^indptr must rise from 0"),
        ([0, 1], [0, 1, 1], [0], "^row 1 has no candidate"),
        ([0, 1], [0, 1], [0.5], "^codes must be a one-dimensional array of integers"),
        ([0, 1], [[0, 1]], [0], "^indptr must be a one-dimensional array of integers"),
        ([0, 0], [0, 1], [0], r"^classes\[1\] repeats 0"),
    ],
)
def test_packed_arrays_are_checked(classes, indptr, codes, sentence):
    with pytest.raises(ValueError, match=sentence):
        CandidateSets(classes, indptr, codes)


def test_packed_arrays_are_copied_and_read_only():
    given = np.array([3, 1]), np.array([0, 1, 3]), np.array([1, 0, 1])
    Y = CandidateSets(*given)
    for array in given:
        array[:] = 0
    assert sound(Y) == [{1}, {1, 3}]
    assert CandidateSets([3, 1], [0, 1, 3], [1, 0, 1]) == Y
    for array in (Y.classes, Y.indptr, Y.codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    vocabulary = np.array([3, 1])
    Y = from_sets([[1]], vocabulary)
    vocabulary[:] = 7
    assert Y.classes.tolist() == [3, 1]


@given(tables())
def test_copies_and_pickles_are_equal(table):
    classes, rows = table
    Y = from_sets(rows, classes)
    for again in (pickle.loads(pickle.dumps(Y)), copy.deepcopy(Y), copy.copy(Y)):
        assert again == Y
        assert sound(again) == list(Y)


def test_equality_is_of_the_vocabulary_and_of_the_sets():
    Y = from_sets([[0], [0, 1]])
    assert from_sets(({0}, [1, 0])) == Y
    assert from_sets([[0], [1]]) != Y
    assert from_sets([[0], [0, 1]], [1, 0]) != Y
    assert from_sets([[0], [0, 1]], [0, 1, 2]) != Y
    assert [{0}, {0, 1}] != Y
    with pytest.raises(TypeError, match="unhashable"):
        hash(Y)


def test_as_an_array_it_holds_frozen_sets_and_comes_back():
    Y = from_sets([["a"], ["a", "b"], ["b", "c"]])
    array = np.asarray(Y)
    assert (array.dtype, array.shape) == (object, (3,))
    assert array.tolist() == [frozenset(row) for row in Y]
    assert from_sets(array) == candidate_sets(array) == Y
    assert np.asarray(from_sets([["a"], ["b"]])).shape == (2,)
    for options in ({"dtype": float}, {"copy": False}):
        with pytest.raises(ValueError, match=r"^candidate sets become an array only as a copy"):
            np.array(Y, **options)


@given(tables(), st.data())
def test_slicing_is_that_of_a_list(table, data):
    classes, rows = table
    Y, sets = from_sets(rows, classes), [set(row) for row in rows]
    part = data.draw(st.slices(len(rows)))
    assert sound(Y[part]) == sets[part]
    assert Y[part].classes is Y.classes
    start, stop = data.draw(st.tuples(st.integers(-9, 9), st.integers(-9, 9)))
    assert sound(Y[start:stop]) == sets[start:stop]
    for i in range(-len(rows), len(rows)):
        assert Y[i] == Y[np.int64(i)] == sets[i]


@given(tables(min_rows=1), st.data())
def test_index_arrays_and_masks_are_those_of_an_array(table, data):
    classes, rows = table
    Y, sets = from_sets(rows, classes), [set(row) for row in rows]
    index = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))
    mask = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    picked = [sets[i] for i in index]
    kept = [one for one, is_kept in zip(sets, mask, strict=True) if is_kept]
    for key in (index, np.array(index, np.int32), pd.Series(index, dtype=int)):
        assert sound(Y[key]) == sound(Y[key, ...]) == picked
    for key in (mask, np.array(mask), pd.Series(mask)):
        assert sound(Y[key]) == kept


@pytest.mark.parametrize(
    "key",
    [3, -4, [0, 3], [True], (0, 1), "a", 1.0, None, True, np.array([0.0]), [[0]], np.array(0)],
)
def test_what_selects_no_rows_is_an_index_error(key):
    with pytest.raises(IndexError):
        from_sets([[0], [1], [0, 1]])[key]


@given(tables(min_rows=1), st.data())
def test_contains_and_coverage(table, data):
    classes, rows = table
    Y = from_sets(rows, classes)
    strangers = [None, float("nan"), "stranger", 0.5]
    y = [data.draw(st.sampled_from(classes + strangers)) for _ in rows]
    inside = [label in row for label, row in zip(y, rows, strict=True)]
    assert Y.contains(y).tolist() == inside
    known = [i for i, one in zip(inside, y, strict=True) if one is not None and one == one]
    expected = sum(known) / len(known) if known else float("nan")
    np.testing.assert_allclose(Y.coverage(y), expected)
    known = [i for i, one in zip(inside, y, strict=True) if one in classes and one != classes[0]]
    hidden = [one if one in classes else None for one in y]
    expected = sum(known) / len(known) if known else float("nan")
    np.testing.assert_allclose(Y.coverage(hidden, unknown=classes[0]), expected)


def test_contains_takes_numbers_of_any_dtype():
    Y = from_sets([[0, 2], [1]])
    for y in (np.array([2.0, np.nan]), np.array([2, 7], np.uint8), pd.Series([2, 0])):
        assert Y.contains(y).tolist() == [True, False]
    assert Y.contains(np.array(["2", "1"])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([0], "^y has 1 labels, but there are 2 rows"),
        ([0, 1, 0], "^y has 3 labels, but there are 2 rows"),
        ([[0], [1]], r"^y\[0\] is \[0\]"),
        (np.zeros((2, 1)), "^y must be one-dimensional"),
        (0, "^y must be an array or a list of labels"),
    ],
)
def test_questions_want_one_label_per_row(y, sentence):
    Y = from_sets([[0, 2], [1]])
    for question in (Y.contains, Y.coverage, Y.describe):
        with pytest.raises(ValueError, match=sentence):
            question(y)


def test_describe_reports_size_exact_full_and_coverage():
    Y = from_sets([["a"], ["a", "b"], ["a", "b", "c"], ["b"], ["b", "c"]])
    report = {"rows": 5, "classes": 3, "mean_size": 1.8, "exact": 0.4, "full": 0.2}
    assert Y.describe() == report
    y = ["a", "c", "b", None, "?"]
    assert Y.describe(y, unknown="?") == report | {"coverage": 2 / 3}
    assert repr(Y) == "CandidateSets(5 rows, 3 classes, mean size 1.80, 40.0 % exact, 20.0 % full)"


@given(tables(), st.data())
def test_aligned_keeps_the_sets_in_any_vocabulary_that_names_them(table, data):
    classes, rows = table
    Y = from_sets(rows, classes)
    used = {label for row in rows for label in row}
    kept = data.draw(st.permutations(classes))
    kept = [label for label in kept if label in used or data.draw(st.booleans())]
    assume(kept)
    again = Y.aligned(kept)
    assert again.classes.tolist() == kept
    assert sound(again) == list(Y)
    assert again.aligned(classes) == Y
    assert Y.aligned(Y.classes) is Y
    assert Y.aligned(classes) is Y


def test_aligned_refuses_a_vocabulary_without_a_label_that_is_used():
    Y = from_sets([["a"], ["b", "c"]])
    with pytest.raises(ValueError, match=r"^row 1: label 'c' is not among the 2 classes"):
        Y.aligned(["a", "b"])
    assert Y[:1].aligned(["a"]).classes.tolist() == ["a"]
    assert from_sets([[0], [1]]).aligned([False, True]).classes.dtype == bool


def test_each_form_of_y_goes_to_its_constructor():
    Y = from_sets([{"b"}, {"a", "b"}], ["a", "b"])
    table = np.array([[0, 1], [1, 1]])
    forms = [Y, [{"b"}, ["a", "b"]], (["b"], ["b", "a"]), [["b"], frozenset("ab")], table]
    forms += [
        sparse.csr_matrix(table),
        pd.DataFrame(table),
        pd.DataFrame(table[:, ::-1], columns=["b", "a"]),
    ]
    forms += [
        pd.Series([{"b"}, {"a", "b"}], index=[3, 1]),
        np.array(["b", {"a", "b"}], dtype=object),
    ]
    for form in forms:
        assert candidate_sets(form, ["a", "b"]) == Y
    assert candidate_sets(Y) is Y
    exact = CandidateSets.from_labels(["b", "a"], ["a", "b"])
    words = ["b", "a"]
    for form in (words, tuple(words), np.array(words), np.array(words, object), pd.Series(words)):
        assert candidate_sets(form, ["a", "b"]) == exact
    assert list(candidate_sets([0, 1])) == [{0}, {1}]
    assert list(candidate_sets(np.array([True, False]))) == [{True}, {False}]


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, lambda y: np.array(y, dtype=float)])
def test_a_column_of_labels_is_taken_with_scikit_learns_warning(make):
    with pytest.warns(
        DataConversionWarning, match="A column-vector y was passed when a 1d array"
    ) as w:
        assert list(candidate_sets(make([[2], [1]]))) == [{2}, {1}]
    assert w[0].filename == __file__


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.full(3, np.nan), "^Input y contains NaN: row 0 "),
        (
            np.full(3, np.inf),
            r"^Input y contains infinity or a value too large for dtype\('float64'",
        ),
        (np.array([0.1, 0.2]), "^Unknown label type: continuous"),
        ([0.1, 0.2], "^Unknown label type: continuous"),
        (MappingProxyType({"a": 1}), "^candidate sets come as a sequence"),
        (5, "^candidate sets come as a sequence"),
        (np.array(5), "^y must be one-dimensional"),
        (np.ones((1, 2, 2)), "^an indicator has shape"),
        ([], "^there are no rows to learn the classes from"),
    ],
)
def test_what_is_no_y_is_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        candidate_sets(y)


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(2, random_state=0),
        TimeSeriesSplit(3),
        LeaveOneOut(),
        GroupKFold(3),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_scikit_learns_splitters(splitter):
    rows = [[i % 4, (i * 7) % 5] for i in range(12)]
    X, Y = np.arange(12)[:, None], from_sets(rows, range(5))
    groups = np.arange(12) % 3 if isinstance(splitter, GroupKFold) else None
    n_splits = 0
    for train, test in splitter.split(X, Y, groups):
        n_splits += 1
        for part in (train, test):
            assert sound(Y[part]) == [set(rows[i]) for i in part]
    assert n_splits == splitter.get_n_splits(X, Y, groups)


def test_scikit_learns_indexing():
    rows = [[i % 4, (i * 7) % 5] for i in range(12)]
    X, Y = np.arange(12), from_sets(rows, range(5))
    parts = train_test_split(X, Y, random_state=3)
    for part, of in zip(parts[2:], parts[:2], strict=True):
        assert sound(part) == [set(rows[i]) for i in of]
    for tool in (shuffle, resample):
        of, part = tool(X, Y, random_state=1)
        assert sound(part) == [set(rows[i]) for i in of]
    mask = np.arange(12) % 3 == 0
    for key in (
        mask,
        mask.tolist(),
        np.flatnonzero(mask),
        [0, 3, 6, 9],
        (0, 3, 6, 9),
        slice(0, 12, 3),
    ):
        assert sound(_safe_indexing(Y, key)) == [set(rows[i]) for i in (0, 3, 6, 9)]
    assert _safe_indexing(Y, 3) == set(rows[3])
    assert _safe_indexing(Y, None) is Y
    assert indexable(X, Y)[1] is Y
    assert isinstance(check_cv(3, Y, classifier=True), KFold)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        indexable(X[1:], Y)


def test_crowd_dog(data):
    dog = data("crowd_dog")
    n = len(dog["y"])
    Y = CandidateSets.from_annotations(dog["item"], dog["label"], order=np.arange(n))
    np.testing.assert_array_equal(Y.to_indicator(), dog["Y"])
    report = Y.describe(dog["y"], unknown=-1)
    assert (report["rows"], report["classes"]) == (807, 4)
    assert round(report["mean_size"], 3) == 2.005
    assert round(report["exact"], 4) == 0.1016
    assert round(report["coverage"], 4) == 0.9901
    assert Y.sizes().max() == 4
    assert report["full"] == np.mean(dog["Y"].all(axis=1))
    top = dog["votes"].max(axis=1)
    for min_votes in range(2, int(top.max()) + 2):
        kept = np.flatnonzero(top >= min_votes)
        columns = dog["item"], dog["label"], min_votes, range(4)
        part = CandidateSets.from_annotations(*columns, order=kept)
        np.testing.assert_array_equal(part.to_indicator(), dog["votes"][kept] >= min_votes)
        if kept.size < n:
            first = np.flatnonzero(top < min_votes)[0]
            with pytest.raises(ValueError, match=rf"^row {first}: .*\({n - kept.size} such items"):
                CandidateSets.from_annotations(*columns)


def test_crowd_sentiment(data):
    sentiment = data("crowd_sentiment_polarity")
    answers, y = sentiment["answers"], sentiment["y"]
    Y = CandidateSets.from_annotator_matrix(answers)
    np.testing.assert_array_equal(Y.to_indicator(), sentiment["Y"])
    report = Y.describe(y)
    assert (report["rows"], report["classes"]) == (4999, 2)
    assert round(report["mean_size"], 3) == 1.621
    assert round(report["exact"], 4) == 0.3787
    assert round(report["coverage"], 4) == 0.9904
    rows, annotators = np.nonzero(answers >= 0)
    long = CandidateSets.from_annotations(rows, answers[rows, annotators])
    assert long == Y
    names = np.array(["negative", "positive"])
    words = CandidateSets.from_annotations(rows, names[answers[rows, annotators]])
    np.testing.assert_array_equal(words.codes, Y.codes)
    assert words.coverage(names[y]) == report["coverage"]
