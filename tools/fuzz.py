"""Feed mutated text to the compiled parsers and hold what they read against slow, simple ones.

``make fuzz`` runs this with parsers built under the address and undefined-behaviour sanitizers;
``python tools/fuzz.py --inputs 1000`` runs it with those that are installed. Each input is seeded
by its number, so that a finding can be repeated: ``--first NUMBER --inputs 1``. Even numbers are
svmlight, odd ones CSV.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from oneof import _kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import oracles

LONGEST = 64  # bytes of a line
LABELS = ["3", "7", "+3", "3.0", "-1", "cat", "é", "03", "b/c", "qid"]
PIECES = [
    b":", b",", b" ", b"#", b"\r", b"\n", b"\0", b"nan", b"-inf", b"1e999", b" 5:1", b" 5:1 5:1",
    b"qid:3 ", b"\xff", b"\xc3", b"truth=", b" # truth=7 truth=3", b"\xef\xbb\xbf", b"0x10", b"_",
    b" 2147483647:1", b" 99999999999:1", b"x" * 70, b".", b"e", b"+", b"-", b"\x7f",
    b"\xed\xa0\x80", b"00000000", b"99999999", b"1e-400", b"\t", b"\x0b", b'"', b'""', b'","', b"|",
    b" " * 45,
]  # fmt: skip
HEADER = ["label", "truth", "number", "number", "word", "ignored"]
NAMES = ["candidates", "truth", "a", "b", "word", "note"]
# The parser's kinds of columns, with and without a hash.
DENSE = {"ignored": 0, "label": 1, "truth": 2, "number": 3, "word": 0}
HASHED = {**DENSE, "number": 4, "word": 5}
HASHED_COLUMNS = 16

Row = tuple[Any, Any, Any]  # labels, features, truth


def number(rng: random.Random) -> str:
    """Write a number in one of many ways."""
    kind = rng.randrange(6)
    if kind == 0:
        return str(rng.randrange(256))
    if kind == 1:
        return repr(rng.uniform(-2, 2))
    if kind == 2:
        digits = rng.randrange(1, 20)
        return f"{rng.gauss(0, 1) * 10.0 ** rng.randrange(-320, 300):.{digits}g}"
    if kind == 3:
        text = "".join(rng.choices("0123456789", k=rng.randrange(1, 30)))
        point = rng.randrange(len(text) + 1)
        return f"{text[:point]}.{text[point:]}"
    if kind == 4:
        return f"{rng.randrange(10**18)}e{rng.randrange(-350, 350)}"
    return rng.choice(
        ["0", "-0.0", "5.", ".5", "1e38", "9007199254740993", "4.94065645841246e-324"]
    )


def svmlight_line(rng: random.Random) -> str:
    """Write a line of svmlight."""
    line = ",".join(rng.choices(LABELS, k=rng.randrange(1, 4)))
    for index in sorted(rng.sample(range(12), rng.randrange(5))):
        line += f"{rng.choice(' 	')}{index}:{number(rng)}"
    return line + rng.choice(["", "", " ", "# note", " # truth=3", " # truth=cat x"])


def csv_line(rng: random.Random) -> str:
    """Write a line of CSV."""
    cells = ["|".join(rng.choices(LABELS, k=rng.randrange(1, 4))), rng.choice(["", "3", "cat"])]
    cells += [number(rng), number(rng), rng.choice(["red", " blue ", "", "a,b"]), 'say "x"']
    marked = ['"' + c.replace('"', '""') + '"' for c in cells]
    return ",".join(
        m if "," in c or '"' in c or rng.random() < 0.2 else c
        for c, m in zip(cells, marked, strict=True)
    )


def mutated(rng: random.Random, line: Any) -> bytes:
    """Put lines together, then change a few bytes."""
    lines = [line(rng) for _ in range(rng.randrange(4))]
    text = bytearray(rng.choice(["\n", "\r\n"]).join(lines).encode())
    for _ in range(rng.randrange(4)):
        i, what = rng.randrange(len(text) + 1), rng.randrange(4)
        if what == 0:
            text[i:i] = rng.choice(PIECES)
        elif what == 1:
            text[i:i] = rng.randbytes(rng.randrange(1, 4))
        elif what == 2:
            del text[i : i + rng.randrange(1, 9)]
        elif i < len(text):
            text[i] ^= 1 << rng.randrange(8)
    return bytes(text)


def read(parser: Any, data: bytes, rng: random.Random, row_of: Any) -> tuple[list[Row], list[int]]:
    """Give the rows that a parser makes of a text, in pieces, and the lines that are bad."""
    text = bytearray(data if data.endswith(b"\n") else data + b"\n")
    ends = [i + 1 for i, byte in enumerate(text) if byte == 10]
    rows: list[Row] = []
    bad: list[int] = []
    start, line = 0, 0
    while start < len(text):
        block = rng.choice([end for end in ends if end > start])
        stop = parser.parse(text, start, block, rng.randrange(1, 4), 1 + rng.randrange(9))
        assert start <= stop <= block
        line += parser.n_lines
        if parser.fault[0]:
            line += 1
            bad.append(line)
            stop = text.index(b"\n", stop) + 1
        if stop == start or rng.random() < 0.5:
            rows += taken(parser, row_of)
        start = stop
    return rows + taken(parser, row_of), bad


def taken(parser: Any, row_of: Any) -> list[Row]:
    """Empty the parser's batch."""
    names = parser.names
    values, indices, indptr, sets, codes, truth = parser.take()
    rows = []
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        labels = {names[code] for code in codes[sets[i] : sets[i + 1]]}
        true = None if truth is None or truth[i] < 0 else names[truth[i]]
        rows.append((labels, row_of(indices[part], values[part]), true))
    return rows


