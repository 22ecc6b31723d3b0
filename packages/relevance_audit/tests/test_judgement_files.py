from dataclasses import replace

import numpy as np
import pytest
from relevance_audit import (
    corrected_judgements,
    judgements_named,
    read_parquet,
    read_qrels,
    write_parquet,
    write_qrels,
)

from workbench.records import Judgements


@pytest.fixture
def after(split) -> Judgements:
    return corrected_judgements(
        split.judgements["own"], {("a", "b0"): "valid", ("b", "c1"): "invalid"}, split
    )


def pairs(judgements):
    return set(
        zip(judgements.images.tolist(), judgements.captions.tolist(), judgements.grades.tolist(), strict=True)
    )


def test_judgements_that_are_not_there_are_named(split):
    assert judgements_named(split, "own") is split.judgements["own"]
    with pytest.raises(ValueError, match=r"has no judgements 'onw'; did you mean own.*see the data card"):
        judgements_named(split, "onw")


@pytest.mark.parametrize(("direction", "line"), [("t2i", "b0 0 a 1"), ("i2t", "a 0 b0 1")])
def test_qrels_come_back_as_they_were(split, after, tmp_path, direction, line):
    path = write_qrels(tmp_path / "corrected.qrels", after, split, direction=direction)
    assert line in path.read_text().splitlines()
    assert path.read_text().splitlines() == sorted(path.read_text().splitlines())
    again = read_qrels(path, split, direction=direction)
    assert pairs(again) == pairs(after)
    assert again.name == "corrected"
    np.testing.assert_array_equal(again.relevant(), after.relevant())


def test_parquet_brings_back_the_whole_record(split, after, tmp_path):
    rich = replace(
        after,
        unlisted=None,
        relevant_from=0.5,
        image_queries=np.array([2, 0]),
        missing_captions=np.array([1]),
    )
    again = read_parquet(write_parquet(tmp_path / "corrected.parquet", rich, split), split)
    assert pairs(again) == pairs(rich)
    for name in ("name", "rule", "shape", "relevant_from", "unlisted", "source", "caption_queries"):
        assert getattr(again, name) == getattr(rich, name)
    assert (again.image_queries.tolist(), again.missing_captions.tolist()) == ([2, 0], [1])


def test_rows_follow_the_ids_into_a_split_of_another_order(split, after, tmp_path):
    path = write_parquet(tmp_path / "corrected.parquet", after, split)
    turned = replace(split, image_ids=split.image_ids[::-1], own=2 - split.own, judgements={})
    np.testing.assert_array_equal(read_parquet(path, turned).relevant(), after.relevant()[::-1])


def test_what_qrels_cannot_say_is_refused(split, after, tmp_path):
    half = replace(after, grades=after.grades / 2)
    with pytest.raises(ValueError, match="whole grades"):
        write_qrels(tmp_path / "half", half, split)
    blank = replace(split, image_ids=("an image", "b", "c"), judgements={})
    with pytest.raises(ValueError, match="'an image' is empty or holds a blank"):
        write_qrels(tmp_path / "blank", after, blank)
    (tmp_path / "short").write_text("a0 0 a 1\n\nb0 a 1\n")
    with pytest.raises(ValueError, match="line 2 has 3 fields"):
        read_qrels(tmp_path / "short", split)
    (tmp_path / "other").write_text("a0 0 zebra 1\n")
    with pytest.raises(ValueError, match="'zebra'"):
        read_qrels(tmp_path / "other", split)


def test_a_parquet_file_of_something_else_is_refused(split, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"image": ["a"], "caption": ["a0"], "grade": [1.0]}).to_parquet(
        tmp_path / "plain.parquet"
    )
    with pytest.raises(ValueError, match="and their rule"):
        read_parquet(tmp_path / "plain.parquet", split)
