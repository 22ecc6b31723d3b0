"""A configuration with a file of weights gives open_clip's own vectors, as its folder does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from torch.nn.functional import normalize

from tests.tiny_tokenizers import bert, ending_as_padding
from workbench.encoders._open_clip import build, find_description, load_weights
from workbench.encoders.backbones import Preparation
from workbench.runs.models import open_model

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
OWN = {"vocab_size": 100, "hf_tokenizer_name": "own"}
CAPTIONS = ["a red dog runs", "", "Two Blue Cats, sleep!", "café — 日本語 🙂 some_text: here.", "a dog " * 20]


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


IMAGES = [noise(40, 31), noise(33, 77), noise(90, 7), noise(32, 32)]
# what a configuration says: of the text, of the whole model, of images; and the tokenizer that lies beside it
SAID = {
    "plain": ({}, {}, {}, None),
    "cleaning": ({"tokenizer_kwargs": {"clean": "canonicalize"}}, {}, {}, None),
    "more special tokens": (
        {"vocab_size": 49410, "tokenizer_kwargs": {"additional_special_tokens": ["<a>", "<b>"]}}, {}, {}, None
    ),
    "quick": ({}, {"quick_gelu": True}, {}, None),
    "custom text": ({"embed_cls": True}, {"custom_text": True, "init_logit_bias": -10}, {}, None),
    "a tokenizer of its own": (
        OWN | {"pool_type": "last", "no_causal_mask": True}, {"custom_text": True}, {}, bert
    ),
    "one that pads with its end": (
        OWN | {"pool_type": "last", "no_causal_mask": True, "tokenizer_kwargs": {"clean": "canonicalize"}},
        {"custom_text": True}, {}, ending_as_padding,
    ),
    "the same, read to its end": (OWN | {"pool_type": "eos", "eos_id": 1}, {}, {}, ending_as_padding),
    "squashed": ({}, {}, {"resize_mode": "squash", "interpolation": "bilinear", "std": 0.4}, None),
    "padded in grey": ({}, {}, {"resize_mode": "longest", "fill_color": 200, "mean": 0.5}, None),
    "at random": ({}, {}, {"interpolation": "random"}, None),
}  # fmt: skip


def saved(folder: Path, said: tuple) -> tuple[Path, Path]:
    """An open_clip folder, and in it the same configuration as a JSON file, and the weights."""
    text, top, images, tokenizer = said
    if tokenizer:
        tokenizer(folder)
    config = {**TINY, **top, "text_cfg": TINY["text_cfg"] | text}
    content = json.dumps({"model_cfg": config, "preprocess_cfg": images})
    for name in ("open_clip_config.json", "model.json"):
        (folder / name).write_text(content)
    torch.manual_seed(0)
    network = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    torch.save(network.state_dict(), folder / "open_clip_pytorch_model.bin")
    return folder / "model.json", folder / "open_clip_pytorch_model.bin"


@pytest.mark.parametrize("kind", SAID)
def test_a_folder_and_its_configuration_with_the_weights_give_open_clips_own_vectors(kind, tmp_path):
    model, weights = saved(tmp_path, SAID[kind])
    network = open_clip.create_model(f"local-dir:{tmp_path}").eval()
    tokenizer = open_clip.get_tokenizer(f"local-dir:{tmp_path}")
    prepare = image_transform_v2(PreprocessCfg(**network.visual.preprocess_cfg), is_train=False)
    with torch.no_grad():
        pixels = torch.stack([prepare(image) for image in IMAGES])
        image, text = network.encode_image(pixels), network.encode_text(tokenizer(CAPTIONS))
    for given in ((tmp_path, ""), (model, str(weights))):
        opened = open_model(*given, device="cpu")
        torch.testing.assert_close(
            opened.embed_images(IMAGES).mean, normalize(image, dim=1), atol=1e-5, rtol=0
        )
        torch.testing.assert_close(
            opened.embed_texts(CAPTIONS).mean, normalize(text, dim=1), atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("resize", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("size", [(32, 32), (33, 16)])
def test_images_of_any_size_are_prepared_to_the_pixel_as_open_clip_does(resize, size):
    recipe = PreprocessCfg(size=size, mean=(0.0,) * 3, std=(1.0,) * 3, resize_mode=resize, fill_color=9)
    prepare, ours = image_transform_v2(recipe, is_train=False), Preparation(size, resize, "bicubic", 9)
    for width, height in [(40, 31), (33, 77), (31, 33), (90, 17), (16, 33), (101, 64)]:
        expected = (prepare(noise(width, height)) * 255).round().to(torch.uint8)
        assert torch.equal(ours(noise(width, height)), expected)


def test_a_path_from_the_configuration_names_its_tokenizer(tmp_path):
    (tmp_path / "deep").mkdir()
    bert(tmp_path / "deep")
    config = {**TINY, "text_cfg": TINY["text_cfg"] | {"vocab_size": 100, "hf_tokenizer_name": "deep"}}
    (tmp_path / "model.json").write_text(json.dumps(config))
    spelt = open_model(tmp_path / "model.json", device="cpu", random_weights=True).token_texts(["a red dog"])
    assert spelt == [["[CLS]", "a", "red", "dog", "[SEP]"]]


def test_words_of_an_exported_model_are_read_from_its_folder(tmp_path):
    opened = open_model("scenes", "scenes", device="cpu")
    opened.pair.image.export(tmp_path / "out", torch.float32)
    texts = ["a red circle", "", "two blue squares"]
    again = open_model(tmp_path / "out", device="cpu").embed_texts(texts).mean
    torch.testing.assert_close(again, opened.embed_texts(texts).mean, atol=1e-5, rtol=0)


def test_text_positions_of_another_number_are_refused_with_the_right_one(tmp_path):
    model, weights = saved(tmp_path, SAID["plain"])
    longer = {**TINY, "text_cfg": TINY["text_cfg"] | {"context_length": 77}}
    for content in (longer, longer | {"custom_text": True}):
        model.write_text(json.dumps(content))
        with pytest.raises(
            ValueError, match=r"16 text positions, and the model has 77; .* context_length 16"
        ):
            open_model(model, str(weights))


def test_image_positions_of_another_number_are_noted(tmp_path):
    model, weights = saved(tmp_path, SAID["plain"])
    model.write_text(json.dumps({**TINY, "vision_cfg": TINY["vision_cfg"] | {"image_size": 64}}))
    (note,) = open_model(model, str(weights), device="cpu").notes
    assert "5 image positions" in note
    assert "17" in note
    assert load_weights(build(find_description(str(model)), ""), weights) == (note,)


def test_more_tokens_than_a_text_tower_of_transformers_has_positions_for_are_refused(tmp_path):
    import transformers

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    transformers.BertConfig(**sizes, max_position_embeddings=16).save_pretrained(tmp_path)
    text = {"hf_model_name": str(tmp_path), "hf_tokenizer_name": "own", "hf_pooler_type": "mean_pooler"}
    for length, refused in ((16, False), (17, True), (None, True)):
        given = text if length is None else text | {"context_length": length}
        (tmp_path / "model.json").write_text(json.dumps({**TINY, "text_cfg": given}))
        if refused:
            with pytest.raises(ValueError, match=r"has 16 positions; set context_length in text_cfg to 16"):
                build(find_description(str(tmp_path / "model.json")), "")
        else:
            build(find_description(str(tmp_path / "model.json")), "")


def test_what_of_a_configuration_is_not_read_is_named(tmp_path):
    content = {"model_cfg": TINY, "preprocess_cfg": {"size": 48, "crop": 0.9}, "tags": ["a"]}
    (tmp_path / "model.json").write_text(json.dumps(content))
    _, unread, size = open_model(tmp_path / "model.json", device="cpu", random_weights=True).notes
    assert "tags, preprocess_cfg.crop" in unread
    assert "32" in size
    assert "48" in size


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"preprocess_cfg": {"mode": "L"}}, "mode is 'L'"),
        ({"preprocess_cfg": {"interpolation": "area"}}, "interpolation is 'area'"),
        ({"preprocess_cfg": {"resize_mode": "crop"}}, "resize_mode is 'crop'"),
        ({"preprocess_cfg": {"mean": [0.5, 0.5]}}, "says of images what cannot be read"),
        ({"preprocess_cfg": {"std": [0.5, 0, 0.5]}}, "std is"),
        ({"vocabulary": ["dog"], "text_cfg": OWN}, "two tokenizers, vocabulary and hf_tokenizer_name"),
        ({"text_cfg": {"hf_model_name": "bert"}}, "add hf_tokenizer_name"),
        ({"text_cfg": {"tokenizer_kwargs": {"cleen": "lower"}}}, "cleen"),
        ({"text_cfg": {"tokenizer_kwargs": {"trust_remote_code": True}}}, "code of its own"),
        ({"text_cfg": {"tokenizer_kwargs": {"clean": "upper"}}}, "upper"),
        ({"text_cfg": {"tokeniser_name": "own"}}, "tokeniser_name"),
        ({"text_cfg": {"no_causal_mask": "false"}}, "a text as no_causal_mask"),
        ({"vision_cfg": {"image_size": "32"}}, "a text as image_size"),
        ({"top": {"quick_gelu": "false"}}, "a text as quick_gelu"),
        ({"top": {"text_cfg": [16]}}, "text_cfg of .* is no mapping"),
        ({"preprocess_cfg": [1]}, "preprocess_cfg of .* is no mapping"),
    ],
)
def test_what_cannot_be_read_of_a_configuration_is_one_line(change, said, tmp_path):
    sides = {side: TINY[side] | change.get(side, {}) for side in ("vision_cfg", "text_cfg")}
    config = {**TINY, **sides, **change.get("top", {})}
    beside = {name: value for name, value in change.items() if name not in (*sides, "top")}
    (tmp_path / "model.json").write_text(json.dumps({"model_cfg": config, **beside}))
    with pytest.raises(ValueError, match=said) as raised:
        open_model(tmp_path / "model.json", random_weights=True)
    assert "\n" not in str(raised.value)
