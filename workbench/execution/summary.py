"""What notebooks found, in sentences computed from its results."""

from collections import Counter
from collections.abc import Mapping, Sized
from typing import Any

from workbench.english import join_words
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


def summary(notebook: str, results: Results) -> str:
    """Return a few sentences on a run; empty where its results do not hold what they are computed from.

    Args:
        notebook: name of the notebook.
        results: its ``results.json``.
    """
    try:
        return SENTENCES[notebook](results)
    except (LookupError, TypeError, ZeroDivisionError):  # results of another notebook of that name
        return ""


def describe_leader(results: Results) -> str:
    """Return who leads by RSUM, and whether they also lead by the truth, from image to text.

    Args:
        results: of ``07_compare``.

    Raises:
        KeyError: RSUM or mAP@R by the truth was not compared.
    """
    names = results["models"]
    metrics = results["metrics"]
    sums = {name: metrics[f"{name}: {RSUM}"] for name in names}
    truths = {name: metrics[f"{name}: {TRUE['i2t']}"] for name in names}
    first, best = max(names, key=sums.__getitem__), max(names, key=truths.__getitem__)
    leaders = [
        name for name in names if name == first or not _differ_significantly(results, RSUM, name, first)
    ]
    top, count = max(leaders, key=truths.__getitem__), len(leaders)
    who, they = {1: (top, "it"), 2: ("two models", "both")}.get(count, (f"{count} models", "all of them"))
    verb = "tie" if count > 1 else "leads"
    leads = f"By RSUM {who} {verb}."
    if top == best or not _differ_significantly(results, TRUE["i2t"], top, best):
        than = f" than {top}" if count > 1 else ""
        return f"{leads} By the truth no model is significantly better{than}."
    if truths[top] < results.get("same_list", {}).get(TRUE["i2t"], 0):
        lose = "lose" if count > 1 else "loses"
        return f"{leads} By the truth {they} {lose} to a list that never looks at the image."
    return f"{leads} By the truth {best} is the best."


def _differ_significantly(results: Results, key: str, name: str, other: str) -> bool:
    """Return whether two models differ significantly: by the paired comparison with the first model, of two
    others where their intervals do not overlap.
    """
    for row in results["differences"].values():
        if row["key"] == key and {row["run"], results["models"][0]} == {name, other}:
            return row["verdict"] in (BETTER, WORSE)
    intervals = [results["contracts"][f"{model}: {key}"] for model in (name, other)]
    return bool(max(end["low"] for end in intervals) > min(end["high"] for end in intervals))


def _summarise_descriptiveness(results: Results) -> str:
    tau, chosen = results["metrics"], results["scorer"]
    printed = format_value(tau["tau/printed"], "correlation")
    other = format_value(tau[f"tau/{chosen}"], "correlation")
    more, less = ("generic", "specific") if tau["tau/printed"] < 0 else ("specific", "generic")
    return (
        f"DITM's formula as printed scores {more} captions higher than {less} ones. "
        f"Its Kendall's tau with the level of detail is {printed}; that of the reading {chosen} is {other}."
    )


def _summarise_scene_graphs(results: Results) -> str:
    kinds = ("objects", "attributes", "relations")
    scores = [f"{format_value(results['metrics'][f'F1/{kind}'])} for {kind}" for kind in kinds]
    none = results["coverage"]["no relation"] / results["facts"]["captions"]
    return (
        f"The parser's F1, in percent, is {join_words(scores)}. "
        f"{format_value(none)} percent of the captions state no relation."
    )


def _summarise_training(results: Results) -> str:
    sums, metrics = [row["val/rsum"] for row in results["history"]], results["metrics"]
    last_kept = (results["kept"] or [-1])[-1]
    start, end = format_value(sums[0], "sum"), format_value(sums[last_kept], "sum")
    (name,) = results.get("models", ("the model",))
    learnt = f"Training raised the RSUM of {name} from {start} to {end} on validation images."
    if not metrics.keys() >= {*TRUE.values()}:
        return f"{learnt} On the test images its RSUM is {format_value(metrics[RSUM], 'sum')} of 600."
    images, captions = (format_value(metrics[key]) for key in TRUE.values())
    return (
        f"{learnt} On the test images its mAP@R is {images} from image to text and {captions} from text to "
        "image."
    )


