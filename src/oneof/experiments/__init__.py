"""Experiments on candidate sets, the paper's among them. Public names, nothing else."""

from oneof.experiments.claims import Claim, claim_rows
from oneof.experiments.examples import Examples, load_examples
from oneof.experiments.reproduce import Outcome, Watcher, reproduce
from oneof.experiments.run import Results, Series, Tuning, count_rounds, run
from oneof.experiments.spec import DatasetSpec, Spec
from oneof.experiments.theorems import theorem_rows

__all__ = [
    "Claim",
    "DatasetSpec",
    "Examples",
    "Outcome",
    "Results",
    "Series",
    "Spec",
    "Tuning",
    "Watcher",
    "claim_rows",
    "count_rounds",
    "load_examples",
    "reproduce",
    "run",
    "theorem_rows",
]
