"""The command `oneof predict`: parses, calls, prints; no logic."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from oneof.cli.options import Files, ModelPath, To, one_of, opened_for, with_options_beside_a_model


@with_options_beside_a_model
def predict(
    files: Files,
    model: ModelPath,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write, .csv, .tsv, .jsonl, .parquet or .arrow.",
        ),
    ] = "-",
    to: To = None,
    top: Annotated[
        int, typer.Option(min=0, help="Write this many best labels with their scores.")
    ] = 0,
    scores: Annotated[
        bool, typer.Option("--scores", help="Write the score of every class.")
    ] = False,
    **reading: Any,
) -> None:
    """Predict the label of every row of files of any size, in bounded memory.

    Rows need no labels; those they have are not looked at. Features that the model does not know
    are left out. Predictions go to the standard output, as CSV, if no other place is named.

    For example:

    - `oneof predict new.svm --model clicks.oneof -o predictions.csv`
    - `oneof predict new.svm --model clicks.oneof --top 3 -o best.jsonl`
    - `cat new.svm | oneof predict - --model clicks.oneof --format svmlight | sort | uniq -c`
    """
    import oneof
    from oneof.readers.opening import format_of_name
    from oneof.streaming.prediction import Wanted, checked, columns_of
    from oneof.writers import TABLES, open_table

    if to is not None:
        one_of("--to", to, TABLES)
    estimator = oneof.load(model)
    wanted = checked(Wanted(top, scores), estimator)
    source = opened_for(estimator, files, reading, labelled=False)
    with open_table(output, to or format_of_name(output) or "csv") as table:
        n_written = 0
        for batch in source:
            table.write(columns_of(estimator, batch.X, wanted))
            n_written += len(batch)
        if not n_written:
            raise ValueError("there are no rows: nothing was written")
