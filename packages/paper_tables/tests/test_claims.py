"""Claims name every table, verdicts follow from values, and the page says what the ledger holds."""

import json
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paper_tables import (
    claims,
    claims_page,
    claims_told,
    claims_words,
    probes,
    recorded,
    table,
    trained,
    untrained,
)
from typer.testing import CliRunner

from tools import claims_by_image
from workbench import data
from workbench.cli import app
from workbench.execution import grid, library
from workbench.runs import store

ROOT = Path(__file__).parents[3]


def test_every_table_is_named_and_every_arm_is_one_of_its_grid() -> None:
    every = claims.load_claims()
    assert len(every) >= 70
    tables = chain.from_iterable(claim.tables for claim in every.values())
    assert set(tables) == {row["table"] for row in table.list_tables()}
    read_grid = cache(lambda name: grid.read_grid(library.find_file(name, "grid")))
    for claim in every.values():
        assert claim.arms or claim.recorded or claim.text or claim.models, claim.id
        for name, label in chain.from_iterable(claim.contrasts):
            assert label in read_grid(name)["arms"], claim.id


def test_verdicts_of_the_ledger_follow_from_its_values_and_these_from_the_records() -> None:
    lines = claims.current(claims.read_ledger())
    bare = [unjudged(line) for line in lines]
    assert claims.judge_lines(bare) == lines
    trained = [line for line in lines if line["judge"] != "no training" and "budget" not in line]
    from_tables = {question(line): line for line in recorded.lines_from_recorded()}
    assert len(from_tables) == len(trained) >= 40
    for line in trained:
        again = from_tables[question(line)]
        assert again == {name: line[name] for name in again}


def unjudged(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ("verdict", "effect", "low", "high")}


def question(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in claims.QUESTION)


def test_every_line_of_trained_runs_has_its_threads_and_a_claim_is_trained_with_as_many() -> None:
    lines = [line for line in claims.read_ledger() if "captions_per_image" not in line["source"]]
    assert {line["threads"] for line in lines} == {claims.RECORDED_THREADS}
    budgets = [claims.budget_of_data(where) for where in "WFH"]
    assert {settings["threads"] for settings in budgets} == {claims.RECORDED_THREADS}
    grids = (
        grid.read_grid(library.find_file(name, "grid"))
        for name in (*claims.TABLES["W"][:2], *claims.TABLES["F"])
    )
    assert {described["fixed"]["threads"] for described in grids} == {claims.RECORDED_THREADS}


def test_verdicts_of_trained_arms_follow_from_values_by_seed_and_image() -> None:
    lines, by_image = claims.current(claims.read_ledger()), claims_by_image.read()
    again = []
    for line in lines:
        values = line["values"]
        if claims_by_image.has_rows(line):
            values = claims_by_image.values_of(by_image, line)
            assert values.keys() == line["values"].keys(), (line["claim"], "python -m tools.claims_by_image")
            for side, by_seed in values.items():
                scale = 10 if line["unit"] in claims.SCALE else 1000
                assert np.allclose(by_seed, line["values"][side], atol=0.2 / scale), line["claim"]
        again.append({**line, "values": values})
    assert [line["verdict"] for line in claims.judge_lines(again)] == [line["verdict"] for line in lines]


