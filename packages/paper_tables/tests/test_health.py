"""Which lines of the ledger count, by hand, and that every correction of the first one holds."""

from collections import Counter

import numpy as np
import pytest
from paper_tables import claims, claims_figure, claims_told, health

from workbench.metrics.crossed import crossed, crossed_interval


def line(contrast: str, *values: float, **more: object) -> dict[str, object]:
    """A line of the ledger with RSUM by arm, two seeds each."""
    sides = {side: [value, value] for side, value in zip(("more", "less"), values, strict=False)}
    about = {
        "claim": "D8",
        "data": "W",
        "judge": "labels",
        "metric": ["rsum"],
        "chance": 10.0,
        "seeds": [0, 1],
    }
    return {**about, "contrast": contrast, "values": sides, **more}


def test_the_sum_of_a_random_order_is_that_of_its_six_recalls():
    # 10 images with a caption each: recall at k is k / 10 in both directions
    assert health.chance(10, 1) == pytest.approx(100 * 2 * (0.1 + 0.5 + 1.0))
    # 5 of 5,000 captions: 1 - the chance that none of the first k is one of them, beside k / 1,000
    hits = [1 - np.prod([(4995 - n) / (5000 - n) for n in range(k)]) + k / 1000 for k in (1, 5, 10)]
    assert health.chance(1000) == pytest.approx(100 * sum(hits))


def test_an_arm_has_gone_the_share_of_the_way_that_the_reference_has_from_chance():
    lines = [line("vsepp | infonce", 410.0, 330.0), line("cora | vsepp", 210.0, 410.0)]
    # (330 - 10) / (410 - 10), and (210 - 10) / 400
    assert health.shares(lines, ["vsepp"]) == pytest.approx([0.8, 0.5])


def test_an_arm_that_nobody_measured_has_no_health_and_texts_need_none():
    lines = [line("vsepp | infonce", 410.0, 330.0), line("a | vsepp", 1.0, 2.0, metric=["t2i/R@1"])]
    text = line("l2_sum", 1.0, judge="no training")
    shares = health.shares([*lines, text], ["vsepp"])
    assert np.isnan(shares[1])
    assert shares[2] is None


def test_few_steps_and_unequal_ones_do_not_count():
    def with_steps(*steps: int) -> dict[str, object]:
        return line("a | b", 1.0, 2.0, budget={"train_images": 500, "steps": list(steps)})

    assert not health.long_and_equal(with_steps(27, 27))
    assert not health.long_and_equal(with_steps(540, 135))
    assert health.long_and_equal(with_steps(540, 540))
    assert health.long_and_equal(line("vsepp | infonce", 1.0, 2.0))


def test_every_row_that_counts_is_healthy_or_void_and_none_has_few_steps():
    lines = claims.current(claims.read_ledger())
    assert all(health.long_and_equal(row) for row in lines)
    for row, share in zip(lines, health.shares(lines, claims.REFERENCES), strict=True):
        assert share is None or share >= health.HEALTHY or row["verdict"] == "void"


def test_a_question_keeps_what_it_was_answered_before():
    answers = claims.history(claims.read_ledger())
    assert Counter(len(words) for words in answers.values())[0] < len(answers)
    for row in claims.current(claims.read_ledger()):
        assert tuple(row[name] for name in claims.QUESTION) in answers


@pytest.mark.parametrize(
    ("name", "contrast", "printed"),
    [
        ("S7", "tau=10 SN triplet=kept | tau=10 SN triplet=dropped", 1.4),
        ("I6", "CHAN +DIA | CHAN", 0.85),
        ("I6", "HREM's sampling +DIA | HREM's sampling", 0.2),
        ("I6", "VSE++ +DIA | VSE++", None),
        ("A1", "10 both, all, GGLA | 4 local, MDM, PGA, NSI", 29.3),
        ("A1", "10 both, all, GGLA | 8 global, MDM, PGA, NSI", 14.0),
        ("A3", "6 global, MDM | 5 global", 0.5),
        ("A4", "3 local, MDM, PGA | 2 local, MDM", 0.1),
        ("C2", "HARD+CON | HARD", 20.4),
        ("C5", "Joint | Joint + FC", 3.2),
        ("C6", "OA=1 OO=2 | OA=1 OO=1", 6.7),
        ("I4", "DIAS | w/o hat-L_X", None),
        ("A5", "3 local, MDM, PGA | 2 local, MDM", None),
    ],
)
def test_the_printed_effect_is_that_of_the_contrast(name: str, contrast: str, printed: float | None):
    claim = claims.find_claim(name)
    labels = [" | ".join(label for _, label in arms) for arms in claim.contrasts]
    assert contrast in labels
    assert claim.printed_for(contrast, claim.judge) == printed
    if claim.judge == "labels":
        assert claim.printed_for(contrast, "truth") is None


def test_printed_effects_name_contrasts_that_are_asked():
    for claim in claims.load_claims().values():
        if isinstance(claim.printed, dict):
            assert set(claim.printed) <= {" | ".join(label for _, label in arms) for arms in claim.contrasts}


def test_rivals_of_graphs_read_words_in_their_order():
    for name in ("C8", "C15"):
        rivals = {arms[1][1] for arms in claims.find_claim(name).contrasts}
        assert rivals <= {"VSE++, GRU", "VSE++, transformer"}


def test_no_number_stands_twice_in_a_family():
    lines = [row for row in claims.current(claims.read_ledger()) if row["judge"] != "no training"]
    asked = Counter((claims.family_of(row), row["contrast"], row["unit"], *row["metric"]) for row in lines)
    assert max(asked.values()) == 1


def test_what_correlates_over_objectives_has_objectives_as_its_unit():
    rows = {row["claim"]: row for row in claims.lines_from_recorded() if row["contrast"] == "all objectives"}
    assert set(rows) == {"S12", "S14"}
    for row in rows.values():
        assert len(row["values"]["more"]) >= 10
        assert "objectives" in claims_told.seeds_of({**row, "effect": 1.0})


def test_a_row_says_how_many_seeds_agree_and_its_threads():
    row = line("a | b", 2.0, 1.0, threads=1)
    row["values"] = {"more": [3.0, 1.0, 3.0], "less": [1.0, 2.0, 1.0]}
    assert claims_told.seeds_of(row) == "3 seeds, 2 with this sign, 1 thread"


def test_effects_stand_on_the_way_from_chance_to_what_can_be_reached():
    lines = claims.current(claims.read_ledger())
    marks = claims_figure.marks(lines)
    assert {mark.line["verdict"] for mark in marks} <= {"replicated", "refuted", "equivalent", "undecided"}
    mark = next(mark for mark in marks if mark.line["metric"] == ["rsum"] and mark.line["data"] == "W")
    way = claims.attainable_sum(1000) - health.chance(1000)
    assert mark.effect == pytest.approx(100 * mark.line["effect"] / way)
    assert mark.detectable > (mark.high - mark.low) / 2


def test_values_by_image_widen_the_interval_of_a_line_as_the_crossed_one():
    rng = np.random.default_rng(0)
    values = 5 + 3 * rng.standard_normal((5, 1)) + 40 * rng.standard_normal((1, 300))
    parts = crossed(values)
    row = line(
        "ditm | sam", 1.0, 0.0, claim="D9", expected="+", smallest=3.0, unit="sum", health=1.0, rates={}
    )
    row["values"] = {"more": values.mean(axis=1).tolist()}
    row["images"] = [parts.images, parts.rest, 300]
    (judged,) = claims.judge_lines([row])
    assert (judged["low"], judged["high"]) == pytest.approx(crossed_interval(values), abs=1e-3)
