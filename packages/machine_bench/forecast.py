"""What the arms of a grid will take on this device, before anything starts: steps, memory and hours.

Steps follow from the data. The rest is an estimate from sizes and from three things that are measured here at
once: a training step of ViT-B/32, the loss, and reading a photograph.
"""

import json
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import open_clip
import torch
from PIL import Image
from torch import nn

from machine_bench import PARTS, WORDS, loss_seconds, median_seconds, vit_seconds
from workbench import data, encoders
from workbench.cli.output import align_columns
from workbench.data.images import read_image
from workbench.execution.needs import reads_pixels
from workbench.formatting import format_count, format_number
from workbench.io import read_options
from workbench.runs import spellings
from workbench.runs.build import load_split
from workbench.runs.config import Config, EncoderConfig
from workbench.runs.resolve import make_objective, resolve
from workbench.training import samplers

# operations a weight and position in a forward pass, and with the backward pass
FORWARD, BOTH = 2, 6
# bytes of a weight that trains, with gradient and two moments, and of one that does not
TRAINED, FROZEN = 16, 4
# of a layer: numbers a position that wait for the backward pass, in its width; weights, in its width squared
KEPT, LAYER = 22, 12
# layers and width of the text encoder of the papers, BERT-base
BERT = (12, 768)
MODEL = "ViT-B-32"
CAPTIONS, STAND_IN = 5, 10_000
# pairs of a measured step and of a measured loss on a CPU, and on a GPU
FEW, SOME = 4, 16
MANY = 128
SHAPE = (640, 480)


class Load(NamedTuple):
    """What an encoder or a part of it takes.

    Args:
        weights: that train.
        frozen: weights that do not.
        work: products of a weight and a position, for one image or caption.
        activations: numbers that wait for the backward pass, for one image or caption.
    """

    weights: float = 0
    frozen: float = 0
    work: float = 0
    activations: float = 0

    def add(self, other: "Load") -> "Load":
        """Return both together."""
        return Load(*map(sum, zip(self, other, strict=True)))


