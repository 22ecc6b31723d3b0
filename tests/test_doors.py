"""Every public function refuses an argument that it does not take by its own name, with the near one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import workbench as wb

EYE = np.eye(3)
FRAME = pd.DataFrame({"image": ["a.png", "b.png"], "caption": ["red", "blue"]})
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "load_data of a table": (lambda: wb.load_data(FRAME, rot="x"), "the table has no option 'rot'.* root?"),
    "load_data of a name": (
        lambda: wb.load_data("scenes", sizes=3),
        "'scenes' has no option 'sizes'.* size?",
    ),
    "load_data of nothing": (lambda: wb.load_data(), r"load_data\(\): missing a required argument: 'data'"),
    "open_model": (lambda: wb.open_model("scenes", pretraind="x"), "open_model.* pretrained?"),
    "evaluate": (lambda: wb.evaluate(images=EYE, texts=EYE, metric=["ndcg"]), "evaluate.* metrics?"),
    "train": (lambda: wb.train(wb.Config(), folders="x"), r"train\(\) takes no 'folders'; .* folder?"),
    "train of fields": (lambda: wb.train(objective="ditm"), r"train\(Config\(objective='ditm'\)\)"),
    "train of a mapping": (lambda: wb.train({"objectiv": "ditm"}), "no field 'objectiv'.* objective"),
    "compare": (lambda: wb.compare(key=["rsum"]), "compare.* keys?"),
    "errors": (lambda: wb.errors("x", judgement="own"), "errors.* judgements?"),
    "explore": (lambda: wb.explore("x", image="photos"), "explore.* images?"),
    "Explorer": (lambda: wb.Explorer([], grade="x"), "Explorer.* grades?"),
    "open_runs": (lambda: wb.open_runs(roots="x"), "open_runs.* root?"),
    "load_model": (lambda: wb.load_model(foldr="x"), "load_model.* folder?"),
    "prepare": (lambda: wb.runs.prepare(wb.Config(), progres=True), "prepare.* progress?"),
    "use_device": (lambda: wb.use_device(precison="x"), "use_device.* precision?"),
    "Config": (lambda: wb.Config(objectiv="ditm"), "no field 'objectiv'.* objective"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_that_is_not_taken_is_refused_with_the_near_one(name: str):
    call, message = WRONG[name]
    with pytest.raises(TypeError, match=message) as raised:
        call()
    assert not any(inner in str(raised.value) for inner in ("held", "run()", "__init__", "use()"))


def test_the_images_of_a_table_lie_in_its_root(tmp_path: Path):
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (4, 4), colour).save(tmp_path / name)
    by_root, by_images = wb.load_data(FRAME, root=tmp_path), wb.load_data(FRAME, images=tmp_path)
    assert by_root.stamps().tolist() == by_images.stamps().tolist()
    with pytest.raises(ValueError, match="are one; give one of them"):
        wb.load_data(FRAME, root=tmp_path, images=tmp_path)
