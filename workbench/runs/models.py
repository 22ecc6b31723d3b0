"""Every way to name a model: an open_clip name, a folder or a name of transformers or sentence-transformers,
a finished run, or any object that encodes images and texts or scores pairs of them.

What comes back is a ``Model``, whoever made it: it embeds a split, loose images and loose texts, and scores
them.
"""

import inspect
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from workbench import assets, encoders
from workbench.assets import text_models
from workbench.encoders.base import Pair
from workbench.io import ChecksumError, read_options, require_real_file, resolve_input
from workbench.progress import Task
from workbench.records import Split, require
from workbench.registry import check_arguments, class_of, did_you_mean, import_named
from workbench.runs import store as runs
from workbench.runs.adapters.opened import open_adapter
from workbench.runs.adapters.sentences import SENTENCES
from workbench.runs.build import build, facts_of, fit_makers
from workbench.runs.config import Config
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.kinds import Evaluation, read_kind
from workbench.runs.lists import open_saved_scores
from workbench.runs.model import Model
from workbench.runs.own import (
    ENCODE,
    HAS,
    PAIRED,
    Encodes,
    Ensemble,
    ObjectModel,
    SavedVectors,
    encoding_methods,
    first_method,
)
from workbench.runs.pairs import PairModel, PairScorer
from workbench.runs.rerank import with_scoring
from workbench.runs.store import verify_files
from workbench.runs.weights import SEED, lacks_weights, name_with_note, require_weights
from workbench.training import checkpoint, seed_everything
from workbench.training.settings import changed_settings

# what stands before a colon in names of open_clip that are no architectures
SCHEMES = ("hf-hub", "local-dir")
# a file of a folder, and the library that reads the folder
FOLDERS = {"open_clip_config.json": "open_clip", "modules.json": SENTENCES, "config.json": "transformers"}
# endings of what such folders hold beside notes
WEIGHTS = {".safetensors", ".bin", ".json", ".model"}
# the small model that is shipped
SHIPPED = "scenes"


@check_arguments("open_model")
def open_model(
    model: Model | Encodes | PairScorer | str | Path | list[Any] | tuple[Any, ...],
    pretrained: str = "",
    *,
    device: str = "",
    precision: str = "",
    random_weights: bool = False,
    prompts: Mapping[str, str] | None = None,
    truncate_dim: int = 0,
    trust_remote_code: bool = False,
) -> Model:
    """Open a model that embeds images and texts, or scores pairs of them, from whatever names it.

    Args:
        model: an open_clip name, with its tag as ``"ViT-B-32:laion2b_s34b_b79k"`` or without; the path of its
            JSON configuration; a folder of open_clip, transformers or sentence-transformers, or a name of
            their hub; the folder or the name of a run; or an object with ``encode_image`` and
            ``encode_text``, see ``Encodes``, or with ``scores`` alone, see ``PairScorer``; also by
            ``"my_module:MyModel"``. A list of these is one model, the mean of their scores.
        pretrained: of an open_clip name: a tag, or a file of weights.
        device: where it computes; empty = as ``use_device`` has chosen, else a GPU where there is one.
        precision: see there.
        random_weights: open an architecture that comes without weights. They are drawn from a fixed seed,
            and every output says so.
        prompts: what queries are encoded with, by direction, ``{"t2i": "Find an image of: "}``: it is given
            to methods that take ``prompt``, see ``Encodes``, and stands before the texts of others. Of a
            vision-language model its question, ``{"question": "Is this {text}?"}``.
        truncate_dim: compare the first so many numbers of each vector alone, as models that were trained for
            it allow (Matryoshka); 0 = all.
        trust_remote_code: execute code that lies beside a model of transformers or sentence-transformers.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: no such model, weights or device, named in one
            line.
        ModuleNotFoundError: the library that reads it is not installed.

    >>> open_model("scenes", "scenes", device="cpu").name
    'scenes'
    """
    if isinstance(model, list | tuple):
        require(not pretrained, "pretrained belongs to one model; name it with each, as NAME:TAG")
        how: dict[str, Any] = {"device": device, "precision": precision, "random_weights": random_weights}
        how |= {"prompts": prompts, "truncate_dim": truncate_dim, "trust_remote_code": trust_remote_code}
        return Ensemble([open_model(member, **how) for member in model])
    named = isinstance(model, str | Path)
    require(
        named or not pretrained, f"pretrained={pretrained!r} belongs to the name of a model; leave it out"
    )
    if isinstance(model, str | Path):
        with Task(f"opening {model}"), text_models.trusting_code(trust_remote_code):
            opened = _open_by_name(str(model), pretrained, random_weights)
            if text_models.TRUSTED.get():
                opened.origin = {**opened.origin, "trust_remote_code": True}
    else:
        opened = model if isinstance(model, Model) else own_model(model)
    if device or precision or opened is not model:
        opened = opened.to(device, precision)
    return _truncate(_add_prompts(opened, prompts), truncate_dim)


