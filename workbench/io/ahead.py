"""Reading by several threads or processes, ahead of need: images are decoded while a model computes."""

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
# where processes hand tensors over, and how many results of each wait there
SHARED, WAITING = "/dev/shm", 2
# cores that are left to what computes
LEFT = 2


def in_threads(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Read each item and return the results in order, by as many threads as this process has cores."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(read, items))


def read_ahead(read: Callable[[T], R], parts: Iterable[T], *, processes: int = 0) -> Iterator[R]:
    """Yield what is read of each part, in order, while earlier parts are used.

    Args:
        read: gives what is in a part; an error of it is raised here.
        parts: what is read.
        processes: that read; 0 = a thread of this one, which reads one part ahead.
    """
    if processes:
        yield from _from_processes(read, list(parts), processes)
        return
    with ThreadPoolExecutor(1) as thread:
        coming = deque[Future[R]]()
        for part in parts:
            coming.append(thread.submit(read, part))
            if len(coming) == 2:
                yield coming.popleft().result()
        yield from (future.result() for future in coming)


def reading_processes(size: int) -> int:
    """Return how many processes may read ahead: as many as there are cores but two, and as the memory that
    processes share has room for.

    Args:
        size: bytes of what one of them reads at a time.
    """
    if not (hasattr(os, "sched_getaffinity") and os.path.isdir(SHARED)):
        return 0
    cores = len(os.sched_getaffinity(0))
    room = shutil.disk_usage(SHARED).free // (size * (WAITING + 1))
    return max(0, min(cores - LEFT, room))


@dataclass(frozen=True)
class _Parts(Generic[T, R]):
    """Parts as a data set of PyTorch; a part that cannot be read gives its error."""

    read: Callable[[T], R]
    parts: Sequence[T]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: int) -> R | Exception:
        try:
            return self.read(self.parts[number])
        except Exception as error:  # noqa: BLE001 - it is raised where results are read
            return error


def _from_processes(read: Callable[[T], R], parts: Sequence[T], processes: int) -> Iterator[R]:
    from torch import Generator  # slow to import
    from torch.utils.data import DataLoader

    # the seed of its processes comes from this generator; the global one is the model's
    how: dict[str, Any] = {"num_workers": min(processes, len(parts)), "prefetch_factor": WAITING}
    loader = DataLoader(_Parts(read, parts), batch_size=None, generator=Generator(), **how)  # type: ignore[arg-type,var-annotated]
    for result in loader:
        if isinstance(result, Exception):
            raise result
        yield result
