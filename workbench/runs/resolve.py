"""``resolve`` completes a configuration and checks it as a whole, before data are read: the tables below, and
what an objective needs, under what was given.

========================  =============================================================================
what is given             what completes it
========================  =============================================================================
an encoder                one of images that serves both sides is that of captions too
other data                ``HEADS`` on frozen features of photographs, or on the regions that come with the
                          data, words from ``PRETRAINED_WORDS``, the objective's recipe
a start, no features      encoders of a shipped model, changed gently: ``SHIPPED``
anything else             ``HEADS`` on features of the synthetic scenes, the objective's recipe
========================  =============================================================================

Where the data know the exact truth, it chooses the epoch: RSUM counts other true pairs as errors.
Then the encoders get what the objective reads: a text graph for entities, heads for variances. On other data
nothing falls back to a model of the synthetic scenes.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from workbench import data, encoders, metrics, objectives, text
from workbench.data.loader import Loader
from workbench.encoders import backbones
from workbench.metrics import Metric
from workbench.objectives import Objective
from workbench.objectives.parts.attention import scorer_of
from workbench.records import MetricKey, require
from workbench.registry import (
    Count,
    check_arguments,
    check_options,
    check_value,
    merge,
    options_of,
    require_known,
)
from workbench.runs.config import Config

# The text graph where nobody chose it: its words are those of the shipped model.
GRAPH: dict[str, Any] = {
    "concepts": {"kind": "towers", "name": "scenes", "whole": True},
    "pretrained": "scenes",
    "embed_dim": 0,
}
# Small encoders that begin with random weights.
_REGIONS = {"embed_dim": 256, "hidden_dim": 256, "pooling": "max", "region_dropout": 0.2}
_WORDS = {"word_dim": 128, "embed_dim": 256, "layer": "mlp", "pooling": "max", "word_dropout": 0.1}
HEADS: dict[str, dict[str, Any]] = {
    "regions": _REGIONS,
    "sequence": _WORDS,
    "graph": {
        "embed_dim": 256,
        "dropout": 0.0,
        "pooling": "max",
        "concepts": {"kind": "gru", "word_dim": 128},
        "structure": {"attribute_layers": 1, "object_layers": 1, "heads": 8},
    },
    "multigrain": {
        "base": "regions",
        "base_options": _REGIONS,
        "text_base": "sequence",
        "text_base_options": _WORDS,
        "fusion": {"heads": 4, "hidden_dim": 256, "map_dim": 64},
    },
}
WORLD = {"image_encoder": "regions", "text_encoder": "sequence"}
FEATURES = "scenes_backbone"
# Of the 8,000 synthetic scenes for training: a default run takes about a minute.
TRAINED = {"train_images": 2000}
# What stands in for the features and learnt words of the synthetic scenes where photographs are read.
PHOTOGRAPHS = "efficientnet_lite0"
_MINILM = {"features": "minilm-package", "word_dim": 384}
PRETRAINED_WORDS: dict[str, dict[str, Any]] = {
    "sequence": _MINILM,
    "graph": {"concepts": {"kind": "features", "name": "minilm-package", "word_dim": 384}},
    "multigrain": {"text_base_options": _MINILM},
}
WAYS = (
    'give a CLIP file, image_encoder={"name": "towers", "model": "ViT-B-32", "pretrained": "clip.pt"}, or '
    "encoders of your own, image_encoder and text_encoder"
)
# A model that matches already is changed gently.
SHIPPED = {"epochs": 1, "lr": 3e-5}
SHIPPED_MODELS = ("scenes", "scenes_backbone")
PLAIN = Config().as_dict()
# chooses the epoch where the data know the exact truth
TRUTH = str(MetricKey("map_at_r", "t2i", "exact"))


@check_arguments("resolve")
def resolve(config: Config, objective: Objective | None = None) -> Config:
    """Return a configuration with every field in place and checked; one that is complete stays as it is.

    Args:
        config: what was given; it stands.
        objective: of the configuration; made, and asked what it needs, where it is not given.

    Raises:
        FileNotFoundError: the data are a path that leads nowhere, which is said before anything else.
        KeyError: an unknown name; TypeError: an unknown option, or a value of another type; ValueError: a
            value outside its range, or values that contradict one another.
    """
    data.path_of(config.data.name)
    given = config.given_fields()
    if objective is None:
        with torch.random.fork_rng(devices=[]):  # nothing is drawn from the generator of the run
            objective = make_objective(config)
    laid = merge(_selection_by_truth(given), merge(_completed_values(given, objective), given))
    graph = "entities" in objective.reads and not _names_member(laid, "text_encoder")
    values = merge(PLAIN, laid)
    if graph:
        values = merge(values, {"text_encoder": {"name": "graph"}})
    _check_objective(values, objective)
    complete = Config(**values | _needed_encoders(values, objective, graph=graph))
    _check_members(complete)
    check_fit(complete, given)
    return complete


def _selection_by_truth(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what chooses the epoch on data that know every true pair, which RSUM counts as errors."""
    judged = judgements_of({**PLAIN["data"], **given.get("data", {})})
    return {"select": TRUTH} if MetricKey.parse(TRUTH).judgements in judged else {}


