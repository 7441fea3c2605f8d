"""The learners' parameters as options, taken from their constructors; no logic of learning."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.catalogue import LEARNERS, SINGLE
from oneof.cli.options import READING, one_of, with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneof.online import OnlineClassifier

# Epochs and their order are the command's own; these follow below by name.
_NOT_OFFERED = {"max_iter", "shuffle", "warm_start", "random_state"}
_EVERYWHERE = {
    "fit_intercept": (bool, "Add a constant feature 1. On by default."),
    "scale": (str, "standardize: bring all features to one scale as they come; none, the default."),
    "average": (bool, "Predict with the mean of the weights after each round; best for one pass."),
}
_MEMBERS = (
    "Whom hedge runs, as avg-perceptron,candidate-logistic, instead of its eight; --scale, "
    "--intercept and --average are theirs then."
)
_FLAGS = {"fit_intercept": "--intercept/--no-intercept", "average": "--average/--no-average"}


def parameters_of(kind: type[OnlineClassifier]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a learner's constructor that a command offers."""
    signature = inspect.signature(kind)
    return {n: p for n, p in signature.parameters.items() if n not in _NOT_OFFERED}


def option_of(name: str) -> str:
    """Return a parameter's option, such as --alpha."""
    return _FLAGS.get(name, "--" + name.replace("_", "-")).split("/")[0]


def with_learner_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of readers, and one for every parameter of every learner."""
    offered = {
        name: Annotated[
            kind | None,
            typer.Option(
                _FLAGS.get(name, "--" + name.replace("_", "-")),
                help=text,
                rich_help_panel="The learner",
                show_default=False,
            ),
        ]
        for name, (kind, text) in _offered().items()
    }
    return with_options(command, {**READING, **offered})


def checked(model: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that were given, or raise if the learner has no such one."""
    chosen = {name: value for name, value in given.items() if value is not None}
    known = parameters_of(LEARNERS[model])
    if "members" in chosen and "members" in known:
        shared = {name: chosen[name] for name in _EVERYWHERE if name in chosen}
        chosen["members"] = _members(chosen["members"], shared)
        chosen.pop("average", None)
    for name in chosen:
        if name not in known:
            own = [option_of(n) for n in known if n not in _EVERYWHERE]
            raise ValueError(
                f"{model} has no {option_of(name)}: leave it out, or choose another --model "
                f"(this one has {', '.join(own)})"
            )
    return chosen


def _members(names: str, shared: dict[str, Any]) -> list[OnlineClassifier]:
    """Return the learners that are named, with commas between, all with the same parameters."""
    kinds = [SINGLE[one_of("--members", name, SINGLE)] for name in names.split(",")]
    return [kind(**shared) for kind in kinds]


def _offered() -> dict[str, tuple[type, str]]:
    """Return each parameter's type and help, those of single learners first."""
    found: dict[str, tuple[type, str, list[str]]] = {}
    for model, kind in LEARNERS.items():
        for name, parameter in parameters_of(kind).items():
            if name in _EVERYWHERE:
                continue
            default = parameter.default
            type_ = type(default) if isinstance(default, str | bool | int) else float
            text = f"{_described(kind, name)} [default: {default}]"
            if name == "members":
                type_, text = str, _MEMBERS
            found.setdefault(name, (type_, text, []))[2].append(model)
    own = {name: (t, f"{text} For {', '.join(m)}.") for name, (t, text, m) in found.items()}
    return {**own, **_EVERYWHERE}


def _described(kind: type[OnlineClassifier], name: str) -> str:
    """Return what a learner's documentation says of a parameter, in one line."""
    text = inspect.getdoc(kind) or ""
    found = re.search(rf"^{name} :.*\n((?: {{4}}.*\n)+)", text, re.MULTILINE)
    return " ".join(found[1].split()) if found else name
