"""What is measured on few images is said before, and what two runs of one folder have in common."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.execution import jupyter
from workbench.io import write_json
from workbench.runs import prepare
from workbench.runs import store as runs
from workbench.runs.build import FewImagesWarning


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    rows = ["image,caption"]
    for number in range(60):
        Image.new("RGB", (16, 16), (4 * number, 90, 40)).save(folder / f"{number:02}.png")
        rows.append(f"{number:02}.png,colour number {number}")
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def test_a_small_split_is_said_before_a_training_unless_its_size_was_chosen(photos: Path):
    config = {"data": str(photos), "objective": "infonce", "epochs": 0, "device": "cpu"}
    towers = {"image_encoder": {"name": "towers", "model": "scenes"}, "text_encoder": "towers"}
    with pytest.warns(FewImagesWarning) as warned:
        ready = prepare(wb.Config(**config, **towers))
    said = [str(one.message) for one in warned]
    assert said == list(ready.test.split.notes[:2])
    assert said[1].startswith(f"photos/test has {len(ready.test.split.image_ids)} images alone")
    ready = prepare(wb.Config(**config, **towers, val_images=2, test_images=2))
    assert not any("alone" in note for note in ready.test.split.notes)


def test_a_folder_without_splits_says_what_a_training_would_test_on(photos: Path):
    whole, test = wb.load_data(photos), wb.load_data(photos, split="test")
    said = f"; `train` tests on {len(test.image_ids)} images of them, the split test"
    assert whole.notes[-1] == f"nothing tells the splits, all images are read{said}"
    assert test.notes[-1].endswith(f"test ({len(test.image_ids)} images)")


def test_results_of_a_folder_and_of_its_test_split_are_told_apart_in_one_line(photos: Path):
    model = wb.open_model("scenes:scenes", device="cpu")
    whole, test = (wb.evaluate(model, photos, split=split, rounds=0) for split in ("", "test"))
    few = len(test.split.image_ids)
    for together in (wb.compare, wb.explore, wb.errors):
        with pytest.raises(ValueError, match=rf"photos/all: 60 images, .*; {few} images in both"):
            together(whole, test)
    folders = [str(one.save(photos.parent / name).parent) for one, name in ((whole, "a"), (test, "b"))]
    ended = CliRunner().invoke(app, ["explore", *folders, "--prepare", "--root", str(photos.parent)])
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert (
        f"measured on different images: photos/all (60 images) and photos/test ({few} images)" in ended.stderr
    )
    assert not list(photos.parent.glob("explore/*"))


def test_vectors_without_ids_are_explored_beside_a_run(tmp_path: Path):
    for name, split in (("a", "photos/all"), ("b", "vectors")):
        facts = {"name": split, "images": 3, "checksums": {"ids": name}}
        write_json(tmp_path / "x" / name / runs.RESULTS, {"dataset": "photos", "split": facts})
        write_json(tmp_path / "x" / name / runs.KIND, {"kind": "evaluation"})
        write_json(tmp_path / "x" / name / runs.PARAMS, {})
    names = [str(tmp_path / "x" / name) for name in "ab"]
    assert jupyter.write_explorer(names, root=str(tmp_path), on=("cpu", "auto")).is_file()