def _truncate(model: Model, width: int) -> Model:
    """Return a model whose vectors are cut; 0 = they are not."""
    if not width:
        return model
    if isinstance(model, ObjectModel):
        return model.truncated(width)
    raise ValueError(
        f"truncate_dim: {model.name} is no model of transformers or sentence-transformers and no object that "
        "encodes; leave truncate_dim out"
    )


def _add_prompts(model: Model, prompts: Mapping[str, str] | None) -> Model:
    """Return a model with prompts for its queries; one of this library's encoders is then an object like
    others.
    """
    if not prompts:
        return model
    if isinstance(model, EncoderModel):
        encoder: Any = model
        model = own_model(encoder, model.name, model.origin)
    return model.with_prompts(prompts)


def own_model(
    encoder: Encodes | PairScorer, name: str = "", origin: Mapping[str, Any] | None = None
) -> Model:
    """Make a model of any object.

    Args:
        encoder: encodes images and texts, or scores pairs.
        name: how tables call it; empty = the ``name`` that the object has, else its class.
        origin: see ``Model``.

    Raises:
        TypeError: the object does neither.
    """
    _require_object(encoder)
    methods = encoding_methods(encoder)
    name = name or str(getattr(encoder, "name", "") or type(encoder).__name__)
    if not any(methods.values()) and first_method(encoder, ("score", "scores")):
        return PairModel(encoder, name, origin)
    for side, names in ENCODE.items():
        lacks = f"{type(encoder).__name__} has no {names[0]}(); {HAS}"
        require(methods[side], lacks, TypeError)
    return ObjectModel(encoder, name, origin)


def _require_object(encoder: Any) -> None:
    """Raise if something is given as a model that is often mistaken for one.

    Raises:
        TypeError: a class, data, vectors, scores or a function; the message says what to give.
    """
    if inspect.isclass(encoder):
        raise TypeError(f"{encoder.__name__} is a class; give an object, {encoder.__name__}()")
    if isinstance(encoder, Split | pd.DataFrame):
        kind = class_of(encoder)
        raise TypeError(f"{kind} is data and no model; the model comes first, evaluate(model, data)")
    if isinstance(encoder, np.ndarray | Tensor):
        raise TypeError(
            f"{class_of(encoder)} is no model; give images= and texts=, or an object with {PAIRED}"
        )
    if inspect.isroutine(encoder):
        raise TypeError(f"a function is no model; give images= and texts=, or an object with {PAIRED}")


def find_run_folder(name: str | Path) -> Path | None:
    """Find the folder of a run by its path or its name; ``None`` = it names none.

    Args:
        name: whatever names a model.
    """
    place = resolve_input(name)
    if place.is_dir():
        return place if _is_run(place) else None
    plain = str(name) == Path(name).name and ":" not in str(name) and not Path(name).suffix
    if plain and any(run.about.name == str(name) for run in runs.list_runs()):
        return runs.find(name).folder
    return None


def _is_run(folder: Path) -> bool:
    return any((folder / file).is_file() for file in (runs.RESULTS, runs.STATES, runs.KIND))


def _open_by_name(model: str, pretrained: str, random_weights: bool = False) -> Model:
    place = resolve_input(model)
    if place.is_dir():
        return _open_in_folder(place, pretrained)
    import open_clip  # slow to import

    plain, _, tag = model.partition(":")
    known = [*open_clip.list_models(), *assets.model_names()]
    if tag and plain.replace("/", "-") in known:
        require(
            pretrained in ("", tag),
            f"{model} names the weights {tag}, and pretrained is {pretrained!r}; give one of them",
        )
        return _open_of_open_clip(plain, tag, random_weights)
    if model.endswith(".json") or plain in SCHEMES or model.replace("/", "-") in known:
        return _open_of_open_clip(model, pretrained, random_weights)
    if tag and _is_module(plain):
        return _open_from_module(model, pretrained)
    require(
        not place.is_file(), f"{model} is a file; name the model that it belongs to, and pretrained={model}"
    )
    if model.count("/") == 1 and not model.startswith((".", "/", "~")):
        return _open_in_library(SENTENCES if model.startswith(SENTENCES) else "transformers", model)
    require("/" not in model, f"there is no folder {model}", FileNotFoundError)
    if folder_of_run := find_run_folder(model):
        return _open_in_folder(folder_of_run, pretrained)
    forms = "give an open_clip name, a folder, or FILE:CLASS of a Python file in the working directory"
    raise KeyError(f"no model {model!r}; {did_you_mean(model, known, forms)}")


def _is_module(name: str) -> bool:
    """Return whether a module of this name is in the working directory or can be imported."""
    top = name.partition(".")[0]
    return top.isidentifier() and ((Path.cwd() / f"{top}.py").is_file() or find_spec(top) is not None)


