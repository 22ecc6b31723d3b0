"""The scorer stands apart from the objective: whatever reads scores trains on scores by parts."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from tests.objectives.test_dias import padded
from tests.objectives.worlds import load, make_batch, total_loss
from workbench import Config, objectives
from workbench.objectives import Objective
from workbench.objectives.parts.attention import CrossAttention, EntityScorer, Form, scorer_of
from workbench.runs.resolve import make_objective, resolve

OWN_SCORES = {"cora", "pcme", "pcmepp"}
READING = [*sorted(set(objectives.names()) - OWN_SCORES), "vsepp+0.5*daa"]


def lead(objective, image, text, given):
    scores = objective.scores(image, text).detach()
    return scores[given.positives].mean() - scores[~given.positives].mean()


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("name", READING)
def test_each_objective_that_reads_scores_trains_with_each_scorer(name, form):
    objective = load(name)
    before, plain = objective.inputs, objective.scores(padded(4, 1), padded(8, 2))
    torch.testing.assert_close(plain, padded(4, 1).mean @ padded(8, 2).mean.T)
    objective.score_by(form)
    reads = "entities" if form == "entities" else "parts"
    assert objective.reads == tuple(dict.fromkeys([*before, reads]))
    given = make_batch([0, 0, 1, 2, 2, 2, 3, 3], objective=objective)
    image, text = padded(4, seed=1), padded(8, seed=2, parts=3)
    found = objective.scores(image, text)
    assert torch.equal(found, scorer_of(form).scores(image, text))
    part = objective.scores(image.take(torch.tensor([2, 0]).numpy()), text.take(torch.tensor([7]).numpy()))
    torch.testing.assert_close(part, found[[2, 0]][:, [7]])
    at = lead(objective, image, text, given)
    for _ in range(3):
        total_loss(objective, image, text, given).backward()
        for leaf in (image.mean, text.entities) if form == "entities" else (image.parts, text.parts):
            assert leaf.grad.isfinite().all()
            assert leaf.grad.abs().sum() > 0
            with torch.no_grad():
                leaf.sub_(0.05 * leaf.grad / leaf.grad.norm())
            leaf.grad = None
    assert lead(objective, image, text, given) > at


@pytest.mark.parametrize("name", sorted(OWN_SCORES))
def test_an_objective_that_makes_its_scores_itself_takes_no_scorer(name):
    with pytest.raises(ValueError, match="makes its scores itself; leave scorer out"):
        make_objective(Config(objective=name, scorer="chan"))


def test_a_configuration_names_the_scorer_and_its_fields():
    assert make_objective(Config(objective="sam")).local_scorer is None
    scorers = {
        "scan_i2t": CrossAttention("scan_i2t"),
        "cross": CrossAttention("cross", attention="relu"),
        "entities": EntityScorer(beta=0.3),
    }
    options = {"scan_i2t": {}, "cross": {"attention": "relu"}, "entities": {"beta": 0.3}}
    for name, scorer in scorers.items():
        objective: Objective = make_objective(Config(objective="sam", scorer={"name": name, **options[name]}))
        assert objective.local_scorer == scorer
    assert resolve(Config(objective="sam", scorer="entities")).text_encoder.name == "graph"
    with pytest.raises(ValueError, match="did you mean chan"):
        Config(scorer="chaan")
    with pytest.raises(TypeError, match="did you mean attention"):
        make_objective(Config(scorer={"name": "cross", "atention": "relu"}))