def forecast(
    arms: Mapping[str, Mapping[str, Any]], rows: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return steps, memory and hours of each row of a grid, as JSON values and as lines.

    Args:
        arms: parameters of a training notebook by label.
        rows: label of an arm -> the same without its seed.
    """
    table: dict[str, dict[str, Any]] = {}
    for label, values in arms.items():
        row = table.setdefault(rows[label], {"arm": rows[label], "runs": 0})
        if not row["runs"]:
            fields = {name: value for name, value in spellings.fields(values).items() if name != "out"}
            row |= _forecast_arm(resolve(Config(**fields)))
        row["runs"] += 1
    heads = ("arm", "runs", "steps", "million weights", "memory, GB", "hours a run")
    shown = [_cells(row) for row in table.values()]
    total = sum(row["runs"] * row["hours"] for row in table.values())
    runs = format_count(len(arms), "run")
    return list(table.values()), [
        *align_columns([heads, *shown]),
        "",
        f"{runs}: {format_number(total, 1)} hours.",
        *assumptions(),
    ]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a row of the forecast as text."""
    weights = format_number(row["weights"] / 1e6, 1)
    memory, hours = format_number(row["memory"] / 1e9, 1), format_number(row["hours"], 2)
    return row["arm"], str(row["runs"]), format_count(row["steps"]), weights, memory, hours


def assumptions() -> list[str]:
    """Return what the numbers are estimated from."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "this CPU"
    speed, photograph = (
        format_number(_operations_per_second() / 1e9, 0),
        format_number(1000 * _photograph_seconds(), 1),
    )
    return [
        f"Estimated for {device}. Steps follow from the training data, or from its known sizes.",
        f"Hours: {BOTH} operations a weight and position, at {speed} GFLOP/s as in a step of {MODEL} "
        f"just now; the loss as measured now; {photograph} ms a photograph, as measured now.",
        f"Memory: {TRAINED} bytes a weight that trains, {FROZEN} a frozen one, and activations.",
        "Validation, the test, and what is computed once of captions and features come on top.",
    ]


def _forecast_arm(config: Config) -> dict[str, Any]:
    """Return steps, trained weights, memory in bytes and hours of one run."""
    objective, images = make_objective(config), config.batch_size
    captions = images * config.captions_per_image
    image, text = _side_loads(config.image_encoder.model_dump_json(), config.text_encoder.model_dump_json())
    work = (BOTH + FORWARD * objective.momentum) * (images * image.work + captions * text.work)
    measured = min(images, MANY if torch.cuda.is_available() else SOME)
    taken = (
        work / _operations_per_second()
        + _loss_seconds(config.objective.model_dump_json(), measured) * (images / measured) ** 2
    )
    if reads_pixels(config.as_dict()):
        taken += images * _photograph_seconds() / max(config.workers, 1)
    weights = image.weights + text.weights
    activations = (2 if torch.cuda.is_available() else 4) * (
        images * image.activations + captions * text.activations
    )
    compared = 4 * FROZEN * images * captions * PARTS * WORDS if "parts" in objective.reads else 0
    frozen = image.frozen + text.frozen + weights * objective.momentum
    several = config.sampler == "clusters" or config.captions_per_image > 1
    each = config.captions_per_image if several else 0
    where = config.model_dump_json(include={"data", "train_images"})
    steps = config.epochs * _epoch_steps(where, images, each)
    memory = (
        TRAINED * weights + FROZEN * frozen + activations + compared if steps else FROZEN * (weights + frozen)
    )
    return {"steps": steps, "weights": weights, "memory": memory, "hours": steps * taken / 3600}


@cache
def _epoch_steps(where: str, size: int, each: int) -> int:
    """Return steps of an epoch over the training data of a configuration as JSON, in batches of so many
    images with as many captions each, or of captions if that is 0.
    """
    config = Config(**json.loads(where))
    place = config.data
    try:
        own = load_split(config, "train", progress=False).own
    except FileNotFoundError:
        images, _ = data.member(place.name).counts["train"]
        images = min(round(images * place.options.get("share", 1)), config.train_images or images)
        own = np.repeat(np.arange(images), CAPTIONS)
    if each:
        return len(samplers.group_by_image(own, size, each, np.random.default_rng(0)))
    return len(own) // size or 1


@cache
def _side_loads(of_images: str, of_texts: str) -> tuple[Load, Load]:
    """Return what the encoder of images takes, and that of captions, each as JSON; one that serves both
    counts half at each.
    """
    images, texts = EncoderConfig.model_validate_json(of_images), EncoderConfig.model_validate_json(of_texts)
    if images.name == "towers":
        image, text = _tower_loads(str(images.options.get("model", "scenes")))
        return image, text if texts.name == "towers" else _encoder_load(texts.name, texts.options, WORDS)
    if texts.name != images.name:
        image = _encoder_load(images.name, images.options, PARTS)
        return image, _encoder_load(texts.name, texts.options, WORDS)
    load = _encoder_load(images.name, images.options, (PARTS + WORDS) // 2)
    half = Load(*(part / 2 for part in load))
    return half, half


def _tower_loads(model: str) -> tuple[Load, Load]:
    """Return both towers of an open_clip model, from its configuration."""
    if model.endswith(".json"):
        config = read_options(model)
        config = config.get("model_cfg", config)
    else:
        config = open_clip.get_model_config(model.replace("/", "-")) or {}
    vision, text = config.get("vision_cfg", {}), config.get("text_cfg", {})
    if not (isinstance(vision.get("layers"), int) and "layers" in text):
        both = _encoder_load(
            "towers", {"model": model, "pretrained": model if model == "scenes" else ""}, PARTS
        )
        return both, Load(work=both.work / 2, activations=both.activations / 2)
    patches = (vision["image_size"] // vision["patch_size"]) ** 2 + 1
    words = text["vocab_size"] * text["width"]
    return (
        _transformer_load(vision["layers"], vision["width"], patches),
        _transformer_load(text["layers"], text["width"], text["context_length"]).add(Load(words)),
    )


def _transformer_load(layers: int, width: int, positions: int) -> Load:
    weights = LAYER * layers * width**2
    return Load(weights, 0, weights * positions, KEPT * layers * width * positions)


def _encoder_load(name: str, options: Mapping[str, Any], positions: int) -> Load:
    """Return an encoder of ours, made with random weights, and what stands in it that would have to be
    fetched.
    """
    # towers are what an open_clip model is made into; with other encoders such a model is a guide
    plain, more = (options, Load()) if name == "towers" else _without_text_encoders(options, positions)
    facts = {"vocabulary": tuple(map(str, range(STAND_IN))), "pretrained": ""}
    with torch.random.fork_rng(devices=[]):
        module = encoders.load(name, **encoders.member(name).complete(plain, facts))
    for layer in module.modules():
        for values in layer.parameters(recurse=False):
            runs = 0 if isinstance(layer, nn.Embedding) else values.numel() * positions
            activations = values.shape[:1].numel() * positions if runs else 0
            more = more.add(Load(values.numel(), 0, runs, activations))
    return more


def _without_text_encoders(options: Mapping[str, Any], positions: int) -> tuple[dict[str, Any], Load]:
    """Return options of an encoder without text encoders, word vectors and CLIP, and what these take."""
    out, load = dict(options), Load()
    for name, value in options.items():
        if isinstance(value, Mapping):
            out[name], part = _without_text_encoders(value, positions)
            load = load.add(part)
    if "model" in options:  # a guide, whose vectors are computed once
        out = {"model": "scenes", "pretrained": "scenes"}
        load = load.add(Load(frozen=sum(side.weights for side in _tower_loads(str(options["model"])))))
    elif options.get("backbone", "frozen") != "frozen":
        layers, width = BERT
        load = load.add(_transformer_load(layers, width, positions)).add(Load(30_522 * width))
        dropped = ("backbone", "features", "name")
        out = {option: out[option] for option in out if option not in dropped}
        out |= {"kind": "gru"} if "kind" in options else {}
    return out, load


@cache
def _operations_per_second() -> float:
    """Return operations a second in a training step here."""
    pairs = MANY if torch.cuda.is_available() else FEW
    work = sum(side.work for side in _tower_loads(MODEL))
    return BOTH * work * pairs / vit_seconds(pairs, rounds=1)


@cache
def _loss_seconds(objective: str, images: int) -> float:
    """Return seconds of a loss and its gradients, of an objective as JSON."""
    return loss_seconds(make_objective(Config(objective=json.loads(objective))), images)


@cache
def _photograph_seconds() -> float:
    """Return seconds that a photograph takes to be read and made smaller."""
    noise = np.random.default_rng(0).integers(0, 255, (SHAPE[1] // 8, SHAPE[0] // 8, 3), dtype=np.uint8)
    file = BytesIO()
    Image.fromarray(noise).resize(SHAPE).save(file, "jpeg")
    return median_seconds(lambda: read_image(file.getvalue(), "noise").resize((224, 224)), 9)
