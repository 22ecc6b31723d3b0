"""The loop: what a killed run goes on with, what stops a run, what is frozen when."""

from __future__ import annotations

import itertools
import math
import re
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from tests.training import toy
from workbench.encoders.base import ParameterGroup
from workbench.io import ChecksumError, signals
from workbench.metrics.blocks import NanScoresError
from workbench.objectives.base import Objective
from workbench.runs import Config
from workbench.training import NonFiniteLossError, Settings, checkpoint, loop, settings
from workbench.training.optimiser import learning_rate_factor, loss_ramp, make_optimiser, parameter_groups

ROOT = Path(__file__).parents[2]


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("die_at", [2, 7, 10])
def test_a_run_killed_in_mid_epoch_ends_with_the_same_weights_bit_for_bit(tmp_path, die_at):
    killed = subprocess.run(
        [sys.executable, "-m", "tests.training.toy", tmp_path / "a", str(die_at)], cwd=ROOT, check=False
    )
    assert killed.returncode == -9
    resumed, history = toy.train(tmp_path / "a")
    straight, expected = toy.train(tmp_path / "b")
    assert same(resumed.state_dict(), straight.state_dict())
    last = [checkpoint.read(tmp_path / name / checkpoint.LAST)[0] for name in "ab"]
    assert same(*last)
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in history] == [
        {k: v for k, v in row.items() if k != "seconds"} for row in expected
    ]


@pytest.mark.parametrize(
    ("place", "call"), [("train_step", 5), ("train_epoch", 1), ("end_epoch", 0), ("end_epoch", 2)]
)
def test_a_run_that_is_asked_to_stop_keeps_its_last_step_and_goes_on_bit_for_bit(
    tmp_path, monkeypatch, place, call
):
    straight, expected = toy.train(tmp_path / "b", checkpoint_every=0)
    whole, calls = getattr(loop.Training, place), itertools.count()

    def asked(*given):
        made = whole(*given)
        if next(calls) == call:
            signal.raise_signal(signal.SIGTERM)
        return made

    with monkeypatch.context() as patch, signals.sigterm_raises(), suppress(signals.Terminated):
        patch.setattr(loop.Training, place, asked)
        toy.train(tmp_path / "a", checkpoint_every=0)
    if call:
        assert checkpoint.read(tmp_path / "a" / checkpoint.LAST)[1]["step"] == {5: 6, 1: 8, 2: 8}[call]
    resumed, history = toy.train(tmp_path / "a", checkpoint_every=0)
    assert same(resumed.state_dict(), straight.state_dict())
    last = [checkpoint.read(tmp_path / name / checkpoint.LAST)[0] for name in "ab"]
    assert same(*last)
    assert [row["loss"] for row in history[1:]] == [row["loss"] for row in expected[1:]]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    first, again, other = (toy.train(None, seed=seed)[0].state_dict() for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)


def test_a_finished_run_is_not_trained_again(tmp_path):
    _, first = toy.train(tmp_path)
    _, again = toy.train(tmp_path)
    assert first == again


def test_a_checkpoint_of_other_settings_or_made_from_something_else_is_refused_by_name(tmp_path):
    made_from = {"objective": {"name": "vsepp", "margin": 0.2}, "split": {"train": "24 images"}}
    toy.train(tmp_path, epochs=1, made_from=made_from)
    before = (tmp_path / checkpoint.LAST).read_bytes()
    with pytest.raises(ChecksumError, match=r"other settings \(lr was 0\.0005, is 0\.1\); choose"):
        toy.train(tmp_path, epochs=1, lr=0.1, made_from=made_from)
    other = {"objective": {"name": "dias"}, "split": {"train": "32 images"}}
    words = (
        r"\(objective\.margin was 0\.2, is not there; objective was vsepp, is dias; "
        r"split\.train was 24 images, is 32 images\)"
    )
    with pytest.raises(ChecksumError, match=words):
        toy.train(tmp_path, epochs=1, made_from=other)
    assert (tmp_path / checkpoint.LAST).read_bytes() == before
    tensors, facts = checkpoint.read(tmp_path / checkpoint.LAST)
    facts = facts[checkpoint.MADE_FROM]
    checkpoint.write(tmp_path / checkpoint.LAST, tensors, {checkpoint.MADE_FROM: facts | {"code": "a"}})
    with pytest.warns(UserWarning, match="another version of this package: code was a, is b"):
        checkpoint.TrainingPosition(tmp_path, facts | {"code": "b"}).last()


