"""The command `oneof evaluate`: parses, calls, prints; no logic."""

from __future__ import annotations

import json
from typing import Any

from oneof.cli.options import AsJson, Files, ModelPath, opened_for, with_options_beside_a_model

_MOST_SHOWN = 20


@with_options_beside_a_model
def evaluate(files: Files, model: ModelPath, as_json: AsJson = False, **reading: Any) -> None:
    """Say how well a model does on labelled files, without learning from them.

    Mistakes are predictions outside the row's candidates; they need no truth. Where the truth is
    given, or every row has a single label, there are also errors, how often the sets hold the
    truth, a line per class and the confusion matrix.

    For example:

    - `oneof evaluate test.svm --model clicks.oneof`
    - `oneof evaluate test.svm --model clicks.oneof --json > report.json`
    """
    import oneof
    from oneof.streaming.evaluation import Evaluation

    estimator = oneof.load(model)
    source = opened_for(estimator, files, reading)
    evaluation = Evaluation(estimator)
    for batch in source:
        evaluation.add(batch)
    report = {**evaluation.report(), "skipped": source.n_skipped}
    print(json.dumps(report) if as_json else "\n".join(_text(report)))


def _text(report: dict[str, Any]) -> list[str]:
    lines = [
        f"rows                {report['rows']}",
        f"mistakes            {_percent(report['mistakes'])}",
        f"mean set size       {_number(report['mean_size'])}",
    ]
    if report["skipped"]:
        lines.append(f"bad rows skipped    {report['skipped']}")
    if not report["known"]:
        return [*lines, "error               - (the truth is not given)"]
    lines += [
        f"error               {_percent(report['error'])} of {report['known']} known truths",
        f"coverage            {_percent(report['coverage'])}",
    ]
    return lines + _class_table(report["classes"]) + _matrix(report)


def _class_table(classes: list[dict[str, Any]]) -> list[str]:
    width = max(len(str(row["label"])) for row in classes)
    width = max(width, 5)
    lines = ["", f"{'class':<{width}}{'rows':>10}{'predicted':>11}{'recall':>10}{'precision':>11}"]
    lines += [
        f"{row['label']!s:<{width}}{row['rows']:>10}{row['predicted']:>11}"
        f"{_percent(row['recall']):>10}{_percent(row['precision']):>11}"
        for row in classes
    ]
    return lines


def _matrix(report: dict[str, Any]) -> list[str]:
    labels = [str(row["label"]) for row in report["classes"]]
    if len(labels) > _MOST_SHOWN:
        return ["", f"The confusion matrix of {len(labels)} classes is in the output of --json."]
    table = [
        ["", *labels],
        *([a, *map(str, n)] for a, n in zip(labels, report["confusion"], strict=True)),
    ]
    widths = [max(len(row[i]) for row in table) for i in range(len(labels) + 1)]
    rows = ["  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in table]
    return ["", "truth down, prediction across", *rows]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.2%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
