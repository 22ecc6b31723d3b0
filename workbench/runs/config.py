"""The configuration of one experiment: fields by name, and members of registries with their options.

``Config(objective="vsepp", epochs=2)``; a member has its options beside its name,
``Config(objective={"name": "vsepp", "margin": 0.3})``. Files and grids are written the same way, and on a
command line dots point into a member, ``-p objective=vsepp -p objective.margin=0.3``.

A configuration holds what was given and checks what a value can say alone. ``resolve`` completes it and
checks it as a whole.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from workbench.io import read_options, reading_errors
from workbench.objectives.parts.attention import Form
from workbench.records import require
from workbench.registry import Count, class_of, describe_error, did_you_mean, options_of
from workbench.runs.spellings import MEMBERS, merge_layers, nest, require_data
from workbench.training.settings import Section, Settings


def as_list(names: Any) -> Any:
    """Read one name as a list with one entry."""
    return [names] if isinstance(names, str) else names


class Member(Section):
    """A member of a registry with its options, which are checked where it is made.

    Args:
        name: of the registry.
    """

    model_config = ConfigDict(extra="allow")
    name: str

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        """Read a bare name."""
        return value if isinstance(value, Mapping | Member) else {"name": value}

    @property
    def options(self) -> dict[str, Any]:
        """All but the name."""
        return dict(self.model_extra or {})


class DataConfig(Member):
    """A data set with its options, the same for every split, but for those that are about the training split
    alone, such as ``share``.
    """

    name: str = "scenes"


class ObjectiveConfig(Member):
    """An objective, or a sum such as ``"ditm+0.5*dias.dim"``, with its options; of a sum by paper."""

    name: str = "infonce"


class EncoderConfig(Member):
    """An encoder with its options."""

    name: str = "towers"


class ScorerConfig(Member):
    """``"cosine"`` of the pooled vectors, or a form of ``CrossAttention`` or ``MaxSim`` with its options,
    which compares parts, or ``"entities"``.
    """

    name: Literal["cosine", Form] = "cosine"


class RerankerConfig(Member):
    """A form of ``CrossAttention`` or ``MaxSim`` with its options, or ``"entities"``."""

    name: Form = "cross"


class Config(Settings):
    """Everything that decides a result: the fields below, and those of ``Settings``, which say how to train.

    Args:
        data: what is trained and measured on.
        train_images, val_images, test_images: the first so many images of each split; 0 = all.
        features: frozen backbone whose cached grid features the ``regions`` encoder reads, e.g.
            ``"efficientnet_lite0"``.
        start: shipped matching model that encoders start from.
        image_encoder, text_encoder: the same name twice is one module for both sides, made with the options
            of ``image_encoder``.
        scorer: how an objective scores pairs, in training and in evaluation: ``"cosine"``, a form of
            ``CrossAttention``, ``"maxsim"`` or ``"entities"``, e.g. ``{"name": "maxsim", "query": "both"}``.
        random_weights: a tower without pre-trained weights may be frozen, which is refused otherwise.
        rerank: evaluation scores the best so many items of every query again; 0 = none.
        reranker: how, as ``scorer``.
        objective: what the model is trained for: a name of the registry, or a sum such as
            ``"ditm+0.5*dias.dim"``.
        positives: judgements of the training split whose relevant pairs count as positive beside those that
            belong together, e.g. ``"exact"``; ``"own"`` = no others.
        negatives: texts that are false of a caption's image, of which a batch has one for each caption:
            ``"data"`` = the column of the data, or a member of the text registry that makes them, as
            ``"counterfactuals"``; empty = none.
        metrics: members of the metrics registry to measure beside the usual ones.
        judge: a member of the text registry that grades captions against images, e.g. ``"cider"``; those of
            ``metrics`` that read grades are measured by its grades too, in keys that begin with its name.

    Raises:
        TypeError: an unknown field, with the near ones, or a value of another type.
        ValueError: a value outside its range.
    """

    data: DataConfig = DataConfig()
    train_images: Count = 0
    val_images: Count = 0
    test_images: Count = 0
    features: str = ""
    start: Literal["", "scenes"] = ""
    image_encoder: EncoderConfig = EncoderConfig()
    text_encoder: EncoderConfig = EncoderConfig()
    scorer: ScorerConfig = ScorerConfig()
    random_weights: bool = False
    rerank: Count = 0
    reranker: RerankerConfig = RerankerConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    positives: str = "own"
    negatives: str = ""
    # strict=False, since a list is what JSON has for a tuple
    metrics: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(default=(), strict=False)
    judge: str = ""

    def __init__(self, **values: Any) -> None:
        check_fields("config", type(self), values)
        init_section("config", super().__init__, values)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Build from a JSON or YAML file.

        Raises:
            FileNotFoundError: no such file.
            ValueError: as ``read_options``, or what the class refuses, with the file's name before it.
        """
        with reading_errors(path, "holds no configuration", TypeError, KeyError):  # unknown names
            return cls(**nest(read_options(path)))

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, as JSON values."""
        return self.model_dump(mode="json")

    def given_fields(self) -> dict[str, Any]:
        """Return the fields that were given, by name."""
        return self.model_dump(exclude_unset=True)

    def replace(self, **changes: Any) -> Self:
        """Return the same with other values of some fields. Options without a name are those of the member
        that is there; another name begins a member anew.
        """
        whole = {name: value for name, value in changes.items() if isinstance(value, Member)}
        others = {name: value for name, value in changes.items() if name not in whole}
        check_fields("config", type(self), changes)
        return type(self)(**{**merge_layers(self.given_fields(), others), **whole})


def as_config(config: Any) -> Config:
    """Read a configuration, or its fields by name.

    Raises:
        TypeError: something else; the message says how a configuration is written.
    """
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return Config(**config)
    example = repr(config)[:100] if isinstance(config, str) else "'vsepp'"
    start = f"{config!r:.100}" if isinstance(config, str) else class_of(config)
    raise TypeError(f"{start} is no configuration; write Config(objective={example}), or Config.read(path)")


# names of before -> what stands before an entry of theirs now
FORMER = {
    "objective_options": "objective.",
    "data_options": "data.",
    "image_options": "image_encoder.",
    "text_options": "text_encoder.",
    "config": "",
    "settings": "",
    "training": "",
    "model": "",
}
# fields that stood within a member before
OUTSIDE = {
    "data": ("train_images", "val_images", "test_images"),
    "objective": ("positives", "metrics", "judge"),
}


def check_fields(what: str, kind: type[Section], values: Mapping[str, Any]) -> None:
    """Raise if a name is not a field, or is spelt otherwise now.

    Args:
        what: how messages call the whole.
        kind: has the fields.
        values: by name.

    Raises:
        TypeError: with the near names, or with the spelling of today.
        FileNotFoundError: the data are a path that leads nowhere, which is said before a name is.
    """
    if not values.keys() <= kind.model_fields.keys():
        require_data(values)
    for name, value in values.items():
        if name in kind.model_fields:
            _check_entries(name, value)
        elif name in FORMER:
            raise TypeError(f"{what} has no field {name!r}; write {' and '.join(_spellings(name, value))}")
        else:
            raise TypeError(f"{what} has no field {name!r}; {_hint(name, list(kind.model_fields))}")


def _spellings(name: str, value: Any) -> list[str]:
    """List how the entries of a name of before are spelt now."""
    out = []
    entries = value if isinstance(value, Mapping) and value else {"NAME": None}
    for entry, inner in entries.items():
        out += _spellings(entry, inner) if entry in FORMER else [f"{FORMER[name]}{entry}"]
    return out


def _check_entries(name: str, value: Any) -> None:
    """Raise if a member holds what stands outside it now, or its options in a mapping of their own."""
    if name not in MEMBERS or not isinstance(value, Mapping):
        return
    for entry in value:
        outside = entry in OUTSIDE.get(name, ()) and not _is_option(entry, name, value.get("name"))
        require(not outside, f"{name} has no {entry!r}; write {entry} by itself", TypeError)
    options = value.get("options")
    if isinstance(options, Mapping):
        examples = [f"{name}.{option}" for option in options or ("NAME",)]
        raise TypeError(f"{name} has no 'options'; write {' and '.join(examples)}")


def _is_option(option: str, kind: str, member: Any) -> bool:
    """Return whether a data set or an objective takes an option, CORA its ``positives``."""
    from workbench import data, objectives  # slow to import, for a message alone

    registry: Any = data if kind == "data" else objectives
    with suppress(LookupError, OSError, TypeError, ImportError):
        return option in options_of(registry.member(member))
    return False


def init_section(what: str, init: Callable[..., None], values: Mapping[str, Any]) -> None:
    """Call the ``__init__`` of a section.

    Raises:
        TypeError, ValueError: a value that does not fit its field, in one line.
    """
    try:
        init(**values)
    except ValidationError as error:
        raise describe_error(what, values, error.errors()) from None


def _hint(name: str, known: list[str]) -> str:
    """Describe what may be meant by a field that there is not: an option, or a field spelt alike."""
    head, _, rest = name.partition(".")
    if rest and head in known:
        return f"in Python write {head}={{'name': ..., {rest!r}: ...}}"
    from workbench import objectives

    near = did_you_mean(name, known, "none")
    # encoders and data take seconds to load
    if near != "none" and not objectives.members_with_option(name):
        return near
    takers = members_with_option(name).items()
    parts = [f"it is an option of {', '.join(members)}: write {path}" for path, members in takers]
    return "; ".join(parts) or did_you_mean(name, known)


def members_with_option(option: str) -> dict[str, dict[str, Any]]:
    """Find the members of registries that take an option, which loads them all.

    Args:
        option: its name alone, e.g. ``"margin"``.

    Returns:
        How the option is written, e.g. ``"objective.margin"`` -> the members that take it, by name.
    """
    from workbench import data, encoders, objectives
    from workbench.objectives.parts import attention

    places = {
        "objective": objectives.members_with_option(option),
        "data": data.members_with_option(option),
        "image_encoder": encoders.members_with_option(option),
        "scorer": attention.scorers_with_option(option),
    }
    if option in ("name", "split"):  # every member has a name, and a configuration reads every split
        return {}
    return {f"{place}.{option}": members for place, members in places.items() if members}