def test_what_is_free_may_differ_and_more_epochs_are_one_run_unless_the_schedule_ends_with_them(tmp_path):
    toy.train(tmp_path / "a", epochs=2, schedule="constant")
    straight, _ = toy.train(None, epochs=4, schedule="constant")
    longer, _ = toy.train(tmp_path / "a", epochs=4, schedule="constant", checkpoint_every=0, workers=1)
    assert same(longer.state_dict(), straight.state_dict())
    with pytest.raises(ChecksumError, match=r"\(epochs was 4, is 3\)"):
        toy.train(tmp_path / "a", epochs=3, schedule="constant")
    toy.train(tmp_path / "b", epochs=2, schedule="cosine")
    with pytest.raises(ChecksumError, match=r"\(epochs was 2, is 4\)"):
        toy.train(tmp_path / "b", epochs=4, schedule="cosine")
    assert set(settings.FREE) - {"data.root"} < set(Settings.model_fields)


@pytest.mark.parametrize("damage", ["flip", "swap", "truncation", "name", "facts"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path, damage):
    toy.train(tmp_path, epochs=1)
    file = tmp_path / checkpoint.LAST
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[-5] ^= 1
    elif damage == "swap":
        tensors = checkpoint.read(file)[0]
        tensors["model.image.head.weight"] = tensors["model.image.head.weight"].flip(0)
        with safe_open(file, framework="pt") as opened:
            save_file(tensors, file, opened.metadata())
        content = file.read_bytes()
    elif damage == "truncation":
        del content[-9:]
    else:
        at = content.index(b"sha256" if damage == "name" else b"clip_norm")
        content[at] ^= 1
    file.write_bytes(content)
    with pytest.raises(ChecksumError, match=r"last\.safetensors is (damaged|not a checkpoint)"):
        checkpoint.read(file)


def test_a_torn_checkpoint_is_refused_by_name(tmp_path):
    (tmp_path / checkpoint.LAST).write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match=r"last\.safetensors is not a checkpoint"):
        toy.train(tmp_path)


class Broken(Objective):
    def forward(self, image, text, batch):
        return {"good": self.scores(image, text).mean(), "bad": self.scores(image, text).mean() * math.nan}


def test_a_nan_stops_the_run_and_names_step_term_images_and_captions(tmp_path):
    with pytest.raises(NonFiniteLossError, match=r"NaN at step 1 \(bad=nan, loss=nan\)") as stopped:
        toy.train(tmp_path, objective=Broken())
    (note,) = stopped.value.__notes__
    assert re.search(r"images \['i\d+'.*captions \['c\d+'", note)
    assert not (tmp_path / checkpoint.LAST).exists()


@pytest.mark.parametrize(("clip_norm", "hint"), [(2.0, "clip_norm=2"), (0.0, "set clip_norm")])
def test_a_loss_that_steps_make_nan_says_which_settings_made_them_large(clip_norm, hint):
    settings = {"lr": 1e30, "clip_norm": clip_norm, "schedule": "constant"}
    with pytest.raises(NonFiniteLossError, match=rf"step \d+ .*lower lr=1e\+30.*{hint}") as stopped:
        toy.train(None, **settings)
    assert "\n" not in str(stopped.value)


def test_scores_that_become_nan_in_validation_stop_the_run_with_its_settings():
    before = iter([0.0])

    def rsum() -> float:
        for value in before:
            return value
        raise NanScoresError("3 scores are NaN")

    with pytest.raises(NonFiniteLossError, match=r"step \d+ \(3 scores are NaN\); lower lr="):
        toy.train(None, rsum=rsum)


def test_the_weights_of_the_best_validation_epoch_are_kept(tmp_path):
    toy.train(tmp_path, epochs=2, schedule="constant")
    after_two = checkpoint.tensors_under("model", checkpoint.read(tmp_path / checkpoint.LAST)[0])
    second_best, _ = toy.train(None, rsum=iter([0.0, 1.0, 3.0, 2.0, 2.0]).__next__, schedule="constant")
    last_best, _ = toy.train(None, rsum=iter([0.0, 1.0, 2.0, 3.0, 4.0]).__next__, schedule="constant")
    assert same(after_two, second_best.state_dict())
    assert not same(after_two, last_best.state_dict())


