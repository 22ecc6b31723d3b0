"""Several open runs on the same queries: numbers and verdicts, and queries that differ."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.english import join_words
from workbench.formatting import format_count, format_interval, format_number, format_value
from workbench.metrics import comparison, map_at_r
from workbench.metrics.declared import draws_of_units
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.intervals import Draws
from workbench.metrics.ranks import Ranked
from workbench.metrics.registry import Metric
from workbench.progress import during
from workbench.records import (
    Array,
    Measurement,
    MetricKey,
    Rows,
    Split,
    Values,
    densest_judgements,
    require,
)
from workbench.records.measurement import measurement_row, remarks, unit_of
from workbench.registry import check_arguments, did_you_mean, require_known
from workbench.runs import store
from workbench.runs.by_query import usual_numbers
from workbench.runs.by_slice import Gallery, metrics_of, numbers_by_slice, slicing_of
from workbench.runs.kinds import Evaluation
from workbench.runs.lists import SavedLists
from workbench.runs.measure import columns_of
from workbench.runs.opening import describe_differences, open_results, open_runs, share_split
from workbench.runs.result import Result
from workbench.runs.spellings import typed_settings
from workbench.runs.ways import WAYS, Way
from workbench.training import averaging

# length of the random numbers beside which a single model is shown
NOISE = 1.0


def open_available(names: Sequence[str] = (), *, images: int = 0) -> list[Result]:
    """Open runs side by side; without names, something that can be compared.

    Args:
        names: see ``open_runs``; none = the models of the tour, or where it was not run, the shipped encoder
            and the same with noise.
        images: see ``open_runs``.
    """
    spaces = open_runs(names or store.folders_of_tour(), images=images)
    if not names and len(spaces) == 1:
        spaces.append(spaces[0].with_noise(NOISE))
    return spaces


def training_table(runs: Sequence[Result]) -> pd.DataFrame:
    """Return how each run was trained, one a row: what it is of, which epochs are kept, by what they were
    chosen, and which one validation RSUM would have kept. Of vectors and of models made elsewhere nothing is
    known.
    """
    facts = ("objective", "data", "image_encoder", "train_images", "epochs", "seed", "select")
    rows: dict[str, dict[str, Any]] = {}
    for run in runs:
        if isinstance(run.run, Evaluation):
            rows[run.name] = {"objective": "not trained here"}
            continue
        config = typed_settings(run.config)
        rows[run.name] = {fact: config.get(fact, "") for fact in facts}
        rows[run.name] |= {
            "kept": ", ".join(map(str, run.kept_epochs)),
            "RSUM would keep": _best_by_rsum(run),
        }
    columns = dict.fromkeys((*facts, "kept", "RSUM would keep"), "")
    cells = [columns | row for row in rows.values()]
    return pd.DataFrame(cells, index=list(rows), columns=list(columns), dtype=object)


def _best_by_rsum(run: Result) -> str:
    """Return the epoch with the best validation RSUM; empty where nothing was trained."""
    if not run.history:
        return ""
    return format_number(run.history[averaging.best_epoch(run.history, "rsum")]["epoch"], 0)


def numbers(run: Result, keys: Sequence[str]) -> dict[str, tuple[Measurement, Values]]:
    """Return each number with its contract, and the values by query that it is made of.

    What the run keeps is taken as it is, so that no model is opened; what it does not keep is measured
    now, by the same draws of images.

    Args:
        run: an open run.
        keys: of any metric of the registry, e.g. ``"rsum"``, ``"t2i/R@1"``, ``"exact:i2t/map_at_r"``, or of
            any number that the run keeps.

    Returns:
        Key -> measurement, and values as ``intervals.Draws`` reads them, NaN where a query has nothing
        relevant.

    Raises:
        KeyError: judgements that the split does not have, a metric that is none of the registry's, or a
            number that it does not give there.
    """
    known = {m.label: (m, run.values[m.label]) for m in run.measurements if m.label in run.values}
    missing = [text for text in keys if text not in known]
    if missing:
        known = _measure_missing(run, missing) | known
    return {text: known[text] for text in keys}


def _measure_missing(run: Result, keys: Sequence[str]) -> dict[str, tuple[Measurement, Values]]:
    """Measure numbers that a run does not keep, see ``numbers``."""
    split, parsed = run.split, {text: MetricKey.parse(text) for text in keys}
    for text, key in parsed.items():
        require_known(f"{text}: the split has no judgements", key.judgements, split.judgements)
    rows = {text: _metric_of_key(key) for text, key in parsed.items()}
    names = dict.fromkeys(["own", *(key.judgements for key in parsed.values())])
    require(
        not isinstance(run.model, SavedLists),
        f"{run.name} has lists that do not determine {', '.join(keys)}; compare other numbers",
        KeyError,
    )
    scores = run.any_scores()
    ranked = Ranked(scores, [split.judgements[name] for name in names])
    measured: dict[str, tuple[Measurement, Values]] = {}
    for text, key in parsed.items():
        judged, own = split.judgements[key.judgements], split.judgements["own"]
        evidence = Evidence(scores, judged, split.own, own, ranked=ranked, columns=columns_of(split))
        pairs = {m.label: (m, values) for m, values in walk(evidence, [rows[text]])}
        answers = ", ".join(pairs) or "no query that has an answer"
        require(text in pairs, f"no number {text!r}: {split.name} has {answers}", KeyError)
        measured = pairs | measured
    return measured


def _metric_of_key(key: MetricKey) -> Metric:
    """Return the metric of a key, at its depth alone."""
    metric = metrics.load(key.metric)
    if key.k and any(metric.ks):
        metric.ks = (key.k,)
    return metric


def first_keys(judgements: Iterable[str]) -> list[str]:
    """Return what is compared where nobody asks for anything else: RSUM and R@1 by a data set's own pairs,
    and mAP@R by the densest judgements.

    Args:
        judgements: names of those that there are.

    >>> first_keys(["own", "exact"])
    ['rsum', 'i2t/R@1', 't2i/R@1', 'exact:i2t/map_at_r', 'exact:t2i/map_at_r']
    """
    dense, ways = densest_judgements(judgements), WAYS
    denser = [MetricKey("map_at_r", way, dense) for way in ways if dense != "own"]
    return list(map(str, [MetricKey("rsum"), *(MetricKey("R", way, k=1) for way in ways), *denser]))


def table(
    opened: Sequence[Result],
    keys: Sequence[str] = (),
    *,
    smallest: float = comparison.SMALLEST,
    by: Sequence[str] = (),
    gallery: str = "whole",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all runs in one table, and each against the first.

    Args:
        opened: open runs of one split.
        keys: see ``numbers``; none = ``by_query.usual_numbers`` of what the split and the runs have.
        smallest: smallest effect of interest, in points of percent; see ``comparison.paired_differences``.
        by: what cuts the slices in which every number is compared as well, see ``slices``.
        gallery: what their queries are ranked among, see ``by_slice``.

    Returns:
        One row a run and number, with its contract, indexed by run and label; and one row a difference, with
        the fields of ``comparison.Difference`` and what follows from them.
    """
    keys = list(keys) or _usual_keys(opened)
    contracts: list[dict[str, Any]] = []
    values: dict[str, dict[str, Values]] = {}
    for run in opened:
        whole = numbers(run, keys)
        for key, (measurement, by_query) in (whole | numbers_by_slice(run, whole, by, gallery)).items():
            slicing = {"by": measurement.by} if by else {}
            contracts.append({"run": run.name, "label": key, **measurement.as_dict(), **slicing})
            if not np.isnan(by_query).all():  # a mean over slices is no mean over queries
                values.setdefault(key, {})[run.name] = by_query
    values = {key: by_run for key, by_run in values.items() if len(by_run) == len(opened)}
    split = opened[0].split
    draws = Draws(split.own, len(split.image_ids))
    if split.benchmark is not None:
        draws = draws_of_units(split.benchmark.drawn_with, split.benchmark.unit)
    differences = comparison.paired_differences(
        values, opened[0].name, draws, smallest=smallest, metrics=metrics_of(opened)
    )
    table = pd.DataFrame(contracts).set_index(["run", "label"])
    # some numbers have no interval, and of others nobody knows the chance: None, and not NaN
    for part in ("chance", "low", "high"):
        table[part] = table[part].astype(object).where(table[part].notna(), None)
    return table, pd.DataFrame([difference.row() for difference in differences])


