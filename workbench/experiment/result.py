"""What an experiment found, and how it lies on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.experiment import runs
from workbench.experiment.model import Model
from workbench.experiment.scoring import WHOLE, scored
from workbench.metrics import recall
from workbench.metrics._ranks import AnyScores, by_rows
from workbench.metrics._rows import best
from workbench.records import Embedding, Measurement, Split
from workbench.records.writing import replacing
from workbench.training import checkpoint

CONFIG, STATES, MODEL = "config.json", "text.json", "model.safetensors"


@dataclass
class Result:
    """Numbers, curves and embeddings of one experiment.

    Args:
        config: the resolved configuration as JSON values.
        model: the trained model, with its best weights.
        split: the test split.
        measurements: every number with its contract.
        history: one mapping an epoch.
        image, text: embeddings of the test split.
    """

    config: dict[str, Any]
    model: Model
    split: Split
    measurements: list[Measurement]
    history: list[dict[str, float]]
    image: Embedding
    text: Embedding

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """``(I, T)`` scores of the test split."""
        return self.model.scores(self.image, self.text)

    def _scored(self) -> AnyScores:
        """The scores, by rows where the matrix is too large for memory."""
        whole = len(self.image) * len(self.text) <= WHOLE
        return self.scores if whole else scored(self.model, self.image, self.text)

    def table(self) -> pd.DataFrame:
        """The measurements with their contracts, one a row, indexed by label."""
        return pd.DataFrame([{"label": m.label, **asdict(m)} for m in self.measurements]).set_index("label")

    def curves(self) -> pd.DataFrame:
        """The history, one epoch a row."""
        return pd.DataFrame(self.history)

    def __getitem__(self, label: str) -> float:
        """The value of one measurement, by label, e.g. ``"t2i/R@1"`` or ``"exact:t2i/map_at_r"``."""
        return {m.label: m.value for m in self.measurements}[label]

    def ranks(self, direction: Literal["i2t", "t2i"] = "t2i", judgements: str = "own") -> NDArray[np.float64]:
        """``(queries,)`` rank of each query's best relevant item, 1 = first; NaN where nothing is relevant.

        Args:
            direction: image to text or text to image.
            judgements: name of the split's judgements that say what is relevant.
        """
        return recall.best_ranks(self._scored(), self.split.judgements[judgements], direction)

    def as_dict(self) -> dict[str, Any]:
        """What ``results.json`` holds: the same seed gives the same values, so no time is among them."""
        config = self.config
        return {
            "dataset": config["data"],
            "split": {"name": self.split.name, **self.split.fingerprint()},
            "objective": config["objective"],
            "seed": config["seed"],
            "metrics": {m.label: m.value for m in self.measurements},
            "contracts": {m.label: asdict(m) for m in self.measurements},
            "history": [
                {name: value for name, value in row.items() if name != "seconds"} for row in self.history
            ],
            "notes": list(self.split.notes),
        }

    def save(self, folder: str | Path) -> Path:
        """Write numbers, rankings, embeddings and the checkpoint into a run folder.

        Returns:
            The path of ``results.json``, which is written last.
        """
        path = Path(folder)
        runs.write_json(path / CONFIG, self.config)
        runs.write_json(path / STATES, {name: maker.state() for name, maker in self.model.makers.items()})
        checkpoint.write(path / MODEL, checkpoint.weights(self.model.pair, self.model.objective), {})
        runs.write_table(path / "rankings.parquet", self.rankings())
        self._save_embeddings(path / "embeddings")
        return runs.write_results(path, self.as_dict())

    def rankings(self, k: int = 10) -> pd.DataFrame:
        """The ``k`` best items of every query in both directions: query, rank, item, score, grade by the
        split's own pairs.
        """
        own, scores = self.split.judgements["own"], by_rows(self._scored())
        ids = (np.array(self.split.image_ids), np.array(self.split.caption_ids))
        tables = []
        for direction, rows, (query, item) in (("i2t", scores, ids), ("t2i", scores.T, ids[::-1])):
            found, items = best(rows, min(k, len(item)))
            at = (np.repeat(np.arange(len(items)), items.shape[1]), items.ravel())
            rank = np.tile(np.arange(1, items.shape[1] + 1), len(items))
            grades = own.at(*(at if direction == "i2t" else at[::-1]))
            values = {
                "query_id": query[at[0]],
                "rank": rank,
                "item_id": item[at[1]],
                "score": found.ravel(),
                "grade": grades,
            }
            tables.append(pd.DataFrame({"direction": direction, **values}))
        return pd.concat(tables, ignore_index=True)

    def _save_embeddings(self, folder: Path) -> None:
        for side, embedding, ids in (
            ("image", self.image, self.split.image_ids),
            ("text", self.text, self.split.caption_ids),
        ):
            with replacing(folder / f"{side}.npy") as temporary:
                np.save(temporary, embedding.mean.numpy())
            runs.write_table(folder / f"{side}_ids.parquet", pd.DataFrame({"id": list(ids)}))
