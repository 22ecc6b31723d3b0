"""Half precision and a GPU: the encoders compute in bf16, the objective sees float32, and training still
learns."""

from __future__ import annotations

import pytest
import torch

from tests.training import toy
from workbench.objectives.vsepp import MEMBER as VSEPP
from workbench.training import processes


class Watching(VSEPP):
    def forward(self, image, text, batch):
        self.seen = {image.mean.dtype, text.mean.dtype}
        return super().forward(image, text, batch)


def test_under_bf16_the_objective_sees_float32_and_the_loss_falls():
    objective = Watching()
    _, history = toy.train(
        None, objective=objective, device="auto", precision="bf16", epochs=10, warmup_epochs=0, lr=0.01
    )
    assert objective.seen == {torch.float32}
    assert history[-1]["loss"] < 0.6 * history[1]["loss"]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_training_runs_on_a_gpu_and_resumes_there(tmp_path):
    toy.train(tmp_path, device="cuda", epochs=2)
    _, history = toy.train(tmp_path, device="cuda", epochs=2)
    assert [row["epoch"] for row in history] == [0, 1, 2]


def test_a_gpu_that_is_not_there_is_named():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(ValueError, match="PyTorch sees no such GPU"):
        toy.train(None, device="cuda")


def test_a_tracker_that_is_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"tracker='wandb' is not installed; pip install .*\[trackers\]"):
        toy.train(None, tracker="wandb")


def test_a_tracker_gets_the_curves(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    toy.train(tmp_path, tracker="tensorboard", epochs=1)
    assert list((tmp_path / "itm-workbench").glob("events.out.tfevents.*"))
