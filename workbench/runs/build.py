"""One experiment: a configuration, and the function that turns it into a result. The only file that knows all
shelves.
"""

import inspect
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import data, encoders, text
from workbench.encoders import backbones
from workbench.encoders.base import Pair
from workbench.io import ChecksumError, flat, only_writer, read_options
from workbench.objectives.base import Objective
from workbench.records import Computed, Judgements, Rows, Split, require
from workbench.runs.config import Config
from workbench.runs.environment import code_hash
from workbench.runs.evaluate import calibrate, chooser, evaluate, validate
from workbench.runs.model import Model
from workbench.runs.resolve import make_objective, resolve
from workbench.runs.result import Contents, OpenRun
from workbench.runs.store import CHECKSUMS, CONFIG, MODEL, STATES, verify_files
from workbench.runs.target import Target
from workbench.runs.vectors import brought
from workbench.training import checkpoint, deterministic_algorithms, fit, seed_everything
from workbench.training.batches import Source
from workbench.training.processes import leads
from workbench.training.samplers import k_means, mean_regions
from workbench.training.settings import changed

HOW_TO_GIVE = {
    "log_var": "set log_var=true in the options of both encoders",
    "parts": "choose encoders that keep regions, patches or words, such as 'towers', 'regions', 'sequence'",
    "entities": "set text_encoder='graph'",
}


@dataclass(frozen=True)
class Prepared:
    """An experiment that is ready to run: everything that a user can get wrong has been met.

    Args:
        config: with the widths that only the data know.
        model: encoders, objective and signal makers, before training.
        train: the training split ready for batches; ``None`` where nothing is trained.
        val, test: the other splits, with what evaluation reads.
    """

    config: Config
    model: Model
    train: Source | None
    val: Source
    test: Source


def prepare(config: Config, *, progress: bool = True) -> Prepared:
    """Load the data, make the model and compute what training reads.

    Args:
        config: the experiment.
        progress: show a bar where somebody can see it.

    Raises:
        FileNotFoundError, ImportError: data or weights that are not there.
        ValueError: something that the objective or an encoder needs is missing; the message says how to give
            it.
    """
    seed_everything(config.training.seed)
    objective = make_objective(config)
    config = resolve(config, objective)
    split = load_split(config, "train", progress=progress)
    right = positives(config.objective.positives, split) if config.training.epochs else None
    if encoders.member(config.model.image_encoder).image_input == "regions" and split.regions is None:
        raise ValueError(
            f"encoder {config.model.image_encoder!r} reads region features and {split.name} has none; "
            "set features='efficientnet_lite0' (or another backbone)"
        )
    val, test = (load_split(config, name, progress=progress) for name in ("val", "test"))
    config = with_widths(config, split)
    model = build(config, split.captions, objective=objective)

    def ready(one: Split, *, every_signal: bool = False) -> Source:
        source = model.source(one, every_signal=every_signal)
        # a mixed image is no image whose vector could be known before
        mixed = config.training.mix and every_signal
        return source if mixed else brought(source, model.pair, model.reads, progress=progress)

    val_source, test_source = ready(val), ready(test)
    if not config.training.epochs:
        return Prepared(config, model, None, val_source, test_source)
    graded = relevance(model.objective, split)
    train = replace(ready(split, every_signal=True), relevance=graded, positives=right)
    if config.training.sampler == "clusters":  # made before training, as a resumed run makes it
        features = (
            model.embed_images_of(train, parts=False).mean.numpy()
            if split.regions is None
            else mean_regions(split.regions)
        )
        train = replace(
            train, clusters=k_means(features, config.training.clusters, seed=config.training.seed)
        )
    return Prepared(config, model, train, val_source, test_source)


def run(experiment: Config | Prepared, *, folder: str | Path | None = None, progress: bool = True) -> OpenRun:
    """Load, build, train, evaluate.

    Args:
        experiment: the configuration, or what ``prepare`` made of it.
        folder: where checkpoints go; an unfinished run that lies there is resumed if it was made from
            the same. ``None`` keeps everything in memory.
        progress: show a bar where somebody can see it.

    Returns:
        The opened run, evaluated on the test split with the weights of the best validation epoch.

    Raises:
        FileNotFoundError, ImportError, ValueError: as ``prepare``.
        ValueError: what lies in the folder was made from something else; the message names what differs.
        BlockingIOError: another process writes into the folder.
    """
    ready = experiment if isinstance(experiment, Prepared) else prepare(experiment, progress=progress)
    config, model, history = ready.config, ready.model, []
    training, measured = config.training, config.objective
    position = checkpoint.TrainingPosition(Path(folder), made_from(ready)) if folder else None
    if ready.train is not None:
        writer = only_writer(folder) if folder and leads() else nullcontext()
        with writer, deterministic_algorithms(training.deterministic):
            history = fit(
                model.pair, model.objective, ready.train,
                partial(validate, model, ready.val, training.select, measured.metrics), training,
                smaller=chooser(training.select, measured.metrics).smaller_is_better,
                position=position, progress=progress,
            )  # fmt: skip
    calibrate(model, ready.val)
    measurements, values, *embedded = evaluate(
        model, ready.test, metrics=measured.metrics, judge=measured.judge
    )
    load, split = partial(Contents, model, *embedded), ready.test.split
    return OpenRun(measured.name, split, load, None, config.as_dict(), measurements, history, values)


