"""Which lines of the ledger count, by hand, and that every correction of the first one holds."""

import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from paper_tables import (
    asked,
    claims,
    claims_figure,
    claims_told,
    claims_words,
    health,
    recorded,
    trained,
    untrained,
)

from workbench.metrics.crossed import crossed_interval, crossed_variance
from workbench.training.samplers import epoch_batches


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
    assert health.shares(lines, "vsepp") == pytest.approx([0.8, 0.5])


def test_an_arm_that_nobody_measured_has_no_health_and_texts_need_none():
    lines = [line("vsepp | infonce", 410.0, 330.0), line("a | vsepp", 1.0, 2.0, metric=["t2i/R@1"])]
    text = line("l2_sum", 1.0, judge="no training")
    shares = health.shares([*lines, text], "vsepp")
    assert np.isnan(shares[1])
    assert shares[2] is None


def test_few_steps_and_unequal_ones_do_not_count():
    def with_steps(*steps: int) -> dict[str, object]:
        return line("a | b", 1.0, 2.0, budget={"train_images": 500, "steps": list(steps)})

    assert not health.has_long_equal_arms(with_steps(27, 27))
    assert not health.has_long_equal_arms(with_steps(540, 135))
    assert health.has_long_equal_arms(with_steps(540, 540))
    assert health.has_long_equal_arms(line("vsepp | infonce", 1.0, 2.0))


def test_every_row_that_counts_is_healthy_or_void_and_none_has_few_steps():
    lines = claims.current(claims.read_ledger())
    assert all(health.has_long_equal_arms(row) for row in lines)
    for row, share in zip(lines, health.shares(lines, claims.BASELINE), strict=True):
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


def test_no_number_stands_twice_in_a_family():
    lines = [row for row in claims.current(claims.read_ledger()) if row["judge"] != "no training"]
    counts = Counter((claims.family_of(row), row["contrast"], row["unit"], *row["metric"]) for row in lines)
    assert max(counts.values()) == 1


def test_what_correlates_over_objectives_has_objectives_as_its_unit():
    lines = recorded.lines_from_recorded()
    rows = {row["claim"]: row for row in lines if row["contrast"] == "all objectives"}
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
    parts = crossed_variance(values)
    row = line(
        "ditm | sam", 1.0, 0.0, claim="D9", expected="+", smallest=3.0, unit="sum", health=1.0, rates={}
    )
    row["values"] = {"more": values.mean(axis=1).tolist()}
    row["images"] = [parts.images, parts.rest, 300]
    (judged,) = claims.judge_lines([row])
    assert (judged["low"], judged["high"]) == pytest.approx(crossed_interval(values), abs=1e-3)


def test_scarce_data_have_equal_steps_and_a_reference_with_as_little(tmp_path: Path):
    chosen = [claims.find_claim(name) for name in ("S1", "S2")]
    arms = {arm for claim in chosen for contrast in claim.contrasts for arm in contrast}
    assert len(arms) == 6
    jobs = trained.plan(chosen, "W", 1, tmp_path)
    assert len({job.steps for (arm, _, _), job in jobs.items() if arm in arms}) == 1
    assert sorted({jobs[arm, 0, 1.0].images for arm in arms}) == [40, 80, 400]
    for _, label in arms:
        assert claims.reference_label(label) == f"{label.partition(',')[0]}, VSE++"


def test_a_label_says_the_images_of_the_runs():
    about = {"claim": "S1", "expected": "+", "budget": {"train_images": 2000, "images": [40, 40]}}
    row = line("0.5 %, VSE++ + SAM | 0.5 %, VSE++", 1.0, 2.0, **about)
    assert claims_told.contrast_of(row) == "SAM on 0.5 % minus VSE++ on 0.5 %, 40 images"
    row["budget"]["images"] = [40, 400]
    assert claims_told.contrast_of(row).endswith(", 40 and 400 images")


def test_both_samplers_have_equal_steps_and_batches_of_as_many_images():
    own = np.repeat(np.arange(64), 5)
    sizes = {}
    for clusters, per_batch in ((np.arange(64) % 8, 4), (np.zeros(64, dtype=np.int64), 1)):
        how = {"size": 16, "captions_per_image": 1, "seed": 0, "number": 0}
        batches = epoch_batches(own, **how, clusters=clusters, clusters_per_batch=per_batch)
        sizes[per_batch] = [len(np.unique(own[rows])) for rows in batches]
    assert sizes[4] == sizes[1]
    for contrast in claims.find_claim("I11").contrasts:
        budgets = [claims.budget_of_arm("W", arm) for arm in contrast]
        assert budgets[0] == budgets[1]


