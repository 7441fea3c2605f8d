"""What the tests of readers share: text that is nearly right, and batches put together."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


def joined(source):
    """All rows of a source: X dense, the sets, the truth (None where it is not given)."""
    batches = list(source)
    names = [] if source.classes is None else source.classes.tolist()
    X = np.zeros((sum(map(len, batches)), source.n_features), dtype=source.dtype)
    sets, truth, row = [], [], 0
    for batch in batches:
        part = batch.X.toarray() if sparse.issparse(batch.X) else batch.X
        X[row : row + len(batch), : part.shape[1]] = part
        row += len(batch)
        sets += [None] * len(batch) if batch.candidates is None else list(batch.candidates)
        codes = np.full(len(batch), -1) if batch.truth is None else batch.truth
        truth += [None if code < 0 else names[code] for code in codes]
    return X, sets, truth


def mutated(texts, pieces):
    """Texts with a few pieces put in, bytes cut out, bytes replaced."""

    @st.composite
    def draw_one(draw):
        text = bytearray(draw(texts))
        for _ in range(draw(st.integers(0, 3))):
            i = draw(st.integers(0, len(text)))
            what = draw(st.sampled_from(["insert", "cut", "set"]))
            if what == "insert":
                text[i:i] = draw(st.sampled_from(pieces) | st.binary(min_size=1, max_size=3))
            elif what == "cut":
                del text[i : i + draw(st.integers(1, 8))]
            elif i < len(text):
                text[i] = draw(st.integers(0, 255))
        return bytes(text)

    return draw_one()


numbers = (
    st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(10**25), 10**25).map(str)
    | st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.from_regex(r"\.[0-9]{1,20}", fullmatch=True)
    | st.sampled_from(["0", "1", "-0.0", "1e-400", "0e999", "1e38", "5.", "1e400", "1e999999999"])
)
labels = st.sampled_from(["3", "7", "+3", "3.0", "-1", "cat", "fox", "é", "03", "b/c"])


@st.composite
def svmlight_lines(draw):
    """A line that is mostly good."""
    line = ",".join(draw(st.lists(labels, min_size=1, max_size=3)))
    indices = sorted(draw(st.sets(st.integers(0, 9) | st.integers(0, 2**31), max_size=4)))
    blank = draw(st.sampled_from([" ", "  ", "\t"]))
    line += "".join(f"{blank}{i}:{draw(numbers)}" for i in indices)
    return line + draw(st.sampled_from(["", " ", " # note", "# truth=3", " # truth=cat x", "#"]))


svmlight_texts = st.lists(svmlight_lines() | st.sampled_from(["", "# only a comment"]), max_size=5)


@st.composite
def svmlight_files(draw):
    """A file of lines, as bytes, with this or that end of line."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + end.join(draw(svmlight_texts))
    return (text + draw(st.sampled_from(["", end]))).encode()


SVMLIGHT_PIECES = [
    b":", b",", b" ", b"#", b"\r", b"\n", b"\0", b"nan", b"-inf", b"1e999", b" 5:1", b" 5:1 5:1",
    b"qid:3 ", b"\xff", b"\xc3", b"truth=", b" # truth=7 truth=3", b"\xef\xbb\xbf", b"0x10", b"1_0",
    b" 2147483647:1", b" 99999999999:1", b"x" * 70,
]  # fmt: skip

CSV_PIECES = [
    b",", b'"', b'""', b'","', b"|", b" ", b"\t", b"\r", b"\n", b"\0", b"nan", b"inf", b"1e999",
    b"\xff", b"\xc3", b"0x10", b"||", b' "', b'" ', b"x" * 70, b"\x0b",
]  # fmt: skip
cells = st.sampled_from(["3", "7", "+3", "cat", " fox ", "é", "a,b", 'say "x"', "a|b", ""])


@st.composite
def csv_lines(draw):
    """A line with candidates, truth, two numbers, a word and a note, mostly good."""
    row = [
        "|".join(draw(st.lists(labels, min_size=1, max_size=3))),
        draw(st.sampled_from(["", "3", "cat"])),
        draw(numbers),
        draw(numbers),
        draw(cells),
        draw(cells),
    ]
    return ",".join(draw(quotings)(cell) for cell in row)


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


quotings = st.sampled_from([lambda c: quoted(c) if set(c) & {",", '"'} else c, quoted])


@st.composite
def csv_bodies(draw):
    """Lines behind a header, as bytes."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(draw(st.lists(csv_lines() | st.just(""), max_size=4)))
    return (text + draw(st.sampled_from(["", end]))).encode()
