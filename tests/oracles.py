"""Slow and simple readers of the text formats, which the fast ones must agree with.

They know nothing of `oneof`: a row is a tuple of labels, features and truth; a bad row is None.
"""

import re

import numpy as np

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
INDEX = re.compile(rb"\d{1,10}", re.ASCII)
WHOLE = re.compile(r"([+-]?)(0|[1-9]\d*)(\.0+)?", re.ASCII)
LARGEST_INDEX = 2**31 - 2


class Bad(Exception):  # noqa: N818 - never shown
    """The row is not to be read."""


def number(text, dtype):
    """The value of a decimal number, or Bad."""
    if not NUMBER.fullmatch(text):
        raise Bad
    with np.errstate(over="ignore"):
        value = dtype(float(text))
    if np.isinf(value):
        raise Bad
    return value


def whole_number(word):
    """The integer that a word is, or None."""
    match = WHOLE.fullmatch(word)
    return int(match[1] + match[2]) if match else None


def name(text):
    """A label, or Bad."""
    if not text or any(byte <= 0x20 or byte == 0x7F or byte in b",:#" for byte in text):
        raise Bad
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Bad from None


def svmlight(data, dtype, is_labelled=True, base=0, n_features=None, ignores_new=False, longest=64):
    """Give (line number, row or None) of each line that is a row or bad."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for i, line in enumerate(lines, 1):
        try:
            row = _row(line.removesuffix(b"\r"), dtype, is_labelled, base)
            if len(line) > longest:
                raise Bad
            if row is None:
                continue
            labels, features, truth = row
            if n_features is not None:
                if any(index >= n_features for index in features) and not ignores_new:
                    raise Bad
                features = {index: v for index, v in features.items() if index < n_features}
            yield i, (labels, features, truth)
        except Bad:
            yield i, None


def _row(line, dtype, is_labelled, base):
    body, _, comment = line.partition(b"#")
    if b"\0" in comment:
        raise Bad
    words = [word for word in re.split(b"[ \t]+", body) if word]
    if not words:
        return None
    labels = set()
    if is_labelled or b":" not in words[0].split(b",")[0]:
        labels = {name(part) for part in words.pop(0).split(b",")}
    features, last = {}, -1
    for word in words:
        index, colon, value = word.partition(b":")
        if not colon or not INDEX.fullmatch(index) or not 0 <= int(index) - base <= LARGEST_INDEX:
            raise Bad
        if int(index) - base <= last:
            raise Bad
        last = int(index) - base
        features[last] = number(value, dtype)
    truths = [w[6:] for w in re.split(b"[ \t]+", comment) if w.startswith(b"truth=")]
    if len(truths) > 1:
        raise Bad
    return labels, features, name(truths[0]) if truths else None


def fields(line, delimiter):
    """The fields of a line of CSV, or Bad."""
    blanks = b" " if delimiter == b"\t" else b" \t"
    found, rest = [], line
    while True:
        rest = rest.lstrip(blanks)
        if rest.startswith(b'"'):
            match = re.match(rb'"((?:[^"]|"")*)"(.*)', rest, re.DOTALL)
            if not match:
                raise Bad
            held, rest = match[1].replace(b'""', b'"'), match[2].lstrip(blanks)
            if rest and not rest.startswith(delimiter):
                raise Bad
            more, rest = rest.startswith(delimiter), rest[1:]
        else:
            held, more, rest = rest.partition(delimiter)
            held = held.rstrip(blanks)
            if b'"' in held:
                raise Bad
        if any(byte < 0x20 and byte != 0x09 for byte in held):
            raise Bad
        found.append(held)
        if not more:
            return found


def csv_line(line, kinds, dtype, delimiter):
    """The (labels, numbers, truth) of a line, its words as (place, word); or Bad; None if empty."""
    if not line.strip(b" " if delimiter == b"\t" else b" \t"):
        return None
    cells = fields(line, delimiter)
    if len(cells) != len(kinds):
        raise Bad
    labels, truth, numbers, words = None, None, [], []
    for i, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        if kind == "ignored":
            continue
        if kind == "number":
            numbers.append(number(cell, dtype))
            continue
        try:
            text = cell.decode()
        except UnicodeDecodeError:
            raise Bad from None
        if kind == "label":
            labels = {part.strip(" ") for part in text.split("|")}
            if "" in labels:
                raise Bad
        elif kind == "truth":
            truth = text or None
        else:
            words.append((i, text))
    return labels, numbers, words, truth


def csv_rows(data, kinds, dtype, delimiter=b",", longest=64):
    """Give (line number, row or None) of each line behind the header that is a row or bad."""
    for i, line in enumerate(data.split(b"\n"), 2):
        try:
            row = csv_line(line.removesuffix(b"\r"), kinds, dtype, delimiter)
            if row is None:
                continue
            if len(line) > longest:
                raise Bad
            yield i, row
        except Bad:
            yield i, None
