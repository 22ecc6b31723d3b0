from __future__ import annotations

import numpy as np
import pytest

from tests.data import fixtures
from workbench import data


def load(root, split="test", **options):
    return data.load("flickr30k", split=split, root=str(root), **{"complete": False, **options})


def test_images_lie_in_one_folder_and_captions_have_the_ids_of_the_file(tmp_path):
    fixtures.flickr30k(tmp_path)
    split = load(tmp_path)
    assert split.name == "flickr30k/test"
    assert split.image_ids == ("23.jpg",)
    assert split.caption_ids == ("10", "11", "12", "13", "14")
    assert split.open_image(0).size == (20, 10)
    assert load(tmp_path, "train").image_ids == ("21.jpg", "24.jpg")
    assert len(load(tmp_path, "train", share=0.5).image_ids) == 1


def test_the_features_of_val_are_those_called_dev(tmp_path):
    regions = fixtures.precomp(tmp_path, "dev", fixtures.FLICKR30K[1:2], regions_each=5)
    split = load(tmp_path, "val", source="precomp")
    assert split.image_ids == ("22",)
    np.testing.assert_array_equal(split.regions, regions)


def test_a_copy_with_other_counts_is_refused_with_both(tmp_path):
    fixtures.flickr30k(tmp_path)
    for split, counts in (
        ("train", "29,000 images and 145,000"),
        ("val", "1,014 images and 5,070"),
        ("test", "1,000 images and 5,000"),
    ):
        with pytest.raises(
            ValueError,
            match=rf"flickr30k/{split}, from dataset_flickr30k.json: expected {counts} captions, found",
        ):
            load(tmp_path, split, complete=True)


def test_missing_files_say_what_to_ask_for(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match=r"flickr30k: .* lacks dataset_flickr30k.json, images\. .*DenotationGraph.*karpathy",
    ):
        load(tmp_path)
