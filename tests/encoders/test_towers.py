"""The open_clip towers, on tiny models with random weights."""

import json
import logging

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from torch.nn.functional import normalize

from workbench.encoders import load, member
from workbench.encoders._open_clip import build, find_description
from workbench.encoders._open_clip_towers import depths_of
from workbench.encoders.backbones import Preparation
from workbench.encoders.towers import Towers
from workbench.encoders.words import augment_token_ids, drop_tokens
from workbench.records import Batch

TEXT = {
    "context_length": 12,
    "vocab_size": 50,
    "width": 16,
    "heads": 2,
    "layers": 2,
    "pool_type": "eos",
    "eos_id": 3,
}
VIT = {"image_size": 32, "layers": 3, "width": 24, "head_width": 8, "patch_size": 8}
RESNET = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "head_width": 64}
TIMM_VIT = {"image_size": 160, "timm_model_name": "test_vit", "timm_pool": "", "timm_proj": "linear"}
TIMM_RESNET = {"image_size": 64, "timm_model_name": "test_resnet", "timm_pool": "avg", "timm_proj": "linear"}
SIGLIP_TEXT = {**TEXT, "no_causal_mask": True, "pool_type": "last", "proj_bias": True}
COCA = {
    "context_length": 12, "vocab_size": 50, "width": 16, "heads": 2, "layers": 1, "mlp_ratio": 2,
    "dim_head": 8, "n_queries": 4, "attn_pooler_heads": 2,
}  # fmt: skip

CONFIGS = {
    "vit": {"embed_dim": 20, "vision_cfg": VIT, "text_cfg": TEXT},
    "vit-custom-text": {"embed_dim": 20, "vision_cfg": VIT, "text_cfg": TEXT, "custom_text": True},
    "vit-siglip": {"embed_dim": 20, "vision_cfg": VIT, "text_cfg": SIGLIP_TEXT, "custom_text": True},
    "resnet": {"embed_dim": 20, "vision_cfg": RESNET, "text_cfg": TEXT},
    "timm-vit": {"embed_dim": 20, "vision_cfg": TIMM_VIT, "text_cfg": TEXT, "custom_text": True},
    "timm-resnet": {"embed_dim": 20, "vision_cfg": TIMM_RESNET, "text_cfg": TEXT, "custom_text": True},
    "coca": {
        "embed_dim": 20,
        "vision_cfg": {
            **VIT,
            "attentional_pool": True,
            "attn_pooler_queries": 5,
            "attn_pooler_heads": 2,
            "output_tokens": True,
        },
        "text_cfg": {**TEXT, "embed_cls": True, "output_tokens": True},
        "multimodal_cfg": COCA,
        "custom_text": True,
    },
}
# Patch tokens of the pooled head, and tokens of the token head: a class token or a mean more, where there is
# one.
PARTS = {"vit": (16, 17), "resnet": (4, 5), "timm-vit": (100, 101), "timm-resnet": (4, 4), "coca": (16, 17)}
ALL = sorted(CONFIGS)


