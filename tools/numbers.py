"""Every figure of README.md, of two guides and of the page on speed, made from what is recorded.

``python -m tools.numbers`` writes them anew, and the pages of ``docs/`` on the papers' claims.

They hold blocks between ``<!-- recorded: NAME -->`` and ``<!-- end -->``; each is one function below. A
test holds the blocks to these functions, and the text around them to have no figure of its own.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import machine_bench as bench
import pandas as pd
from paper_tables import claims, claims_words, published, search
from paper_tables.claims_told import TITLES
from relevance_audit import judge_advice
from scipy import stats

from tools import comparison_table as fair
from tools import ranked_positives
from tools.benchmarks import bench_arms, bench_offset
from tools.benchmarks.recorded import read
from workbench import assets
from workbench.english import join_words
from workbench.execution.summary import describe_leader
from workbench.formatting import format_count, format_interval, format_number, format_value
from workbench.metrics import seeds
from workbench.records import MetricKey
from workbench.runs import compare
from workbench.tour import finding as fair_finding

ROOT = Path(__file__).parent.parent
LABELS, TRUTH = "rsum", "exact:i2t/map_at_r"
WAYS = (TRUTH, "exact:t2i/map_at_r")
LEVEL_FIGURE = (
    "![mAP@R within each level of captions, a row an objective, trained with annotated pairs and with "
    "every true pair; bars are 95 % intervals over seeds](docs/finding.png)"
)


def finding() -> str:
    """What was found, in two paragraphs with their figure."""
    paragraphs = [textwrap.fill(said, 165) for said in fair_finding.sentences(fair_finding.recorded_rows())]
    last = (
        "[Results](docs/guides/results.md) has all numbers, and says what is open. The "
        "[glossary](docs/glossary.md) explains every term."
    )
    return "\n\n".join([*paragraphs, LEVEL_FIGURE, last])


def limits() -> str:
    """What the comparison does not allow to conclude."""
    return textwrap.fill(fair_finding.describe_limits(), 165)


def tour() -> str:
    """How long the tour took, and what it found."""
    found = read("tour")
    took = (
        f"Its {found['stops']} notebooks took {format_number(found['seconds'] / 60, 1)} minutes on two cores."
    )
    values = {name: found["metrics"][f"{name}: {TRUTH}"] for name in found["models"]}
    below = compare.against_same_list({TRUTH: values}, found["same_list"])
    said = f"{took} {describe_leader(found)} {below} Each is one run from one seed."
    return "\n".join(textwrap.wrap(said, 130))


def comparison_table() -> str:
    """The objectives without a fair comparison, with annotated pairs and with every true pair."""
    released = assets.read_recorded("released_scenes").rename(columns={"arm": "objective"})
    rows = pd.concat([_first_comparison(), _titled(released)])
    means = rows.groupby(["positives", "objective", "key"]).value.mean()
    sums = means.loc["own"].unstack()[LABELS].sort_values(ascending=False)
    lines = [
        "| objective | RSUM, of 600 | mAP@R i2t, t2i, % | RSUM, all true pairs | mAP@R, all true pairs |",
        "|---|---|---|---|---|",
    ]
    for name in sums.index:
        cells = []
        for positives in ("own", "exact"):
            of = means.loc[positives, name]
            cells += [format_value(of[LABELS], "sum"), ", ".join(format_value(of[way]) for way in WAYS)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def comparison() -> str:
    """How the first comparison was trained, and which of its statements held when they were asked again."""
    rows = _first_comparison()
    searched = {*search.recipe_table().index}
    later = [title for name, title in TITLES.items() if title in {*rows.objective} and name not in searched]
    but = f" but {join_words(later)}" if later else ""
    text = (
        f"Numbers are means over {format_count(rows.seed.nunique(), 'seed')}; mAP@R is by the truth. "
        f"Each objective{but} has the recipe that was searched with annotated pairs. "
        f"{fair_finding.describe_statements(fair_finding.recorded_rows())}"
    )
    return textwrap.fill(text, 130, break_on_hyphens=False)


def _first_comparison() -> pd.DataFrame:
    """The recorded runs of the first comparison, of objectives that the fair one does not have."""
    rows = assets.read_recorded("comparison_scenes")
    return _titled(rows[~rows.objective.isin(fair_finding.recorded_rows().objective)])


def _titled(rows: pd.DataFrame) -> pd.DataFrame:
    """The same with objectives as papers call them; a variant keeps the words that tell it."""
    names = [name.partition(" ") for name in rows["objective"]]
    return rows.assign(objective=["".join((TITLES[name], space, rest)) for name, space, rest in names])


def counterfactuals() -> str:
    """How often a caption scores above its counterfactual, by objective and what was exchanged."""
    rows = _titled(assets.read_recorded("counterfactual_scenes"))
    means = seeds.seed_statistics(rows)
    kinds = sorted(key for key in set(rows.key) if "counterfactual_accuracy" in key)
    order = means.loc[kinds[0]]["mean"].sort_values(ascending=False).index
    lines = _counterfactual_lines("objective", means, kinds, order)
    count = format_count(rows.seed.nunique(), "seed")
    about = (
        f"Means over {count} in percent, with Student's 95 % interval over seeds, none where all seeds "
        "agree. All were trained as in the first comparison, with annotated pairs. "
        "Guessing has 50, and so has a model that reads a bag of words, since equal scores count half."
    )
    return "\n".join([*lines, "", *textwrap.wrap(about, 130)])


def _counterfactual_lines(
    head: str, means: pd.DataFrame, kinds: Sequence[str], order: Iterable[str]
) -> list[str]:
    """A table of RSUM and of the accuracy on each kind of counterfactuals, a row an arm."""
    subsets = [MetricKey.parse(key).subset for key in kinds]
    lines = [f"| {head} | RSUM, of 600 | {' | '.join(subsets)} |", "|---" * (2 + len(kinds)) + "|"]
    for name in order:
        cells = [format_value(means.loc[LABELS, name]["mean"], "sum")]
        cells += [format_interval(*means.loc[key, name][["mean", "low", "high"]]) for key in kinds]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def negatives() -> str:
    """What counterfactual captions in training change about the accuracy on others, by arm, and in words."""
    rows = assets.read_recorded("negatives_scenes")
    means = seeds.seed_statistics(rows)
    kinds = sorted(key for key in set(rows.key) if "counterfactual_accuracy" in key)
    alone, with_negatives = dict.fromkeys(rows.objective)
    changes = []
    for key in kinds:
        before, after = (rows[(rows.key == key) & (rows.objective == arm)] for arm in (alone, with_negatives))
        gaps = after.set_index("seed").value - before.set_index("seed").value
        reach = stats.t.ppf(0.975, len(gaps) - 1) * gaps.sem()
        limits = [format_value(value) for value in (gaps.mean(), gaps.mean() - reach, gaps.mean() + reach)]
        changes.append(f"{MetricKey.parse(key).subset} {limits[0]} ({limits[1]} to {limits[2]})")
    least = min(rows[rows.key.isin(kinds)].value)
    about = (
        f"Means over {format_count(rows.seed.nunique(), 'seed')} in percent, with Student's 95 % interval. "
        f"What counterfactual captions change, in percent, by seed: {', '.join(changes)}. "
        f"The lowest of all numbers is {format_value(least)}; guessing has 50. The text encoder is a GRU, "
        "which reads the order of words, so it is above that without them."
    )
    lines = _counterfactual_lines("trained with", means, kinds, (alone, with_negatives))
    return "\n".join([*lines, "", *textwrap.wrap(about, 130)])


def photographs() -> str:
    """Every objective on Flickr8k, mean and standard deviation of RSUM over seeds."""
    rows = assets.read_recorded("objectives_flickr8k")
    sums = rows[rows.key == "rsum"].groupby("objective").value.agg(["mean", "std", "count"])
    lines = [
        f"| {TITLES[str(name)]} | {format_value(row['mean'], 'sum')} | {format_value(row['std'], 'sum')} |"
        for name, row in sums.sort_values("mean", ascending=False).iterrows()
    ]
    about = (
        f"Means over {format_count(int(sums['count'].iloc[0]), 'seed')}. It is a first look with one small "
        "budget for all. These are not the papers' settings, so it does not rank the papers."
    )
    head = ["| objective | RSUM, of 600 | standard deviation |", "|---|---|---|"]
    return "\n".join([*head, *lines, "", *textwrap.wrap(about, 130)])


def held() -> str:
    """How results are verified, with the figures of the benchmarks."""
    cider, size, sums = read("cider"), read("evaluation"), published.printed_sums()
    rows = {
        "CIDEr-D, CIDEr (`text/cider.py`)": f"`pycocoevalcap` on {cider['images']:,} pairs; "
        f"{cider['images']:,} x {cider['captions']:,} captions in "
        f"{format_number(cider['seconds'], 1)} s on one "
        f"core, {format_number(cider['times_faster_a_pair'], 0)} times faster a pair",
        "tuple F1, `symbolic`, `sentence` (`text/`)": f"a slow double loop. {judge_advice()}",
        "scene graphs (`packages/caption_graphs/`)": "captions annotated by hand, with a bar for each part",
        "ECCV Caption, CxC, COCO (`metrics/`)": "the package `eccv_caption`",
        "memory of an evaluation": f"{size['captions']:,} captions x {size['images']:,} images at width "
        f"{size['width']}: {format_number(size['gib_above_embeddings'], 2)} GiB above the embeddings",
        "gradients (`training/processes.py`)": "two and three processes against one, for every objective",
        "intervals (`metrics/intervals.py`)": "their coverage of the truth, simulated with captions that "
        "are alike within an image",
        "printed numbers (`packages/paper_tables/published/`)": ""
        f"{format_count(len(published.load()), 'value')}; "
        f"of {format_count(len(sums), 'printed sum')} {int((~sums.adds_up).sum())} do not add up and say so",
    }
    lines = [f"| {what} | {how} |" for what, how in rows.items()]
    return "\n".join(["| what | verified against |", "|---|---|", *lines])


def ablations() -> str:
    """How far the recorded arms of the papers' ablations come from chance, and with what."""
    rows = assets.read_recorded("ablation_arms")
    rows["times"], rows["before"] = rows.rsum / rows.chance, rows.untrained / rows.chance
    places = [
        f"{format_count(len(part), 'arm')} on "
        f"{'the synthetic scenes' if name == 'scenes' else 'Flickr8k'} reach at least "
        f"{format_number(part.times.min(), 1)} times this, and {format_number(part.times.median(), 1)} times "
        "in the median."
        for name, part in rows.groupby("data")
    ]
    more = rows[rows.train_images == rows.train_images.max()]
    named = ", ".join(f"{row.arm} of `{row.grid}`" for row in more.itertuples())
    told = (
        f"Each RSUM is compared with that of a random order. {' '.join(places)} Before training an arm "
        f"has at most {format_number(rows.before.max(), 1)} times this. "
        f"{format_count(int((rows.epochs > bench_arms.EPOCHS).sum()), 'arm')} took more than "
        f"{bench_arms.EPOCHS} epochs. {format_count(int(more.train_images.max()), 'image')} were "
        f"needed by {named}. All took {format_number(rows.seconds.sum() / 60, 0)} minutes of one core."
    )
    return "\n".join(textwrap.wrap(told, 130, break_on_hyphens=False))


