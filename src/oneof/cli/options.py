"""Options that several commands share, and how they become a source; no logic of learning."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneof.online import OnlineClassifier
    from oneof.readers import Source

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files, patterns such as 'day-*.svm.gz', or - for standard input; plain or gz, xz, "
        "zst.",
        show_default=False,
    ),
]
ModelPath = Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help="A model file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
To = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", show_default=False,
                 help="What to write, if the output's name does not say it."),
]  # fmt: skip


def _reading(kind: Any, *names: str, **more: Any) -> Any:
    return Annotated[
        kind, typer.Option(*names, rich_help_panel="How to read", show_default=False, **more)
    ]


_COLUMN = {"metavar": "NAME"}
# By the readers' own names, but for one_based, which stands for zero_based=False.
READING: dict[str, Any] = {
    "format": _reading(
        str | None, "--format", "-f",
        help="svmlight, csv, tsv, jsonl, parquet or arrow, if the files' names do not say it.",
    ),
    "label_column": _reading(
        str | None, "--label-column", **_COLUMN, help="Where the candidates are. [candidates]"
    ),
    "truth_column": _reading(
        str | None, "--truth-column", **_COLUMN, help="Where the truth is. [truth, if there is one]"
    ),
    "ignore_columns": _reading(
        list[str] | None, "--ignore-column", **_COLUMN,
        help="A column that is no feature; may be given several times.",
    ),
    "categorical_columns": _reading(
        list[str] | None, "--categorical-column", **_COLUMN,
        help="A CSV column of words, with --hash-bits; may be given several times.",
    ),
    "hash_bits": _reading(
        int | None, "--hash-bits", min=1, max=30, metavar="BITS",
        help="Hash the features' names to 2 to the power of this many columns.",
    ),
    "one_based": _reading(
        bool | None, "--one-based",
        help="svmlight: features count from 1. Otherwise an index is taken as it is written.",
    ),
    "on_bad_row": _reading(
        str | None, "--on-bad-row", metavar="stop|skip",
        help="What to do at a row that cannot be read: stop and say where, or count it and go on. "
        "[stop]",
    ),
    "rejects": _reading(
        Path | None, "--rejects", metavar="FILE",
        help="Keep skipped rows and what was wrong with them, as JSON Lines.",
    ),
}  # fmt: skip
# Models remember these.
_REMEMBERED = {"one_based", "hash_bits", "categorical_columns", "ignore_columns"}


def with_options(command: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """Give a command these options, all None by default, in place of its last `**options`."""
    signature = inspect.signature(command, eval_str=True)
    parameters = list(signature.parameters.values())
    *fixed, rest = parameters
    assert rest.kind is rest.VAR_KEYWORD, "there is room for options"
    added = [
        inspect.Parameter(name, rest.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]
    vars(command)["__signature__"] = signature.replace(parameters=[*fixed, *added])
    return command


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of readers."""
    return with_options(command, READING)


def with_options_beside_a_model(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of readers that its model does not remember."""
    return with_options(command, {n: v for n, v in READING.items() if n not in _REMEMBERED})


def opened(files: list[str], options: dict[str, Any], **more: Any) -> Source:
    """Open a source with the options that were given; None stands for the reader's own choice."""
    from oneof.readers import open_source

    options = {**options, **more}
    if options.pop("one_based", None):
        options["zero_based"] = False
    return open_source(files, **{n: v for n, v in options.items() if v is not None})


def opened_for(
    estimator: OnlineClassifier,
    files: list[str],
    options: dict[str, Any],
    *,
    is_growing: bool = False,
    **more: Any,
) -> Source:
    """Open a source whose rows become features as the model's did; new ones are left out.

    Unless the model is growing: then they join, where the format has room for them.
    """
    from oneof.readers import FORMATS
    from oneof.readers.files import resolved
    from oneof.readers.opening import format_of_name

    known: dict[str, Any] = dict(getattr(estimator, "reading_", {}))
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        known["feature_names"] = list(names)
    elif not is_growing and "hash_bits" not in known:
        known["n_features"] = estimator.model_.n_features
    kind = FORMATS.get(options.get("format") or format_of_name(resolved(files)[0]) or "")
    fitting = {n: v for n, v in known.items() if kind is not None and n in kind.options}
    is_declared = "feature_names" in fitting or (
        "n_features" in fitting and kind is FORMATS["svmlight"]
    )
    if is_growing and kind is not None and kind.can_grow:
        fitting["new_features"] = "grow"
    elif is_declared and not is_growing:
        fitting["new_features"] = "ignore"
    given = {name: value for name, value in options.items() if value is not None}
    shared = {"classes": estimator.classes_, "dtype": estimator.model_.dtype}
    return opened(files, {**fitting, **shared, **given}, **more)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """Return a value that is among the choices, or raise and suggest one."""
    known = list(choices)
    if value in known:
        return value
    near = get_close_matches(value, known, 1, 0.5)
    hint = f": did you mean {near[0]}?" if near else f": choose from {', '.join(known)}"
    raise ValueError(f"{name} {value!r} is unknown{hint}")
