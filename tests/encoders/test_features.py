from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from tests.damage import KINDS, damage
from workbench import data
from workbench.encoders import backbones
from workbench.encoders._open_clip import build, find_description
from workbench.encoders._open_clip_towers import image_width
from workbench.encoders.backbones import extract
from workbench.encoders.regions import Regions
from workbench.records import Split
from workbench.runs.encoder_model import EncoderModel

TINY = "timm:test_resnet/random"
UNPROBED = 21  # of 40 images; a row that the key does not look at


def photographs(count=5, seed=0, name="toy/train", ids=None):
    pixels = np.random.default_rng(seed).integers(0, 256, (count, 40, 60, 3), dtype=np.uint8)
    ids = ids or tuple(f"image {i}" for i in range(count))
    texts = tuple(f"caption {i}" for i in range(count))
    own = np.arange(count, dtype=np.int64)
    return Split(name, ids, texts, texts, own, lambda row: Image.fromarray(pixels[row]))


@pytest.fixture
def tiny(tmp_path):
    """A tiny timm network from a local checkpoint."""
    network = seeded(0)
    torch.save(network.state_dict(), tmp_path / "tiny.pth")
    return f"timm:test_resnet/{tmp_path / 'tiny.pth'}"


def seeded(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return timm.create_model("test_resnet", pretrained=False).eval()


def test_features_are_what_the_network_says_of_each_image_alone(tiny, tmp_path):
    split, network = photographs(), seeded(0)
    found = extract(split, tiny, cache=tmp_path / "cache", batch_size=2)
    model = backbones.load(tiny)
    assert found.dtype == np.float16
    assert isinstance(found, np.memmap)
    for row in range(5):
        pixels = model.preparation(split.open_image(row)) / 255
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (model.mean, model.std))
        with torch.no_grad():
            grid = network.forward_features(((pixels - mean) / std)[None])[0]
        expected = grid.flatten(1).T
        torch.testing.assert_close(
            torch.from_numpy(np.array(found[row])).float(), expected, atol=2e-2, rtol=1e-2
        )


def test_features_are_read_from_the_cache_the_second_time(tiny, tmp_path, monkeypatch):
    first = np.array(extract(photographs(), tiny, cache=tmp_path / "cache"))
    monkeypatch.setattr(backbones, "_write_features", None)
    assert np.array_equal(extract(photographs(), tiny, cache=tmp_path / "cache"), first)


def test_other_images_ids_weights_or_preparation_make_another_file(tiny, tmp_path):
    cache = tmp_path / "cache"
    torch.save(seeded(1).state_dict(), tmp_path / "other.pth")
    extract(photographs(), tiny, cache=cache)
    extract(photographs(seed=1), tiny, cache=cache)
    extract(photographs(ids=tuple("abcde")), tiny, cache=cache)
    extract(photographs(count=4), tiny, cache=cache)
    extract(photographs(), f"timm:test_resnet/{tmp_path / 'other.pth'}", cache=cache)
    assert len(list(cache.glob("*.npy"))) == 5
    backbone = backbones.load(tiny)
    turned = backbones.Backbone(**{**vars(backbone), "std": (0.25, 0.25, 0.25)})
    assert backbone.identity() == backbones.load(tiny).identity() != turned.identity()


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_features_are_made_again_and_said_to_be(tiny, tmp_path, kind):
    first = np.array(extract(photographs(), tiny, cache=tmp_path / "cache"))
    (file,) = (tmp_path / "cache").glob("*.npy")
    damage(file, kind)
    with pytest.warns(UserWarning, match=f"{file.name} .*it is made again"):
        again = extract(photographs(), tiny, cache=tmp_path / "cache")
    assert np.array_equal(again, first)
    assert np.array_equal(extract(photographs(), tiny, cache=tmp_path / "cache"), first)


def test_images_exchanged_under_one_id_make_another_file(tiny, tmp_path):
    sizes = list(range(40))
    split = replace(photographs(count=40), stamp=lambda row: sizes[row])
    before, known = backbones.cache_key(split, backbones.load(tiny)), split.identity()
    sizes[UNPROBED], sizes[UNPROBED + 1] = sizes[UNPROBED + 1], sizes[UNPROBED]
    assert backbones.cache_key(split, backbones.load(tiny)) != before
    assert split.identity() != known


def test_the_name_of_a_split_makes_no_other_file(tiny, tmp_path):
    extract(photographs(), tiny, cache=tmp_path / "cache")
    extract(photographs(name="toy/all"), tiny, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("*.npy"))) == 1


