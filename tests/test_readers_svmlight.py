"""The svmlight reader agrees with an oracle on every text, with scikit-learn on good ones."""

import io
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import oracles
from oneof import _kernels
from oneof.readers import BadRow, InputError, files, lines, open_source, text_classes
from reading import (
    SVMLIGHT_PIECES,
    joined,
    labels,
    mutated,
    numbers,
    svmlight_files,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Give a function that writes bytes to a file, always the same one."""
    path = tmp_path_factory.mktemp("svmlight") / "rows.svm"

    def write(data):
        path.write_bytes(data)
        return path

    return write


@given(numbers)
@example("9007199254740993")
@example("0." + "0" * 400 + "1e400")
@example("1" + "0" * 400 + "e-400")
@example("1" * 400 + "e-10")
@example("0." + "0" * 400 + "1e20")
@example("2.2250738585072011e-308")
@example("4.9406564584124654e-324")
def test_numbers_are_read_as_python_reads_them(text):
    value = _kernels.number(text)
    assert value is not None
    assert math.copysign(1, value) == math.copysign(1, float(text))
    assert value == float(text)


@given(st.text("0123456789+-.eE_xinfa ", max_size=8) | st.text(max_size=3))
def test_what_is_not_a_decimal_number_is_none(text):
    is_number = oracles.NUMBER.fullmatch(text.encode()) is not None
    assert (_kernels.number(text) is not None) == is_number


@given(st.binary(max_size=6) | st.text(max_size=3).map(str.encode))
@example("\ud800".encode("utf-8", "surrogatepass"))
@example(b"\xf4\x90\x80\x80")
@example(b"\xc0\x80")
def test_utf8_is_what_python_takes_for_it(data):
    try:
        data.decode()
        is_good = True
    except UnicodeDecodeError:
        is_good = False
    assert _kernels.is_utf8(data) == is_good


@given(st.text("0123456789+-.e", max_size=6) | labels)
def test_whole_numbers(word):
    number = oracles.whole_number(word)
    assert _kernels.whole_number(word) == (None if number is None else str(number))


def agrees(path, data, dtype, batch_rows, **options):
    """Compare what is read, row by row, with what the oracle makes of it."""
    known = {"base": int(not options.get("zero_based", True)), "longest": options["max_line"]}
    known |= {"n_features": options.get("n_features"), "is_labelled": options["labelled"]}
    known["ignores_new"] = options.get("new_features") == "ignore"
    expected = list(oracles.svmlight(data, dtype, **known))
    good = [row for _, row in expected if row]
    rejects = path.with_suffix(".rejects")
    read = {"on_bad_row": "skip", "dtype": dtype, "batch_rows": batch_rows, "rejects": rejects}
    if options["labelled"] and not any(features for _, features, _ in good):
        with pytest.raises(InputError, match=r"no good row|there are no rows|no row has a feature"):
            open_source(path, **read, **options)
        return
    source = open_source(path, **read, **options)
    batches = list(source)
    bad = [i for i, row in expected if not row]
    assert source.n_skipped == len(bad)
    assert [line_of(text) for text in rejects.read_text().splitlines()] == bad
    assert sum(map(len, batches)) == source.n_rows_read == len(good)
    assert all(len(batch) <= batch_rows for batch in batches)
    words = {label for names, _, truth in good for label in names | {truth} if label is not None}
    numbers = [oracles.whole_number(word) for word in words]
    is_integer = None not in numbers and all(-(2**63) <= n < 2**63 for n in numbers)
    meant = oracles.whole_number if is_integer else str
    if options["labelled"]:
        assert source.classes.tolist() == sorted({meant(word) for word in words})
    rows = (row for batch in batches for row in rows_of(batch, source.classes))
    for (names, features, truth), (found_names, found, found_truth) in zip(good, rows, strict=True):
        assert found == features
        if options["labelled"]:
            assert found_names == {meant(label) for label in names}
            assert found_truth == (None if truth is None else meant(truth))


def line_of(text):
    return int(text.split('"line": ')[1].split(",")[0])


def rows_of(batch, classes):
    """Give the labels, features and truth of each row of a batch."""
    X = batch.X
    sets = [None] * len(batch) if batch.candidates is None else list(batch.candidates)
    for i, names in enumerate(sets):
        part = slice(X.indptr[i], X.indptr[i + 1])
        code = -1 if batch.truth is None else batch.truth[i]
        truth = None if code < 0 else classes[code].item()
        yield names, dict(zip(X.indices[part].tolist(), X.data[part], strict=True)), truth


@given(
    data=mutated(svmlight_files(), SVMLIGHT_PIECES) | st.binary(max_size=60),
    dtype=st.sampled_from([np.float32, np.float64]),
    batch_rows=st.integers(1, 3),
    block=st.sampled_from([1, 3, 16, 1 << 18]),
    labelled=st.booleans(),
    form=st.sampled_from(
        [
            {},
            {"zero_based": False},
            {"n_features": 8},
            {"n_features": 8, "new_features": "ignore", "zero_based": False},
        ]
    ),
)
def test_every_text_is_read_as_the_oracle_reads_it(
    file, data, dtype, batch_rows, block, labelled, form
):
    assume(not data.startswith(tuple(files._MAGIC.values())))  # these are read as what they claim
    options = {"labelled": labelled, "max_line": 64, "prefetch": 0, **form}
    usual, lines._BLOCK = lines._BLOCK, block
    try:
        agrees(file(data), data, dtype, batch_rows, **options)
    finally:
        lines._BLOCK = usual


def parsed(data, dtype, base):
    """Everything that the parser makes of a text, the faults of its bad lines too."""
    kind = _kernels.SvmlightParser32 if dtype == np.float32 else _kernels.SvmlightParser64
    options = {"is_integer": False, "is_labelled": True, "is_collecting": True}
    parser = kind([], **options, most_classes=9, max_line=999, index_base=base, n_features=-1,
                  ignores_new=False)  # fmt: skip
    start, faults = 0, []
    while start < len(data):
        start = parser.parse(data, start, len(data), 10**6, 10**6)
        if parser.fault[0]:
            faults.append(parser.fault)
            start = data.index(b"\n", start) + 1
    values, *others = [None if a is None else a.tolist() for a in parser.take()]
    return [(v, math.copysign(1, v)) for v in values], others, parser.names, faults


plain_numbers = st.from_regex(r"-?[0-9]{0,9}(\.[0-9]{0,19})?[0-9e]?", fullmatch=True)
plain_files = st.lists(
    st.lists(st.tuples(st.integers(0, 10**9), plain_numbers | numbers), max_size=5), max_size=3
).map(
    lambda rows: "".join(
        "3 " + " ".join(f"{i}:{v}" for i, v in sorted(row)) + "\n" for row in rows
    ).encode()
)


@given(
    mutated(svmlight_files() | plain_files, SVMLIGHT_PIECES) | plain_files,
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 1),
)
@example(b"3 1:0.9007199254740993\n3 1:0.9007199254740992\n", np.float64, 0)
@example(b"3 1:2" + b" " * 99 + b"3:4\n", np.float64, 0)
@example(b"3 1:1.0000000000000000\n3 1:10.00000000000000\n3 1:9.999999999999999\n", np.float64, 0)
def test_rows_mean_the_same_however_much_follows_them(data, dtype, base):
    # Far from the end of a text, what is written as most features are is read at once.
    data += b"\n"
    assert parsed(data + b"\n" * 64, dtype, base) == parsed(data, dtype, base)


@given(st.lists(numbers | plain_numbers, min_size=1, max_size=4))
def test_values_of_rows_are_those_of_python(texts):
    good = [text for text in texts if oracles.NUMBER.fullmatch(text.encode())]
    good = [text for text in good if math.isfinite(float(text))]
    line = "3 " + " ".join(f"{i}:{text}" for i, text in enumerate(good))
    values, *_ = parsed(line.encode() + b"\n" * 64, np.float64, 0)
    assert values == [(float(text), math.copysign(1, float(text))) for text in good]


@st.composite
def tables(draw):
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[0, 0] = 1.5  # a file without any feature is refused
    Y = rng.random((n, 4)) < 0.4
    Y[~Y.any(axis=1), 2] = True
    return X, Y.astype(int)


@given(tables(), st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_candidate_sets_that_scikit_learn_writes_are_read_as_it_reads_them(
    file, table, zero_based, dtype
):
    X, Y = table
    written = io.BytesIO()
    dump_svmlight_file(X, Y, written, zero_based=zero_based, multilabel=True, comment="by hand")
    path = file(written.getvalue())
    theirs, y = load_svmlight_file(
        str(path), multilabel=True, zero_based=zero_based, dtype=dtype, n_features=X.shape[1]
    )
    source = open_source(path, dtype=dtype, zero_based=zero_based, n_features=X.shape[1])
    ours, sets, _ = joined(source)
    np.testing.assert_array_equal(ours, theirs.toarray())
    assert sets == [set(map(int, row)) for row in y]
    assert sets == [set(np.flatnonzero(row).tolist()) for row in Y]


SENTENCES = {
    b"1:0.5 2:1": "has no candidate label before the feature '1:0.5'",
    b"3,,7 1:1": "the labels '3,,7' have an empty name",
    b"3, 1:1": "the labels '3,' have an empty name",
    b"a\x7fb 1:1": r"the label 'a\\x7fb' holds a character that a label may not",
    b"a\xffb 1:1": r"the label 'a\\\\xffb' is not UTF-8",
    b"3,7:1": "the label '7:1' holds a colon",
    b"3 qid:4 1:1": "'qid:4' groups rows into queries",
    b"3 one:1": "'one:1' is not a feature: write INDEX:VALUE",
    b"3 -1:1": "'-1:1' is not a feature: .* with a whole, positive index",
    b"3 1": "'1' is not a feature",
    b"3 2147483647:1": "index '2147483647' is beyond 2147483646",
    b"3 99999999999999999999:1": "is beyond 2147483646",
    b"3 5:1 4:1": "index '4' comes after a larger one",
    b"3 5:1 5:1": "index '5' occurs twice",
    b"3 5:one": "value 'one' is not a number",
    b"3 5:": "value '' is not a number",
    b"3 5:0x10": "value '0x10' is not a number",
    b"3 5:NaN": "value 'NaN' is not finite",
    b"3 5:-inf": "value '-inf' is not finite",
    b"3 5:1e39": "value '1e39' is too large for float32",
    b"3 5:1\x002": "value .* is not a number",
    b"3 \x00": "holds a NUL byte",
    b"3 1:1 # a\x00": "holds a NUL byte",
    b"3 1:1 # truth=3 truth=7": "a second truth, '7'",
    b"3 1:1 # truth=": "'' as the truth, which is not one label",
    b"3 1:1 # truth=3,7": "'3,7' as the truth",
    b"3" + b" " * 100 + b"1:1": "longer than 64 bytes",
}


@pytest.mark.parametrize("line", SENTENCES)
def test_a_bad_row_is_one_sentence_with_its_line(file, line):
    path = file(b"3 1:1\n\n# a comment\n" + line + b"\n7 1:1\n")
    with pytest.raises(BadRow, match=SENTENCES[line]) as refused:
        open_source(path, max_line=64)
    assert str(refused.value).startswith(f"{path}:4: ")
    assert (refused.value.line, refused.value.path) == (4, str(path))
    assert str(refused.value).endswith(refused.value.reason)
    assert "\n" not in str(refused.value)


def test_what_was_declared_is_held_against_the_rows(file):
    def refused(text, sentence, **options):
        with pytest.raises(BadRow, match=sentence):
            list(open_source(file(text), **options))

    refused(b"3 1:1\n5 1:1\n", "label '5' is not among the 2 classes", classes=[3, 7])
    refused(b"3 1:1 # truth=5\n", "label '5' is not among the 2 classes", classes=[3, 7])
    refused(b"+3 1:1\n", "label '\\+3' is not among", classes=["3", "7"])
    refused(b"3 4:1\n", "index '4' is beyond the 4 features, which count from 0", n_features=4)
    refused(b"3 0:1\n", "index '0' is below 1", zero_based=False)
    source = open_source(file(b"+3,7.0 4:1\n"), classes=[7, 3], n_features=4, zero_based=False)
    (batch,) = source
    assert batch.candidates[0] == {3, 7}
    assert batch.X.toarray().tolist() == [[0, 0, 0, 1]]


def test_the_base_can_be_detected(file):
    assert open_source(file(b"3 1:1 4:1\n"), zero_based="auto").n_features == 4
    assert open_source(file(b"3 1:1\n7 0:1 4:1\n"), zero_based="auto").n_features == 5


def test_text_of_another_format_is_not_taken_for_rows_without_features(file):
    with pytest.raises(InputError, match="no row has a feature: check that the format is right"):
        open_source(file(b"a,b,label\n1,2,x\n"))


def test_classes_of_words():
    assert text_classes(["7", "+3", "-1.0"]).tolist() == [-1, 3, 7]
    assert text_classes(["7", "07"]).tolist() == ["07", "7"]
    assert text_classes([str(2**63)]).tolist() == [str(2**63)]
