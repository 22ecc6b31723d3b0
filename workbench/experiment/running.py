"""One experiment: a configuration, and the function that turns it into a result. The only file that knows all
shelves.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, get_type_hints

from workbench import data, encoders, objectives, text
from workbench.encoders.base import Pair
from workbench.experiment import needs
from workbench.experiment.evaluation import calibrate, evaluate, validation_rsum
from workbench.experiment.model import Model
from workbench.experiment.opened import Contents, OpenRun
from workbench.experiment.runs import CONFIG, MODEL, STATES
from workbench.objectives.base import Objective
from workbench.records import Rows, Split
from workbench.registry import check_options, did_you_mean
from workbench.text.signal import SignalMaker
from workbench.training import Settings, checkpoint, fit, seed_everything
from workbench.training.batches import Source
from workbench.training.clusters import k_means, mean_regions


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Everything that decides a result: data, encoders, objective, and how to train (see ``Settings``).

    Args:
        objective: a name of the objectives shelf, or a sum such as ``"ditm+0.5*dias.dim"``;
            ``objective_options``: its options, of a sum by paper.
        positives: name of the training split's judgements whose relevant pairs count as positive beside those
            that belong together, e.g. ``"exact"``; ``"own"`` = no others.
        data: a name of the data shelf; ``data_options``: its options, the same for every split.
        train_images, val_images, test_images: the first so many images of each split; 0 = all.
        features: frozen backbone whose cached grid features the ``regions`` encoder reads, e.g.
            ``"efficientnet_lite0"``.
        image_encoder, text_encoder: names of the encoders shelf; the same name twice is one module for both
            sides, made with ``image_options``.
        image_options, text_options: their options.

    Raises:
        KeyError: an unknown name; TypeError: an unknown option; ValueError: a value outside its range.
    """

    objective: str = "infonce"
    objective_options: dict[str, Any] = field(default_factory=dict)
    positives: str = "own"
    data: str = "scenes"
    data_options: dict[str, Any] = field(default_factory=dict)
    train_images: int = 0
    val_images: int = 0
    test_images: int = 0
    features: str = ""
    image_encoder: str = "towers"
    image_options: dict[str, Any] = field(default_factory=dict)
    text_encoder: str = "towers"
    text_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text_encoder == self.image_encoder and self.text_options:
            raise ValueError(
                f"text_options: {self.text_encoder!r} serves both sides here; give its options as image_options"
            )
        objectives.check(self.objective, self.objective_options)
        check_options(f"data {self.data!r}", data.member(self.data), self.data_options)
        check_options(
            f"encoder {self.image_encoder!r}", encoders.member(self.image_encoder), self.image_options
        )
        check_options(f"encoder {self.text_encoder!r}", encoders.member(self.text_encoder), self.text_options)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from JSON values.

        Raises:
            TypeError: an unknown field, with the near ones, or a value of another type.
        """
        hints = get_type_hints(cls)
        known = [f.name for f in fields(cls)]
        clean: dict[str, Any] = {}
        for name, value in values.items():
            if name not in hints or name not in known:
                raise TypeError(f"config has no field {name!r}; {did_you_mean(name, known)}")
            clean[name] = _as(name, value, hints[name])
        return cls(**clean)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Build from a JSON file."""
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def as_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def _as(name: str, value: Any, kind: Any) -> Any:
    if kind == tuple[int, ...]:
        kind, value = tuple, tuple(value)
    plain = getattr(kind, "__origin__", kind)
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, plain) or (isinstance(value, bool) and plain is not bool):
        raise TypeError(f"config field {name!r} is {value!r}; expected {plain.__name__}")
    return value


def run(config: Config, *, folder: str | Path | None = None, progress: bool = True) -> OpenRun:
    """Load, build, train, evaluate.

    Args:
        config: the experiment.
        folder: where checkpoints go; an unfinished run that lies there is resumed. ``None`` keeps everything
            in memory.
        progress: show a bar where somebody can see it.

    Returns:
        The opened run, evaluated on the test split with the weights of the best validation epoch.

    Raises:
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
    history = []
    if config.epochs:
        relevance = needs.relevance(model.objective, splits["train"])
        right = needs.positives(config.positives, splits["train"])
        train = replace(model.source(splits["train"]), relevance=relevance, positives=right)
        train = replace(train, clusters=_clusters(config, model, train))
        place = Path(folder) if folder else None
        history = fit(
            model.pair,
            model.objective,
            train,
            lambda: validation_rsum(model, val),
            config,
            folder=place,
            progress=progress,
        )
    calibrate(model, val)
    measurements, _, image, texts = evaluate(model, test, seed=config.seed)
    load = partial(Contents, model, image, texts)
    return OpenRun(
        config.objective, splits["test"], load, None, config.as_dict(), measurements, history
    )


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
    from workbench.encoders.backbones.features import extract

    return replace(split, regions=extract(split, config.features, progress=progress))


def resolve(config: Config, train: Split) -> Config:
    """The config with the widths that only the data know, so that a checkpoint can be read without the data."""
    if train.regions is None:
        return config
    facts = {"in_dim": int(train.regions.shape[-1])}
    return replace(
        config, image_options=encoders.member(config.image_encoder).complete(config.image_options, facts)
    )


def build(config: Config, captions: tuple[str, ...], states: Mapping[str, Any] | None = None) -> Model:
    """Encoders, objective and signal makers of a config.

    Args:
        config: names and options.
        captions: pool on which the signal makers are fitted.
        states: what the makers learnt earlier; then nothing is fitted and no pre-trained weights are loaded.
    """
    objective: Objective = objectives.load(config.objective, **config.objective_options)
    needs.check_captions(config.objective, objective, config.captions_per_image)
    needs.check_mix(config.objective, objective, config.mix)
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
        config = Config.from_dict(json.loads((path / CONFIG).read_text(encoding="utf-8")))
        model = build(config, (), json.loads((path / STATES).read_text(encoding="utf-8")))
        checkpoint.load_weights(model.pair, model.objective, checkpoint.read(path / MODEL)[0])
    model.pair.to(device).eval()
    model.objective.to(device).eval()
    return model
