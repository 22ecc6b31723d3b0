"""A matrix of scores that was made elsewhere is evaluated as a model is."""

from __future__ import annotations

import json
import mmap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.data.images import raise_no_image
from workbench.records import Judgements, Split
from workbench.runs.scores import read_scores

IMAGES, CAPTIONS = 6, 15
OWN = np.arange(CAPTIONS) % IMAGES


def _split() -> Split:
    """Six images with two or three captions each, and grades of all pairs."""
    rng = np.random.default_rng(1)
    image_ids = tuple(f"{row}.png" for row in range(IMAGES))
    caption_ids = tuple(f"c{row}" for row in range(CAPTIONS))
    image, caption = np.nonzero(np.ones((IMAGES, CAPTIONS)))
    grades = rng.integers(0, 3, len(image)).astype(np.float32)
    grades[image == OWN[caption]] = 2
    graded = Judgements("graded", "0-2", (IMAGES, CAPTIONS), image, caption, grades)
    texts = tuple(f"a caption {row}" for row in range(CAPTIONS))
    return Split("toy", image_ids, texts, caption_ids, OWN, raise_no_image, judgements={"graded": graded})


SPLIT = _split()


def _vectors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {"images": torch.randn(IMAGES, 4, generator=generator),
            "texts": torch.randn(CAPTIONS, 4, generator=generator)}  # fmt: skip


@pytest.fixture(scope="module")
def by_vectors() -> wb.runs.result.Result:
    return wb.evaluate(**_vectors(), data=SPLIT, rounds=30)


@pytest.fixture(scope="module")
def cosines(by_vectors) -> np.ndarray:
    return by_vectors.scores


def _bits(result: object) -> dict[str, bytes]:
    return {label: values.tobytes() for label, values in result.values.items()}


def test_scores_of_cosines_give_the_numbers_of_their_vectors_to_the_last_bit(by_vectors, cosines):
    result = wb.evaluate(scores=cosines, data=SPLIT, rounds=30)
    assert _bits(result) == _bits(by_vectors)
    of_vectors = {measured.label: measured for measured in by_vectors.measurements}
    # the space of the vectors alone is not known
    left = {"modality_gap", "uniformity", "alignment"}
    assert {wb.MetricKey.parse(name).metric for name in set(of_vectors) - set(result)} <= left
    for measured in result.measurements:
        assert measured == of_vectors[measured.label]


def test_every_container_gives_the_same_scores(cosines, tmp_path):
    ids = {"image_ids": SPLIT.image_ids, "caption_ids": SPLIT.caption_ids}
    np.save(tmp_path / "s.npy", cosines)
    np.savez(tmp_path / "s.npz", scores=cosines, **{name: np.array(value) for name, value in ids.items()})
    torch.save({"scores": torch.tensor(cosines), **ids}, tmp_path / "s.pt")
    texts = {name: json.dumps(value) for name, value in ids.items()}
    save_file({"logits_per_image": np.ascontiguousarray(cosines)}, tmp_path / "s.safetensors", metadata=texts)
    table = pd.DataFrame(cosines, index=SPLIT.image_ids, columns=SPLIT.caption_ids)
    sources = [cosines, torch.tensor(cosines), cosines.tolist(), table, {"sims": cosines}]
    sources += [tmp_path / f"s.{ending}" for ending in ("npy", "npz", "pt", "safetensors")]
    for source in sources:
        read = read_scores(source, SPLIT)
        np.testing.assert_array_equal(read.in_order(SPLIT), cosines)
    assert isinstance(read_scores(tmp_path / "s.npy", SPLIT).values.base, np.memmap | mmap.mmap)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), turned=st.booleans(), form=st.sampled_from(["sides", "axes", "table"]))