def _usual_keys(opened: Sequence[Result]) -> list[str]:
    """Return the numbers that are compared if none are named."""
    split = opened[0].split
    counterfactuals = [
        str(MetricKey("counterfactual_accuracy", "i2t", subset=kind)) for kind in split.counterfactuals
    ]
    measured_by_all = set.intersection(*(set(run.values) for run in opened))
    shared = [label for label in opened[0].values if label in measured_by_all]
    if split.benchmark is not None:
        return shared
    first = []
    for label in [*first_keys(split.judgements), *counterfactuals]:
        # ranked lists do not determine every number
        lacking = [run for run in opened if label not in run.values and run.model.directed]
        first += [] if lacking else [label]
    return usual_numbers([*first, *shared])


@dataclass(frozen=True)
class Comparison:
    """Results in one table, and each against the first.

    Args:
        runs: the results, of one split; the others are compared with the first.
        numbers: one row a result and number, with its contract.
        differences: one row a difference, see ``table``.
        notes: what else differs between the results, such as texts of captions or the number of threads.
    """

    runs: Sequence[Result]
    numbers: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()

    def training(self) -> pd.DataFrame:
        """Return how each result was trained, one a row, see ``training_table``."""
        return training_table(self.runs)

    def same_list(self) -> dict[str, float]:
        """Return a baseline that looks at no query, see ``same_list``."""
        return same_list(self.runs[0].split)

    def text_table(self) -> pd.DataFrame:
        """Return the numbers as texts, a column a result, with chance and the difference from the first."""
        rows: dict[str, dict[str, str]] = {}
        contracts: Any = self.numbers.reset_index().to_dict("records")
        for contract in contracts:
            row = measurement_row(contract["label"], contract)
            cells = rows.setdefault(contract["label"], {"in": row["in"], "chance": row["chance"]})
            cells[contract["run"]] = row["value"]
        differences: Any = self.differences.to_dict("records")
        for row in differences:
            unit = unit_of(row["key"], row)
            value = format_interval(row["value"], row["low"], row["high"], unit, sign=True)
            verdict = comparison.state_verdict(row["verdict"], row["against"])
            rows[row["key"]][f"{row['run']} - {row['against']}"] = f"{value}, {verdict}"
        return pd.DataFrame.from_dict(rows, orient="index")

    def remarks(self) -> list[str]:
        """Explain the intervals: for how many comparisons they are widened, and which are no bootstrap's."""
        contracts: Any = self.numbers.reset_index().to_dict("records")
        lines = remarks((contract["label"], contract) for contract in contracts)
        return list(filter(None, [*lines, comparison.explain_widening(len(self.differences))]))

    def against_same_list(self) -> str:
        """Describe which results that baseline beats; empty where the data have annotated pairs alone."""
        values: Any = self.numbers["value"].unstack("run").to_dict("index")
        return against_same_list(values, self.same_list())

    def as_dict(self) -> dict[str, Any]:
        """Return what ``results.json`` of a comparison holds: every number by ``"run: label"`` with its
        contract, every difference by ``"run - reference: label"``, and what was measured.
        """
        metrics: dict[str, float] = {}
        contracts: dict[str, Any] = {}
        differences: dict[str, Any] = {}
        rows: Any = self.numbers.to_dict("index").items()
        for (name, label), row in rows:
            metrics[f"{name}: {label}"] = row.pop("value")
            contracts[f"{name}: {label}"] = row
        for row in self.differences.to_dict("records"):
            differences[f"{row['run']} - {row['against']}: {row['key']}"] = row
        split = self.runs[0].split
        training = {run.name: run.trained_on for run in self.runs}
        about = {
            "dataset": self.runs[0].dataset,
            "split": {"name": split.name, **split.fingerprint()},
            "models": [run.name for run in self.runs],
            "training": training,
            "same_list": self.same_list(),
        }
        return about | {"metrics": metrics, "contracts": contracts, "differences": differences}

    def __repr__(self) -> str:
        return "\n".join([self.text_table().to_string(), *self.remarks(), *self.notes])

    def _repr_html_(self) -> str:
        caption = "; ".join([*self.remarks(), *self.notes])
        return str(self.text_table().style.set_caption(caption).to_html())