def test_packed_values_keep_their_mean(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((2, 500)) * [[6.0], [1.0]]
    file = tmp_path / "a.npz"
    claims_by_image.write(
        {f"row {n}": claims_by_image.Row.of(numbers) for n, numbers in enumerate(values)}, file
    )
    for row, numbers in zip(claims_by_image.read(file).values(), values, strict=True):
        assert np.abs(row.values - numbers).max() <= np.ptp(numbers) / 255
        assert abs(row.values.mean() - numbers.mean()) <= np.ptp(numbers) / 255 / 500 + 1e-12


def test_the_ledger_grows_and_nothing_in_it_changes(tmp_path: Path) -> None:
    path, from_tables = tmp_path / "ledger.jsonl", recorded.lines_from_recorded()
    assert claims.record_lines(from_tables, "day 1", path) == len(from_tables)
    before = path.read_text()
    assert claims.record_lines(from_tables, "day 2", path) == 0
    first = {**from_tables[0], "values": {"more": [409.0, 409.1, 409.2], "less": [401.0, 401.1, 401.0]}}
    assert claims.record_lines([first], "day 3", path) >= 1
    assert path.read_text().startswith(before)
    last = claims.current(claims.read_ledger(path))[0]
    assert (last["effect"], last["verdict"]) == (pytest.approx(8.0667, abs=1e-4), "replicated")


def test_the_page_and_the_words_are_those_of_the_ledger(tmp_path: Path) -> None:
    lines = claims.current(claims.read_ledger())
    result = CliRunner().invoke(
        app, ["claims", "report", "--out", f"{tmp_path}/a.html", "--docs", f"{tmp_path}"]
    )
    assert result.exit_code == 0
    for name in ("claims.md", "claims_limits.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, "run python -m tools.numbers"
    central = claims_words.central_sentences(lines)
    assert f"<!-- recorded: claims -->\n{central}\n<!-- end -->" in (ROOT / "README.md").read_text("utf-8")
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert all(f">{name}<" in html for name in claims.load_claims())
    verdicts = claims_page.lines_by_question(lines)
    waiting = {claim.id for claim, _ in claims_page.waiting_claims(lines)}
    assert html.count('data-id="D9"') == sum(key[0] == "D9" for key in verdicts) + ("D9" in waiting)
    judged = [line for line in lines if line["judge"] == "labels"]
    replicated = [line["claim"] for line in judged if line["verdict"] == "replicated"]
    assert claims_page.tally_sentence(lines) in html
    rows = claims_page.page_columns(lines)
    assert set(rows["claim"]) == {line["claim"] for line in lines}
    assert not any(map(len, claims_page.page_columns([]).values()))
    counts = claims_page.tally_columns(lines)
    assert (counts["paper"][0], counts["judged"][0]) == ("all", claims_page.JUDGES["labels"])
    by_labels = [row for row, judge in enumerate(counts["judged"]) if judge == claims_page.JUDGES["labels"]]
    every = [int(counts["replicated"][row]) for row in by_labels if counts["paper"][row] == "all"]
    assert sum(every) == len(replicated)
    result = CliRunner().invoke(app, ["claims", "show", "D9", "--json"])
    assert {line["claim"] for line in json.loads(result.output)["ledger"]} == {"D9"}
    assert CliRunner().invoke(app, ["claims", "show", "Z1"]).exit_code == 2


def test_the_readme_counts_a_claim_once_and_its_limits_both_judges() -> None:
    values = {"more": [6.0, 6.0], "less": [0.0, 0.0]}
    line = {
        "claim": "D2",
        "data": "W",
        "contrast": "a | b",
        "judge": "labels",
        "unit": "sum",
        "smallest": 3.0,
        "verdict": "replicated",
        "effect": 6.0,
        "low": 5.0,
        "high": 7.0,
        "printed": None,
        "p_holm": 0.01,
        "expected": "+",
        "metric": ["rsum"],
        "values": values,
    }
    by_truth = {"judge": "truth", "metric": claims.find_claim("D2").truth}
    truth = {**line, **by_truth, "verdict": "refuted", "effect": -9.0}
    other = {**line, "claim": "D8"}
    undecided = {**line, "claim": "D9", "verdict": "undecided", "effect": 99.0}
    counted = " ".join(claims_words.central_sentences([line, truth, other, undecided]).split())
    outcomes = "1 held in every conclusive test, 0 in none and 1 in some; for 1 no test was conclusive."
    assert counted.partition(". ")[0].endswith("none was tried yet in tests that were stated beforehand")
    assert f"3 were tried in exploratory tests, which nobody stated beforehand: {outcomes}" in counted
    stated = [{**row, "asked": "0"} for row in (line, truth, other, undecided)]
    again = " ".join(claims_words.central_sentences([*stated, other]).split())
    assert f"3 were tried in tests that were stated beforehand: {outcomes}" in again
    assert "1 were tried in exploratory tests" in again
    recorded = [{**one, "contrast": "ditm | ditm - ordering", "day": "day 1"} for one in (line, truth)]
    assert (
        "they decide differently: 0 stated beforehand, 1 exploratory"
        in claims_words.pages(recorded)["claims_limits.md"]
    )


@pytest.mark.slow
def test_every_row_without_training_comes_out_again_where_its_data_are_there() -> None:
    rows = [line for line in claims.current(claims.read_ledger()) if line["judge"] == "no training"]
    measured = {question(line): line["values"] for line in untrained.measure_claims()}
    assert {line["claim"] for line in rows if line["data"] == "W"} == {"D13", "D15", "D16"}
    for line in rows:
        again = measured.get(question(line), line["values"])
        assert again.keys() == line["values"].keys()
        for side, values in line["values"].items():
            assert np.allclose(again[side], values, atol=1e-3), line["claim"]


def test_claims_without_training_on_the_embedded_world() -> None:
    known = {(line["claim"], line["data"], line["contrast"]): line["values"] for line in claims.read_ledger()}
    split = data.load("scenes", split="test", texts="chains")
    for reading, values in untrained.levels(split):
        assert np.allclose(values["more"], known["D13", "W", reading]["more"], atol=1e-3)


def test_arms_are_trained_once_and_judged_by_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"train_images": 20, "val_images": 10, "test_images": 10, "epochs": 1}
    monkeypatch.setattr(claims, "budget_of_data", lambda where: small)
    chosen = trained.trainable_claims(["D1", "D2"], "W")
    jobs = trained.plan(chosen, "W", 2, tmp_path, rates=True)
    # three arms, of which both claims ask one, and the reference, with two seeds and two more rates
    assert len({job.folder for job in jobs.values()}) == len(jobs) == 4 * 4
    assert "16 remain" in trained.describe_cost(jobs)
    of_d1 = trained.plan(trained.trainable_claims(["D1"], "W"), "W", 2, tmp_path)
    printed: list[str] = []
    for _ in range(2):  # the second time nothing is left
        assert trained.train_all(of_d1, tmp_path, "local", printed.append) == []
        assert len(printed) == 6
    assert "6 are there, 10 remain" in trained.describe_cost(jobs)
    named = trained.folders(jobs)
    assert sum(line.endswith("(not there)") for line in named) == 10
    judged = claims.judge_lines(trained.lines_of_contrasts(chosen, "W", jobs))
    assert [(line["claim"], line["judge"]) for line in judged] == [("D1", "labels"), ("D1", "truth")]
    arms = claims.find_claim("D1").contrasts[0]
    folders = {}
    for name, arm in zip(claims_told._arm_names(judged[0]["contrast"]), arms, strict=True):
        for seed in (0, 1):
            folders[f"{name}, seed {seed}"] = f"runs/claims/{of_d1[arm, seed, 1.0].folder.name}"
    assert claims_told.folders_of(judged[0]) == folders
    for line, keys in zip(judged, claims.find_claim("D1").keys.values(), strict=True):
        for side, arm in zip(line["values"].values(), arms, strict=True):
            for seed, value in enumerate(side):
                metrics = store.read(jobs[arm, seed, 1.0].folder).results["metrics"]
                assert value == pytest.approx(100 * np.mean([metrics[key] for key in keys]), abs=1e-4)
    with pytest.raises(ValueError, match="D7 has no training"):
        trained.trainable_claims(["D7"], "W")


def test_one_arm_stands_against_a_bound_and_many_by_how_far_they_are_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"train_images": 20, "val_images": 10, "test_images": 10, "epochs": 1}
    monkeypatch.setattr(claims, "budget_of_data", lambda where: small)
    spread, alone = trained.trainable_claims(["S11"], "W")[0], replace(claims.find_claim("S10"), bound=0.5)
    jobs = trained.plan([spread], "W", 2, tmp_path)
    assert trained.train_all(jobs, tmp_path, "local", str) == []
    arms = [store.read(jobs[arm, 0, 1.0].folder) for arm in spread.contrasts[0]]
    line, first, *_ = trained.lines_of_contrasts([spread, alone], "W", jobs)
    for side, name in (("more", "share of 30"), ("less", "share of 1")):
        apart = np.std([100 * np.nanmean(probes.probe_values(run, name)) for run in arms], ddof=1)
        assert line["values"][side][0] == pytest.approx(apart, abs=1e-4)
    assert (line["judge"], first["contrast"]) == ("neither", "InfoNCE")
    assert first["values"]["more"][0] == pytest.approx(
        100 * np.nanmean(probes.probe_values(arms[0], "growth of share")), abs=1e-4
    )
    assert first["values"]["less"] == [50.0, 50.0]  # in points, as a share is


