"""Models of other libraries give their library's own vectors; what is no dual encoder says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from torch.nn.functional import normalize
from typer.testing import CliRunner

import workbench as wb
from tests.tiny_tokenizers import bert
from workbench.cli import app
from workbench.runs.models import open_model

SIZE = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
IMAGE = SIZE | {"image_size": 32, "patch_size": 16}
TEXT = SIZE | {"vocab_size": 40, "max_position_embeddings": 12, "pad_token_id": 0}
LONG = "a red dog runs and two blue cats sleep and again a red dog runs"
CAPTIONS = ["a red dog", "", "café — 日本語 🙂", LONG]


def saved(folder: Path, model) -> Path:
    """A folder of transformers with a model, a tokenizer of a few words, and what prepares images."""
    bert(folder)
    torch.manual_seed(0)
    model().save_pretrained(folder)
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    transformers.CLIPImageProcessor(**size).save_pretrained(folder)
    return folder


def both(name: str, sides=None, **more):
    """Makes a model of both sides with random weights."""
    config = getattr(transformers, name.replace("Model", "Config"))
    sides = sides or {"text_config": TEXT, "vision_config": IMAGE}
    return lambda: getattr(transformers, name)(config(**sides, **more))


def pairs(text: str, **options):
    sides = (
        transformers.ViTConfig(**IMAGE),
        getattr(transformers, text)(**TEXT | {"max_position_embeddings": 14} | options),
    )
    whole = transformers.VisionTextDualEncoderConfig.from_vision_text_configs(*sides, projection_dim=16)
    return lambda: transformers.VisionTextDualEncoderModel(whole)


APART = {
    "CLIP": (both("CLIPModel", projection_dim=16), 12),
    "SigLIP": (both("SiglipModel"), 12),
    "two towers": (pairs("BertConfig"), 14),
    "positions behind that of padding": (pairs("RobertaConfig", pad_token_id=1), 12),
}


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


@pytest.mark.parametrize("kind", APART)
def test_vectors_are_those_of_the_library_up_to_the_longest_text_that_it_reads(kind, tmp_path):
    make, longest = APART[kind]
    saved(tmp_path, make)
    model, processor = (
        getattr(transformers, name).from_pretrained(tmp_path) for name in ("AutoModel", "AutoProcessor")
    )
    images = [noise(40, 31), noise(33, 77), noise(32, 32), noise(50, 40).convert("L")]
    padding = "max_length" if kind == "SigLIP" else True
    texts = processor(
        text=CAPTIONS, padding=padding, truncation=True, max_length=longest, return_tensors="pt"
    )
    with torch.no_grad():
        pixels = processor(images=[one.convert("RGB") for one in images], return_tensors="pt")
        expected = model.eval().get_image_features(**pixels), model.get_text_features(**texts)
    image, text = (normalize(getattr(side, "pooler_output", side), dim=1) for side in expected)
    opened = open_model(tmp_path, device="cpu")
    assert opened.subject.longest == longest
    torch.testing.assert_close(opened.embed_images(images).mean, image, atol=1e-5, rtol=0)
    torch.testing.assert_close(opened.embed_texts(CAPTIONS).mean, text, atol=1e-5, rtol=0)


BLIP = {"text_config": TEXT | {"encoder_hidden_size": 32}, "vision_config": IMAGE}


def blip(head: str):
    config = transformers.BlipConfig(**BLIP, image_text_hidden_size=16)
    return lambda: getattr(transformers, head)(config)


def blip_2(head: str):
    config = transformers.Blip2Config(
        vision_config=IMAGE, num_query_tokens=2, image_text_hidden_size=16,
        qformer_config=SIZE | {"vocab_size": 40, "encoder_hidden_size": 32, "cross_attention_frequency": 1},
        text_config={
            "model_type": "opt", "vocab_size": 40, "hidden_size": 32, "word_embed_proj_dim": 32,
            "ffn_dim": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
        },
    )  # fmt: skip
    return lambda: getattr(transformers, head)(config)


def llava():
    text = transformers.LlamaConfig(vocab_size=40, num_key_value_heads=2, **SIZE)
    sides = {"vision_config": transformers.CLIPVisionConfig(**IMAGE), "text_config": text}
    return transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(**sides))


def plain(name: str, **options):
    return lambda: getattr(transformers, name)(
        getattr(transformers, name.split("For")[0] + "Config")(**options)
    )


TOGETHER, NO_IMAGES, NO_TEXTS = "reads an image and a text at once", "encodes no images", "encodes no texts"
OTHERS = {
    "BlipForQuestionAnswering": (blip("BlipForQuestionAnswering"), TOGETHER),
    "Blip2ForConditionalGeneration": (blip_2("Blip2ForConditionalGeneration"), "takes no questions"),
    "Blip2ForImageTextRetrieval": (blip_2("Blip2ForImageTextRetrieval"), "reads no texts"),
    "Blip2Model": (blip_2("Blip2Model"), TOGETHER),
    "LlavaForConditionalGeneration": (llava, "takes no questions"),
    "LlamaForCausalLM": (plain("LlamaForCausalLM", vocab_size=40, num_key_value_heads=2, **SIZE), NO_IMAGES),
    "BertForMaskedLM": (plain("BertForMaskedLM", **TEXT), NO_IMAGES),
    "ViTForImageClassification": (plain("ViTForImageClassification", **IMAGE), NO_TEXTS),
    "SiglipForImageClassification": (
        plain("SiglipForImageClassification", text_config=TEXT, vision_config=IMAGE), NO_TEXTS
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_is_no_dual_encoder_says_what_it_reads(name, tmp_path):
    make, reason = OTHERS[name]
    saved(tmp_path, make)
    ended = CliRunner().invoke(app, ["evaluate", "--model", str(tmp_path), "--data", "scenes"])
    assert ended.exit_code == 2
    (line,) = ended.stderr.splitlines()
    assert f"{name}, which {reason}" in line
    assert "save the model" not in line


@pytest.mark.parametrize("files", [("config.json",), ("config.json", "modules.json")])
def test_a_folder_that_needs_code_of_its_own_is_one_line_and_executes_none(files, tmp_path, capfd):
    own = {"AutoConfig": "configuration.OwnConfig", "AutoModel": "modeling.OwnModel"}
    config = {"model_type": "own_clip", "architectures": ["OwnModel"], "auto_map": own}
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for file, content in (("config.json", config), ("modules.json", modules)):
        if file in files:
            (tmp_path / file).write_text(json.dumps(content))
    for file in ("configuration.py", "modeling.py"):
        (tmp_path / file).write_text("print('foreign code ran')\n")
    ended = CliRunner().invoke(app, ["evaluate", "--model", str(tmp_path), "--data", "scenes"])
    assert ended.exit_code == 2
    (line,) = ended.stderr.splitlines()
    assert "needs code of its own" in line
    assert "--trust-remote-code" in line
    assert "foreign code ran" not in capfd.readouterr().out + ended.output


def sentences(folder: Path, source: Path, *, images: bool) -> Path:
    import sentence_transformers as library
    from sentence_transformers import models

    first = models.CLIPModel(str(source)) if images else models.Transformer(str(source), max_seq_length=8)
    last = [] if images else [models.Pooling(32)]
    library.SentenceTransformer(modules=[first, *last], device="cpu").save(str(folder))
    return folder


@pytest.mark.filterwarnings("ignore")
def test_sentences_alone_are_named_and_a_clip_of_theirs_is_read_to_its_last_position(tmp_path):
    clip = saved(tmp_path / "clip", APART["CLIP"][0])
    opened = open_model(sentences(tmp_path / "both", clip, images=True), device="cpu")
    assert opened.subject.longest == 12
    expected = open_model(clip, device="cpu").embed_texts(CAPTIONS).mean
    torch.testing.assert_close(opened.embed_texts(CAPTIONS).mean, expected, atol=1e-5, rtol=0)
    text = saved(tmp_path / "bert", plain("BertForMaskedLM", **TEXT))
    with pytest.raises(ValueError, match="encodes no images"):
        open_model(sentences(tmp_path / "text", text, images=False), device="cpu")


def photographs(folder: Path) -> Path:
    """Four images, and a caption of each; one of them is long."""
    folder.mkdir()
    rows = ["image,caption"]
    for row, caption in enumerate(["a red dog", "two cats", LONG, "a dog runs"]):
        noise(30 + row, 20).save(folder / f"{row}.png")
        rows.append(f"{row}.png,{caption}")
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def cut_by(model: str, data: Path, root: Path, pretrained: str = "") -> list[str]:
    """What the terminal says of captions that a model cuts."""
    words = [
        "evaluate",
        "--model",
        model,
        "--pretrained",
        pretrained,
        "--data",
        str(data),
        "--root",
        str(root),
    ]
    ended = CliRunner().invoke(app, [*words, "--random-weights", "--device", "cpu"])
    assert ended.exit_code == 0, ended.output
    return [line for line in ended.output.splitlines() if " cut at " in line]


@pytest.mark.filterwarnings("ignore")
def test_evaluate_says_how_many_captions_a_model_cuts_and_at_which_length(tmp_path):
    data, clip = photographs(tmp_path / "data"), saved(tmp_path / "clip", APART["CLIP"][0])
    (line,) = cut_by(str(clip), data, tmp_path / "runs")
    assert line.startswith("1 caption cut at 12 tokens")
    (line,) = cut_by(str(sentences(tmp_path / "both", clip, images=True)), data, tmp_path / "runs")
    assert line.startswith("1 caption cut at 12 tokens")
    for length, count in ((4, "3 captions"), (5, "1 caption"), (16, "1 caption"), (17, "")):
        text = {"context_length": length, "width": 16, "heads": 2, "layers": 1}
        image = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16}
        config = {"embed_dim": 16, "vision_cfg": image, "text_cfg": text}
        (tmp_path / "model.json").write_text(json.dumps(config))
        lines = cut_by(str(tmp_path / "model.json"), data, tmp_path / "runs")
        assert [line.partition(" cut")[0] for line in lines] == [count] * bool(count)
        assert all(f"at {length} tokens" in line for line in lines)


def test_a_caption_that_fills_the_context_to_its_last_token_is_not_cut():
    maker = wb.text.load("tokens", tokenizer="open_clip:ViT-B-32", max_length=5)
    captions = ["a dog runs", "a dog runs home", "a", ""]
    assert maker.count_truncated(captions, maker.transform(captions)) == 1
    words = wb.text.load("tokens", max_length=5).fit(captions)
    assert words.count_truncated(captions, words.transform(captions)) == 1
    assert wb.text.load("tokens").fit(captions).context_length == 0