def test_the_image_backbone_stands_still_in_the_warm_up_and_moves_after_it():
    start, _ = toy.train(None, epochs=0)
    warm, _ = toy.train(None, epochs=1, warmup_epochs=1)
    on, _ = toy.train(None, epochs=2, warmup_epochs=1, rsum=iter([0.0, 1.0, 2.0]).__next__)
    assert torch.equal(start.image.backbone.weight, warm.image.backbone.weight)
    assert not torch.equal(start.image.head.weight, warm.image.head.weight)
    assert not torch.equal(start.image.backbone.weight, on.image.backbone.weight)


def test_a_multiplier_of_zero_freezes_for_good():
    start, _ = toy.train(None, epochs=0)
    end, _ = toy.train(None, image_backbone_lr=0.0)
    assert torch.equal(start.image.backbone.weight, end.image.backbone.weight)


def test_training_raises_the_scores_of_the_pairs():
    _, history = toy.train(None, epochs=20, warmup_epochs=0, lr=0.01)
    assert history[-1]["loss"] < 0.5 * history[1]["loss"]
    assert history[-1]["loss"] == pytest.approx(
        sum(
            v
            for k, v in history[-1].items()
            if k not in ("loss", "epoch", "steps", "seconds") and "/" not in k
        ),
        rel=1e-5,
    )


@pytest.mark.parametrize("name", ["adamw", "adamp", "adam"])
def test_every_optimiser_trains_and_resumes(tmp_path, name):
    toy.train(tmp_path / "a", optimizer=name, epochs=2)
    straight, _ = toy.train(None, optimizer=name, epochs=2)
    assert same(straight.state_dict(), toy.train(tmp_path / "a", optimizer=name, epochs=2)[0].state_dict())


def test_rates_multiply_by_role_and_depth_and_only_matrices_decay():
    groups = [ParameterGroup("image_backbone", dict(nn.Linear(2, 2).named_parameters()), depth=2)]
    settings = Settings(lr=1.0, image_backbone_lr=0.01, layer_decay=0.5, weight_decay=0.1)
    matrix, vector = parameter_groups(groups, nn.Module(), settings)
    assert matrix["lr"] == vector["lr"] == pytest.approx(0.01 * 0.25)
    assert (matrix["weight_decay"], vector["weight_decay"]) == (0.1, 0.0)
    assert make_optimiser([matrix, vector], settings).param_groups[0]["base_lr"] == pytest.approx(0.0025)


def test_a_text_backbone_may_have_a_decay_of_its_own():
    roles = ("text_backbone", "image_backbone", "head")
    groups = [ParameterGroup(role, {"weight": nn.Linear(2, 2).weight}) for role in roles]
    for decay, expected in ((None, [0.1, 0.1, 0.1]), (0.01, [0.01, 0.1, 0.1]), (0.0, [0.0, 0.1, 0.1])):
        made = parameter_groups(
            groups, nn.Module(), Settings(weight_decay=0.1, text_backbone_decay=decay, text_backbone_lr=0.1)
        )
        assert [group["weight_decay"] for group in made] == expected
        assert made[0]["lr"] == pytest.approx(0.1 * made[2]["lr"])


def test_schedules_by_hand():
    cosine, step = (
        Settings(epochs=2, schedule="cosine"),
        Settings(epochs=20, schedule="step", step_epochs=(2, 4), step_factor=0.1),
    )
    rates = [learning_rate_factor(n, steps_per_epoch=2, settings=cosine) for n in range(4)]
    # cos(0), cos(pi/4), cos(pi/2), cos(3 pi/4), each (1 + c) / 2
    assert rates == pytest.approx([1, 0.853553, 0.5, 0.146447], abs=1e-6)
    assert [learning_rate_factor(n, steps_per_epoch=1, settings=step) for n in range(6)] == pytest.approx(
        [1, 1, 0.1, 0.1, 0.01, 0.01]
    )
    exponential = Settings(schedule="exponential")
    rates = [learning_rate_factor(n, steps_per_epoch=2, settings=exponential) for n in range(6)]
    assert rates == pytest.approx([1, 1, 0.9, 0.9, 0.81, 0.81])
    warm = Settings(epochs=2, schedule="constant", lr_warmup_steps=3)
    assert [learning_rate_factor(n, steps_per_epoch=9, settings=warm) for n in range(4)] == pytest.approx(
        [0.25, 0.5, 0.75, 1]
    )