def test_a_verdict_that_turns_at_another_rate_is_undecided() -> None:
    values = {"more": [409.0, 409.1, 409.2], "less": [401.0, 401.1, 401.0]}
    rates = {"0.5": {"more": [350.0], "less": [349.0]}, "2": {"more": [420.0], "less": [421.0]}}
    line = {
        "claim": "D1",
        "data": "W",
        "contrast": "ditm | ditm - adaptive margin",
        "metric": ["rsum"],
        "judge": "labels",
        "expected": "+",
        "smallest": 3.0,
        "unit": "sum",
        "printed": 0.6,
        "chance": 6.4,
        "values": values,
        "rates": rates,
    }
    assert claims.judge_lines([line])[0]["verdict"] == "undecided"
    assert claims.judge_lines([{**line, "rates": {}}])[0]["verdict"] == "replicated"
    # where no effect is expected, an effect refutes
    assert claims.judge_lines([{**line, "rates": {}, "expected": "0"}])[0]["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("verdict", "low", "high", "p_holm", "reason"),
    [
        ("replicated", 4.0, 9.0, 0.01, ""),
        ("refuted", -9.0, -4.0, 0.01, "goes the other way"),
        (
            "equivalent",
            -1.0,
            2.0,
            0.01,
            "less than 3.0 points of 600, not seen at this size",
        ),
        ("undecided", 1.0, 1.0, 1.0, "all the same, so that there is no test"),
        ("undecided", 4.0, 9.0, 0.01, "turns around at another learning rate"),
        ("undecided", 4.0, 9.0, 0.2, "brackets exclude zero, but Holm's p is 0.200"),
        ("undecided", -1.0, 2.0, 0.2, "less than 3.0 points of 600, but Holm's p is 0.200"),
        ("undecided", -1.0, 4.0, 0.2, "brackets include zero and +3.0"),
        ("undecided", -4.0, 1.0, 0.2, "brackets include zero and -3.0"),
        ("undecided", -4.0, 4.0, 0.2, "brackets include zero, -3.0 and +3.0"),
        ("void", -4.0, 4.0, None, "an arm has not learnt"),
        ("void", 493.0, 494.0, None, "all arms are near the best value"),
    ],
)
def test_a_row_says_why_it_has_its_verdict(
    verdict: str, low: float, high: float, p_holm: float | None, reason: str
) -> None:
    measured = {"low": low, "high": high, "effect": (low + high) / 2, "p_holm": p_holm}
    claim = {"claim": "D1", "smallest": 3.0, "unit": "sum", "printed": 4.5, "expected": "+", "data": "W"}
    claim |= {"metric": ["rsum"]}
    values = {"more": [high, high], "less": [low, low]}
    line = {"verdict": verdict, **measured, **claim, "values": values}
    assert claims_told.reason_of(line) == reason