def made_from(ready: Prepared) -> dict[str, Any]:
    """What a run is made from, as JSON values: every field of its configuration, its splits and the code."""
    sources = {"train": ready.train, "val": ready.val, "test": ready.test}
    splits = {name: source.split.identity() for name, source in sources.items() if source}
    return {**ready.config.as_dict(), "split": splits, "code": code_hash()[:16]}


def load_split(config: Config, name: str, *, progress: bool = True) -> Split:
    """One split of the config's data set, cut to size, with region features where the config asks for it.

    Raises:
        FileNotFoundError: the data are not there.
        ValueError: no such split, or ``features`` is asked of data that have regions of their own.
    """
    alone = (
        getattr(inspect.getmodule(data.member(config.data.name)), "TRAINING", ()) if name != "train" else ()
    )
    options = {option: value for option, value in config.data.options.items() if option not in alone}
    target = Target(config.data.name, options, name, getattr(config.data, f"{name}_images", 0))
    return _with_features(_read(target), config.model.features, progress)


def load_target(config: Config, target: Target, *, progress: bool = True) -> Split:
    """A split of another data set, as the model of a run reads it: with the features that it was trained on.

    Args:
        config: of the run.
        target: what to measure on.
        progress: show a bar where somebody can see it.

    Raises:
        FileNotFoundError: the data are not there.
        ValueError: features of the embedded world on photographs, regions of another width than the model
            reads, or none; the message says what to give.
    """
    widths = [width for name, width in flat(config.model.image_options).items() if name.endswith("in_dim")]
    if widths and config.model.features == "scenes_backbone" and target.data != "scenes":
        raise ValueError(
            f"the run reads features={config.model.features!r}, which know the embedded world alone, and "
            f"{target.data!r} holds photographs; measure a run that was trained with features="
            f"'{backbones.LITE0}' or another backbone"
        )
    split = _read(target)
    if not widths:
        return split
    split = _with_features(split, config.model.features, progress)
    found = None if split.regions is None else int(split.regions.shape[-1])
    if found not in widths:
        known = "has none" if found is None else f"has regions of width {found}"
        raise ValueError(
            f"the run reads region features of width {widths[0]} that came with its data, and {split.name} "
            f"{known}; name data with regions from the same detector, e.g. "
            'data_options={"source": "precomp"}, or measure a run that was trained with features=...'
        )
    return split


def _read(target: Target) -> Split:
    """The split, cut to size."""
    options, images = dict(target.data_options), target.images
    if images and "size" in inspect.signature(data.member(target.data)).parameters:
        options["size"] = images
    split: Split = data.load(target.data, split=target.split, **options)
    return split.first(images) if images else split


def _with_features(split: Split, features: str, progress: bool) -> Split:
    """The split with the features of a backbone.

    Raises:
        ValueError: it has region features of its own.
    """
    if not features:
        return split
    if split.regions is not None:
        raise ValueError(
            f"{split.name} has region features of its own, and features={features!r} would replace them; "
            "leave out features, or load the photographs (source='photographs')"
        )
    return replace(split, regions=backbones.extract(split, features, progress=progress))


def with_widths(config: Config, train: Split) -> Config:
    """The config with the widths that only the data know: a checkpoint can then be read without the data."""
    if train.regions is None:
        return config
    facts = {"in_dim": int(train.regions.shape[-1])}
    model = config.model
    return config.replace(
        image_options=encoders.member(model.image_encoder).complete(model.image_options, facts)
    )


def build(
    config: Config,
    captions: tuple[str, ...],
    states: Mapping[str, Any] | None = None,
    *,
    objective: Objective | None = None,
) -> Model:
    """Encoders, objective and signal makers of a config.

    Args:
        config: complete, see ``resolve``.
        captions: pool on which the signal makers are fitted.
        states: what the makers learnt earlier; then nothing is fitted and no pre-trained weights are loaded.
        objective: of the config, where it is made already.
    """
    objective = objective or make_objective(config)
    sides = config.model
    same = sides.text_encoder == sides.image_encoder
    text_options = sides.image_options if same else sides.text_options
    wanted = encoders.member(sides.text_encoder).text_features(**text_options)
    makers = {
        name: text.load(name, **options) for name, options in {**objective.text_features(), **wanted}.items()
    }
    for name, maker in makers.items():
        makers[name] = maker.fit(captions) if states is None else maker.restore(states[name])
    vocabulary = next((made for name in wanted if (made := getattr(makers[name], "vocabulary", None))), None)
    facts = {"vocabulary": vocabulary} if vocabulary is not None else {}
    if states is not None:
        facts["pretrained"] = ""

    def encoder(name: str, options: dict[str, Any]) -> Any:
        return encoders.load(name, **encoders.member(name).complete(options, facts))

    image = encoder(sides.image_encoder, sides.image_options)
    pair = Pair(image, image if same else encoder(sides.text_encoder, text_options))
    check_reads(config.objective.name, objective, pair)
    objective.setup(pair.image.embed_dim)
    return Model(pair, objective, makers, tuple(wanted))