def test_local_matching_has_four_times_the_steps_and_a_family_with_two_encoders_beside_it():
    usual = claims.budget_of_data("W")["epochs"]
    for name in ("I1", "I2", "I3", "I4", "I5", "I11", "I12"):
        contrasts = claims.find_claim(name).contrasts
        dual = [arms for arms in contrasts if arms[0][0] == "claims_dual"]
        local = [arms for arms in contrasts if arms not in dual]
        assert len(dual) == len(local)
        assert {claims.budget_of_arm("W", arm)["epochs"] for arms in local for arm in arms} == {4 * usual}
        assert {claims.budget_of_arm("W", arm)["epochs"] for arms in dual for arm in arms} == {usual}


def test_an_arm_is_measured_by_a_reference_that_has_learnt():
    def run(value: float) -> SimpleNamespace:
        return SimpleNamespace(results={"metrics": {"rsum": value}, "contracts": {"rsum": {"chance": 0.1}}})

    def health_of(reference: float, arm: float) -> dict[str, float]:
        arms = [("claims_arms", "0.5 %, VSE++ + SAM"), ("claims_arms", "0.5 %, VSE++")]
        finished = {(arms[0], 0, 1.0): run(arm), (arms[1], 0, 1.0): run(reference)}
        return trained._learned_share(arms, finished)

    assert health_of(1.1, 0.9) == {"health": 0.8}
    # one that is below three times chance says of no arm that it has learnt
    assert health_of(0.29, 0.29) == {"health": 0.0}
    assert trained._learned_share([("a", "b")], {}) == {}


def test_a_time_is_no_matter_of_having_learnt():
    assert {name for name, claim in claims.load_claims().items() if not claim.learns} == {"C16", "A12"}


def test_a_claim_whose_reading_was_chosen_on_its_data_is_asked_at_equal_length():
    current = claims.current(claims.read_ledger())
    for name in ("D13", "D15", "D16"):
        assert "chosen on these data" in claims.find_claim(name).remark
        readings = {row["contrast"] for row in current if row["claim"] == name}
        assert readings >= {f"{reading}{untrained.EQUAL_WORDS}" for reading in untrained.READINGS}


def test_at_equal_length_the_number_of_words_decides_nothing():
    captions = tuple(" ".join("abcdefgh"[: 1 + n % 4]) for n in range(1200))
    split = SimpleNamespace(captions=captions, own=np.arange(1200), image_ids=tuple(range(1200)))
    length = untrained.word_counts(captions).astype(float)
    other = np.random.default_rng(0).permutation(1200).astype(float)
    # a number that is the length alone is constant among captions of one length
    with pytest.raises(ZeroDivisionError):
        untrained._agreement_at_equal_words(split, length, other, untrained.spearman)
    # one that has the other's order within each length has correlation 1, whatever the lengths do
    values = untrained._agreement_at_equal_words(split, other - 1e4 * length, other, untrained.spearman)
    assert values == pytest.approx(np.ones(untrained.GROUPS))


def test_margins_at_equal_length_by_hand():
    split = SimpleNamespace(captions=("a", "b", "c d"))
    more = np.tile([[True, False, True]], (untrained.GROUPS, 1))
    sides = untrained._means_at_equal_words(split, np.array([1.0, 3.0, 9.0]), more, ~more)
    # two words have no caption of the second set
    assert [side.tolist() for side in sides] == [[1.0] * untrained.GROUPS, [3.0] * untrained.GROUPS]


def test_a_question_is_stated_before_it_is_answered(tmp_path: Path):
    path, chosen = tmp_path / "asked.tsv", [claims.find_claim("D1")]
    rows = asked.questions(chosen, "W")
    assert "claims state D1 --data scenes" in asked.explain_unstated(chosen, "W", set())
    assert (asked.state(rows, "day 1", path), asked.state(rows, "day 2", path)) == (1, 0)
    assert asked.explain_unstated(chosen, "W", set(asked.stated(path)["hash"])) == ""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    # outside a clone the file counts, within one its last commit
    assert asked.committed(path) == {rows[0]["hash"]}
    git("init", "--quiet")
    assert asked.committed(path) == set()
    git("add", "asked.tsv")
    git("commit", "--quiet", "-m", "stated")
    assert asked.committed(path) == {rows[0]["hash"]}


def test_another_limit_budget_or_number_of_seeds_is_another_question(monkeypatch: pytest.MonkeyPatch):
    claim = claims.find_claim("D1")
    arms = claim.contrasts[0]
    before = claims.question_hash(claim, "W", arms)
    assert claims.question_hash(replace(claim, printed=9.0, says="other words"), "W", arms) == before
    others = {claims.question_hash(replace(claim, smallest=1.0), "W", arms)}
    others.add(claims.question_hash(claim, "F", arms))
    monkeypatch.setattr(claims, "planned_seeds", lambda claim, where: 3)
    others.add(claims.question_hash(claim, "W", arms))
    assert len({before, *others}) == 4