def a_batch(encoder, images=3):
    height, width = encoder.size.tolist()
    pixels = torch.randint(
        0, 256, (images, 3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
    )
    ids = torch.tensor([[2, 7, 8, 9, 3], [2, 10, 3, 0, 0], [2, 3, 0, 0, 0]])
    return Batch(
        ["a", "b", "c"][:images], ["d", "e", "f"], torch.arange(3), {"pixels": pixels}, {"tokens": ids}
    )


def test_depth_is_the_number_of_blocks_minus_the_block_for_12_and_for_24_blocks():
    # Block 0 of 12 is 12 blocks below the top, block 11 is 1 below; the trap of METHODS 4.4 gives 12 - 23 =
    # -11 at block 23.
    for count in (12, 24):
        names = [
            "conv1.weight",
            *[f"transformer.resblocks.{b}.ln_1.weight" for b in range(count)],
            "ln_post.weight",
        ]
        assert list(depths_of(names).values()) == [count, *[count - b for b in range(count)], 0]
        assert all(0.7**depth <= 1 for depth in depths_of(names).values())


def test_depth_counts_the_stages_of_a_resnet_as_blocks():
    names = [
        "conv1.weight",
        "layer1.0.conv1.weight",
        "layer4.0.bn1.bias",
        "attnpool.k_proj.weight",
        "attnpool.positional_embedding",
    ]
    assert list(depths_of(names).values()) == [4, 4, 1, 0, 0]


def test_an_erased_word_moves_the_rest_up_and_a_masked_one_stays_in_place():
    torch.manual_seed(0)
    ids = torch.tensor([[2, *range(10, 30), 3, 0, 0]]).repeat(2000, 1)
    touched = augment_token_ids(ids, 1)
    assert (touched[:, 0] == 2).all()
    assert torch.equal((touched == 3).sum(1), torch.ones(2000, dtype=torch.long))
    # 20 words, 20 % touched: half of those masked (2 a text), a tenth erased (0.4 a text).
    assert (touched == 1).sum(1).float().mean() == pytest.approx(2.0, abs=0.15)
    assert 22 - (touched != 0).sum(1).float().mean() == pytest.approx(0.4, abs=0.07)
    kept = touched[0][touched[0] >= 10]
    assert torch.equal(kept, kept.sort().values)


def test_dropping_tokens_keeps_at_least_one_and_follows_the_rate():
    torch.manual_seed(0)
    mask = torch.ones(20000, 10, dtype=torch.bool)
    # E[0.2 u; u > 0.2] = 0.2 * (1 - 0.04) / 2 = 0.096
    assert 1 - drop_tokens(mask).float().mean() == pytest.approx(0.096, abs=0.003)
    assert drop_tokens(mask[:, :1]).all()


def test_preparation_scales_the_shorter_side_and_crops_the_middle():
    wide = np.zeros((4, 8, 3), dtype=np.uint8)
    wide[:, 2:6] = 255
    assert (Preparation((4, 4), "shortest", "bicubic")(Image.fromarray(wide)) == 255).all()
    assert Preparation((4, 4), "squash", "bicubic")(Image.fromarray(wide)).float().mean() == pytest.approx(
        127.5, abs=20
    )
    longest = Preparation((8, 8), "longest", "nearest")(
        Image.fromarray(np.full((4, 8, 3), 255, dtype=np.uint8))
    )
    assert longest[0, :, 0].tolist() == [0, 0, 255, 255, 255, 255, 0, 0]
    assert Preparation((4, 4), "shortest", "bicubic")(Image.new("L", (9, 5))).shape == (3, 4, 4)


@pytest.mark.parametrize("kind", ALL)
def test_the_pooled_vector_is_the_models_own(towers, kind):
    encoder = towers(kind).eval()
    batch = a_batch(encoder)
    pixels = (batch.inputs["pixels"] / 255 - encoder.mean) / encoder.std
    ids = torch.nn.functional.pad(batch.signals["tokens"], (0, 12 - 5))
    with torch.no_grad():
        torch.testing.assert_close(
            encoder.encode_images(batch).mean, encoder.network.encode_image(pixels, normalize=True)
        )
        torch.testing.assert_close(
            encoder.encode_texts(batch).mean, encoder.network.encode_text(ids, normalize=True)
        )


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_parts_have_the_shapes_and_masks_of_the_towers(towers, kind, head):
    encoder = towers(kind, head=head, **({"embed_dim": 32} if head == "tokens" else {})).eval()
    image, text = encoder.encode_images(a_batch(encoder)), encoder.encode_texts(a_batch(encoder))
    expected = PARTS["vit" if kind.startswith("vit") else kind][head == "tokens"]
    assert image.parts.shape[:2] == (3, expected)
    assert image.mask.all()
    assert text.mask.tolist() == [[True] * n + [False] * (5 - n) for n in (5, 3, 2)]
    width = encoder.embed_dim if kind != "coca" or head == "tokens" else VIT["width"]
    assert image.parts.shape[2] == width
    assert text.parts.shape[2] == encoder.embed_dim
    for embedding in (image, text):
        assert embedding.mean.shape == (3, encoder.embed_dim)
        torch.testing.assert_close(embedding.mean.norm(dim=-1), torch.ones(3))


def test_the_word_token_at_the_end_of_a_text_is_its_pooled_vector(towers):
    encoder = towers("vit").eval()
    text = encoder.encode_texts(a_batch(encoder))
    torch.testing.assert_close(normalize(text.parts[[0, 1, 2], [4, 2, 1]], dim=-1), text.mean)


@pytest.mark.parametrize("kind", ["vit", "vit-siglip", "coca"])
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_padding_makes_no_difference(towers, kind, head):
    encoder = towers(kind, head=head).eval()
    batch = a_batch(encoder)
    alone = [
        encoder.encode_texts(Batch([], ["x"], torch.zeros(1), signals={"tokens": row[None]})).mean
        for row in batch.signals["tokens"]
    ]
    torch.testing.assert_close(encoder.encode_texts(batch).mean, torch.cat(alone))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_every_trainable_parameter_is_in_one_group_and_takes_part(towers, kind, head):
    encoder = towers(kind, head=head)
    grouped = [p for group in encoder.groups() for p in group.parameters.values()]
    trainable = [p for p in encoder.parameters() if p.requires_grad]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == set(trainable)
    (
        encoder.encode_images(a_batch(encoder)).mean.sum() + encoder.encode_texts(a_batch(encoder)).mean.sum()
    ).backward()
    assert [name for name, p in encoder.named_parameters() if p.requires_grad and p.grad is None] == []


@pytest.mark.parametrize(("kind", "blocks"), [("vit", 3), ("resnet", 4), ("timm-vit", 6), ("timm-resnet", 4)])
def test_groups_have_the_depths_of_their_blocks(towers, kind, blocks):
    groups = towers(kind, head="tokens").groups()
    found = {
        role: sorted(g.depth for g in groups if g.role == role)
        for role in ("image_backbone", "text_backbone", "head")
    }
    image = found["image_backbone"]
    assert [depth for depth in image if depth] == list(range(1, blocks + 1))
    assert found["text_backbone"] == [0, 1, 2]
    assert found["head"] == [0]


def test_a_frozen_tower_keeps_its_weights_and_its_batch_statistics(towers):
    encoder = towers("resnet", freeze_image=True).train()
    before = {name: value.clone() for name, value in encoder.network.visual.state_dict().items()}
    assert not encoder.encode_images(a_batch(encoder)).mean.requires_grad
    assert all(
        torch.equal(before[name], value) for name, value in encoder.network.visual.state_dict().items()
    )
    assert {group.role for group in encoder.groups()} == {"text_backbone"}
    assert {group.role for group in towers("vit", freeze_text=True).groups()} == {"image_backbone"}


def test_size_augmentation_acts_in_training_only(towers):
    encoder = towers("vit", head="tokens", pooling="mean")
    batch = a_batch(encoder)
    assert len({encoder.train().encode_images(batch).mask.sum().item() for _ in range(20)}) > 1
    assert encoder.eval().encode_images(batch).mask.all()
    assert towers("vit", head="tokens", size_augmentation=False).encode_images(batch).mask.all()


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_a_local_checkpoint_gives_back_the_same_bits(towers, tmp_path, suffix):
    first = towers("resnet").eval()
    path = tmp_path / f"weights{suffix}"
    if suffix == ".pt":
        torch.save({"state_dict": first.network.state_dict()}, path)
    else:
        first.export(tmp_path / "out", torch.float32).rename(path)
    second = towers("resnet", pretrained=str(path)).eval()
    assert torch.equal(first.encode_images(a_batch(first)).mean, second.encode_images(a_batch(first)).mean)
    assert torch.equal(first.encode_texts(a_batch(first)).mean, second.encode_texts(a_batch(first)).mean)


def test_model_and_weights_below_the_home_folder_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.json").write_text(json.dumps(find_description("scenes").architecture))
    torch.save(
        Towers(model=str(tmp_path / "mine.json"), pretrained="").network.state_dict(), tmp_path / "mine.pt"
    )
    first, again = (load("towers", model="~/mine.json", pretrained="~/mine.pt") for _ in range(2))
    assert torch.equal(first.network.logit_scale, again.network.logit_scale)
    with pytest.raises(FileNotFoundError, match="other"):
        load("towers", model="~/mine.json", pretrained="~/other.pt")


def test_an_exported_model_is_read_by_open_clip_itself(towers, tmp_path):
    encoder = towers("vit").eval()
    encoder.export(tmp_path / "out", torch.float32)
    other = open_clip.create_model(f"local-dir:{tmp_path / 'out'}")
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(encoder.network.encode_image(pixels), other.encode_image(pixels))


def test_a_checkpoint_with_code_in_it_is_refused(towers, tmp_path):
    torch.save({"state_dict": {}, "more": Towers}, tmp_path / "weights.pt")
    with pytest.raises(Exception, match="eights"):
        towers("vit", pretrained=str(tmp_path / "weights.pt"))


def test_the_state_of_the_encoder_carries_the_preparation_of_images(towers, tmp_path):
    recipe = {"mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash", "interpolation": "bilinear"}
    (tmp_path / "own.json").write_text(json.dumps({"model_cfg": CONFIGS["vit"], "preprocess_cfg": recipe}))
    first, second = load("towers", model=str(tmp_path / "own.json"), pretrained=""), towers("vit")
    second.load_state_dict(first.state_dict())
    assert second.transform == first.transform == Preparation((32, 32), "squash", "bilinear")
    assert second.mean.flatten().tolist() == [0.5] * 3


def test_a_missing_checkpoint_is_named(towers):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        towers("vit", pretrained="nowhere.safetensors")


def test_an_unknown_tag_is_refused_with_the_near_ones():
    with pytest.raises(ValueError, match="laion2b_s34b_b79k"):
        load("towers", model="ViT-B-32", pretrained="laion2b_s34b_b79")


def test_the_shipped_weights_are_refused_for_another_model():
    with pytest.raises(ValueError, match="the shipped weights 'scenes' fit model='scenes'"):
        load("towers", model="ViT-B-32")


@pytest.fixture
def tagged(tmp_path, monkeypatch):
    """A tiny model that open_clip knows in two forms, and the tag of a checkpoint that needs QuickGELU."""
    plain = CONFIGS["vit"]
    forms = {"tiny-clip": plain, "tiny-clip-quickgelu": {**plain, "quick_gelu": True}}
    for name, config in forms.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(config), encoding="utf-8")
        monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, name, config)
        monkeypatch.setitem(open_clip.pretrained._PRETRAINED, name, {"openai": {"quick_gelu": True}})
    file = tmp_path / "weights.pt"
    torch.save(build(find_description(str(tmp_path / "tiny-clip.json")), "").state_dict(), file)
    monkeypatch.setattr(open_clip.factory, "download_pretrained", lambda *_, **__: str(file))
    return file