def _summarise_comparison(results: Results) -> str:
    return " ".join(describe_better_and_worse(results, run) for run in results["models"][1:])


def describe_better_and_worse(results: Results, run: str) -> str:
    """Return in how many metrics of ``07_compare`` a run is better than the first one, and in how many worse;
    empty where it was not compared.
    """
    verdicts = Counter(row["verdict"] for row in results["differences"].values() if row["run"] == run)
    if not verdicts:
        return ""
    better = f"{verdicts[BETTER]} of {format_count(verdicts.total(), 'metric')}"
    first = results["models"][0]
    return f"{run} is significantly better than {first} in {better}, and worse in {verdicts[WORSE]}."


def _summarise_relevance(results: Results) -> str:
    every = {MetricKey.parse(key): row["tau"] for key, row in results["orders"].items()}
    taus = {key: tau for key, tau in every.items() if key.judgements != "truth"}
    same = [key for key, tau in taus.items() if tau == 1]
    reverse = [key for key, tau in taus.items() if tau == -1]
    # the one that everybody knows stands for the others
    usual = min(reverse, key=lambda key: key.judgements != "own", default=None)
    ordered: dict[str, list[str]] = {}
    for row in results["differences"]:
        key = MetricKey.parse(row["key"])
        if key.judgements == "truth":
            ordered.setdefault(WAYS[key.direction], [row["better"]]).append(row["worse"])
    # a sentence has room for three
    sentences = [
        f"From {way}, the order of the reference is {', '.join(names)}."
        for way, names in sorted(ordered.items())
        if len(names) < 4
    ]
    orders = format_count(len(taus), "order")
    sentences.append(f"The other metrics give {orders}, one for each metric and direction.")
    sentences.append(f"{_count_phrase(same)} the order of the reference.")
    example = f", such as {usual.title}" if usual else ""
    sentences.append(f"{_count_phrase(reverse)} its reverse{example}.")
    return " ".join(sentences)


def _count_phrase(keys: Sized) -> str:
    """Return how many there are, as the beginning of a sentence."""
    verb = "is" if len(keys) < 2 else "are"
    return f"{len(keys) or 'None'} {verb}"


def _summarise_hierarchy(results: Results) -> str:
    own, exact = (results["texts_answered@5"][name] for name in ("own", "exact"))
    true, annotated = format_value(exact[0]), format_value(own[0])
    generic = (
        f"A true image is among the first five of {results['models'][0]} for {true} percent of the most "
        f"generic captions, the annotated image for {annotated} percent."
    )
    true, annotated = format_value(exact[-1]), format_value(own[-1])
    shares = f"both are {true}" if true == annotated else f"these are {true} and {annotated}"
    return f"{generic} For the most specific captions, {shares} percent."


def _summarise_map(results: Results) -> str:
    gaps = [f"{format_number(results['metrics'][f'gap[{name}]'], 2)} in {name}" for name in results["models"]]
    return f"The distance between the centres of images and captions is {join_words(gaps)}."


def _summarise_explorer(results: Results) -> str:
    ranks = [f"{results['metrics'][f'{name}: {OWN_RANK}']} in {name}" for name in results["models"]]
    return f"The annotated image of \u201c{results['question']}\u201d has rank {join_words(ranks)}."


SENTENCES = {
    "01_descriptiveness": _summarise_descriptiveness,
    "02_scene_graphs": _summarise_scene_graphs,
    "03_train": _summarise_training,
    "04_embedding_map": _summarise_map,
    "05_hierarchy": _summarise_hierarchy,
    "06_retrieval_explorer": _summarise_explorer,
    "07_compare": _summarise_comparison,
    "08_relevance": _summarise_relevance,
}
