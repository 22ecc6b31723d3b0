"""Dual encoders of transformers, on tiny models with random weights."""

import pytest
import torch
import transformers
from torch.nn.functional import normalize

from tests.runs.test_adapters import IMAGE, TEXT, both, noise, saved
from workbench import objectives, text
from workbench.encoders import load, member
from workbench.encoders._lora import is_adapter
from workbench.records import Batch

CAPTIONS = [
    "a red dog",
    "two blue cats sleep",
    "a",
    "a red dog runs and two blue cats sleep and again a red dog",
]
PATCHES = 16
KINDS = {
    "CLIP": both("CLIPModel", projection_dim=16),
    "SigLIP": both("SiglipModel"),
    "SigLIP 2": both(
        "Siglip2Model",
        {"text_config": TEXT, "vision_config": {**IMAGE, "num_patches": PATCHES}},
    ),
    "ChineseCLIP": both("ChineseCLIPModel", projection_dim=16),
}
# vectors and tokens of the pooled head
WIDTH = {"CLIP": 16, "SigLIP": 32, "SigLIP 2": 32, "ChineseCLIP": 16}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of each kind, as ``save_pretrained`` leaves it."""
    places = {}
    for kind, make in KINDS.items():
        folder = saved(tmp_path_factory.mktemp(kind.replace(" ", "")), make)
        if kind == "SigLIP 2":
            (folder / "preprocessor_config.json").unlink(missing_ok=True)
            images = transformers.Siglip2ImageProcessor(patch_size=16, max_num_patches=PATCHES)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            transformers.Siglip2Processor(images, tokenizer).save_pretrained(folder)
        places[kind] = str(folder)
    return places


def batch_of(encoder, folder, images):
    signal = text.load("word_pieces", **member("transformers").text_features(model=folder)["word_pieces"])
    rows = torch.arange(len(CAPTIONS)).numpy()
    pixels = torch.stack([encoder.transform(image) for image in images])
    own = torch.zeros(len(CAPTIONS), dtype=torch.long)
    ids = [str(n) for n in range(len(images))]
    return Batch(
        ids,
        [f"c{row}" for row in rows],
        own,
        {"pixels": pixels},
        {"word_pieces": signal.transform(CAPTIONS).take(rows)},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_those_of_the_library(kind, folders):
    folder = folders[kind]
    model, processor = (
        getattr(transformers, name).from_pretrained(folder) for name in ("AutoModel", "AutoProcessor")
    )
    images = [noise(40, 31), noise(33, 77), noise(32, 32)]
    padding = "max_length" if "SigLIP" in kind else True
    ids = processor(text=CAPTIONS, padding=padding, truncation=True, max_length=12, return_tensors="pt")
    pixels = processor(images=images, return_tensors="pt")
    with torch.no_grad():
        expected = model.eval().get_image_features(**pixels), model.get_text_features(**ids)
    encoder = load("transformers", model=folder).eval()
    batch = batch_of(encoder, folder, images)
    with torch.no_grad():
        image, words = encoder.encode_images(batch), encoder.encode_texts(batch)
    for side, other in zip((image, words), expected, strict=True):
        vectors = normalize(getattr(other, "pooler_output", other), dim=1)
        torch.testing.assert_close(side.mean, vectors, atol=1e-5, rtol=0)
        assert side.parts.shape[:2] == side.mask.shape
        assert side.parts.shape[2] == WIDTH[kind] == encoder.embed_dim
    counts = [len(processor.tokenizer(caption)["input_ids"]) for caption in CAPTIONS]
    assert words.mask.sum(1).tolist() == [min(count, 12) for count in counts]


def test_the_token_at_the_end_of_a_clips_text_is_its_vector(folders):
    encoder = load("transformers", model=folders["CLIP"]).eval()
    batch = batch_of(encoder, folders["CLIP"], [noise(32, 32)])
    model = transformers.AutoModel.from_pretrained(folders["CLIP"]).eval()
    with torch.no_grad():
        words = encoder.encode_texts(batch)
        pieces = batch.signals["word_pieces"]
        real = pieces != 0
        out = model.text_model(input_ids=(pieces - 1).clamp(min=0), attention_mask=real.long())
        expected = model.text_projection(out.last_hidden_state)
    torch.testing.assert_close(words.parts[real], expected[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", ["pooled", "tokens"])
def test_all_that_takes_part_trains_and_nothing_else(kind, head, folders):
    torch.manual_seed(0)
    encoder = load("transformers", model=folders[kind], head=head, log_var=True, pooling="mean").train()
    batch = batch_of(encoder, folders[kind], [noise(40, 31), noise(33, 77)])
    image, words = encoder.encode_images(batch), encoder.encode_texts(batch)
    assert image.log_var.shape == image.mean.shape
    (image.mean.sum() + words.mean.sum() + image.log_var.sum() + words.log_var.sum()).backward()
    groups = encoder.groups()
    grouped = [id(p) for group in groups for p in group.parameters.values()]
    trained = {name: p for name, p in encoder.named_parameters() if p.requires_grad}
    assert len(grouped) == len(set(grouped)) == len(trained)
    # of positions and words some are not in these texts, and a key's bias does nothing
    assert {name for name, p in trained.items() if p.grad is None} == set()
    assert not any(name.startswith("network.logit_") for name in trained)
    assert {group.role for group in groups} == {"image_backbone", "text_backbone", "head"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_stem_lies_deepest_and_the_projection_on_top(kind, folders):
    encoder = load("transformers", model=folders[kind])
    depth = encoder.depth()
    for name, level in depth.items():
        block = ".layers." in name or ".layer.0." in name
        stem = ".embeddings." in name
        if block or stem:
            assert level == 1, name
        if "projection.weight" in name and name.count(".") == 1:
            assert level == 0, name


@pytest.mark.parametrize("kind", KINDS)
def test_adapters_at_zero_change_nothing_and_merge_exactly(kind, folders):
    images = [noise(40, 31)]
    plain, adapted = (
        load("transformers", model=folders[kind], **lora) for lora in ({}, {"lora": {"rank": 2}})
    )
    batch = batch_of(plain, folders[kind], images)
    answers = []
    for encoder in (plain.eval(), adapted.eval()):
        with torch.no_grad():
            answers.append((encoder.encode_images(batch).mean, encoder.encode_texts(batch).mean))
    assert all(map(torch.equal, *answers))
    torch.manual_seed(0)
    for name, parameter in adapted.named_parameters():
        if ".lora_B." in name:
            torch.nn.init.normal_(parameter, std=0.1)
    with torch.no_grad():
        moved = adapted.encode_images(batch).mean, adapted.encode_texts(batch).mean
        adapted.network = adapted.merge_adapters()
        merged = adapted.encode_images(batch).mean, adapted.encode_texts(batch).mean
    assert not any(map(is_adapter, adapted.state_dict()))
    for one, other, before in zip(merged, moved, answers[0], strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
        assert (other - before).abs().max() > 1e-3


@pytest.mark.parametrize("side", ["image", "text"])
def test_a_frozen_tower_stays(side, folders):
    encoder = load("transformers", model=folders["CLIP"], **{f"freeze_{side}": True}).train()
    assert {
        encoder.side_of(name.removeprefix("network."))
        for name, p in encoder.named_parameters()
        if p.requires_grad
    } == ({"image", "text"} - {side})
    assert not encoder.tower(side).training


def test_words_are_touched_by_an_id_that_ends_no_text(folders):
    encoder = load("transformers", model=folders["CLIP"], size_augmentation=True).train()
    batch = batch_of(encoder, folders["CLIP"], [noise(32, 32)])
    torch.manual_seed(0)
    encoder.encode_texts(batch)
    assert encoder.mask_id - 1 == encoder.tokenizer.mask_token_id


def test_what_is_no_dual_encoder_or_no_folder_is_refused_in_one_line(tmp_path, folders):
    config = transformers.BertConfig(**TEXT)
    saved(tmp_path, lambda: transformers.BertModel(config))
    for options, message in (
        ({"model": str(tmp_path)}, "BertModel"),
        ({}, "image_encoder.model"),
        ({"model": folders["CLIP"], "embed_dim": 7}, "embed_dim=7"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            load("transformers", **options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "shift"), [("CLIP", 0.0), ("SigLIP", -10.0)])
def test_an_objective_begins_from_the_scale_of_the_model(kind, shift, folders):
    encoder = load("transformers", model=folders[kind])
    network = encoder.network
    scale, bias = encoder.logits
    assert scale == pytest.approx(float(network.logit_scale.exp()))
    assert bias == pytest.approx(float(getattr(network, "logit_bias", torch.tensor(shift))))
    contrastive = objectives.load("infonce", initial="model")
    contrastive.begin((31.0, 0.0))
    assert contrastive.scale.item() == pytest.approx(31)
    contrastive.begin((140.0, 0.0))
    assert contrastive.scale.item() == pytest.approx(100)
    sigmoid = objectives.load("siglip", scale="model")
    sigmoid.begin((117.0, -12.5))
    assert (sigmoid.log_scale.exp().item(), sigmoid.shift.item()) == pytest.approx((117, -12.5))
    for objective in (contrastive, sigmoid):
        with pytest.raises(ValueError, match="no model"):
            objective.begin(None)
