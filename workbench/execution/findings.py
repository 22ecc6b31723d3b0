"""What a notebook found, in one sentence computed from the results that it kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.formatting import format_number, format_value
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey

Results = Mapping[str, Any]
# how 06_retrieval_explorer calls the number
OWN_RANK = "t2i rank of the caption's own image"
JUDGES = {"own": "binary labels", "exact": "the exact truth"}
RSUM = str(MetricKey("rsum"))
TRUE = {way: str(MetricKey("map_at_r", way, "exact")) for way in ("i2t", "t2i")}


def finding(notebook: str, results: Results, titles: Sequence[str] = ()) -> str:
    """The sentence for one run; empty where its results do not hold what it is computed from.

    Args:
        notebook: name of the notebook.
        results: its ``results.json``.
        titles: of the trained models, in the order of ``results["models"]``; none takes the names there.
    """
    try:
        return SENTENCES[notebook](results, titles or results.get("models", ()))
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):  # another's results
        return ""


def _descriptiveness(results: Results, _: Sequence[str]) -> str:
    tau, chosen = results["metrics"], results["scorer"]
    said = [
        f"{name} orders a chain of captions {'by' if value > 0 else 'against'} how much they say "
        f"(Kendall's tau {format_value(value, 'correlation')})"
        for name, value in (
            ("DITM's formula as printed", tau["tau/printed"]),
            (f"the reading {chosen}", tau[f"tau/{chosen}"]),
        )
    ]
    return f"{said[0]}; {said[1]}."


def _scene_graphs(results: Results, _: Sequence[str]) -> str:
    kinds = ("objects", "attributes", "relations")
    read = ", ".join(f"{kind} {format_value(results['metrics'][f'F1/{kind}'])}" for kind in kinds)
    none = results["coverage"]["no relation"] / results["facts"]["captions"]
    return (
        f"Read from the words alone, the graphs agree with what the captions were made from (F1 in percent: "
        f"{read}); {format_value(none)} percent of the captions state no relation at all."
    )


def _train(results: Results, _: Sequence[str]) -> str:
    sums, metrics = [row["val/rsum"] for row in results["history"]], results["metrics"]
    kept = results["kept"] or [len(sums) - 1]
    ends = [format_value(sums[epoch], "sum") for epoch in (0, kept[-1])]
    learnt = f"RSUM on the validation images went from {ends[0]} to {ends[1]}"
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
        judged = MetricKey.parse(row["key"]).judgements
        counted.setdefault(judged, Counter())[row["verdict"]] += 1
    said = [
        f"by {JUDGES.get(judged, judged)} {verdicts[WORSE]} of {verdicts.total()} are for the worse "
        f"and {verdicts[BETTER]} for the better"
        for judged, verdicts in sorted(counted.items(), key=lambda one: one[0] != "own")
    ]
    return (
        f"Of the differences from {titles[0]}, {'; '.join(said)}. The others may be chance, or are too small."
    )


def _relevance(results: Results, _: Sequence[str]) -> str:
    taus = {
        key: row["tau"]
        for key, row in results["orders"].items()
        if MetricKey.parse(key).judgements != "truth"
    }
    same, back = ([key for key, tau in taus.items() if tau == end] for end in (1, -1))
    listed = f" ({', '.join(back)})" if back else ""
    return (
        f"Of {len(taus)} metrics that know only labels or captions, {len(same)} put the models in the "
        f"truth's order and {len(back)} in the reverse{listed}."
    )


def _hierarchy(results: Results, titles: Sequence[str]) -> str:
    own, exact = (results["texts_answered@5"][name] for name in ("own", "exact"))
    who = f"{titles[0]}: among" if titles else "Among"
    return (
        f"{who} the five best for a most generic text is its own image in {format_value(own[0])} "
        "percent and a "
        f"right one in {format_value(exact[0])}; for a most specific text {format_value(own[-1])} and "
        f"{format_value(exact[-1])}: "
        f"labels call wrong what is right for {format_value(exact[0] - own[0])} percent of the "
        "generic texts and "
        f"for {format_value(exact[-1] - own[-1])} percent of the specific ones."
    )


def _map(results: Results, titles: Sequence[str]) -> str:
    gaps = [results["metrics"][f"gap[{name}]"] for name in results["models"]]
    listed = ", ".join(f"{format_number(gap, 2)} for {title}" for gap, title in zip(gaps, titles))
    return f"The distance between the mean of the images and the mean of the captions is {listed}."


def _explorer(results: Results, titles: Sequence[str]) -> str:
    ranks = [results["metrics"][f"{name}: {OWN_RANK}"] for name in results["models"]]
    listed = ", ".join(f"{rank} for {title}" for rank, title in zip(ranks, titles))
    return f"Asked for \u201c{results['question']}\u201d, the rank of its own image is {listed}."


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
