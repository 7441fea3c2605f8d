"""From paths and options to a source: formats, and the first pass. No reading of rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.labels import given_classes
from oneof.readers.arrow import IpcReader, ParquetReader
from oneof.readers.bad_rows import BadRows
from oneof.readers.batch import Limits
from oneof.readers.csv_text import CsvReader, TsvReader
from oneof.readers.errors import InputError
from oneof.readers.files import InputFile, bare_name, joint_name, resolved
from oneof.readers.json_lines import JsonLinesReader
from oneof.readers.source import Source
from oneof.readers.svmlight import SvmlightReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from oneof.readers.reader import Reader

Paths = str | os.PathLike[str]

KINDS = (SvmlightReader, CsvReader, TsvReader, JsonLinesReader, ParquetReader, IpcReader)
FORMATS: dict[str, Any] = {kind.format: kind for kind in KINDS}
_BY_SUFFIX = {suffix: form for form, kind in FORMATS.items() for suffix in kind.suffixes}


def open_source(
    paths: Paths | Sequence[Paths],
    format: str | None = None,  # noqa: A002 - the word that everybody knows
    *,
    classes: npt.ArrayLike | None = None,
    labelled: bool = True,
    dtype: npt.DTypeLike = np.float32,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    hash_bits: int | None = None,
    new_features: str | None = None,
    zero_based: bool | str | None = None,
    label_column: str | None = None,
    truth_column: str | None = None,
    ignore_columns: Sequence[str] = (),
    categorical_columns: Sequence[str] = (),
    batch_rows: int | None = None,
    max_line: int | None = None,
    on_bad_row: str = "stop",
    rejects: Paths | None = None,
    prefetch: int = 2,
) -> Source:
    r"""Open files of candidate-labelled rows as a stream of bounded batches.

    Parameters
    ----------
    paths : path or sequence of paths
        Files in the order given, patterns such as ``"day-*.svm.gz"`` (their files sorted), or
        ``"-"`` for standard input; plain, or compressed by gzip, xz or zstandard.
    format : {"svmlight", "csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        By default what the files' names say.
    classes : array-like, optional
        The vocabulary in its order. By default a first pass over the input collects the labels of
        its good rows, which needs files that can be read twice; they are sorted, and integers if
        all of them are whole numbers (``3``, ``+3``, ``3.0``).
    labelled : bool, default=True
        False reads the features alone, for prediction: rows need no labels, and those they have
        are not looked up.
    dtype : dtype, default=float32
        Of the values, float32 or float64.
    n_features : int, optional
        The number of columns, where features have no names. By default it grows with what occurs.
    feature_names : sequence of str, optional
        The features that are known, in their order, where features have names.
    hash_bits : int, optional
        For CSV and JSON Lines: give each named feature one of 2 to the power of this many columns,
        as scikit-learn's ``FeatureHasher`` does.
    new_features : {"grow", "ignore", "refuse"}, optional
        What becomes of features beyond those declared: rows that have one are bad (``"refuse"``,
        the default), are read without it (``"ignore"``), or get a new column (``"grow"``, for
        names in JSON Lines; the default where nothing is declared).
    zero_based : bool or "auto", default=True
        For svmlight: whether the first feature is number 0, so that every index is taken as it is
        written, or number 1. ``"auto"`` says 1 if no row of the first pass has a feature 0.
    label_column, truth_column : str, optional
        For all but svmlight: the column (or key) of the candidates, ``"candidates"`` by default,
        and of the truth, by default ``"truth"`` if there is one.
    ignore_columns : sequence of str, optional
        For CSV, Parquet and Arrow: columns that are no features.
    categorical_columns : sequence of str, optional
        For CSV with `hash_bits`: columns of words; each becomes a feature ``column=word``.
    batch_rows : int, optional
        Most rows of a batch, 8192 by default; large rows make smaller batches.
    max_line : int, optional
        Most bytes of a line, 16 MiB by default; a longer one is a bad row and is never held.
    on_bad_row : {"stop", "skip"}, default="stop"
        Raise `BadRow` at the first row that cannot be read, or count it and go on.
    rejects : path, optional
        Where to keep skipped rows with their reasons, as JSON Lines.
    prefetch : int, default=2
        Batches that a thread reads ahead; 0 reads without a thread.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.svm"
    >>> _ = path.write_text("cat,fox 0:1 2:0.5\ndog 1:2  # truth=dog\n")
    >>> source = open_source(path)
    >>> for batch in source:
    ...     print(list(batch.candidates)[1], batch.truth, batch.X.shape)
    {'dog'} [-1  1] (2, 3)
    """
    for name, number in (("n_features", n_features), ("prefetch", prefetch)):
        _check_number(name, number, 2**31 - 1)
    _check_number("hash_bits", hash_bits, 30)
    files = [InputFile(path) for path in resolved(paths)]
    kind = _kind(format or _format_of(files))
    options = _options(
        kind,
        n_features=n_features,
        feature_names=None if feature_names is None else list(feature_names),
        hash_bits=hash_bits,
        zero_based=zero_based,
        label_column=label_column,
        truth_column=truth_column,
        ignore_columns=tuple(ignore_columns),
        categorical_columns=tuple(categorical_columns),
        new_features=new_features,
    )
    limits = Limits.of(batch_rows, max_line)
    shared = {"dtype": dtype, "limits": limits, "is_labelled": labelled}
    bad_rows = BadRows(on_bad_row, rejects)
    vocabulary = None if classes is None else given_classes(classes)
    unknown = ["zero_based"] if options.get("zero_based") == "auto" else []
    unknown += ["classes"] if labelled and classes is None else []
    width = 0
    settings = {"format": kind.format, **options}
    if unknown:
        first = kind(None, bad_rows=BadRows(on_bad_row), **shared, **options)
        _pass_over(files, first, unknown[0])
        found = first.found()
        if not found["width"]:
            raise InputError(
                joint_name(files), "no row has a feature: check that the format is right"
            )
        vocabulary = found["classes"] if "classes" in unknown else vocabulary
        options |= {name: found[name] for name in unknown if name != "classes"}
        if "feature_names" in found:
            options["feature_names"] = found["feature_names"]
        width = found["width"]
    reader = kind(vocabulary, bad_rows=bad_rows, **shared, **options)
    reader.widen(width)
    return Source(files, reader, settings, prefetch)


def _check_number(name: str, value: Any, most: int) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= most):
        raise ValueError(f"{name} must be an integer between 0 and {most}, not {value!r}")


# What an option is where it is not given.
_DEFAULTS = {"zero_based": True, "label_column": "candidates"}


def _options(kind: Any, new_features: str | None, **given: Any) -> dict[str, Any]:
    """Return the options of a format; one that it does not have must not be given."""
    options = {}
    for name, value in given.items():
        if name in kind.options:
            options[name] = _DEFAULTS.get(name) if value is None else value
        elif value not in (None, ()):
            raise ValueError(f"{name} means nothing to {kind.format}: leave it out")
    is_declared = options.get("feature_names") is not None or (
        options.get("n_features") is not None and not kind.can_grow
    )
    options["new_features"] = _growth(new_features, is_declared, kind.can_grow)
    return options


def _format_of(files: Sequence[InputFile]) -> str:
    """Return the format that all names agree on."""
    formats = [format_of_name(file.path) for file in files]
    for file, form in zip(files, formats, strict=True):
        if form is None:
            raise InputError(
                file.name,
                f"the name does not tell the format: name it, one of {', '.join(FORMATS)}",
            )
        if form != formats[0]:
            raise InputError(
                file.name, f"is {form}, but {files[0].name} is {formats[0]}: read them one by one"
            )
    return str(formats[0])


def format_of_name(name: str) -> str | None:
    """Return the format that a file's name tells, if it does."""
    return _BY_SUFFIX.get(bare_name(name)[0].rpartition(".")[2].lower())


def _kind(form: str) -> Any:
    if form not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {form!r}")
    return FORMATS[form]


def _growth(new_features: str | None, is_declared: bool, can_grow: bool) -> str:
    """Return what becomes of features that were not declared."""
    allowed = (("refuse", "ignore") if is_declared else ()) + ("grow",) * (
        can_grow or not is_declared
    )
    if new_features is None:
        return allowed[0]
    if new_features not in allowed:
        raise ValueError(
            f"new_features must be {' or '.join(map(repr, allowed))} where the features are "
            f"{'declared' if is_declared else 'not declared'}, not {new_features!r}"
        )
    return new_features


def _pass_over(files: Sequence[InputFile], reader: Reader, unknown: str) -> None:
    """Read everything once, to find what is unknown."""
    for file in files:
        if not file.is_regular:
            raise InputError(
                file.name,
                f"can be read only once, so a first pass cannot find the {unknown}: name them",
            )
    source = Source(files, reader, {}, prefetch=0)
    for _ in source:
        pass
    source.refuse_empty()
