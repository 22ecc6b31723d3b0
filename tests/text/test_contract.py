"""What is true of every signal."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import relevance_audit as audit

from workbench import data, objectives, text
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.runs.build import training_relevance
from workbench.text.signal import Maker, NegativeMaker, RelevanceMaker, SignalMaker


@pytest.mark.parametrize("name", text.names())
def test_a_member_makes_signals_relevance_or_negatives_under_the_name_of_its_file(name):
    member = text.member(name)
    assert sum(issubclass(member, kind) for kind in (SignalMaker, RelevanceMaker, NegativeMaker)) == 1
    assert member.name == name


@pytest.mark.parametrize("name", text.names())
def test_a_member_takes_its_options_by_keyword_and_refuses_unknown_ones(name):
    options = list(inspect.signature(text.member(name)).parameters.values())
    assert all(
        option.kind is option.KEYWORD_ONLY and option.default is not option.empty for option in options
    )
    with pytest.raises(TypeError, match="has no option 'pool_of_nothing'"):
        text.load(name, pool_of_nothing=1)


def test_a_maker_without_anything_to_learn_has_an_empty_state():
    maker = Maker()
    assert maker.state() == {}
    assert maker.restore({}) is maker


CAPTIONS = ["a dog runs on grass", "a brown dog", "a man rides a horse", "two men", "a red car"]
OWN = np.array([1, 1, 0, 3, 0])


@pytest.mark.parametrize("name", text.judge_names())
def test_relevance_of_any_name_is_whole_matrices_blocks_and_batches(name):
    try:
        maker = text.load(name).fit(CAPTIONS, OWN)
    except ImportError as error:
        pytest.skip(str(error))
    made = maker.transform(CAPTIONS, OWN, images=5)
    whole = made.dense()
    assert whole.dtype == np.float32
    assert whole.shape == made.shape == (5, 5)
    assert np.isfinite(whole).all()
    assert (whole >= 0).all()
    # an image without captions has nothing; a caption fits no other image better than its own
    assert (whole[[2, 4]] == 0).all()
    assert (whole[OWN, np.arange(5)] >= whole.max(axis=0) - 1e-6).all()
    images, captions = np.array([3, 1, 1]), np.array([4, 0])
    np.testing.assert_allclose(made.take(images, captions), whole[images][:, captions], atol=1e-6)
    parts = np.concatenate([scores for _, scores in made.blocks(2)], axis=1)
    np.testing.assert_allclose(parts, whole, atol=1e-6)
    np.testing.assert_allclose(maker.compare(CAPTIONS, CAPTIONS, OWN, 5).dense(), whole, atol=1e-6)
    assert made.name
    assert len(made.rule.split()) > 5


@pytest.mark.parametrize("name", text.judge_names())
@pytest.mark.parametrize("objective", ["sam", "daa"])
def test_relevance_of_any_name_serves_objectives_ncs_and_the_audit(name, objective):
    split = data.load("scenes", split="val", size=8)
    option = "phi" if objective == "sam" else "relevance"
    try:
        made = training_relevance(
            objectives.load(objective, **{option: name, f"{option}_options": {}}), split
        )
    except ImportError as error:
        pytest.skip(str(error))
    phi, scores = made[name], np.random.default_rng(0).random(made[name].shape, dtype=np.float32)
    best = {m.label: m.value for m in evaluate(Evidence(phi.dense(), phi, split.own), ["ncs"], rounds=0)}
    drawn = {m.label: m.value for m in evaluate(Evidence(scores, phi, split.own), ["ncs"], rounds=0)}
    # who retrieves by phi itself has all there is
    assert all(value == pytest.approx(1) for value in best.values())
    assert drawn.keys() == best.keys()
    assert min(drawn.values()) < 1
    found = audit.candidates(scores, split, {phi.name: phi.judgements(minimum=0.1)}, k=3)
    assert (found[phi.name] >= 0).all()
