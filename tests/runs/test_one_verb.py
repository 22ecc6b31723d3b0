"""A number by model, by vectors and by run is one number, and numpy's."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app

SIZE = 24


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    """A folder of images with a table, as people have it."""
    folder = tmp_path_factory.mktemp("photos")
    split = wb.load_data("scenes", split="test", size=SIZE)
    for row, name in enumerate(split.image_ids):
        split.open_image(row).save(folder / f"{name}.png")
    with (folder / "captions.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "caption"])
        table.writerows((f"{split.image_ids[own]}.png", text) for own, text in zip(split.own, split.captions))
    return folder


@pytest.fixture(scope="module")
def by_model(photos) -> wb.runs.result.Result:
    return wb.evaluate(wb.open_model("scenes", "scenes", device="cpu"), photos, rounds=50)


def _recall(scores: np.ndarray, own: np.ndarray, k: int) -> float:
    """R@k from captions to images, one query after the other, ties against."""
    hits = 0
    for caption, image in enumerate(own):
        better = sum(scores[other, caption] >= scores[image, caption] for other in range(len(scores)))
        hits += better <= k
    return hits / len(own)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".pt", ".safetensors", "array", "tensor"])
def test_vectors_give_the_numbers_of_their_model(by_model, photos, tmp_path, ending):
    sides = {"image": by_model.image.mean.numpy(), "text": by_model.text.mean.numpy()}
    given: list = []
    for side, values in sides.items():
        file = tmp_path / f"{side}{ending}"
        if ending == ".npy":
            np.save(file, values)
        elif ending == ".npz":
            np.savez(file, vectors=values)
        elif ending == ".pt":
            torch.save(torch.from_numpy(values), file)
        elif ending == ".safetensors":
            save_file({"vectors": values}, file)
        given.append(file if file.suffix else values if ending == "array" else torch.from_numpy(values))
    for more in ({"data": photos}, {"own": by_model.split.own}):
        found = wb.evaluate(images=given[0], texts=given[1], rounds=0, **more)
        for label in ("rsum", "i2t/R@1", "t2i/R@5"):
            assert found[label] == pytest.approx(by_model[label], abs=1e-6)


def test_ids_beside_vectors_order_them_and_what_is_no_file_of_vectors_is_said(by_model, photos, tmp_path):
    sides = {"image": by_model.image.mean.numpy(), "text": by_model.text.mean.numpy()}
    table = pd.DataFrame({"image": by_model.split.image_ids, "vector": list(sides["image"]), "size": 1.5})
    np.save(tmp_path / "texts.npy", sides["text"])
    given = {"texts": tmp_path / "texts.npy", "data": photos, "rounds": 0}
    table.iloc[::-1].to_parquet(tmp_path / "images.parquet")
    assert wb.evaluate(images=tmp_path / "images.parquet", **given)["rsum"] == by_model["rsum"]
    pd.concat([table, table]).to_parquet(tmp_path / "twice.parquet")
    (tmp_path / "lfs.npy").write_text("version https://git-lfs.github.com/spec/v1")
    (tmp_path / "page.pt").write_text("<html>")
    for name, said in {
        "twice.parquet": "stands twice",
        "lfs.npy": "Git LFS",
        "page.pt": "web page",
    }.items():
        with pytest.raises(ValueError, match=said):
            wb.evaluate(images=tmp_path / name, **given)


def test_a_double_loop_gives_the_same_recall(by_model):
    scores = by_model.image.mean.numpy() @ by_model.text.mean.numpy().T
    for k in (1, 5, 10):
        assert by_model[f"t2i/R@{k}"] == pytest.approx(_recall(scores, by_model.split.own, k), abs=1e-6)


def test_a_saved_result_is_a_run_like_any_other(by_model, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    by_model.save("~/mine")
    (opened,) = wb.open_runs([str(tmp_path / "mine")])
    assert opened["rsum"] == by_model["rsum"]
    assert np.allclose(opened.image.mean, by_model.image.mean)
    again = CliRunner().invoke(app, ["show", str(tmp_path / "mine")])
    assert again.exit_code == 0, again.output
    assert "t2i/R@1" in again.output
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"")
    with pytest.raises(FileExistsError, match="holds a run that trained"):
        by_model.save(tmp_path / "mine")


def test_results_are_compared_and_shown(by_model, photos):
    noise = np.random.default_rng(0).normal(size=by_model.image.mean.shape).astype(np.float32)
    other = wb.evaluate(images=noise, texts=by_model.text.mean, data=photos, name="noise", rounds=50)
    table = wb.compare(by_model, other).text_table()
    assert list(table) == ["in", "chance", "scenes", "noise", "noise - scenes"]
    assert "worse than scenes" in table.loc["rsum", "noise - scenes"]
    kept = wb.compare(by_model, other, keys=["rsum", "t2i/medr"]).numbers["chance"]
    assert [one is None for one in kept] == [False, True, False, True]
    assert "chance" in by_model._repr_html_()
    assert "t2i/R@1" in repr(by_model)


def test_a_result_is_evaluated_on_other_data_and_named_by_its_folder(by_model, photos, tmp_path):
    for name in ("one", "two"):
        by_model.save(tmp_path / name)
    given = ["evaluate", str(tmp_path / "one"), "--data", str(photos), "--split", "all"]
    told = CliRunner().invoke(app, given)
    assert told.exit_code == 0, told.output
    assert list((tmp_path / "one" / "evaluations").iterdir())
    table = wb.compare(tmp_path / "one", str(tmp_path / "two")).text_table()
    assert "no difference" in table.loc["rsum"].iloc[-1]
    assert {"evaluate", "compare", "Config"} <= {*dir(wb)}
    with pytest.raises(ValueError, match="nothing to explore"):
        wb.explore()


def test_what_does_not_belong_together_is_one_line(by_model, photos):
    image, text = by_model.image.mean, by_model.text.mean
    for given, message in [
        ({"images": image[:-1], "texts": text, "data": photos}, "23"),
        ({"images": image, "texts": text[:-2], "data": photos}, "118"),
        ({"images": image, "texts": text[:, :5], "data": photos}, "dimensions"),
        ({"images": image, "texts": text}, "own"),
        ({"images": image, "data": photos}, "texts"),
        ({"images": image * float("nan"), "texts": text, "data": photos}, "finite"),
        ({"images": image, "texts": text, "data": photos, "precision": "fp8"}, "precision='fp8' belongs to"),
        ({"images": image, "texts": text, "data": photos, "device": "tpu"}, "device='tpu' belongs to"),
        ({"images": image, "texts": text, "data": photos, "pretrained": "x"}, "pretrained='x' belongs to"),
        ({"images": image, "texts": image, "own": range(SIZE), "split": "val"}, "split='val' belongs to"),
    ]:
        with pytest.raises(ValueError, match=message):
            wb.evaluate(**given)


def test_the_verb_makes_a_run_and_a_table_of_several(photos, tmp_path, by_model):
    np.save(tmp_path / "i.npy", by_model.image.mean.numpy())
    np.save(tmp_path / "t.npy", by_model.text.mean.numpy())
    words = ["evaluate", "--model", "scenes:scenes", "--data", str(photos), "--root", str(tmp_path / "runs")]
    one = CliRunner().invoke(app, [*words, "--json"])
    assert one.exit_code == 0, one.output
    (result,) = json.loads(one.stdout)["results"]
    assert result["metrics"]["rsum"] == pytest.approx(by_model["rsum"], abs=1e-6)
    assert (Path(result["folder"]) / "results.json").is_file()
    vectors = ["--images", str(tmp_path / "i.npy"), "--texts", str(tmp_path / "t.npy")]
    two = CliRunner().invoke(app, [*words, *vectors])
    assert two.exit_code == 0, two.output
    assert "no difference" in two.output
    listed = CliRunner().invoke(app, ["ls", "--root", str(tmp_path / "runs")])
    assert listed.output.count("evaluate") >= 3


def test_data_that_fail_take_no_earlier_result_along(photos, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "captions.csv").write_text("image,caption\nnone.jpg,text\n")
    words = ["--data", str(photos), "--data", str(tmp_path / "bad"), "--out", str(tmp_path / "kept")]
    ended = CliRunner().invoke(app, ["evaluate", "--model", "scenes:scenes", *words])
    assert ended.exit_code == 2
    assert "there is no image file" in ended.output
    assert wb.open_runs([str(tmp_path / "kept" / "1")])[0].name == "scenes"
    ended = CliRunner().invoke(app, ["evaluate", "--model", "scenes:scenes", *words])
    assert "kept holds a result; choose another folder" in ended.output


def test_a_result_is_saved_again_but_never_over_another_one(tmp_path):
    rows = {"own": [0, 1], "texts": np.eye(2)}
    result = wb.evaluate(images=np.eye(2), **rows)
    assert result.save(tmp_path) == result.save(tmp_path)
    with pytest.raises(FileExistsError, match="holds another result; choose another folder"):
        wb.evaluate(wb.open_model("scenes", "scenes"), wb.load_data("scenes", split="test", size=8)).save(
            tmp_path
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "scenes:scenes"], "name the data with --data"),
        (["--model", "ViT-B-33", "--data", "scenes"], "did you mean"),
        (["--images", "no.npy", "--texts", "no.npy", "--data", "scenes"], "no.npy"),
        (["--model", "scenes:scenes", "--data", "nowhere/"], "nowhere"),
        (["--model", "scenes:scenes", "--data", "scenes", "--device", "cuda:9"], "no such GPU"),
        (["--images", "no.npy", "--data", "scenes"], "give the vectors of images and of texts"),
        ([], "name a run, a model"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_code_2(words, message):
    done = CliRunner().invoke(app, ["evaluate", *words])
    assert done.exit_code == 2
    assert message in done.output
    assert done.output.count("\n") == 1
