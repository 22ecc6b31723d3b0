"""Models on benchmarks: cells are those of single commands, nothing is encoded twice, and a suite goes on."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmark_sets import cells, composed, read_suite, suite, suite_exports, suite_page, suites
from benchmark_sets.cells import leading_numbers
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from tests.runs.test_experiment import SMALL, TINY
from workbench.cli import app

LAYOUTS = Path(__file__).with_name("layouts.py")
NAMES = ("winoground", "sugarcrepe", "docci")


class Colours:
    """Vectors of images are their mean colour, those of texts their letters."""

    identity = "colours of a suite"

    def encode_image(self, images):
        return np.array([np.asarray(image.convert("RGB")).mean(axis=(0, 1)) + 1 for image in images])

    def encode_text(self, texts):
        return np.array([[len(text), text.count("e") + 1, text.count("r")] for text in texts], float)


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Data in official layouts, and a folder of classes."""
    place = tmp_path_factory.mktemp("data")
    found = importlib.util.spec_from_file_location("layouts", LAYOUTS)
    layouts = importlib.util.module_from_spec(found)
    found.loader.exec_module(layouts)
    for name in (*NAMES, "multi30k"):
        layouts.LAYOUTS[name](place / name)
    for number, colour in enumerate(("red", "green", "blue")):
        folder = place / "classes" / colour
        folder.mkdir(parents=True)
        for shade in range(4):
            pixels = [20 * shade] * 3
            pixels[number] = 250 - 30 * shade
            Image.new("RGB", (8, 8), tuple(pixels)).save(folder / f"{shade}.png")
    return {path.name: str(path) for path in place.iterdir()}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(composed, "LOADERS", FEW)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCENES = composed.load_scenes
FEW = composed.LOADERS | {"scenes": lambda root: SCENES(root, size=3, image_size=32)}


def all_kinds(folders):
    return [*NAMES, "languages:multi30k", f"classify:{folders['classes']}", "compose:scenes"]


def numbers(measured):
    table = measured.table()
    return {(row.model, row.benchmark, row.number): row.value for row in table.itertuples()}


def encoded(measured):
    return [sum(about["encoded"].values()) for about in measured.models.values()]


def test_six_benchmarks_of_all_kinds_have_the_numbers_of_single_commands(here, folders):
    measured = suite([Colours()], all_kinds(folders), "runs/s", folders=folders, rounds=20)
    assert [cell.status for cell in measured.cells] == ["ok"] * 6
    assert {cell.tab for cell in measured.cells} == set(cells.TABS) - {"retrieval"}
    values = numbers(measured)
    model = wb.open_model(Colours())
    for name in NAMES:
        single = wb.evaluate(model, {"name": name, "root": folders[name]}, rounds=0)
        assert {key: values["Colours", name, key] for key in single} == {key: single[key] for key in single}
    single = composed.evaluate_composed(model, SCENES(None, size=3, image_size=32), rounds=0)
    assert {m.label: values["Colours", "compose-scenes", m.label] for m in single} == {
        m.label: m.value for m in single
    }
    table = measured.table(every=False)
    row = table[(table["benchmark"] == "winoground") & (table["number"] == "i2t/text_score")]
    assert row["chance"].item() == pytest.approx(0.25)
    assert row["low"].item() <= row["value"].item() <= row["high"].item()
    assert row["unit"].item() == "examples"


def test_the_second_run_encodes_nothing_and_measures_nothing(here, folders, monkeypatch):
    first = suite([Colours()], all_kinds(folders), "runs/s", folders=folders, rounds=5)
    assert encoded(first)[0] > 0
    before = numbers(first)
    monkeypatch.setattr(cells.Entry, "measure", None)
    second = suite([Colours()], all_kinds(folders), "runs/s", folders=folders, rounds=5)
    assert encoded(second) == [0]
    assert numbers(second) == before


def test_another_folder_takes_all_vectors_from_the_cache(here, folders):
    first = suite([Colours()], all_kinds(folders), "runs/a", folders=folders, rounds=5)
    second = suite([Colours()], all_kinds(folders), "runs/b", folders=folders, rounds=5)
    assert encoded(second) == [0]
    for key, value in numbers(first).items():
        assert numbers(second)[key] == pytest.approx(value)
    assert second.models["Colours"].get("images_per_second") is None
    assert first.models["Colours"]["images_per_second"] > 0


