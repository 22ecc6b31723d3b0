"""Dual encoders of the open_clip library: where a model's configuration and weights come from, and where they
go.

A model is named in one of three ways: an open_clip name (``"ViT-B-32"``), a JSON file, or ``"scenes"``, the
small model that is shipped with the package. A JSON file holds ``embed_dim``, ``vision_cfg`` and ``text_cfg``
as open_clip has them, either directly or under ``model_cfg`` beside ``preprocess_cfg``, which is the layout
of open_clip's own local folders; ``vocabulary`` beside them lists the words of a model that reads words.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import open_clip
import torch
from safetensors.torch import save_file
from torch import nn

from workbench import assets
from workbench.io import read_options
from workbench.registry import did_you_mean

CONFIG, WEIGHTS = "open_clip_config.json", "open_clip_model.safetensors"
BPE_IDS = 49408
CHECKPOINTS = (".safetensors", ".pt", ".pth", ".bin")


@dataclass(frozen=True)
class Description:
    """What is known of a model before it is built.

    Args:
        name: as the user gave it.
        architecture: open_clip's ``model_cfg``.
        preprocess: open_clip's ``preprocess_cfg``; empty = its defaults.
        vocabulary: words of a model that reads words; empty for a model with a tokenizer of open_clip.
        registered: whether open_clip knows the model by this name.
    """

    name: str
    architecture: Mapping[str, Any]
    preprocess: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: tuple[str, ...] = ()
    registered: bool = False


def describe(model: str) -> Description:
    """Find a model's configuration.

    Args:
        model: an open_clip name, the path of a JSON file, or the name of the shipped model, ``"scenes"``.

    Raises:
        KeyError: no such name; the message lists the near ones.
        FileNotFoundError: no such JSON file.
        ValueError: the JSON file describes no model.
    """
    if model in assets.models() or model.endswith(".json"):
        return _read(assets.path(f"{model}/{CONFIG}") if model in assets.models() else Path(model), model)
    name = model if ":" in model else model.replace("/", "-")
    known = open_clip.list_models()
    if ":" not in name and name not in known:
        raise KeyError(
            f"towers: no open_clip model {model!r}; {did_you_mean(name, [*assets.models(), *known])}"
        )
    return Description(name, open_clip.get_model_config(name), registered=True)


def _read(path: Path, name: str) -> Description:
    if not path.is_file():
        raise FileNotFoundError(
            f"towers: no model configuration at {path}; give the path of a JSON file or an open_clip name"
        )
    content = read_options(path)
    architecture = content.get(
        "model_cfg", {k: v for k, v in content.items() if k not in ("preprocess_cfg", "vocabulary")}
    )
    missing = [key for key in ("embed_dim", "vision_cfg", "text_cfg") if key not in architecture]
    if missing:
        raise ValueError(f"towers: {path} describes no open_clip model; missing: {', '.join(missing)}")
    return Description(
        name, architecture, content.get("preprocess_cfg", {}), tuple(content.get("vocabulary", ()))
    )


def fitting(model: str, pretrained: str) -> str:
    """The model with the activation that its weights were trained with: OpenAI's and some others need
    QuickGELU, and open_clip's plain names build GELU.

    Args:
        model: as for ``describe``.
        pretrained: a tag, a file, or ``""``.

    Returns:
        The name of open_clip's form with QuickGELU where the tag asks for it and ``model`` lacks it; else
        ``model``. A file says nothing: for OpenAI's weights from a file name ``"ViT-B-32-quickgelu"``, or
        write ``"quick_gelu": true`` into the JSON configuration.

    >>> fitting("ViT-B-32", "openai"), fitting("ViT-B-32", "laion2b_s34b_b79k")
    ('ViT-B-32-quickgelu', 'ViT-B-32')
    """
    plain = model.replace("/", "-")
    if not pretrained or pretrained not in open_clip.list_pretrained_tags_by_model(plain):
        return model
    asked = open_clip.get_pretrained_cfg(plain, pretrained).get("quick_gelu", False)
    form = f"{plain}-quickgelu"
    return form if asked and form in open_clip.list_models() else model


def reads_words(description: Description) -> bool:
    """Whether a model reads ids of whole words; if not, its ids are those of a tokenizer of open_clip."""
    text = description.architecture["text_cfg"]
    named = "hf_model_name" in text or "hf_tokenizer_name" in text
    own_tokenizer = description.registered or named or text.get("vocab_size", BPE_IDS) == BPE_IDS
    return bool(description.vocabulary) or not own_tokenizer


@contextmanager
def _logging_kept() -> Iterator[None]:
    """Afterwards logging is as it was; what open_clip says through the root logger gives that a handler."""
    handlers, disabled = list(logging.root.handlers), logging.root.manager.disable
    try:
        yield
    finally:
        logging.root.handlers[:] = handlers
        logging.disable(disabled)


@_logging_kept()
def build(description: Description, pretrained: str) -> Any:
    """Build a model and load its weights.

    Args:
        description: from ``describe``.
        pretrained: an open_clip tag, the path of a checkpoint, the name of a shipped model, or ``""`` for
            random weights.

    Returns:
        The open_clip model in training mode; ``visual.preprocess_cfg`` says how its images are made.

    Raises:
        FileNotFoundError: no such checkpoint.
        ValueError: no such tag, or the shipped weights are asked for with another model.
    """
    if ":" in description.name:
        return open_clip.create_model(description.name, weights_only=True).train()
    if pretrained and not pretrained.endswith(CHECKPOINTS) and pretrained not in assets.models():
        _require_tag(description, pretrained)
        try:
            return open_clip.create_model(description.name, pretrained=pretrained, weights_only=True).train()
        except (OSError, RuntimeError) as error:
            raise FileNotFoundError(
                f"the weights {pretrained!r} of {description.name} cannot be downloaded; set pretrained, "
                "of the encoder's options, to the path of their file, or go where the hub can be reached"
            ) from error
    network = _instantiate(description)
    if pretrained:
        open_clip.load_checkpoint(network, str(_checkpoint(description, pretrained)), weights_only=True)
    return network.train()


def _require_tag(description: Description, tag: str) -> None:
    tags = open_clip.list_pretrained_tags_by_model(description.name) if description.registered else []
    if tag not in tags:
        raise ValueError(
            f"towers: no pretrained tag {tag!r} for {description.name!r}; "
            f"{did_you_mean(tag, tags) if tags else 'it has no tags'} "
            f"(a file must end in {', '.join(CHECKPOINTS)})"
        )


def _checkpoint(description: Description, pretrained: str) -> Path:
    if pretrained in assets.models() and pretrained != description.name:
        raise ValueError(
            f"towers: the shipped weights {pretrained!r} fit model='{pretrained}', not {description.name!r}; "
            "set pretrained to a tag, to the path of a checkpoint, or to '' for random weights"
        )
    path = assets.path(f"{pretrained}/{WEIGHTS}") if pretrained in assets.models() else Path(pretrained)
    if not path.is_file():
        raise FileNotFoundError(
            f"towers: no checkpoint at {path}; give the path of a file that exists, or an open_clip tag"
        )
    return path


def _instantiate(description: Description) -> Any:
    """The model with random weights, made by open_clip from a local folder that holds the configuration.

    Weights of single towers would come from a hub; whoever wants pre-trained weights names a tag or a file.
    """
    content = {"model_cfg": dict(description.architecture), "preprocess_cfg": dict(description.preprocess)}
    with _logging_kept(), TemporaryDirectory() as folder:
        # open_clip warns of random weights, which are what is asked for here
        logging.disable(logging.WARNING)
        (Path(folder) / CONFIG).write_text(json.dumps(content), encoding="utf-8")
        return open_clip.create_model(f"local-dir:{folder}", load_weights=False, pretrained_text=False)


def export(
    network: nn.Module, description: Description, folder: str | Path, *, dtype: torch.dtype = torch.float16
) -> Path:
    """Write a model in the layout of open_clip's local folders, so that open_clip itself can read it too.

    Args:
        network: the open_clip model.
        description: its configuration, with the vocabulary where it has one.
        folder: receives ``open_clip_config.json`` and ``open_clip_model.safetensors``.
        dtype: of the stored weights.

    Returns:
        The path of the weights.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    content = {
        "model_cfg": dict(description.architecture),
        "preprocess_cfg": dict(description.preprocess),
        "vocabulary": list(description.vocabulary),
    }
    (place / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    weights = {
        name: (value.to(dtype) if value.is_floating_point() else value).detach().cpu().clone().contiguous()
        for name, value in network.state_dict().items()
    }
    save_file(weights, place / WEIGHTS)
    return place / WEIGHTS