def shared(is_labelled: bool) -> dict[str, Any]:
    """Give the options that every parser takes."""
    return {
        "classes": [],
        "is_integer": False,
        "is_labelled": is_labelled,
        "is_collecting": True,
        "most_classes": 100,
        "max_line": LONGEST,
    }


def svmlight(rng: random.Random, dtype: type) -> tuple[Any, ...]:
    """Parse an input in two ways: what is expected, what is found."""
    data = mutated(rng, svmlight_line)
    while data.startswith(b"\xef\xbb\xbf"):  # skipping it is not the parser's part
        data = data[3:]
    is_labelled, base = rng.random() < 0.8, rng.randrange(2)
    n_features, ignores_new = rng.choice([None, None, 8]), rng.random() < 0.5
    kind = _kernels.SvmlightParser32 if dtype is np.float32 else _kernels.SvmlightParser64
    parser = kind(
        **shared(is_labelled),
        index_base=base,
        n_features=-1 if n_features is None else n_features,
        ignores_new=ignores_new,
    )
    found = read(parser, data, rng, lambda i, v: dict(zip(i.tolist(), v.tolist(), strict=True)))
    rows = list(oracles.svmlight(data, dtype, is_labelled, base, n_features, ignores_new, LONGEST))
    expected = [
        (
            labels if is_labelled else set(),
            {i: float(v) for i, v in features.items()},
            truth if is_labelled else None,
        )
        for labels, features, truth in (row for _, row in rows if row)
    ]
    return data, (expected, [i for i, row in rows if not row]), found, set(parser.names)


def csv(rng: random.Random, dtype: type) -> tuple[Any, ...]:
    """Parse an input in two ways: what is expected, what is found."""
    delimiter = rng.choice([b",", b"\t"])
    data = mutated(rng, csv_line).replace(b",", delimiter)
    is_hashed = rng.random() < 0.5
    kinds = HEADER if is_hashed else ["ignored" if kind == "word" else kind for kind in HEADER]
    kind = _kernels.CsvParser32 if dtype is np.float32 else _kernels.CsvParser64
    parser = kind(
        **shared(True),
        delimiter=delimiter.decode(),
        width=HASHED_COLUMNS if is_hashed else 2,
        is_hashed=is_hashed,
    )
    codes = HASHED if is_hashed else DENSE
    parser.set_columns([(codes[kind], max(i - 2, 0) % 2, NAMES[i]) for i, kind in enumerate(kinds)])
    row_of = (
        (lambda i, v: dict(zip(i.tolist(), v.tolist(), strict=True)))
        if is_hashed
        else (lambda _, v: v.tolist())
    )
    found = read(parser, data, rng, row_of)
    rows = [(i - 1, row) for i, row in oracles.csv_rows(data, kinds, dtype, delimiter, LONGEST)]
    if is_hashed:
        rows = [(i, row and hashed(row, dtype)) for i, row in rows]
    else:
        rows = [(i, row and (row[0], [float(v) for v in row[1]], row[3])) for i, row in rows]
    good = [row for _, row in rows if row]
    return data, (good, [i for i, row in rows if not row]), found, set(parser.names)


def hashed(row: Any, dtype: type) -> Row | None:
    """Put the numbers and words of a row in their columns; a sum that overflows is bad."""
    labels, numbers, words, truth = row
    pairs = [*zip(("a", "b"), numbers, strict=True)]
    pairs += [(f"{NAMES[i]}={word}", dtype(1)) for i, word in words]
    features: dict[int, Any] = {}
    for name, value in pairs:
        column, sign = _kernels.hashed_place(name, HASHED_COLUMNS)
        with np.errstate(over="ignore"):
            features[column] = dtype(features.get(column, dtype(0)) + dtype(sign) * dtype(value))
    if any(np.isinf(value) for value in features.values()):
        return None
    return labels, {column: float(features[column]) for column in sorted(features)}, truth


def compare(number_of_input: int) -> int:
    """Parse one input; return its rows, or raise with what differs."""
    rng = random.Random(number_of_input)
    dtype = rng.choice([np.float32, np.float64])
    form = csv if number_of_input % 2 else svmlight
    data, expected, found, names = form(rng, dtype)
    words = {word for labels, _, truth in expected[0] for word in labels | {truth} - {None}}
    if found != expected or names != words:
        raise AssertionError(
            f"input {number_of_input}: {data!r} as {dtype}\n"
            f"expected {expected}\nfound    {found}, {names}"
        )
    return len(found[0]) + len(found[1])


def main() -> None:
    """Run the inputs and report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--first", type=int, default=0)
    chosen = options.parse_args()
    start, n_rows = time.monotonic(), 0
    last = chosen.first + chosen.inputs
    for i in range(chosen.first, last):
        n_rows += compare(i)
        if (i + 1) % 50_000 == 0 or i + 1 == last:
            taken_seconds = time.monotonic() - start
            print(
                f"{i + 1 - chosen.first} inputs, {n_rows} rows, {taken_seconds:.0f} s: "
                "no crash, none misread",
                flush=True,
            )


if __name__ == "__main__":
    main()