def _open_from_module(model: str, pretrained: str) -> Model:
    """Return an object of a module, or what its class or function makes without arguments."""
    require(not pretrained, f"{model} has its own weights; leave out pretrained={pretrained!r}")
    named = import_named("models", model)
    encoder = named() if isinstance(named, type | FunctionType) else named
    return own_model(encoder, origin={"model": model})


def _open_in_folder(folder: Path, pretrained: str) -> Model:
    require(not pretrained, f"{folder} holds its own weights; leave out pretrained={pretrained!r}")
    if _is_run(folder):
        return _open_of_run(folder)
    reader = next((library for file, library in FOLDERS.items() if (folder / file).is_file()), "")
    require(
        reader,
        f"{folder} holds no model: neither a run nor {', '.join(FOLDERS)}; name the folder that does",
        FileNotFoundError,
    )
    for file in sorted(folder.rglob("*")):
        if file.suffix in WEIGHTS:
            require_real_file(file, "part of a model")
    where = str(folder.resolve())
    return (
        _open_of_open_clip(f"local-dir:{where}", "")
        if reader == "open_clip"
        else _open_in_library(reader, where)
    )


def _open_in_library(reader: str, name: str) -> Model:
    adapter: Any = open_adapter(reader, name)
    title, origin = Path(name).name, {"model": name}
    if callable(getattr(adapter, "score", None)):
        return PairModel(adapter, title, origin)
    return own_model(adapter, title, origin)


def _open_of_open_clip(model: str, pretrained: str, random_weights: bool = False) -> EncoderModel:
    if not random_weights:
        require_weights(model, pretrained)
    random = lacks_weights(model, pretrained)
    options = {"model": _resolve_file(model), "pretrained": _resolve_file(pretrained)}
    kind = encoders.member("towers")
    makers = fit_makers(kind.text_features(**options), ())
    with torch.random.fork_rng(devices=()):
        seed_everything(SEED)
        towers = encoders.load("towers", **kind.complete(options, facts_of(makers.values())))
    name = ":".join(dict.fromkeys(Path(part).stem for part in options.values() if part))
    opened = EncoderModel(Pair(towers, towers), makers, tuple(makers), name=name, origin=options)
    if random:
        opened.name, opened.origin = name_with_note(name), {**options, "random_weights": True}
    return opened


def _resolve_file(name: str) -> str:
    """Return the absolute path of a file; any other name as it is."""
    path = resolve_input(name)
    return str(path.resolve()) if path.is_file() else name


def read_config(folder: Path) -> Config:
    """Return the configuration of a finished run.

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
    values = read_options(file)
    weights = checkpoint.read_facts(folder / runs.MODEL) if (folder / runs.MODEL).is_file() else {}
    for other, facts in {runs.MODEL: weights, runs.CHECKSUMS: verify_files(folder)}.items():
        differ = "; ".join(changed_settings(facts.get("config", values), values).values())
        require(
            not differ, f"{file} is not the configuration of {other}: {differ}; restore it", ChecksumError
        )
    return Config(**values)


@check_arguments("load_model")
def load_model(folder: str | Path = "") -> Model:
    """Load the model of a finished run; without a folder, the shipped encoder of the synthetic scenes.

    Of a run that evaluated a model made elsewhere that model is opened again, by the name that it had.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
        ChecksumError: a file of it is damaged, or is that of another run; the message names it.
    """
    loaded = _open_of_run(Path(folder)) if str(folder) else _open_of_open_clip(SHIPPED, SHIPPED)
    return loaded.to()


def _open_of_run(path: Path) -> Model:
    kind = read_kind(path)
    if isinstance(kind, Evaluation):
        with text_models.trusting_code(kind.trust_remote_code):
            model = _model_of_evaluation(path, kind)
        return with_scoring(model, kind.scoring, open_model)
    if missing := [name for name in (runs.CONFIG, runs.STATES, runs.MODEL) if not (path / name).exists()]:
        raise FileNotFoundError(
            f"{path} holds no checkpoint: {', '.join(missing)} missing; name the folder of a finished run"
        )
    config = read_config(path)
    verify_files(path, path / runs.STATES)
    model = build(config, (), json.loads((path / runs.STATES).read_text(encoding="utf-8")))
    checkpoint.load_weights(model.pair, model.objective, checkpoint.read(path / runs.MODEL)[0])
    model.name, model.origin = config.objective.name, {"model": str(path.resolve())}
    return model


def _model_of_evaluation(path: Path, kind: Evaluation) -> Model:
    """Return the model of an evaluation without its second stage, or what stands for it."""
    if kind.scores or kind.runs or (path / runs.SCORES).is_file():
        return open_saved_scores(path)
    if not kind.model:
        return SavedVectors()
    model = _open_by_name(kind.model, kind.pretrained, kind.random_weights)
    return _truncate(_add_prompts(model, kind.prompts), kind.truncate_dim)
