"""The truth in its parts stands in every result whose data have more than annotated pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from workbench import data, metrics
from workbench.cli import output
from workbench.metrics import usual_names
from workbench.metrics.map_at_r import same_list
from workbench.records import Split
from workbench.records.measurement import baseline_remarks, headline
from workbench.runs.measure import evaluate_split
from workbench.text import load

ALWAYS = {
    "within_map_at_r", "within_r_precision", "R_top", "rsum_top", "same_list",
    "skew", "modality_gap", "alignment", "uniformity",
}  # fmt: skip


@pytest.fixture(scope="module")
def scenes():
    return data.load("scenes", split="test", size=30)


@pytest.fixture(scope="module")
def vectors(scenes):
    rng = np.random.default_rng(1)
    image, text = rng.standard_normal((30, 8)), rng.standard_normal((150, 8))
    text += image[scenes.own]
    return image, text


def numbers(split, vectors, **how):
    found, _ = evaluate_split(vectors[0] @ vectors[1].T, split, vectors=vectors, rounds=0, **how)
    return {m.label: m for m in found}


def plain(split: Split) -> Split:
    """The same images and captions with annotated pairs alone."""
    parts = split.name, split.image_ids, split.captions, split.caption_ids, split.own
    return Split(*parts, lambda row: None)


def test_data_that_know_the_truth_have_its_parts_by_default(scenes, vectors):
    found = numbers(scenes, vectors)
    new = {label for label, m in found.items() if m.key.metric in ALWAYS}
    assert {found[label].key.metric for label in new} == ALWAYS
    levels = {f"exact:i2t/within_map_at_r[level {number}]" for number in range(1, 6)}
    assert levels <= new
    assert found["exact:i2t/same_list"].value == pytest.approx(same_list(scenes.judgements["exact"], "i2t"))
    assert all(found[label].hit for label in new)
    # one judgement alone, and none for the space
    assert {found[label].key.judgements for label in new} == {"exact", "own"}
    assert not new & set(headline(found))
    assert len(baseline_remarks(list(found.values()))) == 3


def test_data_with_annotated_pairs_alone_have_no_parts_unless_they_are_asked_for(scenes, vectors):
    alone = plain(scenes)
    found = numbers(alone, vectors)
    assert not {m.key.metric for m in found.values()} & ALWAYS
    assert baseline_remarks(list(found.values())) == []
    asked = ("within_map_at_r", "skew", "offset_map_at_r", "auroc")
    found = numbers(alone, vectors, metrics=asked)
    assert {"i2t/within_map_at_r[fifth 5]", "i2t/skew@10", "i2t/offset_map_at_r[by words]", "auroc"} <= set(
        found
    )


def test_what_is_asked_for_is_measured_by_the_truth(scenes, vectors):
    asked = ("offset_map_at_r", "auroc", "ece", "qb_norm_rsum", "dual_softmax_map_at_r")
    found = numbers(scenes, vectors, metrics=asked)
    offsets = [label for label, m in found.items() if m.key.metric == "offset_map_at_r"]
    assert offsets == [
        f"exact:i2t/offset_map_at_r[by {name}]" for name in ("level", "words", "descriptiveness")
    ]
    assert {"exact:auroc", "exact:ece", "qb_norm_rsum", "exact:i2t/dual_softmax_map_at_r"} <= set(found)


def test_fifths_are_those_of_the_default_descriptiveness(scenes, vectors):
    alone = plain(scenes)
    _, values = evaluate_split(
        vectors[0] @ vectors[1].T, alone, vectors=vectors, rounds=0, metrics=("within_map_at_r",)
    )
    counted = np.zeros(150)
    for number in range(1, 6):
        counted[~np.isnan(values[f"t2i/within_map_at_r[fifth {number}]"])] = number
    raw = load("descriptiveness").fit(alone.captions).raw_scores(alone.captions)
    order = np.argsort(raw, kind="stable")
    assert_allclose(np.bincount(counted.astype(int)), [0, 30, 30, 30, 30, 30], atol=3)
    assert (np.diff(counted[order]) >= 0).all()


def test_a_table_has_the_parts_where_they_are_asked_for(scenes, vectors):
    found = list(numbers(scenes, vectors).values())

    def table(asked=()):
        lines = output.number_lines(found, every=True, usual=usual_names(asked))
        return {line.split()[0] for line in lines}, lines[-1]

    shown, last = table()
    assert {"exact:i2t/within_map_at_r", "exact:rsum_top", "modality_gap"} <= shown
    assert not {"exact:t2i/R_top@1", "exact:i2t/within_r_precision"} & shown
    assert last.startswith("and 27 more")
    asked, _ = table(["R_top"])
    assert {"exact:t2i/R_top@1", "exact:i2t/R_top@10"} <= asked
    every = output.number_lines(found, every=True)
    assert len(every) > len(found)


def test_an_epoch_may_be_chosen_by_a_part(scenes, vectors):
    row = metrics.member("within_map_at_r")()
    found = numbers(scenes, vectors, table=[row])
    assert "exact:i2t/within_map_at_r" in found
    assert {m.key.metric for m in found.values()} == {"within_map_at_r"}
