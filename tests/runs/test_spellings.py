"""However a setting is spelt and wherever it is given, it is read, or refused with both spellings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from workbench.cli import app
from workbench.cli.base import parse_pairs
from workbench.execution import grid, parameters
from workbench.execution.library import find_file
from workbench.runs import Config
from workbench.runs.config import ObjectiveConfig
from workbench.runs.resolve import resolve
from workbench.runs.spellings import MEMBERS, fields, merge_layers, nest

KNOWN = parameters.read_parameters(find_file("03_train"))
PLAIN = Config().as_dict()
# two values of each field whose type does not say them
VALUES: dict[str, list[Any]] = {
    "select": ["rsum", "t2i/R@1"],
    "text_backbone_decay": [0.25, 0.5],
    "metrics": [["nsum"], ["ncs"]],
    "step_epochs": [[2], [3]],
}
BY_TYPE = {bool: [True, False], int: [2, 4], float: [0.25, 0.5], str: ["a", "b"]}
NAMES = {"scorer": ["cosine", "chan"], "reranker": ["cross", "chan"]}
# of a member its name and an option of any name; each other field is one setting
SETTINGS = [field for field in PLAIN if field not in MEMBERS]
SETTINGS += [f"{member}.{option}" for member in MEMBERS for option in ("name", "x")]
Pair = tuple[str, Any]


def values(setting: str) -> list[Any]:
    member, _, option = setting.partition(".")
    if option:
        return NAMES.get(member, ["a", "b"]) if option == "name" else [1, 2]
    choices = get_args(Config.model_fields[setting].annotation)
    if setting in VALUES:
        return VALUES[setting]
    if choices and isinstance(PLAIN[setting], str):
        return list(choices[:2])
    return BY_TYPE[type(PLAIN[setting])]


def spellings(setting: str, value: Any, rest: str = "") -> list[Pair]:
    """Every way to give a setting its value: with dots or as a mapping, of a name also alone."""
    words = [setting]
    if setting.endswith(".name"):
        words.append(setting.removesuffix(".name"))
    if rest:
        words += [f"{rest}.{word}" for word in words]
    return [*((word, value) for word in words), *(as_mapping(word, value) for word in words)]


def as_mapping(word: str, value: Any) -> Pair:
    """``"a.b", 1`` as ``"a", {"b": 1}``."""
    first, *rest = word.split(".")
    for name in reversed(rest):
        value = {name: value}
    return first, value


def word_of(pair: Pair) -> str:
    """A spelling as an error shows it, up to the value."""
    word, value = pair
    while isinstance(value, dict):
        ((name, value),) = value.items()
        word = f"{word}.{name}"
    return word


def by_file(layer: list[Pair]) -> Config:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(dict(layer)))
        return Config.read(path)


def by_command(layer: list[Pair]) -> Config:
    words = parse_pairs([f"{name}={json.dumps(value)}" for name, value in layer])
    return Config(**parameters.override({}, parameters.parse_values({}, words)))


def by_command_of_a_notebook(layer: list[Pair]) -> Config:
    texts = [value if isinstance(value, str) else json.dumps(value) for _, value in layer]
    words = parse_pairs([f"{name}={text}" for (name, _), text in zip(layer, texts, strict=True)])
    return Config(**fields(parameters.override(KNOWN, parameters.parse_values(KNOWN, words))))


def by_notebook(layer: list[Pair]) -> Config:
    return Config(**fields(parameters.override(KNOWN, dict(layer))))


def by_grid(layer: list[Pair]) -> Config:
    described = {"arms": {"a": dict(layer[:1])}, "grid": {name: [value] for name, value in layer[1:]}}
    (chosen,) = grid.expand(described, None, KNOWN).values()
    return Config(**fields(chosen))


TYPED = [by_command, by_command_of_a_notebook]
# of a notebook, whose parameter ``config`` holds fields too
OF_NOTEBOOK = [by_command_of_a_notebook, by_notebook, by_grid]
ENTRANCES = [by_command, by_file, *OF_NOTEBOOK]


def rest_of(entrance: Callable[[list[Pair]], Config]) -> str:
    return "config" if entrance in OF_NOTEBOOK else ""


def plain(setting: str, value: Any) -> Config:
    return Config(**dict([as_mapping(setting, value)]))


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_each_spelling_of_a_setting_alone_is_the_setting(entrance: Callable[[list[Pair]], Config]) -> None:
    for setting in SETTINGS:
        value = values(setting)[0]
        wanted = plain(setting, value).given_fields()
        for pair in spellings(setting, value, rest_of(entrance)):
            assert entrance([pair]).given_fields() == wanted, pair


@settings(deadline=None)
@given(st.data())
def test_two_spellings_of_a_setting_are_the_setting_or_an_error_that_names_both(data: st.DataObject) -> None:
    setting, entrance = data.draw(st.sampled_from(SETTINGS)), data.draw(st.sampled_from(ENTRANCES))
    two = data.draw(st.sampled_from([values(setting), values(setting)[::-1], values(setting)[:1] * 2]))
    layer = [data.draw(st.sampled_from(spellings(setting, value, rest_of(entrance)))) for value in two]
    assume(layer[0][0] != layer[1][0] or entrance in TYPED)  # elsewhere a name stands once
    again = layer[0][0] == layer[1][0]  # of a name that is typed twice, the texts are compared
    if two[0] == two[1] and (not again or layer[0] == layer[1]):
        assert entrance(layer).given_fields() == plain(setting, two[0]).given_fields()
        return
    with pytest.raises(ValueError, match="give it once") as refused:
        entrance(layer)
    words = {layer[0][0]} if again else set(map(word_of, layer))
    assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("order", [1, -1])
def test_a_name_and_an_option_of_an_objective_are_two_settings_in_any_order(entrance, order):
    chosen = resolve(entrance([("objective", "vsepp"), ("objective.margin", 0.3)][::order])).objective
    assert (chosen.name, chosen.options) == ("vsepp", {"margin": 0.3})
    of_a_sum = entrance([("objective", "ditm+dias.dim"), ("objective.ditm.tau", 5.0)][::order]).objective
    assert (of_a_sum.name, of_a_sum.options) == ("ditm+dias.dim", {"ditm": {"tau": 5.0}})


@pytest.mark.parametrize(
    ("layers", "wanted"),
    [
        # a value replaces a mapping, and a mapping a value
        ([{"objective": {"alignment": {"tau": 1}}}, {"objective.alignment": None}],
         {"objective": {"alignment": None}}),
        ([{"objective": {"alignment": None}}, {"objective": {"alignment": {"tau": 1}}}],
         {"objective": {"alignment": {"tau": 1}}}),
        # options belong to the member that takes them
        ([{"objective": {"name": "vsepp", "margin": 0.2}}, {"objective": "dias"}], {"objective": "dias"}),
        ([{"objective": {"name": "vsepp", "margin": 0.2}}, {"objective.reduction": "mean"}],
         {"objective": {"name": "vsepp", "margin": 0.2, "reduction": "mean"}}),
        ([{"scorer": "cross"}, {"scorer.attention": "relu"}],
         {"scorer": {"name": "cross", "attention": "relu"}}),
        ([{"data": {"size": 8}}, {"data": {}}], {"data": {"size": 8}}),
        ([{"data": "coco"}, {"epochs": 2}], {"data": "coco", "epochs": 2}),
    ],
)  # fmt: skip
def test_a_later_layer_replaces_what_it_gives_and_keeps_the_rest(layers, wanted):
    assert parameters.override({}, *layers) == wanted


def test_a_layer_that_points_into_a_value_of_an_earlier_one_names_both():
    with pytest.raises(ValueError, match=r"objective\.phi\.k points into objective\.phi, which is 'cider'"):
        merge_layers({"objective": {"phi": "cider"}}, {"objective.phi.k": 3})


@pytest.mark.parametrize(
    ("values", "spelt"),
    [
        ({"objective_options": {"margin": 0.3, "tau": 5}}, ["objective.margin", "objective.tau"]),
        ({"objective": {"options": {"margin": 0.3}}}, ["objective.margin"]),
        ({"objective.options.margin": 0.3}, ["objective.margin"]),
        ({"image_encoder.options.embed_dim": 8}, ["image_encoder.embed_dim"]),
        ({"objective.positives": "exact"}, ["write positives"]),
        ({"data.train_images": 8}, ["write train_images"]),
        ({"data_options.root": "mine"}, ["data.root"]),
        ({"image_options": {"embed_dim": 8}}, ["image_encoder.embed_dim"]),
        ({"text_options.embed_dim": 8}, ["text_encoder.embed_dim"]),
        ({"training.epochs": 3}, ["write epochs"]),
        ({"model": {"image_options": {"embed_dim": 8}, "features": ""}},
         ["image_encoder.embed_dim", "features"]),
        ({"settings": {"epochs": 3}}, ["write epochs"]),
        ({"settings": 3}, ["no field 'settings'"]),
        ({"margin": 0.3}, ["objective.margin"]),
        ({"epoch": 3}, ["did you mean epochs"]),
        ({"objective.margin": 0.3}, ["'infonce' has no option 'margin'", "vsepp"]),
        ({"image_encoder.embed_dm": 3}, ["no option 'embed_dm'; did you mean embed_dim"]),
    ],
)  # fmt: skip
def test_a_spelling_of_before_is_an_error_that_prints_the_one_of_today(values, spelt):
    with pytest.raises(TypeError) as refused:
        resolve(Config(**nest(values)))
    assert [word for word in spelt if word not in str(refused.value)] == []
    assert "\n" not in str(refused.value)


def test_python_writes_options_as_a_mapping():
    with pytest.raises(TypeError, match=r"write objective=\{'name': ..., 'margin'"):
        Config(**{"objective.margin": 0.3})


def test_another_name_begins_a_member_anew_and_options_alone_keep_the_name():
    first = {"objective": {"name": "vsepp", "margin": 0.3}, "data.size": 8, "data": "scenes"}
    assert merge_layers(first, {"objective": "hrem"})["objective"] == {"name": "hrem"}
    assert merge_layers(first, {"objective": "vsepp"})["objective"] == {"name": "vsepp", "margin": 0.3}
    assert merge_layers(first, {"objective.margin": 0.1})["objective"] == {"name": "vsepp", "margin": 0.1}
    assert merge_layers({"objective.margin": 0.3}, {"objective": "hrem"})["objective"]["margin"] == 0.3
    assert merge_layers(first, {"config": {"data": "coco"}}, rest="config")["data"] == {"name": "coco"}


def test_options_of_scorers_are_checked_where_none_is_used():
    for values in ({"scorer": {"attention": "relu"}}, {"scorer": {"nonsense": 1}}, {"reranker": {"foo": 1}}):
        with pytest.raises(TypeError, match=r"option '?(attention|nonsense|foo)"):
            resolve(Config(**values))


def test_a_copy_lays_changes_over_its_fields_and_checks_them():
    config = Config(objective={"name": "vsepp", "margin": 0.2}, seed=3)
    assert config.replace(objective={"margin": 0.3}).objective == ObjectiveConfig(name="vsepp", margin=0.3)
    assert config.replace(objective=ObjectiveConfig(name="vsepp")).objective.options == {}
    assert Config(data="flickr8k").replace(data={"size": 8}).data.name == "flickr8k"
    assert config.replace(seed=1).given_fields() == {"objective": {"name": "vsepp", "margin": 0.2}, "seed": 1}
    assert config.replace(objective="dias").objective.options == {}
    with pytest.raises(ValueError, match="seed is -1"):
        config.replace(seed=-1)


@pytest.mark.parametrize("verb", [["train"], ["run", "03_train"], ["grid", "03_train", "GRID", "--dry-run"]])
@pytest.mark.parametrize(
    "typed", [["objective=vsepp", "objective.name=dias"], ["seed=1", "seed=2"], ["lr=1", "lr=2"]]
)
def test_what_is_typed_twice_ends_a_command_in_one_line(verb, typed, tmp_path):
    described = tmp_path / "grid.yaml"
    described.write_text("arms: {a: {}}\n")
    words = [str(described) if word == "GRID" else word for word in verb]
    ended = CliRunner().invoke(app, [*words, *(word for pair in typed for word in ("-p", pair))])
    assert ended.exit_code == 2
    assert "give it once" in ended.output
    assert ended.output.count("\n") == 1
    assert [pair for pair in typed if pair.partition("=")[0] not in ended.output] == []


def test_a_notebook_of_ones_own_reads_dots_as_mappings_and_nothing_twice():
    known = {name: parameters.Parameter(name, "dict", {}, "") for name in ("model", "training", "out")}
    assert parameters.override(known, {"model.width": 3}) == {"model": {"width": 3}}
    with pytest.raises(ValueError, match=r"model\.width is 3 and model is 4"):
        parameters.override(known, {"model.width": 3, "model": 4})
    data = {"data": parameters.Parameter("data", "Member", "scenes", "")}
    assert parameters.override(data, {"data.size": 3, "data": "coco"}) == {
        "data": {"size": 3, "name": "coco"}
    }
    assert parameters.complete_parameters(data, {"data": {"size": 3}}) == {
        "data": {"name": "scenes", "size": 3}
    }


def test_an_arm_and_its_combination_do_not_give_one_field():
    described = {
        "fixed": {"lr": 1.0},
        "arms": {"a": {"objective": "vsepp"}},
        "grid": {"objective.name": ["dias"]},
    }
    with pytest.raises(ValueError, match=r"objective is 'vsepp' and objective\.name is 'dias'"):
        grid.expand(described, None, KNOWN)
