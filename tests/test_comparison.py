"""The comparison of objectives: what is trained next, which recipe a search chooses, and its table."""

import json
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tools import comparison as runner
from tools import comparison_table, numbers
from tools.comparison import Arm
from workbench import data
from workbench.metrics.crossed import crossed_interval
from workbench.tour import finding, render

IMAGES = 20


def write(
    folder: Path,
    arm: Arm,
    *epochs: tuple[float, float],
    noise: int = 0,
    levels: tuple[float, ...] = (),
) -> None:
    """A file as a training leaves it: RSUM and mAP@R of each epoch, on both splits."""
    rng = np.random.default_rng(noise)
    keys = len(runner.BY_IMAGE)
    values = 0.2 * rng.random((keys, len(epochs), IMAGES))
    history = []
    for number, (rsum, truth) in enumerate(epochs):
        val = {runner.LABELS: rsum, runner.I2T: truth, runner.T2I: truth}
        values[:3, number] += np.array([[rsum], [truth], [truth]])
        shaken = [level + 0.001 * noise for level in levels or [truth] * len(comparison_table.LEVELS)]
        test = val | dict(zip(comparison_table.LEVELS, shaken, strict=True))
        history.append({"val": val, "test": test, "seconds": 1.0})
    folder.mkdir(exist_ok=True)
    facts = json.dumps({**asdict(arm), "history": history})
    np.savez_compressed(folder / f"{arm.name}.npz", facts=facts, values=values.astype(np.float16))


def search(folder: Path, objective: str, positives: str, longer: float = 0.0) -> Arm:
    """A finished search, in which half the rate is best by RSUM and twice the rate by mAP@R."""
    for arm in runner.search(objective, positives):
        write(folder, arm, (4.0 - arm.factor / 10, 0.5 + arm.factor / 10))
    short = {"own": 0.5, "exact": 2.0}[positives]
    long = Arm(objective, positives, runner.SEARCH_SEED, short, runner.EPOCHS[1])
    write(folder, long, (4.0 - short / 10, 0.5 + short / 10 + longer))
    return long


def test_each_way_of_training_has_the_rate_that_its_own_number_chooses(tmp_path: Path):
    for positives, factor in (("own", 0.5), ("exact", 2.0)):
        search(tmp_path, "infonce", positives)
        lacking, recipe = runner.chosen(tmp_path, "infonce", positives)
        assert lacking == []
        assert recipe is not None
        assert (recipe.factor, recipe.epochs) == (factor, runner.EPOCHS[0])


def test_a_curve_that_still_rises_is_trained_for_longer(tmp_path: Path):
    long = search(tmp_path, "infonce", "own", longer=0.02)
    assert runner.chosen(tmp_path, "infonce", "own") == ([], long)


def test_a_search_lacks_what_has_no_file(tmp_path: Path):
    every = runner.search("infonce", "own")
    write(tmp_path, every[0], (1.0, 0.1))
    assert runner.chosen(tmp_path, "infonce", "own") == (every[1:], None)


def test_seeds_come_outermost_and_what_is_there_is_not_trained_again(tmp_path: Path):
    for objective in runner.FIRST:
        for positives in runner.WAYS:
            search(tmp_path, objective, positives)
    arms = list(runner.open_arms(tmp_path))
    first = [arm for arm in arms if arm.objective in runner.FIRST]
    assert [arm.seed for arm in first] == [seed for seed in runner.SEEDS for _ in range(12)]
    write(tmp_path, first[0], (4.0, 0.5))
    assert next(runner.open_arms(tmp_path)) == first[1]


def test_a_training_that_broke_off_is_no_recipe(tmp_path: Path):
    search(tmp_path, "infonce", "own")
    best = replace(runner.search("infonce", "own")[0], factor=0.5)
    write(tmp_path, best)
    _, recipe = runner.chosen(tmp_path, "infonce", "own")
    # once the rate itself is the next best, and the longer training of it is lacking
    assert recipe is None


@pytest.mark.parametrize("parts", ["images", "captions", "both"])
def test_values_by_image_have_the_mean_of_the_number(parts: str):
    split = data.load("scenes", split="test").first(10)
    rng = np.random.default_rng(0)
    images, captions = rng.random(10), rng.random(len(split.captions))
    values = {"images": images, "captions": captions, "both": np.concatenate([images, captions])}[parts]
    number = {"images": images.mean(), "captions": captions.mean(), "both": images.mean() + captions.mean()}
    assert runner.by_image(split, values).mean() == pytest.approx(number[parts])


