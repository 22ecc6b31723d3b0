"""Ranked lists and ground truth of a run in the forms of other tools, files of TREC or JSON, and a table of
their captions with the fields of the data.
"""

from pathlib import Path

from workbench.io import write_table
from workbench.records import Judgements
from workbench.runs.caption_tables import caption_table
from workbench.runs.opening import open_runs

# endings of lists and of ground truth, by form
ENDINGS = {"trec": (".run", ".qrels"), "json": (".run.json", ".qrels.json")}
CAPTIONS = "captions.csv"


def export_lists(run: str | Path, to: str, folder: Path) -> None:
    """Write the lists of each direction, and the ground truth by each of the judgements of the data.

    Args:
        run: the folder of a finished run.
        to: ``"trec"`` or ``"json"``.
        folder: that is there; it gets ``t2i.run``, ``t2i-own.qrels`` and so on, and ``captions.csv``.

    Raises:
        ValueError: an id has a blank, which TREC cannot hold.
    """
    (result,) = open_runs(run)
    lists, truth = ENDINGS[to]
    write_table(folder / CAPTIONS, caption_table(result.split))
    for way in result.model.ways:
        result.write_run(folder / f"{way}{lists}", way)  # type: ignore[arg-type]
        for name, judged in result.split.judgements.items():
            if isinstance(judged, Judgements):
                file = folder / f"{way}-{name}{truth}"
                result.write_qrels(file, way, judgements=name)  # type: ignore[arg-type]
