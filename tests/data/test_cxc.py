from __future__ import annotations

import numpy as np
import pytest

from tests.data import fixtures
from workbench import data


@pytest.fixture
def options(tmp_path):
    return fixtures.cxc(tmp_path)


def test_ratings_of_images_and_captions_stand_at_their_rows(options):
    # test: image 0 = 16 with captions 151-155, image 1 = 15 with captions 141-145
    split = data.load("cxc", split="test", **options)
    sits = split.judgements["sits"]
    dense = sits.dense()
    assert dense[1, 5] == pytest.approx(4.8)
    assert dense[0, 0] == pytest.approx(2.9)
    assert dense[0, 5] == 3.0
    assert np.isnan(dense).sum() == 20 - 3
    # relevant from 3 on: not the image's own caption 151, but another image's 141
    assert np.argwhere(sits.relevant()).tolist() == [[0, 5], [1, 5]]
    assert split.name == "cxc/test"
    assert set(split.judgements) == {"own", "sits"}
    assert split.notes == (
        "sits: 3 ratings of 3 pairs",
        "sis: 2 ratings of 2 pairs",
        "sts: 2 ratings of 2 pairs",
    )


def test_ratings_of_image_pairs_keep_their_order_until_they_are_made_symmetric(options):
    sis = data.load("cxc", split="test", **options).image_judgements["sis"]
    assert sis.shape == (2, 2)
    assert sis.take(np.array([0, 1]), np.array([0, 1])).tolist()[0][1] == pytest.approx(2.6)
    assert sis.relevant().tolist() == [[False, True], [False, False]]
    # one of the two ratings reaches 2.5, so both directions are relevant
    assert sis.symmetrise().relevant().tolist() == [[False, True], [True, False]]


def test_ratings_of_caption_pairs_stand_at_their_rows(options):
    sts = data.load("cxc", split="test", **options).caption_judgements["sts"]
    assert sts.shape == (10, 10)
    assert list(zip(sts.images.tolist(), sts.captions.tolist(), sts.grades.tolist(), strict=True)) == [
        (5, 6, 3.5),
        (5, 4, 0.5),
    ]
    val = data.load("cxc", split="val", **options)
    assert val.caption_judgements["sts"].grades.tolist() == [1.0]
    assert len(val.image_judgements["sis"].grades) == 0


def test_the_larger_of_two_ratings_of_a_pair_in_one_order_counts(options, tmp_path):
    with (tmp_path / "cxc" / "sts_val.csv").open("a") as file:
        file.write("COCO_val2014:sentid:131,COCO_val2014:sentid:135,4.0,c2c_isim\n")
    val = data.load("cxc", split="val", **options)
    assert val.caption_judgements["sts"].grades.tolist() == [4.0]
    assert val.notes[-1] == "sts: 2 ratings of 1 pair"


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        (
            "sits",
            "COCO_val2014:sentid:999,COCO_val2014_000000000015.jpg,3,x",
            "expected caption .* found the unknown .*:999",
        ),
        (
            "sits",
            "COCO_val2014:sentid:141,COCO_val2014_000000000014.jpg,3,x",
            "expected image .* found the unknown .*14.jpg",
        ),
        (
            "sts",
            "COCO_val2014:sentid:141,COCO_val2014:sentid:131,3,x",
            "expected caption .* found the unknown .*:131",
        ),
        (
            "sis",
            "COCO_val2014_000000000015.jpg,nowhere.jpg,3,x",
            "expected image of the split, which has 2, .*nowhere",
        ),
        (
            "sts",
            "COCO_val2014:sentid:141,COCO_val2014:sentid:142,much,x",
            "expected a rating from 0 to 5, found much",
        ),
        (
            "sts",
            "COCO_val2014:sentid:141,COCO_val2014:sentid:142,5.5,x",
            "expected a rating from 0 to 5, found 5.5",
        ),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_table_and_number(options, tmp_path, name, row, message):
    with (tmp_path / "cxc" / f"{name}_test.csv").open("a") as file:
        file.write(row + "\n")
    number = 4 if name == "sits" else 3
    with pytest.raises(ValueError, match=rf"{name}_test.csv row {number}: {message}"):
        data.load("cxc", split="test", **options)


def test_a_table_without_scores_is_refused(options, tmp_path):
    (tmp_path / "cxc" / "sis_test.csv").write_text("image1,image2\n")
    with pytest.raises(
        ValueError, match=r"sis_test.csv: expected the columns of sis, .* found \['image1', 'image2'\]"
    ):
        data.load("cxc", split="test", **options)


def test_tables_with_other_counts_than_the_published_ones_are_refused(options, monkeypatch):
    from workbench.data import cxc

    whole = cxc.load_coco
    monkeypatch.setattr(cxc, "load_coco", lambda **given: whole(**{**given, "complete": False}))
    with pytest.raises(ValueError, match=r"sits_test.csv, .*: expected \{'sits': 44833, .*found \{'sits': 3"):
        data.load("cxc", split="test", **{**options, "complete": True})


def test_missing_tables_say_what_to_get_and_unknown_splits_list_the_known(options, tmp_path):
    (tmp_path / "cxc" / "sis_val.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks sis_val.csv. .*Crisscrossed-Captions"):
        data.load("cxc", split="val", **options)
    with pytest.raises(ValueError, match="split is 'train'; choose one of val, test"):
        data.load("cxc", split="train", **options)
