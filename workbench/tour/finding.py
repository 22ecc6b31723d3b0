"""What the recorded comparison of two ways of training says, in sentences and one figure by level.

Every objective was trained with annotated pairs and with every true pair. The words follow from the recorded
means and intervals, whatever these are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench import assets, data
from workbench.english import join_words
from workbench.formatting import format_count, format_number, format_value, unit_heading
from workbench.records import MetricKey, Values
from workbench.views.plots.theme import CATEGORIES, SYMBOLS, draw_dots, legend_entry, panel_figure

TABLE = "fair_scenes"
SUM = str(MetricKey("rsum"))
I2T, T2I = (str(MetricKey("map_at_r", way, "exact")) for way in ("i2t", "t2i"))
UNITS = {SUM: "sum", I2T: "share", T2I: "share"}
LEVELS = {
    level: str(MetricKey("within_map_at_r", "i2t", "exact", subset=f"level {level}")) for level in range(1, 6)
}
WAYS = {"own": "annotated pairs", "exact": "every true pair"}
# what a row with the difference of both ways has in the column of the way
DIFFERENCE = "own - exact"
# objectives with ranks of positives, which the first comparison did not have
RANKED = ("three_ranks", "rince")
# the bar for keeping both, set before the comparison; RSUM is stored as a sum of shares
BELOW_BEST = 0.03
LEAST = {I2T: 0.75, T2I: 0.70}
# the number that chooses the epoch
SELECTED = {"labels": "RSUM", "truth": "mAP@R"}
# what the first comparison said: statement, number, what chooses the epoch, sign of own - exact
STATEMENTS = (
    ("annotated pairs are better by RSUM", SUM, "labels", 1),
    ("every true pair is better by image-to-text mAP@R", I2T, "truth", -1),
    ("annotated pairs are better by text-to-image mAP@R", T2I, "truth", 1),
)
NEITHER = "neither way is better in everything"


@dataclass(frozen=True)
class Tally:
    """For how many objectives a statement holds, and for how many its opposite: intervals without zero."""

    statement: str
    holds: int
    fails: int
    count: int

    @property
    def verdict(self) -> str:
        """Whether it held for all objectives, did not for some, or is open."""
        if self.holds == self.count:
            return "held"
        return "failed" if self.fails else "open"

    @property
    def sentence(self) -> str:
        """The statement, with its counts where these differ from all."""
        if self.verdict == "held":
            return self.statement
        return f"{self.statement}, {self.holds} of {self.count} for it and {self.fails} against"


def recorded_rows() -> pd.DataFrame:
    """Return the recorded comparison; without rows where nothing was recorded."""
    try:
        return assets.read_recorded(TABLE)
    except FileNotFoundError:
        return pd.DataFrame(columns=["objective", "title", "positives", "selected", "key", "seeds", "mean"])


def differences(rows: pd.DataFrame, key: str, selected: str) -> pd.DataFrame:
    """Return annotated pairs minus every true pair, a row an objective without ranks of positives."""
    of_key = rows[(rows.positives == DIFFERENCE) & (rows.key == key) & (rows.selected == selected)]
    return of_key[~of_key.objective.isin(RANKED)].set_index("objective")


def _signs_of_differences(rows: pd.DataFrame) -> "pd.Series[int]":
    """Return by objective 1 where annotated pairs are better, -1 where every true pair is, else 0."""
    return (rows.low > 0).astype(int) - (rows.high < 0).astype(int)


def statement_tallies(rows: pd.DataFrame) -> list[Tally]:
    """Count the four statements of the first comparison over the objectives that are there."""
    tallies, by_number = [], []
    for statement, key, selected, sign in STATEMENTS:
        signs = _signs_of_differences(differences(rows, key, selected))
        holds, fails = int((signs == sign).sum()), int((signs == -sign).sum())
        tallies.append(Tally(statement, holds, fails, len(signs)))
        by_number.append(signs)
    table = pd.concat(by_number, axis=1).dropna()
    both = (table == 1).any(axis=1) & (table == -1).any(axis=1)
    everything = (table == 1).all(axis=1) | (table == -1).all(axis=1)
    return [*tallies, Tally(NEITHER, int(both.sum()), int(everything.sum()), len(table))]


def describe_statements(rows: pd.DataFrame) -> str:
    """Describe in one sentence which statements of the first comparison held; empty without results."""
    tallies = statement_tallies(rows)
    count = max(tally.count for tally in tallies)
    if not count:
        return ""
    parts = []
    for verdict, words in (("held", "held"), ("failed", "did not hold"), ("open", "remained open")):
        statements = [tally.sentence for tally in tallies if tally.verdict == verdict]
        if statements:
            parts.append(f"{len(statements)} {words} ({'; '.join(statements)})")
    return (
        f"Asked again with {format_count(count, 'objective')}, of four statements of the first comparison "
        f"{join_words(parts)}."
    )


def level_groups(rows: pd.DataFrame) -> dict[str, list[int]]:
    """Return the levels at which training with every true pair finds more, fewer, or neither for most
    objectives.
    """
    groups: dict[str, list[int]] = {"more": [], "fewer": [], "neither": []}
    for level, key in LEVELS.items():
        signs = _signs_of_differences(differences(rows, key, "truth"))
        if 2 * int((signs == -1).sum()) > len(signs):
            groups["more"].append(level)
        elif 2 * int((signs == 1).sum()) > len(signs):
            groups["fewer"].append(level)
        else:
            groups["neither"].append(level)
    return groups


def _at_levels(levels: Sequence[int]) -> str:
    if len(levels) == len(LEVELS):
        return "at every level"
    noun = "levels" if len(levels) > 1 else "level"
    return f"at {noun} {join_words([str(level) for level in levels])}"


def _with_objectives(rows: pd.DataFrame, levels: Sequence[int], sign: int) -> str:
    """Return with which objectives a difference has this sign at all of these levels."""
    tables = [differences(rows, LEVELS[level], "truth") for level in levels]
    titles = tables[0].title
    same = pd.concat([_signs_of_differences(table) == sign for table in tables], axis=1).all(axis=1)
    if same.all():
        return f"with all {len(same)} objectives" if len(same) > 1 else f"with {titles.iloc[0]}"
    # at each level with most, but not with the same ones
    return f"with {join_words(titles[same].tolist())}" if same.any() else "with most objectives"


def summarise_levels(rows: pd.DataFrame) -> str:
    """Describe in one phrase at which levels most objectives find more with every true pair, and at which
    fewer.
    """
    return join_words(_level_changes(rows))


def _level_changes(rows: pd.DataFrame, *, objectives: bool = False) -> list[str]:
    """Return what training with every true pair finds at which levels, a phrase a kind of change.

    Args:
        rows: the recorded comparison.
        objectives: whether to name the objectives.
    """
    groups = level_groups(rows)
    changes = []
    for word, sign in (("more", -1), ("fewer", 1)):
        levels = groups[word]
        if levels:
            who = f" {_with_objectives(rows, levels, sign)}" if objectives else ""
            changes.append(f"{word} true captions {_at_levels(levels)}{who}")
    if not changes:
        return ["no significant difference in true captions at any level for most objectives"]
    if groups["neither"]:
        changes.append(f"no significant difference {_at_levels(groups['neither'])} for most objectives")
    return changes


def describe_scale() -> str:
    """Describe what a level of captions is, and how many captions of the ends are true of a test image."""
    split = data.load("scenes", split="test")
    assert split.level is not None
    captions = np.bincount(split.level)
    true = true_captions_by_level()
    first, last = min(LEVELS), max(LEVELS)
    return (
        f'Each caption has a level: {first} names one thing, such as "an animal", and {last} describes '
        f"everything. Of {format_number(captions[first], 0)} captions of level {first}, "
        f"{format_number(true[first], 0)} are true of an image on average; of level {last}, "
        f"{format_number(true[last], 1)}."
    )


def describe_levels(rows: pd.DataFrame) -> str:
    """Describe what training with every true pair changes among captions of one level; empty without
    results.
    """
    if not len(differences(rows, LEVELS[1], "truth")):
        return ""
    changes = "; it finds ".join(_level_changes(rows, objectives=True))
    return (
        "Among captions of one level, training with every true pair instead of annotated pairs finds "
        f"{changes} ({describe_record(rows)})."
    )


def means_by_training(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the means of each training, a column a number."""
    means = rows[(rows.positives != DIFFERENCE) & rows.key.isin(UNITS)]
    names = ["objective", "title", "positives", "selected"]
    table = means.pivot_table(index=names, columns="key", values="mean")
    return table.reindex(columns=list(UNITS)).dropna()


