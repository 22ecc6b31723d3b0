"""The leaderboard: one table a split, the best first, what is left out and why."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.io import write_json
from workbench.records import Field, Split
from workbench.runs import by_query
from workbench.runs import store as runs
from workbench.runs.about import About, write_about
from workbench.views.pages import leaderboard

SPLIT = {"name": "scenes/test", "images": 10, "captions": 50}


def make(root, name, rsum, *, status="ok", split=SPLIT, notebook="03_train", metrics=None, **facts):
    folder = root / notebook / f"20260101-000000-{name}"
    write_json(folder / runs.PARAMS, {"epochs": 1, "train_images": 100})
    metrics = {"rsum": rsum, "t2i/R@1": rsum / 10} if metrics is None else metrics
    contracts = {"rsum": {"low": rsum - 0.1, "high": rsum + 0.1}} if rsum else {}
    results = {
        "objective": "ditm",
        "seed": 0,
        "dataset": "scenes",
        "split": split,
        "metrics": metrics,
        "contracts": contracts,
    }
    runs.write_results(folder, results | facts)
    runs.write_status(folder, status)
    return folder


def rows_of(made):
    """The rows of the first table."""
    rows = made.html.read_text().split("<tbody>")[1].split("</tbody>")[0]
    # without what the pointer shows
    return re.sub(' title="[^"]*"', "", rows).split("<tr>")[1:]


def test_runs_of_one_split_stand_in_one_table_the_best_first(tmp_path):
    make(tmp_path, "aaaa0000", 2.0)
    make(tmp_path, "bbbb0000", 3.0)
    make(tmp_path, "cccc0000", 1.0, split=SPLIT | {"images": 20, "captions": 100})
    made = leaderboard.build(tmp_path)
    page, table = made.html.read_text(), pd.read_csv(made.csv)
    assert made.runs == 3
    assert page.count("<table ") == 2
    assert table["rsum"].tolist() == [3.0, 2.0, 1.0]
    assert table["rsum low"].tolist() == pytest.approx([2.9, 1.9, 0.9])
    assert 'data-order="3.0">300.0 (290.0 to 310.0)</td>' in page
    assert page.index("bbbb0000") < page.index("aaaa0000") < page.index("cccc0000")
    assert "scenes/test: 20 images, 100 captions" in page


@pytest.mark.parametrize("judge", ["exact", "eccv"])
def test_where_more_than_pairs_is_known_it_orders_the_table_and_chooses_the_reference(tmp_path, judge):
    truth = (f"{judge}:i2t/map_at_r", f"{judge}:t2i/map_at_r")
    for name, rsum, values in (("aaaa0000", 3.0, (0.2, 0.6)), ("bbbb0000", 2.0, (0.7, 0.6))):
        make(tmp_path, name, rsum, metrics={"rsum": rsum, **dict(zip(truth, values, strict=True))})
    page = leaderboard.build(tmp_path).html.read_text()
    assert page.index("bbbb0000") < page.index("<small>reference") < page.index("aaaa0000")
    # one run without it, and RSUM is all that they share
    make(tmp_path, "cccc0000", 2.5)
    page = leaderboard.build(tmp_path).html.read_text()
    assert page.index("aaaa0000") < page.index("cccc0000") < page.index("bbbb0000")


def test_a_run_without_retrieval_or_without_a_good_end_is_left_out_by_name(tmp_path):
    make(tmp_path, "aaaa0000", 2.0)
    failed = make(tmp_path, "bbbb0000", 9.0, status="failed:3")
    other = make(tmp_path, "cccc0000", 0.0, metrics={"P": 0.5}, notebook="05_hierarchy")
    made = leaderboard.build(tmp_path)
    assert made.left_out == {str(failed): "failed:3", str(other): "no number of retrieval among its results"}
    assert made.runs == 1
    assert made.html.read_text().count("is left out: ") == 2


def test_only_the_runs_of_one_notebook_and_another_place_when_asked(tmp_path):
    make(tmp_path / "runs", "aaaa0000", 2.0)
    make(tmp_path / "runs", "bbbb0000", 3.0, notebook="train")
    made = leaderboard.build(tmp_path / "runs", out=tmp_path / "public", notebook="train")
    assert (made.runs, made.html) == (1, tmp_path / "public" / "leaderboard.html")
    assert "aaaa0000" not in made.html.read_text()


def test_a_number_that_one_run_lacks_is_an_empty_cell(tmp_path):
    make(tmp_path, "aaaa0000", 2.0)
    make(tmp_path, "bbbb0000", 3.0, metrics={"rsum": 3.0})
    page = leaderboard.build(tmp_path).html.read_text()
    assert '<td dir="auto" data-order="-1000000000.0"></td>' in page


def test_a_metric_of_ones_own_is_shown_as_its_contract_says_also_as_a_mean_over_seeds(tmp_path):
    for seed, steps in enumerate((40.0, 60.0)):
        metrics, contracts = (
            {"rsum": 2.0, "steps": steps},
            {"steps": {"face": "number", "low": 1.0, "high": 80}},
        )
        facts = {"seed": seed, "contracts": contracts}
        make(tmp_path, f"{seed}aaa0000", 2.0, metrics=metrics, **facts)
    page = leaderboard.build(tmp_path).html.read_text()
    assert "40.000 (1.000 to 80.000)" in page
    assert re.search(r">50\.000 \(-\d+\.\d{3} to \d+\.\d{3}\)<", page)


def test_strings_of_a_run_are_shown_as_text_and_nothing_is_fetched(tmp_path):
    make(tmp_path, "aaaa0000", 2.0, objective="<script>alert(1)</script>", split=SPLIT | {"name": "<b>"})
    page = leaderboard.build(tmp_path).html.read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(src|href)="http', page)


def test_without_runs_the_message_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no run with numbers below .*workbench run 03_train"):
        leaderboard.build(tmp_path)


def answered(folder, hits):
    """Let a run keep values by query, ``hits`` for each of 20."""
    ids = tuple("abcdefghijklmnopqrst")
    values = dict.fromkeys(("i2t/R@1", "t2i/R@1"), np.full(20, hits))
    by_query.ByQuery(ids, ids, np.arange(20), values).write(folder)
    return folder


def notes_of(row):
    """The notes below the cells of a row that have one, without markup."""
    return re.findall("<small>(.*?)</small>", row)


def test_a_mark_names_the_run_that_it_compares_with(tmp_path):
    for name, rsum, hits in (("aaaa0000", 2.0, 0.0), ("bbbb0000", 3.0, 1.0), ("cccc0000", 2.9, 1.0)):
        folder = answered(make(tmp_path, name, rsum), hits)
        write_about(folder, About(name[0].upper()))
    first, second, third = rows_of(leaderboard.build(tmp_path))
    assert notes_of(first) == ["reference"]
    assert notes_of(second) == ["= no difference worth noting from B"]
    assert notes_of(third) == ["▼ worse than B"]
    assert "best" not in first + second + third


def test_a_number_is_shaded_where_the_reference_is_better_than_all_others(tmp_path):
    answered(make(tmp_path, "aaaa0000", 2.0), 0.0)
    answered(make(tmp_path, "bbbb0000", 3.0), 1.0)
    first, other = rows_of(leaderboard.build(tmp_path))
    assert 'class="best" data-order="0.3">30.0' in first
    assert notes_of(first) == ["reference", "▲ better than all others"]
    assert notes_of(other) == ["▼ worse than the reference"]


def test_a_number_that_is_better_than_the_reference_is_shaded_and_says_so(tmp_path):
    answered(make(tmp_path, "aaaa0000", 2.0), 1.0)
    answered(make(tmp_path, "bbbb0000", 3.0), 0.0)
    first, other = rows_of(leaderboard.build(tmp_path))
    assert notes_of(first) == ["reference"]
    assert notes_of(other) == ["▲ better than the reference"]
    assert 'class="best" data-order="0.2">20.0' in other


def test_of_runs_with_one_name_a_mark_says_that_it_means_the_reference(tmp_path):
    for name, rsum, hits in (("aaaa0000", 2.0, 0.0), ("bbbb0000", 3.0, 1.0)):
        write_about(answered(make(tmp_path, name, rsum), hits), About("CLIP"))
    first, other = rows_of(leaderboard.build(tmp_path))
    assert notes_of(first) == ["reference", "▲ better than all others"]
    assert notes_of(other) == ["▼ worse than CLIP, the reference"]


def test_a_single_run_is_no_reference(tmp_path):
    make(tmp_path, "aaaa0000", 2.0)
    (row,) = rows_of(leaderboard.build(tmp_path))
    assert notes_of(row) == []


def test_a_run_without_rsum_is_there_with_its_arm_and_what_differs(tmp_path):
    first = make(tmp_path, "aaaa0000", 2.0)
    other = make(tmp_path, "bbbb0000", 0.0, metrics={"t2i/R@1": 0.25})
    write_json(first / runs.PARAMS, {"epochs": 1, "objective": {"tau": 5}, "config": {"lr": 0.1}})
    write_json(other / runs.PARAMS, {"epochs": 1, "objective": {"tau": 6}, "config": {"lr": 0.1}})
    runs.add_arms(other, {"ditm_table5": "tau6, seed=0"})
    runs.add_arms(other, {"mine": "six"})
    made = leaderboard.build(tmp_path)
    table, page = pd.read_csv(made.csv, keep_default_na=False), made.html.read_text()
    assert table["run"].tolist() == [first.name, other.name]
    assert table["options"].tolist() == ["objective.tau=5", "objective.tau=6"]
    assert table["arm"].tolist() == ["", "ditm_table5: tau6, seed=0; mine: six"]
    assert ">objective.tau=6</td>" in page
    assert made.left_out == {}


def heads_of(made):
    """The heads of the columns of the first table."""
    page = made.html.read_text()
    return re.findall(r"<th [^>]*>(.*?)</th>", page[page.index("<thead>") : page.index("</thead>")])


def test_columns_are_the_run_its_model_its_numbers_and_what_differs_between_the_rows(tmp_path):
    folders = [make(tmp_path, "aaaa0000", 2.0), make(tmp_path, "bbbb0000", 1.0)]
    for folder, tau in zip(folders, (5, 6), strict=True):
        options = {"tau": tau, "margin": 0.1}
        write_json(folder / runs.PARAMS, {"objective": options, "seed": 0})
        write_json(folder / runs.CONFIG, {"epochs": 4, "train_images": ""})
    made = leaderboard.build(tmp_path)
    heads = heads_of(made)
    assert heads == ["run", "model", "RSUM", "R@1, text to image", "what differs"]
    assert [row.count(f">objective.tau={tau}</td>") for row, tau in zip(rows_of(made), (5, 6))] == [
        1,
        1,
    ]
    assert "options.margin" not in made.html.read_text()
    write_json(folders[1] / runs.RESULTS, runs.load(folders[1] / runs.RESULTS) | {"seed": 1})
    assert heads_of(leaderboard.build(tmp_path))[:3] == ["run", "model", "seed"]


def test_data_that_were_named_by_different_paths_are_one_table_without_a_path(tmp_path):
    content = {"checksums": {"ids": "1", "own": "2", "captions": "3"}}
    split = SPLIT | content | {"name": "photos/test"}
    for letter, name in zip("abc", ("photos", "photos/", f"{tmp_path}/photos"), strict=True):
        folder = make(tmp_path, f"{letter}aaa0000", 2.0, split=split, dataset=name)
        write_json(folder / runs.PARAMS, {"data": name, "start": f"{tmp_path}/{letter}"})
    page = leaderboard.build(tmp_path).html.read_text()
    assert page.count("<table ") == 1
    assert "photos/test: 10 images, 50 captions" in page
    assert str(tmp_path) not in page
    assert ">start=a</td>" in page


def test_other_data_of_the_same_name_and_size_have_a_table_of_their_own(tmp_path):
    for number in "12":
        split = SPLIT | {"checksums": {"ids": number, "own": "2", "captions": "3"}}
        make(tmp_path, f"{number}aaa0000", 2.0, split=split)
    assert leaderboard.build(tmp_path).html.read_text().count("<table ") == 2


def test_a_name_stands_for_the_run_with_its_tags_and_its_note_below(tmp_path):
    write_about(make(tmp_path, "aaaa0000", 2.0), About("mine", ["thesis"], "table 2"))
    make(tmp_path, "bbbb0000", 1.0)
    made = leaderboard.build(tmp_path)
    first, _ = rows_of(made)
    assert "mine" in first
    assert notes_of(first) == ["#thesis; table 2; reference"]
    assert pd.read_csv(made.csv, keep_default_na=False)["tags"].tolist() == ["thesis", ""]
    only = leaderboard.build(tmp_path, tags=["thesis"])
    assert only.runs == 1


def test_what_was_measured_on_other_data_leads_to_the_notebook_of_its_run(tmp_path):
    folder = make(tmp_path, "aaaa0000", 2.0)
    (folder / "notebook.html").write_text("")
    inside = folder / runs.EVALUATIONS / "other-test"
    for name in (runs.RESULTS, runs.PARAMS):
        found = runs.load(folder / name)
        write_json(inside / name, found | {"dataset": "other"} if name == runs.RESULTS else found)
    runs.write_status(inside, "ok")
    page = leaderboard.build(tmp_path).html.read_text()
    assert page.count(f'<a href="03_train/{folder.name}/notebook.html">') == 2


def test_runs_without_any_rsum_make_a_table_too(tmp_path):
    make(tmp_path, "aaaa0000", 0.0, metrics={"t2i/R@1": 0.25})
    assert "aaaa0000" in leaderboard.build(tmp_path).html.read_text()


def family(root, rsums):
    """Runs of one configuration over seeds, with values by query; RSUM by seed."""
    ids, own = tuple("abcdefghijklmnopqrst"), np.arange(20)
    for seed, rsum in enumerate(rsums):
        folder = make(root, f"aaaa000{seed}", rsum, seed=seed)
        write_json(folder / runs.PARAMS, {"epochs": 1, "train_images": 100, "seed": seed})
        hits = np.arange(20) < 20 * rsum / 4
        by_query.ByQuery(ids, ids, own, dict.fromkeys(("i2t/R@1", "t2i/R@1"), hits.astype(float))).write(
            folder
        )


def test_seeds_stand_under_their_mean_with_students_interval_by_hand(tmp_path):
    family(tmp_path, (1.0, 2.0, 3.0))
    make(tmp_path, "bbbb0000", 2.5, objective="vsepp")
    page = leaderboard.build(tmp_path).html.read_text()
    # 2 -+ 4.302653 * 1 / sqrt(3), in the field's hundredths; -48.4 is below what there is
    assert "200.0 (0.0 to 448.4)" in page
    # the single run is better than the mean of the seeds
    assert page.index("bbbb0000") < page.index("mean of 3 seeds")
    assert ">0, 1, 2<" in page


def test_a_run_leads_to_its_notebook(tmp_path):
    folder = make(tmp_path / "runs", "aaaa0000", 2.0)
    (folder / "notebook.html").write_text("<p>report</p>")
    page = leaderboard.build(tmp_path / "runs", out=tmp_path / "public").html.read_text()
    assert f'<a href="../runs/03_train/{folder.name}/notebook.html">{folder.name}</a>' in page


def test_evaluations_on_other_data_are_seeds_of_one_another_only_where_their_runs_are(tmp_path):
    for name, rate, seed in (("aaaa0000", 0.1, 0), ("bbbb0000", 0.1, 1), ("cccc0000", 0.2, 2)):
        folder = make(tmp_path, name, 2.0, seed=seed)
        write_json(folder / runs.PARAMS, {"lr": rate, "seed": seed})
        results = json.loads((folder / runs.RESULTS).read_text()) | {
            "dataset": "folder",
            "training": "scenes",
        }
        runs.write_results(folder / runs.EVALUATIONS / "folder", results)
    page = leaderboard.build(tmp_path).html.read_text()
    assert page.count("mean of 2 seeds") == 2
    assert "3 seeds" not in page


def test_slices_of_a_field_have_tables_with_a_column_each(tmp_path):
    rng = np.random.default_rng(0)
    own, ids = np.repeat(np.arange(20), 2), tuple(map(str, range(40)))
    place = Field.from_cells("place", [["sea", "town"][n % 2] for n in range(20)], owner="image")
    split = Split(
        "mine", ids[:20], tuple(f"a {n}" for n in ids), ids, own, lambda row: None, fields={"place": place}
    )
    good = rng.normal(size=(20, 40)) + 4 * np.eye(20)[:, own]
    bad = np.where(own % 2 == 1, rng.normal(size=(20, 40)), good)
    for name, scores in (("a", good), ("b", bad)):
        wb.evaluate(scores=scores, data=split, name=name, rounds=50).save(tmp_path / "evaluate" / name)
    page = leaderboard.build(tmp_path, by=["place"]).html.read_text()
    title = "mine: 20 images, 40 captions: R@1, text to image, by place"
    table = page.rpartition(title)[2].split("</table>")[0]
    assert "place=sea" in table
    assert table.count("worse than a") == 2  # in the town, and in the mean over places
    folder = tmp_path / "evaluate" / "a"
    assert "workbench explore a --select 't2i/R@1[place=sea]'" in html.unescape(table)
    assert "<a" not in table
    (folder / "explorer.html").write_text("")
    page = leaderboard.build(tmp_path, by=["place"]).html.read_text()
    assert page.count('href="evaluate/a/explorer.html#select=t2i%2FR%401%5Bplace%3Dsea%5D"') == 1
    with pytest.raises(KeyError, match="did you mean place"):
        leaderboard.build(tmp_path, by=["plaice"])