def test_the_table_has_the_epoch_of_each_number_and_the_crossed_interval(tmp_path: Path):
    for seed in range(3):
        write(tmp_path, Arm("infonce", "own", seed), (4.6, 0.3), (4.4, 0.6), noise=seed)
        write(tmp_path, Arm("infonce", "exact", seed), (3.5, 0.7), (3.4, 0.8), noise=9 + seed)
    rows = comparison_table.record(tmp_path).set_index(["positives", "selected", "key"])
    by_rsum, by_truth = (rows.loc["own", by, runner.LABELS] for by in ("labels", "truth"))
    assert by_rsum["mean"] == pytest.approx(4.7, abs=0.05)
    assert by_truth["mean"] == pytest.approx(4.5, abs=0.05)
    assert by_rsum["seeds"] == 3
    values = []
    for seed in range(3):
        arm = Arm("infonce", "own", seed)
        assert runner.facts_of(tmp_path, arm) is not None
        values.append(runner.values_of(tmp_path, arm)[0, 0])
    assert (by_rsum["low"], by_rsum["high"]) == pytest.approx(crossed_interval(np.stack(values)), abs=1e-4)
    difference = rows.loc[comparison_table.DIFFERENCE, "labels", runner.LABELS]
    assert difference["mean"] == pytest.approx(1.1, abs=0.05)


GENERIC, SPECIFIC = (0.9, 0.8, 0.5, 0.3, 0.2), (0.2, 0.3, 0.5, 0.8, 0.9)


def plant(
    folder: Path,
    own: tuple[float, float],
    exact: tuple[float, float],
    levels: tuple[tuple[float, ...], tuple[float, ...]],
    objectives: tuple[str, ...] = ("infonce",),
) -> pd.DataFrame:
    """The record of trainings with two seeds, each way with an RSUM, a mAP@R and numbers by level."""
    ways = {"own": (own, levels[0]), "exact": (exact, levels[1])}
    for objective, (positives, (of_number, by_level)), seed in product(objectives, ways.items(), range(2)):
        write(folder, Arm(objective, positives, seed), of_number, noise=seed, levels=by_level)
    return comparison_table.record(folder)


def test_the_sentence_of_the_four_statements_follows_from_the_result(tmp_path: Path):
    levels = (SPECIFIC, GENERIC)
    held = finding.statement_tallies(plant(tmp_path / "held", (4.6, 0.3), (3.5, 0.7), levels))
    assert [tally.verdict for tally in held] == ["held", "held", "failed", "held"]
    other = finding.statement_tallies(plant(tmp_path / "other", (3.5, 0.7), (4.6, 0.3), levels))
    assert [tally.verdict for tally in other] == ["failed", "failed", "held", "held"]
    every = finding.statement_tallies(plant(tmp_path / "every", (3.5, 0.3), (4.6, 0.7), levels))
    assert [tally.verdict for tally in every] == ["failed", "held", "failed", "failed"]
    sentence = finding.describe_statements(plant(tmp_path / "other", (3.5, 0.7), (4.6, 0.3), levels))
    assert sentence.count(".") == 1
    assert "2 held" in sentence
    assert "2 did not hold" in sentence


@pytest.mark.parametrize(
    ("own", "exact", "said"),
    [
        (
            SPECIFIC,
            GENERIC,
            ("more true captions at levels 1 and 2", "fewer true captions at levels 4 and 5"),
        ),
        (
            GENERIC,
            SPECIFIC,
            ("more true captions at levels 4 and 5", "fewer true captions at levels 1 and 2"),
        ),
        ((0.1,) * 5, (0.9,) * 5, ("more true captions at every level",)),
        (
            GENERIC,
            GENERIC,
            ("no significant difference in true captions at any level for most objectives",),
        ),
    ],
)
def test_the_sentence_of_the_levels_follows_from_the_result(
    tmp_path: Path, own: tuple[float, ...], exact: tuple[float, ...], said: tuple[str, ...]
):
    rows = plant(tmp_path, (4.6, 0.3), (3.5, 0.7), (own, exact))
    assert all(part in finding.describe_levels(rows) for part in said)
    figure = finding.draw_levels(rows)
    assert figure is not None
    assert all(part in figure.layout.title.text for part in said)
    assert len({trace.xaxis for trace in figure.data}) == 5


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ((4.0, 0.8), "No training reaches it. Three ranks"),
        ((4.69, 0.8), "epoch chosen by mAP@R) reach it."),
    ],
)
def test_the_sentence_of_three_ranks_follows_from_the_result(
    tmp_path: Path, numbers: tuple[float, float], verdict: str
):
    plant(tmp_path, (4.7, 0.3), (3.5, 0.7), (GENERIC, GENERIC))
    rows = plant(tmp_path, numbers, numbers, (GENERIC, GENERIC), ("three_ranks",))
    assert verdict in finding.describe_ranks(rows)
    # it has ranks of positives, which the statements of before are not about
    assert finding.statement_tallies(rows)[0].count == 1


