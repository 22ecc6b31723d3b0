"""What an evaluation is of: one thing that is measured, and data as they were named."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from workbench import data as datasets
from workbench.records import Split, require
from workbench.registry import class_of
from workbench.runs.build import load_split, load_target
from workbench.runs.model import Model
from workbench.runs.own import is_object_model
from workbench.runs.target import Target


class Where(NamedTuple):
    """The data of an evaluation, as they were named, and whether vectors and scores need their images."""

    data: Any
    split: str
    require_images: bool = False

    @property
    def unread(self) -> dict[str, Any]:
        """Options of data whose images need not be there."""
        return {} if self.require_images else {"require_images": False}


def data_of(model: Model, where: Where) -> tuple[Split, Target | None]:
    """Return the data that were named as a model reads them, else those that it was trained for."""
    if where.data is not None:
        return read_data(model, where)
    if model.config is None:
        raise ValueError(f"{model.name} was not trained here; name the data to evaluate it on")
    return load_split(model.config, where.split or "test"), None


def read_data(
    model: Model, where: Where, unnamed: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Split, Target | None]:
    """Return a split as the model reads it, and how its data are named, if they have a name.

    Args:
        model: of what is read.
        where: the data.
        unnamed: further options of data that are not of the registry.
    """
    data, split = where.data, where.split
    if isinstance(data, Split):
        return data, None
    if isinstance(data, str | Path):
        data = Target(data=str(data), split=split)
    elif isinstance(data, Mapping) and isinstance(data.get("name"), str):
        data = Target(data=data, split=split)
    if isinstance(data, Target):
        if place := datasets.path_of(data.data.name):
            loader = datasets.member(str(place.resolve()))
            taken = {name: value for name, value in unnamed.items() if loader.takes(name)}
            whole = {"name": str(place.resolve()), **taken, **data.data.options}
            data = Target(data=whole, split=data.split, images=data.images)
        return load_target(model.config, data), data
    named = {"split": split} if split else {}
    return datasets.load(data, **named, **unnamed), None


def require_unread(where: Where, of_model: Mapping[str, Any], *, second_stage: bool) -> None:
    """Raise if a value is given that nothing reads, where vectors or scores are measured.

    Args:
        where: on which data.
        of_model: values that belong to a model, by name.
        second_stage: whether a model scores again, which some of the values may be of.

    Raises:
        ValueError: the message names the value.
    """
    of_second = ("device", "precision", "trust_remote_code") if second_stage else ()
    for name, value in of_model.items():
        read = not value or name in of_second
        require(read, f"{name}={value!r:.200} belongs to a model; leave it out")
    split = where.split if where.data is None else ""
    require(not split, f"split={split!r:.200} belongs to data; leave it out")


def require_one_subject(models: Sequence[Any], sources: Mapping[str, Any], data: Any) -> None:
    """Raise unless one thing is evaluated, and something says which text belongs to which image.

    Args:
        models: that were given; there may be none.
        sources: vectors, scores and lists by name, and ``own``; ``None`` where they were not given.
        data: see ``evaluate``.

    Raises:
        TypeError: a model is given as the data.
        ValueError: nothing or several things are evaluated; the message names them.
    """
    if isinstance(data, Model) or is_object_model(data):
        raise TypeError(
            f"{class_of(data)} is given as the data; the model comes first, evaluate(model, data)"
        )
    images, texts, scores, runs = (
        sources[name] is not None for name in ("images", "texts", "scores", "runs")
    )
    require(images == texts, "give the vectors of images and of texts")
    ways = {"a model": bool(models), "vectors as images and texts": images, "scores": scores, "runs": runs}
    chosen = [name for name, present in ways.items() if present]
    several = f", and not {' and '.join(chosen)}" if chosen else ""
    require(len(chosen) == 1, f"give one of {', '.join(ways)}{several}")
    own = sources["own"]
    if models:
        require(own is None, "own belongs to vectors and scores; a model needs data")
    elif runs:
        require(data is not None and own is None, "runs need data, whose images and captions they rank")
    else:
        require((data is None) == (own is not None), f"give data, or {chosen[0]} with own and no data")
