"""Verdicts by hand, and how often they are false where the effect is known."""

import numpy as np
import pytest
from paper_tables.judging import Evidence, judge

from tools.benchmarks import bench_claims_power
from workbench import assets

UP = np.array([4.0, 5.0, 6.0, 5.0, 5.0])
SMALL = np.array([0.1, -0.1, 0.0, 0.1, -0.1])


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        (Evidence(UP, 3), "replicated"),
        (Evidence(-UP, 3), "refuted"),
        (Evidence(SMALL, 3), "equivalent"),
        # what never scatters has no test
        (Evidence(np.zeros(5), 3), "undecided"),
        (Evidence(np.ones(5), 3), "undecided"),
        (Evidence(20 * SMALL, 1), "undecided"),
        # an arm that has not learnt, and one of which nobody knows
        (Evidence(UP, 3, health=0.79), "void"),
        (Evidence(UP, 3, health=0.8), "replicated"),
        (Evidence(UP, 3, health=float("nan")), "void"),
        # where no effect is claimed, its limits are asked first
        (Evidence(1.5 + SMALL, 3, no_effect=True), "replicated"),
        (Evidence(UP, 3, no_effect=True), "refuted"),
        (Evidence(-UP, 3, no_effect=True), "refuted"),
        (Evidence(20 * SMALL, 1, no_effect=True), "undecided"),
        # the scatter of images counts as well
        (Evidence(UP, 3, images=(25.0, 0.0, 500)), "undecided"),
        # no effect of interest has room
        (Evidence(UP, 3, arms=(97.1, 100.0), best=100.0), "void"),
        (Evidence(UP, 3, arms=(97.0, 100.0), best=100.0), "replicated"),
        (Evidence(UP, 3, other_rates=(UP, -UP)), "undecided"),
    ],
)
def test_a_verdict_by_hand(evidence: Evidence, word: str) -> None:
    assert judge([evidence])[0].word == word


def test_the_interval_is_students_and_holm_counts_the_paper_and_its_void_claims() -> None:
    (alone,) = judge([Evidence(UP, 3)])
    beside, void = judge([Evidence(UP, 3), Evidence(UP, 3, health=0.0)])
    half = 2.776445 * UP.std(ddof=1) / 5**0.5
    assert (alone.low, alone.high) == pytest.approx((5 - half, 5 + half), rel=1e-6)
    assert (void.word, beside.p_holm) == ("void", pytest.approx(2 * alone.p_holm))
    assert np.isnan(void.p_holm)
    many = judge([Evidence(UP, 3)] + [Evidence(20 * SMALL, 1)] * 3)
    assert many[0].p_holm == pytest.approx(4 * alone.p_holm)
    with pytest.raises(ValueError, match="two seeds"):
        judge([Evidence(UP[:1], 3)])


def test_a_question_that_is_not_tried_yet_counts_and_its_answer_weakens_no_other() -> None:
    rng = np.random.default_rng(0)
    every = [Evidence(rng.normal(effect, 3.0, 10), 3.0) for effect in (9.0, 7.0, 5.0, 3.0, 0.0, -5.0, 0.0)]
    before = [1.0] * len(every)
    for tried in range(1, len(every) + 1):
        now = [verdict.p_holm for verdict in judge(every[:tried], len(every))]
        assert all(after <= earlier for after, earlier in zip(now, before, strict=False))
        before[:tried] = now
    assert before == [verdict.p_holm for verdict in judge(every)]


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("truths", [(0.0,) * 5, (8.0, 3.0, 0.0, -3.0)])
def test_at_most_five_of_a_hundred_families_hold_a_false_verdict(
    seeds: int, truths: tuple[float, ...]
) -> None:
    generator, wrong = np.random.default_rng(seeds), 0
    for _ in range(2000):
        family = [Evidence(generator.normal(truth, 3.0, seeds), 3.0) for truth in truths]
        words = [verdict.word for verdict in judge(family)]
        for word, truth in zip(words, truths, strict=True):
            false = {"replicated": truth <= 0, "refuted": truth >= 0, "equivalent": abs(truth) >= 3}
            if false.get(word):
                wrong += 1
                break
    assert wrong / 2000 <= 0.05


@pytest.mark.parametrize("seeds", bench_claims_power.SEEDS)
def test_the_recorded_power_is_that_of_the_rule(seeds: int) -> None:
    recorded = assets.read_recorded("claims_power")
    assert (recorded[recorded.key == "false"]["value"] <= 0.05).all()
    simulated = bench_claims_power.shares(2.0, seeds, families := 200)
    for row in recorded[(recorded.spread == 2.0) & (recorded.seeds == seeds)].itertuples():
        # four standard errors; claims of one family go together
        assert (
            abs(simulated[row.key] - row.value)
            <= 4 * (max(row.value * (1 - row.value), 0.001) / families) ** 0.5
        )
