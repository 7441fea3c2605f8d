"""Jobs done side by side by workers that do not outlive an interruption; no experiments."""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import contextmanager
from multiprocessing.dummy import DummyProcess
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from joblib import Parallel, delayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LONGEST = 10.0  # seconds

Outcome = TypeVar("Outcome", covariant=True)


class Job(Protocol[Outcome]):
    """Something to do, and what it costs beside others."""

    @property
    def cost(self) -> float:
        """What the job takes, in any unit."""

    def __call__(self) -> Outcome:
        """Do it."""


AnyJob = TypeVar("AnyJob", bound=Job[Any])


def in_parallel(jobs: Sequence[AnyJob], n_jobs: int, on_done: Callable[[AnyJob], Any]) -> list[Any]:
    """Do the jobs, the longest first; return their outcomes in the order of `jobs`.

    Workers are threads: kernels, where most of the time goes, let the interpreter's lock go, and
    the data lie in memory once. Vowpal Wabbit keeps the lock, for a third of a comparison; workers
    that are processes gained nothing by it, and do not always end in silence when interrupted.
    """
    order = sorted(range(len(jobs)), key=lambda i: -jobs[i].cost)
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
    outcomes: dict[int, Any] = {}
    with finished_workers():
        arriving = parallel(delayed(_numbered)(i, jobs[i]) for i in order)
        try:
            for i, outcome in arriving:
                outcomes[i] = outcome
                on_done(jobs[i])
        except BaseException:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib regrets every job that is given up
                arriving.close()
            raise
    return [outcomes[i] for i in range(len(jobs))]


def _numbered(i: int, job: Job[Outcome]) -> tuple[int, Outcome]:
    return i, job()


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
