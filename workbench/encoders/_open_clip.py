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
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile, is_zipfile

import numpy as np
import open_clip
import torch
from open_clip.convert import convert_state_dict
from open_clip.hf_model import HFTextEncoder
from open_clip.model import (
    CLIPTextCfg,
    CLIPVisionCfg,
    convert_to_custom_text_state_dict,
    resize_pos_embed,
)
from open_clip.pretrained import download_pretrained_from_hf
from open_clip.transform import PreprocessCfg
from torch import Tensor

from workbench import assets
from workbench.assets.tokenizers import CONTEXT, LOCAL, open_clip_tokenizer, padding_id
from workbench.encoders._open_clip_towers import text_tower
from workbench.formatting import format_count
from workbench.io import expand_home, hub_access, read_options, reading_errors
from workbench.io.tensors import load_tensors
from workbench.records import require
from workbench.registry import did_you_mean, require_known

CONFIG = "open_clip_config.json"
WEIGHTS = "open_clip_model.safetensors"
HUB = "hf-hub:"
NO_MODEL = "describes no model that open_clip builds"
BPE_IDS = 49408
# what fields of preprocess_cfg may say
PREPARED = {
    "mode": ("RGB",),
    "resize_mode": ("shortest", "longest", "squash"),
    "interpolation": ("bicubic", "bilinear"),
}
# fields of text_cfg that name a tokenizer of open_clip, or its options
TOKENIZED = ("hf_model_name", "hf_tokenizer_name", "tokenizer_mode", "tokenizer_kwargs")
TEXT_POSITIONS = "positional_embedding"
IMAGE_POSITIONS = "visual.positional_embedding"
# LongCLIP keeps so many positions of the model that it began from, and learns the others in a second table
# (Zhang et al., "Long-CLIP: Unlocking the long-text capability of CLIP", ECCV 2024, section 3.1)
LONG_POSITIONS, KEPT_POSITIONS = f"{TEXT_POSITIONS}_res", 20
CHECKPOINTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
# names under which training tools write weights beside other things
WRAPPERS = ("state_dict", "model_state_dict", "model", "module")
# numbers that OpenAI's own files hold beside their weights
OPENAI = ("input_resolution", "context_length", "vocab_size")
# what files hold beside weights: these, masks, and the positions that older transformers counted
BUFFERS = {*OPENAI, "attn_mask", "text.attn_mask", "text.transformer.embeddings.position_ids"}


@dataclass(frozen=True)
class Description:
    """What is known of a model before it is built.

    Args:
        name: as the user gave it.
        architecture: open_clip's ``model_cfg``.
        preprocess: open_clip's ``preprocess_cfg``; empty = its defaults.
        vocabulary: words of a model that reads words; empty for a model with a tokenizer of open_clip.
        registered: whether open_clip knows the model by this name.
        notes: what of the configuration is not read, in words.
    """

    name: str
    architecture: Mapping[str, Any]
    preprocess: Mapping[str, Any] = field(default_factory=dict)
    vocabulary: tuple[str, ...] = ()
    registered: bool = False
    notes: tuple[str, ...] = ()


def find_description(model: str) -> Description:
    """Find a model's configuration.

    Args:
        model: an open_clip name, the path of a JSON file, or the name of the shipped model, ``"scenes"``.

    Raises:
        KeyError: no such name; the message lists the near ones.
        FileNotFoundError: no such JSON file.
        ValueError: the JSON file describes no model.
    """
    if model in assets.model_names() or model.endswith(".json"):
        return _read_configuration(
            assets.path(f"{model}/{CONFIG}") if model in assets.model_names() else expand_home(model), model
        )
    name = model if ":" in model else model.replace("/", "-")
    if ":" not in name:
        require_known("towers: no open_clip model", name, [*assets.model_names(), *open_clip.list_models()])
        return Description(name, open_clip.get_model_config(name), registered=True)
    place = name.removeprefix(LOCAL)
    if name.startswith(LOCAL):
        return _read_configuration(Path(place) / CONFIG, name)
    with reading_errors(place, NO_MODEL), hub_access(place):
        file = download_pretrained_from_hf(name.removeprefix(HUB), filename=CONFIG)
    return _read_configuration(Path(file), name)