def test_ids_say_in_which_order_and_which_way_scores_stand(seed, turned, form):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((IMAGES, CAPTIONS))
    # more than the data have, in another order
    images = rng.permutation([*SPLIT.image_ids, "other.png"])
    captions = rng.permutation([*SPLIT.caption_ids, "another", "one more"])
    table = pd.DataFrame(scores, SPLIT.image_ids, SPLIT.caption_ids).reindex(images, columns=captions)
    table = table.fillna(0.5)
    table = table.T if turned else table
    source: object = table
    if form == "sides":
        source = {"scores": table.to_numpy(), "image_ids": images, "caption_ids": captions}
    elif form == "axes":
        source = {"scores": table.to_numpy(), "row_ids": table.index, "column_ids": table.columns}
    np.testing.assert_array_equal(read_scores(source, SPLIT).in_order(SPLIT), scores)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int64", "bool"])
def test_numbers_of_any_kind_are_scores(kind):
    values = torch.arange(IMAGES * CAPTIONS).reshape(IMAGES, CAPTIONS).to(getattr(torch, kind))
    read = read_scores(values, SPLIT).values
    assert read.dtype == (np.float64 if kind == "int64" else np.float32)
    np.testing.assert_array_equal(read, values.double().numpy())


def test_a_matrix_stands_as_its_name_or_the_ids_of_one_side_say(cosines):
    captions = [f"c{row}" for row in range(CAPTIONS)]
    for source in ({"logits_per_text": cosines.T}, pd.DataFrame(cosines.T, index=captions)):
        np.testing.assert_array_equal(read_scores(source, SPLIT).values, cosines)


def test_as_many_images_as_captions_without_ids_are_read_as_they_stand_and_a_note_says_so():
    ids = tuple("abc")
    split = Split("square", ids, ids, tuple("def"), np.arange(3), raise_no_image)
    scores = np.arange(9.0).reshape(3, 3)
    named = pd.DataFrame(scores, index=list("def"))
    results = [wb.evaluate(scores=source, data=split, rounds=0) for source in (scores, named)]
    assert "rows are read as images" in " ".join(results[0].split.notes)
    assert results[1].split.notes == ()
    np.testing.assert_array_equal(results[1].scores, results[0].scores.T)


def _with(value: float) -> np.ndarray:
    scores = np.zeros((IMAGES, CAPTIONS))
    scores[2, 7] = value
    return scores


MISSHAPEN = {
    "turned": (np.zeros((CAPTIONS, IMAGES)), r"\(15, 6\).*needs \(6, 15\).*scores.T"),
    "small": (np.zeros((IMAGES, 3)), r"\(6, 3\).*needs \(6, 15\).*one each"),
    "flat": (np.zeros(IMAGES), r"shape \(6,\).*images in rows"),
    "nan": (_with(np.nan), "image '2.png' and caption 'c7' is nan"),
    "infinite": (_with(-np.inf), "image '2.png' and caption 'c7' is -inf.*runs"),
    "texts": (np.full((IMAGES, CAPTIONS), "a"), "real numbers"),
    "twice": ({"scores": _with(0), "image_ids": ["a"] * IMAGES}, "'a' stands twice"),
    "few ids": ({"scores": _with(0), "image_ids": ["a", "b"]}, "2 image ids"),
    "other ids": ({"scores": _with(0), "image_ids": list("abcdef")}, "image .'0.png'. has no scores"),
    "two": ({"a": _with(0), "b": _with(0)}, "a and b.*call one scores"),
    "nothing": ({"a": 3}, "called scores"),
    "no file": ("nowhere.npy", "no file nowhere.npy"),
    "a table": ("list.csv", "as runs"),
}


@pytest.mark.parametrize("case", MISSHAPEN)
def test_scores_that_do_not_fit_are_refused_in_one_line(case):
    source, message = MISSHAPEN[case]
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
        wb.evaluate(scores=source, data=SPLIT)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": SPLIT, "model": "scenes"}, "not a model and scores"),
        ({"data": SPLIT, **_vectors()}, "not vectors as images and texts and scores"),
        ({}, "with own and no data"),
        ({"data": SPLIT, "own": OWN}, "with own and no data"),
        ({"data": SPLIT, "device": "cpu"}, "device='cpu' belongs to a model"),
    ],
)
def test_what_does_not_belong_to_scores_is_one_line(options, message):
    with pytest.raises(ValueError, match=message):
        wb.evaluate(scores=_with(0), **options)


