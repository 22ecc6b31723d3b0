"""Everything has a name: names, tags and notes of runs, at the command line and in Python."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import workbench as wb
from workbench.cli import app
from workbench.execution import notebook
from workbench.runs import store as runs
from workbench.runs.about import ABOUT, About, add_about, read_about, write_about

OWN = [0, 0, 1]


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def said(*words: object) -> str:
    """The one line by which a command refuses its words."""
    done = call(*words)
    assert done.exit_code == 2, done.output
    (line,) = done.output.splitlines()
    return line


def vectors(folder: Path, seed: int) -> Path:
    """A folder with vectors of two images and three captions."""
    folder.mkdir(parents=True)
    numbers = np.random.default_rng(seed)
    np.save(folder / "images.npy", numbers.normal(size=(2, 4)))
    np.save(folder / "texts.npy", numbers.normal(size=(3, 4)))
    return folder


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with photographs and two kinds of vectors of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for name in "ab":
        Image.new("RGB", (8, 8), "red" if name == "a" else "blue").save(tmp_path / "photos" / f"{name}.png")
    rows = [("a.png", "one"), ("a.png", "two"), ("b.png", "three")]
    pd.DataFrame(rows, columns=["image", "caption"]).to_csv(tmp_path / "photos" / "captions.csv", index=False)
    vectors(tmp_path / "clip", 0)
    vectors(tmp_path / "other", 1)
    return tmp_path


def evaluate(*words: str, images: str = "clip", texts: str = "clip") -> Result:
    files = ("--images", f"{images}/images.npy", "--texts", f"{texts}/texts.npy", "--data", "photos")
    return call("evaluate", *files, "--rounds", "0", *words)


@pytest.mark.parametrize("name", ["a/b", "a\\b", "a\nb", " a", "a ", ".a", "-a", "~a", "a" * 81, "last"])
def test_a_name_is_what_a_folder_can_be_called(name: str):
    with pytest.raises(ValueError, match="the name"):
        About(name)


@pytest.mark.parametrize("tags", [["two words"], ["a,b"], [""], ["a/b"]])
def test_a_tag_is_one_word(tags: list[str]):
    with pytest.raises(ValueError, match="the tag"):
        About(tags=tags)


@pytest.mark.parametrize("wrong", [{"name": 1}, {"tags": "thesis"}, {"tags": [1]}, {"note": None}])
def test_what_is_no_text_is_refused(wrong: dict):
    with pytest.raises(TypeError):
        About(**wrong)


def test_what_is_said_of_a_run_later_goes_over_what_was_said_before(tmp_path: Path):
    add_about(tmp_path, About("first", ["a"], "note"))
    add_about(tmp_path, About("second", ["b", "a"]))
    add_about(tmp_path, About())
    assert read_about(tmp_path) == About("second", ("a", "b"), "note")
    write_about(tmp_path, About())
    assert not (tmp_path / ABOUT).exists()


def test_a_damaged_file_is_named_and_costs_its_own_run_alone(tmp_path: Path):
    good, bad = (runs.new_run("nb", {}, tmp_path) for _ in range(2))
    (bad / ABOUT).write_text('{"title": "x"}')
    statuses = {run.folder: run.status for run in runs.list_runs(tmp_path)}
    assert statuses[good] == "unfinished"
    assert statuses[bad].startswith(f"unreadable: {ABOUT}")


def test_a_name_decides_no_number_and_counts_into_no_id(photos: Path):
    assert evaluate().exit_code == 0
    assert evaluate("--name", "clip").exit_code == 0
    first, second = sorted(runs.list_runs(), key=lambda run: run.about.name)
    assert (first.id[16:24], first.params, first.results) == (second.id[16:24], second.params, second.results)
    assert (first.name, second.name) == (first.id, "clip")


def test_a_run_is_found_by_its_name_and_another_cannot_have_it(photos: Path):
    assert evaluate("--name", "clip").exit_code == 0
    assert call("show", "clip").exit_code == 0
    assert wb.open_runs(["clip"])[0].name == "clip"
    assert "is called 'clip' already" in said("train", "--name", "clip")
    assert "is called 'clip' already" in said("run", "03_train", "--name", "clip")
    taken = runs.list_runs()[0].id
    assert f"is called '{taken}' already" in evaluate("--name", taken).output
    assert len(runs.list_runs()) == 1


def test_a_name_is_of_one_result_and_of_a_new_run(photos: Path):
    assert "--name is of one result" in evaluate("--name", "x", "--data", "photos").output
    assert evaluate("--name", "clip").exit_code == 0
    assert "workbench tag RUN" in said("evaluate", "clip", "--tag", "x")


def test_tags_choose_the_runs_of_a_list_a_leaderboard_and_the_explorer(photos: Path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert evaluate("--tag", "thesis", "--tag", "final", "--note", "table 2").exit_code == 0
    assert evaluate("--tag", "thesis", images="other").exit_code == 0
    assert [len(json.loads(call("ls", "--json", *words).stdout)) for words in ((), ("--tag", "thesis"))] == [
        2,
        2,
    ]
    (one,) = json.loads(call("ls", "--tag", "thesis", "--tag", "final", "--json").stdout)
    assert one["about"] == {"name": "", "tags": ["thesis", "final"], "note": "table 2"}
    assert "thesis final" in call("ls").output
    assert json.loads(call("build", "--tag", "final", "--json").stdout)["runs"] == 1
    page = json.loads(call("explore", "--tag", "final", "--prepare", "--json").stdout)["notebook"]
    assert one["id"] in Path(page).read_text()
    assert "no run with the tag none" in said("explore", "--tag", "none", "--prepare")
    assert "not both" in said("explore", one["id"], "--tag", "final")


def test_a_finished_run_is_named_tagged_and_noted_later(photos: Path):
    assert evaluate("--tag", "first").exit_code == 0
    (run,) = runs.list_runs()
    tagged = call(
        "tag", run.id, "second", "--remove", "first", "--name", "mine", "--note", "a note", "--json"
    )
    assert json.loads(tagged.stdout) == {"name": "mine", "tags": ["second"], "note": "a note"}
    assert call("tag", "mine", "--name", "mine").exit_code == 0, "it may keep its name"
    assert all(text in call("show", "mine").output for text in ("mine", "second", "a note"))
    assert "has no tag 'secnd'; did you mean second" in said("tag", "mine", "--remove", "secnd")


def test_a_name_and_a_note_are_taken_away_by_empty_ones(photos: Path):
    assert evaluate("--name", "mine", "--tag", "first", "--note", "a note").exit_code == 0
    assert json.loads(call("tag", "mine", "--note", "", "--json").stdout)["name"] == "mine"
    emptied = json.loads(call("tag", "mine", "--name", "", "--json").stdout)
    assert emptied == {"name": "", "tags": ["first"], "note": ""}
    (run,) = runs.list_runs()
    call("tag", run.id, "--remove", "first")
    assert not (run.folder / "about.json").exists()


def test_vectors_are_called_after_both_files_which_their_run_keeps_with_checksums(photos: Path):
    assert evaluate().exit_code == 0
    assert evaluate(texts="other").exit_code == 0
    second, first = sorted(runs.list_runs(), key=lambda run: str(run.results["model"]))
    names = [run.results["model"] for run in (first, second)]
    assert names == ["clip/images + texts", "clip/images + other/texts"]
    assert first.params["images"] == second.params["images"]
    assert first.params["texts"]["file"] == str(photos / "clip" / "texts.npy")
    assert first.params["texts"]["checksum"] != second.params["texts"]["checksum"]


def test_two_files_of_one_name_never_share_the_hash_of_a_run(photos: Path):
    assert evaluate().exit_code == 0
    vectors(photos / "later", 2)
    for name in ("images.npy", "texts.npy"):
        (photos / "later" / name).replace(photos / "clip" / name)
    assert evaluate().exit_code == 0
    first, second = runs.list_runs()
    assert first.results["model"] == second.results["model"]
    assert first.id[16:24] != second.id[16:24]


def test_python_names_tags_and_notes_a_result_in_the_same_words(tmp_path: Path):
    numbers = np.random.default_rng(0)
    sides = {"images": numbers.normal(size=(2, 4)), "texts": numbers.normal(size=(3, 4))}
    result = wb.evaluate(**sides, own=OWN, rounds=0, name="clip", tags=["thesis"], note="a note")
    assert result.name == "clip"
    run = runs.read(result.save(tmp_path / "run").parent)
    assert run.about == About("clip", ("thesis",), "a note")
    assert run.results["model"] == "vectors"
    with pytest.raises(ValueError, match="the name 'a/b'"):
        wb.evaluate(**sides, own=OWN, name="a/b")


def test_a_result_is_not_saved_under_the_name_of_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0)
    sides = {"images": numbers.normal(size=(2, 4)), "texts": numbers.normal(size=(3, 4))}
    result = wb.evaluate(**sides, own=OWN, rounds=0, name="clip")
    result.save("runs/mine")
    result.save("runs/mine")
    for place in ("runs/other", "runs/evaluate/other"):
        with pytest.raises(FileExistsError, match="runs/mine is called 'clip'"):
            result.save(place)
        assert not Path(place).exists()


def test_a_training_has_its_name_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    small = {"train_images": 8, "val_images": 4, "test_images": 4, "batch_size": 4, "epochs": 0}
    words = [word for name, value in small.items() for word in ("-p", f"{name}={value}")]
    done = call("train", *words, "--name", "mine", "--tag", "a", "--note", "b", "--json")
    assert json.loads(done.stdout)["about"] == {"name": "mine", "tags": ["a"], "note": "b"}
    assert wb.train(wb.Config(**small), tags=["a"], name="here").name == "here"


def test_a_model_may_be_the_name_of_a_run(photos: Path):
    assert evaluate("--name", "mine").exit_code == 0
    assert wb.open_model("mine").name == wb.open_model(runs.find("mine").folder).name


def tiny_notebook(results: str) -> None:
    """A notebook in the working folder with one parameter, ``seed``."""
    cells = ("from workbench.runs import store", 'seed: int = 0  # seed\nout: str = ""  # run folder')
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(text) for text in (*cells, f"store.publish(out, {results})")]
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, "tiny.ipynb")


@pytest.mark.slow
def test_the_command_that_a_grid_records_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    tiny_notebook("{'seed': seed, 'metrics': {'rsum': 1.0}}")
    Path("two.yaml").write_text("notebook: tiny\narms: {a: {}}\nrecord: [rsum]\n")
    first = call("grid", "tiny.ipynb", "two.yaml", "-p", "seed", "3", "--tag", "swept", "--record", "out.tsv")
    assert first.exit_code == 0, first.output
    recorded = Path("out.tsv").read_text().splitlines()[0].removeprefix("# ")
    assert call(*shlex.split(recorded)[1:]).exit_code == 0
    both = runs.list_runs()
    assert [run.params for run in both] == [{"seed": 3}] * 2
    assert [run.about.tags for run in both].count(("swept",)) == 1


def test_a_run_that_was_cut_off_is_gone_on_with_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    tiny_notebook("{'seed': seed}")
    values = notebook.check_parameters("tiny.ipynb", {})
    folder = runs.new_run("tiny", values, code=notebook.read_code("tiny.ipynb"))
    write_about(folder, About("mine"))
    runs.write_status(folder, "interrupted")
    assert call("run", "tiny.ipynb", "--name", "mine", "--tag", "late").exit_code == 0
    (run,) = runs.list_runs()
    assert (run.folder, run.status, run.about) == (
        Path("runs/tiny") / folder.name,
        "ok",
        About("mine", ("late",)),
    )
    assert "workbench rm runs/tiny" in said("run", "tiny.ipynb", "-p", "seed=1", "--name", "mine")
