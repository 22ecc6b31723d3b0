"""One number has one value, one interval and one face, wherever it is met."""

from __future__ import annotations

import html
import json

import nbformat
import pandas as pd
import pytest
from typer.testing import CliRunner

from workbench import formatting
from workbench.cli import app
from workbench.io import write_json
from workbench.metrics.comparison import explain_widening, state_verdict
from workbench.records.measurement import contracts_of
from workbench.runs import Config, by_query, compare, open_runs
from workbench.runs import store as runs
from workbench.runs.train import train
from workbench.tour import TRAINED
from workbench.views.pages import leaderboard
from workbench.views.plots import tables

SMALL = Config(train_images=96, val_images=24, test_images=40, epochs=3, batch_size=16, device="cpu")


# the tour's own runs are followed like two small ones; who reads the tour shares one worker
TOUR = pytest.param("tour", marks=[pytest.mark.slow, pytest.mark.xdist_group("tour")])


@pytest.fixture(scope="module", params=["small", TOUR])
def root(request, tmp_path_factory):
    """A folder of runs: two small ones, or those of the tour."""
    if request.param == "tour":
        return request.getfixturevalue("real_tour").index.parent.parent
    root = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        folder = root / "03_train" / f"20260101-00000{seed}-0000000{seed}"
        train(SMALL.replace(seed=seed), progress=False).save(folder)
        write_json(folder / runs.PARAMS, {"objective": "infonce", "epochs": 1, "train_images": 32})
        runs.write_status(folder, "ok")
    return root


def trained(root):
    """The runs that trained a model."""
    return [one for one in runs.list_runs(root) if "rsum" in one.results.get("contracts", ())]


def text(contract):
    """The face of a number with its interval, from what ``results.json`` keeps."""
    return formatting.format_interval(*(contract[name] for name in ("value", "low", "high", "face")))


def printed(root, *words):
    """What a verb prints."""
    found = CliRunner().invoke(app, [*words, "--root", str(root)], env={"COLUMNS": "300"})
    assert found.exit_code == 0, found.output
    return found.output


def contracts(root):
    return [dict(contracts_of(one.results)) for one in trained(root)]


def test_the_terminal_prints_the_value_and_the_interval_that_the_run_keeps(root):
    kept = contracts(root)[1]
    for key in compare.first_keys({"own", "exact"}):
        (line,) = [
            line
            for line in printed(root, "show", trained(root)[1].id).splitlines()
            if line.split()[:1] == [key]
        ]
        assert text(kept[key]) in line
    assert text(kept["rsum"]) in printed(root, "ls")


def test_a_diff_prints_both_values_and_the_interval_of_their_paired_difference(root):
    pair = trained(root)[:2]
    first, second = (dict(contracts_of(one.results)) for one in pair)
    names = [one.id for one in pair]
    # the interval is widened for all numbers that are compared, also for those that do not differ
    for more, family in (((), by_query.usual_numbers(first)), (("--all",), list(first))):
        lines = [line.split() for line in printed(root, "diff", *names, *more).splitlines()]
        rows = {line[0]: line for line in lines if line and line[0] in first}
        told = {one.label: one for one in by_query.paired_differences_of(*pair, family)}
        assert {"rsum"} <= told.keys() & rows.keys()
        for key, one in told.items():
            if key not in rows:
                continue
            values = [formatting.format_value(kept[key]["value"], one.face) for kept in (first, second)]
            paired = formatting.format_interval(one.value, one.low, one.high, one.face, sign=True)
            assert rows[key][1:3] == values
            verdict = state_verdict(one.verdict, "A")
            assert f"{paired} {formatting.unit_heading(one.face)} {verdict}" in " ".join(rows[key])
        as_json = json.loads(printed(root, "diff", *names, *more, "--json"))
        assert as_json["differences"] == {key: one.row() for key, one in told.items()}


def test_a_diff_and_a_comparison_have_the_same_numbers_and_intervals_and_say_how_many(root):
    pair = trained(root)[:2]
    as_json = json.loads(printed(root, "diff", *(one.id for one in pair), "--json"))["differences"]
    told = compare.compare(*(one.folder for one in pair))
    wanted = told.differences.set_index("key")[["value", "low", "high", "verdict", "comparisons"]]
    assert pd.DataFrame(as_json).T[wanted.columns].to_dict("index") == wanted.to_dict("index")
    said = explain_widening(len(wanted))
    assert f"the {len(wanted)} comparisons" in said
    assert said in repr(told)
    assert said in told._repr_html_()
    assert said in printed(root, "diff", *(one.id for one in pair))


def test_the_leaderboard_shows_them(root, tmp_path):
    made = leaderboard.build(root, out=tmp_path)
    page, table = made.html.read_text(encoding="utf-8"), pd.read_csv(made.csv)
    for kept in contracts(root):
        for key in ("rsum", "i2t/R@1", "t2i/R@1"):
            one = kept[key]
            assert formatting.format_value(one["value"], one["face"]) in page
            rows = table[[key, f"{key} low", f"{key} high"]].round(12).to_numpy().tolist()
            assert [round(one[name], 12) for name in ("value", "low", "high")] in rows


def test_the_tables_of_the_notebooks_show_them(root):
    opened = open_runs([str(one.folder) for one in trained(root)])
    numbers, _ = compare.table(opened)
    for run_, kept in zip(opened, contracts(root), strict=True):
        alone = tables.numbers({run_.name: run_.measurements}, title="03_train")
        beside = tables.numbers(
            {run_.name: numbers.loc[run_.name].to_dict("index").items()}, title="07_compare"
        )
        for key in compare.first_keys({"own", "exact"}):
            row = numbers.loc[(run_.name, key)]
            assert {name: row[name] for name in ("value", "low", "high")} == {
                name: kept[key][name] for name in ("value", "low", "high")
            }
            assert text(kept[key]) in alone
            assert text(kept[key]) in beside


def test_results_in_json_are_what_the_table_of_the_run_holds(root):
    for one in trained(root):
        values = json.loads((one.folder / runs.RESULTS).read_text())
        (opened,) = open_runs([str(one.folder)])
        assert values["metrics"].keys() == values["contracts"].keys()
        assert not any("value" in contract for contract in values["contracts"].values())
        assert opened.table()["value"].to_dict() == values["metrics"]


@pytest.mark.slow
def test_the_notebooks_of_the_tour_show_the_numbers_and_intervals_of_their_results(real_tour):
    folder = real_tour.index.parent
    names = json.loads((folder / "07_compare" / runs.RESULTS).read_text())["models"]
    by_name = {name: folder / stop for name, stop in zip(names, TRAINED, strict=True)}
    check_notebooks(by_name, folder / "07_compare")


def check_notebooks(by_name, compared):
    """Each number of a training run has the same face in its own notebook and in the comparison."""
    beside = dict(contracts_of(json.loads((compared / runs.RESULTS).read_text())))
    for name, folder in by_name.items():
        kept = dict(contracts_of(json.loads((folder / runs.RESULTS).read_text())))
        for key in compare.first_keys({"own", "exact"}):
            assert text(kept[key]) == text(beside[f"{name}: {key}"])
            for place in (folder, compared):
                assert text(kept[key]) in outputs(place), (place, key)


def outputs(folder):
    """Everything that an executed notebook shows, as text."""
    cells = nbformat.read(folder / "notebook.ipynb", 4).cells
    shown_ = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    return html.unescape("".join(str(data.get("text/html", "")) for data in shown_))