def test_scores_are_saved_opened_compared_and_explored(by_vectors, cosines, tmp_path):
    np.save(tmp_path / "mine.npy", cosines)
    result = wb.evaluate(scores=tmp_path / "mine.npy", data=SPLIT, rounds=30)
    result.save(tmp_path / "run")
    (tmp_path / "mine.npy").unlink()
    (opened,) = wb.open_runs(tmp_path / "run")
    assert opened.name.endswith("/mine")
    assert dict(opened) == dict(result)
    np.testing.assert_array_equal(opened.scores, cosines)
    verdict = wb.compare(opened, by_vectors).text_table().loc["rsum"].iloc[-1]
    assert "no difference" in verdict
    pd.testing.assert_frame_equal(wb.errors(opened), wb.errors(result))
    assert wb.explore(opened).query(image="2.png")[0]["id"] == SPLIT.caption_ids[int(cosines[2].argmax())]
    assert wb.evaluate(tmp_path / "run", rounds=0)["rsum"] == result["rsum"]
    (part,) = wb.open_runs(tmp_path / "run", images=3)
    np.testing.assert_array_equal(part.scores, cosines[:3][:, OWN < 3])


def test_damaged_scores_of_a_run_are_refused(cosines, tmp_path):
    wb.evaluate(scores=cosines, data=SPLIT, rounds=0).save(tmp_path / "run")
    (tmp_path / "run" / "scores.npy").write_bytes(b"\x93NUMPY" + b"0" * 100)
    (opened,) = wb.open_runs(tmp_path / "run")
    with pytest.raises(ValueError, match=r"scores\.npy"):
        _ = opened.scores


def test_scores_may_come_with_own_and_without_data(by_vectors, cosines):
    result = wb.evaluate(scores=cosines, own=OWN, rounds=0)
    assert result["rsum"] == by_vectors["rsum"]
    named = pd.DataFrame(cosines, SPLIT.image_ids, SPLIT.caption_ids)
    assert wb.evaluate(scores=named, own=OWN, rounds=0).split.image_ids == SPLIT.image_ids


def test_a_matrix_that_is_too_large_for_memory_is_read_by_rows(cosines, tmp_path, monkeypatch):
    whole = wb.evaluate(scores=cosines, data=SPLIT, rounds=0)
    for module in ("model", "result", "scores"):
        monkeypatch.setattr(f"workbench.runs.{module}.WHOLE", 0)
    np.savez(tmp_path / "s.npz", scores=cosines.T, image_ids=SPLIT.image_ids, caption_ids=SPLIT.caption_ids)
    lazy = wb.evaluate(scores=tmp_path / "s.npz", data=SPLIT, rounds=0)
    assert _bits(lazy) == _bits(whole)
    (tmp_path / "s.npz").unlink()
    lazy.save(tmp_path / "run")
    (opened,) = wb.open_runs(tmp_path / "run")
    np.testing.assert_array_equal(opened.ranks("i2t"), whole.ranks("i2t"))


def test_the_command_compares_files_of_scores_with_a_model(tmp_path):
    data = wb.load_data("scenes", split="test", size=12)
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((12, len(data.captions))))
    words = ["evaluate", "--data", "scenes", "-p", "data.size=12", "--rounds", "20", "--root", str(tmp_path)]
    files = [str(tmp_path / f"{name}.npy") for name in ("a", "b")]
    two = CliRunner().invoke(app, [*words, "--scores", files[0], "--scores", files[1], "--json"])
    assert two.exit_code == 0, two.output
    printed = json.loads(two.stdout)
    assert [Path(result["name"]).name for result in printed["results"]] == ["a", "b"]
    assert printed["differences"]
    (tmp_path / "c.npy").write_bytes(np.zeros((3, 4)).tobytes())
    bad = CliRunner().invoke(app, [*words, "--scores", str(tmp_path / "c.npy")])
    assert (bad.exit_code, bad.output.count("\n")) == (2, 1)