def test_arms_are_called_as_one_reads_them() -> None:
    line = {"claim": "D2", "expected": "+", "judge": "no training", "values": {"more": [1.0], "less": [0.0]}}
    for contrast, words in (
        ("ditm | ditm - ordering", "DITM minus DITM without ordering"),
        ("HARD+CON+SPEC | HARD+CON", "CORA minus CORA without specificity"),
        ("A | B | C | D", "(A minus B) minus (C minus D)"),
    ):
        assert claims_told.contrast_of({**line, "contrast": contrast}) == words
    less = {**line, "expected": "-", "contrast": "A | B", "judge": "labels", "budget": {"images": [500, 500]}}
    assert claims_told.contrast_of(less) == "B minus A, 500 images"
    assert claims_told.contrast_of({**line, "claim": "S11", "contrast": "A | B | C"}) == (
        "how far apart A, B and C are"
    )
    recorded = {**line, "judge": "truth", "data": "F", "contrast": "sam | vsepp"}
    assert claims_told.contrast_of(recorded) == "SAM minus VSE++, 3,000 images"


@pytest.mark.parametrize(
    ("labels", "truth", "words"),
    [
        ("equivalent", "refuted", "disagree"),
        ("refuted", "refuted", "agree"),
        ("undecided", "refuted", "only the truth decides"),
        ("refuted", "void", "only annotated pairs decide"),
        ("void", "undecided", "neither decides"),
    ],
)
def test_two_verdicts_go_together(labels: str, truth: str, words: str) -> None:
    assert claims_told.parting_of_judges({"verdict": labels}, {"verdict": truth}) == words


def test_the_list_of_claims_ends_with_what_its_letters_and_words_mean() -> None:
    lines = CliRunner().invoke(app, ["claims", "list"]).output.splitlines()
    legend = lines[lines.index("") :]
    for letter in claims.DATA:
        assert any(f"{letter} = " in line for line in legend)
    assert {f"{word} = {words}" for word, words in claims_told.MEANS.items()} <= set(legend)
    assert "workbench claims report" in legend[-1]
