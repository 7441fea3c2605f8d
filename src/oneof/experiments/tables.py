"""The tidy tables of an experiment, and CSV files of them; no learning, no judgement."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt

    from oneof.experiments.run import Results, Series


class ResultRow(NamedTuple):
    """The final averages of one cell; a standard error is missing where there is one run."""

    dataset: str
    size: int
    learner: str
    alpha: float | None
    rounds: int
    runs: int
    error: float
    error_se: float | None
    mistakes: float
    mistakes_se: float | None


class CurveRow(NamedTuple):
    """The error rate over the first `round` rounds, averaged over runs."""

    dataset: str
    size: int
    learner: str
    round: int
    error: float
    error_se: float | None


class RunRow(NamedTuple):
    """The final rates of one run."""

    dataset: str
    size: int
    learner: str
    run: int
    error: float
    mistakes: float


class TuningRow(NamedTuple):
    """The rate of mistakes that one λ cost on the tuning runs."""

    dataset: str
    size: int
    learner: str
    alpha: float
    mistakes: float


AnyRow = TypeVar("AnyRow", bound=NamedTuple)


def result_rows(results: Results) -> list[ResultRow]:
    """Tabulate the final averages."""
    rows = []
    for s in results.series:
        finals = np.stack([s.error_rates[:, -1], s.mistake_rates], axis=1)
        (error, mistakes), (error_se, mistakes_se) = _mean_and_se(finals)
        counts = (s.rounds, len(finals))
        rows.append(ResultRow(*_key(s), s.alpha, *counts, error, error_se, mistakes, mistakes_se))
    return rows


def curve_rows(results: Results) -> list[CurveRow]:
    """Tabulate the error rates over the rounds."""
    rows = []
    for s in results.series:
        points = zip(s.checkpoints.tolist(), *_mean_and_se(s.error_rates), strict=True)
        rows += [CurveRow(*_key(s), *point) for point in points]
    return rows


def run_rows(results: Results) -> list[RunRow]:
    """Tabulate what single runs ended with: what differences are paired over."""
    return [
        RunRow(*_key(s), i, float(error), float(mistakes))
        for s in results.series
        for i, (error, mistakes) in enumerate(
            zip(s.error_rates[:, -1], s.mistake_rates, strict=True), start=1
        )
    ]


def tuning_rows(results: Results) -> list[TuningRow]:
    """Tabulate what every λ cost."""
    return [
        TuningRow(t.dataset, t.cell.size, t.cell.learner, alpha, rate)
        for t in results.tuning
        for alpha, rate in zip(t.alphas, t.mistake_rates, strict=True)
    ]


def csv_text(kind: type[AnyRow], rows: Iterable[AnyRow]) -> str:
    """Return a table as CSV, the same text for the same rows on every machine.

    Examples
    --------
    >>> print(csv_text(TuningRow, [TuningRow("ecoli", 2, "avg-pegasos", 0.1, 1 / 3)]), end="")
    dataset,size,learner,alpha,mistakes
    ecoli,2,avg-pegasos,0.1,0.3333333333
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind._fields)
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def read_csv(path: Path, kind: type[AnyRow]) -> list[AnyRow]:
    """Read a table that `csv_text` wrote."""
    hints = get_type_hints(kind)
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        if tuple(next(reader, ())) != kind._fields:
            raise ValueError(f"{path} does not have the columns {', '.join(kind._fields)}")
        return [kind(*map(_value, hints.values(), row)) for row in reader]


def _key(series: Series) -> tuple[str, int, str]:
    return series.dataset, series.cell.size, series.cell.learner


def _mean_and_se(rates: npt.NDArray[np.float64]) -> tuple[list[float], list[float | None]]:
    """Return each column's mean over runs, and the mean's standard error."""
    n = len(rates)
    if n == 1:
        return rates[0].tolist(), [None] * rates.shape[1]
    return rates.mean(axis=0).tolist(), (rates.std(axis=0, ddof=1) / math.sqrt(n)).tolist()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return format(value, ".10g") if isinstance(value, float) else str(value)


def _value(hint: Any, text: str) -> Any:
    if hint in (str, int, float):
        return hint(text)
    kind, _ = get_args(hint)  # a kind, or None
    return kind(text) if text else None