def test_the_loss_ramps_up_after_the_warm_up():
    settings = Settings(warmup_epochs=1, ramp_epochs=1)
    assert [loss_ramp(n, steps_per_epoch=2, settings=settings) for n in range(5)] == pytest.approx(
        [1, 1, 0.5, 1, 1]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": "adan"}, "choose one of adamw, adamp, adam"),
        ({"sampler": "clusters", "batch_size": 100}, "clusters_per_batch=16: it must divide batch_size=100"),
        ({"sampler": "clusters", "clusters": 8}, "clusters=8 must be at least as many"),
        ({"epochs": -1}, "config.epochs is -1; it should be greater"),
        ({"lr": math.nan}, "finite number"),
        ({"batch_size": 1}, "greater than or equal to 2"),
    ],
)
def test_settings_outside_their_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Config(**changes)


@pytest.mark.parametrize("chunk", [0, 5])
def test_compiled_encoders_train_as_others(monkeypatch, chunk):
    straight, history = toy.train(None, epochs=1, chunk_size=chunk)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    compiled, found = toy.train(None, epochs=1, chunk_size=chunk, compile=True)
    assert found[-1]["loss"] == pytest.approx(history[-1]["loss"], rel=1e-6)
    for name, value in straight.state_dict().items():
        torch.testing.assert_close(compiled.state_dict()[name], value)


def test_an_optimiser_that_does_nothing_fails_every_test_of_training(monkeypatch):
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_, **__: None)
    with pytest.raises(AssertionError, match="training changed nothing"):
        toy.train(None, epochs=1)


def test_after_training_captions_find_their_images_and_before_they_did_not():
    def first_found(pair):
        everything = toy.source().batch(np.arange(toy.IMAGES * toy.EACH))
        pair.eval()
        with torch.no_grad():
            image, text = pair.image.encode_images(everything).mean, pair.text.encode_texts(everything).mean
        return ((image @ text.T).argmax(0) == everything.own).float().mean().item()

    start, _ = toy.train(None, epochs=0)
    end, _ = toy.train(None, epochs=20, warmup_epochs=0, lr=0.01, rsum=iter(range(99)).__next__)
    # By chance one in 24.
    assert first_found(start) < 0.3
    assert first_found(end) > 0.45


def test_patience_ends_a_run_early_and_a_killed_run_at_the_same_step(tmp_path):
    # epoch 0, 1, 2, ...: the best is epoch 2, and nothing is better for three epochs
    values = [1.0, 2.0, 3.0, 2.0, 3.0, 1.0, 9.0, 9.0]
    rsum = iter(values).__next__
    straight, history = toy.train(None, epochs=7, patience=3, rsum=rsum)
    assert [row["val/rsum"] for row in history] == values[:6]
    rsum = iter([*values[:4], KeyboardInterrupt()])

    def stopped():
        value = next(rsum)
        if isinstance(value, KeyboardInterrupt):
            raise value
        return value

    with pytest.raises(KeyboardInterrupt):
        toy.train(tmp_path, epochs=7, patience=3, rsum=stopped)
    resumed, found = toy.train(tmp_path, epochs=7, patience=3, rsum=iter(values[4:]).__next__)
    assert [row["val/rsum"] for row in found] == values[:6]
    assert same(resumed.state_dict(), straight.state_dict())
    assert toy.train(tmp_path, epochs=7, patience=3, rsum=pytest.fail)[1] == found
    assert len(toy.train(None, epochs=7, rsum=iter(values).__next__)[1]) == 8
    with pytest.raises(ValueError, match="set one of them to 0"):
        Config(patience=2, swa_from=2)


def test_a_batch_log_has_a_line_an_epoch_where_progress_is_wanted(capsys, monkeypatch):
    # another test of this process may have imported ipykernel, and then somebody may watch a bar
    monkeypatch.setenv("WORKBENCH_BATCH", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    source, both = toy.source(), {"model": None}
    for progress in (True, False):
        both["model"] = toy.Pair(toy.ImageTower(), toy.Words())
        settings = Settings(epochs=2, batch_size=6, captions_per_image=2, device="cpu")
        loop.fit(both["model"], toy.VSEPP(), source, lambda: {"rsum": 3.0}, settings, progress=progress)
        told = capsys.readouterr().err.splitlines()
        assert [line.partition(":")[0] for line in told] == [
            "epoch 1 of 2, step 4",
            "epoch 2 of 2, step 8",
        ] * progress
        assert all("val rsum 300.0" in line for line in told)
