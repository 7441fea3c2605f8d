# The compiled module as Python sees it; src/kernels/bindings.cpp says what each name checks.
from typing import Any

import numpy as np
import numpy.typing as npt

isa: str
builds: tuple[str, ...]
alignment: int

def padded(n_classes: int, itemsize: int) -> int: ...

class Loss:
    avg: Loss
    max: Loss
    soft: Loss
    log: Loss

class Rule:
    perceptron: Rule
    pegasos: Rule
    passive_aggressive: Rule
    gradient: Rule

class Variant:
    pa: Variant
    pa_1: Variant
    pa_2: Variant

class Learner:
    def __init__(
        self,
        loss: Loss,
        rule: Rule,
        *,
        beta: float = ...,
        eta0: float = ...,
        update: bool = ...,
        alpha: float = ...,
        shrink: bool = ...,
        C: float = ...,
        variant: Variant = ...,
        exact: bool = ...,
        step: bool = ...,
    ) -> None: ...

class Rows:
    @staticmethod
    def dense(X: npt.NDArray[Any]) -> Rows: ...
    @staticmethod
    def csr(
        data: npt.NDArray[Any],
        indices: npt.NDArray[Any],
        indptr: npt.NDArray[Any],
        n_features: int,
    ) -> Rows: ...
    def check(self) -> tuple[str, int, int, float]: ...
    def __len__(self) -> int: ...

class Weights:
    def __init__(
        self,
        weights: npt.NDArray[Any],
        scale: npt.NDArray[np.float64],
        counters: npt.NDArray[np.int64],
        n_classes: int,
        has_intercept: bool,
        is_averaged: bool,
        moments: npt.NDArray[np.float64] | None = None,
    ) -> None: ...

class Team:
    def __init__(
        self,
        learners: list[Learner],
        members: list[Weights],
        is_scaled: list[bool],
        front: Weights,
        rate: float,
    ) -> None: ...

def learn_team(
    team: Team,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int32],
    *,
    order: npt.NDArray[np.int64] | None = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    predictions: npt.NDArray[np.int32],
) -> tuple[int, int]: ...
def score_team(
    team: Team,
    rows: Rows,
    *,
    scores: npt.NDArray[Any] | None = None,
    predictions: npt.NDArray[np.int32] | None = None,
) -> int: ...
def learn(
    learner: Learner,
    weights: Weights,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int32],
    *,
    order: npt.NDArray[np.int64] | None = None,
    sample_weight: npt.NDArray[np.float64] | None = None,
    predictions: npt.NDArray[np.int32] | None = None,
) -> int: ...
def score(
    weights: Weights,
    rows: Rows,
    *,
    scores: npt.NDArray[Any] | None = None,
    predictions: npt.NDArray[np.int32] | None = None,
) -> int: ...
def learn_one(
    learner: Learner,
    weights: Weights,
    columns: dict[Any, int] | int,
    labels: dict[Any, int],
    x: Any,
    y: Any,
    weight: Any,
) -> int: ...
def predict_one(weights: Weights, columns: dict[Any, int] | int, x: Any) -> int: ...
def scores_one(weights: Weights, columns: dict[Any, int] | int, x: Any) -> list[float]: ...
def codes_many(
    labels: dict[Any, int], ys: list[Any], start: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]: ...
def hashed_place(name: Any, n: int) -> tuple[int, int]: ...

class RowParser32:
    fault: tuple[str, int, bytes]
    names: list[str]
    n_rows: int
    n_lines: int
    width: int
    least: int
    def parse(
        self, text: bytearray, start: int, stop: int, max_rows: int, max_values: int
    ) -> int: ...
    def take(self) -> tuple[Any, Any, Any, Any, Any, Any]: ...

class RowParser64(RowParser32): ...

class SvmlightParser32(RowParser32):
    def __init__(
        self,
        classes: list[str],
        *,
        is_integer: bool,
        is_labelled: bool,
        is_collecting: bool,
        most_classes: int,
        max_line: int,
        index_base: int,
        n_features: int,
        ignores_new: bool,
    ) -> None: ...

class SvmlightParser64(SvmlightParser32): ...

class CsvParser32(RowParser32):
    def __init__(
        self,
        classes: list[str],
        *,
        is_integer: bool,
        is_labelled: bool,
        is_collecting: bool,
        most_classes: int,
        max_line: int,
        delimiter: str,
        width: int,
        is_hashed: bool,
    ) -> None: ...
    def set_columns(self, columns: list[tuple[int, int, str]]) -> None: ...

class CsvParser64(CsvParser32): ...

def sparse_width(
    values: npt.NDArray[Any],
    indices: npt.NDArray[np.int32],
    indptr: npt.NDArray[np.int32],
    limit: int,
) -> int: ...
def number(text: str) -> float | None: ...
def whole_number(word: str) -> str | None: ...
def is_utf8(text: bytes) -> bool: ...
