"""Every option of every registry member and of every grid is held to its name, type and range by the
configuration alone: before data is read, and before a kernel starts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from workbench import data, encoders, objectives, text
from workbench.execution.grid import plan, read_grid
from workbench.records import Split
from workbench.registry import Group, check_options
from workbench.runs import Config
from workbench.runs.resolve import resolve

GRIDS = sorted((Path(__file__).parent.parent / "notebooks" / "grids").glob("*.yaml"))
REGISTRIES = {"objective": objectives, "data": data, "image_encoder": encoders}
# Numbers that may be anything by nature: an exponent and shifts of either sign, and a cap that may be off.
NO_RANGE = {
    "aahr.graph.alpha", "hrem.alpha", "pcme.shift", "pcmepp.shift", "siglip.shift", "sam.cap",
    # grades of any scale
    "rince.ranks.thresholds", "rince.ranks.false_below",
    "three_ranks.ranks.thresholds", "three_ranks.ranks.false_below",
}  # fmt: skip


def options(member: Any) -> dict[str, Any]:
    """The annotation of each option."""
    hints = get_type_hints(member.__init__ if inspect.isclass(member) else member, include_extras=True)
    return {name: hints.get(name, Any) for name in inspect.signature(member).parameters}


def parts(kind: Any) -> Iterator[Any]:
    """All that an annotation is made of."""
    yield kind
    for part in () if get_origin(kind) is Literal else (*get_args(kind), *getattr(kind, "__metadata__", ())):
        yield from parts(part)


def has_range(kind: Any) -> bool:
    """Whether an annotation says more than a type."""
    return any(get_origin(part) is Literal or hasattr(part, "__metadata__") for part in parts(kind))


def walk(member: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Path and annotation of every option, those of groups included."""
    for name, kind in options(member).items():
        yield f"{path}.{name}", kind
        for mark in getattr(kind, "__metadata__", ()):
            if isinstance(mark, Group):
                yield from walk(mark.kind, f"{path}.{name}")


def given(member: str, path: str, value: Any) -> dict[str, Any]:
    """``"x", "a.b", 1`` as ``{"a": {"name": "x", "b": 1}}``."""
    first, *rest = path.split(".")
    for name in reversed(rest):
        value = {name: value}
    return {first: {"name": member, **value}}


OTHER_TEXT = {("image_encoder", name) for name in encoders.names() if name != "sequence"}
CASES = [
    (field, name, path, kind)
    for field, registry in REGISTRIES.items()
    for name in registry.names()
    for path, kind in walk(registry.member(name), field)
]
IDS = [f"{name}-{path}" for _, name, path, _ in CASES]


@pytest.mark.parametrize(("field", "name", "path", "kind"), CASES, ids=IDS)
def test_an_option_is_refused_by_name_type_and_range_with_its_path(field, name, path, kind):
    chosen = {"text_encoder": "sequence"} if (field, name) in OTHER_TEXT else {}
    option = path.rpartition(".")[2]
    with pytest.raises(TypeError, match=f"{path}z.* has no option '{option}z'; (did you mean|known)"):
        resolve(Config(**chosen, **given(name, f"{path}z", 1)))
    if kind is not Any:
        with pytest.raises((TypeError, ValueError), match=f"{path} is <object"):
            resolve(Config(**chosen, **given(name, path, object())))
    for part in parts(kind):
        for bound in getattr(part, "__metadata__", ()):
            outside = beyond(bound)
            if outside is not None:
                with pytest.raises(ValueError, match=f"{path}.* is {outside}; it should be"):
                    resolve(Config(**chosen, **given(name, path, holding(kind, part, outside))))
        if get_origin(part) is Literal and str in map(type, get_args(part)) and get_origin(kind) is Literal:
            with pytest.raises(ValueError, match=f"{path} is .*; did you mean .* choose one of"):
                resolve(Config(**chosen, **given(name, path, next(filter(None, get_args(part))) + "x")))


