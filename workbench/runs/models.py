"""Every way to name a model: an open_clip name, a folder or a name of transformers or sentence-transformers,
a finished run, or any object that encodes images and texts.

What comes back embeds a split, loose images and loose texts, and scores them: a ``Model`` where the library
built it, an ``ExternalModel`` otherwise.
"""

import json
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn

from workbench import assets
from workbench.assets import text_models
from workbench.io import ChecksumError, from_user, hub, read_options, reading_errors, require_itself
from workbench.progress import Task
from workbench.records import require
from workbench.registry import did_you_mean, door, options_of
from workbench.runs import store as runs
from workbench.runs.build import build
from workbench.runs.config import Config
from workbench.runs.model import Adapter, AnyModel, Encodes, ExternalModel, KeptVectors, Model
from workbench.runs.resolve import resolve
from workbench.runs.store import verify_files
from workbench.runs.weights import SEED, lacks_weights, require_weights, with_note
from workbench.training import checkpoint, seed_everything
from workbench.training.settings import changed

SENTENCES = "sentence-transformers"
DUAL = "only dual encoders, such as CLIP and SigLIP, can be opened so far"
# more tokens than any model reads
UNLIMITED = 10**9
# names of the parts that count positions, and of those that do so in images
POSITIONS, IMAGES = re.compile(r"(^|\.)(embed_positions|position_embeddings?)$"), re.compile("vision|image")
# what stands before a colon in names of open_clip that are no architectures
SCHEMES = ("hf-hub", "local-dir")
# a file of a folder, and the library that reads the folder
FOLDERS = {"open_clip_config.json": "open_clip", "modules.json": SENTENCES, "config.json": "transformers"}
# endings of what such folders hold beside notes
KEPT = {".safetensors", ".bin", ".json", ".model"}


