"""What must be known to run an experiment again to the same bits; nothing is run or written."""

from __future__ import annotations

import hashlib
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneof.experiments.examples import Examples
    from oneof.experiments.run import Results

_PACKAGES = ("oneof", "numpy", "scipy", "scikit-learn", "joblib", "matplotlib")


def versions(*others: str) -> dict[str, str]:
    """Name the version of Python and of every package that had a hand in the results."""
    found = {"python": platform.python_version()}
    for package in (*_PACKAGES, *others):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Describe the machine in words that name nobody."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cpu_count(),
    }


def manifest(
    results: Results,
    examples: Sequence[Examples],
    skipped: Mapping[str, str],
    files: Mapping[str, bytes],
    finished: str,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """Return plain tables; `Spec.load` reads the experiment back from them.

    Parameters
    ----------
    results, examples, skipped
        What was run, and what was not.
    files : mapping
        What is written beside the manifest, by name.
    finished : str
        When, in ISO 8601.
    seconds : mapping
        What each stage took.
    """
    return {
        "spec": results.spec.to_dict(),
        "datasets": {
            e.name: {"source": e.source, "rows": len(e.y), "sha256": e.digest()} for e in examples
        },
        "skipped": dict(skipped),
        "alphas": [
            {"dataset": s.dataset, "size": s.cell.size, "learner": s.cell.learner, "alpha": s.alpha}
            for s in results.series
            if s.alpha is not None
        ],
        "versions": versions(),
        "machine": machine(),
        "finished": finished,
        "seconds": {stage: round(taken, 3) for stage, taken in seconds.items()},
        "files": {name: hashlib.sha256(raw).hexdigest() for name, raw in files.items()},
    }


def _processor() -> str:
    """Name the processor; `platform` does not know it on Linux."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
