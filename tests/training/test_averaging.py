"""The mean of the weights of the last epochs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.training import toy
from workbench.objectives.pcmepp import MEMBER as PCMEPP
from workbench.runs import Config
from workbench.training import averaging, checkpoint
from workbench.training.averaging import refresh_statistics, update_result


def state(value, count=0):
    return {"weight": torch.tensor([float(value)]), "count": torch.tensor(count)}


def test_three_epochs_by_hand():
    # 2, then (2 + 4) / 2 = 3, then (2 + 4 + 9) / 3 = 5; of a counter the latest.
    now = {}
    for epoch, value in enumerate([7.0, 2.0, 4.0, 9.0], start=1):
        now = update_result(now, state(value, epoch), epoch=epoch, swa_from=2, best=epoch == 1)
    assert now["weight"].item() == pytest.approx(5.0)
    assert now["count"].item() == 4


def test_without_averaging_the_best_epoch_is_kept():
    now = {}
    for epoch, best in enumerate([True, True, False], start=1):
        now = update_result(now, state(epoch), epoch=epoch, swa_from=0, best=best)
    assert now["weight"].item() == 2


def test_a_run_ends_with_the_mean_of_its_last_epochs(tmp_path):
    ends = []
    for epochs in (2, 3, 4):
        # A constant rate, so that a shorter run is the beginning of a longer one.
        toy.train(tmp_path / str(epochs), epochs=epochs, schedule="constant")
        ends.append(
            checkpoint.tensors_under("model", checkpoint.read(tmp_path / str(epochs) / checkpoint.LAST)[0])
        )
    averaged, _ = toy.train(None, epochs=4, schedule="constant", swa_from=2)
    for name, value in averaged.state_dict().items():
        torch.testing.assert_close(value, torch.stack([end[name] for end in ends]).mean(0))


def test_training_itself_goes_on_with_the_plain_weights_and_resumes_exactly(tmp_path):
    toy.train(tmp_path / "plain", swa_from=0)
    straight, _ = toy.train(tmp_path / "mean", swa_from=2)
    last = [checkpoint.read(tmp_path / name / checkpoint.LAST)[0] for name in ("plain", "mean")]
    plain, mean = (checkpoint.tensors_under("model", tensors) for tensors in last)
    assert all(torch.equal(plain[name], mean[name]) for name in plain)
    again, _ = toy.train(tmp_path / "mean", swa_from=2)
    assert all(
        torch.equal(a, b)
        for a, b in zip(straight.state_dict().values(), again.state_dict().values(), strict=True)
    )


class Stopping(PCMEPP):
    """Stops before its n-th forward pass."""

    def __init__(self, stop_at=0):
        super().__init__(distance="mean_only")
        self.left = stop_at

    def forward(self, image, text, batch):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().forward(image, text, batch)


@pytest.mark.parametrize("stop_at", [7, 10, 15])
def test_a_run_that_mixes_and_averages_goes_on_exactly_from_any_step(tmp_path, stop_at):
    options = {"mix": 0.5, "swa_from": 2, "of": toy.grid_source()}
    with pytest.raises(KeyboardInterrupt):
        toy.train(tmp_path, objective=Stopping(stop_at), **options)
    resumed, history = toy.train(tmp_path, objective=Stopping(), **options)
    straight, expected = toy.train(None, objective=Stopping(), **options)
    assert all(
        torch.equal(a, b)
        for a, b in zip(resumed.state_dict().values(), straight.state_dict().values(), strict=True)
    )
    assert [row["loss"] for row in history[1:]] == [row["loss"] for row in expected[1:]]


def test_statistics_of_batch_norms_are_those_of_all_batches_under_the_new_weights():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    batches = [torch.randn(16, 2, generator=torch.Generator().manual_seed(n)) for n in range(4)]
    model.train()
    for batch in batches:
        model(batch)
    with torch.no_grad():
        model[0].weight.mul_(3)
    refresh_statistics(model, model.forward, batches)
    with torch.no_grad():
        hidden = [model[0](batch) for batch in batches]
    torch.testing.assert_close(model[1].running_mean, torch.stack([h.mean(0) for h in hidden]).mean(0))
    torch.testing.assert_close(model[1].running_var, torch.stack([h.var(0) for h in hidden]).mean(0))
    assert model[1].momentum == 0.1


def test_a_frozen_batch_norm_keeps_its_statistics_and_without_any_nothing_is_read():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(2)

        def train(self, mode=True):
            super().train(mode)
            self.norm.eval()
            return self

        def forward(self, x):
            raise AssertionError("nothing to measure")

    model = Frozen()
    model.norm.running_mean.fill_(5)
    refresh_statistics(model, model.forward, [torch.ones(4, 2)])
    assert model.norm.running_mean.tolist() == [5, 5]
    assert averaging.batch_norms(model) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"swa_from": 5, "epochs": 4}, "the run ends with epoch 4"),
        ({"mix": 1.5}, "less than or equal to 1"),
        ({"swa_from": -1}, "greater than or equal to 0"),
    ],
)
def test_settings_outside_their_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Config(**changes)
