"""What an experiment is: a frozen, checked specification, as TOML holds it; nothing is run here."""

from __future__ import annotations

import json
import tomllib
from dataclasses import MISSING, asdict, dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from oneof.catalogue import SINGLE
from oneof.rules import Choice, Flag, Number

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

PROTOCOLS = ("paper", "standardised")

# Each exact learner is another learner that is shown the true labels.
EXACT = {"perceptron-exact": "avg-perceptron", "pegasos-exact": "avg-pegasos"}
NAMES = (*SINGLE, *EXACT)

_COUNT, _FROM_ZERO = Number(least=1, is_integer=True), Number(least=0, is_integer=True)
_POSITIVE = Number(above=0)
_PART = Choice({"all": "all", "train": "train"})


def kind_of(learner: str) -> str:
    """Name the learner that learns: an exact one is another, fed exact labels."""
    return EXACT.get(learner, learner)


def is_tuned(learner: str) -> bool:
    """Tell whether a learner has a λ to choose."""
    return "alpha" in SINGLE[kind_of(learner)]().get_params()


@dataclass(frozen=True)
class DatasetSpec:
    """One data set of an experiment.

    Parameters
    ----------
    name : str
        Its name in `oneof.datasets`.
    sizes : tuple of int
        The sizes of the candidate sets.
    rounds : int
        T, the rounds of a run: rows drawn uniformly with replacement.
    part : {"all", "train"}
        Which rows: all, or the official training part.
    instead_of : str
        Another data set of the experiment: this one is run only where that one cannot be had.
    """

    name: str
    sizes: tuple[int, ...]
    rounds: int
    part: str = "all"
    instead_of: str = ""

    def __post_init__(self) -> None:
        where = f"datasets.{self.name}"
        sizes = _listed(f"{where}.sizes", self.sizes)
        sizes = tuple(int(_COUNT.checked(f"each of {where}.sizes", size)) for size in sizes)
        _set(self, "sizes", sizes)
        _set(self, "rounds", int(_COUNT.checked(f"{where}.rounds", self.rounds)))
        _PART.checked(f"{where}.part", self.part)
        _words(f"{where}.instead_of", self.instead_of)


