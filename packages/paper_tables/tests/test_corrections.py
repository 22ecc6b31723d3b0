"""Every correction of the first ledger, and what holds it.

``CORRECTIONS`` is the table: a rule or a claim, and the test that holds it, here or in another file of this
folder. Arms are held by their complete configurations, verdicts by the rules that make them.
"""

from dataclasses import replace
from functools import cache
from itertools import chain, combinations, product
from math import log
from pathlib import Path

import numpy as np
import pytest
from paper_tables import asked, claims, claims_page, claims_words, health, judging, probes, trained

from workbench import objectives
from workbench.execution import grid
from workbench.io import flatten
from workbench.registry import options_of
from workbench.runs import Config
from workbench.runs.resolve import resolve
from workbench.training.samplers import epoch_batches

CORRECTIONS = {
    "R1 an arm has learnt": "test_an_arm_has_gone_the_share_of_the_way_that_the_reference_has_from_chance",
    "R2 the attainable top": "test_the_top_of_a_row_is_what_the_truth_can_reach",
    "R3 equivalence first": "test_a_claim_of_no_effect_is_asked_for_its_limits_first",
    "R4 printed effects": "test_the_printed_effect_is_that_of_the_contrast",
    "R5 not seen at this size": "test_a_small_effect_is_refuted_only_where_it_goes_the_other_way",
    "R6 seeds and images": "test_values_by_image_widen_the_interval_of_a_line_as_the_crossed_one",
    "R7 families": "test_the_page_says_what_a_statistician_asks",
    "R8 stated before, history": "test_a_question_is_stated_before_it_is_answered",
    "R9 other rates": "test_the_page_says_what_a_statistician_asks",
    "R10 ten seeds, agreement": "test_a_row_says_how_many_seeds_agree_and_its_threads",
    "R11 counts in the README": "test_the_readme_counts_a_claim_once_and_its_limits_both_judges",
    "R12 threads": "test_every_line_of_trained_runs_has_its_threads_and_a_claim_is_trained_with_as_many",
    "C9": "test_every_question_is_stated_as_it_is_asked_today",
    "C14": "test_where_nothing_scatters_there_is_no_test",
    "A13": "test_weights_count_on_the_things_that_a_caption_names_and_not_on_the_others",
}
CORRECTIONS |= dict.fromkeys(
    ("D1", "D2", "D8", "D9", "D11", "D12", "D18", "S3", "S4", "S13"),
    "test_arms_have_enough_steps_and_equally_many_of_them",
)
CORRECTIONS |= dict.fromkeys(
    ("C1", "C2", "C3", "C4", "C5", "C6", "C7"), "test_arms_of_one_table_share_a_recipe"
)
CORRECTIONS |= dict.fromkeys(("C8", "C15"), "test_rivals_of_graphs_read_words_in_their_order")
CORRECTIONS |= dict.fromkeys(("C10", "C12"), "test_what_the_loss_asks_is_marked_and_its_rival_sees_entities")
CORRECTIONS |= dict.fromkeys(("C16", "A12"), "test_times_are_slopes_over_galleries_that_grow")
CORRECTIONS |= dict.fromkeys(
    ("I1", "I2", "I3", "I4", "I5", "I12"),
    "test_local_matching_has_four_times_the_steps_and_a_family_with_two_encoders_beside_it",
)
CORRECTIONS |= {"I11": "test_both_samplers_have_equal_steps_and_batches_of_as_many_images"}
CORRECTIONS |= dict.fromkeys(("I6", "I13"), "test_one_thing_changes_between_two_arms")
CORRECTIONS |= dict.fromkeys(
    ("A1", "A2", "A3", "A4", "A5", "A6"), "test_the_encoder_of_the_banks_forgets_half_in_few_steps"
)
CORRECTIONS |= dict.fromkeys(("A9", "A10", "A11"), "test_the_whole_is_the_released_form")
CORRECTIONS |= dict.fromkeys(("A4, A5, A14 once", "A14"), "test_no_question_stands_twice_in_a_family")
CORRECTIONS |= dict.fromkeys(("A7", "A8"), "test_values_that_are_compared_can_matter")
CORRECTIONS |= dict.fromkeys(("S1", "S2"), "test_scarce_data_have_equal_steps_and_a_reference_with_as_little")
CORRECTIONS |= dict.fromkeys(("S10", "S11"), "test_what_is_found_by_relevance_is_what_the_curves_say")
CORRECTIONS |= dict.fromkeys(
    ("S12", "S14"), "test_what_correlates_over_objectives_has_objectives_as_its_unit"
)
CORRECTIONS |= {"D10": "test_a_claim_of_dense_judgements_asks_the_truth_alone"}
CORRECTIONS |= dict.fromkeys(
    ("D13", "D15", "D16"), "test_a_claim_whose_reading_was_chosen_on_its_data_is_asked_at_equal_length"
)
UNTRIED = ("D3", "D4", "D5", "D6", "D7", "D17", "C13", "I7", "A10")
CORRECTIONS |= {
    f"{name} untried": "test_a_claim_that_nobody_tried_has_a_command_and_stands_on_the_page"
    for name in UNTRIED
}
# claims whose first rows had 27 steps, most of them of the warm-up
FEW_STEPS = ("D1", "D2", "D8", "D9", "D10", "D11", "D12", "D18", "S3", "S4", "S10", "S11", "S13")
# claims and what tells their two arms apart
ONE_CHANGE = {
    "I6": [{"objective.weights.dim"}, {"objective.weights.dim"}, {"objective.name"}],
    "I13": [{"objective.scorer"}],
}
CAPTIONS = 5
Arm = tuple[str, str]


