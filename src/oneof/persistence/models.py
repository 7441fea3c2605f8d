"""Learners to model files and back, with every field checked; no bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

import oneof
from oneof.catalogue import LEARNERS, name_of
from oneof.labels import given_classes
from oneof.model import OnlineModel
from oneof.persistence import layout
from oneof.persistence.atomic import replacing
from oneof.persistence.layout import fault
from oneof.persistence.strings import packed, unpacked

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from oneof.estimators import OnlineClassifier

Array = npt.NDArray[Any]

_FIELDS = {
    "library": str, "learner": str, "parameters": dict, "dtype": str, "classes": str,
    "n_features": int, "feature_names": bool, "reading": dict, "n_iter": int, "numbers": dict,
}  # fmt: skip

# The kernels keep the scale above these; that scores cannot overflow unnoticed rests on it.
_LEAST_SCALE = {"float32": 2.0**-60, "float64": 2.0**-100}


@dataclass(frozen=True)
class ModelFile:
    """What a file holds: the learner, who wrote it, and parts that are not the learner's."""

    model: OnlineClassifier
    library: str
    parts: dict[str, Any] = field(default_factory=dict)


def save(model: OnlineClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted learner to a model file, which is replaced whole or left as it was.

    Parameters
    ----------
    model : one of oneof's learners
        Pipelines are not kept: save their last step.
    path : path-like
        By custom it ends with ``.oneof``. docs/model-file.md describes the bytes.

    Examples
    --------
    >>> import oneof, tempfile
    >>> model = oneof.AvgPerceptron().partial_fit([[1.0], [-1.0]], [{"a", "b"}, {"c"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     oneof.save(model, f"{folder}/tiny.oneof")
    ...     oneof.load(f"{folder}/tiny.oneof").predict([[-2.0]]).tolist()
    ['c']
    """
    write(model, path)


def load(path: str | os.PathLike[str]) -> OnlineClassifier:
    """Read the learner that `save` or ``oneof train`` wrote; it goes on as if never stopped.

    A file from a stranger can be loaded: nothing in it runs, and every field is checked.
    """
    return read(path).model


def write(
    model: OnlineClassifier, path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None
) -> None:
    """Write a learner, and JSON objects beside it."""
    header, arrays = _described(model)
    with replacing(path) as file:
        layout.write(file, {"model": header, **(parts or {})}, arrays)


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read what `write` wrote."""
    with layout.naming(path):
        parts, arrays = layout.read(path)
        header = parts.pop("model", None)
        if header is None:
            fault("there is no model in it: the file is damaged")
        return ModelFile(_restored(header, arrays), header["library"], parts)


def _described(estimator: OnlineClassifier) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a fitted learner."""
    name = name_of(estimator)
    check_is_fitted(estimator)
    estimator.refuse_change(estimator.learner(), None)
    state: dict[str, Any] = estimator.model_.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    _check_finite(arrays)
    kind, classes = packed("classes", estimator.classes_)
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "library": oneof.__version__,
        "learner": name,
        "parameters": {k: _plain(k, v) for k, v in estimator.get_params(deep=False).items()},
        "dtype": estimator.model_.dtype.name,
        "classes": kind,
        "n_features": estimator.model_.n_features,
        "feature_names": names is not None,
        "reading": getattr(estimator, "reading_", {}),
        "n_iter": estimator.n_iter_,
        "numbers": {key: value for key, value in state.items() if key not in arrays},
    }
    if names is not None:
        arrays |= packed("feature_names", names)[1]
    return header, {**arrays, **classes}


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if _is_plain(value):
        return value
    raise ValueError(
        f"{name} is a {type(value).__name__}, which a model file cannot keep: "
        "set it to a number, a string or None"
    )


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _is_setting(value: Any) -> bool:
    is_list = isinstance(value, list) and all(isinstance(part, str) for part in value)
    return is_list or _is_plain(value)


def _restored(header: dict[str, Any], arrays: dict[str, Array]) -> OnlineClassifier:
    _check_fields(header)
    estimator = _estimator(header["learner"], header["parameters"])
    classes = unpacked("classes", header["classes"], arrays)
    names = unpacked("feature_names", "str", arrays) if header["feature_names"] else None
    try:
        estimator.classes_ = given_classes(classes)
    except ValueError as error:
        fault(f"its classes are not valid: {error}")
    estimator.model_ = _model(estimator, header, arrays)
    estimator.n_features_in_ = estimator.model_.n_features
    estimator.n_iter_ = header["n_iter"]
    if header["reading"]:
        estimator.reading_ = header["reading"]
    if names is not None:
        if len(names) != estimator.n_features_in_ or len(set(names)) < len(names):
            fault("its feature names do not fit its features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _check_fields(header: dict[str, Any]) -> None:
    if set(header) != set(_FIELDS):
        odd = ", ".join(sorted(set(header) ^ set(_FIELDS)))
        fault(f"its fields are not those of a model file ({odd}): the file is damaged")
    for name, kind in _FIELDS.items():
        if type(header[name]) is not kind:
            fault(f"its field {name!r} is no {kind.__name__}: the file is damaged")
    for name in ("n_features", "n_iter"):
        if header[name] < 0:
            fault(f"its field {name!r} is negative: the file is damaged")
    for name, is_valid in (("parameters", _is_plain), ("reading", _is_setting)):
        if not all(map(is_valid, header[name].values())):
            fault(f"its field {name!r} holds more than plain values: the file is damaged")


def _estimator(name: str, parameters: dict[str, Any]) -> OnlineClassifier:
    kind = LEARNERS.get(name)
    if kind is None:
        fault(
            f"its learner {name!r} is unknown to oneof {oneof.__version__} ({', '.join(LEARNERS)}):"
            " upgrade oneof"
        )
    # A parameter that the file's release had not yet takes its default.
    if not set(parameters) <= set(kind().get_params(deep=False)):
        fault(f"its parameters are not those of {name}: the file is damaged")
    return kind(**parameters)


def _model(
    estimator: OnlineClassifier, header: dict[str, Any], arrays: dict[str, Array]
) -> OnlineModel:
    """Make the model of a state whose names, types, shapes and numbers are what they must be."""
    try:
        learner = estimator.learner()
    except ValueError as error:
        fault(f"its parameters are not valid: {error}")
    dtype, K, d = header["dtype"], estimator.classes_.size, header["n_features"]
    if dtype not in _LEAST_SCALE:
        fault(f"its dtype {dtype!r} is neither float32 nor float64: the file is damaged")
    has_intercept = bool(estimator.fit_intercept)
    is_centred = "moments" not in arrays or len(arrays["moments"]) == 2
    one, two = (
        OnlineModel(learner, K, n, dtype, has_intercept, is_centred).state() for n in (1, 2)
    )
    state: dict[str, Any] = {**header["numbers"], **arrays}
    if set(state) != set(one) or len(state) < len(header["numbers"]) + len(arrays):
        fault(f"its contents are not those of {header['learner']}: the file is damaged")
    for name, value in state.items():
        if not isinstance(one[name], np.ndarray):
            _check_number(name, value, type(one[name]))
            continue
        # Arrays grow evenly with the features.
        pairs = zip(one[name].shape, two[name].shape, strict=True)
        shape = tuple(a + (d - 1) * (b - a) for a, b in pairs)
        if not isinstance(value, np.ndarray) or value.shape != shape:
            fault(f"its array {name!r} has not the shape {shape}: the file is damaged")
        if value.dtype != one[name].dtype:
            fault(f"its array {name!r} is not {one[name].dtype}: the file is damaged")
    try:
        _check_finite(arrays)
    except ValueError as error:
        fault(str(error))
    n_rounds = state["t"]
    if not _LEAST_SCALE[dtype] <= state["scale"] <= 1 or n_rounds < max(
        state["sums_share"], state["n_updates"], state["n_mistakes"]
    ):
        fault("its numbers contradict each other: the file is damaged")
    if not n_rounds and state["weights"].any():
        fault("it has weights before the first round: the file is damaged")
    if learner.standardize and d and state["moments"][0].min() < 0:
        fault("a feature varies less than not at all: the file is damaged")
    return OnlineModel.from_state(learner, has_intercept, state)


def _check_number(name: str, value: Any, kind: type[float]) -> None:
    is_valid = type(value) is kind and 0 <= value < (math.inf if kind is float else 2**62)
    if not is_valid:
        fault(f"its number {name!r} is not valid: the file is damaged")


def _check_finite(arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not array.size:
            continue
        # Neither extreme is finite if one entry is NaN; no temporary array is needed.
        if not (np.isfinite(array.max()) and np.isfinite(array.min())):
            raise ValueError(f"the model's {name} are not finite: scale the features down")
