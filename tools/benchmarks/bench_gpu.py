"""What a GPU does, beside open_clip's own loop and the encoder alone:
``python -m tools.benchmarks.bench_gpu``.

Photographs of noise, 256 pixels wide, are written as JPEG files with a caption each. ViT-B/32 with random
weights trains on them in bf16 by InfoNCE, by ``fit`` and by ``open_clip_train``'s ``train_one_epoch``, from
the same files with as many readers, and steps of both are timed on a batch that lies on the GPU already. Then
the share of each loss in such a step, and ``evaluate`` beside its encoder and its decoder alone.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from machine_bench import loss_seconds, median_seconds
from open_clip_train.train import train_one_epoch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from tools.benchmarks.recorded import record
from workbench import evaluate, objectives
from workbench.io.ahead import in_threads
from workbench.runs import Config, prepare
from workbench.training import deterministic_algorithms, fit
from workbench.training.batches import BatchShard, Shards
from workbench.training.loop import Training

MODEL, WORDS = "ViT-B-32", ["a", "dog", "runs", "over", "wet", "grass", "beside", "an", "old", "red", "house"]
WORKERS = max(0, (os.cpu_count() or 1) - 2)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISION = "amp_bf16" if DEVICE == "cuda" else "fp32"


def photographs(folder: Path, images: int, captions: int = 1) -> Path:
    """A folder of images with captions; one in a hundred is tested on."""
    folder.mkdir()
    drawn = np.random.default_rng(0)

    def write(row: int) -> None:
        coarse = np.random.default_rng(row).integers(0, 255, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((340, 256), Image.Resampling.BICUBIC).save(folder / f"{row}.jpg")

    in_threads(write, range(images))
    with (folder / "metadata.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file_name", "text", "split"])
        for row in range(images):
            part = "val" if row % 100 == 0 else "test" if row % 100 == 1 else "train"
            for _ in range(captions):
                rows.writerow([f"{row}.jpg", f"{' '.join(drawn.choice(WORDS, 11))} {row}", part])
    return folder


class Thumbnails(Dataset[Any]):
    """What open_clip's loop reads: pixels as its own preparation makes them, and tokens."""

    def __init__(self, folder: Path, prepare: Callable[[Image.Image], torch.Tensor]) -> None:
        with (folder / "metadata.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["split"] == "train"]
        self.files, self.prepare = [folder / row["file_name"] for row in rows], prepare
        self.tokens = open_clip.get_tokenizer(MODEL)([row["text"] for row in rows])

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.prepare(Image.open(self.files[row]).convert("RGB")), self.tokens[row]


class Given:
    """A loader as ``train_one_epoch`` reads it."""

    def __init__(self, batches: Any, size: int) -> None:
        self.batches, self.num_batches, self.num_samples = batches, len(batches), len(batches) * size
        self.dataloader = self

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)

    def set_epoch(self, epoch: int) -> None:
        """Nothing changes with it."""


def theirs(batches: Any, size: int, epochs: int) -> float:
    """Seconds of the last epoch of open_clip's loop."""
    model = open_clip.create_model(MODEL, device=DEVICE, output_dict=True)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)
    args = Namespace(
        device=DEVICE, precision=PRECISION, distill=False, skip_scheduler=True, accum_freq=1, horovod=False,
        grad_clip_norm=2.0, rank=0, local_rank=0, log_local=False, log_every_n_steps=16, batch_size=size,
        world_size=1, wandb=False,
    )  # fmt: skip
    given, ours = Given(batches, size), open_clip.loss.ClipLoss()
    found = 0.0
    for epoch in range(epochs):
        began = time.perf_counter()
        train_one_epoch(model, {"train": given}, ours, epoch, optimiser, None, None, None, args)
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        found = time.perf_counter() - began
    return found


def from_files(folder: Path, size: int) -> dict[str, float]:
    """Pairs a second of both loops, from the files."""
    made = prepare(settings(folder, size, WORKERS, 3), progress=False)
    assert made.train is not None
    history = fit(
        made.model.pair, made.model.objective, made.train, lambda: {"rsum": 0.0}, made.config,
        progress=False,
    )  # fmt: skip
    steps = history[-1]["steps"] - history[-2]["steps"]
    ours = steps * size / (history[-1]["seconds"] - history[-2]["seconds"])
    thumbnails = Thumbnails(folder, open_clip.image_transform(224, is_train=False))
    reader = DataLoader(thumbnails, size, shuffle=True, num_workers=WORKERS, pin_memory=True, drop_last=True)
    their = len(reader) * size / theirs(reader, size, 3)
    return {"ours, pairs a second": ours, "open_clip, pairs a second": their}


