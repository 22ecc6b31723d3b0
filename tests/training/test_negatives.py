"""Further texts of a batch that are false of its images: which are drawn, and what a loss makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize

from workbench import data, objectives
from workbench.runs import Config, prepare
from workbench.runs.train import train
from workbench.training.batches import Shards
from workbench.training.negatives import Negatives

SWAPS = "caption_graphs.swaps:Counterfactuals"
SMALL = {"train_images": 12, "val_images": 6, "test_images": 8, "epochs": 1, "batch_size": 4, "device": "cpu"}


def vectors(*shape, seed=0):
    draws = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(*shape, generator=draws), dim=-1)


def test_infonce_with_negatives_is_the_matrix_of_negclip():
    images, texts, further = vectors(4, 8), vectors(4, 8, seed=1), vectors(3, 8, seed=2)
    terms = objectives.load("infonce", scale="fixed", initial=20.0)(
        images, texts, torch.eye(4, dtype=torch.bool), negatives=further
    )
    # the released code: all texts, hard ones last, are columns of an image; only the captions are rows of the
    # other direction; the loss is the mean of both
    all_texts = torch.cat([texts, further])
    logits_per_image = 20 * images @ all_texts.T
    logits_per_text = (20 * all_texts @ images.T)[: len(images)]
    labels = torch.arange(len(images))
    torch.testing.assert_close(terms["i2t"], cross_entropy(logits_per_image, labels) / 2)
    torch.testing.assert_close(terms["t2i"], cross_entropy(logits_per_text, labels) / 2)


def test_siglip_asks_every_image_about_every_further_text():
    images, texts, further = vectors(4, 8), vectors(4, 8, seed=1), vectors(3, 8, seed=2)
    loss = objectives.load("siglip")(images, texts, torch.eye(4, dtype=torch.bool), negatives=further)
    logits = 10 * images @ torch.cat([texts, further]).T - 10
    labels = torch.cat([torch.eye(4), torch.zeros(4, 3)], dim=1)
    expected = binary_cross_entropy_with_logits(logits, labels, reduction="sum") / 4
    torch.testing.assert_close(loss["sigmoid"], expected)


def test_vsepp_takes_the_hardest_text_among_captions_and_further_ones():
    images, texts = torch.eye(2), torch.eye(2)
    further = torch.tensor([[0.6, 0.8]])
    terms = objectives.load("vsepp", margin=0.5)(
        images, texts, torch.eye(2, dtype=torch.bool), negatives=further
    )
    # image 0: .5 - 1 + .6 = .1, image 1: .5 - 1 + .8 = .3; captions have images alone: 0
    torch.testing.assert_close(terms["i2t"], torch.tensor(0.4))
    assert terms["t2i"] == 0


def test_one_text_is_drawn_for_each_caption_that_has_any_and_the_same_again():
    further = Negatives.from_texts([("a", "b"), (), ("c",), ("d", "e", "f")])
    assert further.texts == ("a", "b", "c", "d", "e", "f")
    rows = np.array([3, 1, 0, 2])
    drawn = [further.draw(rows, seed=seed) for seed in range(40)]
    for row in drawn:
        owners = further.caption[row - further.captions]
        assert owners.tolist() == [3, 0, 2]
    assert {int(row[0]) for row in drawn} == {7, 8, 9}
    assert all(np.array_equal(further.draw(rows, seed=7), drawn[7]) for _ in range(2))


@pytest.fixture(scope="module")
def world():
    return data.load("scenes", split="train", size=12)


def test_counterfactuals_are_texts_false_of_their_images(world):
    from caption_graphs.swaps import Counterfactuals

    texts = Counterfactuals().transform(world)
    only = Counterfactuals(kinds=("attributes",)).transform(world)
    assert len(texts) == len(world.captions)
    assert any(texts)
    for row, several in enumerate(texts):
        assert set(only[row]) <= set(several)
        mine = {
            caption for caption, own in zip(world.captions, world.own, strict=True) if own == world.own[row]
        }
        assert not mine & set(several)
        assert all(sorted(text.split()) for text in several)


def test_an_image_sees_its_captions_and_behind_them_texts_drawn_for_them():
    ready = prepare(Config(objective="infonce", negatives=SWAPS, **SMALL), progress=False)
    source = ready.train
    rows = np.arange(0, 20, 5)
    shard = Shards(source, seed=3)[rows]
    count = len(source.negatives.draw(rows, seed=3))
    assert count > 0
    assert len(shard.batch.caption_ids) == 4
    (texts,) = shard.captions
    assert len(texts.caption_ids) == 4 + count
    parts = Shards(source, seed=3, chunk=3)[rows].captions
    assert sum(len(part.caption_ids) for part in parts) == 4 + count


@pytest.mark.parametrize("objective", ["infonce", "vsepp", "siglip", "infonce+0.5*vsepp"])
def test_a_training_with_negatives_is_another_one_and_in_chunks_the_same(objective):
    text = {"name": "sequence", "word_dim": 16, "embed_dim": 32, "layer": "gru", "word_dropout": 0.0}
    image = {"name": "regions", "embed_dim": 32, "hidden_dim": 0, "region_dropout": 0.0}
    how = {
        "objective": objective,
        "features": "scenes_backbone",
        "image_encoder": image,
        "text_encoder": text,
    }
    how |= {**SMALL, "lr": 0.01, "captions_per_image": 2}
    without, negatives, chunks = (
        train(Config(**how, **more), progress=False).history[-1]["loss"]
        for more in ({}, {"negatives": SWAPS}, {"negatives": SWAPS, "chunk_size": 3})
    )
    assert negatives != without
    assert chunks == pytest.approx(negatives, rel=1e-3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"objective": "pcme", "negatives": SWAPS}, "reads no negatives"),
        ({"negatives": "swap"}, "counterfactuals|data"),
        ({"negatives": "cider"}, "makes no texts"),
        ({"negatives": "data"}, "column negatives"),
    ],
)
def test_negatives_that_nobody_makes_or_reads_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        prepare(Config(**{"objective": "infonce", **SMALL, **values}), progress=False)


def test_a_table_has_a_column_of_them(tmp_path):
    from tests.runs.test_adapters import noise

    for number in range(3):
        noise(20 + number, 20).save(tmp_path / f"{number}.png")
    (tmp_path / "captions.jsonl").write_text(
        '{"image": "0.png", "caption": "a red dog", "negatives": ["a blue dog", " "]}\n'
        '{"image": "1.png", "caption": ["a cat", "an old cat"], "negatives": [["a cow"], ["a hat", "no"]]}\n'
        '{"image": "2.png", "caption": ["two cars", "cars"], "negatives": "three cars"}\n'
    )
    split = data.load(str(tmp_path), split="all")
    assert split.negatives == (
        ("a blue dog",), ("a cow",), ("a hat", "no"), ("three cars",), ("three cars",)
    )  # fmt: skip
    assert split.first(1).negatives == (("a blue dog",),)
