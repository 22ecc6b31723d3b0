"""The files that come with the package: the small dual encoder of the embedded world."""

import pytest
import torch
from safetensors import safe_open

from workbench import assets, data
from workbench.encoders import load
from workbench.encoders.towers import Towers
from workbench.records import Batch
from workbench.runs import Config
from workbench.text import load as load_signal

MOST_BYTES = 5_000_000


def test_a_shipped_file_is_found_and_another_name_is_refused():
    assert assets.path("scenes/pretrain.json").is_file()
    for name in ("scenes/weights.bin", "../cli.py"):
        with pytest.raises(FileNotFoundError, match="no shipped file"):
            assets.path(name)


def test_the_shipped_weights_are_small_and_in_half_precision():
    path = assets.path("scenes/open_clip_model.safetensors")
    assert path.stat().st_size < MOST_BYTES
    with safe_open(path, framework="pt") as file:
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - not a mapping
    assert kinds <= {"F16", "I64"}


def test_the_vocabulary_of_the_shipped_model_covers_the_world():
    captions = [
        c
        for texts in ("captions", "chains")
        for c in data.load("scenes", split="val", size=100, texts=texts).captions
    ]
    tokens = load_signal("tokens", **Towers.text_features(model="scenes")["tokens"]).fit(captions)
    ids = tokens.transform(captions).take(torch.arange(len(captions)).numpy())
    assert not (ids == 1).any()
    assert int((ids != 0).sum(1).max()) < tokens.max_length


def test_the_command_that_makes_the_model_again_reads_the_shipped_configuration():
    config = Config.read(assets.path("scenes/pretrain.json"))
    assert (config.data.name, config.image_encoder.options) == (
        "scenes",
        {"model": "scenes", "pretrained": ""},
    )


def test_the_shipped_model_knows_the_embedded_world():
    split = data.load("scenes", split="test", size=40)
    encoder = load("towers").eval()
    tokens = (
        load_signal("tokens", **Towers.text_features()["tokens"])
        .fit(split.captions)
        .transform(split.captions)
    )
    rows = torch.arange(len(split.captions)).numpy()
    with torch.no_grad():
        pixels = torch.stack([encoder.transform(split.open_image(i)) for i in range(40)])
        images = encoder.encode_images(Batch(split.image_ids, [], torch.zeros(0), {"pixels": pixels})).mean
        texts = encoder.encode_texts(
            Batch([], split.caption_ids, torch.zeros(200), signals={"tokens": tokens.take(rows)})
        ).mean
    top = (images @ texts.T).argmax(0).numpy()
    assert split.judgements["exact"].relevant()[top, rows].mean() > 0.85