def settings(folder: Path, size: int, workers: int, epochs: int) -> Config:
    """Training of all weights on the images of a folder."""
    return Config(
        objective="infonce", data=str(folder), text_encoder="towers",
        image_encoder={"name": "towers", "model": MODEL, "pretrained": ""}, batch_size=size,
        captions_per_image=1,
        epochs=epochs, lr=1e-5, workers=workers, precision="auto", seed=0,
    )  # fmt: skip


def on_a_batch(folder: Path, size: int, steps: int) -> dict[str, float]:
    """Seconds of a step of both loops on a batch that is there, and of ours without deterministic kernels."""
    found = {}
    for name, deterministic in (("our step", True), ("our step, not deterministic", False)):
        config = settings(folder, size, 0, 1).replace(deterministic=deterministic)
        made = prepare(config, progress=False)
        assert made.train is not None
        training = Training(made.model.pair, made.model.objective, made.train, made.config, None)
        shard = Shards(made.train)[training.epoch_order(0)[0]].to(training.device)

        def several(training: Training = training, shard: BatchShard = shard) -> None:
            for _ in range(steps):
                training.train_step(shard)

        with deterministic_algorithms(deterministic):
            found[name] = median_seconds(several) / steps
    pixels = torch.randn(size, 3, 224, 224, device=DEVICE)
    tokens = open_clip.get_tokenizer(MODEL)([" ".join(WORDS)] * size).to(DEVICE)
    found["open_clip's step"] = theirs([(pixels, tokens)] * steps, size, 3) / steps
    return found


def losses(size: int, step: float) -> dict[str, float | str]:
    """The share of each loss in a step."""
    found: dict[str, float | str] = {}
    for name in objectives.names():
        try:
            found[name] = loss_seconds(name, size, rounds=3) / step
        except torch.cuda.OutOfMemoryError:
            found[name] = "no memory"
        torch.cuda.empty_cache()
    return found


def evaluation(folder: Path, images: int) -> dict[str, float]:
    """Seconds of ``evaluate``, of its encoder on inputs that are there, and of reading the images alone."""
    from workbench import load_data, open_model

    model, split = open_model(MODEL, device=DEVICE, random_weights=True), load_data(str(folder), split="all")
    assert len(split.image_ids) == images
    found: dict[str, float] = {}
    for name, precision in (("float32", "float32"), ("bf16", "bf16" if DEVICE == "cuda" else "float32")):
        began = time.perf_counter()
        evaluate(model, split, precision=precision)
        found[f"evaluate, {name}"] = time.perf_counter() - began
    source = model.source(split, every_signal=False)
    began = time.perf_counter()
    for start in range(0, images, 256):
        source.image_batch(np.arange(start, min(start + 256, images)))
    found["images are read from files"] = time.perf_counter() - began
    # they are kept now
    found["encoding of what lies in memory, float32"] = median_seconds(lambda: model.embed(source), 2)
    image, text = model.embed(source)
    found["numbers with intervals, from vectors"] = median_seconds(
        lambda: evaluate(images=image.mean.numpy(), texts=text.mean.numpy(), own=split.own), 1
    )
    return found


def main(size: int = 1024, images: int = 8192, tested: int = 5000, steps: int = 8) -> None:
    """Write every part, and say it as it comes."""
    about = {
        "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu",
        "torch": torch.__version__,
    }
    figures: dict[str, Any] = {**about, "batch": size, "workers": WORKERS}
    with tempfile.TemporaryDirectory() as place:
        folder = photographs(Path(place) / "train", images)
        print("written", flush=True)
        figures |= {"step": on_a_batch(folder, size, steps)}
        print(figures, flush=True)
        figures |= {"losses": losses(size, figures["step"]["our step"])}
        print(figures["losses"], flush=True)
        figures |= {"files": from_files(folder, size)}
        print(figures["files"], flush=True)
        figures |= {"evaluation": evaluation(photographs(Path(place) / "test", tested, 5), tested)}
        print(figures["evaluation"], flush=True)
    record("gpu", figures)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
