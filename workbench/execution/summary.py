"""What notebooks found, in sentences computed from its results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.formatting import format_number, format_value
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey
from workbench.records.metric_key import JUDGES

Results = Mapping[str, Any]
# how 06_retrieval_explorer calls the number
OWN_RANK = "t2i rank of the caption's own image"
RSUM = str(MetricKey("rsum"))
TRUE = {way: str(MetricKey("map_at_r", way, "exact")) for way in ("i2t", "t2i")}
SHOWN = (RSUM, TRUE["i2t"])


def summary(notebook: str, results: Results, titles: Sequence[str] = ()) -> str:
    """One sentence on a run; empty where its results do not hold what it is computed from.

    Args:
        notebook: name of the notebook.
        results: its ``results.json``.
        titles: of the trained models, in the order of ``results["models"]``; none takes the names there.
    """
    try:
        return SENTENCES[notebook](results, titles or results.get("models", ()))
    except (LookupError, TypeError, ZeroDivisionError):  # results of another notebook of that name
        return ""


def favourite(results: Results, titles: Sequence[str]) -> str:
    """How many of an image's true captions the model of the highest RSUM finds, and which model finds more.

    Args:
        results: of ``07_compare``.
        titles: of the models, in its order.

    Raises:
        KeyError: RSUM or mAP@R by the truth was not compared.
    """
    sums, truths = ([results["metrics"][f"{name}: {key}"] for name in results["models"]] for key in SHOWN)
    first, best = (max(range(len(of)), key=of.__getitem__) for of in (sums, truths))
    ends = [results["contracts"][f"{name}: {TRUE['i2t']}"] for name in results["models"]]
    leads = f"{titles[first]} has the highest RSUM"
    if ends[best]["low"] <= ends[first]["high"]:
        found = f"{format_value(truths[first])} percent"
        return f"{leads}, and no model finds significantly more true captions of an image: {found}."
    less, more = format_value(truths[first]), format_value(truths[best])
    few = f"the fewest true captions of an image: {less} percent"
    if truths[first] > min(truths):
        few = f"{less} percent of the true captions of an image"
    return f"{leads} and finds {few}. {titles[best]} finds {more} percent."


def _descriptiveness(results: Results, _: Sequence[str]) -> str:
    tau, chosen = results["metrics"], results["scorer"]
    printed, other = (format_value(tau[f"tau/{name}"], "correlation") for name in ("printed", chosen))
    return (
        "Kendall's tau between a caption's level of detail and its descriptiveness is "
        f"{printed} for DITM's formula as printed and {other} for its reading {chosen}."
    )


def _scene_graphs(results: Results, _: Sequence[str]) -> str:
    kinds = ("objects", "attributes", "relations")
    listed = ", ".join(f"{kind} {format_value(results['metrics'][f'F1/{kind}'])}" for kind in kinds)
    none = results["coverage"]["no relation"] / results["facts"]["captions"]
    return (
        f"F1 of the parsed graphs against those that the captions were made from, in percent: {listed}. "
        f"{format_value(none)} percent of the captions state no relation."
    )


def _train(results: Results, _: Sequence[str]) -> str:
    sums, metrics = [row["val/rsum"] for row in results["history"]], results["metrics"]
    start, kept = (format_value(sums[n], "sum") for n in (0, (results["kept"] or [-1])[-1]))
    learnt = f"RSUM on the validation images went from {start} to {kept}"
    if not metrics.keys() >= {*TRUE.values()}:
        return f"{learnt}; on the test images it is {format_value(metrics[RSUM], 'sum')} of 600."
    images, captions = (format_value(metrics[key]) for key in TRUE.values())
    return (
        f"{learnt}; on the test images mAP@R by the exact truth is {images} percent from images "
        f"to captions and {captions} percent from captions to images."
    )


def _compare(results: Results, titles: Sequence[str]) -> str:
    counted: dict[str, Counter[str]] = {}
    for row in results["differences"].values():
        counted.setdefault(MetricKey.parse(row["key"]).judgements, Counter())[row["verdict"]] += 1
    listed = [
        f"by {JUDGES.get(judged, judged)} {verdicts[WORSE]} of {verdicts.total()} are worse and "
        f"{verdicts[BETTER]} better"
        for judged, verdicts in sorted(counted.items(), key=lambda one: one[0] != "own")
    ]
    return f"Of the differences from {titles[0]}, {'; '.join(listed)}. The others are not significant."


def _relevance(results: Results, _: Sequence[str]) -> str:
    orders = results["orders"].items()
    taus = {key: row["tau"] for key, row in orders if MetricKey.parse(key).judgements != "truth"}
    same, reverse = ([key for key, tau in taus.items() if tau == end] for end in (1, -1))
    listed = f" ({', '.join(reverse)})" if reverse else ""
    return (
        f"Of {len(taus)} metrics that know only labels or captions, {len(same)} order the models as the "
        f"truth does and {len(reverse)} in reverse{listed}."
    )


def _hierarchy(results: Results, titles: Sequence[str]) -> str:
    own, exact = (results["texts_answered@5"][name] for name in ("own", "exact"))
    ends = [format_value(one[n]) for n in (0, -1) for one in (exact, own)]
    return (
        f"Of the most generic texts, {ends[0]} percent have a true image among {titles[0]}'s first five and "
        f"{ends[1]} percent the annotated one; of the most specific texts, {ends[2]} and {ends[3]} percent."
    )


def _map(results: Results, titles: Sequence[str]) -> str:
    gaps = [results["metrics"][f"gap[{name}]"] for name in results["models"]]
    listed = ", ".join(f"{format_number(gap, 2)} for {title}" for gap, title in zip(gaps, titles))
    return f"The distance between the mean of the images and the mean of the captions is {listed}."


def _explorer(results: Results, titles: Sequence[str]) -> str:
    ranks = [results["metrics"][f"{name}: {OWN_RANK}"] for name in results["models"]]
    listed = ", ".join(f"{rank} for {title}" for rank, title in zip(ranks, titles))
    return f"The annotated image of \u201c{results['question']}\u201d has rank {listed}."


SENTENCES = {
    "01_descriptiveness": _descriptiveness,
    "02_scene_graphs": _scene_graphs,
    "03_train": _train,
    "04_embedding_map": _map,
    "05_hierarchy": _hierarchy,
    "06_retrieval_explorer": _explorer,
    "07_compare": _compare,
    "08_relevance": _relevance,
}
