"""The data and the model of a configuration: splits as a model reads them, encoders, objective, signals."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from workbench import data, encoders, text
from workbench.data.reading import SAME
from workbench.encoders import backbones
from workbench.encoders.base import Pair
from workbench.formatting import format_count, format_number
from workbench.io import flatten
from workbench.objectives.base import Objective
from workbench.progress import during, showing
from workbench.records import Computed, Judgements, Rows, Split, require
from workbench.registry import check_arguments
from workbench.runs.config import Config, as_config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.resolve import make_objective, resolve
from workbench.runs.spellings import typed_settings
from workbench.runs.target import Target
from workbench.runs.vectors import with_frozen_vectors
from workbench.training import computing_threads, seed_everything
from workbench.training.batches import Source
from workbench.training.negatives import Negatives
from workbench.training.optimiser import parameter_groups
from workbench.training.processes import check_machine
from workbench.training.samplers import epoch_batches, k_means, mean_regions

# images of a split below which its numbers say little
FEW = 20
HOW_TO_GIVE = {
    "log_var": "set log_var=true in the options of both encoders",
    "parts": "choose encoders that keep regions, patches or words, such as 'towers', 'regions', 'sequence'",
    "local": "set fusion={'variant': 'released'} in the options of 'multigrain'",
    "entities": "set text_encoder={'name': 'graph', 'embed_dim': %d}, the width of images",
}


class FewImagesWarning(UserWarning):
    """A split whose numbers move by much with one query."""


@dataclass(frozen=True)
class Experiment:
    """A prepared experiment: everything that a user can get wrong has been met.

    Args:
        config: with the widths that only the data know.
        model: encoders, objective and signal makers, before training.
        train: the training split ready for batches; ``None`` where nothing is trained.
        val, test: the other splits, with what evaluation reads.
        random_state: of PyTorch's generator after this, from which training goes on, whatever else is drawn
            in between.
        given: the fields that the configuration was given, by name; the others were completed.
    """

    config: Config
    model: TrainedModel
    train: Source | None
    val: Source
    test: Source
    random_state: Tensor = field(default_factory=torch.get_rng_state)
    given: Mapping[str, Any] = field(default_factory=dict)

    def splits(self) -> pd.DataFrame:
        """Return the counts of the splits, one a column; without training that one is left out."""
        sources = filter(None, (self.train, self.val, self.test))
        return pd.DataFrame({source.split.name: source.split.fingerprint() for source in sources})

    def changed(self) -> pd.DataFrame:
        """Return the settings that differ from the defaults, one a row; an option has the name of its member
        before a dot.
        """
        plain = typed_settings(Config().as_dict())
        values = typed_settings(self.config.as_dict())
        differ = {name: value for name, value in values.items() if value != plain.get(name)}
        return pd.DataFrame({"value": pd.Series(differ, dtype=object)})


@check_arguments("prepare")
def prepare(config: Config | Mapping[str, Any], *, progress: bool = True) -> Experiment:
    """Load the data, make the model and compute what training reads.

    Args:
        config: the experiment, or its fields by name.
        progress: show a bar where somebody can see it.

    Raises:
        FileNotFoundError, ImportError: data or weights that are not there.
        ValueError: something that the objective or an encoder needs is missing, this machine has no such
            device, or nothing is left to train; the message says how to give it.
    """
    config = as_config(config)
    with computing_threads(config.threads), showing(shown=progress):
        return _prepare_parts(config)


def _prepare_parts(config: Config) -> Experiment:
    seed_everything(config.seed)
    data.path_of(config.data.name)  # a path that leads nowhere is said before a name that is misspelt
    objective, given = make_objective(config), config.given_fields()
    config = resolve(config, objective)
    check_machine(config.device, config.tracker)
    read = [_read_part(config, name) for name in ("train", "val", "test")]
    config, notes = _with_captions_per_image(config, read[0], objective, asked="captions_per_image" in given)
    config, more = _with_warm_up(config, read[0], asked="lr_warmup_steps" in given)
    split, val, test = (_with_features(one, config.features) for one in read)
    test = replace(test, notes=(*_notes_of_few(given, val, test), *test.notes, *notes, *more))
    right = positive_judgements(config.positives, split) if config.epochs else None
    require(
        split.regions is not None or encoders.member(config.image_encoder.name).image_input != "regions",
        f"encoder {config.image_encoder.name!r} reads region features and {split.name} has none; "
        "set features='efficientnet_lite0' (or another backbone)",
    )
    config = with_widths(config, split)
    model = build(config, split.captions, objective=objective)

    def ready(one: Split, *, every_signal: bool = False) -> Source:
        source = model.source(one, every_signal=every_signal)
        # a mixed image is no image whose vector could be known before
        mixed = config.mix and every_signal
        return source if mixed else with_frozen_vectors(source, model.pair, model.reads)

    val_source, test_source = ready(val), ready(test)
    if not config.epochs:
        return Experiment(config, model, None, val_source, test_source, given=given)
    graded = training_relevance(model.objective, split)
    further = training_negatives(config.negatives, split, model)
    train = replace(ready(split, every_signal=True), relevance=graded, positives=right, negatives=further)
    if config.sampler == "clusters":  # made before training, as a resumed run makes it
        train = replace(train, clusters=_cluster_images(config, model, train))
    _require_trained(config, model)
    test_source = _with_note_of_random(config, model, test_source)
    return Experiment(config, model, train, val_source, test_source, given=given)


def _with_note_of_random(config: Config, model: TrainedModel, test: Source) -> Source:
    """Return the test split with a note of towers that stay at random weights, which must be asked for."""
    towers = " and ".join(_frozen_at_random(model))
    require(
        not towers or config.random_weights,
        f"{towers} would stay at random weights, since nothing trains them and pretrained is empty; give "
        "pretrained weights, train them, or set random_weights=true",
    )
    if not towers:
        return test
    notes = (f"random weights that nothing trains: {towers}", *test.split.notes)
    return replace(test, split=replace(test.split, notes=notes))


def _frozen_at_random(model: TrainedModel) -> list[str]:
    """Return the towers whose weights are random and that nothing trains, in words."""
    frozen = []
    for network in (part for part in model.pair.modules() if getattr(part, "random_weights", False)):
        visual, other = list[bool](), list[bool]()
        for name, parameter in network.named_parameters():
            side = visual if name.startswith("vis") else other
            # adapters do not make up for weights that nobody trained
            side.append(parameter.requires_grad and ".lora_" not in name)
        for name, side in (("the image tower", visual), ("the text tower", other)):
            if side and not any(side):
                frozen.append(name)
    return list(dict.fromkeys(frozen))


def _notes_of_few(given: Mapping[str, Any], val: Split, test: Split) -> list[str]:
    """Return notes of splits with few images, unless somebody asked for so many; each is a warning as
    well.
    """
    notes, asked = [], given.keys() | set(given.get("data", {}))
    for name, split in (("val", val), ("test", test)):
        count = len(split.image_ids)
        if count >= FEW or f"{name}_images" in asked or "size" in asked:
            continue
        chooses = ", and it chooses the epoch" if name == "val" else ""
        step = f"one image is {format_number(100 / count, 1)} % of the queries{chooses}"
        notes.append(f"{split.name} has {format_count(count, 'image')} alone: {step}")
        warnings.warn(notes[-1], FewImagesWarning, stacklevel=5)
    return notes


def _require_trained(config: Config, model: TrainedModel) -> None:
    """Raise if no weight of the model, nor of its objective, is trained."""
    multipliers = ("image_backbone_lr", "text_backbone_lr", "layer_decay")
    zero = [f"{name} is 0" for name in multipliers if not getattr(config, name)]
    require(
        parameter_groups(model.pair.groups(), model.objective, config),
        f"nothing is left to train ({', '.join(zero) or 'all weights are frozen'}); raise a multiplier, "
        "train a head, or set epochs=0 to measure the starting point",
    )


def _cluster_images(config: Config, model: TrainedModel, train: Source) -> Rows:
    """Return ``(I,)`` cluster of each training image, by its mean region, else by its embedding before
    training.
    """
    regions = train.split.regions
    features = (
        model.embed_images_of(train, parts=False).mean.numpy() if regions is None else mean_regions(regions)
    )
    return k_means(features, config.clusters, seed=config.seed)


def _with_captions_per_image(
    config: Config, train: Split, objective: Objective, *, asked: bool
) -> tuple[Config, tuple[str, ...]]:
    """Return the config with as many captions an image as every training image has, and a note of it, where
    nobody asked for a number.

    Raises:
        ValueError: an image has fewer than were asked for, or than the objective needs.
    """
    counts = np.bincount(train.own, minlength=len(train.image_ids))
    wanted, least = config.captions_per_image, max(int(counts.min()), 1)
    if wanted <= least or not config.epochs:
        return config, ()
    image = train.image_ids[int(counts.argmin())]
    has = f"image {image!r} of {train.name} has {format_count(int(counts.min()), 'caption')}"
    require(
        not asked, f"captions_per_image={wanted}, but {has}; lower it, or leave it out to follow the data"
    )
    require(
        least >= objective.captions_per_image,
        f"objective {config.objective.name!r} needs {objective.captions_per_image} captions an image, but "
        f"{has}; choose an objective that needs fewer",
    )
    return config.replace(captions_per_image=least), (f"captions_per_image={least}, since {has}",)


def _with_warm_up(config: Config, train: Split, *, asked: bool) -> tuple[Config, tuple[str, ...]]:
    """Return the config with a warm-up of at most a quarter of the run's steps, and a note of it, where
    nobody asked for a number. The longest of the recipes that were searched takes 22 percent of its run.
    """
    t = config
    if asked or not t.epochs:
        return config, ()
    order = epoch_batches(
        train.own, size=t.batch_size, captions_per_image=t.captions_per_image, seed=t.seed, number=0
    )
    most = t.epochs * len(order) // 4
    if t.lr_warmup_steps <= most:
        return config, ()
    return config.replace(lr_warmup_steps=most), (f"lr_warmup_steps={most}, a quarter of the run's steps",)


def load_split(config: Config, name: str, *, progress: bool = True) -> Split:
    """Return one split of the config's data set, cut to size, with region features where the config asks for
    it.

    Raises:
        FileNotFoundError: the data are not there.
        ValueError: no such split, or ``features`` is asked of data that have regions of their own.
    """
    with showing(shown=progress):
        return _with_features(_read_part(config, name), config.features)


def _read_part(config: Config, name: str) -> Split:
    """Return one split of the config's data set, cut to size; of a share, each seed takes other images."""
    alone = data.member(config.data.name).training
    shared = "share" in config.data.options and "share_seed" in alone
    options = ({"share_seed": config.seed} if shared else {}) | config.data.options
    options = {option: value for option, value in options.items() if name == "train" or option not in alone}
    chosen = {"name": config.data.name, **options}
    return _read_split(Target(data=chosen, split=name, images=getattr(config, f"{name}_images", 0)))


