"""The JSON Lines reader agrees with an oracle on every text; its names, hashes and sentences."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from oneof.readers import BadRow, open_source
from reading import joined, mutated


class Bad(Exception):  # noqa: N818 - never shown
    """The row is not to be read."""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Give a function that writes bytes to a file, always the same one."""
    path = tmp_path_factory.mktemp("json") / "rows.jsonl"

    def write(data):
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def refuse(*_):
    raise Bad


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise Bad
    return dict(pairs)


def parsed(line):
    try:
        return json.loads(line.decode(), object_pairs_hook=once, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Bad from None


def read(line):
    """Labels, features by name, truth of a row with string labels; or Bad."""
    row = parsed(line)
    if not isinstance(row, dict) or not isinstance(row.get("x"), dict):
        raise Bad
    labels = row.get("candidates")
    labels = labels if isinstance(labels, list) else [labels]
    truth = row.get("truth")
    if not labels or not all(isinstance(w, str) for w in [*labels, "" if truth is None else truth]):
        raise Bad
    features = {}
    for name, value in row["x"].items():
        if isinstance(value, str):
            name, value = f"{name}={value}", 1.0
        if not isinstance(value, bool | int | float):
            raise Bad
        try:
            number = float(value)
        except OverflowError:
            raise Bad from None
        if not np.isfinite(number):
            raise Bad
        features[name] = features.get(name, 0.0) + number
    for text in [*labels, *features]:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Bad from None
    if any(label.endswith("\0") for label in [*labels, truth or ""]):
        raise Bad
    return set(labels), features, truth


values = st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans()
rows = st.fixed_dictionaries(
    {
        "x": st.dictionaries(st.text(max_size=2), values | st.text(max_size=2), max_size=3),
        "candidates": st.lists(st.sampled_from(["cat", "dog", "é"]), min_size=1, max_size=3),
    },
    optional={"truth": st.sampled_from(["cat", None]), "id": st.integers()},
)
texts = st.lists(rows.map(json.dumps), max_size=4).map(lambda r: "\n".join(r).encode())
PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b",",
    b":",
    b"NaN",
    b"1e999",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"null",
]


@given(mutated(texts, PIECES), st.integers(1, 3))
def test_every_text_is_read_as_the_oracle_reads_it(file, data, batch_rows):
    good, n_bad = [], 0
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip(b" \t\r"):
            try:
                good.append(read(line.strip(b" \t\r")))
            except Bad:
                n_bad += 1
    words = sorted({word for labels, _, truth in good for word in labels | {truth} - {None}})
    source = open_source(
        file(data),
        on_bad_row="skip",
        batch_rows=batch_rows,
        feature_names=[],
        new_features="grow",
        dtype=np.float64,
        classes=words or ["none"],
        prefetch=0,
    )
    X, sets, truth = joined(source)
    assert (source.n_skipped, sets) == (n_bad, [labels for labels, _, _ in good])
    assert truth == [true for _, _, true in good]
    names = list(dict.fromkeys(name for _, features, _ in good for name in features))
    assert source.feature_names == names
    assert X.tolist() == [[features.get(name, 0) for name in names] for _, features, _ in good]


def test_names_keep_their_columns_and_can_be_declared(file):
    path = file('{"x": {"b": 1, "a": 2}, "candidates": [3, 7]}\n{"x": {"c": 3}, "candidates": 7}\n')
    source = open_source(path)
    assert [batch.X.shape[1] for batch in source] == [3]
    assert (source.feature_names, source.classes.tolist()) == (["b", "a", "c"], [3, 7])
    grown = open_source(path, feature_names=["a"], new_features="grow", batch_rows=1)
    assert [batch.X.toarray().tolist() for batch in grown] == [[[2, 1, 0]], [[0, 0, 3]]]
    ignored = open_source(path, feature_names=["a"], new_features="ignore")
    assert joined(ignored)[0].tolist() == [[2], [0]]
    with pytest.raises(BadRow, match="the feature 'b' is not one of the 1 that are known"):
        open_source(path, feature_names=["a"])


def test_a_growing_dictionary_without_a_first_pass(file):
    path = file('{"x": {"b": 1}, "candidates": 3}\n{"x": {"c": 3}, "candidates": 7}\n')
    source = open_source(path, classes=[3, 7], batch_rows=1)
    seen = [(batch.X.toarray().tolist(), source.feature_names) for batch in source]
    assert seen == [([[1]], ["b"]), ([[0, 3]], ["b", "c"])]


def test_going_on_needs_the_names_met_before(file):
    path = file("".join(f'{{"x": {{"f{i}": {i}}}, "candidates": 3}}\n' for i in range(1, 5)))
    first = open_source(path, classes=[3], batch_rows=2)
    position = next(iter(first)).position
    later = open_source(path, classes=[3], feature_names=["f1", "f2"], new_features="grow")
    later.seek(position)
    assert joined(later)[0].tolist() == [[0, 0, 3, 0], [0, 0, 0, 4]]
    without = open_source(path, classes=[3])
    without.seek(position)
    with pytest.raises(
        ValueError, match=r"2 features had names .*, and 0 are known: give them all"
    ):
        list(without)


def test_names_are_hashed_as_scikit_learn_hashes_them(file):
    row = {"a": 1.5, "color": "red", "é": -2, "word": "x"}
    source = open_source(file(json.dumps({"x": row, "candidates": ["y"]})), hash_bits=4)
    expected = FeatureHasher(16).transform([row]).toarray()
    np.testing.assert_array_equal(joined(source)[0], expected)
    assert source.feature_names is None


def test_lists_are_dense_rows(file):
    path = file('{"x": [1, 2.5], "candidates": [1]}\n{"x": [3, 4], "candidates": [2]}\n')
    (batch,) = open_source(path)
    assert isinstance(batch.X, np.ndarray)
    assert batch.X.tolist() == [[1, 2.5], [3, 4]]


SENTENCES = {
    "[1]": "not an object",
    "{": "the line is not JSON",
    '{"x": {}}': 'has no candidates: give at least one label as "candidates"',
    '{"candidates": ["a"]}': 'has no features: give them as "x"',
    '{"x": 3, "candidates": ["a"]}': "x is 3: give a list of numbers or an object",
    '{"x": [1], "candidates": ["a"]}': "x is by a list, where other rows are by names",
    '{"x": {"f": null}, "candidates": ["a"]}': "the value None of feature 'f' is not a number",
    '{"x": {"f": NaN}, "candidates": ["a"]}': "NaN is not finite",
    '{"x": {"f": 1e39}, "candidates": ["a"]}': "is too large for float32",
    '{"x": {}, "candidates": [3]}': "the label 3 is a number, but others are a string",
    '{"x": {}, "candidates": [true]}': "True is not a label",
    '{"x": {}, "candidates": [1.5]}': "1.5 is not a label",
    '{"x": {}, "x": {}, "candidates": ["a"]}': "the key 'x' occurs twice",
    '{"x": {}, "candidates": ["\\ud800"]}': "half a character",
    '{"x": ' + "[" * 100_000: "not JSON that can be read",
}


@pytest.mark.parametrize("line", SENTENCES, ids=range(len(SENTENCES)))
def test_a_bad_row_is_one_sentence_with_its_line(file, line):
    path = file('{"x": {"f": 1}, "candidates": ["a"]}\n\n' + line + "\n")
    with pytest.raises(BadRow, match=SENTENCES[line]) as refused:
        open_source(path)
    assert str(refused.value).startswith(f"{path}:3: ")
    assert "\n" not in str(refused.value)
