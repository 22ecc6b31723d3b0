"""Several open runs on the same queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from PIL import Image

from tests.metrics.families import ranking, recall
from workbench.io import write_text
from workbench.metrics.intervals import Draws
from workbench.metrics.ranks import ranks_of
from workbench.records import Embedding, Judgements, LazyJudgements, MetricKey, Split
from workbench.runs import compare, store
from workbench.runs.kinds import Evaluation, Training
from workbench.runs.model import Model
from workbench.runs.result import Result

IMAGES, CAPTIONS = 30, 5
OWN = np.repeat(np.arange(IMAGES), CAPTIONS)


class Cosine(Model):
    """Scores as most objectives do."""


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    true = (np.arange(IMAGES)[:, None] == OWN) | (rng.random((IMAGES, len(OWN))) < 0.1)
    at = np.nonzero(true)
    exact = Judgements("exact", "truth", true.shape, *at, np.ones(len(at[0]), np.float32))
    ids = tuple(f"{row}.jpg" for row in range(IMAGES))
    caption_ids = tuple(f"{row}.jpg#{n}" for row in range(IMAGES) for n in range(CAPTIONS))
    judged = {"own": Judgements.from_own(OWN, IMAGES), "exact": exact}
    return Split(
        "toy/test",
        ids,
        caption_ids,
        caption_ids,
        OWN,
        lambda row: Image.new("RGB", (8, 8)),
        judgements=judged,
    )


def space(name, split, noise, seed=0):
    generator = torch.Generator().manual_seed(seed)
    image = torch.nn.functional.normalize(torch.randn(IMAGES, 8, generator=generator), dim=1)
    text = image[OWN] + noise * torch.randn(len(OWN), 8, generator=generator)
    sides = Embedding(image), Embedding(torch.nn.functional.normalize(text, dim=1))
    return Result(name, split, lambda: (Cosine(), *sides), run=Training({"data": "toy"}))


def mean(run, key):
    """The number of a run by its values by query."""
    measurement, values = compare.numbers(run, [key])[key]
    value = Draws(OWN, IMAGES).value(values, MetricKey.parse(key).direction)
    assert measurement.value == pytest.approx(value)
    return value


@pytest.fixture(scope="module")
def spaces(split):
    return [space("good", split, 0.2), space("bad", split, 0.6)]


def test_the_means_of_the_values_a_query_are_the_metrics_of_the_registry(spaces, split):
    found = compare.numbers(
        spaces[1], ["rsum", "i2t/R@5", "t2i/recall@10", "exact:t2i/map_at_r", "exact:i2t/r_precision"]
    )
    own, exact = split.judgements["own"], split.judgements["exact"]
    expected = {m.label: m.value for m in recall(spaces[1].scores, own, rounds=0)}
    expected |= {m.label: m.value for m in ranking(spaces[1].scores, exact, graded=False, rounds=0)}
    for key in found:
        assert mean(spaces[1], key) == pytest.approx(expected[key]), key
    assert len(found["t2i/recall@10"][1]) == len(OWN)


def test_what_rsum_would_have_kept_stands_beside_what_is_kept(spaces):
    facts = ("objective", "data", "image_encoder", "train_images", "epochs", "seed")
    config = {**dict.fromkeys(facts, ""), "select": "exact:t2i/map_at_r"}
    rows = [(0, 1.0, 0.2), (1, 3.0, 0.5), (2, 2.0, 0.6)]
    history = [{"epoch": e, "val/rsum": rsum, "val/exact:t2i/map_at_r": exact} for e, rsum, exact in rows]
    run = replace(spaces[0], name="a", run=Training(config), history=history)
    table = compare.training_table([run, replace(run, name="b", history=[])])
    assert table["kept"].to_dict() == {"a": "2", "b": ""}
    assert table["RSUM would keep"].to_dict() == {"a": "1", "b": ""}
    both = compare.training_table([run, replace(run, name="c", run=Evaluation())])
    assert both["epochs"].to_dict() == {"a": "", "c": ""}
    assert both.loc["c", "objective"] == "not trained here"
    counted = replace(run, run=Training({**config, "epochs": 3}))
    both = compare.training_table([counted, replace(run, name="c", run=Evaluation())])
    assert both["epochs"].map(str).to_dict() == {"a": "3", "c": ""}, "a whole number"


def test_an_unknown_number_or_judgement_is_refused_by_name(spaces):
    with pytest.raises(KeyError, match=r"no 'zzz'; known: .*map_at_r.*rsum"):
        compare.numbers(spaces[0], ["t2i/zzz"])
    with pytest.raises(KeyError, match="the split has no judgements 'cxc'; known: own, exact"):
        compare.numbers(spaces[0], ["cxc:t2i/R@1"])


def test_the_table_has_every_number_with_its_contract_and_every_difference_from_the_first_run(spaces, split):
    numbers, differences = compare.table(spaces)
    assert list(numbers.index.get_level_values("run").unique()) == ["good", "bad"]
    row = numbers.loc[("good", "exact:t2i/map_at_r")]
    assert (row["judgements"], row["queries"], row["gallery"]) == ("exact", len(OWN), IMAGES)
    assert row["low"] <= row["value"] <= row["high"]
    assert set(differences["run"]) == {"bad"}
    assert set(differences["comparisons"]) == {len(compare.first_keys(split.judgements))}
    rsum = differences.set_index("key").loc["rsum"]
    assert rsum["value"] == pytest.approx(
        numbers.loc[("bad", "rsum"), "value"] - numbers.loc[("good", "rsum"), "value"]
    )
    assert rsum["high"] < 0
    assert (rsum["is_significant"], rsum["verdict"], rsum["mark"], rsum["face"]) == (
        True,
        "worse",
        "▼",
        "sum",
    )


def test_a_comparison_is_kept_with_every_number_difference_and_baseline(spaces, split):
    compared = compare.compare(*spaces, keys=["rsum", "exact:t2i/map_at_r"])
    kept = compared.as_dict()
    assert kept["models"] == ["good", "bad"]
    assert list(kept["metrics"]) == [
        f"{run}: {key}" for run in ("good", "bad") for key in ("rsum", "exact:t2i/map_at_r")
    ]
    assert kept["metrics"]["good: rsum"] == compared.numbers.loc[("good", "rsum"), "value"]
    assert "value" not in kept["contracts"]["good: rsum"]
    assert kept["differences"]["bad - good: rsum"]["verdict"] == "worse"
    assert kept["same_list"] == compare.same_list(split) == compared.same_list()
    assert kept["split"]["images"] == IMAGES
    assert compared.against_same_list().startswith("One fixed list for every caption, ")
    assert list(compared.training().index) == ["good", "bad"]


def test_captions_are_drawn_by_image(spaces):
    _, differences = compare.table(spaces, ["t2i/R@1", "i2t/R@1"])
    assert (differences["wins"] + differences["losses"] + differences["ties"]).tolist() == [IMAGES, IMAGES]
    assert differences["queries"].tolist() == [len(OWN), IMAGES]


def test_the_same_seed_gives_the_same_table(spaces):
    one, two = (compare.table(spaces, ["rsum"]) for _ in range(2))
    assert one[0].equals(two[0])
    assert one[1].equals(two[1])


def test_queries_asked_for_come_before_those_on_which_the_runs_differ(spaces, split):
    ranked = compare.ranks(spaces, "t2i")
    assert_allclose(ranked[0], ranks_of(spaces[0].scores, split.judgements["own"], "t2i").first)
    found = compare.choose_queries(ranked, split, "t2i", ["3.jpg#1", "2.jpg"], 2)
    assert found[0] == ("asked for", 16)
    assert [why.startswith("the runs differ: ranks ") for why, _ in found[1:]] == [True, True]
    ratio = ranked.max(axis=0) / ranked.min(axis=0)
    assert ratio[found[1][1]] == ratio.max()
    assert split.own[found[1][1]] != split.own[found[2][1]]
    assert compare.choose_queries(compare.ranks(spaces, "i2t"), split, "i2t", ["3.jpg#1", "2.jpg"], 0) == [
        ("asked for", 2)
    ]


def test_an_id_that_is_nobodys_is_refused(spaces, split):
    with pytest.raises(KeyError, match=r"no image or caption '3.jpg#9' in toy/test; did you mean 3.jpg#"):
        compare.choose_queries(compare.ranks(spaces, "t2i"), split, "t2i", ["3.jpg#9"], 1)


def test_noise_makes_a_run_worse_and_none_leaves_it_as_it_is(spaces):
    same, worse = (spaces[0].with_noise(amount, name="noise") for amount in (0.0, 2.0))
    assert_allclose(same.scores, spaces[0].scores, atol=1e-6)
    assert_allclose(worse.image.mean.norm(dim=1).numpy(), 1.0, atol=1e-6)
    rsum = [mean(one, "rsum") for one in (spaces[0], worse)]
    assert rsum[1] < rsum[0] - 1
    assert (worse.name, worse.folder) == ("noise", None)


def test_grades_come_from_the_densest_judgements(split):
    grade = compare.make_grader(split)
    assert grade(np.array([0]), np.array([0]))[0, 0] == 1.0
    zero = np.zeros(1, np.int64)
    half = Judgements("graded", "", (1, 1), zero, zero, np.array([0.5], np.float32))
    graded = LazyJudgements(
        (2, 2),
        dict.fromkeys(("own", "graded"), lambda: None),
        lambda images, captions: {"graded": lambda: half},
    )
    lazy = Split(
        "x", ("a", "b"), ("c", "d"), ("0", "1"), np.array([0, 1]), split.open_image, judgements=graded
    )
    assert compare.make_grader(lazy)(np.array([0]), np.array([1])).tolist() == [[0.5]]
    plain = Split("x", ("a", "b"), ("c", "d"), ("0", "1"), np.array([0, 1]), split.open_image)
    assert compare.make_grader(plain) is None
    assert compare.first_keys(plain.judgements) == ["rsum", "i2t/R@1", "t2i/R@1"]


def test_without_names_the_models_of_the_tour_are_opened_or_the_encoder_beside_noise(
    tmp_path, monkeypatch, spaces
):
    monkeypatch.chdir(tmp_path)
    asked = []

    def opened(names, images):
        asked.append(list(names))
        return spaces[: len(names) or 1]

    monkeypatch.setattr(compare, "open_runs", opened)
    assert [run.name for run in compare.open_available()] == ["good", "good + noise"]
    for number in (1, 2):
        folder = tmp_path / "runs" / "tour" / f"03_train-{number}"
        write_text(folder / store.MODEL, "")
        store.write_status(folder, "ok")
    failed = tmp_path / "runs" / "tour" / "03_train-3"
    write_text(failed / store.MODEL, "")
    store.write_status(failed, "killed")
    assert [run.name for run in compare.open_available()] == ["good", "bad"]
    assert [run.name for run in compare.open_available(["mine"])] == ["good"]
    assert [[name[-1:] for name in names] for names in asked] == [[], ["1", "2"], ["e"]]