@pytest.mark.filterwarnings("error:QuickGELU mismatch")
def test_a_tag_whose_weights_need_quickgelu_takes_that_form_of_the_model(tagged):
    given = {"model": "tiny-clip", "pretrained": "openai"}
    by_tag, with_gelu = load("towers", **given), load("towers", model="tiny-clip", pretrained=str(tagged))
    own = open_clip.create_model("tiny-clip", force_quick_gelu=True)
    open_clip.load_checkpoint(own, str(tagged))
    batch = a_batch(by_tag)
    pixels = (batch.inputs["pixels"] / 255 - by_tag.mean) / by_tag.std
    found, gelu = (one.eval().encode_images(batch).mean for one in (by_tag, with_gelu))
    torch.testing.assert_close(found, own.eval().encode_image(pixels, normalize=True))
    assert (found - gelu).abs().max() > 1e-4
    by_name = load("towers", model="tiny-clip-quickgelu", pretrained=str(tagged))
    torch.testing.assert_close(by_name.eval().encode_images(batch).mean, found)
    # A checkpoint is read without the tag.
    again = load("towers", **Towers.complete(given, {"pretrained": ""}))
    again.load_state_dict(by_tag.state_dict())
    torch.testing.assert_close(again.eval().encode_images(batch).mean, found)


