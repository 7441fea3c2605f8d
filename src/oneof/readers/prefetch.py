"""Reading ahead: a thread produces what the caller consumes. No files, no formats."""

from __future__ import annotations

import atexit
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

T = TypeVar("T")


def prefetched(
    items: Generator[T, None, None], depth: int, stopping: Event
) -> Generator[T, None, None]:
    """Yield the items while a thread makes up to `depth` of the next ones.

    What `items` raises is raised here, in its place. However the caller ends, the thread ends too:
    `stopping` is set, which `items` must heed where it waits.
    """
    ready: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    room = Semaphore(depth)

    def produce() -> None:
        try:
            for item in items:
                ready.put(("item", item))
                del item  # else this thread keeps one more batch in memory
                room.acquire()
                if stopping.is_set():
                    return
            ready.put(("end", None))
        except BaseException as error:
            ready.put(("error", error))
        finally:
            items.close()

    thread = Thread(target=produce, name="oneof-reader", daemon=True)

    def end() -> None:
        stopping.set()
        room.release()
        thread.join()

    # The interpreter must not end while the thread runs C++: it would abort.
    atexit.register(end)
    thread.start()
    try:
        yield from _received(ready, room)
    finally:
        end()
        atexit.unregister(end)


def _received(ready: SimpleQueue[tuple[str, Any]], room: Semaphore) -> Iterator[Any]:
    while True:
        kind, item = ready.get()
        if kind == "end":
            return
        if kind == "error":
            raise item
        room.release()
        yield item
        del item