def load_target(config: Config | None, target: Target) -> Split:
    """Read a split of another data set as a model reads it: with the features that it was trained on.

    Args:
        config: that the model was trained with here; ``None`` = it was not.
        target: what to measure on.

    Raises:
        FileNotFoundError: the data are not there.
        ValueError: features of the synthetic scenes on photographs, regions of another width than the model
            reads, or none; the message says what to give.
    """
    if config is None:
        return _read_split(target)
    options = flatten(config.image_encoder.options)
    widths = [width for name, width in options.items() if name.endswith("in_dim")]
    require(
        not widths or config.features != "scenes_backbone" or target.data.name == "scenes",
        f"the run reads features={config.features!r}, which know the synthetic scenes alone, and "
        f"{target.data.name!r} holds photographs; measure a run that was trained with features="
        f"'{backbones.LITE0}' or another backbone",
    )
    split = _read_split(target)
    if not widths:
        return split
    split = _with_features(split, config.features)
    found = None if split.regions is None else int(split.regions.shape[-1])
    if found not in widths:
        known = "has none" if found is None else f"has regions of width {found}"
        raise ValueError(
            f"the run reads region features of width {widths[0]} that came with its data, and {split.name} "
            f"{known}; name data with regions from the same detector, e.g. "
            'data={"name": "coco", "source": "precomp"}, or measure a run that was trained with features=...'
        )
    return split