def machine() -> str:
    """The short table of the machine that this was last measured on."""
    found = read("machine")
    head, *rows = bench.table_lines([bench.Figure(**row) for row in found["rows"]])
    gpu = "no GPU" if found["gpu"] == "none" else found["gpu"]
    of, threads = found["machine"], format_count(found["threads"], "thread")
    # what is measured itself keeps its threads at work
    load = of["load"]
    busy = (
        f"; other work was going on (load {format_number(load, 1)})" if load > found["threads"] + 0.5 else ""
    )
    about = f"{of['cores']} cores ({of['processor']}), {threads} of PyTorch {found['torch']}, {gpu}{busy}:"
    table = [" | ".join(cells) for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join([about, "", *(f"| {line} |" for line in table)])


def million() -> str:
    """What a million pairs in shards took, part by part, and the most memory till the end of each."""
    found = read("million")
    about = {
        "index": ("the shards are indexed", "pairs"),
        "data_path": ("one epoch of images and captions, in shuffled order", "pairs"),
        "features": ("frozen features of all images, read and kept", "images"),
        "training": ("one epoch of heads on these features", "pairs"),
        "evaluation": (
            "all against all: ranks, intervals and the ten best of every query, both directions",
            "pairs",
        ),
    }
    rows = [
        (what, format_number(found[f"{part}_seconds"], 0),
         f"{format_number(found[f'{part}_a_second'], 0)} {of}", format_number(found[f"{part}_peak_gib"], 2))
        for part, (what, of) in about.items() if f"{part}_seconds" in found
    ]  # fmt: skip
    of, images = found["machine"], format_count(found["pairs"] // 5, "image")
    told = (
        f"{format_count(found['pairs'], 'pair')} of {images}, {of['cores']} cores "
        f"({of['processor']}), load "
        f"{format_number(of['load'], 1)} at the end:"
    )
    table = [("part", "seconds", "a second", "most memory till then, GiB"), ("---",) * 4, *rows]
    return "\n".join([told, "", *(f"| {' | '.join(row)} |" for row in table)])


def scaling() -> str:
    """How time grows with size, and what ten times the largest size would take."""
    rows = [("what", "sizes", "seconds", "power", "seconds of ten times the largest"), ("---",) * 5]
    for name, of in read("scaling")["parts"].items():
        sizes, taken = " / ".join(map(format_count, of["sizes"])), " / ".join(map(_short, of["seconds"]))
        more = _short(of["seconds"][-1] * 10 ** of["power"])
        rows.append((name, f"{sizes} {of['of']}", taken, format_number(of["power"], 2), more))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _short(seconds: float) -> str:
    return format_number(seconds, 3 if seconds < 1 else 1 if seconds < 100 else 0)


def gpu() -> str:
    """What was measured on a GPU, with the shares of the losses."""
    found = read("gpu")
    (ours, _, theirs), files = found["step"].values(), found["files"].values()
    tested = {name: f"{format_number(value, 1)} s" for name, value in found["evaluation"].items()}
    pairs = [f"{format_number(value, 0)} pairs a second" for value in files]
    rows = [
        ("what", "here", "reference", "its figure"),
        ("---",) * 4,
        (f"a training step of {format_count(found['batch'], 'pair')} that lie on the GPU",
         f"{bench.format_milliseconds(ours)} ms", "open_clip's own loop",
         f"{bench.format_milliseconds(theirs)} ms"),
        ("training from JPEG files", pairs[0], "open_clip's own loop", pairs[1]),
        ("`evaluate`, 5,000 images and 25,000 captions", tested["evaluate, float32"],
         "the encoder alone", tested["encoding of what lies in memory, float32"]),
        ("the same", tested["evaluate, float32"], "reading the images",
         tested["images are read from files"]),
    ]  # fmt: skip
    shares = sorted(found["losses"].items(), key=lambda one: one[1])
    parts = [("a loss with its gradients", "share of the step, %"), ("---",) * 2]
    parts += [(TITLES[name], format_value(share)) for name, share in shares]
    cores = format_count(found["machine"]["cores"], "core")
    about = f"{found['device']}, PyTorch {found['torch']}, {cores}, ViT-B/32 in bf16:"
    tables = ["\n".join(f"| {' | '.join(row)} |" for row in table) for table in (rows, parts)]
    return "\n\n".join([about, *tables])


def rerank() -> str:
    """What scoring the best of a dual model again took."""
    found = read("rerank")
    of, seconds = found["machine"], found["seconds"]
    size = f"{found['images']:,} images by {found['captions']:,} captions"
    told = (
        f"Of {size}, the best {found['k']:,} of both directions are {found['pairs']:,} pairs. "
        f"By `{found['form']}`, with 36 regions, 12 words and width 256, they took "
        f"{format_number(seconds, 0)} s. This is one thread of {of['processor']} "
        f"with load {format_number(of['load'], 1)} on {of['cores']} cores."
    )
    return textwrap.fill(told, 130)


def elsewhere() -> str:
    """What scores and ranked lists of the size of MS-COCO took, and what reading images costs."""
    found, reading = read("elsewhere"), read("decoding")
    lines = ["| what | seconds of the processor | memory above the start |", "|---|---|---|"]
    titles = {"matrix": "a score matrix, `.npy`", "trec": "lists, run files of TREC", "json": "lists, JSON"}
    for form, title in titles.items():
        above = found[f"{form}_peak"] - found[f"{form}_before"]
        seconds = format_number(found[f"{form}_seconds"], 1)
        lines.append(f"| {title} | {seconds} | {format_number(above, 2)} GiB |")
    share = reading["files_processor"] / reading["memory_processor"]
    about = (
        f"{found['images']:,} images by {found['captions']:,} captions; lists have the best {found['k']:,} "
        f"of both directions. ViT-B/32 with its images from files took {format_number(share, 2)} times the "
        "processor's seconds of the encoder alone."
    )
    return "\n".join([*lines, "", *textwrap.wrap(about, 130)])


def central() -> str:
    """How many of the papers' claims held."""
    return claims_words.central_sentences(claims.current(claims.read_ledger()))


BLOCKS: dict[str, Callable[[], str]] = {
    "finding": finding,
    "limits": limits,
    "claims": central,
    "tour": tour,
    "comparison_table": comparison_table,
    "comparison": comparison,
    "fair": fair.table,
    "counterfactuals": counterfactuals,
    "negatives": negatives,
    "photographs": photographs,
    "offsets": bench_offset.table,
    "held": held,
    "ranked": ranked_positives.describe_cost,
    "ablations": ablations,
    "machine": machine,
    "scaling": scaling,
    "gpu": gpu,
    "million": million,
    "rerank": rerank,
    "elsewhere": elsewhere,
}
# files with blocks
FILES = ("README.md", "docs/developers/speed.md", "docs/guides/results.md", "docs/guides/tables.md")
BLOCK = re.compile(r"(<!-- recorded: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rewritten(text: str) -> str:
    """A text with all its recorded blocks made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    for name in FILES:
        path = ROOT / name
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    for name, words in claims_words.pages(claims.read_ledger()).items():
        (ROOT / "docs" / name).write_text(words, encoding="utf-8")