def test_the_bar_for_keeping_both_holds_each_number_by_itself():
    numbers = {
        "best": (4.7, 0.5, 0.5),
        "at the bar": (4.68, 0.76, 0.71),
        "low sum": (4.66, 0.9, 0.9),
        "low image to text": (4.7, 0.74, 0.9),
        "low text to image": (4.7, 0.9, 0.69),
    }
    runs = pd.DataFrame.from_dict(numbers, orient="index", columns=list(finding.UNITS))
    assert finding.reach_bar(runs).index.tolist() == ["at the bar"]


def test_what_limits_three_ranks_is_the_level_where_they_are_furthest_behind(tmp_path: Path):
    plant(tmp_path, (4.7, 0.3), (4.7, 0.8), ((0.5,) * 5, (0.9, 0.9, 0.5, 0.5, 0.5)))
    rows = plant(tmp_path, (4.6, 0.3), (4.6, 0.3), (GENERIC, (0.9, 0.4, 0.5, 0.5, 0.5)), ("three_ranks",))
    assert "behind InfoNCE with every true pair at level 2, with 40.0 against 90.0" in (
        comparison_table.describe_limit(rows)
    )


def test_objectives_that_differ_are_named_with_their_levels(tmp_path: Path):
    plant(tmp_path, (4.6, 0.3), (3.5, 0.7), (SPECIFIC, GENERIC), ("infonce", "vsepp"))
    rows = plant(tmp_path, (4.6, 0.3), (3.5, 0.7), (GENERIC, GENERIC), ("siglip",))
    sentence = finding.describe_levels(rows)
    assert "more true captions at levels 1 and 2 with InfoNCE and VSE++" in sentence


def test_without_results_nothing_is_said_to_be_found(tmp_path: Path):
    rows = comparison_table.record(tmp_path)
    assert list(finding.sentences(rows)) == []
    assert finding.describe_statements(rows) == ""
    assert finding.draw_levels(rows) is None


def test_the_pages_open_with_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = plant(tmp_path, (4.6, 0.3), (3.5, 0.7), (SPECIFIC, GENERIC))
    monkeypatch.setattr(finding, "recorded_rows", lambda: rows)
    sentence = finding.describe_levels(rows)
    assert sentence in " ".join(numbers.finding().split())
    assert "../finding.png" in comparison_table.table()
    page = render([], [], 1.0)
    assert sentence.replace("'", "&#39;") in page
    assert page.index("What was found") < page.index("Three ways to train")
    assert page.index("What was found") < page.index("What not to conclude") < page.index("Ask your model")
    assert finding.describe_limits() in page


def test_the_text_says_how_much_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for seed in range(2):
        for positives, rsum, truth in (("own", 4.6, 0.3), ("exact", 3.5, 0.7)):
            write(tmp_path, Arm("infonce", positives, seed), (rsum, truth), noise=seed)
    rows = comparison_table.record(tmp_path)
    monkeypatch.setattr(finding, "recorded_rows", lambda: rows)
    text = " ".join(comparison_table.table().split())
    assert "Of these 4 of 60 trainings" in text
    assert "Seeds are missing of InfoNCE (4 of 10)" in text
    assert "fewer than two seeds so far: VSE++" in text
    monkeypatch.setattr(finding, "recorded_rows", lambda: rows[:0])
    assert "Of these 0 of 60 trainings" in " ".join(comparison_table.table().split())


def test_a_seed_that_only_one_way_has_is_in_no_difference(tmp_path: Path):
    plant(tmp_path, (4.6, 0.3), (3.5, 0.7), (GENERIC, GENERIC))
    write(tmp_path, Arm("infonce", "own", 2), (4.6, 0.3), noise=7)
    rows = comparison_table.record(tmp_path).set_index(["positives", "selected", "key"])
    seeds = [rows.loc[way, "labels", runner.LABELS]["seeds"] for way in ("own", "exact", "own - exact")]
    assert seeds == [3, 2, 2]