def _names_member(values: Mapping[str, Any], member: str) -> bool:
    """Return whether values give the name of a member, and not its options alone."""
    return "name" in values.get(member, {})


def make_objective(config: Config) -> Objective:
    """Return the objective of a configuration.

    Raises:
        KeyError, TypeError, ValueError: a name or an option that is refused.
    """
    chosen = config.objective
    objective: Objective = objectives.load(chosen.name, "objective", **chosen.options)
    if config.scorer.name != "cosine":
        objective.score_by(config.scorer.model_dump())
    if config.rerank:
        objective.reranker = scorer_of(config.reranker.model_dump(), "reranker")
    return objective


def _completed_values(given: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """Return the line of the table for what is given."""
    if _names_member(given, "image_encoder") or _names_member(given, "text_encoder"):
        return {} if "entities" in objective.reads else _other_side(given)
    chosen = given.get("data", {})
    if chosen.get("name", "scenes") != "scenes" and not given.get("start"):
        return _values_for_data(chosen, objective)
    if given.get("start") or given.get("features") == "":
        return SHIPPED
    cut = {} if {"size", "share"} & chosen.keys() else TRAINED
    return {**cut, "features": FEATURES, **_values_of_heads(objective)}


def _other_side(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the encoder of images for captions too, where it serves both sides and none of captions is
    named.
    """
    if not _names_member(given, "image_encoder") or "text_encoder" in given:
        return {}
    name = given["image_encoder"]["name"]
    return {"text_encoder": {"name": name}} if getattr(encoders.member(name), "encodes_text", False) else {}


def _values_of_heads(objective: Objective) -> dict[str, Any]:
    """Return the recipe of an objective, and the encoders with random weights that it names or needs."""
    sides = WORLD | ({"text_encoder": "graph"} if "entities" in objective.reads else {})
    for side in sides:
        sides[side] = objective.recipe.get(side, {}).get("name", sides[side])
    image, words = sides["image_encoder"], sides["text_encoder"]
    heads = {
        "image_encoder": {"name": image, **HEADS[image]},
        "text_encoder": {"name": words, **({} if words == image else HEADS[words])},
    }
    return merge(heads, objective.recipe)


def _values_for_data(chosen: Mapping[str, Any], objective: Objective) -> dict[str, Any]:
    """Return encoders, features and recipe for data other than the synthetic scenes: the small heads with
    which the objective is trained there, on frozen features of photographs (region features where the data
    bring their own) and of words.

    Args:
        chosen: the data set.
        objective: of the configuration.
    """
    heads = _values_of_heads(objective)
    words = heads["text_encoder"]["name"]
    side = "image_encoder" if words == heads["image_encoder"]["name"] else "text_encoder"
    fitted = merge(heads, {side: PRETRAINED_WORDS[words]})
    own = chosen.get("source") in ("precomp", "regions") or chosen.get("regions")
    return fitted if own else {**fitted, "features": PHOTOGRAPHS}


def _needed_encoders(values: Mapping[str, Any], objective: Objective, *, graph: bool) -> dict[str, Any]:
    """Return the encoders with options that give what the objective reads, under those that are there.

    Args:
        values: all fields.
        objective: says what it reads.
        graph: whether the graph was taken for the objective, with words from the shipped model.
    """
    image_encoder, encoder = values["image_encoder"]["name"], values["text_encoder"]["name"]
    image: dict[str, Any] = {}
    words: dict[str, Any] = GRAPH if graph else {}
    if "log_var" in objective.inputs:
        image |= _variance_option(image_encoder)
        words = words | (_variance_option(encoder) if encoder != image_encoder else {})
    if "local" in objective.inputs and image_encoder == "multigrain":
        image |= {"fusion": {"variant": "released"}}
    image, words = merge(image, values["image_encoder"]), merge(words, values["text_encoder"])
    begun = {image.get("model", "scenes"), image.get("pretrained", "scenes")}
    begun |= {words.get("pretrained", "")} if encoder != image_encoder else set()
    require(
        not values["start"] or (image_encoder == "towers" and begun <= {"scenes"}),
        "start='scenes' names the model that encoders start from; give it, or the encoders and "
        "their options, not both",
    )
    return {"image_encoder": image, "text_encoder": words}


def _variance_option(encoder: str) -> dict[str, Any]:
    """Return the option that gives an encoder log variances, where it has one."""
    return {"log_var": True} if "log_var" in options_of(encoders.member(encoder)) else {}


def _check_objective(values: Mapping[str, Any], objective: Objective) -> None:
    """Raise if fields contradict the objective, or if options of what it reads are not there."""
    options, least = dict(values["objective"]), objective.captions_per_image
    name = options.pop("name")
    require(
        values["captions_per_image"] >= least,
        f"objective {name!r} needs {least} captions an image; set captions_per_image={least}",
    )
    require(
        objective.soft_labels or not values["mix"],
        f"objective {name!r} reads no soft labels, so images cannot be mixed; set mix=0",
    )
    require(
        objective.reads_negatives or not values["negatives"],
        f"objective {name!r} reads no negatives; set negatives='', or choose one that does, such as infonce",
    )
    _check_negatives(values["negatives"])
    for signal, wanted in {**objective.text_features(), **objective.relevance_sources()}.items():
        if signal in text.names():  # the name of a relevance may also be that of judgements of the data
            held = (option for option, value in options.items() if value and value == wanted)
            place = ".".join(["objective", *held])
            check_options(f"text {signal!r}", text.member(signal), wanted, place)
    judged = judgements_of(values["data"])
    for relevance in objective.relevance_sources() if judged else ():
        option = next((option for option, value in options.items() if value == relevance), "")
        where = f"objective.{option}" if option else f"objective {name!r}"
        require_known(f"{where}: no relevance", relevance, [*text.judge_names(), *judged], ValueError)


def _check_negatives(name: str) -> None:
    """Raise if a name is not one of something that makes texts for training."""
    if name in ("", "data"):
        return
    known = ", ".join(["data", *text.negative_makers()])
    makes = text.member(name) if ":" in name or name in text.names() else None
    require(
        isinstance(makes, type) and issubclass(makes, text.NegativeMaker),
        f"negatives={name!r} makes no texts for training; choose {known}",
    )


def _check_members(config: Config) -> None:
    """Raise if members of registries are not there, or do not take their options."""
    name = config.data.name
    image, words = config.image_encoder, config.text_encoder
    require(
        words.name != image.name or not words.options,
        f"text_encoder: {words.name!r} serves both sides here; give its options as image_encoder",
    )
    check_options(f"data {name!r}", data.member(name), config.data.options, "data")
    judged = judgements_of(config.data.model_dump())
    require(
        not judged or config.positives in judged,
        f"positives={config.positives!r} names judgements; the training split of {name!r} has "
        f"{', '.join(judged)}",
    )
    _check_encoder(image.name, image.options, "image_encoder")
    _check_encoder(words.name, words.options, "text_encoder")
    scorer, plain = config.scorer, config.scorer.name == "cosine"
    unread = " and ".join(scorer.options)
    require(
        not plain or not unread,
        f"scorer: {scorer.name!r} has no option {unread}; name the form that has, such as scorer=cross",
        TypeError,
    )
    scorer_of(config.reranker.model_dump(), "reranker")
    if config.features:
        backbones.require_backbone(config.features)
    check_measured(config.metrics, config.judge)
    choosing_metric(config.select, config.metrics)


def check_measured(names: Sequence[str], judge: str = "", rounds: int = 0) -> None:
    """Raise if metrics, a judge or rounds cannot be measured on any data.

    Args:
        names: of metrics beside the usual ones.
        judge: of the text registry; empty = none.
        rounds: of the bootstrap.

    Raises:
        KeyError: no such metric or judge, with the near ones.
        TypeError: one text where a list of names belongs.
        ValueError: rounds below zero, or a judge without a metric that reads grades.
    """
    require(not isinstance(names, str), f"metrics is {names!r}; give a list, [{names!r}]", TypeError)
    check_value("rounds", rounds, Count)
    chosen = [metrics.member(name) for name in names]
    if judge:
        require_known("judge: no", judge, text.judge_names())
        require(
            any("graded" in row.by for row in chosen),
            f"judge={judge!r} grades for metrics, and none that reads grades is asked for; "
            "name one in metrics, such as nsum",
        )


def choosing_metric(select: str, names: Sequence[str] = ()) -> type[Metric]:
    """Return the metric of the number that chooses the epoch.

    Args:
        select: key of the number.
        names: of metrics beyond those of the registry.

    Raises:
        KeyError: no such metric; the message lists the near ones.
    """
    word, given = MetricKey.parse(select).metric, {row.name: row for row in map(metrics.member, names)}
    try:
        return given.get(word) or metrics.member(word)
    except KeyError:
        require_known(f"select={select!r}: no metric", word, {**metrics.all_metrics(), **given})
        raise


def _check_encoder(name: str, options: Mapping[str, Any], path: str) -> None:
    """Check options against the signature of an encoder, and those of the encoders that it is made of against
    theirs.
    """
    check_options(f"encoder {name!r}", encoders.member(name), options, path)
    known = options_of(encoders.member(name))
    for option in options.keys() & {f"{part}_options" for part in known}:
        part = option.removesuffix("_options")
        inner = options.get(part, known[part])
        if inner in encoders.names():
            _check_encoder(inner, options[option] or {}, f"{path}.{option}")


def judgements_of(chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the judgements that the training split of data has, nothing where the loader does not say.

    Args:
        chosen: name and options of the data.
    """
    loader: Loader = data.member(chosen["name"])
    return loader.judgements_with(chosen)


def check_fit(config: Config, given: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Raise if models of the synthetic scenes are used on other data.

    Args:
        config: complete.
        given: fields by name; models that they name stand.

    Raises:
        ValueError: the message says what to give.
    """
    image, words = config.image_encoder, config.text_encoder
    named = {config.features, config.start}.union(
        _model_names(image.name, image.options),
        # an encoder for both sides is made with the options of the image
        _model_names(words.name, {**image.options, **words.options}),
    )
    sides = [dict(given.get(f"{side}_encoder", {})) for side in ("image", "text")]
    for side in sides:
        side.pop("name", None)
    stands = {given.get("features"), given.get("start")}.union(*map(_named_models, sides))
    wrong = sorted(named.intersection(SHIPPED_MODELS) - stands)
    require(
        config.data.name == "scenes" or not wrong,
        f"data={config.data.name!r}, and {', '.join(wrong)} has only seen the synthetic scenes; "
        f"name no encoder, and features={PHOTOGRAPHS} are read by regions and sequence; or {WAYS}",
    )


def _model_names(encoder: str, options: Mapping[str, Any]) -> set[Any]:
    """Return names of the models of an encoder, those that its own defaults name among them."""
    known = options_of(encoders.member(encoder))
    defaults: dict[str, Any] = {name: known[name] for name in ("model", "pretrained") if name in known}
    return _named_models({**defaults, **options})


def _named_models(options: Mapping[str, Any]) -> set[Any]:
    """Return names of models among the options of an encoder, to any depth."""
    found = {options[name] for name in ("model", "pretrained", "name") if isinstance(options.get(name), str)}
    return found.union(*(_named_models(one) for one in options.values() if isinstance(one, Mapping)))
