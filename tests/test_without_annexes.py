"""The library alone: without the packages that stand beside it, its losses, its metrics and a training on a
folder of photographs work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from tests.encoders.test_towers import CONFIGS

PROGRAM = """
import json
import sys
from pathlib import Path

annex, model, root = sys.argv[1:]
sys.path[:] = [place for place in sys.path if not Path(place, annex).is_dir()]

import torch
import workbench
from workbench import data, metrics, objectives, text
from workbench.losses.triplet import triplet

scores = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
triplet(scores, torch.eye(2, dtype=torch.bool), margin=0.2, negatives="hardest", reduction="mean")
metrics.load("recall")
try:
    text.load("scene_graph")
except ModuleNotFoundError as error:
    print(error)
result = workbench.train(
    workbench.Config(
        objective="vsepp", data={"name": "folder", "root": root}, text_encoder="towers",
        image_encoder={"name": "towers", "model": model, "pretrained": ""}, epochs=1, batch_size=8,
        captions_per_image=1,
    ),
    progress=False,
)
print(json.dumps({"rsum": result["rsum"]}))
"""


def test_the_library_alone_trains_on_a_folder_of_photographs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(30):
        name = f"{number}.png"
        Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(tmp_path / name)
        split = "val" if number % 5 == 3 else "test" if number % 5 == 4 else "train"
        rows.append(f"{name},a picture with number {number},{split}")
    (tmp_path / "captions.csv").write_text("\n".join(["image,caption,split", *rows]) + "\n")
    small = CONFIGS["vit"] | {
        "text_cfg": CONFIGS["vit"]["text_cfg"] | {"vocab_size": 49408, "context_length": 16}
    }
    (tmp_path / "model.json").write_text(json.dumps(small))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "caption_graphs", str(tmp_path / "model.json"), str(tmp_path)],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said, numbers = done.stdout.splitlines()
    assert "caption_graphs" in said
    assert 0 <= json.loads(numbers)["rsum"] <= 600
