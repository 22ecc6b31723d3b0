"""What notebooks found, in sentences computed from its results."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.english import listed
from workbench.formatting import format_number, format_value
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey
from workbench.records.metric_key import JUDGES

Results = Mapping[str, Any]
# how 06_retrieval_explorer calls the number
OWN_RANK = "t2i rank of the annotated image"
RSUM = str(MetricKey("rsum"))
TRUE = {way: str(MetricKey("map_at_r", way, "exact")) for way in ("i2t", "t2i")}
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
    """How many of an image's true captions the model of the highest RSUM finds, and which model finds more.

    Args:
        results: of ``07_compare``.

    Raises:
        KeyError: RSUM or mAP@R by the truth was not compared.
    """
    names = results["models"]
    sums, truths = ([results["metrics"][f"{name}: {key}"] for name in names] for key in SHOWN)
    first, best = (max(range(len(of)), key=of.__getitem__) for of in (sums, truths))
    ends = [results["contracts"][f"{name}: {TRUE['i2t']}"] for name in names]
    leads = f"{names[first]} has the highest RSUM"
    if ends[best]["low"] <= ends[first]["high"]:
        found = f"{format_value(truths[first])} percent"
        return f"{leads}, and no model finds significantly more true captions of an image: {found}."
    less, more = format_value(truths[first]), format_value(truths[best])
    few = f"the fewest true captions of an image: {less} percent"
    if truths[first] > min(truths):
        few = f"{less} percent of the true captions of an image"
    return f"{leads} and finds {few}. {names[best]} finds {more} percent."


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
    learnt = f"RSUM on the validation images went from {start} to {kept}."
    if not metrics.keys() >= {*TRUE.values()}:
        return f"{learnt} On the test images it is {format_value(metrics[RSUM], 'sum')} of 600."
    images, captions = (format_value(metrics[key]) for key in TRUE.values())
    (name,) = results.get("models", ("the model",))
    return (
        f"{learnt} On the test images {name} finds {images} percent of an image's true captions "
        f"and {captions} percent of a caption's true images (mAP@R)."
    )


def _compare(results: Results) -> str:
    counted: dict[str, Counter[str]] = {}
    for row in results["differences"].values():
        counted.setdefault(MetricKey.parse(row["key"]).judgements, Counter())[row["verdict"]] += 1
    first = results["models"][0]
    return " ".join(
        f"By {JUDGES.get(judged, judged)}, {verdicts[WORSE] or 'none'} of {verdicts.total()} numbers are "
        f"significantly worse than those of {first}, and {verdicts[BETTER] or 'none'} are better."
        for judged, verdicts in sorted(counted.items(), key=lambda one: one[0] != "own")
    )


def _relevance(results: Results) -> str:
    orders = {MetricKey.parse(key): row["tau"] for key, row in results["orders"].items()}
    taus = {key: tau for key, tau in orders.items() if key.judgements != "truth"}
    same, reverse = ([key for key, tau in taus.items() if tau == end] for end in (1, -1))
    # the one that everybody knows stands for the others
    usual = min(reverse, key=lambda key: key.judgements != "own", default=None)
    return (
        f"{len(same)} of {len(taus)} metrics that know only labels or captions order the models as the "
        f"truth does. {len(reverse)} order them in reverse{f', such as {usual.title}' if usual else ''}."
    )


def _hierarchy(results: Results) -> str:
    own, exact = (results["texts_answered@5"][name] for name in ("own", "exact"))
    ends = [format_value(one[n]) for n in (0, -1) for one in (exact, own)]
    return (
        f"{results['models'][0]} finds a true image for {ends[0]} percent of the most generic texts, and the "
        f"annotated one for {ends[1]} percent, among its first five. "
        f"For the most specific texts it finds {ends[2]} and {ends[3]} percent."
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