def _read_configuration(path: Path, name: str) -> Description:
    require(
        path.is_file(),
        f"towers: no model configuration at {path}; give the path of a JSON file or an open_clip name",
        FileNotFoundError,
    )
    content = read_options(path)
    beside = ("preprocess_cfg", "vocabulary")
    architecture = content.get("model_cfg", {key: content[key] for key in content if key not in beside})
    missing = [key for key in ("embed_dim", "vision_cfg", "text_cfg") if key not in architecture]
    require(not missing, f"towers: {path} describes no open_clip model; missing: {', '.join(missing)}")
    preprocess = content.get("preprocess_cfg") or {}
    vocabulary = tuple(content.get("vocabulary", ()))
    require(isinstance(preprocess, Mapping), f"towers: preprocess_cfg of {path} is no mapping")
    _require_numbers(path, architecture)
    text = architecture["text_cfg"]
    require(
        "hf_model_name" not in text or "hf_tokenizer_name" in text,
        f"towers: text_cfg of {path} names hf_model_name and not its tokenizer; add hf_tokenizer_name",
    )
    require(
        not (vocabulary and "hf_tokenizer_name" in text),
        f"towers: {path} names two tokenizers, vocabulary and hf_tokenizer_name; leave one out",
    )
    known = [each.name for each in fields(PreprocessCfg)]
    unread = [key for key in content if "model_cfg" in content and key not in ("model_cfg", *beside)]
    unread += [f"preprocess_cfg.{key}" for key in preprocess if key not in known]
    notes = [f"{path.name} holds what is not read: {', '.join(unread)}"] if unread else []
    return Description(name, architecture, preprocess, vocabulary, notes=tuple(notes))


def _require_numbers(path: Path, architecture: Mapping[str, Any]) -> None:
    """Raise if there is a text where a number, true or false belongs: open_clip takes "false" for true."""
    for section, kind in (("vision_cfg", CLIPVisionCfg), ("text_cfg", CLIPTextCfg)):
        tower = architecture[section]
        require(isinstance(tower, Mapping), f"towers: {section} of {path} is no mapping")
        plain = [each.name for each in fields(kind) if "str" not in str(each.type)]
        wrong = [name for name in plain if isinstance(tower.get(name), str)]
        require(not wrong, f"towers: {section} of {path} has a text as {', '.join(wrong)}")
    wrong = [name for name, value in architecture.items() if isinstance(value, str)]
    require(not wrong, f"towers: {path} has a text as {', '.join(wrong)}")


def fitting_model(model: str, pretrained: str) -> str:
    """Return the model with the activation that its weights were trained with: OpenAI's and some others need
    QuickGELU, and open_clip's plain names build GELU.

    Args:
        model: as for ``find_description``.
        pretrained: a tag, a file, or ``""``.

    Returns:
        The name of open_clip's form with QuickGELU where the tag asks for it, or the file is OpenAI's, and
        ``model`` lacks it; else ``model``.

    Raises:
        ValueError: the file is OpenAI's, and ``model`` is a JSON file that says nothing of QuickGELU.

    >>> fitting_model("ViT-B-32", "openai"), fitting_model("ViT-B-32", "laion2b_s34b_b79k")
    ('ViT-B-32-quickgelu', 'ViT-B-32')
    """
    plain = model.replace("/", "-")
    quick = False
    if pretrained and pretrained in open_clip.list_pretrained_tags_by_model(plain):
        quick = open_clip.get_pretrained_cfg(plain, pretrained).get("quick_gelu", False)
    elif _is_of_openai(expand_home(pretrained)):
        quick = True
        fits = not model.endswith(".json") or find_description(model).architecture.get("quick_gelu")
        require(fits, f'{pretrained} holds weights of OpenAI; write "quick_gelu": true into {model}')
    form = f"{plain}-quickgelu"
    return form if quick and form in open_clip.list_models() else model


def _is_of_openai(file: Path) -> bool:
    """Return whether a file is an archive of TorchScript, as OpenAI published its weights, or holds these."""
    if not (file.is_file() and is_zipfile(file)):
        return False
    with ZipFile(file) as archive:
        inner = [name for name in archive.namelist() if name.endswith(("constants.pkl", "data.pkl"))]
        return any(name.endswith("constants.pkl") for name in inner) or any(
            OPENAI[0].encode() in archive.read(name) for name in inner
        )


