"""From a path to a writer: formats, compression, standard output. No rows."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from oneof.persistence.atomic import replacing
from oneof.readers.files import STANDARD_INPUT, bare_name, zstandard
from oneof.readers.opening import format_of_name
from oneof.writers.rows import ROWS, RowWriter
from oneof.writers.tables import TABLES, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OUTPUT = "standard output"


@contextmanager
def open_writer(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word that everybody knows
    *,
    feature_names: Sequence[str] | None = None,
) -> Iterator[RowWriter]:
    """Open a file for rows with candidates, which appears once the block ends without an error.

    Parameters
    ----------
    path : path
        ``"-"`` is standard output. Text is compressed if the name ends in .gz, .xz or .zst.
    format : {"svmlight", "csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        By default what the name says.
    feature_names : sequence of str, optional
        Names for formats that have them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from oneof import CandidateSets
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.svm"
    >>> with open_writer(path) as writer:
    ...     Y = CandidateSets.from_sets([{"cat", "fox"}, {"dog"}])
    ...     writer.write(np.array([[0.5, 0], [0, 2]]), Y, truth=np.array([-1, 1]))
    >>> print(path.read_text(), end="")
    cat,fox 0:0.5
    dog 1:2.0 # truth=dog
    """
    kind = _kind(path, format, ROWS)
    with _opened(path) as file:
        names = None if feature_names is None else list(feature_names)
        with _finished(kind(file, names)) as writer:
            yield writer


@contextmanager
def open_table(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word that everybody knows
) -> Iterator[Table]:
    """Open a file for a table of named columns, such as predictions, as `open_writer` does.

    Formats are csv, tsv, jsonl, parquet and arrow. ``write`` takes a mapping of equally long
    columns, the same ones each time; a column may hold lists, except in csv and tsv.

    Examples
    --------
    >>> with open_table("-", "csv") as table:
    ...     table.write({"row": [0, 1], "label": ["cat", "dog, old"]})
    row,label
    0,cat
    1,"dog, old"
    """
    kind = _kind(path, format, TABLES)
    with _opened(path) as file, _finished(kind(file)) as table:
        yield table


def _kind(path: Any, form: str | None, kinds: Mapping[str, Any]) -> Any:
    name = os.fspath(path)
    form = form or format_of_name(name)
    if form is None or form not in kinds:
        what = "the format is not named" if form is None else f"{form!r} cannot be written"
        raise ValueError(f"{name}: {what}: choose one of {', '.join(kinds)}")
    return kinds[form]


@contextmanager
def _finished(writer: Any) -> Iterator[Any]:
    try:
        yield writer
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


@contextmanager
def _opened(path: Any) -> Iterator[Any]:
    """Open for writing: standard output, or a file that takes its place at the end."""
    if os.fspath(path) == STANDARD_INPUT:
        sys.stdout.flush()
        try:
            yield _standard_output()
            sys.stdout.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename or _OUTPUT) from None
        return
    with replacing(path) as file:
        openers: dict[str, Any] = {
            "gz": lambda f, mode: gzip.GzipFile("", mode, fileobj=f, mtime=0),
            "xz": lzma.open,
            "zst": lambda f, _: zstandard().open(f, "wb"),
        }
        compression = bare_name(os.fspath(path))[1]
        if not compression:
            yield file
            return
        with openers[compression](file, "wb") as stream:
            yield stream


def _standard_output() -> Any:
    """Return what takes bytes: consoles that are replaced may have no buffer of bytes."""
    return getattr(sys.stdout, "buffer", None) or _TextOutput()


class _TextOutput:
    def write(self, data: bytes) -> None:
        sys.stdout.write(data.decode())