@during("comparing")
@check_arguments("compare")
def compare(
    *results: Result | str | Path,
    keys: Sequence[str] = (),
    by: str | Sequence[str] = (),
    gallery: Gallery = "whole",
) -> Comparison:
    """Compare results of one data set in one table, with the paired difference of each from the first.

    Args:
        results: of ``evaluate``, ``train`` or ``open_runs``; or run folders.
        keys: numbers to compare, see ``numbers``; none = the first ones.
        by: fields by which they are compared in slices as well, such as ``"language"``, see ``slices``.
        gallery: what the queries of a slice are ranked among, the ``"whole"`` data or their ``"slice"``.

    Raises:
        ValueError: they were measured on different images or captions, or on captions of other images.
    """
    every: list[Result] = []
    for result in results:
        every += open_results(result)
    require(every, "nothing to compare: give results of evaluate(), train() or open_runs()")
    runs = share_split(every)
    notes = describe_differences(every, [run.name for run in runs])
    slicing = slicing_of(runs[0].split, by, gallery)
    return Comparison(runs, *table(runs, keys, **slicing), tuple(notes))


def same_list(split: Split) -> dict[str, float]:
    """Return mAP@R of one list for all queries by the densest judgements, see ``metrics.map_at_r.same_list``.

    Returns:
        Key -> value in both directions; nothing where a split has its own pairs alone.
    """
    dense = densest_judgements(split.judgements)
    ways = WAYS if dense != "own" else ()
    return {
        str(MetricKey("map_at_r", way, dense)): map_at_r.same_list(split.judgements[dense], way)
        for way in ways
    }


