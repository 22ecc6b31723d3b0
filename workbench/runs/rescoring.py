"""A trained model that scores otherwise: by other options of its objective, or with weights between those
from before its training and those after it.

Source of the weights between: Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022, Eq. 1
(WiSE-FT). Departure: adapters are weights times ``share``, since they begin as nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from workbench.formatting import format_count
from workbench.objectives.parts.attention import scorer_of
from workbench.records import require
from workbench.registry import Share, check_value
from workbench.runs.build import build, check_reads, load_split
from workbench.runs.config import Config
from workbench.runs.encoder_model import TrainedModel
from workbench.runs.measure import calibrate
from workbench.runs.model import Model
from workbench.runs.resolve import make_objective
from workbench.runs.spellings import bare_names, merge_layers
from workbench.training import checkpoint, seed_everything

WISE_FT = "wise_ft"
# of an adapter, the weight that is random at first and counts for nothing
RANDOM = ".lora_A."


def rescore(model: Model, scoring: Mapping[str, Any]) -> Model:
    """Let a model score otherwise: a trained one with the weights that it has learnt and what its objective
    then chooses on the validation split, any other by several vectors an item.

    Args:
        model: any.
        scoring: fields of the configuration, and ``wise_ft``, see ``weights_between``; nothing changes
            nothing.

    Raises:
        KeyError, TypeError, ValueError: options that the objective does not take, or that read what the
            encoders do not give; of a model that was not trained here, anything but ``scorer``.
    """
    if not scoring:
        return model
    changed = _score_otherwise(model, scoring)
    changed.rescored = bare_names(merge_layers(model.rescored, scoring))
    return changed


def _score_otherwise(model: Model, scoring: Mapping[str, Any]) -> Model:
    """Return the model as ``rescore`` does, or itself where only the share of its weights is said."""
    if not isinstance(model, TrainedModel):
        unread = ", ".join(name for name in scoring if name != "scorer")
        lacks = "it has no objective whose scores could change, and takes scorer alone"
        require(not unread, f"{unread}: {model.name} was not trained here; {lacks}")
        return model.scored_by(scorer_of(scoring["scorer"]))
    fields = dict(scoring)
    share = fields.pop(WISE_FT, None)
    if share is not None:
        model = weights_between(model, share)
    if not fields and not model.objective.calibrates:
        return model
    config = Config(**merge_layers(model.config.given_fields(), fields))
    objective = make_objective(config)
    check_reads(config.objective.name, objective, model.pair)
    objective.setup(model.pair.image.embed_dim)
    objective.load_state_dict(dict(model.objective.named_parameters()), strict=False)
    changed = replace(model, objective=objective.to(model.device).eval(), config=config)
    if objective.calibrates:
        calibrate(changed, changed.source(load_split(config, "val")))
    return changed


def weights_between(model: TrainedModel, share: float) -> TrainedModel:
    """Give a trained model weights between those that its training began from and those that it ended with.

    Args:
        model: of a run that began from weights of a model.
        share: of the weights after training: 0 = those before, 1 = those after.

    Raises:
        TypeError, ValueError: ``share`` is not between 0 and 1, or a weight was random before.
    """
    check_value(WISE_FT, share, Share)
    begun, before = _model_before_training(model, 0)
    _, other = _model_before_training(model, 1)
    after = {
        name: value.cpu() for name, value in checkpoint.copy_weights(model.pair, model.objective).items()
    }
    drawn = [
        name for name, value in before.items() if RANDOM not in name and not _is_same(value, other[name])
    ]
    require(
        not drawn,
        f"{WISE_FT} needs weights from before the training, and {format_count(len(drawn), 'weight')} of "
        f"{model.name} began at random, {min(drawn, default='')} first; name a run that was fine-tuned from "
        "a model, with head='pooled'",
    )
    mixed = {
        name: _mix_weights(before[name], value, share) for name, value in after.items() if RANDOM not in name
    }
    checkpoint.load_weights(begun.pair, begun.objective, {**after, **mixed})
    name = f"{model.name}, {WISE_FT}={share}"
    objective = begun.objective.to(model.device).eval()
    changed = replace(model, pair=begun.pair, objective=objective, name=name)
    return changed.to(str(model.device), model.precision)


def _model_before_training(model: TrainedModel, seed: int) -> tuple[TrainedModel, dict[str, Tensor]]:
    """Return the model as it was before training, what is random drawn from a seed, and its weights."""
    states = {name: maker.state() for name, maker in model.makers.items()}
    with torch.random.fork_rng(devices=()):
        seed_everything(seed)
        begun = build(model.config, (), states, pretrained=True)
    return begun, checkpoint.copy_weights(begun.pair, begun.objective)


def _is_same(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.equal(first, second)


def _mix_weights(before: Tensor, after: Tensor, share: float) -> Tensor:
    """Return the weights between; integers have none, and are those after, or before where all others are."""
    if share == 0 or not before.is_floating_point():
        return before if share == 0 else after
    # a mask holds minus infinity, of which there is no mean
    return torch.where(before == after, after, torch.lerp(before, after, share))
