"""A model's numbers in parts: what counts as right, and what the table shows."""

from types import SimpleNamespace

import numpy as np
from paper_tables import parts_of_truth

from workbench import data
from workbench.records import Measurement, MetricKey


def test_data_that_know_more_than_annotated_pairs_keep_their_judgements():
    split = data.load("scenes", split="test", size=4)
    assert parts_of_truth.with_right_pairs(split, 0.5) is split


def test_elsewhere_the_judge_adds_right_pairs_from_a_grade_on(monkeypatch):
    split = data.load("scenes", split="test", size=2)
    alone = SimpleNamespace(
        judgements={"own": split.judgements["own"]},
        captions=split.captions,
        own=split.own,
        image_ids=split.image_ids,
    )
    grades = np.zeros((2, 10))
    grades[0, 7], grades[1, 2] = 0.7, 0.6
    judge = SimpleNamespace(fit=lambda *_: judge, transform=lambda *_: grades)
    monkeypatch.setattr(parts_of_truth.text, "load", lambda name: judge)
    monkeypatch.setattr(parts_of_truth, "replace", lambda split, judgements: judgements)
    judged = parts_of_truth.with_right_pairs(alone, 0.65)["judged"].dense()
    annotated = split.own == np.arange(2)[:, None]
    assert (judged > 0).sum() == annotated.sum() + 1
    assert judged[0, 7] == 1
    assert (judged[annotated] == 1).all()


def test_the_table_has_the_parts_and_rsum_by_annotated_pairs_alone():
    labels = ("rsum", "exact:i2t/map_at_r", "i2t/map_at_r", "exact:i2t/within_map_at_r[level 1]", "i2t/R@1")
    measurements = [Measurement(MetricKey.parse(label), 0.5) for label in labels]
    page = parts_of_truth.table_of_parts(SimpleNamespace(name="mine", measurements=measurements), title="t")
    shown = [label for label in labels if f">{label}<" in page]
    assert shown == [labels[0], labels[1], labels[3]]
    assert page.index(labels[3]) < page.index(">rsum<")


def test_the_sentence_says_what_map_at_r_is_made_of():
    values = {
        "rsum": 4.0,
        "judged:i2t/map_at_r": 0.3,
        "judged:t2i/map_at_r": 0.9,
        "judged:i2t/same_list": 0.35,
        "judged:i2t/within_map_at_r[fifth 1]": 0.5,
        "judged:i2t/within_map_at_r[fifth 5]": 0.8,
        "judged:i2t/offset_map_at_r[by words]": 0.4,
        "judged:i2t/offset_map_at_r[by descriptiveness]": 0.45,
    }
    said = parts_of_truth.describe_parts(measured(values))
    assert said.startswith("scenes/test: 2 images and 10 captions. A pair is right by this rule: exact truth")
    assert said.endswith(
        "mAP@R from image to text is 30.0 percent. One list for all images, which looks at none, has 35.0 "
        "percent. Among equally specific captions it is 50.0 percent in fifth 1 and 80.0 percent in fifth 5, "
        "the most specific. With the best offset, by descriptiveness, it is 45.0 percent."
    )
    assert parts_of_truth.describe_parts(measured({"rsum": 4.0})) == ""


def test_an_offset_that_does_not_help_is_said_to_raise_nothing():
    values = {"judged:i2t/map_at_r": 0.3, "judged:i2t/offset_map_at_r[by words]": 0.2}
    said = parts_of_truth.describe_parts(measured(values))
    assert said.endswith("No offset raises it: with the best, by words, it is 20.0 percent.")


def measured(values):
    """What a result has of these numbers, on two scenes."""
    measurements = [Measurement(MetricKey.parse(label), value) for label, value in values.items()]
    return SimpleNamespace(measurements=measurements, split=data.load("scenes", split="test", size=2))
