"""What processes read ahead is what one thread reads, in order, and an error is that of the reader."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

from workbench.io import ahead
from workbench.runs.models import open_model
from workbench.training.batches import Pixels


def squares(rows):
    if 7 in rows:
        raise ValueError("row 7: no such number")
    return torch.as_tensor(rows) ** 2, os.getpid()


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_parts_come_in_order_from_elsewhere_or_from_here(processes):
    state = torch.get_rng_state()
    parts = [[1, 2], [3], [4, 5, 6], [8]]
    read = list(ahead.read_ahead(squares, parts, processes=processes))
    assert [values.tolist() for values, _ in read] == [[1, 4], [9], [16, 25, 36], [64]]
    assert (os.getpid() in {place for _, place in read}) == (processes == 0)
    assert torch.equal(state, torch.get_rng_state()), "the model's generator is not drawn from"


@pytest.mark.parametrize("processes", [0, 2])
def test_an_error_of_a_part_is_raised_in_its_own_words(processes):
    with pytest.raises(ValueError, match=r"^row 7: no such number$"):
        list(ahead.read_ahead(squares, [[1], [7]], processes=processes))


def test_processes_are_as_many_as_cores_and_shared_memory_allow(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)), raising=False)
    free = lambda size: monkeypatch.setattr(  # noqa: E731
        ahead.shutil, "disk_usage", lambda place: type("Usage", (), {"free": size})
    )
    free(10**9)
    assert ahead.reading_processes(10**6) == 14
    assert ahead.reading_processes(10**8) == 3
    free(64 * 2**20)
    assert ahead.reading_processes(38 * 2**20) == 0


def test_images_that_processes_read_give_the_same_vectors_and_are_kept(monkeypatch):
    import workbench as wb

    model = open_model("scenes", "scenes", device="cpu")
    data = wb.load_data("scenes", split="test", size=40)
    expected = model.embed(model.source(data))[0].mean
    counts = []

    def processes(pixels, device, count, at_once):
        counts.append(len(pixels._read_images))
        return 0 if counts[-1] else 2

    monkeypatch.setattr(Pixels, "processes", processes)
    source = model.source(data)
    for _ in range(2):
        np.testing.assert_array_equal(model.embed_images_of(source).mean, expected)
    assert counts == [0, 40]