def check_reads(name: str, objective: Objective, pair: Pair) -> None:
    """Refuse encoders that do not give what the objective reads.

    Raises:
        ValueError: names the field and how to give it.
    """
    for wanted in objective.inputs:
        for side in [pair.text] if wanted == "entities" else [pair.image, pair.text]:
            if wanted not in side.gives:
                given = ", ".join(side.gives) or "nothing beside the pooled vector"
                raise ValueError(
                    f"objective {name!r} reads {wanted!r} and {type(side).__name__} gives {given}; "
                    f"{HOW_TO_GIVE[wanted]}"
                )


def relevance(objective: Objective, train: Split) -> dict[str, Any]:
    """The graded relevance that an objective reads: what a maker of the text shelf finds, or judgements of
    the split.

    Args:
        objective: states names and options in ``relevance_sources()``.
        train: the split whose captions and images are compared.

    Raises:
        ValueError: neither has it.
    """
    asked = objective.relevance_sources()
    makers = text.judges()
    judged = {
        name: _judged(
            name, train, f"the objective needs the relevance {name!r}; captions give {', '.join(makers)}, and"
        )
        for name in asked.keys() - makers
    }
    pool = (train.captions, train.own)
    return judged | {
        name: text.load(name, **asked[name]).fit(*pool).of(*pool) for name in asked if name in makers
    }


@dataclass(frozen=True)
class Right:
    """Which pairs judgements call right."""

    judged: Judgements | Computed

    def take(self, images: Rows, captions: Rows) -> NDArray[np.bool_]:
        """``(n, m)`` truth values of these image rows and caption rows; a pair that nobody judged is not
        right.
        """
        return np.greater_equal(self.judged.take(images, captions), self.judged.relevant_from)


def positives(name: str, train: Split) -> Right | None:
    """The pairs that count as positive in training beside those that belong together.

    Args:
        name: of the split's judgements; ``"own"`` = no others.
        train: the split.

    Raises:
        ValueError: the split has no such judgements.
    """
    return None if name == "own" else Right(_judged(name, train, f"positives={name!r} names judgements;"))


def _judged(name: str, train: Split, wanted: str) -> Judgements | Computed:
    if name not in (judged := train.judgements):
        raise ValueError(f"{wanted} {train.name} has {', '.join(judged)}")
    return train.relevance(name)


def kept_config(folder: Path) -> Config:
    """The configuration of a finished run.

    Raises:
        FileNotFoundError: the folder keeps none.
        ChecksumError: the run's weights or its other files were made with another one.
    """
    file = folder / CONFIG
    remedy = f"{folder} keeps no model; name the folder of a finished training run"
    require(file.is_file(), remedy, FileNotFoundError)
    said = read_options(file)
    weights = checkpoint.facts(folder / MODEL) if (folder / MODEL).is_file() else {}
    for other, facts in {MODEL: weights, CHECKSUMS: verify_files(folder)}.items():
        differ = "; ".join(changed(facts.get("config", said), said).values())
        require(
            not differ, f"{file} is not the configuration of {other}: {differ}; restore it", ChecksumError
        )
    return Config(**said)


def load_model(folder: str | Path = "", *, device: str = "cpu") -> Model:
    """The model of a finished run; without a folder, the shipped pre-trained encoder of the embedded world.

    Args:
        folder: a run folder with a checkpoint, or ``""``.
        device: where the weights go.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
        ChecksumError: a file of it is damaged, or is that of another run; the message names it.
    """
    if not str(folder):
        model = build(resolve(Config(start="scenes")), ())
    else:
        path = Path(folder)
        if missing := [name for name in (CONFIG, STATES, MODEL) if not (path / name).exists()]:
            raise FileNotFoundError(
                f"{path} holds no checkpoint: {', '.join(missing)} missing; name the folder of a finished run"
            )
        config = kept_config(path)
        verify_files(path, path / STATES)
        model = build(config, (), json.loads((path / STATES).read_text(encoding="utf-8")))
        checkpoint.load_weights(model.pair, model.objective, checkpoint.read(path / MODEL)[0])
    for module in (model.pair, model.objective):
        module.to(device).eval()
    return model
