"""One experiment: a configuration, and the function that turns it into a result. The only file that knows all
shelves.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench import data, encoders, objectives, text
from workbench.encoders.base import Pair
from workbench.experiment import needs
from workbench.experiment.config import Config
from workbench.experiment.evaluation import calibrate, evaluate, validation_rsum
from workbench.experiment.model import Model
from workbench.experiment.opened import Contents, OpenRun
from workbench.experiment.runs import CONFIG, MODEL, STATES
from workbench.objectives.base import Objective
from workbench.records import Rows, Split
from workbench.text.signal import SignalMaker
from workbench.training import checkpoint, fit, seed_everything
from workbench.training.batches import Source
from workbench.training.samplers import k_means, mean_regions


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
    seed_everything(config.seed)
    splits = {name: load_split(config, name, progress=progress) for name in ("train", "val", "test")}
    config = resolve(config, splits["train"])
    needs.check_regions(
        config.image_encoder, encoders.member(config.image_encoder).image_input, splits["train"]
    )
    model = build(config, splits["train"].captions)
    val, test = (model.source(splits[name], every_signal=False) for name in ("val", "test"))
    train = None
    if config.epochs:
        relevance = needs.relevance(model.objective, splits["train"])
        right = needs.positives(config.positives, splits["train"])
        train = replace(model.source(splits["train"]), relevance=relevance, positives=right)
        train = replace(train, clusters=_clusters(config, model, train))
    return Prepared(config, model, train, val, test)


def run(experiment: Config | Prepared, *, folder: str | Path | None = None, progress: bool = True) -> OpenRun:
    """Load, build, train, evaluate.

    Args:
        experiment: the configuration, or what ``prepare`` made of it.
        folder: where checkpoints go; an unfinished run that lies there is resumed. ``None`` keeps everything
            in memory.
        progress: show a bar where somebody can see it.

    Returns:
        The opened run, evaluated on the test split with the weights of the best validation epoch.

    Raises:
        FileNotFoundError, ImportError, ValueError: as ``prepare``.
    """
    ready = experiment if isinstance(experiment, Prepared) else prepare(experiment, progress=progress)
    config, model, history = ready.config, ready.model, []
    if ready.train is not None:
        history = fit(
            model.pair, model.objective, ready.train, lambda: validation_rsum(model, ready.val), config,
            folder=Path(folder) if folder else None, progress=progress,
        )  # fmt: skip
    calibrate(model, ready.val)
    measurements, values, *embedded = evaluate(model, ready.test, metrics=config.metrics)
    load, split = partial(Contents, model, *embedded), ready.test.split
    return OpenRun(config.objective, split, load, None, config.as_dict(), measurements, history, values)


def _clusters(config: Config, model: Model, train: Source) -> Rows | None:
    """The cluster of each training image, where batches hold neighbours; made before training, as a resumed
    run makes it.
    """
    if config.sampler != "clusters":
        return None
    regions = train.split.regions
    features = (
        mean_regions(regions)
        if regions is not None
        else model.embed_images_of(train, parts=False).mean.numpy()
    )
    return k_means(features, config.clusters, seed=config.seed)


def load_split(config: Config, name: str, *, progress: bool = True) -> Split:
    """One split of the config's data set, cut to size, with region features where the config asks for them."""
    images = getattr(config, f"{name}_images")
    options = dict(config.data_options)
    if images and "size" in inspect.signature(data.member(config.data)).parameters:
        options["size"] = images
    split: Split = data.load(config.data, split=name, **options)
    split = split.first(images) if images else split
    if not config.features:
        return split
    from workbench.encoders.backbones import extract

    return replace(split, regions=extract(split, config.features, progress=progress))


def resolve(config: Config, train: Split) -> Config:
    """The config with the widths that only the data know, so that a checkpoint can be read without the data."""
    if train.regions is None:
        return config
    facts = {"in_dim": int(train.regions.shape[-1])}
    member = encoders.member(config.image_encoder)
    return config.model_copy(update={"image_options": member.complete(config.image_options, facts)})


def build(config: Config, captions: tuple[str, ...], states: Mapping[str, Any] | None = None) -> Model:
    """Encoders, objective and signal makers of a config.

    Args:
        config: names and options.
        captions: pool on which the signal makers are fitted.
        states: what the makers learnt earlier; then nothing is fitted and no pre-trained weights are loaded.
    """
    objective: Objective = objectives.load(config.objective, **config.objective_options)
    image_class, text_class = encoders.member(config.image_encoder), encoders.member(config.text_encoder)
    text_options = (
        config.image_options if config.image_encoder == config.text_encoder else config.text_options
    )
    wanted = text_class.signals(**text_options)
    makers: dict[str, SignalMaker] = {}
    for name, options in {**objective.signals(), **wanted}.items():
        maker = text.load(name, **options)
        makers[name] = maker.fit(captions) if states is None else maker.restore(states[name])
    vocabulary = next((made for name in wanted if (made := getattr(makers[name], "vocabulary", None))), None)
    image = _encoder(config.image_encoder, config.image_options, vocabulary, states is None)
    same = text_class is image_class
    pair = Pair(
        image, image if same else _encoder(config.text_encoder, text_options, vocabulary, states is None)
    )
    needs.check_reads(config.objective, objective, pair)
    objective.fit_width(pair.image.embed_dim)
    return Model(pair, objective, makers, tuple(wanted))


def _encoder(name: str, options: dict[str, Any], vocabulary: Any, pretrained: bool) -> Any:
    facts = ({} if vocabulary is None else {"vocabulary": vocabulary}) | (
        {} if pretrained else {"pretrained": ""}
    )
    return encoders.load(name, **encoders.member(name).complete(options, facts))


def load_model(folder: str | Path = "", *, device: str = "cpu") -> Model:
    """The model of a finished run; without a folder, the shipped pre-trained encoder of the embedded world.

    Args:
        folder: a run folder with a checkpoint, or ``""``.
        device: where the weights go.

    Raises:
        FileNotFoundError: the folder holds no checkpoint.
    """
    if not str(folder):
        model = build(Config(), ())
    else:
        path = Path(folder)
        missing = [name for name in (CONFIG, STATES, MODEL) if not (path / name).exists()]
        if missing:
            raise FileNotFoundError(
                f"{path} holds no checkpoint: {', '.join(missing)} missing; name the folder of a finished run"
            )
        config = Config.read(path / CONFIG)
        model = build(config, (), json.loads((path / STATES).read_text(encoding="utf-8")))
        checkpoint.load_weights(model.pair, model.objective, checkpoint.read(path / MODEL)[0])
    model.pair.to(device).eval()
    model.objective.to(device).eval()
    return model
