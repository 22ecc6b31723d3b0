"""Models on benchmarks: cells are those of single commands, nothing is encoded twice, and a suite goes on."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from benchmark_sets import cells, composed, read_suite, suite, suites
from PIL import Image

import workbench as wb
from tests.runs.test_experiment import SMALL, TINY

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
    few = composed.LOADERS | {"scenes": lambda root: SCENES(root, size=3, image_size=32)}
    monkeypatch.setattr(composed, "LOADERS", few)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCENES = composed.load_scenes


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


def test_what_is_missing_or_fails_is_said_in_its_cell_and_the_others_are_measured(here, folders):
    class Broken(Colours):
        identity = ""

        def encode_text(self, texts):
            raise RuntimeError("out of ideas")

    models = [Colours(), {"model": Broken(), "name": "broken"}, "no_such_module:Model"]
    measured = suite(models, ["winoground", "cola"], "runs/s", folders=folders, rounds=0)
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
