"""A result: a model, a split that it has embedded, and what was measured there.

``train`` and ``evaluate`` return one, ``opening.open_runs`` opens those that lie on disk, and maps,
comparisons and the explorer look into them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from workbench.io import only_writer, resolve_output, write_checksums, write_json, write_table
from workbench.metrics.blocks import AnyScores, best_items, by_rows, in_memory
from workbench.metrics.ranks import Best, ranks_of
from workbench.metrics.registry import usual_names
from workbench.progress import during
from workbench.records import Array, Embedding, Measurement, Split, Values, require
from workbench.records.measurement import baseline_remarks, headline, measurement_rows, remarks
from workbench.registry import check_arguments, require_known
from workbench.runs import store as runs
from workbench.runs.about import About, add_about
from workbench.runs.by_query import ByQuery
from workbench.runs.caption_tables import caption_table
from workbench.runs.encoder_model import EncoderModel, TrainedModel
from workbench.runs.environment import environment
from workbench.runs.history import training_summary
from workbench.runs.kinds import Evaluation, Training
from workbench.runs.model import WHOLE, Model
from workbench.runs.noise import add_noise, measure_lists
from workbench.runs.place import runs_folder
from workbench.runs.qrels import NAME as QRELS
from workbench.runs.qrels import ground_truth, saved_ground_truth
from workbench.runs.rerank import unstaged
from workbench.runs.resolve import choosing_metric
from workbench.runs.run_files import DEPTH, GRADES, LISTS, best_pairs, write_pairs
from workbench.runs.same_data import facts_of
from workbench.runs.scores import write_model
from workbench.runs.scoring import score_split
from workbench.runs.spellings import name_of
from workbench.runs.target import Target
from workbench.runs.vector_parts import write_vectors
from workbench.runs.ways import WAYS, TwoWays, Way, view_for_way
from workbench.training import checkpoint
from workbench.training.averaging import best_epoch
from workbench.training.settings import changed_settings

# the weights hold a checksum of their own
CHECKSUMMED = (runs.STATES, runs.RESULTS, "*.parquet", runs.VALUES, runs.SCORES, "embeddings/*")


# a model, and the embeddings of a split's images and captions on the CPU in float32; parts are left out where
# its scores do not read them
Contents = tuple[Model, Embedding, Embedding]


@dataclass(frozen=True)
class Result:
    """A model and a split that it has embedded, with what was measured.

    Args:
        name: how tables and figures call it; unique among runs that are shown together.
        split: whose images and captions are embedded.
        load: gives the model and the embeddings; called whenever one of them is asked for, so that what costs
            time stands in ``functools.cache``.
        folder: the run folder that it came from; ``None`` = it lies in no folder.
        run: what was trained, or what was evaluated.
        measurements: every number with its contract.
        history: one mapping an epoch.
        values: key -> the values by query that a number is made of, as ``metrics.intervals.Draws`` reads
            them.
        target: what a run is opened on, where it is not its own test split.
        best: by direction, the best items of every query, where the evaluation has found them.
        threads: of the processor with which PyTorch computed what was measured; 0 = not known, as of runs of
            older versions.
        about: name, tags and note that it was given, which ``save`` keeps.
    """

    name: str
    split: Split
    load: Callable[[], Contents]
    folder: Path | None = None
    run: Training | Evaluation = field(default_factory=Evaluation)
    measurements: Sequence[Measurement] = ()
    history: Sequence[Mapping[str, float]] = ()
    values: Mapping[str, Values] = field(default_factory=dict)
    target: Target | None = None
    best: Mapping[str, Best] = field(default_factory=dict)
    threads: int = field(default_factory=torch.get_num_threads)
    about: About = field(default_factory=About)

    def text_table(self, *, every: bool = False) -> pd.DataFrame:
        """Return the numbers to look at first as texts, with their intervals and what chance would be;
        metrics that were asked for stand last.

        Args:
            every: all of them.
        """
        rows = {row["number"]: row for row in measurement_rows(self.measurements)}
        heads = ["value", "in", "chance", "queries", "gallery"]
        first = headline(rows, usual=usual_names(self.config.get("metrics", ())))
        labels = rows if every else first
        shown = [rows[label] for label in labels]
        return pd.DataFrame(shown, columns=["number", *heads]).set_index("number")

    def _title(self) -> str:
        return f"{self.name} on {self.split.name}"

    def __repr__(self) -> str:
        return "\n".join([self._title(), self.text_table().to_string(), *self._remarks(), *self.split.notes])

    def _repr_html_(self) -> str:
        caption = "; ".join([self._title(), *self._remarks()])
        return str(self.text_table().style.set_caption(caption).to_html())

    def _remarks(self) -> list[str]:
        shown = set(self.text_table().index)
        visible = [measured for measured in self.measurements if measured.label in shown]
        return [*remarks(visible), *baseline_remarks(self.measurements)]

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration of a training, or the fields of an evaluation, as JSON values."""
        return self.run.as_dict()

    @property
    def dataset(self) -> str:
        """Name of the data set of the split."""
        return self.target.data.name if self.target else str(name_of(self.config["data"]))

    @property
    def trained_on(self) -> str:
        """Name of the data set that the model was trained on."""
        training = self.run.training if isinstance(self.run, Evaluation) else ""
        return training or str(name_of(self.config["data"]))

    @property
    def has_random_weights(self) -> bool:
        """Whether the model has random weights, which nothing has trained."""
        return isinstance(self.run, Evaluation) and self.run.random_weights

    @property
    def model(self) -> Model:
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
        """``(I, T)`` scores of the whole split, by the objective; where they are re-ranked, those of images
        as queries, see ``scores_of``. Lists whose directions score pairs differently raise ``ValueError``.
        """
        if getattr(self.model, "directed", False):
            return self.model.matrix(self.image, self.text)
        return by_rows(self.any_scores()).rows()

    @cached_property
    def _in_memory(self) -> AnyScores:
        return in_memory(score_split(self.model, self.image, self.text))

    def any_scores(self) -> AnyScores:
        """Return the scores, by rows where a matrix is too large for memory or is not all known."""
        lazy = getattr(self.model, "directed", False) or len(self.image) * len(self.text) > WHOLE
        return score_split(self.model, self.image, self.text) if lazy else self._in_memory

    def scores_of(self, direction: Way) -> Array:
        """Return ``(I, T)`` scores by which a direction ranks; of most models they are ``scores``.

        Args:
            direction: whether images or captions are the queries.

        Raises:
            ValueError: ranked lists of the other direction alone.
        """
        self._require_way(direction)
        rows = by_rows(self.any_scores())
        return rows.rows() if direction == "i2t" else rows.T.rows().T

    def _require_way(self, direction: str) -> None:
        """Raise if a direction is not ranked."""
        ways = ", ".join(self.model.ways)
        require(
            direction in self.model.ways, f"{self.name} has lists of {ways} alone, and none of {direction}"
        )

    def with_embeddings(self, name: str, image: Embedding, text: Embedding) -> "Result":
        """Return the same model and split with other embeddings, under another name and in no folder."""
        return Result(name, self.split, lambda: (self.model, image, text), run=self.run, target=self.target)

    def with_noise(self, amount: float, *, name: str = "", seed: int = 0) -> "Result":
        """Return the same result with random numbers added, a baseline known to be worse: to its vectors, or
        to its scores where these are no cosines of one vector an item.

        Args:
            amount: length of what is added to each vector of length 1, or standard deviations of the scores;
                0 changes nothing.
            name: of the baseline; empty = the run's, with ``" + noise"``.
            seed: of the random numbers.
        """
        changed = add_noise(self.load(), self.split, self.any_scores(), amount, seed)
        fields = {"run": self.run, "target": self.target, **measure_lists(changed, self.split)}
        return Result(name or f"{self.name} + noise", self.split, lambda: changed, **fields)

    def training_summary(self) -> str:
        """Describe which epoch is kept and why, what training cost, and whether the result is above
        chance.
        """
        return training_summary(
            self.history, select=self.select, kept=self.kept_epochs, measurements=self.measurements
        )

    def table(self) -> pd.DataFrame:
        """Return the measurements with their contracts, one a row, indexed by label."""
        return pd.DataFrame([{"label": m.label, **m.as_dict()} for m in self.measurements]).set_index("label")

    @property
    def select(self) -> str:
        """Key of the validation number that chose the epoch."""
        return str(self.config.get("select", "rsum"))

    @property
    def kept_epochs(self) -> list[int]:
        """The epochs whose weights these are, or are the mean of; none where nothing was trained."""
        if not self.history:
            return []
        if first := self.config.get("swa_from", 0):
            return [int(row["epoch"]) for row in self.history if row["epoch"] >= first]
        smaller = choosing_metric(self.select, self.config.get("metrics", ())).smaller_is_better
        return [int(self.history[best_epoch(self.history, self.select, smaller=smaller)]["epoch"])]

    def keys(self) -> list[str]:
        """Return the labels of all measurements."""
        return [m.label for m in self.measurements]

    def __iter__(self) -> Iterator[str]:
        """Walk over the labels, so that ``dict(run)`` holds every value by its label."""
        return iter(self.keys())

    def __contains__(self, label: object) -> bool:
        """Return whether a number of this label was measured."""
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

    @check_arguments("ranks")
    def ranks(self, direction: Way = "t2i", judgements: str = "own") -> Values:
        """Return ``(queries,)`` rank of each query's best relevant item, 1 = first; NaN where nothing is
        relevant.

        Args:
            direction: whether images or captions are the queries.
            judgements: name of the split's judgements that say what is relevant.

        Raises:
            ValueError: ranked lists of the other direction alone.
        """
        self._require_way(direction)
        return ranks_of(self.any_scores(), self.split.judgements[judgements], direction).first

    @check_arguments("rankings")
    def rankings(self, k: int = 10) -> pd.DataFrame:
        """Return the ``k`` best items of every query in both directions: query, rank, item, score, grade by
        the split's own pairs. Directions and ids are categories of pandas, 4 bytes each and not their text.
        """
        own, lists = self.split.judgements["own"], self.best_items(k)
        # one list of ids, since a table of both directions has one kind of category
        ids = (self.split.image_ids, self.split.caption_ids)
        known = pd.Index(dict.fromkeys((*ids[0], *ids[1])))
        images, captions = (known.get_indexer(pd.Index(side)) for side in ids)
        ways: pd.Index[str] = pd.Index(WAYS)
        tables = []
        for code, (way, queries, items) in enumerate((("i2t", images, captions), ("t2i", captions, images))):
            scores, rows = (values[:, :k] for values in lists[way])
            cells: Array = np.indices(rows.shape, dtype=np.int32)
            query, rank = cells[0], cells[1]
            grades = own.grades_at(query, rows) if way == "i2t" else own.grades_at(rows, query)
            directions = pd.Categorical.from_codes(np.full(rows.size, code, np.int8), ways)
            table = pd.DataFrame({"direction": directions})
            table["query_id"] = pd.Categorical.from_codes(queries[query.ravel()], known)
            table["rank"] = rank.ravel() + np.int32(1)
            table["item_id"] = pd.Categorical.from_codes(items[rows.ravel()], known)
            table["score"] = scores.ravel().astype(np.float32)
            table["grade"] = grades.ravel().astype(np.float32)
            tables.append(table[scores.ravel() > self.model.floor])
        return pd.concat(tables, ignore_index=True)

    def write_run(self, file: str | Path, direction: Way = "t2i", *, k: int = DEPTH) -> Path:
        """Write the ``k`` best items of every query as a run file of TREC, or as JSON where the name ends so.

        Args:
            file: is written anew.
            direction: whether images or captions are the queries.
            k: items of a query.

        Returns:
            The file.

        Raises:
            ValueError: an id has a blank, which TREC cannot hold, or the result has no such direction.
        """
        self._require_way(direction)
        lists = best_pairs(self.any_scores(), self.split, direction, k)
        return write_pairs(
            file, lists[lists["value"] > self.model.floor], LISTS, tag=self.name, decimals=True
        )

    def write_qrels(
        self, file: str | Path, direction: Way = "t2i", *, judgements: str = "own", graded: bool = False
    ) -> Path:
        """Write judgements of the data as ground truth in the form of TREC, or as JSON where the name ends
        so.

        Args:
            file: is written anew.
            direction: whether images or captions are the queries.
            judgements: their name.
            graded: write the grades, which are whole numbers; else 1 for what is relevant, and 0.

        Returns:
            The file.

        Raises:
            KeyError: the data have no such judgements.
            ValueError: an id has a blank, or a grade is no whole number.
        """
        require_known(f"{self.split.name} has no judgements", judgements, self.split.judgements)
        pairs = ground_truth(self.split, direction, judgements, graded=graded)
        return write_pairs(file, pairs, GRADES)

    def best_items(self, k: int) -> dict[str, Best]:
        """Return scores and rows of at least the ``k`` best items of every query, by direction."""
        if self.best and self.best["i2t"][1].shape[1] >= min(k, len(self.split.captions)):
            return dict(self.best)
        scores = by_rows(self.any_scores())
        sides = {"i2t": scores, "t2i": scores.T}
        return {way: best_items(side, min(k, side.shape[1])) for way, side in sides.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return what ``results.json`` holds. The same seed and threads give the same values, so no time is
        among them; it is in ``env.json``. ``metrics`` has the values, and ``contracts`` what they are.
        """
        contracts = {measured.label: measured.as_dict() for measured in self.measurements}
        values = {label: contract.pop("value") for label, contract in contracts.items()}
        about = {"dataset": self.dataset, "split": facts_of(self.split), **self._identity()}
        about |= {"seed": self.config["seed"], "threads": self.threads}
        measured = {"metrics": values, "contracts": contracts, "notes": list(self.split.notes)}
        return {**about, **measured, **self._training_record()}

    def _identity(self) -> dict[str, Any]:
        """Return the name of what was evaluated, and of a model of this library its training."""
        if isinstance(self.run, Training):
            return {"objective": name_of(self.config["objective"])}
        fields = {name: getattr(self.run, name) for name in ("objective", "training", "target")}
        return {"model": self.run.name, **{name: value for name, value in fields.items() if value}}

    def _training_record(self) -> dict[str, Any]:
        """Return how a training went."""
        if isinstance(self.run, Evaluation):
            return {}
        # of several epochs that are kept, validation tells of the last
        rows = [row for row in self.history if row["epoch"] in self.kept_epochs[-1:]]
        last = rows[-1] if rows else {}
        validation = {name[4:]: value for name, value in last.items() if name.startswith("val/")}
        steps = int(self.history[-1].get("steps", 0)) if self.history else 0
        return {
            "select": self.select,
            "kept": self.kept_epochs,
            "validation": validation,
            "steps": steps,
            "history": [_without_time(row) for row in self.history],
        }

    @check_arguments("save")
    @during("writing the run")
    def save(self, folder: str | Path, *, over: bool = False) -> Path:
        """Write numbers, values by query, rankings, embeddings and the checkpoint into a run folder.

        Args:
            folder: is made where it is not there.
            over: replace the evaluation that lies there, whatever it was of.

        Returns:
            The path of ``results.json``; after it, only the checksums are written, and of an evaluation
            ``STATUS``.

        Raises:
            BlockingIOError: another process writes into the folder.
            FileExistsError: the folder holds a run of other settings or the result of another evaluation, or
                another run has the name.
            ValueError: a model that lies in no folder was evaluated, or a run was opened on other data.
        """
        path = resolve_output(folder)
        require(not self.target, f"{self.name} was opened on other data; evaluate it there, and save that")
        config = self.config if isinstance(self.run, Training) else {}
        _require_free(path, self.about.name, config)
        with only_writer(path):
            if isinstance(self.run, Evaluation):
                self._begin_evaluation(path, self.run, over)
            add_about(path, self.about)
            self._save_model(path)
            ByQuery.from_split(self.split, self.values).write(path)
            results = runs.write_results(path, self.as_dict())
            files: set[Path] = set()
            for form in CHECKSUMMED:
                files.update(path.glob(form))
            # a file that begins with a dot is one that was never finished
            finished = sorted(file for file in files if not file.name.startswith("."))
            facts = {"config": self.config, "split": self.split.identity()}
            write_checksums(path / runs.CHECKSUMS, finished, facts)
            if isinstance(self.run, Evaluation):
                runs.write_status(path, "ok")
            elif not self.config.get("keep_optimizer", False):
                checkpoint.drop_state(path)
        return results

    def _begin_evaluation(self, path: Path, run: Evaluation, over: bool) -> None:
        """Write what was evaluated, unless the folder holds something else."""
        lost = isinstance(self.model, TrainedModel) and not run.model
        require(not lost, f"{self.name} has no run folder; save its run first, and evaluate that")
        require(not (path / runs.MODEL).is_file(), f"{path} holds a run that trained", FileExistsError)
        params = run.as_dict()
        same = over or runs.load(path / runs.PARAMS) in ({}, params)
        require(same, f"{path} holds another result; choose another folder", FileExistsError)
        write_json(path / runs.PARAMS, params)
        write_json(path / runs.ENV, environment(run.seed, self.threads))

    def _save_model(self, path: Path) -> None:
        model, split = self.model, self.split
        _, image, text = unstaged(model, self.image, self.text)
        self.run.write(path)
        if isinstance(self.run, Evaluation):
            write_table(path / runs.CAPTIONS, caption_table(split))
            if QRELS in split.judgements:
                write_table(path / runs.QRELS, saved_ground_truth(split))
            write_model(path, self)
        elif isinstance(model, TrainedModel):
            write_json(path / runs.STATES, {name: maker.state() for name, maker in model.makers.items()})
            checkpoint.write(
                path / runs.MODEL,
                checkpoint.copy_weights(model.pair, model.objective),
                {"config": self.config},
            )
        write_table(path / "rankings.parquet", self.rankings())
        for side, embedding, ids in (
            ("image", image, split.image_ids),
            ("text", text, split.caption_ids),
        ):
            # an encoder of this library makes parts again
            parts = not isinstance(model, EncoderModel)
            write_vectors(path, side, view_for_way(embedding, "i2t"), parts=parts)
            if isinstance(embedding, TwoWays):
                write_vectors(path, f"{side}_t2i", view_for_way(embedding, "t2i"), parts=parts)
            write_table(path / "embeddings" / f"{side}_ids.parquet", pd.DataFrame({"id": list(ids)}))


def _require_free(folder: Path, name: str, config: Mapping[str, Any]) -> None:
    """Raise if another run has a name, or if a folder holds a run of another configuration."""
    place, root = folder.resolve(), runs_folder().resolve()
    runs.check_name(name, root if place.is_relative_to(root) else place.parent, folder)
    earlier = runs.load(folder / runs.CONFIG)
    differ = changed_settings(earlier, config) if earlier and config else {}
    require(
        not differ,
        f"{folder} holds a run with other settings ({'; '.join(differ.values())}); choose another folder",
        FileExistsError,
    )


def _without_time(row: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if name != "seconds"}