def test_a_graph_whose_phrases_a_tower_reads_takes_that_form_too(tagged):
    given = {"concepts": {"kind": "towers", "name": "tiny-clip"}, "pretrained": "openai", "embed_dim": 16}
    done = member("graph").complete(given, {"pretrained": ""})
    assert (done["concepts"]["name"], done["pretrained"]) == ("tiny-clip-quickgelu", "")
    first, again = load("graph", **given), load("graph", **done)
    assert str(first.reader.tower) == str(again.reader.tower)
    assert "QuickGELU" in str(again.reader.tower)
    assert member("graph").complete({"pretrained": "glove-package"}, {}) == {"pretrained": "glove-package"}


def test_an_unknown_model_lists_the_near_names():
    with pytest.raises(KeyError, match="ViT-B-32"):
        load("towers", model="ViT-B-33", pretrained="")


def test_an_option_outside_its_range_is_refused(towers):
    with pytest.raises(ValueError, match="head is 'mean'; choose one of pooled, tokens"):
        towers("vit", head="mean")
    with pytest.raises(ValueError, match="embeds to 20 dimensions"):
        towers("vit", embed_dim=64)


def test_captions_that_are_too_long_or_of_another_vocabulary_are_refused(towers):
    encoder = towers("vit")
    with pytest.raises(ValueError, match="13 tokens, the model reads 12"):
        encoder.encode_texts(Batch([], ["x"], torch.zeros(1), signals={"tokens": torch.full((1, 13), 5)}))
    with pytest.raises(ValueError, match="token id 50, but the model knows 50"):
        encoder.encode_texts(Batch([], ["x"], torch.zeros(1), signals={"tokens": torch.tensor([[2, 50, 3]])}))