def reach_bar(runs: pd.DataFrame) -> pd.DataFrame:
    """Return those trainings that keep both, by the bar set before the comparison.

    Args:
        runs: means of trainings, a column a number.
    """
    enough = runs[SUM] >= runs[SUM].max() - BELOW_BEST
    for key, least in LEAST.items():
        enough &= runs[key] >= least
    reaching: pd.DataFrame = runs[enough]
    return reaching


def describe_ranks(rows: pd.DataFrame) -> str:
    """Describe which trainings keep both RSUM and mAP@R, and what three ranks reach; empty until three ranks
    and others are trained.
    """
    runs = means_by_training(rows)
    own = [index for index in runs.index if index[0] == RANKED[0] and index[2:] == ("exact", "truth")]
    others = runs[~runs.index.get_level_values("objective").isin(RANKED)]
    if not own or others.empty:
        return ""
    best = format_value(runs[SUM].max(), "sum")
    points = format_number(100 * BELOW_BEST, 0)
    least_i2t, least_t2i = (format_number(100 * LEAST[key], 0) for key in (I2T, T2I))
    bar = (
        "RSUM, the sum of six recalls, counts annotated pairs alone; mAP@R counts every true pair. A bar for "
        f"both was set beforehand: RSUM at most {points} below the best ({best}), and mAP@R at least "
        f"{least_i2t} percent from image to text and {least_t2i} percent from text to image."
    )
    return f"{bar} {_describe_reaching(runs, own[0])}"