@dataclass(frozen=True)
class Spec:
    """A whole experiment: equal specifications give the same bits.

    Parameters
    ----------
    name : str
        What the report calls it.
    datasets : tuple of DatasetSpec
        In the order of the report.
    learners : tuple of str
        Names in `NAMES`; all learners of a run see the same rounds.
    runs : int
        Repetitions, each with new candidate sets and a new draw of rounds.
    alphas : tuple of float
        The λ to choose from; a single one is taken as it is.
    tuning_runs : int
        Runs of their own on which λ is chosen, by the lowest rate of mistakes.
    eta0 : float
        The Perceptrons' step η.
    fit_intercept, standardise : bool
        Append a constant feature; bring every feature to mean 0 and variance 1.
    seed : int
        Every draw follows from it, the data set, the run and the size.

    Examples
    --------
    >>> spec = Spec.load("paper")
    >>> spec.runs, [d.name for d in spec.datasets][:3]
    (100, ['dermatology', 'ecoli', 'satimage'])
    >>> spec.narrowed(datasets=["ecoli"], sizes=[2], runs=3).datasets
    (DatasetSpec(name='ecoli', sizes=(2,), rounds=10000, part='all', instead_of=''),)
    """

    name: str
    datasets: tuple[DatasetSpec, ...]
    learners: tuple[str, ...]
    runs: int
    alphas: tuple[float, ...]
    tuning_runs: int
    eta0: float
    fit_intercept: bool
    standardise: bool
    seed: int

    def __post_init__(self) -> None:
        if not _words("name", self.name):
            raise ValueError("name must not be empty")
        for key, kind in (("runs", _COUNT), ("tuning_runs", _COUNT), ("seed", _FROM_ZERO)):
            _set(self, key, int(kind.checked(key, getattr(self, key))))
        _set(self, "eta0", _POSITIVE.checked("eta0", self.eta0))
        for key in ("fit_intercept", "standardise"):
            _set(self, key, Flag().checked(key, getattr(self, key)))
        alphas = _listed("alphas", self.alphas)
        _set(self, "alphas", tuple(_POSITIVE.checked("each of alphas", a) for a in alphas))
        learner = Choice({name: name for name in NAMES})
        learners = _listed("learners", self.learners)
        _set(self, "learners", tuple(learner.checked("each of learners", n) for n in learners))
        _set(self, "datasets", _listed("datasets", self.datasets, lambda d: d.name))

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> Self:
        """Read a shipped protocol by name, a TOML file, or the manifest.json of an earlier run.

        A TOML file may say ``like = "paper"`` and then hold only what differs.
        """
        path = Path(name_or_path)
        if path.suffix == ".json":
            return cls._from_manifest(path)
        if path.suffix == ".toml":
            return cls._from_toml(_text(path), str(path))
        if str(name_or_path) not in PROTOCOLS:
            raise ValueError(
                f"there is no protocol {str(name_or_path)!r}: choose {' or '.join(PROTOCOLS)}, "
                "or name a .toml file"
            )
        return cls._shipped(str(name_or_path))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Self:
        """Build a specification from what `to_dict` or a TOML file gives."""
        _check_keys("the specification", tables, cls)
        sets = tables["datasets"]
        if not isinstance(sets, dict) or not all(isinstance(d, dict) for d in sets.values()):
            raise ValueError("datasets must hold a table for each data set")
        for name, table in sets.items():
            _check_keys(f"datasets.{name}", {"name": name, **table}, DatasetSpec)
        datasets = tuple(DatasetSpec(name=name, **table) for name, table in sets.items())
        return cls(**{**tables, "datasets": datasets})

    def to_dict(self) -> dict[str, Any]:
        """Return plain tables, as JSON and TOML hold them."""
        tables = asdict(self)
        tables["datasets"] = {d.pop("name"): d for d in tables["datasets"]}
        return tables

    def narrowed(
        self,
        *,
        datasets: Iterable[str] = (),
        sizes: Iterable[int] = (),
        learners: Iterable[str] = (),
        runs: int | None = None,
        rounds: int | None = None,
        alpha: float | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the specification with parts of it chosen or replaced; what is left out stays.

        A data set named here is run in its own right, whatever others there are; one that the
        specification does not hold is run as the paper's are.
        """
        own = {d.name: replace(d, instead_of="") for d in self.datasets}
        chosen = [own.get(name) or DatasetSpec(name, (2, 4, 6, 8), 10_000) for name in datasets]
        replaced: dict[str, Any] = {"sizes": tuple(sizes), "rounds": rounds}
        replaced = {key: value for key, value in replaced.items() if value not in (None, ())}
        parts: dict[str, Any] = {
            "datasets": tuple(replace(d, **replaced) for d in chosen or self.datasets),
            "learners": tuple(learners) or self.learners,
            "runs": runs,
            "alphas": None if alpha is None else (alpha,),
            "seed": seed,
        }
        return replace(self, **{key: part for key, part in parts.items() if part is not None})

    @classmethod
    def _shipped(cls, name: str) -> Self:
        source = files("oneof.experiments") / "protocols" / f"{name}.toml"
        return cls._from_toml(source.read_text(encoding="utf-8"), f"the protocol {name}")

    @classmethod
    def _from_toml(cls, text: str, where: str) -> Self:
        try:
            tables = tomllib.loads(text)
            like = tables.pop("like", None)
            if like is not None:
                if like not in PROTOCOLS:
                    raise ValueError(f"like must be {' or '.join(PROTOCOLS)}, not {like!r}")
                tables = {**cls._shipped(like).to_dict(), **tables}
            return cls.from_dict(tables)
        except ValueError as error:  # tomllib's among them
            raise ValueError(f"{where}: {error}") from None

    @classmethod
    def _from_manifest(cls, path: Path) -> Self:
        try:
            return cls.from_dict(json.loads(_text(path))["spec"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not the manifest of an earlier run ({error})") from None


def _set(spec: Any, key: str, value: Any) -> None:
    object.__setattr__(spec, key, value)


def _words(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {value!r}")
    return value


def _listed(name: str, values: Any, key: Any = lambda value: value) -> tuple[Any, ...]:
    """Return the values as a tuple, or raise: not a list, empty, or one of them twice."""
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"{name} must be a list with at least one entry, not {values!r}")
    keys = [key(value) for value in values]
    for place, value in enumerate(keys):
        if value in keys[:place]:
            raise ValueError(f"{name} holds {value!r} twice")
    return tuple(values)


def _check_keys(where: str, table: Mapping[str, Any], kind: type) -> None:
    known = [field.name for field in fields(kind)]
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    for key in table:
        if key not in known:
            raise ValueError(f"{where} has no key {key!r}: it knows {', '.join(known)}")
    missing = [key for key in needed if key not in table]
    if missing:
        raise ValueError(f"{where} needs {' and '.join(missing)}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None
