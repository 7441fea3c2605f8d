"""Learners to model files and back, with every field checked; no bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

import oneof
from oneof.catalogue import LEARNERS, name_of
from oneof.hedge import MOST_MEMBERS, Hedge
from oneof.labels import given_classes
from oneof.persistence import layout, states
from oneof.persistence.atomic import replacing
from oneof.persistence.layout import fault
from oneof.persistence.strings import packed, unpacked

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from oneof.online import OnlineClassifier

Array = npt.NDArray[Any]

_MEMBER_FIELDS: dict[str, type] = {"learner": str, "parameters": dict}
_SINGLE_FIELDS: dict[str, type] = {
    **_MEMBER_FIELDS, "library": str, "dtype": str, "classes": str, "n_features": int,
    "feature_names": bool, "reading": dict, "n_iter": int, "numbers": dict,
}  # fmt: skip
# By format version.
_FIELDS = {1: _SINGLE_FIELDS, 2: {**_SINGLE_FIELDS, "members": list}}


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
        layout.write(file, _version_of(model), {"model": header, **(parts or {})}, arrays)


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read what `write` wrote."""
    with layout.naming(path):
        version, parts, arrays = layout.read(path)
        header = parts.pop("model", None)
        if header is None:
            fault("there is no model in it: the file is damaged")
        return ModelFile(_restored(version, header, arrays), header["library"], parts)


def _version_of(estimator: OnlineClassifier) -> int:
    """Return the oldest format version that can hold a learner, for the oldest readers."""
    return 2 if isinstance(estimator, Hedge) else 1


def _described(estimator: OnlineClassifier) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a fitted learner."""
    name = name_of(estimator)
    check_is_fitted(estimator)
    estimator.refuse_change(estimator.learner(), None)
    state: dict[str, Any] = estimator.model_.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    states.check_finite(arrays)
    kind, classes = packed("classes", estimator.classes_)
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "library": oneof.__version__,
        "learner": name,
        "parameters": _parameters(estimator),
        "dtype": estimator.model_.dtype.name,
        "classes": kind,
        "n_features": estimator.model_.n_features,
        "feature_names": names is not None,
        "reading": getattr(estimator, "reading_", {}),
        "n_iter": estimator.n_iter_,
        "numbers": {key: value for key, value in state.items() if key not in arrays},
    }
    if isinstance(estimator, Hedge):
        header["members"] = [_member(i, m) for i, m in enumerate(estimator.estimators())]
    if names is not None:
        arrays |= packed("feature_names", names)[1]
    return header, {**arrays, **classes}


def _parameters(estimator: OnlineClassifier) -> dict[str, Any]:
    """Return the parameters as JSON has them; own members of a team are no plain value."""
    given = estimator.get_params(deep=False)
    if given.get("members") is not None:
        del given["members"]
    return {name: _plain(name, value) for name, value in given.items()}


def _member(i: int, estimator: OnlineClassifier) -> dict[str, Any]:
    try:
        return {"learner": name_of(estimator), "parameters": _parameters(estimator)}
    except ValueError as error:
        raise ValueError(f"members[{i}]: {error}") from None


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


def _restored(version: int, header: dict[str, Any], arrays: dict[str, Array]) -> OnlineClassifier:
    _check_fields(header, _FIELDS[version])
    estimator = _estimator(header["learner"], header["parameters"])
    if _version_of(estimator) != version:
        fault(f"{header['learner']} is not kept in format {version}: the file is damaged")
    if isinstance(estimator, Hedge):
        _set_members(estimator, header)
    classes = unpacked("classes", header["classes"], arrays)
    names = unpacked("feature_names", "str", arrays) if header["feature_names"] else None
    try:
        estimator.classes_ = given_classes(classes)
    except ValueError as error:
        fault(f"its classes are not valid: {error}")
    estimator.model_ = states.model_of(estimator, header, arrays)
    estimator.n_features_in_ = estimator.model_.n_features
    estimator.n_iter_ = header["n_iter"]
    if header["reading"]:
        estimator.reading_ = header["reading"]
    if names is not None:
        if len(names) != estimator.n_features_in_ or len(set(names)) < len(names):
            fault("its feature names do not fit its features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _set_members(team: Hedge, header: dict[str, Any]) -> None:
    """Give a team the members that it ran, by name where these still are the default ones."""
    if not 0 < len(header["members"]) <= MOST_MEMBERS:
        fault(f"it has {len(header['members'])} members: the file is damaged")
    is_default = "members" in header["parameters"]
    try:
        default = team.learner()
        team.members = [_member_of(entry) for entry in header["members"]]
        if is_default and team.learner() == default:
            team.members = None
    except ValueError as error:
        fault(f"its parameters are not valid: {error}")


def _member_of(entry: Any) -> OnlineClassifier:
    if not isinstance(entry, dict):
        fault("one of its members is no JSON object: the file is damaged")
    _check_fields(entry, _MEMBER_FIELDS)
    return _estimator(entry["learner"], entry["parameters"])


def _check_fields(header: dict[str, Any], fields: dict[str, type]) -> None:
    if set(header) != set(fields):
        odd = ", ".join(sorted(set(header) ^ set(fields)))
        fault(f"its fields are not those of a model file ({odd}): the file is damaged")
    for name, kind in fields.items():
        if type(header[name]) is not kind:
            fault(f"its field {name!r} is no {kind.__name__}: the file is damaged")
    for name in {"n_features", "n_iter"} & set(fields):
        if header[name] < 0:
            fault(f"its field {name!r} is negative: the file is damaged")
    for name, is_valid in (("parameters", _is_plain), ("reading", _is_setting)):
        if not all(map(is_valid, header.get(name, {}).values())):
            fault(f"its field {name!r} holds more than plain values: the file is damaged")


def _estimator(name: str, parameters: dict[str, Any]) -> OnlineClassifier:
    kind = LEARNERS.get(name)
    if kind is None:
        fault(
            f"its learner {name!r} is unknown to oneof {oneof.__version__} ({', '.join(LEARNERS)}):"
            " upgrade oneof"
        )
    # A parameter that the file's release had not yet takes its default.
    known = set(kind().get_params(deep=False))
    if not set(parameters) <= known or parameters.get("members") is not None:
        fault(f"its parameters are not those of {name}: the file is damaged")
    return kind(**parameters)