def _read_split(target: Target) -> Split:
    """Return the split, cut to size."""
    name, options = target.data.name, target.data.options
    images = target.images
    if images and data.member(name).takes("size"):
        # a smaller data set stays as it is
        options["size"] = min(images, options.get("size") or images)
    split: Split = data.load(name, split=target.split, **options)
    return split.first(images) if images else split


def _with_features(split: Split, features: str) -> Split:
    """Return the split with the features of a backbone.

    Raises:
        ValueError: it has region features of its own.
    """
    if not features:
        return split
    require(
        split.regions is None,
        f"{split.name} has region features of its own, and features={features!r} would replace them; "
        "leave out features, or load the photographs (source='photographs')",
    )
    return replace(split, regions=backbones.extract(split, features))


def with_widths(config: Config, train: Split) -> Config:
    """Return the config with the widths that only the data know: a checkpoint can then be read without the
    data.
    """
    if train.regions is None:
        return config
    facts = {"in_dim": int(train.regions.shape[-1])}
    name, options = config.image_encoder.name, config.image_encoder.options
    return config.replace(image_encoder={"name": name, **encoders.member(name).complete(options, facts)})


@during("building the model")
def build(
    config: Config,
    captions: tuple[str, ...],
    states: Mapping[str, Any] | None = None,
    *,
    objective: Objective | None = None,
    pretrained: bool = False,
) -> TrainedModel:
    """Build encoders, objective and signal makers of a config.

    Args:
        config: complete, see ``resolve``.
        captions: pool on which the signal makers are fitted.
        states: what the makers learnt earlier; then nothing is fitted and no pre-trained weights are loaded.
        objective: of the config, where it is made already.
        pretrained: load pre-trained weights all the same.
    """
    objective = objective or make_objective(config)
    images, words = config.image_encoder, config.text_encoder
    same = words.name == images.name
    text_options = images.options if same else words.options
    wanted = encoders.member(words.name).text_features(**text_options)
    makers = fit_makers({**objective.text_features(), **wanted}, captions, states)
    facts = facts_of(makers[name] for name in wanted)
    if states is not None and not pretrained:
        facts["pretrained"] = ""

    def encoder(name: str, options: dict[str, Any]) -> Any:
        return encoders.load(name, **encoders.member(name).complete(options, facts))

    image = encoder(images.name, images.options)
    pair = Pair(image, image if same else encoder(words.name, text_options))
    check_reads(config.objective.name, objective, pair)
    objective.setup(pair.image.embed_dim)
    objective.begin(pair.image.logits)
    return TrainedModel(
        pair, makers, tuple(wanted), features=config.features, objective=objective, config=config
    )


