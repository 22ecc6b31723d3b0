"""The synthetic scenes as a data set: splits, determinism, images, refusals."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from scene_world.vocabulary import BACKDROPS, COLOURS, KINDS, NOUNS

from workbench import data
from workbench.records import Judgements, LazyJudgements, Split

# The world of seed 0. Weights are trained on it and results are compared across machines: a new checksum is a
# new data set.
TEST_SPLIT = "f8e72ad34d51cefd6ac90e3d528bf49c1e4abb57db151d95dccdfb5f4eb7961e"
DIGEST = "021e9c997112756f3cabe19beae3e45c0122f8b4d26a91dca8439a4efba4437f"


def checksum(split: Split) -> str:
    exact = split.judgements["exact"]
    images = [(g.objects, g.attributes, g.relations) for g in split.image_graphs]
    captions = [(g.objects, g.attributes, g.relations) for g in split.caption_graphs]
    ids = [split.image_ids, split.captions, split.own.tolist(), split.level.tolist()]
    text = json.dumps([*ids, [images, captions]])
    pairs = exact.images.tobytes() + exact.captions.tobytes()
    return hashlib.sha256(text.encode() + pairs).hexdigest()


@pytest.fixture(scope="module")
def whole_test_split() -> Split:
    return data.load("scenes", split="test")


def test_the_test_split_is_the_same_on_every_machine(whole_test_split):
    assert checksum(whole_test_split) == TEST_SPLIT


def test_the_images_are_the_same_on_every_machine():
    digest = hashlib.sha256()
    for split, side in (("test", 192), ("val", 224), ("train", 96)):
        loaded = data.load("scenes", split=split, size=12, image_size=side)
        for row in range(12):
            digest.update(loaded.open_image(row).tobytes())
    assert digest.hexdigest() == DIGEST


def test_a_split_has_five_captions_an_image_one_of_each_level_in_random_order():
    split = data.load("scenes", split="train", size=64)
    assert split.name == "scenes/train"
    assert len(split.image_ids) == 64
    levels = split.level.reshape(64, 5)
    assert (np.sort(levels, axis=1) == np.arange(1, 6)).all()
    assert len({tuple(row) for row in levels.tolist()}) > 10
    assert split.chain is None


def test_chains_have_four_texts_an_image_from_generic_to_specific():
    split = data.load("scenes", split="val", size=20, texts="chains")
    np.testing.assert_array_equal(split.level.reshape(20, 4), np.tile([1, 2, 3, 4], (20, 1)))
    np.testing.assert_array_equal(split.chain, split.own)
    words = np.array([len(c.split()) for c in split.captions]).reshape(20, 4).mean(axis=0)
    assert (np.diff(words) > 0).all()


def test_a_small_split_is_the_beginning_of_a_large_one():
    small, large = (data.load("scenes", split="val", size=n) for n in (10, 30))
    assert large.captions[:50] == small.captions
    assert large.image_graphs[:10] == small.image_graphs
    assert large.image_ids[:10] == small.image_ids


def test_a_share_is_drawn_by_its_seed_and_lies_inside_larger_shares():
    whole = data.load("scenes", size=40)
    small, large = (data.load("scenes", size=40, share=share, share_seed=2) for share in (0.1, 0.5))
    assert (len(small.image_ids), len(large.image_ids)) == (4, 20)
    assert set(small.image_ids) < set(large.image_ids) < set(whole.image_ids)
    assert small.image_ids != data.load("scenes", size=40, share=0.1, share_seed=3).image_ids
    assert set(zip(small.caption_ids, small.captions)) < set(zip(whole.caption_ids, whole.captions))
    assert len(data.load("scenes", size=3, share=0.01).image_ids) == 1
    with pytest.raises(ValueError, match=r"share is 0\.5 of 'test'; leave it to training"):
        data.load("scenes", split="test", share=0.5)


def test_splits_and_seeds_are_different_streams():
    loads = [("train", 0), ("val", 0), ("test", 0), ("train", 1)]
    graphs = [data.load("scenes", split=split, size=50, seed=seed).image_graphs for split, seed in loads]
    ids = [data.load("scenes", split=split, size=5, seed=seed).image_ids for split, seed in loads]
    assert len(set().union(*map(set, graphs))) >= 199
    assert len(set().union(*map(set, ids))) == 20


def test_captions_and_chains_tell_of_the_same_scenes():
    captions, chains = (
        data.load("scenes", split="val", size=20, texts=texts) for texts in ("captions", "chains")
    )
    assert captions.image_graphs == chains.image_graphs
    assert captions.open_image(3).tobytes() == chains.open_image(3).tobytes()


def test_default_sizes_are_those_of_the_card(whole_test_split):
    assert len(data.load("scenes", split="val").image_ids) == 500
    assert len(whole_test_split.image_ids) == 1000


@pytest.mark.parametrize("side", [32, 96, 192, 224])
def test_an_image_is_rgb_of_the_size_asked_for(side):
    image = data.load("scenes", split="test", size=4, image_size=side).open_image(2)
    assert (image.mode, image.size) == ("RGB", (side, side))
    assert np.asarray(image).std() > 20


def test_opening_an_image_twice_gives_two_independent_images():
    split = data.load("scenes", split="test", size=2)
    first = split.open_image(0)
    before = first.tobytes()
    first.paste((0, 0, 0), (0, 0, 192, 192))
    assert split.open_image(0).tobytes() == before


def test_the_vocabulary_has_the_breadth_that_the_card_promises(whole_test_split):
    assert len(NOUNS) >= 24
    assert len(KINDS) >= 6
    assert 6 <= len(COLOURS) <= 8
    graphs = whole_test_split.image_graphs
    assert set().union(*(graph.objects for graph in graphs)) == {*NOUNS, *BACKDROPS}
    assert {len(graph.objects) - 1 for graph in graphs} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"split": "dev"}, "split is 'dev'; choose one of train, val, test"),
        ({"size": 0}, "size is 0; it should be greater than or equal to 1"),
        ({"texts": "poems"}, "texts is 'poems'; choose one of captions, chains"),
        ({"seed": -1}, "seed is -1; it should be greater than or equal to 0"),
        ({"image_size": 8}, "image_size is 8; it should be greater than or equal to 32"),
    ],
)
def test_an_option_out_of_its_range_is_refused_with_the_remedy(options, remedy):
    with pytest.raises(ValueError, match=remedy):
        data.load("scenes", **options)


def test_the_truth_is_computed_only_when_asked_for_and_once():
    calls = []

    def maker() -> Judgements:
        calls.append(1)
        return Judgements.from_own(np.array([0, 0, 1]), 2)

    lazy = LazyJudgements((2, 3), {"own": maker})
    split = Split(
        "x",
        ("a", "b"),
        ("p", "q", "r"),
        ("1", "2", "3"),
        np.array([0, 0, 1]),
        lambda row: None,
        judgements=lazy,
    )
    first = split.first(1)
    assert (list(first.judgements), calls) == (["own"], [])
    assert first.judgements["own"].shape == (1, 2)
    assert split.judgements["own"] is split.judgements["own"]
    assert calls == [1]


def test_a_lazy_judgement_of_the_wrong_shape_is_refused_when_it_is_made():
    lazy = LazyJudgements((2, 4), {"own": lambda: Judgements.from_own(np.array([0, 1]), 2)})
    with pytest.raises(ValueError, match=r"'own' have shape \(2, 2\), expected \(2, 4\)"):
        lazy["own"]


def test_captions_of_chosen_levels_only():
    split = data.load("scenes", split="val", size=4, levels=[1, 2, 2])
    assert [sorted(split.level[3 * i : 3 * i + 3].tolist()) for i in range(4)] == [[1, 2, 2]] * 4
    assert split.judgements["exact"].relevant()[split.own, np.arange(12)].all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": []}, "levels is .*at least 1 item"),
        ({"levels": [6]}, "levels.0 is 6; .*less than or equal to 5"),
        ({"levels": [1], "texts": "chains"}, "leave them out"),
    ],
)
def test_levels_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data.load("scenes", split="val", size=2, **options)
