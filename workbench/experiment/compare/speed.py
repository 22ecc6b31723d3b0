"""What runs cost: their learning curves, the time of a training step, and the time to embed an image or a
caption.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import pandas as pd

from workbench.experiment import runs
from workbench.experiment.opened import OpenRun
from workbench.training import checkpoint


def histories(spaces: Sequence[OpenRun]) -> dict[str, list[dict[str, float]]]:
    """The learning curves that the runs keep; empty for a model that was not trained in a run."""
    return {
        space.name: (runs.read(space.folder).results.get("history", []) if space.folder else [])
        for space in spaces
    }


def measure(spaces: Sequence[OpenRun], *, items: int = 32, repeats: int = 3) -> pd.DataFrame:
    """What a run costs, in milliseconds: a training step, as the run itself measured it, and embedding,
    measured now.

    The step is the time from the start of training to its end over the number of steps, validation and
    checkpoints included, on the run's own machine. Embedding is the median of ``repeats`` on this machine,
    from the file or the words to the vector.

    Args:
        spaces: open runs.
        items: images embedded, and as many captions.
        repeats: how often.

    Returns:
        One row a run: ``step``, ``image``, ``caption``; NaN where the run kept no checkpoint of its training,
        or its clock shows that it was resumed.
    """
    rows = []
    for space in spaces:
        part = space.split.first(items)
        source, captions = space.model.source(part, every_signal=False), part.captions[:items]
        image = _milliseconds(lambda: space.model.embed_images_of(source), len(part.image_ids), repeats)  # noqa: B023
        caption = _milliseconds(lambda: space.model.embed_texts(captions), len(captions), repeats)  # noqa: B023
        rows.append({"run": space.name, "step": _step(space), "image": image, "caption": caption})
    return pd.DataFrame(rows).set_index("run")


def _milliseconds(work: Callable[[], object], items: int, repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return 1000 * median(seconds) / items


def _step(space: OpenRun) -> float:
    path = space.folder / checkpoint.LAST if space.folder else None
    if path is None or not path.is_file():
        return float("nan")
    facts = checkpoint.read(path)[1]
    clock = [row["seconds"] for row in facts["history"]]
    # the clock starts again where a run was resumed
    whole = bool(clock) and clock == sorted(clock)
    return 1000 * clock[-1] / facts["step"] if whole else float("nan")
