"""Fixtures that several test files share."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# A shared machine is slow now and then; `make sanitize` is slow always.
settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("quick", deadline=None, max_examples=5)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))


@pytest.fixture(scope="session")
def data():
    """Return the loader of the data sets that are not part of the package."""
    folder = os.environ.get("ONEOF_DATA")
    if not folder:
        pytest.skip("ONEOF_DATA is not set: it names the folder that holds the data sets, NAME.npz")
    return lambda name: np.load(Path(folder) / f"{name}.npz", allow_pickle=False)


@pytest.fixture
def temporary(tmp_path_factory, monkeypatch):
    """Return a folder that stands for the system's temporary one."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
