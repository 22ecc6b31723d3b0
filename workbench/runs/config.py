"""The configuration of one experiment: four sections, each field by one name.

``Config(objective="ditm", epochs=2)`` and ``Config(objective={"name": "ditm"}, training={"epochs": 2})`` are
the same: a name belongs to one section. Notebooks, grids and ``-p`` use the names alone, or dots,
``training.epochs``. ``name`` and ``options`` of a section are called as the section, ``data`` and
``data_options``. A name that a section with options does not have is one of them: ``objective.margin`` is
``objective_options.margin``. ``config.training.epochs`` reads one.

A configuration holds what was given and checks what a value can say alone. ``resolve`` completes it and
checks it as a whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError

from workbench.io import read_options, reading_errors
from workbench.objectives.parts.attention import Form
from workbench.registry import Count, did_you_mean, refusal
from workbench.runs.spellings import Group, Layer, lay, read
from workbench.training.settings import Section, Settings


class DataSection(Section):
    """What is trained and measured on.

    Args:
        name: of the data shelf.
        options: of the data set, the same for every split, but for those that are about the training split
            alone, such as ``share``.
        train_images, val_images, test_images: the first so many images of each split; 0 = all.
    """

    name: str = "scenes"
    options: dict[str, Any] = Field(default_factory=dict)
    train_images: Count = 0
    val_images: Count = 0
    test_images: Count = 0


class ModelSection(Section):
    """The encoders.

    Args:
        features: frozen backbone whose cached grid features the ``regions`` encoder reads, e.g.
            ``"efficientnet_lite0"``.
        start: shipped matching model that encoders start from.
        image_encoder, text_encoder: names of the encoders shelf; the same name twice is one module for both
            sides, made with ``image_options``.
        image_options, text_options: their options.
        scorer: how an objective scores pairs, in training and in evaluation: ``"cosine"`` of the pooled
            vectors, or a form of ``CrossAttention``, which compares parts, or ``"entities"``, or a mapping of
            the fields of one, e.g. ``{"form": "cross", "attention": "relu"}``.
        random_weights: a tower without pre-trained weights may be frozen, which is refused otherwise.
        rerank: evaluation scores the best so many items of every query again; 0 = none.
        reranker: how, as ``scorer``.
    """

    features: str = ""
    start: Literal["", "scenes"] = ""
    image_encoder: str = "towers"
    image_options: dict[str, Any] = Field(default_factory=dict)
    text_encoder: str = "towers"
    text_options: dict[str, Any] = Field(default_factory=dict)
    scorer: Literal["cosine", Form] | dict[str, Any] = "cosine"
    random_weights: bool = False
    rerank: Count = 0
    reranker: Form | dict[str, Any] = "cross"


class ObjectiveSection(Section):
    """What the model is trained for, and what it is measured by.

    Args:
        name: of the objectives shelf, or a sum such as ``"ditm+0.5*dias.dim"``.
        options: of the objective; of a sum by paper.
        positives: judgements of the training split whose relevant pairs count as positive beside those that
            belong together, e.g. ``"exact"``; ``"own"`` = no others.
        metrics: members of the metrics shelf to measure beside the usual ones.
        judge: a member of the text shelf that grades captions against images, e.g. ``"cider"``; those of
            ``metrics`` that read grades are measured by its grades too, in keys that begin with its name.
    """

    name: str = "infonce"
    options: dict[str, Any] = Field(default_factory=dict)
    positives: str = "own"
    # strict=False, since a list is what JSON has for a tuple
    metrics: tuple[str, ...] = Field(default=(), strict=False)
    judge: str = ""


class Config(Section):
    """Everything that decides a result.

    Args:
        data, model, objective, training: the sections. Any field may also be given by itself, or in
            ``settings``, which holds fields by name.

    Raises:
        TypeError: an unknown field, with the near ones, or a value of another type.
        ValueError: a value outside its range, or a field that is given twice.
    """

    data: DataSection = DataSection()
    model: ModelSection = ModelSection()
    objective: ObjectiveSection = ObjectiveSection()
    training: Settings = Settings()

    def __init__(self, **values: Any) -> None:
        given = flat(values)
        for name in given.keys() - FIELDS.keys():
            raise TypeError(f"config has no field {name!r}; {_instead(name)}")
        sections: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            section, field = FIELDS[name]
            sections.setdefault(section, {})[field] = value
        try:
            super().__init__(**sections)
        except ValidationError as error:
            errors: list[Any] = list(error.errors())
            for one in errors:
                one["loc"] = (field_name(*one["loc"][:2]), *one["loc"][2:])
            raise refusal("config", given, errors) from None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Build from a JSON or YAML file.

        Raises:
            FileNotFoundError: no such file.
            ValueError: as ``read_options``, or what the class refuses, with the file's name before it.
        """
        with reading_errors(path, "holds no configuration", TypeError, KeyError):  # unknown names
            return cls(**read_options(path))

    def as_dict(self) -> dict[str, Any]:
        """All fields by name, as JSON values."""
        return flat(self.model_dump(mode="json"))

    def given(self) -> dict[str, Any]:
        """The fields that were given, by name."""
        return flat(self.model_dump(exclude_unset=True))

    def replace(self, **changes: Any) -> Self:
        """The same with other values of some fields; ``{"objective.margin": 0.3}`` changes one option."""
        whole = {setting.path[0] for setting in read(_plain(changes), GROUPS) if setting.depth == 1}
        rest = {name: value for name, value in self.given().items() if name not in whole}
        return type(self)(**flat(rest, changes))