def _describe_reaching(runs: pd.DataFrame, ranked: Any) -> str:
    """Return which trainings reach the bar, and by which numbers three ranks miss it."""
    reaching = reach_bar(runs)
    trainings = []
    for (_, title, positives, selected), (_, row) in zip(
        reaching.index.tolist(), reaching.iterrows(), strict=True
    ):
        trainings.append(f"{title} with {WAYS[positives]} ({_numbers_of(row, selected)})")
    verb = "reaches" if len(trainings) < 2 else "reach"
    sentence = f"{join_words(trainings) or 'No training'} {verb} it."
    if ranked in reaching.index:
        return sentence
    return (
        f"{sentence} Three ranks, a loss that puts annotated pairs above other true pairs, misses it "
        f"({_numbers_of(runs.loc[ranked], ranked[-1])})."
    )


def _numbers_of(row: "pd.Series[float]", selected: str) -> str:
    """Return the three numbers of a training, and which number chose its epoch."""
    total, i2t, t2i = (format_value(row[key], unit) for key, unit in UNITS.items())
    return f"RSUM {total}, mAP@R {i2t} and {t2i}, epoch chosen by {SELECTED[selected]}"


@cache
def true_captions_by_level() -> Values:
    """Return ``(levels + 1,)`` captions of each level that are true of a test image, on average."""
    split = data.load("scenes", split="test")
    assert split.level is not None
    return np.bincount(split.level[split.judgements["exact"].captions]) / len(split.image_ids)


def draw_levels(rows: pd.DataFrame) -> go.Figure | None:
    """Draw mAP@R within each level, a panel a level and a row an objective; nothing without results.

    Bars are intervals for other seeds. Epochs are those that the ground truth chose.
    """
    shown = rows[(rows.selected == "truth") & rows.key.isin(LEVELS.values()) & rows.positives.isin(WAYS)]
    if not len(differences(rows, LEVELS[1], "truth")):
        return None
    counts = true_captions_by_level()
    heads = [f"level {level}: {_count_true(counts[level])}" for level in LEVELS]
    title = f"With every true pair: {summarise_levels(rows)}"
    fig = panel_figure(
        heads, title, f"mAP@R from image to text among captions of a level, {unit_heading()}", ""
    )
    for column, key in enumerate(LEVELS.values(), start=1):
        dots = shown[shown.key == key].rename(columns={"title": "run", "mean": "value"})
        dots = dots.assign(face="share", about="")
        for number, (way, name) in reversed([*enumerate(WAYS.items())]):
            entry = legend_entry(fig, name, column)
            draw_dots(fig, dots[dots.positives == way], CATEGORIES[number], SYMBOLS[number], **entry)
    names = list(dict.fromkeys(shown.title))
    fig.update_yaxes(categoryorder="array", categoryarray=names[::-1], range=[-0.5, len(names) - 0.5])
    fig.update_xaxes(range=[-4, 104]).update_layout(height=240 + 30 * len(names))
    return fig


def _count_true(number: float) -> str:
    digits = 0 if number >= 10 else 1
    return f"{format_number(number, digits)} true captions"


def describe_record(rows: pd.DataFrame) -> str:
    """Describe how many objectives and seeds the recorded comparison has."""
    compared = differences(rows, LEVELS[1], "truth")
    count = format_count(len(compared), "objective")
    fewest, most = int(compared.seeds.min()), int(compared.seeds.max())
    seeds = f"{fewest} to {format_count(most, 'seed')}" if fewest < most else format_count(most, "seed")
    return f"{count}, {seeds} each way"


def describe_limits() -> str:
    """Describe what the comparison does not allow to conclude."""
    true = true_captions_by_level()
    return (
        "Do not conclude that one way of training is better for photographs, or at the size of the papers: "
        "these are drawn scenes, and small models on frozen features. Nor does a higher mAP@R alone mean "
        "that a model recognises more. "
        f"Of {format_number(true.sum(), 0)} captions that are true of an image, {format_number(true[1], 0)} "
        "are of level 1, so a model gains by ranking generic captions first."
    )


def sentences(rows: pd.DataFrame) -> Iterator[str]:
    """Yield the paragraphs that a page opens with: what changes at which level, and which training has both
    a high RSUM and a high mAP@R; nothing without results.
    """
    levels = describe_levels(rows)
    if levels:
        yield f"{describe_scale()} {levels}"
        yield from filter(None, [describe_ranks(rows)])