def test_every_answer_of_a_stated_question_was_stated_and_an_old_question_counts_no_longer():
    lines, known = claims.read_ledger(), set(asked.stated()["hash"])
    assert {row["asked"] for row in lines if "asked" in row} <= known
    assert {row["hash"] for row in asked.questions(claims.load_claims().values(), "W")} <= known
    arms = claims.find_claim("D1").contrasts[0]
    about = {"claim": "D1", "metric": ["rsum"], "budget": {"steps": [540, 540], "train_images": 2000}}
    row = line(claims.contrast_name(arms), 2.0, 1.0, **about)
    assert claims.current([{**row, "asked": claims.question_hash(claims.find_claim("D1"), "W", arms)}])
    assert not claims.current([{**row, "asked": "0" * 16}])
    # nor does an answer to what nobody stated, and neither hides the answer to the question as it is
    assert not claims.current([row])
    today = {**row, "asked": claims.question_hash(claims.find_claim("D1"), "W", arms)}
    assert claims.current([today, {**row, "asked": "0" * 16}]) == [today]


def test_an_answer_waits_for_the_seeds_that_it_was_stated_with():
    assert not asked.has_its_seeds({"claim": "D1", "data": "W", "seeds": list(range(5))})
    assert asked.has_its_seeds({"claim": "D1", "data": "W", "seeds": list(range(10))})
    assert asked.has_its_seeds({"claim": "D1", "data": "F", "seeds": list(range(5))})


def test_the_page_says_how_often_a_question_was_asked_and_what_it_said():
    lines = claims.read_ledger()
    text = claims_words.pages(lines)["claims.md"]
    earlier = claims.history(lines)
    row = next(row for row in claims.current(lines) if earlier[tuple(row[name] for name in claims.QUESTION)])
    before = earlier[tuple(row[name] for name in claims.QUESTION)]
    assert f"{len(before) + 1} times, before: {', '.join(before)}" in text
    assert ", once |" in text


def test_a_claim_says_which_questions_wait_and_for_how_many_seeds():
    claim = claims.find_claim("C2")
    row = asked.questions([claim], "W")[0]
    answer = {"claim": "C2", "asked": row["hash"]}
    waiting = asked.describe_untried(claim, [])
    assert waiting == dict.fromkeys("WF", "stated, not yet tried (10 seeds)") | {
        "F": "stated, not yet tried (5 seeds)"
    }
    assert asked.describe_untried(claim, [answer])["W"] == (
        "1 of 2 contrasts stated, not yet tried (10 seeds)"
    )
    assert (
        asked.describe_untried(replace(claim, smallest=9.0), [])["W"]
        == "not stated, not yet tried (10 seeds)"
    )
    # no training, no question
    assert asked.describe_untried(claims.find_claim("D13"), []) == {}


def test_the_page_says_to_how_many_stated_questions_there_was_an_earlier_answer():
    ledger = []
    for claim, about in (("C2", {}), ("D8", {"budget": {"steps": [27, 27]}})):
        for row in asked.questions([claims.find_claim(claim)], "W"):
            answer = line(row["contrast"], 2.0, 1.0, claim=claim, day="day 2", verdict="undecided")
            answer |= {"budget": {"steps": [540, 540]}, "asked": row["hash"], "expected": "+", "unit": "sum"}
            answer |= {"smallest": 3.0, "effect": 1.0, "low": 0.0, "high": 2.0, "health": 1.0}
            earlier = {**answer, "day": "day 1", "asked": "0" * 16} | about
            # two contrasts of one claim are no earlier answers of each other
            ledger += [answer, earlier] if about else [answer]
    text = " ".join(claims_words.limits_text(ledger))
    assert "3 are answered, each with all its seeds" in text
    assert "To 1 there was an earlier answer on the same data" in text


def test_an_earlier_answer_says_whether_it_was_asked_otherwise():
    row = line("a | b", 1.0, 2.0, verdict="void", day="day 1")
    same, last = (
        {**row, "verdict": "refuted", "day": "day 2", "asked": "1"},
        {**row, "asked": "1", "day": "day 3"},
    )
    (words,) = claims.history([row, same, last]).values()
    assert words == ["void (day 1, asked otherwise)", "refuted (day 2)"]


def test_the_family_of_a_stated_question_is_all_that_are_stated():
    family = ("CORA", "W", "labels", True)
    ids = [name for name, claim in claims.load_claims().items() if name[0] == "C" and "labels" in claim.keys]
    contrasts = [
        len(claims.find_claim(name).contrasts) for name in ids if "W" in claims.find_claim(name).data
    ]
    assert claims.count_questions(family) == sum(contrasts)
    assert claims.count_questions((*family[:-1], False)) == 0
