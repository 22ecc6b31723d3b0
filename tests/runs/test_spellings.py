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
from workbench.cli.base import pairs
from workbench.execution import grid, parameters
from workbench.execution.library import find
from workbench.runs import Config
from workbench.runs.config import ENCODERS, FIELDS, SECTIONS, flat
from workbench.runs.resolve import resolve

KNOWN = parameters.inspect(find("03_train"))
PLAIN = Config().as_dict()
OPTIONS = {"objective_options": "objective", "data_options": "data"}
OPTIONS |= {options: name for name, options in ENCODERS.items()}
# two values of each field whose type does not say them
VALUES: dict[str, list[Any]] = {
    "select": ["rsum", "t2i/R@1"],
    "scorer": ["cosine", {"form": "chan"}],
    "reranker": ["chan", {"form": "cross"}],
    "text_backbone_decay": [0.25, 0.5],
    "metrics": [["nsum"], ["ncs"]],
    "step_epochs": [[2], [3]],
}
BY_TYPE = {bool: [True, False], int: [2, 4], float: [0.25, 0.5], str: ["a", "b"], dict: [{"x": 1}, {"x": 2}]}
Pair = tuple[str, Any]


def values(field: str) -> list[Any]:
    section, name = FIELDS[field]
    choices = get_args(SECTIONS[section].model_fields[name].annotation)
    if field in VALUES:
        return VALUES[field]
    return list(choices[:2]) if choices and isinstance(PLAIN[field], str) else BY_TYPE[type(PLAIN[field])]


def spellings(field: str, value: Any) -> list[Pair]:
    """Every way to give a field its value: with dots or as a mapping, by itself or in settings."""
    section, name = FIELDS[field]
    dotted = {field: value, f"{section}.{name}": value}
    if field in ENCODERS:
        dotted |= {f"{place}.name": value for place in (field, f"model.{field}")}
    if field in OPTIONS:
        member = OPTIONS[field]
        places = [field, f"{section}.{name}", member, f"{member}.options"]
        if member in ENCODERS:
            places += [f"model.{member}", f"model.{member}.options"]
        dotted |= {f"{place}.x": value["x"] for place in places}
    dotted |= {f"settings.{word}": inner for word, inner in dotted.items()}
    return [*dotted.items(), *(nested(word, inner) for word, inner in dotted.items())]


def nested(word: str, value: Any) -> Pair:
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


def by_python(layer: list[Pair]) -> Config:
    return Config(**dict(layer))


def by_file(layer: list[Pair]) -> Config:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(dict(layer)))
        return Config.read(path)


def by_command(layer: list[Pair]) -> Config:
    words = pairs([f"{name}={json.dumps(value)}" for name, value in layer])
    return Config(**parameters.override({}, parameters.parse_values({}, words)))


def by_command_of_a_notebook(layer: list[Pair]) -> Config:
    words = pairs(
        [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in layer]
    )
    chosen = parameters.override(KNOWN, parameters.parse_values(KNOWN, words))
    return Config(**chosen.pop("settings", {}), **chosen)


def by_notebook(layer: list[Pair]) -> Config:
    chosen = parameters.override(KNOWN, dict(layer))
    return Config(**chosen.pop("settings", {}), **chosen)


def by_grid(layer: list[Pair]) -> Config:
    described = {"arms": {"a": dict(layer[:1])}, "grid": {name: [value] for name, value in layer[1:]}}
    (chosen,) = grid.expand(described, None, KNOWN).values()
    return Config(**chosen.pop("settings", {}), **chosen)


TYPED = [by_command, by_command_of_a_notebook]
ENTRANCES = [*TYPED, by_python, by_file, by_notebook, by_grid]


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_each_spelling_of_a_field_alone_is_the_field(entrance: Callable[[list[Pair]], Config]) -> None:
    for field in FIELDS:
        value = values(field)[0]
        wanted = Config(**{field: value}).given()
        for pair in spellings(field, value):
            assert entrance([pair]).given() == wanted, pair


@settings(deadline=None)
@given(st.data())
def test_two_spellings_of_a_field_are_the_field_or_an_error_that_names_both(data: st.DataObject) -> None:
    field, entrance = data.draw(st.sampled_from(list(FIELDS))), data.draw(st.sampled_from(ENTRANCES))
    two = data.draw(st.sampled_from([values(field), values(field)[::-1], values(field)[:1] * 2]))
    layer = [data.draw(st.sampled_from(spellings(field, value))) for value in two]
    assume(layer[0][0] != layer[1][0] or entrance in TYPED)  # elsewhere a name stands once
    again = layer[0][0] == layer[1][0]  # of a name that is typed twice, the texts are compared
    if two[0] == two[1] and (not again or layer[0] == layer[1]):
        assert entrance(layer).given() == Config(**{field: two[0]}).given()
        return
    with pytest.raises(ValueError, match="give it once") as refused:
        entrance(layer)
    words = {layer[0][0]} if again else set(map(word_of, layer))
    assert [word for word in words if word not in str(refused.value)] == []


