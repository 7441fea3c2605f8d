"""The table of losses and rules: their names, parameters and bounds. No arithmetic, no arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Number:
    """A finite number above `above`, or from `least` to `most`."""

    above: float = -math.inf
    least: float = -math.inf
    most: float = math.inf
    is_integer: bool = False

    def checked(self, name: str, value: Any) -> float:
        """Return the number, or raise."""
        kind = Integral if self.is_integer else Real
        if isinstance(value, kind) and not isinstance(value, bool):
            number = float(value)
            if self.above < number < math.inf and self.least <= number <= self.most:
                return number
        noun = "an integer" if self.is_integer else "a finite number"
        bound = f"above {self.above:g}" if self.above > -math.inf else f"of at least {self.least:g}"
        bound += f" and at most {self.most:.0f}" if self.most < math.inf else ""
        raise ValueError(f"{name} must be {noun} {bound}, not {value!r}")


@dataclass(frozen=True)
class Choice:
    """One of a few names, each standing for a value that the kernel knows."""

    values: Mapping[str, Any]

    def checked(self, name: str, value: Any) -> Any:
        """Return the kernel's value, or raise."""
        if isinstance(value, str) and value in self.values:
            return self.values[value]
        names = " or ".join(map(repr, self.values))
        raise ValueError(f"{name} must be {names}, not {value!r}")


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def checked(self, name: str, value: Any) -> bool:
        """Return the flag, or raise."""
        if isinstance(value, bool) or type(value).__name__ == "bool":  # NumPy's, too
            return bool(value)
        raise ValueError(f"{name} must be True or False, not {value!r}")


Parameter = Number | Choice | Flag

LOSSES: dict[str, dict[str, Parameter]] = {
    "avg": {},
    "max": {},
    "soft": {"beta": Number(above=0)},
    "log": {},
}

RULES: dict[str, dict[str, Parameter]] = {
    "perceptron": {
        "eta0": Number(above=0),
        "update": Choice({"margin": False, "mistake": True}),
    },
    "pegasos": {
        "alpha": Number(above=0),
        "shrink": Choice({"on-loss": False, "always": True}),
    },
    "passive_aggressive": {
        "C": Number(above=0),
        "variant": Choice({"PA": "pa", "PA-I": "pa_1", "PA-II": "pa_2"}),
        "exact": Flag(),
    },
    "gradient": {
        "eta0": Number(above=0),
        "step": Choice({"sqrt": False, "normalized": True}),
        "alpha": Number(least=0),
    },
}

SHARED: dict[str, Parameter] = {
    "fit_intercept": Flag(),
    "max_iter": Number(least=1, is_integer=True),
    "shuffle": Flag(),
    "average": Flag(),
    "warm_start": Flag(),
    "scale": Choice({"none": False, "standardize": True}),
}


@dataclass(frozen=True)
class Learner:
    """A loss, a rule and the rule's parameters, checked."""

    loss: str
    rule: str
    average: bool
    options: Mapping[str, Any]
    standardize: bool = False

    @classmethod
    def make(cls, loss: str, rule: str, parameters: Mapping[str, Any]) -> Learner:
        """Check what an estimator was given, `SHARED` parameters included."""
        shared = cls.check_shared(parameters)
        table = {**LOSSES[loss], **RULES[rule]}
        options = {name: p.checked(name, parameters[name]) for name, p in table.items()}
        return cls(loss, rule, bool(shared["average"]), options, bool(shared["scale"]))

    @staticmethod
    def check_shared(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Check the parameters that every estimator has."""
        return {name: p.checked(name, parameters[name]) for name, p in SHARED.items()}

    @property
    def largest_step(self) -> float:
        """No round's step is larger; infinity where there is no bound."""
        if self.rule == "perceptron":
            return float(self.options["eta0"])
        if self.rule == "pegasos":
            return 1.0 / float(self.options["alpha"])
        if self.options.get("variant") == "pa_1":
            return float(self.options["C"])
        return float(self.options["eta0"]) if self.options.get("step") is False else math.inf
