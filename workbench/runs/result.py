"""An opened run: a model, a split that it has embedded, and what was measured there.

``run(config)`` returns one, ``opening.open_runs`` opens those that lie on disk, and maps, comparisons and the
explorer look into them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from workbench.io import json_value, only_writer, replacing, write_checksums, write_json, write_table
from workbench.metrics.blocks import AnyScores, best, by_rows
from workbench.metrics.ranks import Best, ranks_of
from workbench.metrics.registry import usual
from workbench.progress import during
from workbench.records import Array, Embedding, Measurement, Split, Values, require
from workbench.records.measurement import headline, measurement_rows, remarks
from workbench.registry import door, require_known
from workbench.runs import store as runs
from workbench.runs.about import About, add_about
from workbench.runs.build import Target
from workbench.runs.by_query import ByQuery
from workbench.runs.environment import environment
from workbench.runs.history import training_summary
from workbench.runs.model import WHOLE, AnyModel, ExternalModel, scored
from workbench.runs.place import runs_folder
from workbench.runs.resolve import chooser
from workbench.training import checkpoint
from workbench.training.averaging import best_epoch
from workbench.training.settings import changed

# the weights hold a checksum of their own
CHECKSUMMED = (runs.STATES, runs.RESULTS, "*.parquet", runs.VALUES, "embeddings/*")


# a model, and the embeddings of a split's images and captions on the CPU in float32; parts are left out where
# its scores do not read them
Contents = tuple[AnyModel, Embedding, Embedding]


@dataclass(frozen=True)
class OpenRun:
    """A model and a split that it has embedded, with what was measured.

    Args:
        name: how tables and figures call it; unique among runs that are shown together.
        split: whose images and captions are embedded.
        load: gives the model and the embeddings; called whenever one of them is asked for, so that what costs
            time stands in ``functools.cache``.
        folder: the run folder that it came from; ``None`` = it lies in no folder.
        config: the resolved configuration as JSON values.
        measurements: every number with its contract.
        history: one mapping an epoch.
        values: key -> the values by query that a number is made of, as ``metrics.intervals.Draws`` reads
            them.
        target: what was measured on, where it is not the run's own test split.
        best: by direction, the best items of every query, where the evaluation has found them.
        threads: of the processor with which PyTorch computed what was measured; 0 = not known, as of runs of
            older versions.
        about: name, tags and note that it was given, which ``save`` keeps.
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
    best: Mapping[str, Best] = field(default_factory=dict)
    threads: int = field(default_factory=torch.get_num_threads)
    about: About = field(default_factory=About)

    def shown(self, *, every: bool = False) -> pd.DataFrame:
        """The numbers to look at first as texts, with their intervals and what chance would be; metrics that
        were asked for stand last.

        Args:
            every: all of them.
        """
        rows = {row["number"]: row for row in measurement_rows(self.measurements)}
        heads = ["value", "in", "chance", "queries", "gallery"]
        first = headline(rows, usual=usual(self.config.get("metrics", ())))
        shown = [rows[label] for label in (rows if every else first)]
        return pd.DataFrame(shown, columns=["number", *heads]).set_index("number")

    def _title(self) -> str:
        return f"{self.name} on {self.split.name}"

    def __repr__(self) -> str:
        return "\n".join([self._title(), self.shown().to_string(), *self._remarks(), *self.split.notes])

    def _repr_html_(self) -> str:
        caption = "; ".join([self._title(), *self._remarks()])
        return str(self.shown().style.set_caption(caption).to_html())

    def _remarks(self) -> list[str]:
        shown = set(self.shown().index)
        return remarks(one for one in self.measurements if one.label in shown)

    @property
    def dataset(self) -> str:
        """Name of the data set of the split; ``config["data"]`` is what the model was trained on."""
        return self.target.data if self.target else str(self.config["data"])

    @property
    def random_weights(self) -> bool:
        """Whether the model has random weights, which nothing has trained."""
        return bool(self.config.get("random_weights", False))

    @property
    def model(self) -> AnyModel:
        """The model, with its best weights."""
        return self.load()[0]

    @property
    def image(self) -> Embedding:
        """The embeddings of the split's images."""
        return self.load()[1]

    @property
    def text(self) -> Embedding:
        """The embeddings of the split's captions."""
        return self.load()[2]

    @cached_property
    def scores(self) -> Array:
        """``(I, T)`` scores of the whole split, by the objective, and re-ranked where the configuration says
        so.
        """
        return by_rows(scored(self.model, self.image, self.text)).rows()

    def any_scores(self) -> AnyScores:
        """Return the scores, by rows where the matrix is too large for memory."""
        lazy = len(self.image) * len(self.text) > WHOLE
        return scored(self.model, self.image, self.text) if lazy else self.scores

    def with_embeddings(self, name: str, image: Embedding, text: Embedding) -> "OpenRun":
        """The same model and split with other embeddings, under another name and in no folder."""
        return OpenRun(
            name, self.split, lambda: (self.model, image, text), config=self.config, target=self.target
        )

    def with_noise(self, amount: float, *, name: str = "", seed: int = 0) -> "OpenRun":
        """Return the same model with random numbers added to its vectors, a baseline known to be worse.

        Args:
            amount: length of what is added to each vector of length 1; 0 changes nothing. The scores must
                read the mean vectors alone.
            name: of the baseline; empty = the run's, with ``" + noise"``.
            seed: of the random numbers.
        """
        generator, unit = torch.Generator().manual_seed(seed), torch.nn.functional.normalize

        def blurred(side: Embedding) -> Embedding:
            noise = unit(torch.randn(side.mean.shape, generator=generator), dim=1)
            return replace(side, mean=unit(side.mean + amount * noise, dim=1))

        image, text = blurred(self.image), blurred(self.text)
        return self.with_embeddings(name or f"{self.name} + noise", image, text)

    def training_summary(self) -> str:
        """Say which epoch is kept and why, what training cost, and whether the result is above chance."""
        return training_summary(
            self.history, select=self.select, kept=self.kept, measurements=self.measurements
        )

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

    def keys(self) -> list[str]:
        """Return the labels of all measurements."""
        return [m.label for m in self.measurements]

    def __iter__(self) -> Iterator[str]:
        """Walk over the labels, so that ``dict(run)`` holds every value by its label."""
        return iter(self.keys())

    def __contains__(self, label: object) -> bool:
        """Say whether a number of this label was measured."""
        return label in self.keys()

    def __getitem__(self, label: str) -> float:
        """Return the value of one measurement, by label, e.g. ``"t2i/R@1"`` or ``"exact:t2i/map_at_r"``: a
        share of 1, RSUM of 6, where tables show percent.

        Raises:
            KeyError: no such number was measured; the message lists the near ones.
        """
        require(
            self.measurements,
            f"no number of {self.name} was measured on {self.split.name} as it is now; compare() of this run "
            "computes them",
            KeyError,
        )
        require_known(f"{self.name} has no number", label, self.keys())
        return {m.label: m.value for m in self.measurements}[label]

    @door("ranks")
    def ranks(self, direction: Literal["i2t", "t2i"] = "t2i", judgements: str = "own") -> Values:
        """``(queries,)`` rank of each query's best relevant item, 1 = first; NaN where nothing is relevant.

        Args:
            direction: whether images or captions are the queries.
            judgements: name of the split's judgements that say what is relevant.
        """
        return ranks_of(self.any_scores(), self.split.judgements[judgements], direction).first

    @door("rankings")
    def rankings(self, k: int = 10) -> pd.DataFrame:
        """The ``k`` best items of every query in both directions: query, rank, item, score, grade by the
        split's own pairs. Directions and ids are categories of pandas, 4 bytes each and not their text.
        """
        own, kept = self.split.judgements["own"], dict(self.best)
        if not kept or kept["i2t"][1].shape[1] < min(k, len(self.split.captions)):
            scores = by_rows(self.any_scores())
            kept = {
                way: best(rows, min(k, rows.shape[1])) for way, rows in (("i2t", scores), ("t2i", scores.T))
            }
        # one list of ids, since a table of both directions has one kind of category
        ids = (self.split.image_ids, self.split.caption_ids)
        known = pd.Index(dict.fromkeys((*ids[0], *ids[1])))
        images, captions = (known.get_indexer(pd.Index(side)) for side in ids)
        tables = []
        for way, queries, items in ((0, images, captions), (1, captions, images)):
            best_scores, found = (one[:, :k] for one in kept["t2i" if way else "i2t"])
            query, rank = np.indices(found.shape, dtype=np.int32)
            columns = {
                "direction": pd.Categorical.from_codes(
                    np.full(found.size, way, np.int8), pd.Index(["i2t", "t2i"])
                ),
                "query_id": pd.Categorical.from_codes(queries[query.ravel()], known),
                "rank": rank.ravel() + np.int32(1),
                "item_id": pd.Categorical.from_codes(items[found.ravel()], known),
                "score": best_scores.ravel().astype(np.float32),
                "grade": own.at(*((found, query) if way else (query, found))).ravel().astype(np.float32),
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)

    def as_dict(self) -> dict[str, Any]:
        """What ``results.json`` holds: the same seed and threads give the same values, so no time is among
        them; it stands in ``env.json``. Of other data there is no training to tell of, but what the
        model was trained on.
        """
        measured = {
            "dataset": self.dataset,
            "split": {
                "name": self.split.name,
                **self.split.fingerprint(),
                "checksums": self.split.checksums(),
            },
            "objective": self.config["objective"],
            "seed": self.config["seed"],
            "threads": self.threads,
            "metrics": {m.label: m.value for m in self.measurements},
            "contracts": {m.label: m.as_dict() for m in self.measurements},
            "notes": list(self.split.notes),
        }
        if self.target:
            return measured | {"training": self.config["data"], "target": asdict(self.target)}
        # of several epochs that are kept, validation tells of the last
        last = {
            name: of for row in self.history if row["epoch"] in self.kept[-1:] for name, of in row.items()
        }
        return measured | {
            "select": self.select,
            "kept": self.kept,
            "validation": {name[4:]: value for name, value in last.items() if name.startswith("val/")},
            "steps": int(self.history[-1].get("steps", 0)) if self.history else 0,
            "history": [{name: row[name] for name in row if name != "seconds"} for row in self.history],
        }

    @door("save")
    @during("writing the run")
    def save(self, folder: str | Path) -> Path:
        """Write numbers, values by query, rankings, embeddings and the checkpoint into a run folder; of other
        data what was measured there, into a folder of its own below the run's.

        Returns:
            The path of ``results.json``; after it, only the checksums are written, and of other data
            ``STATUS``.

        Raises:
            BlockingIOError: another process writes into the folder.
            FileExistsError: the folder holds a run of other settings or the result of another evaluation, or
                another run has the name.
        """
        path, split, outside = Path(folder).expanduser(), self.split, "model" in self.config
        if self.target:
            path = path / runs.EVALUATIONS / self.target.name
        if outside:
            known = isinstance(self.model, ExternalModel) or self.config["model"]
            require(known, f"{self.name} has no run folder; save its run first, and evaluate that")
            require(not (path / runs.MODEL).is_file(), f"{folder} holds a run that trained", FileExistsError)
        if not self.target:
            _require_free(path, self.about.name, {} if outside else self.config)
        with only_writer(path):
            if self.target or outside:
                params = asdict(self.target) if self.target else dict(self.config)
                same = runs.load(path / runs.PARAMS) in ({}, json_value(params, runs.PARAMS))
                require(same, f"{folder} holds another result; choose another folder", FileExistsError)
                write_json(path / runs.PARAMS, params)
                write_json(path / runs.ENV, environment(self.config["seed"], self.threads))
            if not self.target:
                add_about(path, self.about)
                self._save_model(path)
            about = {"target": params} if self.target else {"split": split.identity()}
            ByQuery.of(split, self.values).write(path)
            results = runs.write_results(path, self.as_dict())
            # a file that begins with a dot is one that was never finished
            files = {
                file for form in CHECKSUMMED for file in path.glob(form) if not file.name.startswith(".")
            }
            write_checksums(path / runs.CHECKSUMS, sorted(files), {"config": self.config, **about})
            if self.target or outside:
                runs.write_status(path, "ok")
            elif not self.config.get("keep_optimizer", False):
                checkpoint.drop_state(path)
        return results

    def _save_model(self, path: Path) -> None:
        model, split = self.model, self.split
        write_json(path / runs.CONFIG, self.config)
        if isinstance(model, ExternalModel) or "model" in self.config:
            images = [split.image_ids[row] for row in split.own]
            captions = {"id": split.caption_ids, "image": images, "caption": split.captions}
            write_table(path / runs.CAPTIONS, pd.DataFrame(captions))
        else:
            write_json(path / runs.STATES, {name: maker.state() for name, maker in model.makers.items()})
            checkpoint.write(
                path / runs.MODEL, checkpoint.weights(model.pair, model.objective), {"config": self.config}
            )
        write_table(path / "rankings.parquet", self.rankings())
        sides = {"image": (self.image, self.split.image_ids), "text": (self.text, self.split.caption_ids)}
        for side, (embedding, ids) in sides.items():
            with replacing(path / "embeddings" / f"{side}.npy") as temporary:
                np.save(temporary, embedding.mean.numpy())
            write_table(path / "embeddings" / f"{side}_ids.parquet", pd.DataFrame({"id": list(ids)}))


def _require_free(folder: Path, name: str, config: Mapping[str, Any]) -> None:
    """Raise if another run has a name, or if a folder holds a run of another configuration."""
    place, root = folder.resolve(), runs_folder().resolve()
    runs.check_name(name, root if place.is_relative_to(root) else place.parent, folder)
    earlier = runs.load(folder / runs.CONFIG)
    differ = changed(earlier, config) if earlier and config else {}
    require(
        not differ,
        f"{folder} holds a run with other settings ({'; '.join(differ.values())}); choose another folder",
        FileExistsError,
    )
