"""The sentences for what can be wrong with a row of text; the names are those of parse.hpp."""

from __future__ import annotations

_SENTENCES = {
    "no_label": "the row has no candidate label{but_starts}",
    "empty_label": "the labels {text} have an empty name: write one name between commas",
    "bad_label": "the label {text} holds a character that a label may not: write names without "
    "control characters",
    "not_utf8": "the label {text} is not UTF-8: convert the file to UTF-8",
    "colon_in_label": "the label {text} holds a colon, which belongs to features: separate labels "
    "by commas and features by spaces",
    "few_fields": "the row has {n_fields} fields, but the header names {n_columns} columns: check "
    "its quotes and delimiters",
    "many_fields": "the row has more fields than the {n_columns} columns that the header names: "
    "check its quotes and delimiters",
    "bad_quote": "the field {text} has a quote out of place: put fields with quotes in quotes, "
    "double those inside, and keep a field on its line",
    "empty_number": "the value of column {column} is empty: drop the row, or impute the value",
    "control_byte": "the field {text} holds a control character: the file is damaged, or not text",
    "unknown_label": "the label {text} is not among the {n_classes} classes: correct it, or name "
    "it in `classes`",
    "many_labels": "{text} is one more label than the {most_classes} that a first pass collects: "
    "check that these are labels, or name the `classes`",
    "two_truths": "the comment names a second truth, {text}: keep one",
    "bad_truth": "the comment gives {text} as the truth, which is not one label: write truth=NAME",
    "qid": "{text} groups rows into queries, which learning from candidates does not: remove it",
    "bad_feature": "{text} is not a feature: write INDEX:VALUE",
    "bad_index": "{text} is not a feature: write INDEX:VALUE with a whole, positive index",
    "zero_index": "the feature index {text} is below 1, though indices are said to count from 1: "
    "read the file with zero_based=True",
    "large_index": "the feature index {text} is beyond 2147483646: number the features from 0",
    "unknown_feature": "the feature index {text} is beyond the {n_features} features, which count "
    "from {index_base}: check the file, or the numbering with zero_based",
    "unordered": "the feature index {text} comes after a larger one: sort the features of the row",
    "repeated": "the feature index {text} occurs twice: keep one",
    "bad_number": "the value {text}{of_column} is not a number: {write_number}",
    "not_finite": "the value {text}{of_column} is not finite: drop the row, or impute the value",
    "large_number": "the value {text}{of_column} is too large for {dtype}: scale the feature down",
    "null_byte": "the row holds a NUL byte: the file is damaged, or not text in UTF-8",
    "long_line": "the line is longer than {max_line} bytes: is this the right file? "
    "(max_line sets the limit)",
}


def sentence(fault: str, text: bytes, **known: object) -> str:
    """Say what is wrong with a row, and what to do about it."""
    column = known.get("column")
    known["of_column"] = f" of column {column}" if column else ""
    known["write_number"] = (
        "write a decimal number, or say with ignore_columns or categorical_columns (and "
        "hash_bits) that the column holds words"
        if column
        else "write a decimal number"
    )
    known["but_starts"] = (
        ": name at least one"
        if column
        else f" before the feature {shown(text)}: begin it with its candidates, separated by commas"
    )
    return _SENTENCES[fault].format(text=shown(text), **known)


def shown(text: bytes, most: int = 60) -> str:
    """Write a piece of a file for a message: one line, nothing invisible."""
    written = repr(text.decode("utf-8", "backslashreplace"))
    return written if len(written) <= most else written[: most - 1] + "…'"