def read_weights(file: Path) -> dict[str, Tensor]:
    """Return the weights in a file: safetensors, a PyTorch file of plain tensors, or an archive of
    TorchScript. Mappings that training tools write around them are taken off.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no weights, or some that are not finite; the message names it.
    """
    content = load_tensors(file, "weights")
    content = content if isinstance(content, Mapping) else {type(content).__name__: None}
    while inner := _wrapped_weights(content):
        content = inner[0]
    weights = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    names = f"{', '.join(map(str, content)) or 'nothing':.80}"
    require(weights, f"{file} holds no weights, but {names}; save one state_dict alone")
    # what a mask hides has minus infinity
    plain = {name: value for name, value in weights.items() if not name.endswith("attn_mask")}
    broken = [name for name, value in plain.items() if not value.isfinite().all()]
    require(not broken, f"{file}: {', '.join(broken[:1])} holds numbers that are not finite")
    return weights


def _wrapped_weights(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what holds the weights: by its name, or as the only one that holds tensors."""
    inner = {name: value for name, value in content.items() if isinstance(value, Mapping)}
    named = [inner[name] for name in WRAPPERS if name in inner]
    full = list(filter(_holds_tensors, inner.values()))
    return named or (full if len(full) == 1 else [])


def _holds_tensors(content: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Tensor) for value in content.values())


def load_weights(network: Any, file: Path) -> tuple[str, ...]:
    """Put the weights of a file into an open_clip model, whatever stands before their names.

    Args:
        network: the model.
        file: of the weights.

    Returns:
        What was changed to make them fit, in words: image positions are resized to another resolution, and
        LongCLIP's two tables of text positions become the one that it adds to its tokens.

    Raises:
        FileNotFoundError, ValueError: as ``read_weights``, or the weights are those of another model, or of
            one with another number of text positions.
    """
    own = network.state_dict()
    content = read_weights(file)
    first = next(name for name in own if name.startswith("visual."))
    prefixes = (name.removesuffix(first) for name in content if name.endswith(first))
    prefix = min(prefixes, key=len, default="")
    weights = {name.removeprefix(prefix): content[name] for name in content if name.startswith(prefix)}
    long = _join_positions(weights)
    with reading_errors(
        file, "holds the weights of another model", RuntimeError, LookupError, AssertionError
    ):
        weights = convert_state_dict(network, weights)
        if "positional_embedding" in weights and not hasattr(network, "positional_embedding"):
            weights = convert_to_custom_text_state_dict(weights)
        # half of the precision is what files keep, and what positions are not resized in
        weights = {name: weights[name].float() for name in weights if name in own or name not in BUFFERS}
        for name in own.keys() & weights.keys() & {"logit_scale", "logit_bias"}:
            weights[name] = weights[name].reshape(own[name].shape)
        before = len(weights.get(IMAGE_POSITIONS, ()))
        resize_pos_embed(weights, network)
    after = len(weights.get(IMAGE_POSITIONS, ()))
    _require_same_model(network, weights, file)
    network.load_state_dict(weights, strict=False)
    resized = f"the {before} image positions of {file.name} were resized to {after}"
    joined = f"text positions of {file.name} beyond {KEPT_POSITIONS} are those of {LONG_POSITIONS}"
    notes = {resized: before != after, joined: long}
    return tuple(note for note, holds in notes.items() if holds)


def _join_positions(weights: dict[str, Tensor]) -> bool:
    """Put LongCLIP's two tables of text positions in one, as its encoder reads them; return whether there are
    two.
    """
    if not {TEXT_POSITIONS, LONG_POSITIONS} <= weights.keys():
        return False
    first, second = weights[TEXT_POSITIONS], weights.pop(LONG_POSITIONS)
    weights[TEXT_POSITIONS] = torch.cat([first[:KEPT_POSITIONS], second[KEPT_POSITIONS:]])
    return True


def _require_same_model(network: Any, weights: Mapping[str, Tensor], file: Path) -> None:
    """Raise if weights lack a name of the model, have another name, or have one of another shape."""
    own = network.state_dict()
    absent = own.keys() - weights.keys() - {"logit_bias"}
    extra = weights.keys() - own.keys()
    other = {name for name in own.keys() & weights.keys() if own[name].shape != weights[name].shape}
    if not (absent or extra) and {name.removeprefix("text.") for name in other} == {TEXT_POSITIONS}:
        _require_same_positions(network, weights[min(other)], file)
    wrong = []
    for problem, names in (("it lacks", absent), ("it has", extra), ("of another shape is", other)):
        if names:
            wrong.append(f"{problem} {min(names)} ({format_count(len(names), 'name')})")
    require(not wrong, f"{file} holds the weights of another model: {'; '.join(wrong)}")


def _require_same_positions(network: Any, positions: Tensor, file: Path) -> None:
    """Raise if text positions are not those of the model: open_clip would stretch them in silence.

    Raises:
        ValueError: always, unless the positions are of another width.
    """
    tower = text_tower(network)
    wanted = tower.positional_embedding
    length = tower.context_length + len(positions) - len(wanted)
    require(
        positions.shape[1:] != wanted.shape[1:],
        f"{file} holds {len(positions)} text positions, and the model has {len(wanted)}; give a JSON "
        f"configuration whose text_cfg has context_length {length}",
    )


def reads_words(description: Description) -> bool:
    """Return whether a model reads ids of whole words; if not, its ids are those of a tokenizer of
    open_clip.
    """
    text = description.architecture["text_cfg"]
    named = any(name in text for name in TOKENIZED) or ":" in description.name
    own_tokenizer = description.registered or named or text.get("vocab_size", BPE_IDS) >= BPE_IDS
    return bool(description.vocabulary) or not own_tokenizer


@contextmanager
def _keep_logging() -> Iterator[None]:
    """Keep logging as it was: what open_clip says through the root logger would give that a handler."""
    handlers = list(logging.root.handlers)
    disabled = logging.root.manager.disable
    try:
        yield
    finally:
        logging.root.handlers[:] = handlers
        logging.disable(disabled)


def build(description: Description, pretrained: str) -> Any:
    """Build a model and load its weights.

    Args:
        description: from ``find_description``.
        pretrained: an open_clip tag, the path of a checkpoint, the name of a shipped model, or ``""`` for
            random weights.

    Returns:
        The open_clip model in training mode; ``visual.preprocess_cfg`` says how its images are made, with all
        that open_clip takes for granted, ``notes`` what is worth printing, in words, and ``random_weights``
        whether nobody gave any.

    Raises:
        FileNotFoundError: no such checkpoint.
        ValueError: no such tag, the shipped weights are asked for with another model, a text of the length
            that the configuration says has no positions, or images are prepared as open_clip cannot.
    """
    network, notes = _build_model(description, pretrained)
    _require_context(network, description)
    visual = network.visual
    with reading_errors(description.name, "says of images what cannot be read", TypeError):
        visual.preprocess_cfg = _preparation_recipe(visual.preprocess_cfg)
        size = description.preprocess.get("size") or visual.image_size
        wide, read = (np.broadcast_to(sides, 2).tolist() for sides in (size, visual.image_size))
    if wide != read:
        notes = (*notes, f"images are read at {read}, as vision_cfg says; preprocess_cfg says {wide}")
    network.notes = (*description.notes, *notes)
    network.random_weights = not pretrained and ":" not in description.name
    return network.train()


def _preparation_recipe(preprocess: Mapping[str, Any]) -> dict[str, Any]:
    """Return how images are made, as open_clip makes them: three means, and what it does with other
    values.
    """
    recipe = dict(preprocess)
    for name in ("mean", "std"):
        recipe[name] = np.broadcast_to(np.asarray(preprocess[name], dtype=float), 3).tolist()
    require(min(recipe["std"]) > 0, f"std is {preprocess['std']}")
    height, width = np.broadcast_to(recipe["size"], 2).tolist()
    # it scales to a rectangle by bicubic interpolation, whatever is asked for
    rectangle = recipe["resize_mode"] == "shortest" and height != width
    if recipe["interpolation"] == "random" or rectangle:
        recipe["interpolation"] = "bicubic"
    for name, known in PREPARED.items():
        require(recipe[name] in known, f"{name} is {recipe[name]!r}; choose {' or '.join(known)}")
    return recipe


def _require_context(network: Any, description: Description) -> None:
    """Raise if a text tower of transformers has fewer positions than texts may have tokens."""
    tower = text_tower(network)
    text = description.architecture["text_cfg"]
    length = text.get("context_length", CONTEXT)
    positions = getattr(tower, "context_length", 0)
    if isinstance(tower, HFTextEncoder) and 0 < positions < length:
        name = text.get("hf_model_name")
        raise ValueError(
            f"{description.name}: texts have up to {length} tokens, and {name} has {positions} positions; "
            f"set context_length in text_cfg to {positions}"
        )


@_keep_logging()
def _build_model(description: Description, pretrained: str) -> tuple[Any, tuple[str, ...]]:
    """Return the model with its weights, and what was changed to make them fit."""
    if ":" in description.name:
        place = Path(description.name.removeprefix(LOCAL))
        network = _create_model(description.name, place, place, load_weights=not place.is_dir())
        return network, load_weights(network, _weights_in(place)) if place.is_dir() else ()
    is_file = pretrained.endswith(CHECKPOINTS) or expand_home(pretrained).is_file()
    if pretrained and not is_file and pretrained not in assets.model_names():
        _require_tag(description, pretrained)
        wanted = f"{description.name}:{pretrained}"
        with reading_errors(wanted, "cannot be downloaded", RuntimeError), hub_access(wanted):
            return open_clip.create_model(description.name, pretrained=pretrained, weights_only=True), ()
    network = _instantiate(description)
    return network, load_weights(network, _checkpoint_path(description, pretrained)) if pretrained else ()


def set_padding(network: Any, description: Description) -> None:
    """Keep on the text tower with which id its tokenizer fills the rows that the tower was trained on.

    Args:
        network: from ``build``.
        description: its own.

    Raises:
        FileNotFoundError, ValueError: the tokenizer cannot be read.
    """
    tower = text_tower(network)
    text = description.architecture["text_cfg"]
    # a tower of transformers knows its own
    named = text.get("hf_tokenizer_name") and not isinstance(tower, HFTextEncoder)
    tower.tokenizer_padding = padding_id(open_clip_tokenizer(description.name)) if named else 0


def _require_tag(description: Description, tag: str) -> None:
    tags = open_clip.list_pretrained_tags_by_model(description.name) if description.registered else []
    if tag not in tags:
        near = did_you_mean(tag, tags) if tags else "it has no tags, so give a file of weights"
        raise ValueError(
            f"towers: no pretrained tag {tag!r} for {description.name!r}, and no file of this name; {near}"
        )


def _checkpoint_path(description: Description, pretrained: str) -> Path:
    require(
        pretrained not in assets.model_names() or pretrained == description.name,
        f"towers: the shipped weights {pretrained!r} fit model='{pretrained}', not {description.name!r}; "
        "set pretrained to a tag, to the path of a checkpoint, or to '' for random weights",
    )
    path = (
        assets.path(f"{pretrained}/{WEIGHTS}")
        if pretrained in assets.model_names()
        else expand_home(pretrained)
    )
    require(
        path.is_file(),
        f"towers: no checkpoint at {path}; give the path of a file that exists, or an open_clip tag",
        FileNotFoundError,
    )
    return path


def _instantiate(description: Description) -> Any:
    """Return the model with random weights, made by open_clip from a local folder that holds the
    configuration.

    Weights of single towers would come from a hub; whoever wants pre-trained weights names a tag or a file.
    """
    content = {"model_cfg": dict(description.architecture), "preprocess_cfg": dict(description.preprocess)}
    fetched = description.name if "hf_model_name" in description.architecture["text_cfg"] else ""
    with TemporaryDirectory() as folder:
        (Path(folder) / CONFIG).write_text(json.dumps(content), encoding="utf-8")
        return _create_model(f"{LOCAL}{folder}", description.name, fetched, load_weights=False)


@_keep_logging()
def _create_model(source: str, name: str | Path, fetched: str | Path, *, load_weights: bool) -> Any:
    wrong = (TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, AssertionError)
    with reading_errors(name, NO_MODEL, *wrong), hub_access(fetched):
        # open_clip warns of random weights, which are what is asked for here
        logging.disable(logging.WARNING)
        return open_clip.create_model(
            source, load_weights=load_weights, pretrained_text=False, weights_only=True
        )


def _weights_in(folder: Path) -> Path:
    """Return the file of a folder that open_clip reads: of its own names, else of safetensors, else the
    first.
    """
    files = [file for file in sorted(folder.iterdir()) if file.suffix in CHECKPOINTS]
    require(files, f"{folder} holds no weights ({', '.join(CHECKPOINTS)})", FileNotFoundError)
    return min(files, key=lambda file: (not file.name.startswith("open_clip"), file.suffix != CHECKPOINTS[0]))
