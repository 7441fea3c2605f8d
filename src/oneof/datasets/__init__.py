"""Data sets: the paper's, and really partially labelled ones. Public names, nothing else."""

from oneof.datasets.dataset import Dataset, DatasetUnavailable
from oneof.datasets.loading import Listing, describe, load, names
from oneof.datasets.mat import load_partial_label_mat

__all__ = [
    "Dataset",
    "DatasetUnavailable",
    "Listing",
    "describe",
    "load",
    "load_partial_label_mat",
    "names",
]
