"""Numbers by slice: those of a double loop over the rows of the slice, for both galleries, ties included."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import workbench as wb
from tests.data.test_layouts import put
from workbench.cli import app
from workbench.io import json_value
from workbench.records import Field, Judgements, Split
from workbench.runs.caption_tables import caption_table

IMAGES, EACH = 12, 3


def split_with_fields(rng) -> Split:
    own = np.repeat(np.arange(IMAGES), EACH)
    ids = tuple(map(str, range(len(own))))
    words = rng.integers(1, 30, len(own)).astype(float)
    words[4] = np.nan
    fields = {
        "language": Field.from_cells("language", [["de", "en", "fr"][n % EACH] for n in range(len(own))]),
        "place": Field.from_cells("place", [["sea", "town"][n % 2] for n in range(IMAGES)], owner="image"),
        "words": Field("words", words, kind="number"),
    }
    texts = tuple(f"caption {n}" for n in range(len(own)))
    return Split("x", tuple(map(str, range(IMAGES))), texts, ids, own, lambda row: None, fields=fields)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    split = split_with_fields(rng)
    # few different scores, so that many are equal
    scores = rng.integers(0, 6, (IMAGES, IMAGES * EACH)).astype(np.float32)
    scores[split.own, np.arange(len(split.own))] += 1
    return split, scores


def first_rank(scores: list[float], relevant: list[bool]) -> int:
    """The rank of the best relevant item, an equal one that is not relevant ranking above."""
    best = max(score for score, good in zip(scores, relevant, strict=True) if good)
    return 1 + sum(s >= best and not good for s, good in zip(scores, relevant, strict=True))


def double_loop(scores, own, images, captions, direction, k) -> float:
    """R@K of the queries ``images`` or ``captions`` among these galleries, pair by pair."""
    queries, gallery = (images[0], captions[1]) if direction == "i2t" else (captions[0], images[1])
    hits = []
    for query in queries:
        row = []
        good = []
        for item in gallery:
            image, caption = (query, item) if direction == "i2t" else (item, query)
            row.append(float(scores[image, caption]))
            good.append(own[caption] == image)
        if any(good):
            hits.append(first_rank(row, good) <= k)
    return sum(hits) / len(hits)


def rows_of(split, by):
    """Caption rows and image rows of each slice, by hand."""
    if by == "place":
        for n, place in enumerate(("sea", "town")):
            images = [i for i in range(IMAGES) if i % 2 == n]
            yield f"place={place}", images, [t for t in range(len(split.own)) if split.own[t] in images]
    else:
        for n, language in enumerate(("de", "en", "fr")):
            yield f"language={language}", list(range(IMAGES)), list(range(n, len(split.own), EACH))


@pytest.mark.parametrize("by", ["place", "language"])
@pytest.mark.parametrize("gallery", ["whole", "slice"])
def test_numbers_by_slice_are_those_of_a_double_loop(by, gallery, case):
    split, scores = case
    result = wb.evaluate(scores=scores, data=split, by=by, gallery=gallery, rounds=0)
    everything = list(range(IMAGES)), list(range(len(split.own)))
    for label, images, captions in rows_of(split, by):
        start = "within " if gallery == "slice" else ""
        among = (images, captions) if gallery == "slice" else everything
        total = 0.0
        for direction in ("i2t", "t2i"):
            for k in (1, 5, 10):
                sides = (images, among[0]), (captions, among[1])
                expected = double_loop(scores, split.own, *sides, direction, k)
                key = f"{direction}/R@{k}[{start}{label}]"
                if key not in result:  # all images have captions in several languages
                    assert (by, gallery, direction) == ("language", "whole", "i2t")
                    continue
                assert result[key] == pytest.approx(expected, abs=1e-12), key
                total += expected
        if f"rsum[{start}{label}]" in result:
            assert result[f"rsum[{start}{label}]"] == pytest.approx(total, abs=1e-12)


def precision_at_r(scores: list[float], relevant: list[bool]) -> tuple[float, float]:
    """mAP@R and R-Precision of one query, an equal item that is not relevant ranking above."""
    size = sum(relevant)
    order = sorted(range(len(scores)), key=lambda n: (-scores[n], relevant[n]))
    hits = [relevant[n] for n in order[:size]]
    precisions = [sum(hits[: n + 1]) / (n + 1) for n, hit in enumerate(hits) if hit]
    return sum(precisions) / size, sum(hits) / size


@pytest.mark.parametrize("by", ["place", "language"])
@pytest.mark.parametrize("gallery", ["whole", "slice"])
def test_precisions_by_slice_are_those_of_a_double_loop(by, gallery, case):
    split, scores = case
    # each caption is true of its image, and of the next one with the same place
    images = np.concatenate([split.own, (split.own + 2) % IMAGES])
    captions = np.tile(np.arange(len(split.own)), 2)
    shape = (IMAGES, len(split.own))
    exact = Judgements("exact", "binary", shape, images, captions, np.ones(len(images), np.float32))
    judged = replace(split, judgements={**split.judgements, "exact": exact})
    true = np.zeros(shape, dtype=bool)
    true[images, captions] = True
    result = wb.evaluate(scores=scores, data=judged, by=by, gallery=gallery, rounds=0)
    start = "within " if gallery == "slice" else ""
    tested = 0
    for label, rows, columns in rows_of(split, by):
        among = (rows, columns) if gallery == "slice" else (range(IMAGES), range(len(split.own)))
        for way, queries in (("i2t", rows), ("t2i", columns)):
            numbers = []
            for query in queries:
                items = among[1] if way == "i2t" else among[0]
                pairs = [(query, item) if way == "i2t" else (item, query) for item in items]
                good = [bool(true[pair]) for pair in pairs]
                if any(good):
                    numbers.append(precision_at_r([float(scores[pair]) for pair in pairs], good))
            for name, value in zip(("map_at_r", "r_precision"), np.mean(numbers, axis=0), strict=True):
                key = f"exact:{way}/{name}[{start}{label}]"
                if (by, gallery, way) == ("language", "whole", "i2t"):
                    assert key not in result  # all images have captions in several languages
                    continue
                assert result[key] == pytest.approx(value, abs=1e-12), key
                tested += 1
    assert tested


@pytest.mark.parametrize("by", ["place", "language", "words:quartiles", "words:>10", "place*language"])
def test_the_micro_mean_of_all_slices_is_the_whole(by, case):
    split, scores = case
    result = wb.evaluate(scores=scores, data=split, by=by, rounds=0)
    of_slices = [m for m in result.measurements if m.by and "mean over" not in m.key.subset]
    for label in ("i2t/R@1", "t2i/R@1", "i2t/recall@5", "t2i/recall@5"):
        parts = [m for m in of_slices if m.label.startswith(f"{label}[")]
        whole = next(m for m in result.measurements if m.label == label)
        if "language" in by and label.startswith("i2t"):
            assert not parts  # each image has captions in all languages, so no image query has one
            continue
        assert sum(m.queries for m in parts) == whole.queries
        assert sum(m.value * m.queries for m in parts) / whole.queries == pytest.approx(whole.value)
        assert sum(m.chance * m.queries for m in parts) / whole.queries == pytest.approx(whole.chance)


def test_the_macro_mean_weighs_each_value_equally(case):
    split, scores = case
    result = wb.evaluate(scores=scores, data=split, by="words:>10")
    parts = [result[f"t2i/R@1[{label}]"] for label in ("words>10", "words<=10")]
    mean = next(m for m in result.measurements if m.label == "t2i/R@1[mean over words:>10]")
    assert "t2i/R@1[words=(missing)]" in result
    assert mean.value == pytest.approx(sum(parts) / 2)
    assert mean.low < mean.value < mean.high


def test_an_interval_is_wilson_s_with_a_variance_over_images(case):
    split, scores = case
    result = wb.evaluate(scores=scores, data=split, by="place")
    measured = next(m for m in result.measurements if m.label == "t2i/R@1[place=sea]")
    hits = result.values["t2i/R@1"].reshape(IMAGES, EACH)[::2]  # every other image shows the sea
    share, images = hits.mean(), len(hits)
    variance = ((hits.sum(axis=1) - share * EACH) ** 2).sum() / hits.size**2 * images / (images - 1)
    trials = share * (1 - share) / variance
    quantile = 2.570582  # Student's with 5 degrees of freedom
    roots = np.roots(
        [1 + quantile**2 / trials, -2 * share - quantile**2 / trials, share**2]
    )  # (share - p) ** 2 = quantile ** 2 * p * (1 - p) / trials
    assert (measured.low, measured.high) == pytest.approx(tuple(sorted(roots.real)), abs=1e-6)
    assert measured.queries == IMAGES * EACH // 2


def test_the_gallery_of_a_slice_is_in_the_contract(case):
    split, scores = case
    one = wb.evaluate(scores=scores, data=split, by="place", gallery="slice", rounds=0)
    measured = {m.label: m for m in one.measurements}
    assert measured["t2i/R@1[within place=sea]"].gallery == IMAGES // 2
    assert measured["t2i/R@1[within place=sea]"].by == "place"
    assert measured["t2i/R@1[within place=sea]"].chance == pytest.approx(2 / IMAGES)
    assert one.run.gallery == "slice"
    whole = wb.evaluate(scores=scores, data=split, by="place", rounds=0)
    assert {m.label: m.gallery for m in whole.measurements}["t2i/R@1[place=sea]"] == IMAGES
    for m in [*one.measurements, *whole.measurements]:  # queries outside a slice are left out
        sizes = {"i2t": IMAGES, "t2i": IMAGES * EACH, "": IMAGES * (1 + EACH)}
        assert "mean over" in m.key.subset or m.queries + m.left_out == sizes[m.key.direction]


def test_models_are_compared_slice_by_slice(case):
    split, scores = case
    worse = scores.copy()
    hurt = split.own % 2 == 1
    worse[:, hurt] = 0  # all scores of captions of towns are equal
    both = [wb.evaluate(scores=s, data=split, name=n, rounds=0) for n, s in (("a", scores), ("b", worse))]
    compared = wb.compare(*both, keys=["t2i/R@1"], by="place")
    differences = compared.differences.set_index("key")
    assert differences.loc["t2i/R@1[place=sea]", "value"] == 0
    town = both[0].values["t2i/R@1"][hurt].mean()
    assert differences.loc["t2i/R@1[place=town]", "value"] == pytest.approx(-town)
    assert differences["comparisons"].tolist() == [4, 4, 4, 4]
    mean = differences.loc["t2i/R@1[mean over place]"]
    assert mean["value"] == pytest.approx(-town / 2)
    assert mean["low"] < -town / 2 < mean["high"]
    assert "t2i/R@1[mean over place]" in compared.text_table().index
    json.dumps(json_value(compared.as_dict(), "results"), allow_nan=False)


@pytest.mark.parametrize(
    ("key", "by"),
    [
        *(("t2i/R@1", "words:>10"), ("i2t/recall@5", "words:>10"), ("rsum", "words:>10")),
        *(("t2i/R@1", "within language"), ("i2t/R@1", "within language"), ("rsum", "within language")),
    ],
)
def test_the_difference_of_two_macro_means_is_the_mean_of_the_differences(key, by, case):
    split, scores = case
    other = np.roll(scores, 1, axis=0) + scores
    both = [wb.evaluate(scores=s, data=split, name=n, rounds=0) for n, s in (("a", scores), ("b", other))]
    table = wb.compare(*both, keys=[key], by=by).differences.set_index("key")["value"]
    field, within = by.removeprefix("within "), "within " * by.startswith("within")
    labels = {
        "words:>10": ["words>10", "words<=10"],
        "language": [f"language={n}" for n in ("de", "en", "fr")],
    }
    slices = [table[f"{key}[{within}{label}]"] for label in labels[field]]
    assert table[f"{key}[{within}mean over {field}]"] == pytest.approx(np.mean(slices))


def test_lists_of_all_items_have_the_numbers_of_their_scores_within_a_slice(case):
    split, scores = case
    lists = {}
    for way, matrix in (("i2t", scores), ("t2i", scores.T)):
        queries, items = (split.image_ids, split.caption_ids)[:: 1 if way == "i2t" else -1]
        lists[way] = {}
        for query, row in zip(queries, matrix.tolist(), strict=True):
            lists[way][query] = dict(zip(items, row, strict=True))
    how = {"data": split, "by": "place", "gallery": "slice", "rounds": 0}
    expected, complete = wb.evaluate(scores=scores, **how), wb.evaluate(runs=list(lists.values()), **how)
    for label in ("t2i/R@1[within place=sea]", "i2t/R@5[within place=town]", "rsum[within mean over place]"):
        assert complete[label] == expected[label]
    # the six best of twelve may leave out what is relevant
    short = {}
    for query, row in lists["t2i"].items():
        short[query] = dict(sorted(row.items(), key=lambda item: -item[1])[:6])
    cut = wb.evaluate(runs=[short], **how)
    labels = {measured.label for measured in cut.measurements}
    assert "t2i/R@1[within place=sea]" in labels
    assert "t2i/meanr[within place=sea]" not in labels
    assert cut["t2i/R@1[within place=sea]"] == expected["t2i/R@1[within place=sea]"]


@pytest.mark.parametrize("gallery", ["whole", "slice"])
def test_a_slice_of_all_queries_is_the_whole(gallery, case):
    split, scores = case
    every = replace(split, fields={"all": Field.from_cells("all", ["x"] * IMAGES, owner="image")})
    result = wb.evaluate(scores=scores, data=every, by="all", gallery=gallery)
    measured = {m.label: m for m in result.measurements}
    for label in ("i2t/R@1", "t2i/recall@5", "rsum", "t2i/medr"):
        part = measured[f"{label}[{'within ' if gallery == 'slice' else ''}all=x]"]
        whole = measured[label]
        assert part.value == pytest.approx(whole.value)
        if label == "t2i/medr":  # what is no mean of shares has the resamples of the whole
            assert (part.low, part.high) == (whole.low, whole.high)


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ({"by": "langage"}, KeyError, "did you mean language"),
        ({"by": "language", "gallery": "own"}, ValueError, "choose|known"),
        ({"gallery": "slice"}, ValueError, "say by which field"),
    ],
)
def test_what_cannot_be_cut_is_refused(how, kind, words, case):
    split, scores = case
    with pytest.raises(kind, match=words):
        wb.evaluate(scores=scores, data=split, rounds=0, **how)


def test_a_run_of_data_without_a_name_keeps_their_fields(case, tmp_path):
    split, scores = case
    wb.evaluate(scores=scores, data=split, rounds=0).save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    before = {name: (field.owner, field.kind, field.cells()) for name, field in split.fields.items()}
    assert {name: (f.owner, f.kind, f.cells()) for name, f in opened.split.fields.items()} == before
    again = wb.compare(opened, by="language", keys=["t2i/R@1"])
    assert "t2i/R@1[language=fr]" in again.text_table().index


def test_the_commands_measure_and_compare_slices(case, tmp_path, monkeypatch):
    split, scores = case
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", scores)
    (tmp_path / "mine").mkdir()
    caption_table(split).to_csv("mine/captions.csv", index=False)
    put(tmp_path / "mine", *range(IMAGES), name="{}")
    for name in ("a", "b"):
        command = ["evaluate", "--scores", "scores.npy", "--data", "mine", "--split", "all", "--name", name]
        done = CliRunner().invoke(
            app, [*command, "--by", "place", "--by", "within language", "--rounds", "9"]
        )
        assert done.exit_code == 0, done.output
        assert "t2i/R@1 by place" in done.output
        assert "within language=de" in done.output
    done = CliRunner().invoke(app, ["diff", "a", "b", "--by", "place"])
    assert "t2i/R@1[place=town]" in done.output
    done = CliRunner().invoke(app, ["diff", "a", "b", "--by", "place", "--gallery", "slice"])
    assert "t2i/R@1[within place=town]" in done.output
    done = CliRunner().invoke(app, ["diff", "a", "b", "--gallery", "slice"])
    assert done.exit_code == 2
    assert "--by" in done.output
    done = CliRunner().invoke(app, ["diff", "a", "b", "--by", "plac"])
    assert done.exit_code == 2
    assert "did you mean place" in done.output


def test_a_data_set_is_written_as_a_table_with_its_fields(case, tmp_path):
    split, _ = case
    put(tmp_path / "mine", *range(IMAGES), name="{}")
    caption_table(split).to_csv(tmp_path / "mine" / "captions.csv", index=False)
    out = tmp_path / "again.csv"
    assert CliRunner().invoke(app, ["data", str(tmp_path / "mine"), "--out", str(out)]).exit_code == 0
    assert out.read_text() == (tmp_path / "mine" / "captions.csv").read_text()
