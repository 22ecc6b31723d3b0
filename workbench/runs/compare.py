"""Several open runs on the same queries: numbers and verdicts, queries that differ, what runs cost."""

import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch

from workbench import metrics
from workbench.formatting import format_interval, format_number
from workbench.metrics import comparison, map_at_r
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.intervals import Draws
from workbench.metrics.ranks import Ranked
from workbench.progress import during
from workbench.records import (
    Array,
    Measurement,
    MetricKey,
    Rows,
    Split,
    Values,
    densest,
    require,
)
from workbench.records.measurement import measurement_row, remarks, unit_of
from workbench.registry import did_you_mean, door, require_known
from workbench.runs import store
from workbench.runs.by_query import compared
from workbench.runs.model import KeptVectors
from workbench.runs.opening import apart, open_runs, opened, together
from workbench.runs.result import OpenRun
from workbench.training import averaging, checkpoint

# length of the random numbers beside which a single model is shown
NOISE = 1.0


def at_hand(names: Sequence[str] = (), *, images: int = 0) -> list[OpenRun]:
    """Open runs side by side; without names, something that can be compared.

    Args:
        names: see ``open_runs``; none = the models of the tour, or where it was not run, the shipped encoder
            and the same with noise.
        images: see ``open_runs``.
    """
    spaces = open_runs(names or store.of_tour(), images=images)
    if not names and len(spaces) == 1:
        spaces.append(noisy(spaces[0], NOISE, name=f"{spaces[0].name} + noise"))
    return spaces


def trained(runs: Sequence[OpenRun]) -> pd.DataFrame:
    """How each run was trained, one a row: what it is of, which epochs are kept, by what they were chosen,
    and which one validation RSUM would have kept. Of vectors and of models made elsewhere nothing is known.
    """
    facts = ("objective", "data", "image_encoder", "train_images", "epochs", "seed", "select")
    found = {}
    for run in runs:
        by_rsum = [run.history[averaging.best_epoch(run.history, "rsum")]["epoch"]] if run.history else []
        if "model" in run.config:
            found[run.name] = {"objective": "not trained here"}
            continue
        found[run.name] = {fact: run.config.get(fact, "") for fact in facts} | {
            "kept": ", ".join(map(str, run.kept)),
            "RSUM would keep": ", ".join(format_number(epoch, 0) for epoch in by_rsum),
        }
    columns = [*facts, "kept", "RSUM would keep"]
    return pd.DataFrame.from_dict(found, orient="index", columns=columns).fillna("")


def numbers(run: OpenRun, keys: Sequence[str]) -> dict[str, tuple[Measurement, Values]]:
    """Each number with its contract, and the values by query that it is made of.

    What the run keeps is taken as it is, so that no model is opened; what it does not keep is measured
    now, by the same draws of images.

    Args:
        run: an open run.
        keys: of any metric of the shelf, e.g. ``"rsum"``, ``"t2i/R@1"``, ``"exact:i2t/map_at_r"``, or of any
            number that the run keeps.

    Returns:
        Key -> measurement, and values as ``intervals.Draws`` reads them, NaN where a query has nothing
        relevant.

    Raises:
        KeyError: judgements that the split does not have, a metric that is none of the shelf's, or a number
            that it does not give there.
    """
    kept = {m.label: (m, run.values[m.label]) for m in run.measurements if m.label in run.values}
    split, asked = run.split, {}
    for text in (text for text in keys if text not in kept):
        key = MetricKey.parse(text)
        require_known(f"{text}: the split has no judgements", key.judgements, split.judgements)
        metric = metrics.load(key.metric)
        metric.ks = (key.k,) if key.k and any(metric.ks) else metric.ks
        asked[text] = key.judgements, metric
    names = dict.fromkeys(["own", *(name for name, _ in asked.values())])
    ranked = Ranked(run.scores, [split.judgements[name] for name in names]) if asked else None
    for text, (name, metric) in asked.items():
        evidence = Evidence(
            run.scores, split.judgements[name], split.own, split.judgements["own"], ranked=ranked
        )
        found = {m.label: (m, values) for m, values in walk(evidence, [metric])}
        answers = ", ".join(found) or "no query that has an answer"
        require(text in found, f"no number {text!r}: {split.name} has {answers}", KeyError)
        kept = found | kept
    return {text: kept[text] for text in keys}


