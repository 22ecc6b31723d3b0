"""What an objective needs is refused before training, with the remedy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from workbench import data
from workbench.records import Judgements
from workbench.runs import Config
from workbench.runs import build as running
from workbench.runs.build import build
from workbench.runs.resolve import resolve
from workbench.training.batches import Source


@pytest.mark.parametrize("objective", ["pcme", "pcmepp"])
def test_an_objective_that_reads_variances_says_how_to_give_them(objective):
    with pytest.raises(
        ValueError,
        match=f"'{objective}' reads 'log_var' and Towers gives parts; set log_var=true in the options",
    ):
        build(resolve(Config(objective=objective, start="scenes", image_encoder={"log_var": False})), ())
    build(resolve(Config(objective=objective, start="scenes")), ())


def test_an_objective_without_soft_labels_refuses_mixed_images():
    with pytest.raises(
        ValueError, match="'vsepp' reads no soft labels, so images cannot be mixed; set mix=0"
    ):
        resolve(Config(objective="vsepp", mix=0.25))
    resolve(Config(objective="pcmepp", mix=0.25))


def test_the_ablation_without_variances_needs_none():
    alone = {"objective": {"name": "pcmepp", "distance": "mean_only"}}
    build(resolve(Config(start="scenes", **alone)), ())


def test_positives_are_the_pairs_that_the_judgements_call_right():
    split = data.load("scenes", split="train", size=6)
    images, captions = np.array([4, 0, 2]), np.array([22, 2, 20, 13, 12])
    batch = Source(split, {}, {}, positives=running.positive_judgements("exact", split)).batch(captions)
    whole = split.judgements["exact"].relevant()
    assert (batch.also.numpy() == whole[np.ix_(images, captions)]).all()
    assert running.positive_judgements("own", split) is None


def test_a_grade_below_the_bar_and_a_pair_nobody_judged_are_not_right():
    split = data.load("scenes", split="train", size=2)
    images, captions, grades = np.array([0, 0]), np.array([0, 9]), np.array([5.0, 2.0], dtype=np.float32)
    rated = Judgements("rated", "0 to 5", (2, 10), images, captions, grades, relevant_from=3, unlisted=None)
    split = replace(split, judgements={"own": split.judgements["own"], "rated": rated})
    batch = Source(split, {}, {}, positives=running.positive_judgements("rated", split)).batch(
        np.array([0, 5, 9])
    )
    assert batch.also.tolist() == [[True, False, False], [False, False, False]]
    with pytest.raises(ValueError, match=r"positives='exact' names judgements; .* has own, rated"):
        running.positive_judgements("exact", split)


def photographs(folder, captions):
    """Three training images with so many captions each, and one in each of the other splits."""
    rows = ["image,caption,split"]
    for image, number in enumerate(captions):
        Image.new("RGB", (8, 8)).save(folder / f"{image}.png")
        split = ("val", "test")[image - 3] if image > 2 else "train"
        rows += [f"{image}.png,caption {n} of {image},{split}" for n in range(number)]
    (folder / "captions.csv").write_text("\n".join(rows))
    encoders = {"image_encoder": "towers", "text_encoder": "towers", "start": "scenes", "features": ""}
    return {"data": {"name": "folder", "root": str(folder)}, "epochs": 1, "batch_size": 2} | encoders


def test_captions_an_image_that_nobody_asked_for_follow_the_data(tmp_path):
    values = photographs(tmp_path, [3, 2, 4, 1, 1])
    ready = running.prepare(Config(**values, objective="infonce"), progress=False)
    assert ready.config.captions_per_image == 2
    assert "captions_per_image=2, since image '1.png' of" in " ".join(ready.test.split.notes)
    few = running.prepare(Config(**values, captions_per_image=1), progress=False)
    assert few.config.captions_per_image == 1


@pytest.mark.parametrize(("objective", "asked", "message"), [
    ("infonce", {"captions_per_image": 3}, "captions_per_image=3, but image '1.png' of .* has 1 caption"),
    ("ditm", {}, "objective 'ditm' needs 2 captions an image, but image '1.png' of .* has 1 caption"),
])  # fmt: skip
def test_too_few_captions_are_refused_before_anything_is_extracted(
    objective, asked, message, tmp_path, monkeypatch
):
    values = photographs(tmp_path, [3, 1, 4, 1, 1])
    monkeypatch.setattr(running, "_with_features", lambda *_: pytest.fail("features were extracted"))
    with pytest.raises(ValueError, match=message):
        running.prepare(Config(**values, objective=objective, **asked), progress=False)


def test_a_run_in_which_nothing_is_left_to_train_is_refused():
    values = {"objective": "vsepp", "train_images": 6, "val_images": 2, "test_images": 2}
    with pytest.raises(ValueError, match=r"nothing is left to train \(lr is 0\)"):
        Config(**values, lr=0)
    # the default objective learns its temperature, which does not count at a rate of 0
    with pytest.raises(ValueError, match=r"nothing is left to train \(lr is 0\)"):
        Config(lr=0.0)
    frozen = {"image_encoder": "towers", "image_backbone_lr": 0.0, "text_backbone_lr": 0.0}
    with pytest.raises(ValueError, match=r"nothing .* \(image_backbone_lr is 0, text_backbone_lr is 0\)"):
        running.prepare(Config(**values, **frozen), progress=False)
    assert running.prepare(Config(**values, lr=0.0, epochs=0), progress=False).train is None
