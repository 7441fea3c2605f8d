"""The commands `oneof convert` and `oneof ambiguate`: parse, call, print; no logic."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from oneof.cli.options import Files, To, one_of, opened, with_reading_options

Output = Annotated[
    str,
    typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is standard output.",
                 show_default=False),
]  # fmt: skip


@with_reading_options
def convert(files: Files, output: Output, to: To = None, **reading: Any) -> None:
    """Write files of candidate-labelled rows in another format, in bounded memory.

    The formats are svmlight, csv, tsv, jsonl, parquet and arrow; a name that ends in .gz, .xz or
    .zst is compressed. The output appears whole or not at all.

    For example:

    - `oneof convert clicks.svm -o clicks.parquet`
    - `oneof convert pets.csv --label-column kind -o pets.jsonl.gz`
    """
    from oneof.streaming.conversion import converted

    source = opened(files, reading)
    n = converted(source, output, _format(to, output))
    _say(n, source.n_skipped, output)


@with_reading_options
def ambiguate(
    files: Files,
    output: Output,
    to: To = None,
    size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Sets of this size: the label and others drawn at random.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            show_default=False,
            help="Add every wrong label with this probability, independently.",
        ),
    ] = None,
    ambiguous: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            show_default=False,
            help="Make this share of the rows ambiguous, with --extra wrong labels.",
        ),
    ] = None,
    extra: Annotated[int, typer.Option(min=1, help="With --ambiguous: how many wrong labels.")] = 1,
    partner: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            show_default=False,
            help="With --ambiguous: how likely the next class is one of them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The sets follow from it.")] = 0,
    keep_truth: Annotated[
        bool, typer.Option("--truth/--no-truth", help="Write the true label beside the set.")
    ] = True,
    **reading: Any,
) -> None:
    """Turn an exactly labelled file into one of candidate sets, to try learners on.

    For example:

    - `oneof ambiguate digits.svm --size 3 -o ambiguous.svm`
    - `oneof ambiguate digits.svm --rate 0.2 --no-truth -o ambiguous.jsonl`
    - `oneof ambiguate digits.svm --ambiguous 0.5 --extra 2 --partner 0.9 -o ambiguous.svm`
    """
    from oneof.streaming.conversion import Ambiguity, converted

    given = {"--size": size, "--rate": rate, "--ambiguous": ambiguous}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError("say how to choose the wrong labels: one of --size, --rate, --ambiguous")
    change = Ambiguity(
        size=size, rate=rate, share=ambiguous, extra=extra, partner=partner, seed=seed,
        keep_truth=keep_truth,
    )  # fmt: skip
    source = opened(files, reading)
    n = converted(source, output, _format(to, output), change)
    _say(n, source.n_skipped, output)


def _format(to: str | None, output: str) -> str | None:
    from oneof.writers import ROWS

    return one_of("--to", to, ROWS) if to is not None else "svmlight" if output == "-" else None


def _say(n: int, n_skipped: int, output: str) -> None:
    if output != "-":
        skipped = f", {n_skipped} bad rows skipped" if n_skipped else ""
        print(f"{n} rows written to {output}{skipped}")