def holding(kind: Any, part: Any, value: Any) -> Any:
    """A value of the kind with another in the place of one of its parts."""
    if kind is part:
        return value
    inner = next(one for one in get_args(kind) if part in parts(one))
    held = holding(inner, part, value)
    origin = get_origin(kind)
    if origin is tuple:
        return [held] * len(get_args(kind))
    if origin is Mapping:
        return {get_args(get_args(kind)[0])[0]: held}
    return [held] if origin is Sequence else held


def beyond(bound: Any) -> float | None:
    """A number that a bound leaves out."""
    for side, step in (("ge", -1), ("gt", 0), ("le", 1), ("lt", 0)):
        if getattr(bound, side, None) is not None:
            return getattr(bound, side) + step
    return None


TEXT = [(name, path, kind) for name in text.names() for path, kind in walk(text.member(name), name)]


def test_every_number_has_a_range_but_those_that_have_none_by_nature():
    cases = [(f"{name}.{path.partition('.')[2]}", kind) for _, name, path, kind in CASES]
    cases += [(path, kind) for _, path, kind in TEXT]
    bare = {
        path
        for path, kind in cases
        if not has_range(kind) and any(part in (int, float) for part in parts(kind))
    }
    assert bare == NO_RANGE


@pytest.mark.parametrize(("name", "path", "kind"), TEXT, ids=[path for _, path, _ in TEXT])
def test_an_option_of_a_signal_is_refused_like_one_of_any_other_member(name, path, kind):
    option, member = path.partition(".")[2], text.member(name)
    with pytest.raises(TypeError, match=f"no option '{option}z'; (did you mean|known)"):
        check_options("text", member, {f"{option}z": 1})
    with pytest.raises((TypeError, ValueError), match=f"{option} is <object"):
        check_options("text", member, {option: object()})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"objective": {"name": "daa", "relevance_options": {"ngram": 1}}},
         "objective.relevance_options.ngram: text 'tfidf' has no option"),
        ({"objective": {"name": "sam", "phi_options": {"sigma": 0}}},
         "objective.phi_options.sigma is 0"),
        ({"features": "efficientnet_lit0"},
         "no backbone 'efficientnet_lit0'; did you mean efficientnet_lite0"),
        ({"image_encoder": {"name": "multigrain", "base_options": {"hed": 1}}},
         "image_encoder.base_options.hed: encoder 'towers' has no option 'hed'; did you mean head"),
    ],
)  # fmt: skip
def test_what_a_member_hands_on_is_checked_as_well(values, message):
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        resolve(Config(**values))


WRONG = [
    ({"objective": "ditmm"}, "did you mean ditm"),
    ({"epochs": -3}, "config.epochs is -3; it should be greater than or equal to 0"),
    ({"config": {"batch_siz": 16}}, "no field 'batch_siz'; did you mean batch_size"),
    ({"weight_decay": "small"}, "config.weight_decay is 'small'"),
    ({"config": {"optimizer": "adan"}}, "did you mean adam"),
    ({"data.sise": 8}, "data.sise: data '.*' has no option 'sise'"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[str(next(iter(w))) for w, _ in WRONG])
@pytest.mark.parametrize("grid", GRIDS, ids=lambda path: path.stem)
def test_a_grid_refuses_a_mistake_before_its_first_arm(grid, changes, message, monkeypatch):
    monkeypatch.setattr(Split, "first", lambda *_: pytest.fail("data were read"))
    described = read_grid(grid)
    if changes.keys() & {"objective"}:
        described.get("grid", {}).pop("objective", None)
    with pytest.raises((KeyError, TypeError, ValueError), match=f"arm .*{message}"):
        plan("03_train", described, changes)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda path: path.stem)
def test_settings_of_a_caller_are_laid_over_those_of_a_grid_and_none_is_lost(grid):
    described = read_grid(grid)
    plain = plan("03_train", described)
    changes = {
        "config": {"train_images": 96, "swa_from": 1},
        "val_images": 7,
        "mix": 0.0,
        "seed": 5,
    }
    merged = plan("03_train", described, changes)
    for label, values in plain.items():
        rest = {**values["config"], "swa_from": 1, "val_images": 7, "mix": 0.0}
        assert merged[label] == {**values, "train_images": 96, "seed": 5, "config": rest}