def against_same_list(values: Mapping[str, Mapping[str, float]], same: Mapping[str, float]) -> str:
    """Describe which models one list for all queries beats, for every number.

    Args:
        values: key -> name of a model -> its number, as stored.
        same: key -> that of the list, from ``same_list``; keys without ``values`` are left out.
    """
    sentences = []
    for key, place in same.items():
        if not (numbers := values.get(key)):
            continue
        back = MetricKey.parse(key).direction == "t2i"
        items, query = ("images", "caption") if back else ("captions", "image")
        below = [name for name, value in numbers.items() if value < place]
        who = (
            join_words(below) if len(below) < 3 else f"{len(below)} of {format_count(len(numbers), 'model')}"
        )
        beaten = f"more than {who}" if below else "less than every model"
        sentences.append(
            f"One fixed list for every {query}, with the {items} first that are true most often, has "
            f"{format_value(place)} percent mAP@R, {beaten}."
        )
    return " ".join(sentences)


def ranks(opened: Sequence[Result], direction: Way) -> Values:
    """Return ``(runs, queries)`` rank of each query's best own item.

    Args:
        opened: open runs of one split.
        direction: image to text or text to image.
    """
    return np.stack([run.ranks(direction) for run in opened])


def choose_queries(
    ranked: Values, split: Split, direction: Way, asked: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """Return the queries to show: those asked for by id, then those on which the runs differ most, one an
    image.

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
    for name in sorted(set(asked) - set(known)):
        near = did_you_mean(name, known, f"there is {', '.join(known[:3])}")
        raise KeyError(f"no image or caption {name!r} in {split.name}; {near}")
    queries = [("asked for", ids.index(name)) for name in asked if name in ids]
    for row in comparison.most_different_queries(ranked, count, split.own if direction == "t2i" else None):
        first, last = (format_number(end, 0) for end in (ranked[:, row].min(), ranked[:, row].max()))
        queries.append((f"the runs differ: ranks {first} to {last}", row))
    return queries


def make_grader(split: Split) -> Callable[[Rows, Rows], Array] | None:
    """Return what grades any image and caption of a split between 0 and 1, where its data know; else
    ``None``.
    """
    name = densest_judgements([name for name in ("graded", "exact") if name in split.judgements], graded=True)
    if name == "own":
        return None
    return split.relevance(name).take
