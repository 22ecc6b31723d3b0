"""One choice of a device, which everything that encodes follows."""

from __future__ import annotations

import pytest
import torch

from workbench import devices


@pytest.fixture(autouse=True)
def _no_choice():
    devices.use()
    yield
    devices.use()


def test_without_a_gpu_auto_is_the_cpu_and_with_one_the_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.find() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.find() == torch.device("cuda")
    assert devices.find("cpu") == torch.device("cpu")


def test_what_is_chosen_holds_until_something_else_is():
    devices.use("meta")
    assert devices.find() == torch.device("meta")
    assert devices.find("cpu") == torch.device("cpu")
    devices.use()
    assert devices.find().type in ("cpu", "cuda")


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("gpu", "auto", "device is 'gpu'; use auto, cpu, cuda or cuda:1"),
        ("cuda:7", "auto", "device='cuda:7', but PyTorch sees no such GPU; use device='auto' or 'cpu'"),
        ("cpu", "fp8", "precision is 'fp8'; it is one of auto, no, bf16"),
        ("cpu", "bf16", "precision='bf16' is for a GPU"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_changes_nothing(device, precision, message):
    with pytest.raises(ValueError, match=message):
        devices.use(device, precision)
    assert devices.find().type in ("cpu", "cuda")


def test_half_precision_is_for_gpus():
    assert type(devices.precise(torch.device("cpu"))).__name__ == "nullcontext"