def test_a_name_and_an_option_of_an_objective_are_two_settings_in_any_order():
    layer = {"objective": "vsepp", "objective.options.reduction": "mean"}
    for ordered in (layer.items(), reversed(layer.items())):
        chosen = resolve(Config(**dict(ordered))).objective
        assert (chosen.name, chosen.options) == ("vsepp", {"reduction": "mean"})
    of_a_sum = flat({"objective": "ditm+dias.dim", "objective.ditm.tau": 5})
    assert of_a_sum["objective_options"] == {"ditm": {"tau": 5}}


@pytest.mark.parametrize(
    ("layers", "wanted"),
    [
        # a word replaces a mapping, and a whole mapping a word
        ([{"scorer": {"form": "chan"}}, {"model.scorer": "cosine"}], {"scorer": "cosine"}),
        ([{"scorer": "cosine"}, {"scorer": {"form": "chan"}}], {"scorer": {"form": "chan"}}),
        ([{"objective": {"name": "vsepp", "margin": 0.2}}, {"objective": "dias"}],
         {"objective": "dias", "objective_options": {"margin": 0.2}}),
        ([{"objective": {"name": "vsepp", "margin": 0.2}}, {"objective.reduction": "mean"}],
         {"objective": "vsepp", "objective_options": {"margin": 0.2, "reduction": "mean"}}),
        ([{"data_options": {"size": 8}}, {"data_options": {}}], {"data_options": {"size": 8}}),
    ],
)  # fmt: skip
def test_a_later_layer_replaces_what_it_gives_and_keeps_the_rest(layers, wanted):
    assert flat(*layers) == wanted
    assert parameters.override({}, *layers) == wanted


def test_a_layer_that_points_into_a_word_of_an_earlier_one_names_both():
    with pytest.raises(ValueError, match=r"model\.scorer\.attention points into scorer, which is 'entities'"):
        flat({"scorer": "entities"}, {"model.scorer.attention": "relu"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"training": {"epoch": 3}}, "no field 'training.epoch'; did you mean epochs"),
        ({"model.epochs": 3}, "no field 'model.epochs'"),
        ({"model": "ViT-B-32"}, "no field 'model'; it is a section: give its fields, such as model.features"),
        ({"data.train_image": 3}, "no option 'train_image'; did you mean train_images"),
        ({"objective.positive": "exact"}, "no option 'positive'; did you mean positives"),
        ({"objective.margin": 0.3}, "'infonce' has no option 'margin'; it is one of .*vsepp"),
        ({"image_encoder.embed_dm": 3}, "no option 'embed_dm'; did you mean embed_dim"),
        ({"settings": 3}, "settings is 3; write fields"),
    ],
)
def test_a_name_that_a_section_does_not_have_is_refused(values, message):
    with pytest.raises(TypeError, match=message):
        resolve(Config(**values))


def test_a_copy_with_another_option_keeps_the_others():
    config = Config(objective="vsepp", objective_options={"margin": 0.2, "reduction": "mean"})
    assert config.replace(**{"objective.margin": 0.3}).objective.options == {
        "margin": 0.3,
        "reduction": "mean",
    }
    assert config.replace(objective_options={"margin": 0.3}).objective.options == {"margin": 0.3}
    assert config.replace(objective_options={}).objective.options == {}


@pytest.mark.parametrize("verb", [["train"], ["run", "03_train"], ["grid", "03_train", "GRID", "--dry-run"]])
@pytest.mark.parametrize(
    "typed", [["objective=vsepp", "objective.name=dias"], ["seed=1", "seed=2"], ["lr=1", "training.lr=2"]]
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
    with pytest.raises(ValueError, match=r"model is 4 and model\.width is 3"):
        parameters.override(known, {"model.width": 3, "model": 4})
    pair = {name: parameters.Parameter(name, "str", "", "") for name in ("data", "data_options")}
    assert parameters.override(pair, {"data.size": 3}) == {"data_options": {"size": 3}}


def test_an_arm_and_its_combination_do_not_give_one_field():
    described = {
        "fixed": {"lr": 1.0},
        "arms": {"a": {"objective": "vsepp"}},
        "grid": {"objective.name": ["dias"]},
    }
    with pytest.raises(ValueError, match=r"objective is 'vsepp' and objective\.name is 'dias'"):
        grid.expand(described, None, KNOWN)
