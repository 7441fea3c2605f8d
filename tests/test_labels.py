"""What a label is, and how labels become codes."""

import datetime
import enum
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.labels import (
    checked,
    coded,
    encode,
    given_classes,
    is_unknown,
    one_dimensional,
    show,
    sorted_labels,
)

INTEGERS = st.integers(-(2**63), 2**63 - 1)
STRINGS = st.text(max_size=4).filter(lambda s: not s.endswith("\0"))
VOCABULARIES = st.one_of(
    *(st.lists(label, min_size=1, max_size=8, unique=True) for label in (INTEGERS, STRINGS))
)


class Colour(enum.IntEnum):
    """An integer by another name."""

    RED = 3


class OnlyAnArray:
    """Has nothing but ``__array__``, like arrays of other libraries."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def place(i):
    return f"row {i}"


# The vocabulary of each form in which labels come.
FORMS = {
    "list of int": ([3, 1, 3], np.int64, [1, 3]),
    "list of str": (["b", "a", "b"], "<U1", ["a", "b"]),
    "tuple": (("bb", "a"), "<U2", ["a", "bb"]),
    "list of bool": ([True, False], np.bool_, [False, True]),
    "list of whole floats": ([2.0, 1.0], np.int64, [1, 2]),
    "int with bool": ([3, True], np.int64, [1, 3]),
    "NumPy scalars": ([np.int8(-1), np.uint8(200)], np.int64, [-1, 200]),
    "NumPy strings": ([np.str_("b"), "a"], "<U1", ["a", "b"]),
    "IntEnum": ([Colour.RED, 1], np.int64, [1, 3]),
    "empty string": (["", "a"], "<U1", ["", "a"]),
    "int8 array": (np.array([3, 1], np.int8), np.int64, [1, 3]),
    "uint64 array": (np.array([3, 1], np.uint64), np.int64, [1, 3]),
    "bool array": (np.array([True, False]), np.bool_, [False, True]),
    "half-precision array": (np.array([3, 1], np.float16), np.int64, [1, 3]),
    "float64 array": (np.array([3.0, -0.0]), np.int64, [0, 3]),
    "str array": (np.array(["b", "a"]), "<U1", ["a", "b"]),
    "object array of str": (np.array(["b", "a"], object), "<U1", ["a", "b"]),
    "object array of int": (np.array([3, 1], object), np.int64, [1, 3]),
    "strided array": (np.arange(6)[::-2], np.int64, [1, 3, 5]),
    "range": (range(2), np.int64, [0, 1]),
    "Series of str": (pd.Series(["b", "a"], index=[5, 3]), "<U1", ["a", "b"]),
    "Series of Int64": (pd.Series([3, 1], dtype="Int64"), np.int64, [1, 3]),
    "Categorical": (pd.Series(["b", "a"], dtype="category"), "<U1", ["a", "b"]),
    "another library's array": (OnlyAnArray([3, 1]), np.int64, [1, 3]),
}


@pytest.mark.parametrize("form", FORMS)
def test_vocabulary_is_what_occurs_sorted_in_one_of_three_dtypes(form):
    labels, dtype, expected = FORMS[form]
    vocabulary, codes = coded(one_dimensional(labels, "y"), None, place)
    assert vocabulary.dtype == dtype
    assert vocabulary.tolist() == expected
    values = labels.values if isinstance(labels, OnlyAnArray) else labels
    assert vocabulary[codes].tolist() == list(values)
    np.testing.assert_array_equal(vocabulary, np.unique(np.asarray(labels)))


# What is refused, and the sentence that says so.
BAD = {
    "NaN": ([1, math.nan], "Input y contains NaN: row 1 has no label"),
    "NaN in an array": (np.array([1, 2, np.nan]), "Input y contains NaN: row 2 "),
    "NaN after a fraction": (np.array([0.5, np.nan]), "Input y contains NaN: row 1 "),
    "NaN after a string": (["a", math.nan], "Input y contains NaN: row 1 "),
    "NaN before a string": ([math.nan, "a"], "Input y contains NaN: row 0 "),
    "None": (["a", None], "Input y contains NaN: row 1 "),
    "only None": ([None], "Input y contains NaN: row 0 "),
    "pandas NA": (pd.Series([1, pd.NA], dtype="Int64"), "Input y contains NaN: row 1 "),
    "pandas NaT": ([1, pd.NaT], "Input y contains NaN: row 1 "),
    "missing str of pandas": (pd.Series(["a", None]), "Input y contains NaN: row 1 "),
    "infinity": (
        np.array([0.0, -np.inf]),
        r"Input y contains infinity or a value too large for dtype\('float64'\): row 1 needs",
    ),
    "fraction": ([0, 1.5], "Unknown label type: continuous: row 1 holds 1.5"),
    "string after integer": ([1, "a"], "row 1: label 'a' is a string, but row 0 has the number 1"),
    "integer after string": (["a", "a", 1], "row 2: label 1 is a number, but row 0 has the string"),
    "bytes": (np.array([b"a"]), "row 0: b'a' is not a label"),
    "complex": (np.array([1j]), "Unknown label type: complex128"),
    "dates": (np.array(["2020-02-02"], "M8[ns]"), "Unknown label type: datetime64"),
    "date": ([1, datetime.date(2020, 2, 2)], "row 1: datetime.date"),
    "Decimal": ([Decimal(1)], "row 0: Decimal"),
    "Fraction": ([Fraction(1, 2)], "row 0: Fraction"),
    "beyond 64 bits": ([1, 2**63], "row 1: label 9.* is beyond 64 bits"),
    "far beyond 64 bits": ([2**100], "row 0: label 1267.* is beyond 64 bits"),
    "float beyond 64 bits": (np.array([1e19]), r"row 0: label 1e\+19 is beyond 64 bits"),
    "uint64 beyond 64 bits": (np.array([2**63], np.uint64), "row 0: label 9.* is beyond 64 bits"),
    "NUL at the end": (["a", "a\0"], r"label 'a\\x00' ends with a NUL character"),
    "nested": (["a", ["b"]], r"y\[1\] is \['b'\]: y takes one label per entry"),
    "two dimensions": (np.array([[1, 2]]), r"one label per entry, not of shape \(1, 2\)"),
    "no dimension": (np.array(1), r"one label per entry, not of shape \(\)"),
    "a string": ("abc", "y must be an array or a list of labels, not 'abc'"),
    "a number": (3, "y must be an array or a list of labels, not 3"),
    "a set, which has no order": ({1, 2}, "y must be an array or a list of labels"),
    "a mapping": ({1: 2}, "y must be an array or a list of labels"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_label_is_refused_in_one_sentence(case):
    labels, sentence = BAD[case]
    with pytest.raises(ValueError, match=sentence) as refused:
        coded(one_dimensional(labels, "y"), None, place)
    text = str(refused.value)
    assert "\n" not in text
    assert not text.endswith(".")
    assert len(text) < 250


def test_a_message_names_the_argument_and_the_place():
    with pytest.raises(ValueError, match=r"^Input items contains NaN: entry 1 has"):
        checked(["a", None], lambda i: f"entry {i}", "items")


@given(VOCABULARIES, st.data())
def test_encode_finds_each_label_and_no_other(vocabulary, data):
    strangers = [0, -1, 2**63 - 1, "", "b", 0.5, math.nan, math.inf, 2.0**63, None, True]
    labels = data.draw(st.lists(st.sampled_from(vocabulary + strangers)))
    expected = [vocabulary.index(one) if one in vocabulary else -1 for one in labels]
    assert encode(labels, np.array(vocabulary)).tolist() == expected


@given(
    st.lists(st.integers(-128, 127), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(-128, 127)),
    st.sampled_from([np.int8, np.int32, np.int64, np.float16, np.float32, np.longdouble]),
)
def test_encode_numbers_of_every_dtype(vocabulary, labels, dtype):
    expected = [vocabulary.index(one) if one in vocabulary else -1 for one in labels]
    assert encode(np.array(labels, dtype), np.array(vocabulary)).tolist() == expected


def test_encode_leaves_what_is_no_integer_without_a_code():
    labels = np.array([np.nan, np.inf, -np.inf, 0.5, 2.0**63, -(2.0**63), 1.0, 0.0])
    assert encode(labels, np.array([0, 1, -(2**63)])).tolist() == [-1, -1, -1, -1, -1, 2, 1, 0]
    assert encode(np.array([2**63, 2**64 - 1], np.uint64), np.array([-1, 0])).tolist() == [-1, -1]
    assert encode(np.array([True, False]), np.array([5, 1])).tolist() == [1, -1]
    assert encode(np.array([1, 0, 2]), np.array([False, True])).tolist() == [1, 0, -1]
    assert encode(np.array([1]), np.array(["1"])).tolist() == [-1]
    assert encode(["1"], np.array([1])).tolist() == [-1]
    assert encode(np.array([1]), np.empty(0)).tolist() == [-1]


@given(VOCABULARIES)
def test_a_given_vocabulary_keeps_its_order_and_is_a_copy(labels):
    kept = given_classes(labels)
    assert kept.tolist() == labels
    again = given_classes(kept)
    assert not np.shares_memory(kept, again)
    assert sorted_labels(checked(labels * 2, place)).tolist() == sorted(labels)


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ([], "^classes is empty: name at least one label"),
        ([3, 1, 3, 4], r"^classes\[2\] repeats 3, which is classes\[0\] already"),
        (np.array([1.0, True]), r"^classes\[1\] repeats 1, which is classes\[0\]"),
        (["a", "b", "b"], r"^classes\[2\] repeats 'b', which is classes\[1\]"),
        (["a", None], r"^Input classes contains NaN: classes\[1\]"),
        (["a", 1], r"^classes\[1\]: label 1 is a number, but classes\[0\] has the string 'a'"),
        ([["a"]], r"^classes\[0\] is \['a'\]"),
        ("ab", "^classes must be an array or a list of labels, not 'ab'"),
    ],
)
def test_a_vocabulary_names_each_label_once(classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        given_classes(classes)


@pytest.mark.parametrize(
    ("labels", "unknown", "expected"),
    [
        (np.array([-1, 2]), -1, [True, False]),
        (np.array([-1, 2]), None, [False, False]),
        (np.array([-1, 2]), "-1", [False, False]),
        (np.array([1, 2], np.uint8), -1, [False, False]),
        (np.array([-1, np.nan]), -1, [True, True]),
        (np.array([0.5, np.nan]), math.nan, [False, True]),
        (np.array(["?", "a"]), "?", [True, False]),
        (np.array(["?", "a"]), -1, [False, False]),
        (
            ["?", None, math.nan, np.float32(math.nan), pd.NA, pd.NaT, "a"],
            "?",
            [True] * 6 + [False],
        ),
        ([], -1, []),
    ],
)
def test_is_unknown_marks_gaps_and_the_users_own_sign(labels, unknown, expected):
    assert is_unknown(labels, unknown).tolist() == expected


def test_messages_show_a_label_as_python_writes_it_and_shorten_long_ones():
    assert show(np.int64(3)) == "3"
    assert show(np.str_("a")) == "'a'"
    assert len(show("x" * 1000)) < 50
    assert len(show(np.arange(1000))) < 50
