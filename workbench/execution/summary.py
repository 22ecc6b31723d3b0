"""What notebooks found, in sentences computed from its results."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.english import listed
from workbench.formatting import format_count, format_number, format_value
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey
from workbench.records.metric_key import WAYS

Results = Mapping[str, Any]
# how 06_retrieval_explorer calls the number
OWN_RANK = "t2i rank of the annotated image"
RSUM = str(MetricKey("rsum"))
TRUE = {way: str(MetricKey("map_at_r", way, "exact")) for way in ("i2t", "t2i")}
FIRST = str(MetricKey("true", "i2t", "exact", k=1))
SHOWN = (RSUM, TRUE["i2t"])


def summary(notebook: str, results: Results) -> str:
    """A few sentences on a run; empty where its results do not hold what they are computed from.

    Args:
        notebook: name of the notebook.
        results: its ``results.json``.
    """
    try:
        return SENTENCES[notebook](results)
    except (LookupError, TypeError, ZeroDivisionError):  # results of another notebook of that name
        return ""


def favourite(results: Results) -> str:
    """Who leads by RSUM, and whether they also lead by the truth, from image to text.

    Args:
        results: of ``07_compare``.

    Raises:
        KeyError: RSUM or mAP@R by the truth was not compared.
    """
    names = results["models"]
    sums, truths = ({name: results["metrics"][f"{name}: {key}"] for name in names} for key in SHOWN)
    first, best = (max(names, key=of.__getitem__) for of in (sums, truths))
    leaders = [name for name in names if name == first or not _apart(results, RSUM, name, first)]
    top, count = max(leaders, key=truths.__getitem__), len(leaders)
    who, they = {1: (top, "it"), 2: ("two models", "both")}.get(count, (f"{count} models", "all of them"))
    leads = f"By RSUM {who} {'tie' if count > 1 else 'leads'}."
    if top == best or not _apart(results, TRUE["i2t"], top, best):
        than = f" than {top}" if count > 1 else ""
        return f"{leads} By the truth no model is significantly better{than}."
    if truths[top] < results.get("same_list", {}).get(TRUE["i2t"], 0):
        lose = "lose" if count > 1 else "loses"
        return f"{leads} By the truth {they} {lose} to a list that never looks at the image."
    return f"{leads} By the truth {best} is the best."


def _apart(results: Results, key: str, name: str, other: str) -> bool:
    """Whether two models differ significantly: by the paired comparison with the first model, of two others
    where their intervals do not overlap.
    """
    for row in results["differences"].values():
        if row["key"] == key and {row["run"], results["models"][0]} == {name, other}:
            return row["verdict"] in (BETTER, WORSE)
    ends = [results["contracts"][f"{one}: {key}"] for one in (name, other)]
    return bool(max(end["low"] for end in ends) > min(end["high"] for end in ends))


def _descriptiveness(results: Results) -> str:
    tau, chosen = results["metrics"], results["scorer"]
    printed, other = (format_value(tau[f"tau/{name}"], "correlation") for name in ("printed", chosen))
    more, less = ("generic", "specific") if tau["tau/printed"] < 0 else ("specific", "generic")
    return (
        f"DITM's formula as printed scores {more} captions higher than {less} ones. "
        f"Its Kendall's tau with the level of detail is {printed}; that of the reading {chosen} is {other}."
    )


def _scene_graphs(results: Results) -> str:
    kinds = ("objects", "attributes", "relations")
    found = [f"{format_value(results['metrics'][f'F1/{kind}'])} for {kind}" for kind in kinds]
    none = results["coverage"]["no relation"] / results["facts"]["captions"]
    return (
        f"The parser's F1, in percent, is {listed(found)}. "
        f"{format_value(none)} percent of the captions state no relation."
    )


def _train(results: Results) -> str:
    sums, metrics = [row["val/rsum"] for row in results["history"]], results["metrics"]
    start, kept = (format_value(sums[n], "sum") for n in (0, (results["kept"] or [-1])[-1]))
    (name,) = results.get("models", ("the model",))
    learnt = f"Training raised the RSUM of {name} from {start} to {kept} on validation images."
    if not metrics.keys() >= {*TRUE.values()}:
        return f"{learnt} On the test images its RSUM is {format_value(metrics[RSUM], 'sum')} of 600."
    images, captions = (format_value(metrics[key]) for key in TRUE.values())
    return (
        f"{learnt} On the test images its mAP@R is {images} from image to text and {captions} from text to "
        "image."
    )


def _compare(results: Results) -> str:
    return " ".join(better_and_worse(results, run) for run in results["models"][1:])


def better_and_worse(results: Results, run: str) -> str:
    """In how many metrics of ``07_compare`` a run is better than the first one, and in how many worse; empty
    where it was not compared.
    """
    told = Counter(row["verdict"] for row in results["differences"].values() if row["run"] == run)
    better = f"{told[BETTER]} of {format_count(told.total(), 'metric')}"
    first = results["models"][0]
    said = f"{run} is significantly better than {first} in {better}, and worse in {told[WORSE]}."
    return said if told else ""


def _relevance(results: Results) -> str:
    every = {MetricKey.parse(key): row["tau"] for key, row in results["orders"].items()}
    taus = {key: tau for key, tau in every.items() if key.judgements != "truth"}
    same, reverse = ([key for key, tau in taus.items() if tau == end] for end in (1, -1))
    # the one that everybody knows stands for the others
    usual = min(reverse, key=lambda key: key.judgements != "own", default=None)
    ordered: dict[str, list[str]] = {}
    for row in results["differences"]:
        key = MetricKey.parse(row["key"])
        if key.judgements == "truth":
            ordered.setdefault(WAYS[key.direction], [row["better"]]).append(row["worse"])
    # a sentence has room for three
    orders = [
        f"From {way}, the order of the reference is {', '.join(of)}."
        for way, of in sorted(ordered.items()) if len(of) < 4
    ]  # fmt: skip
    counted = (
        f"The other metrics give {format_count(len(taus), 'order')}, one for each metric and direction. "
        f"{len(same) or 'None'} {'is' if len(same) < 2 else 'are'} the order of the reference. "
        f"{len(reverse) or 'None'} {'is' if len(reverse) < 2 else 'are'} its reverse"
        f"{f', such as {usual.title}' if usual else ''}."
    )
    return " ".join([*orders, counted])


def _hierarchy(results: Results) -> str:
    own, exact = (results["texts_answered@5"][name] for name in ("own", "exact"))
    true, annotated, *ends = (format_value(one[n]) for n in (0, -1) for one in (exact, own))
    return (
        f"A true image is among the first five of {results['models'][0]} for {true} percent of the most "
        f"generic captions, the annotated image for {annotated} percent. For the most specific captions, "
        f"{'both are' if len({*ends}) == 1 else 'these are'} {' and '.join(dict.fromkeys(ends))} percent."
    )


def _map(results: Results) -> str:
    gaps = [f"{format_number(results['metrics'][f'gap[{name}]'], 2)} in {name}" for name in results["models"]]
    return f"The distance between the centres of images and captions is {listed(gaps)}."


def _explorer(results: Results) -> str:
    ranks = [f"{results['metrics'][f'{name}: {OWN_RANK}']} in {name}" for name in results["models"]]
    return f"The annotated image of \u201c{results['question']}\u201d has rank {listed(ranks)}."


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