def fit_makers(
    wanted: Mapping[str, Mapping[str, Any]],
    captions: tuple[str, ...],
    states: Mapping[str, Any] | None = None,
) -> dict[str, text.SignalMaker]:
    """Make signal makers and fit them.

    Args:
        wanted: options by name.
        captions: pool on which they are fitted.
        states: what they learnt earlier; then nothing is fitted.
    """
    makers = {name: text.load(name, **options) for name, options in wanted.items()}
    for name, maker in makers.items():
        makers[name] = maker.fit(captions) if states is None else maker.restore(states[name])
    return makers


def facts_of(makers: Iterable[text.SignalMaker]) -> dict[str, Any]:
    """Return what encoders need to know of the makers that they read: the first vocabulary.

    Args:
        makers: fitted.
    """
    vocabularies = [getattr(maker, "vocabulary", None) for maker in makers]
    known = [vocabulary for vocabulary in vocabularies if vocabulary]
    return {"vocabulary": known[0]} if known else {}


def check_reads(name: str, objective: Objective, pair: Pair) -> None:
    """Raise ValueError, and say how to give it, if encoders do not give what the objective reads."""
    for wanted in objective.reads:
        sides = [pair.text] if wanted == "entities" else [pair.image, pair.text]
        for side in sides:
            if wanted not in side.output_fields:
                gives = ", ".join(side.output_fields) or "nothing beside the pooled vector"
                how = HOW_TO_GIVE[wanted].replace("%d", str(pair.image.embed_dim))
                raise ValueError(
                    f"objective {name!r} reads {wanted!r} and {type(side).__name__} gives {gives}; {how}"
                )


def training_relevance(objective: Objective, train: Split) -> dict[str, Any]:
    """Return the graded relevance that an objective reads: what a maker of the text registry finds, or
    judgements of the split.

    Args:
        objective: states names and options in ``relevance_sources()``.
        train: the split whose captions and images are compared.

    Raises:
        ValueError: neither has it.
    """
    makers, pool = text.judge_names(), (train.captions, train.own)
    graded: dict[str, Any] = {}
    for name, options in objective.relevance_sources().items():
        if name in makers:
            graded[name] = text.load(name, **options).fit(*pool).transform(*pool)
        else:
            wanted = f"the objective needs the relevance {name!r}; captions give {', '.join(makers)}, and"
            graded[name] = _find_judgements(name, train, wanted)
    return graded


def positive_judgements(name: str, train: Split) -> Judgements | Computed | None:
    """Return what says which pairs count as positive in training beside those that belong together.

    Args:
        name: of the split's judgements; ``"own"`` = no others, as is ``"same_text"`` where no text stands at
            two images.
        train: the split.

    Raises:
        ValueError: the split has no such judgements.
    """
    if name == "own" or (name == SAME and name not in train.judgements):
        return None
    return _find_judgements(name, train, f"positives={name!r} names judgements;")


def training_negatives(name: str, train: Split, model: TrainedModel) -> Negatives | None:
    """Return the further texts that are false of training images, as a model reads them.

    Args:
        name: ``"data"`` = the column of the split, else a member of the text registry; empty = none.
        train: the split.
        model: reads them.

    Raises:
        ValueError: there are none.
    """
    if not name:
        return None
    texts = (train.negatives or ()) if name == "data" else text.load(name).transform(train)
    further = Negatives.from_texts(texts)
    missing = f"negatives={name!r}, and no caption of {train.name} has one"
    if name == "data":
        missing += "; give a column negatives, or name what makes them, such as counterfactuals"
    require(further.texts, missing)
    pool = (*train.captions, *further.texts)
    return replace(further, signals={signal: model.makers[signal].transform(pool) for signal in model.reads})


def _find_judgements(name: str, train: Split, wanted: str) -> Judgements | Computed:
    require(name in train.judgements, f"{wanted} {train.name} has {', '.join(train.judgements)}")
    return train.relevance(name)