@pytest.fixture(autouse=True, scope="module")
def without_data():
    """Configurations are compared, so that data need not be there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "missing_needs", lambda *needs: [])
        yield


@cache
def configuration(where: str, arm: Arm) -> Config:
    """The complete configuration of an arm."""
    name, label = arm
    return resolve(trained._configs(name, {label}, where)[arm])


@cache
def steps_of_epoch(images: int, batch: int, captions: int, clusters: bool) -> int:
    """Optimiser steps of an epoch over images with five captions each."""
    own = np.repeat(np.arange(images), CAPTIONS)
    near = {"clusters": np.zeros(images, dtype=np.int64), "clusters_per_batch": 1} if clusters else {}
    return len(epoch_batches(own, size=batch, captions_per_image=captions, seed=0, number=0, **near))


def steps(where: str, arm: Arm) -> int:
    """Optimiser steps of an arm."""
    whole = configuration(where, arm)
    # a share is one of all 8,000 scenes
    images = round(8000 * whole.data.options.get("share", 0)) or whole.train_images
    sampled = (whole.batch_size, whole.captions_per_image, whole.sampler == "clusters")
    return whole.epochs * steps_of_epoch(images, *sampled)


def described(whole: Config) -> dict[str, object]:
    """A complete configuration by path, with what its objective has where nothing is given."""
    # of a sum such as vsepp+dias.dim the first
    first = whole.objective.name.partition("+")[0]
    values, usual = flatten(whole.as_dict()), options_of(objectives.member(first))
    return {f"objective.{name}": value for name, value in usual.items()} | values


def differing_fields(where: str, arms: list[Arm]) -> set[str]:
    """Fields of two complete configurations that differ, options by their path; an objective's own values
    stand where none is given.
    """
    first, second = (described(configuration(where, arm)) for arm in arms)
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}


def arms_of(*names: str) -> list[Arm]:
    """All arms of some claims, each once."""
    contrasts = chain.from_iterable(claims.find_claim(name).contrasts for name in names)
    return list(dict.fromkeys(chain.from_iterable(contrasts)))


def test_every_correction_names_a_test_and_every_claim_of_it_is_there():
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    for correction, test in CORRECTIONS.items():
        assert f"def {test}(" in tests, correction
    named = {correction.split()[0].strip(",") for correction in CORRECTIONS if correction[0] != "R"}
    assert named <= set(claims.load_claims())


@pytest.mark.slow
@pytest.mark.parametrize("where", ["W", "F"])
def test_arms_have_enough_steps_and_equally_many_of_them(where):
    for claim in claims.load_claims().values():
        for arms in claim.contrasts if where in claim.data and claim.learns else ():
            counts = {steps(where, arm) for arm in arms}
            assert len(counts) == 1, (claim.id, arms)
            assert min(counts) >= health.LEAST_STEPS, (claim.id, arms)


def test_arms_that_had_few_steps_are_trained_for_twelve_epochs_with_one_of_warm_up():
    for arm in arms_of(*FEW_STEPS):
        whole = configuration("W", arm)
        assert (whole.train_images, whole.epochs) == (2000, 12)
        assert whole.warmup_epochs <= 1, arm
    assert {claims.planned_seeds(claims.find_claim(name), "W") for name in FEW_STEPS} == {10}
    # photographs have the same budget, whatever is measured on them
    assert claims.budget_of_data("F") == claims.budget_of_data("W") | {"data": "flickr8k"}
    assert claims.budget_of_data("H") == claims.budget_of_data("K") == claims.budget_of_data("F")


def test_arms_of_one_table_share_a_recipe():
    parts = ("objective.", "text_encoder.")
    arms = arms_of("C1", "C2", "C3", "C4", "C5", "C6", "C7")
    assert len(arms) == 14
    for arm in arms[1:]:
        assert {name for name in differing_fields("W", [arms[0], arm]) if not name.startswith(parts)} == set()


def test_rivals_of_graphs_read_words_in_their_order():
    for name in ("C8", "C15"):
        rivals = [arms[1] for arms in claims.find_claim(name).contrasts]
        layers = {configuration("W", rival).text_encoder.options["layer"] for rival in rivals}
        assert layers <= {"gru", "transformer"}


def test_what_the_loss_asks_is_marked_and_its_rival_sees_entities():
    for name in ("C10", "C12"):
        assert "what the loss asks" in claims.find_claim(name).remark
    ((whole, rival),) = claims.find_claim("C12").contrasts
    assert differing_fields("W", [whole, rival]) == {"objective.contrastive"}
    assert configuration("W", rival).objective.options["contrastive"] == 0
    assert "specificity" not in configuration("W", rival).objective.options


def test_times_are_slopes_over_galleries_that_grow():
    assert {claims.find_claim(name).metric for name in ("C16", "A12")} == {"probe:slope of time"}
    assert probes.GALLERIES[-1] >= 50 * probes.GALLERIES[0]
    # a time says nothing of steps
    line = {"claim": "C16", "data": "W", "judge": "neither", "metric": ["probe:slope of time"]}
    line |= {"contrast": claims.contrast_name(claims.find_claim("C16").contrasts[0])}
    arms = claims.find_claim("C16").contrasts[0]
    line |= {
        "budget": {"steps": [936, 900]},
        "asked": claims.question_hash(claims.find_claim("C16"), "W", arms),
    }
    assert claims.current([line])
    with_learning = replace(claims.find_claim("C16"), learns=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "load_claims", lambda: {"C16": with_learning})
        assert not claims.current([line])


@pytest.mark.parametrize("name", ONE_CHANGE)
def test_one_thing_changes_between_two_arms(name):
    contrasts = claims.find_claim(name).contrasts
    assert [differing_fields("W", arms) for arms in contrasts] == ONE_CHANGE[name]


@pytest.mark.parametrize("where", ["W", "F"])
def test_the_encoder_of_the_banks_forgets_half_in_few_steps(where):
    every = [
        arm for arm in arms_of("A1", "A2", "A3", "A6") if configuration(where, arm).objective.name == "aahr"
    ]
    for arm in every:
        options = configuration(where, arm).objective.options
        if options.get("mcl") != 0:
            half = log(0.5) / log(options["contrast"]["momentum"])
            assert half / steps(where, arm) == pytest.approx(0.015, abs=0.002)


def test_the_whole_is_the_released_form():
    for name in ("A9", "A10", "A11", "A12"):
        for whole, _ in claims.find_claim(name).contrasts:
            options = configuration("W", whole).objective.options
            assert options["variant"] == "released"
            # the code begins both after 24 and 88 percent of its steps
            begins = [options[part]["after"] / steps("W", whole) for part in ("alignment", "graph")]
            assert begins == pytest.approx([0.24, 0.88], abs=0.01)
    rivals = {rival for rival, _ in claims.find_claim("A9").recorded}
    assert "aahr as released" in rivals


def questions_of(claim: claims.Claim) -> set[tuple[str, ...]]:
    """What a claim asks: data, judge, numbers and arms."""
    names = [claims.contrast_name(arms) for arms in claim.contrasts]
    asked_of_judges = product(claim.data, claim.keys.items(), names)
    return {(where, who, *keys, name) for where, (who, keys), name in asked_of_judges}


def test_no_question_stands_twice_in_a_family():
    for first, second in combinations(claims.load_claims().values(), 2):
        if first.paper == second.paper:
            assert not questions_of(first) & questions_of(second), (first.id, second.id)


def test_values_that_are_compared_can_matter():
    captions = claims.budget_of_data("W")["train_images"] * CAPTIONS
    banks = {
        configuration("W", arm).objective.options["contrast"]["bank"] / captions for arm in arms_of("A7")
    }
    assert sorted(banks) == pytest.approx([0.02, 0.10, 0.41], abs=0.01)
    weights = set()
    for arm in arms_of("A8"):
        weights.add(configuration("W", arm).objective.options.get("graph", {}).get("alpha"))
    assert weights >= {0.0, 20.0}


def test_a_claim_of_dense_judgements_asks_the_truth_alone():
    claim = claims.find_claim("D10")
    assert set(claim.keys) == {"truth"}
    rows = [line for line in claims.current(claims.read_ledger()) if line["claim"] == "D10"]
    assert {line["judge"] for line in rows} == {"truth"}


def test_where_nothing_scatters_there_is_no_test():
    still = judging.Evidence(np.full(10, -1.0), smallest=0.5)
    (verdict,) = judging.judge([still])
    assert (verdict.word, verdict.p_holm) == ("undecided", 1.0)
    rows = [line for line in claims.current(claims.read_ledger()) if line["claim"] == "C14"]
    assert {line["verdict"] for line in rows} == {"undecided"}


def test_every_question_is_stated_as_it_is_asked_today():
    known = set(asked.stated()["hash"])
    for place in claims.PLACES:
        for row in asked.questions(claims.load_claims().values(), place):
            assert row["hash"] in known, (row["claim"], "workbench claims state")


@pytest.mark.parametrize("name", UNTRIED)
def test_a_claim_that_nobody_tried_has_a_command_and_stands_on_the_page(name):
    claim = claims.find_claim(name)
    lines = claims.current(claims.read_ledger())
    assert claim.commands
    stated = any(line["claim"] == name and claims.is_stated(line) for line in lines)
    assert stated or claim in [waiting for waiting, _ in claims_page.waiting_claims(lines)]
    page = claims_words.pages(claims.read_ledger())["claims.md"]
    assert f"| {name} | {claim.says} |" in page


def test_the_top_of_a_row_is_what_the_truth_can_reach():
    line = {"metric": ["rsum"], "data": "W", "unit": "sum"}
    top = claims.best_of(line)
    assert 480 < top < 600
    arms = (top - 1, top - 2)
    at_top = judging.Evidence(np.array([1.0, 1.1]), smallest=3.0, arms=arms, best=top, health=1.0)
    assert judging.judge([at_top])[0].word == "void"


def test_a_claim_of_no_effect_is_asked_for_its_limits_first():
    # a tenth of the limit, beyond chance: that there is no effect that matters is what was claimed
    small = judging.Evidence(np.array([0.2, 0.21, 0.19, 0.2]), smallest=2.0, no_effect=True)
    large = judging.Evidence(np.array([3.0, 3.1, 2.9, 3.0]), smallest=2.0, no_effect=True)
    assert [verdict.word for verdict in judging.judge([small, large])] == ["replicated", "refuted"]


def test_the_page_says_what_a_statistician_asks():
    text = " ".join(claims_words.limits_text(claims.read_ledger()))
    for words in (
        "Holm's rule holds within a family",  # many questions
        "half and twice the learning rate",
        "keep values by image",  # what brackets hold
        "no bracket holds for other training data",
        "takes differences between seeds for normal",
        "are void",  # and what that depends on
        "come from no paper",  # limits of equivalence
        "no rule said when to stop",
        "no counts of independent results",
        "no choice of what to try first",
        "keeps its epoch with the highest RSUM",  # by which checkpoints are chosen
        "Asked before, otherwise",
        "says the sign alone",
    ):
        assert words in text


def test_a_small_effect_is_refuted_only_where_it_goes_the_other_way():
    small = judging.Evidence(np.array([0.1, -0.1, 0.05, 0.0, 0.02]), smallest=3.0)
    against = judging.Evidence(np.array([-9.0, -9.1, -8.9, -9.0, -9.2]), smallest=3.0)
    assert [verdict.word for verdict in judging.judge([small, against])] == ["equivalent", "refuted"]
    lines = claims.current(claims.read_ledger())
    assert all(
        line["effect"] < 0 or line["expected"] == "0" for line in lines if line["verdict"] == "refuted"
    )
