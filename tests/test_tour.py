"""The tour: every stop runs, one page shows it, a failure is named; once for real, with the numbers that were
promised."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from workbench.execution.notebook import Outcome
from workbench.execution.parameters import ParameterError
from workbench.execution.summary import describe_leader
from workbench.formatting import UNITS
from workbench.records.measurement import unit_of
from workbench.runs import Config, compare, open_runs
from workbench.runs import store as runs
from workbench.runs.train import train
from workbench.tour import PAGE, STOPS, TRAINED, Stop, TourResult, render, tour

TRAIN = """
import plotly.graph_objects as go
go.Figure(go.Scatter(y=[1, 2, 3]), layout={"title": {"text": "curves of " + objective}}).show()
metrics = {"rsum": 3 + 2 / seed, "t2i/R@1": 0.5}
contracts = {"rsum": {"low": 0.4, "high": 0.6}}
store.publish(out, {"objective": objective, "metrics": metrics, "contracts": contracts})
"""


def _notebook(path: Path, source: str) -> str:
    book = nbformat.v4.new_notebook()
    parameters = (
        'objective: str = "none"  # name\nseed: int = 1  # seed\nruns: list = []  # models\n'
        'out: str = ""  # run folder'
    )
    book.cells = [
        nbformat.v4.new_code_cell(text) for text in ("from workbench.runs import store", parameters, source)
    ]
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, path)
    return str(path)


def _stop(folder: Path, name: str, source: str = TRAIN, **options: object) -> Stop:
    return Stop(name, _notebook(folder / f"{name}.ipynb", source), f"{name} says", **options)


@pytest.mark.slow
def test_a_failed_stop_is_named_on_the_page_and_by_the_exit_code(tmp_path: Path) -> None:
    said: list[str] = []
    model = "assert store.read(runs[0]).results['objective'] == 'vsepp'; store.publish(out, {})"
    stops = (
        _stop(tmp_path, "train-vsepp", parameters={"objective": "vsepp"}),
        _stop(tmp_path, "train-ditm", parameters={"objective": "ditm", "seed": 0}),
        _stop(tmp_path, "after", model, models_of=("train-vsepp",)),
    )
    result = tour(tmp_path / "runs", say=said.append, stops=stops)

    assert result.stops == {"train-vsepp": "ok", "train-ditm": "failed:4", "after": "ok"}
    assert result.exit_code == 1
    page = result.index.read_text(encoding="utf-8")
    assert "1 of 3 notebooks failed" in page
    assert page.count("cell 4: ZeroDivisionError: division by zero") == 2
    assert "curves of vsepp" in page
    assert re.search(r"<td[^>]*>500.0 \(40.0 to 60.0\)", page)
    begun = ["1/3 train-vsepp", "2/3 train-ditm", "3/3 after"]
    assert [line.partition(":")[0] for line in said if "/3 " in line] == begun
    ended = {name: word for name, word, *_ in (line.split() for line in said if "/3 " not in line)}
    assert ended == {"train-vsepp:": "ok", "train-ditm:": "failed:4", "after:": "ok"}
    # what needs a model begins when it is there
    assert said.index("3/3 after: after says") > min(said.index(line) for line in said if "vsepp: ok" in line)
    page = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    for link in re.findall(r'href="([^"#]+)', page):
        assert (result.index.parent / link).exists(), link


def test_a_tour_that_cannot_be_run_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no parameter 'epoch'"):
        tour(tmp_path / "runs", stops=(_stop(tmp_path, "train", parameters={"epoch": 1}),))
    with pytest.raises(FileNotFoundError, match=r"no notebook .98_none."):
        tour(tmp_path / "runs", stops=(Stop("none", "98_none", ""),))
    assert not (tmp_path / "runs").exists()


def _ended(folder: Path, stop: Stop, results: dict[str, object]) -> Outcome:
    runs.write_results(folder / stop.name, results)
    return Outcome(folder / stop.name, "ok", 0, 1.0)


def test_the_table_of_the_tour_names_the_model_that_a_mark_compares_with(tmp_path: Path) -> None:
    names, verdicts = ("A", "B", "C"), {"B": "worse", "C": "undecided"}
    contract = {"low": 0.1, "high": 0.2, "face": "sum", "queries": 9}
    stops = [Stop(name, "03_train", "", title=name) for name in names]
    ended = [
        _ended(tmp_path, stop, {"metrics": {"rsum": 2.0}, "contracts": {"rsum": contract}}) for stop in stops
    ]
    keys = [f"{name}: {key}" for name in names for key in ("rsum", "exact:i2t/map_at_r")]
    differences = {
        name: {"key": "rsum", "run": name, "against": "A", "verdict": verdict}
        for name, verdict in verdicts.items()
    }
    compared = {
        "models": names,
        "metrics": dict.fromkeys(keys, 0.5),
        "contracts": dict.fromkeys(keys, contract),
        "differences": differences,
    }
    stops.append(Stop("compare", "07_compare", ""))
    ended.append(_ended(tmp_path, stops[-1], compared))
    table = render(stops, ended, 1.0).partition("<tbody>")[2].partition("</tbody>")[0]
    notes = re.findall(r"<small>9 queries(.*?)</small>", table)
    assert notes == ["", "; ▼ worse than A", "; ? undecided against A"]


@pytest.mark.slow
def test_the_tour_runs_every_notebook_for_every_objective(real_tour: TourResult) -> None:
    assert real_tour.exit_code == 0
    assert set(real_tour.stops.values()) == {"ok"}
    assert list(real_tour.stops) == [stop.name for stop in STOPS]
    page = real_tour.index.read_text(encoding="utf-8")
    assert page.count('class="figure"') >= len(STOPS)
    assert page.count('class="finding"') == len(STOPS)


@pytest.mark.slow
def test_what_each_notebook_says_first_holds_in_the_tour(real_tour: TourResult) -> None:
    found = {name[:2]: runs.read(real_tour.index.parent / name).results for name in real_tour.stops}
    metrics = {number: results["metrics"] for number, results in found.items()}
    assert (
        metrics["01"]["tau/printed"] < 0 < min(metrics["01"][f"tau/{name}"] for name in ("raw_sum", "l2_sum"))
    )
    assert min(value for key, value in metrics["02"].items() if key.startswith("F1")) > 0.95
    assert max(value for key, value in metrics["02"].items() if "counterfactual" in key) < 0.75
    sums, truths = (
        [metrics["07"][f"{name}: {key}"] for name in found["07"]["models"]]
        for key in ("rsum", "exact:i2t/map_at_r")
    )
    assert sums[2] < min(sums[:2])
    assert max(truths[:2]) < 0.5 < truths[2]
    assert min(value for key, value in metrics["04"].items() if key.startswith("gap_accuracy")) > 0.8
    assert metrics["05"]["chains:d_corr_radius"] > 0.9
    answered = found["05"]["texts_answered@5"]
    assert answered["own"][0] < 0.5 < answered["exact"][0]
    # one model shows the image among its first five, another has it far below
    assert min(metrics["06"].values()) <= 5 < 10 < max(metrics["06"].values())
    order = found["08"]["orders"]
    assert order["i2t/R@1"]["tau"] == -1 < order["pooled:i2t/map_at_r"]["tau"]
    wrong = [runs.read(real_tour.index.parent / name).results["metrics"] for name in TRAINED]
    assert min(of["exact:t2i/false_negatives"] for of in wrong) > 0.5


@pytest.mark.slow
def test_training_on_the_tour_is_better_than_the_model_it_starts_from(real_tour: TourResult) -> None:
    """An optimiser that does nothing leaves the random heads that a run of no epochs has."""
    opened = open_runs([str(real_tour.index.parent / name) for name in TRAINED])
    start = train(Config(**{**opened[0].config, "epochs": 0}), progress=False)
    _, differences = compare.table([replace(start, name="start"), *opened], ["exact:t2i/map_at_r"])
    assert differences["verdict"].tolist() == ["better"] * len(TRAINED)
    assert differences["low"].min() > 0.1
    _, nothing = compare.table([opened[0], replace(opened[0], name="unchanged")], ["exact:t2i/map_at_r"])
    assert nothing["verdict"].tolist() == ["no difference worth noting"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_the_tours_numbers_are_over_the_whole_test_split(real_tour: TourResult, name: str) -> None:
    results = runs.read(real_tour.index.parent / name).results
    assert results["split"]["images"] == 1000
    assert results["contracts"]["exact:t2i/true@1"]["queries"] == 5000
    epochs = [row["epoch"] for row in results["history"]]
    assert epochs == list(range(len(epochs)))
    assert len(epochs) > 2


@pytest.mark.slow
def test_every_number_of_every_stop_says_how_it_is_shown(real_tour: TourResult) -> None:
    for name in real_tour.stops:
        results = runs.read(real_tour.index.parent / name).results
        for label, value in results["metrics"].items():
            assert results["contracts"][label]["face"] in UNITS, (name, label)
            assert unit_of(label, results["contracts"][label]) != "share" or -1 <= value <= 1, (name, label)


@pytest.mark.slow
def test_headline_numbers_differ_beyond_chance_and_the_page_says_who_wins_by_which(
    real_tour: TourResult,
) -> None:
    results = runs.read(real_tour.index.parent / "07_compare").results
    assert results["models"] == [stop.title for stop in STOPS if stop.name in TRAINED]
    apart = {row["key"] for row in results["differences"].values() if row["verdict"] in ("better", "worse")}
    assert len(apart & PAGE["rows"].keys()) >= 2
    page = html.unescape(real_tour.index.read_text(encoding="utf-8"))
    assert page.count(describe_leader(results)) == 1