def test_a_suite_that_was_killed_goes_on_and_ends_equal(here, folders, monkeypatch):
    whole = suite([Colours()], NAMES, "runs/whole", folders=folders, rounds=5)
    measure = cells.Entry.measure

    def stop(entry, *rest):
        if entry.name == NAMES[1]:
            raise KeyboardInterrupt
        measure(entry, *rest)

    monkeypatch.setattr(cells.Entry, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        suite([Colours()], NAMES, "runs/s", folders=folders, rounds=5)
    assert [cell.benchmark for cell in read_suite("runs/s").cells] == [NAMES[0]]
    calls = []
    monkeypatch.setattr(
        cells.Entry, "measure", lambda entry, *rest: [calls.append(entry.name), measure(entry, *rest)]
    )
    ended = suite([Colours()], NAMES, "runs/s", folders=folders, rounds=5)
    assert calls == list(NAMES[1:])
    assert numbers(ended) == pytest.approx(numbers(whole))


def test_what_is_missing_or_fails_is_said_in_its_cell_and_the_others_are_measured(here, folders, monkeypatch):
    class Broken(Colours):
        identity = ""

        def encode_text(self, texts):
            raise RuntimeError("out of ideas")

    read, identity = [], cells.Loaded.identity
    monkeypatch.setattr(cells.Loaded, "identity", lambda data: read.append(data.tab) or identity(data))
    models = [Colours(), {"model": Broken(), "name": "broken"}, "no_such_module:Model"]
    measured = suite(models, ["winoground", "cola"], "runs/s", folders=folders, rounds=0)
    assert len(read) == 1
    by_name = {(cell.model, cell.benchmark): cell for cell in measured.cells}
    assert by_name["Colours", "winoground"].status == "ok"
    assert by_name["Colours", "cola"].status == "missing"
    assert "https://github.com/arijitray1993/COLA" in by_name["Colours", "cola"].error
    assert by_name["broken", "winoground"].status == "failed"
    assert "out of ideas" in by_name["broken", "winoground"].error
    assert "no_such_module" in by_name["no_such_module:Model", "winoground"].error
    assert "1 of 6 cells" in measured.summary()


def test_a_cell_is_measured_again_when_its_data_or_its_rounds_change(here, folders, tmp_path):
    place = tmp_path / "photos"
    place.mkdir()
    for number in range(3):
        Image.new("RGB", (8, 8), (80 * number, 5, 9)).save(place / f"{number}.png")
    (place / "captions.csv").write_text("file_name,caption\n0.png,a\n1.png,bee\n2.png,creek")
    first = suite([Colours()], [str(place)], "runs/s", rounds=0).table()
    assert first.loc[first["number"] == "t2i/R@1", "queries"].item() == 3
    with (place / "captions.csv").open("a") as file:
        file.write("\n2.png,a river")
    second = suite([Colours()], [str(place)], "runs/s", rounds=0).table()
    assert second.loc[second["number"] == "t2i/R@1", "queries"].item() == 4
    third = suite([Colours()], [str(place)], "runs/s", rounds=7)
    assert third.table()["low"].notna().any()


def test_a_damaged_cell_is_named_and_measured_again(here, folders):
    first = suite([Colours()], ["winoground"], "runs/s", folders=folders, rounds=0)
    before = numbers(first)
    (first.cells[0].folder / "cell.json").write_text("{")
    with pytest.raises(ValueError, match=r"cell\.json"):
        read_suite("runs/s")
    assert numbers(suite([Colours()], ["winoground"], "runs/s", folders=folders, rounds=0)) == before


@pytest.mark.parametrize(
    ("models", "benchmarks", "kind", "words"),
    [
        ([], ["winoground"], ValueError, "models"),
        (["a/x", "b/x"], ["winoground"], ValueError, "'x'"),
        (["x"], ["winograund"], KeyError, "winoground"),
        (["x"], ["compose:cirrr"], KeyError, "cirr"),
        (["x"], ["languages:winoground"], KeyError, "multi30k"),
        (["x"], [{"kind": "classify", "folder": "f", "template": "photo"}], TypeError, "templates"),
        ([{"model": "x", "pretraind": "y"}], ["winoground"], TypeError, "pretrained"),
    ],
)
def test_words_that_name_nothing_are_refused_before_anything_runs(here, models, benchmarks, kind, words):
    with pytest.raises(kind, match=words):
        suite(models, benchmarks, "runs/s")
    assert not Path("runs/s").exists()


class Letters(Colours):
    """Texts are their first letters, so that it is another model than ``Colours``."""

    identity = "letters of a suite"

    def encode_text(self, texts):
        return np.array([[ord(text[0]), ord(text[-1]), len(text) % 7] for text in texts], float)


@pytest.fixture(scope="module")
def measured(tmp_path_factory, folders):
    place = tmp_path_factory.mktemp("suite")
    models = [Colours(), Letters(), "no_such_module:Model"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composed, "LOADERS", FEW)
        patch.chdir(place)
        yield suite(models, [*all_kinds(folders), "cola"], place / "s", folders=folders, rounds=20)


def read(page):
    text = page.read_text(encoding="utf-8")
    return text, json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_has_a_tab_a_task_and_a_contract_for_each_number(measured):
    text, data = read(suite_page.write_page(measured))
    for tab in ("compositional", "languages", "long texts", "classification", "composed", "two models"):
        assert f">{tab}</button>" in text
    assert ">retrieval</button>" not in text
    shown = data["cells"]["Colours--winoground/i2t/text_score"]
    assert shown["facts"]["chance"] == "25.0"
    assert shown["facts"]["a resample draws"] == "examples"
    assert shown["commands"] == [
        "workbench show s/Colours--winoground --all",
        "workbench explore Colours--winoground --select i2t/text_score",
    ]
    composed_number = data["cells"]["Colours--compose-scenes/R@1[sum]"]
    assert composed_number["commands"] == ["workbench show s/Colours--compose-scenes --all"]
    assert 'href="Colours--winoground/"' in text
    assert "https://github.com/arijitray1993/COLA" in text
    assert "no_such_module" in text
    assert not re.search(r'(src|href)="http', text)


def test_two_models_are_compared_as_compare_does_and_the_other_way_round(measured):
    _, data = read(suite_page.write_page(measured))
    rows = {(*row["models"], row["benchmark"], row["number"]): row for row in data["differences"]}
    runs = [measured.folder / f"{name}--docci" for name in ("Colours", "Letters")]
    labels = leading_numbers(list(measured.cells[2].results()["metrics"]), "long texts")
    compared = wb.compare(*runs, keys=labels).differences
    for difference in compared.to_dict("records"):
        row = rows["Letters", "Colours", "docci", difference["key"]]
        back = rows["Colours", "Letters", "docci", difference["key"]]
        assert row["values"] == back["values"][::-1]
        value = float(row["difference"].split(" ")[0].replace("−", "-"))
        scale = 100
        assert value == pytest.approx(scale * difference["value"], abs=0.05)
        assert float(back["difference"].split(" ")[0].replace("−", "-")) == pytest.approx(-value, abs=0.05)
    benchmarks = {row["benchmark"] for row in data["differences"]}
    assert benchmarks == {
        "winoground",
        "sugarcrepe",
        "docci",
        "languages-multi30k",
        "classify-classes",
        "compose-scenes",
    }


def test_what_was_compared_is_kept_until_a_cell_changes(measured, monkeypatch):
    first = suite_page.compare_models(measured)
    monkeypatch.setattr(suite_page, "paired_differences_of", None)
    assert suite_page.compare_models(measured) == first
    monkeypatch.setattr(suite_page, "checksum", lambda file: str(file))
    with pytest.raises(TypeError):
        suite_page.compare_models(measured)


def test_the_command_measures_writes_the_page_and_says_by_its_exit_code_what_is_missing(here, folders):
    (here / "colours.py").write_text(
        "import numpy as np\nclass A:\n    identity = 'a'\n"
        "    def encode_image(self, images):\n        return np.eye(len(images), 3) + .1\n"
        "    def encode_text(self, texts):\n        return np.eye(len(texts), 3) + .2\n"
    )
    file = here / "suite.yaml"
    file.write_text(
        "models: [{model: 'colours:A', name: a}]\n"
        f"benchmarks: [winoground]\nfolders: {{winoground: {folders['winoground']}}}\nrounds: 0\n"
    )
    run = lambda *words: CliRunner().invoke(app, ["suite", *words, "-q"])  # noqa: E731
    ended = run("--file", "suite.yaml", "--out", "runs/s")
    assert ended.exit_code == 0, ended.output
    assert (here / "runs/s/suite.html").is_file()
    ended = run("cola", "--file", "suite.yaml", "--out", "runs/s")
    assert ended.exit_code == 3
    assert "https://github.com/arijitray1993/COLA" in ended.output
    again = run("--out", "runs/s", "--json")
    records = json.loads(again.stdout)
    assert {record["benchmark"] for record in records} == {"winoground", "cola"}
    file.write_text("model: [a]")
    refused = run("--file", "suite.yaml")
    assert refused.exit_code == 2
    assert "models" in refused.output


def test_mteb_reads_the_results_with_its_own_validator(measured):
    results = pytest.importorskip("mteb.results")
    files = [file for file in suite_exports.write_all(measured) if "/mteb/" in str(file)]
    assert len(files) == 12
    read = {}
    for file in files:
        result = results.TaskResult.from_disk(file)
        read[file.parts[-3], result.task_name] = result
    values = numbers(measured)
    winoground = read["Colours", "winoground"].scores["test"][0]
    assert winoground["main_score"] == values["Colours", "winoground", "group_score"]
    assert all(np.isfinite(result.get_score()) for result in read.values())
    assert read["Colours", "winoground"].get_score() == winoground["main_score"]
    several = read["Letters", "languages-multi30k"]
    languages = {scores["hf_subset"]: scores for scores in several.scores["test"]}
    assert languages["de"]["languages"] == ["deu-Latn"]
    assert languages["de"]["main_score"] == values["Letters", "languages-multi30k", "i2t/R@1[de]"]
    assert several.get_score(languages=["deu"]) == languages["de"]["main_score"]


def test_results_have_the_fields_that_mteb_asks_for(measured):
    for cell in measured.cells:
        if cell.status == "ok":
            result = suite_exports.mteb_result(cell)
            assert json.loads(json.dumps(result)) == result
            assert {"dataset_revision", "task_name", "mteb_version", "evaluation_time"} < result.keys()
            for scores in result["scores"]["test"]:
                assert scores["main_score"] == scores[scores["main_score_name"]]
                assert isinstance(scores["hf_subset"], str)
                assert isinstance(scores["languages"], list)


def test_the_hub_reads_the_card_of_a_model_with_the_numbers_of_the_page(measured):
    from huggingface_hub import ModelCard

    card = ModelCard(suite_exports.model_card(measured, "Colours"))
    by_number = {(row.dataset_name, row.metric_type): row for row in card.data.eval_results}
    row = by_number["winoground", "i2t/text_score"]
    assert row.metric_value == pytest.approx(
        100 * numbers(measured)["Colours", "winoground", "i2t/text_score"]
    )
    assert row.metric_args["chance"] == 25
    assert by_number["classify-classes", "i2t/top@1"].task_type == "zero-shot-image-classification"
    assert suite_exports.model_card(measured, "no_such_module:Model") == ""


def test_the_tables_of_csv_and_latex_hold_every_model_and_number(measured):
    suite_exports.write_all(measured)
    table = pd.read_csv(measured.folder / "suite.csv")
    assert len(table) == len(measured.table())
    text = (measured.folder / "suite.tex").read_text(encoding="utf-8")
    assert text.count(r"\toprule") == 5
    assert text.count(r"\multicolumn{2}{c}{sugarcrepe}") == 1
    assert "Letters" in text


def test_trackers_get_a_run_a_model(measured, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    suite_exports.log_to("tensorboard", measured)
    logged = EventAccumulator(str(measured.folder / "suite-Colours")).Reload()
    (event,) = logged.Scalars("docci/i2t/R_at_1")
    assert event.value == pytest.approx(numbers(measured)["Colours", "docci", "i2t/R@1"])
    with pytest.raises(ImportError, match="trackers"):
        suite_exports.log_to("no_such_tracker", measured)


@pytest.mark.slow
def test_two_models_share_a_machine_as_processes(here, folders):
    (here / "colours.py").write_text(
        "import numpy as np\n"
        "class A:\n"
        "    def encode_image(self, images):\n        return np.eye(len(images), 3) + .1\n"
        "    def encode_text(self, texts):\n        return np.eye(len(texts), 3) + .2\n"
    )
    models = [{"model": "colours:A", "name": name} for name in ("a", "b")]
    said = []
    measured = suite(
        models, ["winoground"], "runs/s", folders=folders, rounds=0, devices=["cpu", "cpu"], say=said.append
    )
    assert [cell.status for cell in measured.cells] == ["ok", "ok"]
    assert len(said) == 2


@pytest.mark.slow
def test_three_models_on_six_benchmarks_take_minutes_and_the_second_run_encodes_nothing(here, folders):
    (here / "tiny.json").write_text(json.dumps(TINY))
    image = {"name": "towers", "model": str(here / "tiny.json"), "pretrained": ""}
    config = wb.Config(**(SMALL | {"image_encoder": image, "text_encoder": "towers", "epochs": 0}))
    wb.train(config, folder="runs/mine", progress=False)
    models = ["scenes:scenes", {"model": "scenes", "random_weights": True}, "runs/mine"]
    first = suite(models, all_kinds(folders), "runs/s", folders=folders)
    assert [cell.status for cell in first.cells] == ["ok"] * 18
    before = numbers(first)
    again = suite(models, all_kinds(folders), "runs/s", folders=folders)
    assert encoded(again) == [0, 0, 0]
    other = suite(models, all_kinds(folders), "runs/other", folders=folders)
    assert encoded(other) == [0, 0, 0]
    assert numbers(again) == before
    for name in NAMES:
        single = wb.evaluate("runs/mine", {"name": name, "root": folders[name]}, rounds=0)
        values = numbers(first)
        assert {key: values["mine", name, key] for key in single} == {key: single[key] for key in single}
    assert all(about["parameters"] > 0 for about in first.models.values())
    assert suites.read_suite("runs/s").summary() == first.summary()
