"""The one configuration: fields by name; it is completed, survives JSON, and refuses by name, path, type and
range."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from workbench import encoders, objectives
from workbench.runs import Config, prepare
from workbench.runs.resolve import resolve
from workbench.runs.train import train
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
        ({"extra_positives": "mask"}, TypeError,
         "an option of infonce.*: write objective.extra_positives"),
        ({"objective": "dtim"}, KeyError, "did you mean ditm"),
        ({"objective": "ditm+dias.dims"}, KeyError, "'dias' has no term 'dims'; did you mean dim"),
        ({"objective": "ditm", "captions_per_image": 1}, ValueError, "'ditm' needs 2 captions an image"),
        ({"objective": {"name": "sam", "phi": "symbolc"}}, ValueError,
         "objective.phi: no relevance 'symbolc'; did you mean symbolic"),
        ({"objective": {"name": "daa", "relevance": "exat"}}, ValueError,
         "objective.relevance: no relevance 'exat'; did you mean exact"),
        ({"objective": 3}, TypeError, "config.objective is 3; it should be a valid string"),
        ({"objective": []}, TypeError, r"config.objective is \[\]; .* string"),
        ({"objective": {"name": "vsepp", "margn": 5}}, TypeError,
         "objective.margn: objective 'vsepp' has no option 'margn'; did you mean margin"),
        ({"objective": {"name": "vsepp", "margin": "x"}}, TypeError,
         "objective.margin is 'x'; it should be a valid number"),
        ({"objective": {"name": "ditm+dias.dim", "dias": {"rows": "poled"}}}, ValueError,
         "objective.dias.rows is 'poled'; did you mean pooled"),
        ({"objective": {"name": "ditm+dias.dim", "tau": 5}}, TypeError,
         "write objective.ditm.tau"),
        ({"epochs": "3"}, TypeError, "config.epochs is '3'; it should be a valid integer"),
        ({"epochs": True}, TypeError, "valid integer"),
        ({"epochs": -3}, ValueError, "config.epochs is -3; it should be greater than or equal to 0"),
        ({"data": "scene"}, KeyError, "did you mean scenes"),
        ({"data": {"sise": 3}}, TypeError, "data.sise: .* did you mean size"),
        ({"start": "scenes", "text_encoder": {"head": "tokens"}}, ValueError,
         "give its options as image_encoder"),
        ({"start": "scenes", "image_encoder": {"modle": "x"}}, TypeError,
         "image_encoder.modle: .* did you mean model"),
        ({"image_encoder": {"embed_dm": 8}}, TypeError,
         "image_encoder.embed_dm: encoder 'regions' .* did you mean embed_dim"),
        ({"objective": "aahr", "text_encoder": {"layer": "gru"}}, ValueError,
         "give its options as image_encoder"),
        ({"select": "t2i/"}, ValueError, "'t2i/' is not the name of a number; the form is"),
        ({"select": "exact:t2i/map_at_rr"}, KeyError, "no metric 'map_at_rr'; did you mean map_at_r"),
        ({"metrics": ["recal"]}, KeyError, "no 'recal'; did you mean recall"),
        ({"metrics": ["nsum"], "judge": "ciderr"}, KeyError, "judge: no 'ciderr'; did you mean cider"),
        ({"metrics": ["recall"], "judge": "cider"}, ValueError,
         "none that reads grades is asked for; name one"),
        ({"start": "scene"}, ValueError, "config.start is 'scene'; did you mean scenes"),
        ({"start": "scenes", "image_encoder": "regions"}, ValueError,
         "start='scenes' names the"),
        ({"start": "scenes", "image_encoder": {"pretrained": ""}}, ValueError, "not both"),
        ({"start": "scenes", "objective": "cora", "text_encoder": "sequence"}, ValueError, "not both"),
    ],
)  # fmt: skip
def test_a_config_refuses_by_name(values, error, message):
    with pytest.raises(error, match=message):
        resolve(Config(**values))


@pytest.mark.parametrize("name", objectives.names())
def test_a_complete_config_survives_json_and_stays_as_it_is(name):
    config = resolve(Config(objective=name, step_epochs=(3, 4), data={"seed": 1}))
    assert Config(**json.loads(json.dumps(config.as_dict()))) == config
    assert Config.model_validate_json(config.model_dump_json()) == config
    assert resolve(config) == config


def test_a_member_is_its_name_or_its_name_and_options():
    config = Config(objective={"name": "ditm", "tau": 5}, data="flickr8k", epochs=2)
    assert config == Config(objective=config.objective, data={"name": "flickr8k"}, epochs=2)
    assert (config.objective.name, config.objective.options, config.epochs) == ("ditm", {"tau": 5}, 2)
    given = {"objective": {"name": "ditm", "tau": 5}, "data": {"name": "flickr8k"}, "epochs": 2}
    assert config.given_fields() == given
    assert isinstance(config, Settings)


def shipped(**values) -> Config:
    """A configuration that starts from the shipped matching model."""
    return resolve(Config(start="scenes", **values))


def test_an_objective_gets_encoders_that_give_what_it_reads_and_what_is_given_stands():
    assert shipped(objective="vsepp").image_encoder.options == {}
    assert shipped(objective="pcmepp").image_encoder.options == {"log_var": True}
    without = shipped(objective="pcmepp", image_encoder={"log_var": False})
    assert without.image_encoder.options == {"log_var": False}
    assert shipped(objective="ditm+cora.contrastive").text_encoder.name == "graph"
    own = shipped(objective="cora", text_encoder={"dropout": 0.1}).text_encoder.options
    assert (own["dropout"], own["pretrained"]) == (0.1, "scenes")
    assert resolve(Config(objective="cora", text_encoder="sequence")).text_encoder.options == {}
    named = {"image_encoder": "regions", "text_encoder": {"name": "sequence", "layer": "mlp"}}
    both = resolve(Config(objective="pcme", **named))
    assert both.image_encoder.options == {"log_var": True}
    assert both.text_encoder.options == {"log_var": True, "layer": "mlp"}


def test_the_embedded_world_is_learnt_from_random_heads_with_the_encoders_of_each_paper():
    found = {name: resolve(Config(objective=name)) for name in objectives.names()}
    assert {config.features for config in found.values()} == {"scenes_backbone"}
    sides = {name: (config.image_encoder.name, config.text_encoder.name) for name, config in found.items()}
    assert (sides.pop("cora"), sides.pop("aahr")) == (("regions", "graph"), ("multigrain", "multigrain"))
    assert set(sides.values()) == {("regions", "sequence")}
    # the graph's words are learnt, and no tower stands beside it
    assert found["cora"].text_encoder.options["concepts"]["kind"] == "gru"
    assert "whole" not in found["cora"].text_encoder.options["concepts"]
    # an ablation without the losses of the entities keeps the graph
    options = {"contrastive": 0.0, "specificity": 0.0}
    alone = resolve(Config(objective={"name": "cora", **options}))
    assert alone.text_encoder == found["cora"].text_encoder
    for name in ("pcme", "pcmepp"):
        assert found[name].image_encoder.options["log_var"] is True
        assert found[name].text_encoder.options["log_var"] is True
    made = encoders.member("multigrain")(**found["aahr"].image_encoder.options | FACTS)
    assert made.image_grain.gate is not None
    assert made.text_grain.pooling is not None
    assert found["dias"].sampler == "clusters"


def test_a_recipe_completes_what_is_not_given_and_only_from_random_heads():
    recipe = objectives.member("vsepp").recipe
    assert resolve(Config(objective="vsepp")).lr == recipe["lr"]
    config = Config(objective="vsepp", lr=0.5)
    assert resolve(config).epochs == recipe["epochs"]
    assert resolve(config.replace(seed=1)).lr == 0.5
    assert config.replace(seed=1).given_fields() == {"objective": {"name": "vsepp"}, "lr": 0.5, "seed": 1}
    narrow = resolve(Config(objective="vsepp", image_encoder={"embed_dim": 8})).image_encoder
    assert (narrow.name, narrow.options["embed_dim"], narrow.options["pooling"]) == ("regions", 8, "max")
    # another start, encoders or features that are chosen: no recipe
    for other in ({"start": "scenes"}, {"data": "flickr8k", "start": "scenes"}, {"features": ""}):
        config = resolve(Config(objective="vsepp", **other))
        assert config.image_encoder.name == "towers"
        assert (config.lr, config.epochs) == (3e-5, 1)
    assert resolve(Config(objective="vsepp", image_encoder="towers")).lr == Settings().lr


@pytest.mark.parametrize("data", ["folder", "flickr8k", "."])
def test_other_data_are_read_as_frozen_features_and_never_by_a_model_of_the_embedded_world(data):
    config = resolve(Config(data=data))
    assert (config.image_encoder.name, config.text_encoder.name) == ("regions", "sequence")
    assert config.features == "efficientnet_lite0"
    assert config.text_encoder.options["features"] == "minilm-package"
    assert (config.train_images, config.lr) == (0, objectives.member("infonce").recipe["lr"])
    assert resolve(Config(data=data, features="timm:resnet18/random")).image_encoder.name == "regions"
    clip = {"model": "ViT-B-32", "pretrained": "clip.pt"}
    assert resolve(Config(data=data, image_encoder={"name": "towers", **clip})).features == ""
    assert resolve(Config(data=data, start="scenes")).image_encoder.name == "towers"
    half = {"image_encoder": "regions", "features": "efficientnet_lite0"}
    for given in (
        {"image_encoder": "towers"},
        half,
        {"image_encoder": {"name": "towers", "model": "x"}},
    ):
        with pytest.raises(ValueError, match="scenes has only seen the synthetic scenes; name no encoder"):
            resolve(Config(data=data, **given))


def test_a_sum_has_the_recipe_of_its_first_paper_and_what_the_others_need():
    first = objectives.member("vsepp").recipe
    assert resolve(Config(objective="vsepp+dias.dim")).lr == first["lr"]
    assert resolve(Config(objective="vsepp+0.5*cora.contrastive")).text_encoder.name == "graph"
    assert resolve(Config(objective="vsepp+pcmepp.match")).text_encoder.options["log_var"] is True
    assert resolve(Config(objective="cora+ditm.ordering")).captions_per_image == 2


def test_a_start_gives_the_encoders_of_the_shipped_model():
    other = resolve(Config(objective="cora", start="scenes"))
    text = other.text_encoder.options
    assert other.image_encoder.name == "towers"
    assert not other.image_encoder.options
    assert text["pretrained"] == text["concepts"]["name"] == "scenes"
    assert resolve(Config(**other.as_dict())) == other


def test_another_objective_is_completed_anew():
    changed = Config(objective="cora").replace(objective="pcme")
    assert resolve(changed) == resolve(Config(objective="pcme"))


def test_completing_draws_nothing_at_random():
    import torch

    before = torch.random.get_rng_state()
    resolve(Config(objective="aahr"))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_one_run_makes_its_objective_once(monkeypatch):
    made: Counter[str] = Counter()
    load = objectives.load
    monkeypatch.setattr(
        objectives, "load", lambda name, *path, **options: made.update([name]) or load(name, **options)
    )
    ready = prepare(Config(objective="vsepp", train_images=8, val_images=4, test_images=4), progress=False)
    train(ready, progress=False)
    assert made == {"vsepp": 1}


def test_editors_get_a_schema():
    schema = Config.model_json_schema()
    fields = schema["properties"]
    assert schema["additionalProperties"] is False
    assert fields["optimizer"]["enum"] == ["adamw", "adamp", "adam"]
    assert fields["mix"]["maximum"] == 1


def test_data_that_bring_regions_get_encoders_that_read_them_where_none_are_named():
    options = {"root": "mine", "regions": "butd"}
    config = resolve(Config(data={"name": "folder", **options}, objective="dias", epochs=1))
    assert (config.image_encoder.name, config.text_encoder.name) == ("regions", "sequence")
    assert config.features == ""
    assert config.epochs == 1
    named = {"image_encoder": "regions", "text_encoder": "sequence"}
    regions = Config(data={"name": "folder", "regions": "butd"}, **named)
    assert resolve(regions).image_encoder.options == {}


@pytest.mark.parametrize("first", [resolve, prepare])
@pytest.mark.parametrize("wrong", [{}, {"objective": "dtm"}, {"objective": "vsepp", "metrics": ("nope",)}])
def test_data_that_lead_nowhere_are_said_before_whatever_is_misspelt(first, wrong):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        first(Config(data="./nowhere", **wrong))


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("margin", "objective.margin"),
        ("size", "data.size"),
        ("pooling", "image_encoder.pooling"),
        ("attention", "scorer.attention"),
    ],
)
def test_an_option_that_stands_alone_is_told_where_it_is_written(field: str, path: str):
    with pytest.raises(TypeError, match=f"write {path}"):
        Config(**{field: 1})


def test_one_metric_is_a_list_with_one_entry():
    assert Config(metrics="ndcg").metrics == Config(metrics=["ndcg"]).metrics == ("ndcg",)


def test_a_truth_value_that_is_a_word_is_told_how_it_is_written():
    with pytest.raises(TypeError, match="deterministic is 'yes'; write true or false"):
        Config(deterministic="yes")