class HuggingFace(Adapter):
    """A dual encoder of transformers: CLIP, SigLIP and their like.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, is no dual encoder, or its weights are not finite.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        opening = reading_errors(name, "cannot be opened by transformers", Exception)
        with opening, text_models.without_code(name):
            self.model = _dual_encoder(name, *_saved_as(name))
            self.processor = text_models.read("AutoProcessor", name)
        broken = next((part for part, one in self.named_parameters() if not one.isfinite().all()), "")
        require(not broken, f"{name}: {broken} holds numbers that are not finite")
        self.name = name
        self.longest = _least(self.processor.tokenizer.model_max_length, _text_positions(self.model))
        # SigLIP has seen texts of one length alone
        self.padding = "max_length" if "siglip" in self.model.config.model_type else True

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """``(N, D)`` vectors."""
        given = self.processor(images=images, return_tensors="pt")
        return vectors_in(self.model.get_image_features(**given.to(self.model.device)))

    def encode_text(self, texts: Sequence[str]) -> Any:
        """``(N, D)`` vectors; a text is cut to what the model reads."""
        cut = {"truncation": True, "max_length": self.longest} if self.longest else {}
        given = self.processor(text=texts, padding=self.padding, return_tensors="pt", **cut)
        return vectors_in(self.model.get_text_features(**given.to(self.model.device)))

    def cut(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        return text_models.longer(self.processor.tokenizer, texts, self.longest) if self.longest else 0


def vectors_in(output: Any) -> Any:
    """Take the vectors out of what a method of transformers gives, which is an object in newer releases.

    Args:
        output: of ``get_image_features`` or ``get_text_features``.
    """
    return getattr(output, "pooler_output", output)


def _saved_as(name: str) -> tuple[Any, Any]:
    """The class that reads a model as a whole, and the one whose weights were saved."""
    import transformers

    config = text_models.read("AutoConfig", name)
    whole = transformers.MODEL_MAPPING.get(type(config), None)
    saved = getattr(transformers, next(iter(config.architectures or ()), ""), None)
    return whole, saved or whole


def _dual_encoder(name: str, whole: Any, saved: Any) -> Any:
    """A model that encodes images and texts apart.

    Args:
        name: a folder or a name of the hub.
        whole: class that reads it as a whole; ``None`` = not known.
        saved: class whose weights were saved.

    Raises:
        ValueError: it does not; the message says what its class reads instead.
    """
    require(whole is None or _encodes_apart(whole), f"{name} holds a {_reads(saved or whole)}")
    try:
        return text_models.read("AutoModel", name)
    except text_models.IncompleteError as error:
        part = saved is not whole and not _encodes_apart(saved)
        raise ValueError(f"{name} holds a {_reads(saved)}" if part else str(error)) from error


def _encodes_apart(kind: Any) -> bool:
    """Whether a class gives vectors of images and of texts, and is no part of one that writes texts."""
    methods = all(hasattr(kind, f"get_{side}_features") for side in ("image", "text"))
    return methods and "decoder_input_ids" not in options_of(kind.forward)


def _reads(kind: Any) -> str:
    """A class by its name, and why it cannot be opened."""
    inputs = options_of(kind.forward)
    sides = {"pixel_values": "images", "input_ids": "texts"}
    lacks = [side for field, side in sides.items() if field not in inputs]
    alone = f"encodes no {' and no '.join(lacks)}"
    reason = alone if lacks else "reads an image and a text at once, since its head needs both inputs"
    return f"{kind.__name__}, which {reason}; {DUAL}"


def _least(*limits: int | None) -> int:
    """The least of some numbers of tokens, 0 where none is known; libraries write 10 ** 30 for none."""
    return min((limit for limit in limits if limit and limit < UNLIMITED), default=0)


def _text_positions(model: nn.Module) -> int:
    """How many tokens of a text a model has positions for; 0 = it counts none. Some keep a place for padding
    and count behind it.
    """
    config = getattr(model, "config", None)
    limits = [getattr(getattr(config, "text_config", config), "max_position_embeddings", 0)]
    for name, part in model.named_modules():
        if isinstance(part, nn.Embedding) and POSITIONS.search(name) and not IMAGES.search(name):
            limits.append(part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1))
    return _least(*limits)


class Sentences(Adapter):
    """A model of sentence-transformers that encodes images and texts alike.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ModuleNotFoundError: sentence-transformers is not installed.
        ValueError: it cannot be opened, or encodes no images.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        sentences = library(SENTENCES, "sentences")
        opening = reading_errors(name, f"cannot be opened by {SENTENCES}", Exception)
        with opening, text_models.without_code(name), hub(name):
            self.model = sentences.SentenceTransformer(name, device="cpu")
        reads = getattr(self.model, "modalities", ["text", "image"])
        lacks = [side for side in ("image", "text") if side not in reads]
        require(
            not lacks,
            f"{name} encodes no {'s and no '.join(lacks)}s; {DUAL}",
        )
        self.longest = _least(self.model.max_seq_length, _text_positions(self.model))
        if self.longest:
            # the library would ask for positions that are not there
            self.model.max_seq_length = self.longest

    def encode_image(self, images: Sequence[Any]) -> Any:
        """``(N, D)`` vectors."""
        return self.model.encode(list(images), convert_to_tensor=True, show_progress_bar=False)

    encode_text = encode_image

    def cut(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        tokenizer = getattr(self.model.tokenizer, "tokenizer", self.model.tokenizer)
        return text_models.longer(tokenizer, texts, self.longest) if self.longest else 0


def library(name: str, extra: str) -> Any:
    """An optional library, imported when it is asked for.

    Args:
        name: of the library.
        extra: of this package that installs it.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module(name.replace("-", "_"))
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{name} is needed, and not installed; pip install 'itm-workbench[{extra}]'"
        ) from None


@door("open_model")
def open_model(
    model: AnyModel | Encodes | str | Path,
    pretrained: str = "",
    *,
    device: str = "",
    precision: str = "",
    random_weights: bool = False,
) -> AnyModel:
    """A model that embeds images and texts, from whatever names it.

    Args:
        model: an open_clip name, with its tag as ``"ViT-B-32:laion2b_s34b_b79k"`` or without; the path of its
            JSON configuration; a folder of open_clip, transformers or sentence-transformers, or a name of
            their hub; the folder or the name of a run; or an object with ``encode_image`` and
            ``encode_text``.
        pretrained: of an open_clip name: a tag, or a file of weights.
        device: where it computes; empty = see ``devices``, which takes a GPU where there is one.
        precision: see there.
        random_weights: open an architecture that comes without weights. They are drawn from a fixed seed,
            and every output says so.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: no such model, weights or device, named in one
            line.
        ModuleNotFoundError: the library that reads it is not installed.

    >>> open_model("scenes", "scenes", device="cpu").name
    'scenes'
    """
    if isinstance(model, str | Path):
        with Task(f"opening {model}"):
            return _named(str(model), pretrained, random_weights).to(device, precision)
    if isinstance(model, AnyModel):
        return model.to(device, precision) if device or precision else model
    return ExternalModel(model).to(device, precision)


def _named(model: str, pretrained: str, random_weights: bool = False) -> AnyModel:
    place = from_user(model)
    if place.is_dir():
        return _in_folder(place, pretrained)
    import open_clip  # slow to import

    plain, _, tag = model.partition(":")
    known = [*open_clip.list_models(), *assets.models()]
    if tag and plain.replace("/", "-") in known:
        require(
            pretrained in ("", tag),
            f"{model} names the weights {tag}, and pretrained is {pretrained!r}; give one of them",
        )
        return _of_open_clip(plain, tag, random_weights)
    if model.endswith(".json") or plain in SCHEMES or model.replace("/", "-") in known:
        return _of_open_clip(model, pretrained, random_weights)
    require(
        not place.is_file(), f"{model} is a file; name the model that it belongs to, and pretrained={model}"
    )
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return _in_library(SENTENCES if model.startswith(SENTENCES) else "transformers", model)
    require("/" not in model, f"there is no folder {model}", FileNotFoundError)
    if any(run.about.name == model for run in runs.list_runs()):
        return _in_folder(runs.find(model).folder, pretrained)
    raise KeyError(f"no model {model!r}; {did_you_mean(model, known, 'give an open_clip name or a folder')}")


def _in_folder(folder: Path, pretrained: str) -> AnyModel:
    require(not pretrained, f"{folder} holds its own weights; leave out pretrained={pretrained!r}")
    if (folder / runs.RESULTS).is_file() or (folder / runs.STATES).is_file():
        return _of_run(folder)
    reader = next((of for file, of in FOLDERS.items() if (folder / file).is_file()), "")
    require(
        reader,
        f"{folder} holds no model: neither a run nor {', '.join(FOLDERS)}; name the folder that does",
        FileNotFoundError,
    )
    for file in (one for one in sorted(folder.rglob("*")) if one.suffix in KEPT):
        require_itself(file, "part of a model")
    where = str(folder.resolve())
    return _of_open_clip(f"local-dir:{where}", "") if reader == "open_clip" else _in_library(reader, where)


def _in_library(reader: str, name: str) -> ExternalModel:
    encoder = HuggingFace(name) if reader == "transformers" else Sentences(name)
    return ExternalModel(encoder, Path(name).name, {"model": name})


def _of_open_clip(model: str, pretrained: str, random_weights: bool = False) -> Model:
    if not random_weights:
        require_weights(model, pretrained)
    random = lacks_weights(model, pretrained)
    paths = map(from_user, (model, pretrained))
    model, pretrained = (
        str(path.resolve()) if path.is_file() else one for path, one in zip(paths, (model, pretrained))
    )
    options = {"model": model, "pretrained": pretrained}
    towers: dict[str, Any] = {"image_encoder": "towers", "text_encoder": "towers", "image_options": options}
    with torch.random.fork_rng(devices=()):
        seed_everything(SEED)
        made = build(resolve(Config(data="folder", objective="infonce", **towers)), ())
    made.name = ":".join(dict.fromkeys(Path(one).stem for one in (model, pretrained) if one))
    made.named = options
    if random:
        made.name, made.named = with_note(made.name), {**options, "random_weights": True}
    return made


def kept_config(folder: Path) -> Config:
    """The configuration of a finished run.

    Raises:
        FileNotFoundError: the folder keeps none.
        ChecksumError: the run's weights or its other files were made with another one.
    """
    file = folder / runs.CONFIG
    require(
        file.is_file(),
        f"{folder} keeps no model; name the folder of a finished training run",
        FileNotFoundError,
    )
    said = read_options(file)
    weights = checkpoint.facts(folder / runs.MODEL) if (folder / runs.MODEL).is_file() else {}
    for other, facts in {runs.MODEL: weights, runs.CHECKSUMS: verify_files(folder)}.items():
        differ = "; ".join(changed(facts.get("config", said), said).values())
        require(
            not differ, f"{file} is not the configuration of {other}: {differ}; restore it", ChecksumError
        )
    return Config(**said)


def evaluated(folder: Path) -> dict[str, Any]:
    """The names by which the model of a run is opened that evaluated one made elsewhere, both empty where it
    kept vectors alone, and whether its weights were random; nothing for a run that trained its own.
    """
    said = runs.load(folder / runs.CONFIG)
    names = ("model", "pretrained", "random_weights")
    return {name: said[name] for name in names if name in said} if "model" in said else {}


@door("load_model")
def load_model(folder: str | Path = "", *, device: str = "") -> AnyModel:
    """The model of a finished run; without a folder, the shipped pre-trained encoder of the embedded world.

    Of a run that evaluated a model made elsewhere that model is opened again, by the name that it had.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
        ChecksumError: a file of it is damaged, or is that of another run; the message names it.
    """
    made = _of_run(Path(folder)) if str(folder) else build(resolve(Config(start="scenes")), ())
    return made.to(device)


def _of_run(path: Path) -> AnyModel:
    if named := evaluated(path):
        return _named(**named) if named["model"] else KeptVectors()
    if missing := [name for name in (runs.CONFIG, runs.STATES, runs.MODEL) if not (path / name).exists()]:
        raise FileNotFoundError(
            f"{path} holds no checkpoint: {', '.join(missing)} missing; name the folder of a finished run"
        )
    config = kept_config(path)
    verify_files(path, path / runs.STATES)
    model = build(config, (), json.loads((path / runs.STATES).read_text(encoding="utf-8")))
    checkpoint.load_weights(model.pair, model.objective, checkpoint.read(path / runs.MODEL)[0])
    model.name, model.named = config.objective.name, {"model": str(path.resolve())}
    return model