def test_an_image_that_cannot_be_read_leaves_no_file(tiny, tmp_path):
    split = photographs(count=40)
    good = split.open_image

    def broken(row):
        if row == UNPROBED:
            raise ValueError("captions.csv row 22: broken.jpg is not a readable image")
        return good(row)

    object.__setattr__(split, "open_image", broken)
    with pytest.raises(ValueError, match=r"row 22: broken.jpg"):
        extract(split, tiny, cache=tmp_path / "cache", batch_size=2)
    assert [file for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock"] == []


KILLED = """
import os, signal, sys
from tests.encoders.test_features import UNPROBED, photographs
from workbench.encoders.backbones import extract
split = photographs(count=40)
good = split.open_image
def kill(row):
    return os.kill(os.getpid(), signal.SIGKILL) if row == UNPROBED else good(row)
object.__setattr__(split, "open_image", kill)
extract(split, sys.argv[1], cache=sys.argv[2], batch_size=2)
"""


def test_an_extraction_that_was_killed_leaves_nothing_that_is_read_as_complete(tiny, tmp_path):
    cache = tmp_path / "cache"
    died = subprocess.run(
        [sys.executable, "-c", KILLED, tiny, str(cache)], check=False, capture_output=True, text=True
    )
    assert died.returncode == -9, died.stderr
    complete = [file for file in cache.iterdir() if not file.name.startswith(".")]
    assert complete == []
    assert extract(photographs(count=40), tiny, cache=cache).shape[0] == 40


def test_a_feature_beyond_half_precision_is_refused(tiny, tmp_path, monkeypatch):
    loud = backbones.load(tiny)
    loud = backbones.Backbone(**{**vars(loud), "tokens": lambda pixels: torch.full((len(pixels), 1, 2), 1e6)})
    monkeypatch.setattr(backbones, "load", lambda _: loud)
    with pytest.raises(ValueError, match=r"features of images 0\.\.4 overflow half precision"):
        extract(photographs(), tiny, cache=tmp_path)


def test_the_cache_lies_where_the_environment_says(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "named"))
    extract(photographs(), tiny)
    assert len(list((tmp_path / "named").glob("*.npy"))) == 1


def test_a_tower_of_open_clip_gives_its_tokens(tmp_path):
    with pytest.warns(UserWarning, match="random weights"):
        found = extract(photographs(), "open_clip:scenes/random", cache=tmp_path)
    visual = build(find_description("scenes"), "").visual
    assert found.shape[0] == 5
    assert found.shape[1] > 1
    assert found.shape[2] == image_width(visual)


def test_a_vision_transformer_of_timm_gives_its_tokens(tmp_path):
    with pytest.warns(UserWarning, match="random weights"):
        found = extract(photographs(), "timm:test_vit/random", cache=tmp_path)
    network = timm.create_model("test_vit", pretrained=False)
    assert found.shape == (
        5,
        network.patch_embed.num_patches + network.num_prefix_tokens,
        network.num_features,
    )


def test_random_weights_are_announced():
    for name in (TINY, "open_clip:scenes/random"):
        with pytest.warns(UserWarning, match="its features say little about an image"):
            backbones.load(name)


@pytest.fixture
def lite0():
    return backbones.load("efficientnet_lite0")


def test_efficientnet_lite0_gives_a_grid_of_49_cells_of_1280_channels(lite0, tmp_path):
    assert extract(photographs(count=2), "efficientnet_lite0", cache=tmp_path).shape == (2, 49, 1280)


@pytest.mark.real_data
def test_efficientnet_lite0_carries_imagenet_weights_and_its_own_constants(lite0, real_data):
    """A trained classifier is far surer of photographs than one of 1,000 classes by chance, and surest with
    its own constants."""
    split = data.load("flickr8k", split="val", root=str(real_data / "flickr8k"))
    pixels = torch.stack([lite0.preparation(split.open_image(row)) for row in range(40)])

    def sureness(mean, std):
        with torch.no_grad():
            ready = (pixels / 255 - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
            return float(lite0.network(ready).softmax(1).amax(1).mean())

    own = sureness(lite0.mean, lite0.std)
    assert own > 0.25
    assert own > sureness((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "efficientnet_lite9",
            "no backbone 'efficientnet_lite9'; did you mean efficientnet_lite0",
        ),
        ("timm:", "no backbone 'timm:'"),
        ("resnet18", "known: efficientnet_lite0, scenes_backbone, open_clip:MODEL/WEIGHTS, timm:MODEL/WE"),
        ("scene_backbone", "did you mean scenes_backbone"),
        ("timm:test_resnett/random", "timm has no model 'test_resnett'; did you mean test_resnet"),
        ("open_clip:ViT-B-32", "names no weights; write open_clip:ViT-B-32/WEIGHTS"),
        ("open_clip:ViT-B-32/no-such-tag", "no pretrained tag 'no-such-tag'"),
    ],
)
def test_a_name_that_cannot_be_read_says_how_names_are_formed(name, message):
    with pytest.raises(ValueError, match=message):
        backbones.load(name)


def test_a_missing_checkpoint_names_the_ways_out(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"give a checkpoint as timm:test_resnet/PATH, or timm:test_resnet/random"
    ):
        backbones.load(f"timm:test_resnet/{tmp_path / 'none.pth'}")
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        backbones.load(f"open_clip:scenes/{tmp_path / 'none.pth'}")


def test_loose_images_have_the_features_and_the_embedding_of_the_same_images_of_a_split(tiny, tmp_path):
    split = photographs()
    split = replace(split, regions=extract(split, tiny, cache=tmp_path / "cache"))
    loose = [split.open_image(row) for row in range(5)]
    stored = torch.from_numpy(np.asarray(split.regions, dtype=np.float32))
    torch.testing.assert_close(backbones.image_features(loose, tiny), stored, atol=2e-3, rtol=2e-3)
    pair = torch.nn.Module()
    pair.image = Regions(in_dim=stored.shape[2], embed_dim=8, hidden_dim=0).eval()
    model = EncoderModel(pair, {}, ())
    embedded = model.embed_images(loose, features=tiny).mean
    expected = model.embed_images_of(model.source(split)).mean
    torch.testing.assert_close(embedded, expected, atol=1e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="cannot encode a new image; train with features="):
        model.embed_images(loose)
