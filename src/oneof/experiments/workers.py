"""Threads of joblib that must not outlive what asked for them; no experiments."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from multiprocessing.dummy import DummyProcess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 10.0  # seconds


@contextmanager
def finished_workers() -> Iterator[None]:
    """If the block is interrupted, wait for its threads to end the jobs they are at.

    A thread that is inside a kernel when Python ends would bring the whole process down. Jobs take
    a second or so; a thread that has none, and nobody to tell it so, is not waited for longer.
    """
    others = set(threading.enumerate())
    try:
        yield
    except BaseException:
        deadline = time.monotonic() + _LONGEST
        for thread in set(threading.enumerate()) - others:
            if isinstance(thread, DummyProcess):  # a thread pool's
                thread.join(max(0.0, deadline - time.monotonic()))
        raise