def test_the_signal_is_that_of_the_models_tokenizer(tmp_path):
    assert Towers.text_features(model="RN50") == {"tokens": {"tokenizer": "open_clip:RN50"}}
    path = tmp_path / "clip.json"
    path.write_text(
        json.dumps({"embed_dim": 20, "vision_cfg": VIT, "text_cfg": {"context_length": 12, "width": 16}})
    )
    assert Towers.text_features(model=str(path)) == {"tokens": {"tokenizer": f"open_clip:{path}"}}
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"model_cfg": CONFIGS["vit"], "vocabulary": ["cat", "dog"]}))
    assert Towers.text_features(model=str(path)) == {
        "tokens": {"tokenizer": "words", "max_length": 12, "vocabulary": ("cat", "dog")}
    }


def test_every_registered_model_of_open_clip_is_described():
    for name in open_clip.list_models():
        assert find_description(name).architecture["embed_dim"] > 0


def test_a_text_tower_of_hugging_face_is_read(tmp_path):
    from transformers import BertConfig  # slow to import

    bert = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    bert.save_pretrained(tmp_path / "bert")
    text = {"hf_model_name": str(tmp_path / "bert"), "hf_proj_type": "mlp", "hf_pooler_type": "mean_pooler"}
    text["hf_tokenizer_name"] = "bert"
    (tmp_path / "hf.json").write_text(json.dumps({"embed_dim": 20, "vision_cfg": VIT, "text_cfg": text}))
    encoder = load("towers", model=str(tmp_path / "hf.json"), pretrained="").eval()
    out = encoder.encode_texts(a_batch(encoder))
    torch.testing.assert_close(
        out.mean, encoder.network.encode_text(a_batch(encoder).signals["tokens"], normalize=True)
    )
    assert out.parts.shape == (3, 5, 20)
    assert sorted({g.depth for g in encoder.groups() if g.role == "text_backbone"}) == [0, 1, 2]


def test_a_model_is_built_the_same_way_as_open_clip_builds_it():
    torch.manual_seed(0)
    ours = build(find_description("RN50"), "")
    assert type(ours).__name__ == "CLIP"
    assert ours.visual.preprocess_cfg["size"] == 224


def test_building_a_model_leaves_the_root_logger_as_it_was(monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    before = logging.root.level, logging.root.manager.disable
    build(find_description("scenes"), "scenes")
    assert logging.root.handlers == []
    assert (logging.root.level, logging.root.manager.disable) == before
