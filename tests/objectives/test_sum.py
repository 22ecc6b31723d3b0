"""A sum of several papers: how it is written, what it is, what it needs and what it refuses."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.objectives.worlds import WIDTH, load, make_batch, random_embedding
from workbench import objectives
from workbench.objectives._sum import Sum, parse_sum
from workbench.objectives.base import Objective

OWN = [0, 0, 1, 2, 2, 2, 3, 3]


def world():
    return random_embedding(4, seed=1), random_embedding(len(OWN), seed=2), make_batch(OWN)


def toy(**attributes):
    """An objective that declares something."""
    made = Objective()
    made.terms = ("term",)
    for name, value in attributes.items():
        setattr(
            made,
            name,
            value
            if name in ("momentum", "inputs", "soft_labels", "captions_per_image")
            else lambda v=value: v,
        )
    return made


def joined(**papers):
    return Sum("+".join(papers), {name: {"": 1.0} for name in papers}, papers)


def test_a_sum_is_the_weighted_terms_of_its_papers():
    torch.manual_seed(0)
    ditm, dias = load("ditm")(*world()), load("dias")(*world())
    torch.manual_seed(0)
    found = load("ditm+0.5*dias.dim+2*dias.intra")(*world())
    expected = {f"ditm.{name}": value for name, value in ditm.items()}
    expected |= {"dias.dim": 0.5 * dias["dim"], "dias.intra": 2 * dias["intra"]}
    assert list(found) == list(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)


def test_a_weight_before_a_paper_is_that_of_all_its_terms():
    half, whole = load("0.5*vsepp")(*world()), load("vsepp")(*world())
    assert {name: 2 * value for name, value in half.items()} == {
        f"vsepp.{name}": value for name, value in whole.items()
    }


def test_terms_that_are_not_chosen_are_not_computed(monkeypatch):
    from workbench.objectives import dias

    monkeypatch.setattr(dias, "distance_weighted", None)
    assert set(load("infonce+dias.dim")(*world())) == {"infonce.i2t", "infonce.t2i", "dias.dim"}


def test_a_part_of_a_sum_can_be_chosen_again():
    made = load("ditm+dias.dim")
    made.select(["dias.dim"])
    assert set(made(*world())) == {"dias.dim"}
    assert made.captions_per_image == 1


def test_spaces_around_the_signs_do_not_matter():
    assert parse_sum(" ditm + 0.5 * dias.dim") == {"ditm": {"": 1.0}, "dias": {"dim": 0.5}}


def test_it_needs_what_any_of_its_terms_needs():
    made = load("vsepp+ditm+aahr.mcl+dias.dim")
    assert made.needs == ("descriptiveness",)
    assert set(made.text_features()) == {"descriptiveness"}
    assert made.captions_per_image == 2
    assert made.momentum == load("aahr").momentum > 0
    assert made.inputs == ("parts",)
    assert load("sam+daa").relevance_sources() == {"cider": {}, "tfidf": {}}


def test_it_does_not_need_what_only_terms_that_were_not_chosen_need():
    made = load("vsepp+ditm.i2t+aahr.pga+dias.intra")
    assert made.captions_per_image == 1
    assert made.momentum == 0
    assert made.inputs == ()


def test_its_scores_are_those_of_the_first_paper():
    image, text, _ = world()
    torch.testing.assert_close(load("pcmepp+vsepp").scores(image, text), load("pcmepp").scores(image, text))
    torch.testing.assert_close(load("vsepp+pcmepp").scores(image, text), load("vsepp").scores(image, text))
    assert objectives.load("dias.dim+vsepp", dias={"scorer": "cross"}).inputs == ("parts",)


def test_images_may_be_mixed_only_where_every_paper_reads_soft_labels():
    assert load("pcme").soft_labels
    assert not load("pcme+vsepp").soft_labels


def test_every_paper_is_warmed_and_keeps_its_memory():
    made = load("ditm+aahr")
    made.warm_up(True)
    assert all(paper.warming for paper in made.papers.values())
    image, text, given = world()
    made.after_step(image, text, given)
    assert made.papers["aahr"].steps == 1
    assert {key.split(".")[1] for key in made.state_dict()} == {"aahr"}


def test_its_state_goes_into_another_of_its_kind():
    first, second = objectives.load("infonce+aahr"), objectives.load("infonce+aahr")
    for made in (first, second):
        made.setup(WIDTH)
    with torch.no_grad():
        first.papers["infonce"].parameter.fill_(1.5)
    second.load_state_dict(first.state_dict())
    assert second.papers["infonce"].parameter == 1.5
    assert isinstance(first.papers["infonce"].parameter, nn.Parameter)


def test_options_are_given_by_paper():
    made = objectives.load("ditm+0.1*vsepp", ditm={"tau": 5.0}, vsepp={"margin": 0.1})
    assert (made.papers["ditm"].tau, made.papers["vsepp"].margin) == (5.0, 0.1)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("ditm+dais.dim", {}, KeyError, "no 'dais'; did you mean dias"),
        ("ditm+dias.dims", {}, KeyError, "objective 'dias' has no term 'dims'; did you mean dim"),
        (
            "ditm+dias.dim",
            {"tau": 5},
            TypeError,
            "has no option 'tau'; write objective.ditm.tau",
        ),
        ("ditm+dias.dim", {"ditm": {"taus": 5}}, TypeError, "'ditm' has no option 'taus'; did you mean tau"),
        ("ditm+dias.dim", {"ditm": 5}, TypeError, "objective.ditm is 5; write objective.ditm.OPTION"),
        ("ditm++dias", {}, ValueError, "cannot read ''; write a sum as 'ditm\\+0.5\\*dias.dim'"),
        ("ditm+x*dias", {}, ValueError, "'x' is no weight"),
        ("ditm+0*dias", {}, ValueError, "the weight 0 must be greater than 0"),
        ("ditm+inf*dias", {}, ValueError, "the weight inf must be greater than 0 and finite"),
        ("ditm+ditm", {}, ValueError, "'ditm' is named twice"),
        ("ditm.i2t+ditm", {}, ValueError, "'ditm' is named twice"),
        ("dias.dim+dias.dim", {}, ValueError, "'dias.dim' is named twice"),
    ],
)
def test_what_cannot_be_read_is_refused(name, options, error, message):
    with pytest.raises(error, match=message):
        objectives.load(name, **options)


@pytest.mark.parametrize(
    ("papers", "message"),
    [
        (
            {"a": toy(momentum=0.9), "b": toy(momentum=0.99)},
            "one momentum copy, and {'a': 0.9, 'b': 0.99} ask",
        ),
        (
            {"a": toy(text_features={"s": {"x": 1}}), "b": toy(text_features={"s": {"x": 2}})},
            "'b' reads the signal 's' with {'x': 2} and",
        ),
        (
            {"a": toy(relevance_sources={"r": {}}), "b": toy(relevance_sources={"r": {"x": 2}})},
            "'b' reads the relevance 'r' with {'x': 2} and",
        ),
    ],
)
def test_one_thing_needed_in_two_ways_is_refused(papers, message):
    with pytest.raises(ValueError, match=message):
        joined(**papers)


def test_one_thing_needed_in_one_way_is_given_once():
    made = joined(
        a=toy(momentum=0.9, relevance_sources={"r": {"x": 2}}),
        b=toy(momentum=0.9, relevance_sources={"r": {"x": 2}}),
    )
    assert made.momentum == 0.9
    assert made.relevance_sources() == {"r": {"x": 2}}
