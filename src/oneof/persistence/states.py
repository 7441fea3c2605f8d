"""A model's arrays and numbers, checked before a model is made of them; no bytes, no header."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneof.persistence.layout import fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneof.online import OnlineClassifier

Array = npt.NDArray[Any]

# The kernels keep the scale above these; that scores cannot overflow unnoticed rests on it.
_LEAST_SCALE = {"float32": 2.0**-60, "float64": 2.0**-100}


def model_of(estimator: OnlineClassifier, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """Make the model of a state whose names, types, shapes and numbers are what they must be."""
    try:
        learner = estimator.learner()
    except ValueError as error:
        fault(f"its parameters are not valid: {error}")
    dtype, K, d = header["dtype"], estimator.classes_.size, header["n_features"]
    if dtype not in _LEAST_SCALE:
        fault(f"its dtype {dtype!r} is neither float32 nor float64: the file is damaged")
    is_centred = "moments" not in arrays or len(arrays["moments"]) == 2

    def tiny(n_classes: int, n_features: int) -> dict[str, Any]:
        return estimator.new_model(
            learner, n_classes, n_features, dtype, is_centred=is_centred
        ).state()

    one, with_feature, with_class = tiny(1, 1), tiny(1, 2), tiny(2, 1)
    state: dict[str, Any] = {**header["numbers"], **arrays}
    if set(state) != set(one) or len(state) < len(header["numbers"]) + len(arrays):
        fault(f"its contents are not those of {header['learner']}: the file is damaged")
    for name, value in state.items():
        if not isinstance(one[name], np.ndarray):
            _check_number(name, value, type(one[name]))
            continue
        # Arrays grow evenly with the features and with the classes.
        shapes = (part[name].shape for part in (one, with_feature, with_class))
        shape = tuple(
            a + (d - 1) * (b - a) + (K - 1) * (c - a) for a, b, c in zip(*shapes, strict=True)
        )
        _check_array(name, value, shape, one[name].dtype)
    try:
        check_finite(arrays)
    except ValueError as error:
        fault(str(error))
    _check_rounds(state, _LEAST_SCALE[dtype])
    return estimator.model_of(learner, state)


def _check_number(name: str, value: Any, kind: type[float]) -> None:
    is_valid = type(value) is kind and 0 <= value < (math.inf if kind is float else 2**62)
    if not is_valid:
        fault(f"its number {name!r} is not valid: the file is damaged")


def _check_array(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if not isinstance(value, np.ndarray) or value.shape != shape:
        fault(f"its array {name!r} has not the shape {shape}: the file is damaged")
    if value.dtype != dtype:
        fault(f"its array {name!r} is not {dtype}: the file is damaged")


def check_finite(arrays: Mapping[str, Array]) -> None:
    """Raise if a model's numbers have overflown."""
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        # Neither extreme is finite if one entry is NaN; no temporary array is needed.
        if not (np.isfinite(array.max()) and np.isfinite(array.min())):
            raise ValueError(f"the model's {name} are not finite: scale the features down")


def _check_rounds(state: Mapping[str, Any], least_scale: float) -> None:
    """Refuse what no sequence of rounds leads to; members of a team have learnt the same ones."""
    models = [name.removesuffix("weights") for name in state if name.endswith("weights")]
    n_rounds = state[f"{models[0]}t"]
    for of in models:
        most = max(state[f"{of}{name}"] for name in ("sums_share", "n_updates", "n_mistakes"))
        is_sound = least_scale <= state[f"{of}scale"] <= 1 and n_rounds == state[f"{of}t"] >= most
        if not is_sound or state["n_mistakes"] > n_rounds:
            fault("its numbers contradict each other: the file is damaged")
        if not n_rounds and state[f"{of}weights"].any():
            fault("it has weights before the first round: the file is damaged")
    moments = state.get("moments")
    if moments is not None and moments.size and moments[0].min() < 0:
        fault("a feature varies less than not at all: the file is damaged")
