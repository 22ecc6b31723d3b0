"""What every benchmark is held to: an oracle from its paper, chance, a bag of words, and the interval's unit.

Layouts and rows that are misshapen are in ``test_sets``. How often intervals of retrieval cover the truth is
in ``tests/metrics/test_coverage``.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from benchmark_sets.declaration import declaration, names
from benchmark_sets.tests.layouts import LAYOUTS

import workbench as wb
from workbench import data
from workbench.metrics.declared import BAG, declared_numbers, draws_of_units
from workbench.metrics.evaluation import Evidence, evaluate, report_number
from workbench.metrics.intervals import UNIT
from workbench.metrics.ranks import ratio
from workbench.metrics.recall import HitRate
from workbench.metrics.registry import Metric
from workbench.records import MetricKey

COMPARISONS = [name for name in names() if declaration(name).task == "comparisons"]
RETRIEVAL = [name for name in names() if declaration(name).task == "retrieval"]
# shares of so many draws differ from chance by four standard errors at most
DRAWS = 200


def load(name, place):
    LAYOUTS[name](place)
    options = {"language": "de"} if declaration(name).languages else {}
    return data.load(f"benchmark_sets.sets:{name}", root=str(place), **options)


def winoground(s, _):
    text = s[0][0] > s[0][1] and s[1][1] > s[1][0]
    image = s[0][0] > s[1][0] and s[1][1] > s[0][1]
    return {"text_score": text, "image_score": image, "group_score": text and image}


def both_captions_find_their_image(s, _):
    return {"accuracy": s[0][0] > s[1][0] and s[1][1] > s[0][1]}


def the_caption_is_above_all_others(s, _):
    return {"accuracy": all(s[0][0] > other for other in s[0][1:])}


def two_paraphrases_are_above_the_false_one(s, texts):
    (p1, p2, false), between = s[0], texts
    image_text = p1 > false and p2 > false
    text_only = between[0][1] > between[0][2] and between[1][0] > between[1][2]
    return {"ITT": image_text, "TOT": text_only}


# s[i][c]: score of an example's image i and caption c; texts[c][c']: of two of its captions
ORACLES = {
    "winoground": winoground,
    "colorswap": winoground,
    "eqben": winoground,
    "cola": both_captions_find_their_image,
    "mmvp_vlm": both_captions_find_their_image,
    "sugarcrepe_pp": two_paraphrases_are_above_the_false_one,
    "valse": lambda s, texts: {"acc_r": the_caption_is_above_all_others(s, texts)["accuracy"]},
}


def examples_of(split):
    """Rows of the images and of the captions of each example."""
    groups = {}
    for row, name in enumerate(split.caption_ids):
        groups.setdefault(name.rpartition(", caption ")[0], []).append(row)
    return [(list(dict.fromkeys(split.own[rows].tolist())), rows) for rows in groups.values()]


def scorer(scores, texts):
    return lambda pairs, way: (texts if way == "t2t" else scores)[pairs[:, 0], pairs[:, 1]]


def random_scores(split, rng, levels):
    scores = rng.integers(0, levels, (len(split.image_ids), len(split.captions))).astype(float)
    texts = rng.integers(0, levels, (len(split.captions), len(split.captions))).astype(float)
    return scores, np.triu(texts) + np.triu(texts, 1).T


@pytest.mark.parametrize("name", COMPARISONS)
def test_scores_with_ties_are_those_of_an_oracle_written_from_the_paper(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(3)
    oracle = ORACLES.get(name, the_caption_is_above_all_others)
    seen = set()
    for _ in range(40):
        # three levels: equal scores are frequent, and count against the model
        scores, texts = random_scores(split, rng, 3)
        right = {}
        for images, captions in examples_of(split):
            table = scores[np.ix_(images, captions)].tolist()
            for metric, holds in oracle(table, texts[np.ix_(captions, captions)].tolist()).items():
                right.setdefault(metric, []).append(holds)
        numbers = declared_numbers(scorer(scores, texts), split.benchmark, rounds=0)
        whole = {number.key.metric: number.value for number, _ in numbers if not number.key.subset}
        assert whole == pytest.approx({metric: np.mean(holds) for metric, holds in right.items()})
        seen |= set(whole.values())
    assert len(seen) > 2


@pytest.mark.parametrize("name", RETRIEVAL)
def test_recall_with_ties_is_that_of_an_oracle(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(3)
    scores, _ = random_scores(split, rng, 4)
    result = wb.evaluate(scores=scores, data=split, rounds=0)
    for k in (1, 5):
        found = []
        for caption, image in enumerate(split.own):
            # whatever is equally near and not right comes first
            others = [scores[row, caption] for row in range(len(scores)) if row != image]
            found.append(sum(other >= scores[image, caption] for other in others) < k)
        assert result[f"t2i/R@{k}"] == pytest.approx(np.mean(found))
        found = []
        for image in range(len(scores)):
            best = max(scores[image][split.own == image])
            found.append(sum(other >= best for other in scores[image][split.own != image]) < k)
        assert result[f"i2t/R@{k}"] == pytest.approx(np.mean(found))


@pytest.mark.parametrize("name", COMPARISONS)
def test_random_scores_reach_the_chance_that_is_printed(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(5)
    values, chances = {}, {}
    for _ in range(DRAWS):
        scores, texts = random_scores(split, rng, 10**6)
        for number, _ in declared_numbers(scorer(scores, texts), split.benchmark, rounds=0):
            if not number.key.subset:
                values.setdefault(number.key.metric, []).append(number.value)
                chances[number.key.metric] = number.chance
    for metric, drawn in values.items():
        assert np.mean(drawn) == pytest.approx(chances[metric], abs=4 * np.std(drawn) / np.sqrt(DRAWS))


@pytest.mark.parametrize("name", RETRIEVAL)
def test_a_random_order_reaches_the_chance_that_is_printed(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(5)
    values, chances = {}, {}
    for _ in range(DRAWS):
        scores, _ = random_scores(split, rng, 10**6)
        evidence = Evidence(scores, split.judgements["own"], split.own)
        for number in evaluate(evidence, [HitRate(ks=(1, 2))], rounds=0):
            values.setdefault(number.label, []).append(number.value)
            chances[number.label] = number.chance
    assert len(values) == 4
    for label, drawn in values.items():
        assert np.mean(drawn) == pytest.approx(chances[label], abs=4 * np.std(drawn) / np.sqrt(DRAWS) + 1e-9)


@pytest.mark.parametrize("name", COMPARISONS)
def test_no_bag_of_words_is_above_the_floor_that_is_printed(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(7)
    bags_of_words = [re.findall(r"\w+", caption.lower()) for caption in split.captions]
    words = sorted({word for bag in bags_of_words for word in bag})
    bags = np.array([[bag.count(word) for word in words] for bag in bags_of_words])
    texts = bags / np.linalg.norm(bags, axis=1, keepdims=True)
    for _ in range(3):
        images = rng.normal(size=(len(split.image_ids), len(words)))
        result = wb.evaluate(images=images, texts=texts, data=split, rounds=0)
        for number in result.measurements:
            assert number.value <= number.beside[BAG] + 1e-9


@pytest.mark.parametrize("name", names())
def test_the_unit_of_the_interval_is_said(name, tmp_path):
    split, rng = load(name, tmp_path), np.random.default_rng(0)
    result = wb.evaluate(scores=random_scores(split, rng, 9)[0], data=split, rounds=20)
    unit = UNIT if name in RETRIEVAL else declaration(name).unit
    assert {number.unit for number in result.measurements} == {unit}


@pytest.mark.parametrize("name", COMPARISONS)
def test_intervals_by_its_unit_cover_the_truth(name, tmp_path):
    drawn_with = load(name, tmp_path).benchmark.drawn_with
    units = int(drawn_with.max()) + 1
    many = np.concatenate([drawn_with + copy * units for copy in range(200 // units)])
    row = Metric.from_function("accuracy", ratio, "a hit")()
    draws = draws_of_units(many, declaration(name).unit, rounds=300)
    rng, covered, repeats = np.random.default_rng(2), 0, 120
    for _ in range(repeats):
        # examples of one unit are right or wrong together: half of the units are easy
        share = rng.choice([0.2, 0.9], size=int(many.max()) + 1)
        values = (rng.random(len(many)) < share[many]).astype(float)
        number = report_number(row, MetricKey("accuracy", "i2t"), values, "", draws, 0)
        covered += number.low <= 0.55 <= number.high
    assert 0.88 <= covered / repeats <= 1
