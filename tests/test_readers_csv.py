"""The CSV reader agrees with an oracle on every text; its header and its sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

import oracles
from oneof.readers import BadRow, InputError, lines, open_source
from reading import CSV_PIECES, csv_bodies, joined, mutated

HEADER = b"candidates,truth,a,b,word,note\n"
KINDS = ["label", "truth", "number", "number", "word", "ignored"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Give a function that writes bytes to a file, always the same one."""
    path = tmp_path_factory.mktemp("csv") / "rows.csv"

    def write(data):
        path.write_bytes(data)
        return path

    return write


def hashed(rows):
    """What scikit-learn makes of named numbers and of words."""
    pairs = [
        [("a", float(a)), ("b", float(b)), *((f"word={word}", 1.0) for _, word in words)]
        for _, (a, b), words, _ in rows
    ]
    return FeatureHasher(16, input_type="pair", dtype=np.float64).transform(pairs).toarray()


@given(
    data=mutated(csv_bodies(), CSV_PIECES) | st.binary(max_size=60),
    delimiter=st.sampled_from([b",", b"\t"]),
    batch_rows=st.integers(1, 3),
    block=st.sampled_from([1, 16, 1 << 18]),
    is_hashed=st.booleans(),
)
def test_every_text_is_read_as_the_oracle_reads_it(
    file, data, delimiter, batch_rows, block, is_hashed
):
    data = data.replace(b",", delimiter)
    kinds = KINDS if is_hashed else ["ignored" if kind == "word" else kind for kind in KINDS]
    path = file(HEADER.replace(b",", delimiter) + data)
    expected = list(oracles.csv_rows(data, kinds, float, delimiter))
    good = [row for _, row in expected if row]
    form = {"categorical_columns": ["word"], "hash_bits": 4} if is_hashed else {}
    ignored = ["note"] if is_hashed else ["note", "word"]
    read = {"batch_rows": batch_rows, "max_line": 64, "prefetch": 0, "dtype": np.float64}
    words = {label for row in good for label in row[0] | {row[3]} if label is not None}
    usual, lines._BLOCK = lines._BLOCK, block
    try:
        source = open_source(
            path,
            "csv" if delimiter == b"," else "tsv",
            on_bad_row="skip",
            ignore_columns=ignored,
            classes=sorted(words) or ["none"],
            **form,
            **read,
        )
        X, sets, truth = joined(source)
    finally:
        lines._BLOCK = usual
    # Declared classes: a row that is bad for its labels alone is bad all the same.
    assert source.n_skipped == sum(row is None for _, row in expected)
    assert sets == [row[0] for row in good]
    assert truth == [row[3] for row in good]
    if not is_hashed:
        assert source.feature_names == ["a", "b"]
        assert X.tolist() == [row[1] for row in good]
    elif good:
        np.testing.assert_allclose(X, hashed(good), rtol=1e-15)


def test_classes_are_found_and_columns_matched_by_name(tmp_path):
    (tmp_path / "1.csv").write_text("a,candidates,b\n1,7|3,2\n")
    (tmp_path / "2.csv").write_text('\ufeff\nb,a,candidates,truth\r\n\r\n4,3,"+3",7\r\n')
    source = open_source(tmp_path / "*.csv")
    X, sets, truth = joined(source)
    assert (X.tolist(), sets, truth) == ([[1, 2], [3, 4]], [{3, 7}, {3}], [None, 7])
    assert (source.feature_names, source.classes.tolist()) == (["a", "b"], [3, 7])
    named = open_source(tmp_path / "2.csv", feature_names=["b"], new_features="ignore")
    assert joined(named)[0].tolist() == [[4]]
    unlabelled = open_source(tmp_path / "1.csv", labelled=False)
    assert [batch.candidates for batch in unlabelled] == [None]


HEADERS = {
    "": ({}, "there is no header"),
    "1,2\n3,4\n": ({}, "the first line holds numbers only"),
    "a,a,candidates\n": ({}, "two columns are named 'a'"),
    "a,b\n1,2\n": ({}, "there is no column 'candidates' among a, b: check the header"),
    "a,candidates\n1,2\n": ({"label_column": "y"}, "there is no column 'y'"),
    "a,,candidates\n": ({}, r"a column has no name.*ignore_columns=\[''\]"),
    "a,candidates\n2,x\n": ({"feature_names": ["b"]}, "there is no column 'b'"),
    "a,b,candidates\n2,3,x\n": ({"feature_names": ["b"]}, "'a' is not one of the 1 features"),
    '"a,candidates\n': ({}, "the header is not CSV"),
    "\xff": ({}, "there is no column 'candidates' among ÿ"),
}


@pytest.mark.parametrize("text", HEADERS)
def test_a_header_that_cannot_be_read_is_one_sentence(file, text):
    options, sentence = HEADERS[text]
    with pytest.raises(InputError, match=sentence) as refused:
        open_source(file(text.encode()), **options)
    assert "\n" not in str(refused.value)


SENTENCES = {
    "1,2": "the row has 2 fields, but the header names 3 columns",
    "1,2,x,4": "more fields than the 3 columns",
    "one,2,x": "the value 'one' of column 'a' is not a number: .* that the column holds words",
    ",2,x": "the value of column 'a' is empty",
    "nan,2,x": "the value 'nan' of column 'a' is not finite",
    "1e39,2,x": "the value '1e39' of column 'a' is too large for float32",
    "1,2,": "the row has no candidate label: name at least one",
    "1,2,x||y": r"the labels 'x\|\|y' have an empty name",
    '1,2,"x': "has a quote out of place",
    '1,2,x"y"': "has a quote out of place",
    '1,"2"3,x': "has a quote out of place",
    "1,2,x\x00": "a NUL byte",
    "1,2,x\x01": "a control character",
    "1,2," + "x" * 99: "longer than 64 bytes",
}


@pytest.mark.parametrize("line", SENTENCES)
def test_a_bad_row_is_one_sentence_with_its_line(file, line):
    path = file(b"a,b,candidates\n1,2,x\n\n" + line.encode() + b"\n1,2,x\n")
    with pytest.raises(BadRow, match=SENTENCES[line]) as refused:
        open_source(path, max_line=64)
    assert str(refused.value).startswith(f"{path}:4: ")


def test_words_need_a_hash(file):
    path = file(b"a,candidates\nred,x\n")
    with pytest.raises(ValueError, match="categorical_columns needs hash_bits"):
        open_source(path, categorical_columns=["a"])
    with pytest.raises(InputError, match="there is no column 'b'"):
        open_source(path, categorical_columns=["b"], hash_bits=4)