def _instead(name: str) -> str:
    """What may be meant by a field that there is not: a section, an option of objectives, or a field spelt
    alike.
    """
    if name in SECTIONS:
        return f"it is a section: give its fields, such as {name}.{names_in(name)[0]}"
    from workbench import objectives  # loads them all, for a message alone

    if takers := objectives.takers(name):
        return f"it is an option of {', '.join(takers)}: give objective.{name}"
    return did_you_mean(name, list(FIELDS))


SECTIONS: dict[str, type[Section]] = {
    "data": DataSection, "model": ModelSection, "objective": ObjectiveSection, "training": Settings,
}  # fmt: skip


def field_name(section: str, field: str = "name") -> str:
    """The name of a field where no section is named.

    >>> [field_name("data", field) for field in ("name", "options", "train_images")]
    ['data', 'data_options', 'train_images']
    """
    return {"name": section, "options": f"{section}_options"}.get(field, field)


# name of a field -> its section and its name there
FIELDS = {
    field_name(section, field): (section, field)
    for section, kind in SECTIONS.items()
    for field in kind.model_fields
}


def _group(section: str) -> Group:
    """A section as a place where its fields may be given."""
    fields = {field: field_name(section, field) for field in SECTIONS[section].model_fields}
    return Group(fields, fields.get("options", ""))


def names_in(section: str) -> list[str]:
    """The names of a section's fields there, but for its options."""
    return [field for field in SECTIONS[section].model_fields if field != "options"]


# names under which fields may be given
ENCODERS = {"image_encoder": "image_options", "text_encoder": "text_options"}
GROUPS = {
    **{section: _group(section) for section in SECTIONS},
    **{name: Group({"name": name, "options": options}, options) for name, options in ENCODERS.items()},
    "settings": Group(),
}


def flat(*layers: Layer) -> dict[str, Any]:
    """Fields by name, however they were written, see ``spellings``.

    Args:
        layers: name -> value, or pairs of them; the later ones are laid over the earlier ones.

    Raises:
        TypeError: a section has no such field.
        ValueError: a layer gives a field twice.

    >>> flat({"objective": "ditm", "training": {"epochs": 2}, "data": {"options": {"size": 8}}})
    {'objective': 'ditm', 'epochs': 2, 'data_options': {'size': 8}}
    >>> flat({"objective.margin": 0.3, "objective": "vsepp"}, {"objective.options.margin": 0.2})
    {'objective_options': {'margin': 0.2}, 'objective': 'vsepp'}
    """
    return lay(*map(_plain, layers), groups=GROUPS)


def _plain(layer: Layer) -> list[tuple[str, Any]]:
    """A layer in pairs, with what was set in a section instead of the section."""
    pairs = layer.items() if isinstance(layer, Mapping) else layer
    return [(name, _set(value)) for name, value in pairs]


def _set(value: Any) -> Any:
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value