def first_keys(judgements: Iterable[str]) -> list[str]:
    """What is compared where nobody asks for anything else: RSUM and R@1 by a data set's own pairs, and mAP@R
    by the densest judgements.

    Args:
        judgements: names of those that there are.

    >>> first_keys(["own", "exact"])
    ['rsum', 'i2t/R@1', 't2i/R@1', 'exact:i2t/map_at_r', 'exact:t2i/map_at_r']
    """
    dense, ways = densest(judgements), ("i2t", "t2i")
    denser = [MetricKey("map_at_r", way, dense) for way in ways if dense != "own"]
    return list(map(str, [MetricKey("rsum"), *(MetricKey("R", way, k=1) for way in ways), *denser]))


def table(
    opened: Sequence[OpenRun], keys: Sequence[str] = (), *, smallest: float = comparison.SMALLEST
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All runs in one table, and each against the first.

    Args:
        opened: open runs of one split.
        keys: see ``numbers``; none = ``by_query.compared`` of what the split and the runs have.
        smallest: smallest effect of interest, in points of percent; see ``comparison.paired_differences``.

    Returns:
        One row a run and number, with its contract, indexed by run and label; and one row a difference, with
        the fields of ``comparison.Difference`` and what follows from them.
    """
    split, more = opened[0].split, {name for run in opened for name in run.config.get("metrics", ())}
    twins = [str(MetricKey("twin_accuracy", "i2t", subset=kind)) for kind in split.twins]
    shared = [label for label in opened[0].values if all(label in run.values for run in opened)]
    keys = list(keys) or compared([*first_keys(split.judgements), *twins, *shared])
    found = {run.name: numbers(run, keys) for run in opened}
    contracts = [
        {"run": name, "label": key, **m.as_dict()} for name, of in found.items() for key, (m, _) in of.items()
    ]
    values = {key: {name: of[key][1] for name, of in found.items()} for key in keys}
    known = [*(row() for row in metrics.rows().values()), *map(metrics.load, sorted(more))]
    told = comparison.paired_differences(
        values, opened[0].name, Draws(split.own, len(split.image_ids)), smallest=smallest,
        metrics={row.name: row for row in known},
    )  # fmt: skip
    table = pd.DataFrame(contracts).set_index(["run", "label"])
    # of some numbers nobody knows what chance would be: they have none, and not NaN
    table["chance"] = table["chance"].astype(object).where(table["chance"].notna(), None)
    return table, pd.DataFrame([one.row() for one in told])


class Comparison(NamedTuple):
    """Results in one table, and each against the first.

    Args:
        numbers: one row a result and number, with its contract.
        differences: one row a difference, see ``table``.
        notes: what else differs between the results, such as texts of captions or the number of threads.
    """

    numbers: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()

    def shown(self) -> pd.DataFrame:
        """The numbers as texts, a column a result, with chance, and what tells each from the first."""
        rows: dict[str, dict[str, str]] = {}
        contracts: Any = self.numbers.reset_index().to_dict("records")
        differences: Any = self.differences.to_dict("records")
        for one in contracts:
            row = measurement_row(one["label"], one)
            rows.setdefault(one["label"], {"in": row["in"], "chance": row["chance"]})[one["run"]] = row[
                "value"
            ]
        for one in differences:
            unit = unit_of(one["key"], one)
            value = format_interval(one["value"], one["low"], one["high"], unit, sign=True)
            verdict = comparison.stated(one["verdict"], one["against"])
            rows[one["key"]][f"{one['run']} - {one['against']}"] = f"{value}, {verdict}"
        return pd.DataFrame.from_dict(rows, orient="index")

    def remarks(self) -> list[str]:
        """Explain the intervals: for how many comparisons they are widened, and which are no bootstrap's."""
        contracts: Any = self.numbers.reset_index().to_dict("records")
        said = remarks((one["label"], one) for one in contracts)
        return list(filter(None, [*said, comparison.widened(len(self.differences))]))

    def __repr__(self) -> str:
        return "\n".join([self.shown().to_string(), *self.remarks(), *self.notes])

    def _repr_html_(self) -> str:
        caption = "; ".join([*self.remarks(), *self.notes])
        return str(self.shown().style.set_caption(caption).to_html())


@during("comparing")
@door("compare")
def compare(*results: OpenRun | str | Path, keys: Sequence[str] = ()) -> Comparison:
    """Results of one data set in one table, with the paired difference of each from the first.

    Args:
        results: of ``evaluate``, ``train`` or ``open_runs``; or run folders.
        keys: numbers to compare, see ``numbers``; none = the first ones.

    Raises:
        ValueError: they were measured on different images or captions, or on captions of other images.
    """
    every = [one for given in results for one in opened(given)]
    require(every, "nothing to compare: give results of evaluate(), train() or open_runs()")
    runs = together(every)
    return Comparison(*table(runs, keys), tuple(apart(every, [one.name for one in runs])))


def same_list(split: Split) -> dict[str, float]:
    """mAP@R of one list for all queries by the densest judgements, see ``metrics.map_at_r.same_list``.

    Returns:
        Key -> value in both directions; nothing where a split has its own pairs alone.
    """
    dense = densest(split.judgements)
    ways = ("i2t", "t2i") if dense != "own" else ()
    return {
        str(MetricKey("map_at_r", way, dense)): map_at_r.same_list(split.judgements[dense], way)
        for way in ways
    }


def ranks(opened: Sequence[OpenRun], direction: Literal["i2t", "t2i"]) -> Values:
    """``(runs, queries)`` rank of each query's best own item.

    Args:
        opened: open runs of one split.
        direction: image to text or text to image.
    """
    return np.stack([run.ranks(direction) for run in opened])


def chosen(
    ranked: Values, split: Split, direction: Literal["i2t", "t2i"], asked: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """The queries to show: those asked for by id, then those on which the runs differ most, one an image.

    Args:
        ranked: ``(runs, queries)`` from ``ranks``.
        split: that was measured on.
        direction: whether images or captions are the queries.
        asked: ids of images or captions; those of the other kind are passed over.
        count: how many on which the runs differ.

    Returns:
        Pairs of the reason and the query row.

    Raises:
        KeyError: an id that is neither an image's nor a caption's.
    """
    ids = split.image_ids if direction == "i2t" else split.caption_ids
    known = [*split.image_ids, *split.caption_ids]
    for one in sorted(set(asked) - set(known)):
        near = did_you_mean(one, known, f"there is {', '.join(known[:3])}")
        raise KeyError(f"no image or caption {one!r} in {split.name}; {near}")
    given = [("asked for", ids.index(one)) for one in asked if one in ids]
    for row in comparison.most_different(ranked, count, split.own if direction == "t2i" else None):
        first, last = (format_number(end, 0) for end in (ranked[:, row].min(), ranked[:, row].max()))
        given.append((f"the runs differ: ranks {first} to {last}", row))
    return given


def grader(split: Split) -> Callable[[Rows, Rows], Array] | None:
    """What grades any image and caption of a split between 0 and 1, where its data know; else ``None``."""
    name = densest([name for name in ("graded", "exact") if name in split.judgements], graded=True)
    if name == "own":
        return None
    return split.relevance(name).take


def noisy(run: OpenRun, amount: float, *, name: str, seed: int = 0) -> OpenRun:
    """The same model with random numbers added to its vectors: a baseline that is known to be worse.

    Args:
        run: an open run whose scores read the mean vectors alone.
        amount: length of what is added to each vector of length 1; 0 changes nothing.
        name: of the baseline.
        seed: of the random numbers.
    """
    generator, unit = torch.Generator().manual_seed(seed), torch.nn.functional.normalize

    def blurred(mean: torch.Tensor) -> torch.Tensor:
        return unit(mean + amount * unit(torch.randn(mean.shape, generator=generator), dim=1), dim=1)

    image, text = (replace(one, mean=blurred(one.mean)) for one in (run.image, run.text))
    return run.with_embeddings(name, image, text)


def distances(run: OpenRun, *, most: int = 1000) -> dict[str, Values]:
    """Distances within and between images and captions (DIAS, Fig. 4), of images with their first caption.

    Args:
        run: an open run.
        most: the first so many images.

    Returns:
        Kind of pair -> Euclidean distances of unit vectors, in [0, 2]; each pair once.
    """
    first = np.unique(run.split.own, return_index=True)[1][:most]
    image, text = run.image.mean.numpy()[: len(first)], run.text.mean.numpy()[first]
    within, one_way = np.triu_indices(len(first), 1), ~np.eye(len(first), dtype=bool)
    images, captions, between = (
        np.sqrt(np.maximum(2 - 2 * (one.astype(np.float64) @ other.T), 0))
        for one, other in ((image, image), (text, text), (image, text))
    )
    return {
        "an image and its caption": between.diagonal(),
        "an image and another's caption": between[one_way],
        "two images": images[within],
        "two captions": captions[within],
    }


def costs(opened: Sequence[OpenRun], *, items: int = 32, repeats: int = 3) -> pd.DataFrame:
    """What a run costs, in milliseconds: a training step, as the run itself measured it, and embedding,
    measured now.

    The step is the time from the start of training to its end over the number of steps, validation and
    checkpoints included, on the run's own machine. Embedding is the median of ``repeats`` on this machine,
    from the file or the words to the vector. A retrieval is the median over single captions: from the words
    to the order of all images of the split, which are embedded already (AAHR, Fig. 7).

    Args:
        opened: open runs.
        items: images embedded, and as many captions, embedded together and asked one by one.
        repeats: how often a batch is embedded.

    Returns:
        One row a run: ``step``, ``image``, ``caption``, ``retrieval``; NaN where the run kept no checkpoint
        of its training, its clock shows that it was resumed, it kept vectors and no model, or there are no
        pictures.
    """
    rows = {}
    for run in opened:
        if isinstance(run.model, KeptVectors):
            rows[run.name] = dict.fromkeys(("step", "image", "caption", "retrieval"), float("nan"))
            continue
        part, model = run.split.first(items), run.model
        images, captions = model.source(part, every_signal=False), part.captions[:items]
        image = _seconds(partial(model.embed_images_of, images), repeats)
        caption = timeit.repeat(partial(model.embed_texts, captions), number=1, repeat=repeats)
        each = {"image": image / len(part.image_ids), "caption": median(caption) / len(captions)}
        asked = [timeit.timeit(partial(_retrieve, run, one), number=1) for one in captions]
        each["retrieval"] = median(asked)
        rows[run.name] = {"step": _step(run)} | {name: 1000 * seconds for name, seconds in each.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run")


def _seconds(work: Callable[[], Any], repeats: int) -> float:
    """The median time of some work with images; NaN where their pictures are not there."""
    try:
        return median(timeit.repeat(work, number=1, repeat=repeats))
    except FileNotFoundError:
        return float("nan")


def _retrieve(run: OpenRun, caption: str) -> Array:
    scores = run.model.scores(run.image, run.model.embed_texts([caption]))
    return np.argsort(-scores[:, 0], kind="stable")


def _step(run: OpenRun) -> float:
    if run.folder is None or not (run.folder / checkpoint.LAST).is_file():
        return float("nan")
    facts = checkpoint.facts(run.folder / checkpoint.LAST)
    clock = [row["seconds"] for row in facts["history"]]
    # epoch 0 ends where training begins, in runs that have one
    begun = sum(row["seconds"] for row in facts["history"][:1] if not row["epoch"])
    # the clock starts again where a run was resumed
    known = clock and clock == sorted(clock)
    return 1000 * (clock[-1] - begun) / facts["step"] if known else float("nan")
