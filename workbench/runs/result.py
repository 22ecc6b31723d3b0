"""An opened run: a model, a split that it has embedded, and what was measured there.

``run(config)`` returns one, ``open_runs`` opens those that lie on disk, and maps, comparisons and the
explorer look into them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.io import only_writer, replacing, write_json, write_table
from workbench.metrics.blocks import AnyScores, best, by_rows
from workbench.metrics.ranks import ranks_of
from workbench.records import Array, Embedding, Measurement, Split, Values
from workbench.runs import store as runs
from workbench.runs.environment import environment
from workbench.runs.evaluate import chooser
from workbench.runs.model import WHOLE, Model, scored
from workbench.runs.store import checksum_files
from workbench.runs.target import Target
from workbench.training import checkpoint
from workbench.training.averaging import best_epoch

# queries whose answers are written at a time
PIECE = 2**16
# the weights hold a checksum of their own
KEPT = (runs.STATES, runs.RESULTS, "*.parquet", f"{runs.VALUES}/*", "embeddings/*")


class Contents(NamedTuple):
    """What is opened when it is first asked for.

    Args:
        model: answers new questions: loose captions, loose images, scores.
        image, text: embeddings of the split, on the CPU in float32; parts are left out where ``scores`` does
            not read them.
    """

    model: Model
    image: Embedding
    text: Embedding


@dataclass(frozen=True)
class OpenRun:
    """A model and a split that it has embedded, with what was measured.

    Args:
        name: how tables and figures call it; unique among runs that are shown together.
        split: whose images and captions are embedded.
        load: gives the model and the embeddings; called once, when one of them is first asked for.
        folder: the run folder that it came from; ``None`` = it lies in no folder.
        config: the resolved configuration as JSON values.
        measurements: every number with its contract.
        history: one mapping an epoch.
        values: key -> the values by query that a number is made of, as ``metrics.intervals.Draws`` reads
            them.
        target: what was measured on, where it is not the run's own test split.
    """

    name: str
    split: Split
    load: Callable[[], Contents]
    folder: Path | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    measurements: Sequence[Measurement] = ()
    history: Sequence[Mapping[str, float]] = ()
    values: Mapping[str, Values] = field(default_factory=dict)
    target: Target | None = None

    @property
    def dataset(self) -> str:
        """Name of the data set of the split; ``config["data"]`` is what the model was trained on."""
        return self.target.data if self.target else str(self.config["data"])

    @cached_property
    def contents(self) -> Contents:
        """The model and the embeddings of the split."""
        return Contents(*self.load())

    @property
    def model(self) -> Model:
        """The model, with its best weights."""
        return self.contents.model

    @property
    def image(self) -> Embedding:
        """The embeddings of the split's images."""
        return self.contents.image

    @property
    def text(self) -> Embedding:
        """The embeddings of the split's captions."""
        return self.contents.text

    @cached_property
    def scores(self) -> Array:
        """``(I, T)`` scores of the whole split, by the objective."""
        return self.model.scores(self.image, self.text)

    def _scored(self) -> AnyScores:
        """The scores, by rows where the matrix is too large for memory."""
        lazy = len(self.image) * len(self.text) > WHOLE
        return scored(self.model, self.image, self.text) if lazy else self.scores

    def with_embeddings(self, name: str, image: Embedding, text: Embedding) -> "OpenRun":
        """The same model and split with other embeddings, under another name and in no folder."""
        contents = partial(Contents, self.model, image, text)
        return OpenRun(name, self.split, contents, config=self.config, target=self.target)

    def table(self) -> pd.DataFrame:
        """The measurements with their contracts, one a row, indexed by label."""
        return pd.DataFrame([{"label": m.label, **m.as_dict()} for m in self.measurements]).set_index("label")

    @property
    def select(self) -> str:
        """Key of the validation number that chose the epoch."""
        return str(self.config.get("select", "rsum"))

    @property
    def kept(self) -> list[int]:
        """The epochs whose weights these are: one, or those of which they are the mean; none where nothing
        was trained.
        """
        if not self.history:
            return []
        if first := self.config.get("swa_from", 0):
            return [int(row["epoch"]) for row in self.history if row["epoch"] >= first]
        smaller = chooser(self.select, self.config.get("metrics", ())).smaller_is_better
        return [int(self.history[best_epoch(self.history, self.select, smaller=smaller)]["epoch"])]

    @property
    def validation(self) -> dict[str, float]:
        """What validation measured in the last of the epochs that are kept."""
        rows = [row for row in self.history if row["epoch"] in self.kept[-1:]]
        return {name[4:]: value for row in rows for name, value in row.items() if name.startswith("val/")}

    def __getitem__(self, label: str) -> float:
        """The value of one measurement, by label, e.g. ``"t2i/R@1"`` or ``"exact:t2i/map_at_r"``."""
        return {m.label: m.value for m in self.measurements}[label]

    def ranks(self, direction: Literal["i2t", "t2i"] = "t2i", judgements: str = "own") -> Values:
        """``(queries,)`` rank of each query's best relevant item, 1 = first; NaN where nothing is relevant.

        Args:
            direction: image to text or text to image.
            judgements: name of the split's judgements that say what is relevant.
        """
        return ranks_of(self._scored(), self.split.judgements[judgements], direction).first

    def rankings(self, k: int = 10) -> pd.DataFrame:
        """The ``k`` best items of every query in both directions: query, rank, item, score, grade by the
        split's own pairs. Directions and ids are categories of pandas, 4 bytes each and not their text.
        """
        own, scores = self.split.judgements["own"], by_rows(self._scored())
        ids = (self.split.image_ids, self.split.caption_ids)
        # as categories, since a million queries have ten million ids; one id may name an image and a caption
        known = pd.Index(dict.fromkeys((*ids[0], *ids[1])))
        sides = tuple(known.get_indexer(pd.Index(one)) for one in ids)
        deep, start = [min(k, len(one)) for one in sides[::-1]], 0
        code = pd.Categorical.from_codes([], known).codes.dtype
        types = {"direction": np.int8, "query_id": code, "rank": np.int32, "item_id": code}
        types |= {"score": np.float32, "grade": np.float32}
        size = sum(len(one) * depth for one, depth in zip(sides, deep, strict=True))
        # filled piece by piece: tables that are joined would lie in memory twice
        columns = {name: np.empty(size, kind) for name, kind in types.items()}
        for way, (rows, (query, item)) in enumerate(((scores, sides), (scores.T, sides[::-1]))):
            found, every = best(rows, deep[way])
            for first in range(0, len(every), PIECE):
                items, ranks = every[first : first + PIECE], np.arange(1, deep[way] + 1)
                at = np.arange(first, first + len(items))[:, None], items
                grade = own.at(*(at[::-1] if way else at))
                new = (way, query[at[0]], ranks, item[items], found[first : first + PIECE], grade)
                for column, values in zip(columns.values(), new, strict=True):
                    column[start : start + items.size].reshape(items.shape)[:] = values
                start += items.size
        kinds = {"direction": pd.Index(["i2t", "t2i"]), "query_id": known, "item_id": known}
        named = {name: pd.Categorical.from_codes(columns[name], of) for name, of in kinds.items()}
        return pd.DataFrame(columns | named, copy=False)

    def as_dict(self) -> dict[str, Any]:
        """What ``results.json`` holds: the same seed gives the same values, so no time is among them; it
        stands in ``env.json``. Of other data there is no training to tell of, but what the model was trained
        on.
        """
        measured = {
            "dataset": self.dataset,
            "split": {"name": self.split.name, **self.split.fingerprint()},
            "objective": self.config["objective"],
            "seed": self.config["seed"],
            "metrics": {m.label: m.value for m in self.measurements},
            "contracts": {m.label: m.as_dict() for m in self.measurements},
            "notes": list(self.split.notes),
        }
        if self.target:
            return measured | {"training": self.config["data"], "target": self.target.as_dict()}
        return measured | {
            "select": self.select,
            "kept": self.kept,
            "validation": self.validation,
            "steps": int(self.history[-1].get("steps", 0)) if self.history else 0,
            "history": [{name: row[name] for name in row if name != "seconds"} for row in self.history],
        }

    def save_beside(self, folder: str | Path) -> Path:
        """Write what was measured on other data into a folder of its own below the run's: ``params.json``
        (what was measured on), values by query, ``env.json``, ``results.json`` and ``STATUS``.

        Raises:
            ValueError: this was measured on the run's own test split, which ``save`` writes.
        """
        if self.target is None:
            raise ValueError(f"{self.name} was measured on its own data; save() writes that")
        path, split = Path(folder) / runs.EVALUATIONS / self.target.name, self.split
        write_json(path / runs.PARAMS, self.target.as_dict())
        runs.ByQuery(split.image_ids, split.caption_ids, split.own, self.values).write(path)
        write_json(path / runs.ENV, environment(self.config["seed"]))
        runs.write_results(path, self.as_dict())
        checksum_files(path, KEPT, {"config": self.config, "target": self.target.as_dict()})
        return runs.write_status(path, "ok").parent

    def save(self, folder: str | Path) -> Path:
        """Write numbers, values by query, rankings, embeddings and the checkpoint into a run folder.

        Returns:
            The path of ``results.json``; after it, only the checksums are written.

        Raises:
            BlockingIOError: another process writes into the folder.
        """
        with only_writer(folder):
            results = self._save(Path(folder))
            checksum_files(Path(folder), KEPT, {"config": self.config, "split": self.split.identity()})
        return results

    def _save(self, path: Path) -> Path:
        split, model = self.split, self.model
        write_json(path / runs.CONFIG, self.config)
        write_json(path / runs.STATES, {name: maker.state() for name, maker in model.makers.items()})
        checkpoint.write(
            path / runs.MODEL, checkpoint.weights(model.pair, model.objective), {"config": self.config}
        )
        write_table(path / "rankings.parquet", self.rankings())
        runs.ByQuery(split.image_ids, split.caption_ids, split.own, self.values).write(path)
        for side, embedding, ids in (
            ("image", self.image, split.image_ids),
            ("text", self.text, split.caption_ids),
        ):
            with replacing(path / "embeddings" / f"{side}.npy") as temporary:
                np.save(temporary, embedding.mean.numpy())
            write_table(path / "embeddings" / f"{side}_ids.parquet", pd.DataFrame({"id": list(ids)}))
        return runs.write_results(path, self.as_dict())
