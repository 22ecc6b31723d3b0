"""Reading by several threads, ahead of need: images are decoded while a model computes."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_threads(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Read each item and return the results in order, by as many threads as this process has cores."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(read, items))


def read_ahead(read: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
    """Yield what is read of each part, in order; the next part is read while one is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = deque[Future[R]]()
        for part in parts:
            coming.append(thread.submit(read, part))
            if len(coming) == 2:
                yield coming.popleft().result()
        yield from (future.result() for future in coming)
