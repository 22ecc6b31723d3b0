from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from tests.damage import KINDS, damage
from tests.tiny_bert import make
from workbench import text
from workbench.text import word_features as module

CAPTIONS = ["a dog runs on grass", "a dog", "", "dog runs", "a stranger"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of one layer with random weights, in the layout of a Hugging Face folder."""
    return make(tmp_path_factory.mktemp("tiny"), seed=0)


def load(folder, **options):
    return text.load("word_features", model=str(folder), **options)


def test_a_caption_has_the_features_it_has_alone_whatever_its_batch(folder):
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    taken = load(folder, batch_size=2).transform(CAPTIONS).take(np.arange(5))
    assert taken["values"].shape == (5, 7, 8)
    assert taken["mask"].sum(dim=1).tolist() == [7, 4, 2, 4, 4]
    for caption, values, mask in zip(CAPTIONS, taken["values"], taken["mask"], strict=True):
        with torch.no_grad():
            alone = model(**tokenizer(caption, return_tensors="pt")).last_hidden_state[0]
        torch.testing.assert_close(values[mask], alone, atol=5e-3, rtol=0)
        assert (values[~mask] == 0).all()


def test_features_are_float16_on_disk_and_float32_in_a_batch(folder, tmp_path):
    signal = load(folder, cache=str(tmp_path)).transform(CAPTIONS)
    assert isinstance(signal.flat, np.memmap)
    assert signal.flat.dtype == np.float16
    assert len(signal.flat) == 7 + 4 + 2 + 4 + 4
    assert len(signal) == 5
    taken = signal.take(np.array([1, 2]))
    assert (taken["values"].dtype, taken["mask"].dtype) == (torch.float32, torch.bool)
    assert torch.equal(taken["values"], load(folder).transform(CAPTIONS).take(np.array([1, 2]))["values"])


def test_a_second_maker_reads_the_cache_and_runs_no_encoder(folder, tmp_path, monkeypatch):
    first = load(folder, cache=str(tmp_path)).transform(CAPTIONS).take(np.arange(5))
    facts = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    assert (len(facts["lengths"]), sum(facts["lengths"])) == (5, 21)
    monkeypatch.setattr(module.WordFeatures, "tokens", None)
    second = load(folder, cache=str(tmp_path)).transform(CAPTIONS).take(np.arange(5))
    assert torch.equal(first["values"], second["values"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [".npy", ".json"])
def test_damaged_features_are_made_again_and_said_to_be(folder, tmp_path, kind, end):
    made = load(folder, cache=str(tmp_path)).transform(CAPTIONS)
    flat, starts = np.array(made.flat), made.starts
    (file,) = tmp_path.glob(f"[!.]*{end}")
    damage(file, kind)
    with pytest.warns(UserWarning, match=rf"{file.name} .*it is made again"):
        again = load(folder, cache=str(tmp_path)).transform(CAPTIONS)
    assert np.array_equal(again.flat, flat)
    assert np.array_equal(again.starts, starts)


def test_a_full_disk_is_an_error_before_the_first_caption_is_read(folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    monkeypatch.setattr(module.WordFeatures, "states", None)
    with pytest.raises(OSError, match="No space left"):
        load(folder, cache=str(tmp_path)).transform(CAPTIONS)
    assert list(tmp_path.glob("[!.]*")) == []


def test_other_captions_another_length_and_other_weights_have_other_files(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    cache = str(tmp_path / "cache")
    load(folder, cache=cache).transform(CAPTIONS)
    load(folder, cache=cache).transform(CAPTIONS[::-1])
    load(folder, cache=cache, max_length=4).transform(CAPTIONS)
    load(make(other, seed=1), cache=cache).transform(CAPTIONS)
    assert len(list((tmp_path / "cache").glob("[!.]*.npy"))) == 4


def test_an_extraction_that_breaks_leaves_nothing_that_looks_whole(folder, tmp_path, monkeypatch):
    def broken(self, tokens):
        raise RuntimeError("out of power")

    with monkeypatch.context() as patch:
        patch.setattr(module.WordFeatures, "states", broken)
        with pytest.raises(RuntimeError, match="out of power"):
            load(folder, cache=str(tmp_path)).transform(CAPTIONS)
    assert list(tmp_path.glob("[!.]*")) == []
    assert len(load(folder, cache=str(tmp_path)).transform(CAPTIONS)) == 5


def test_long_captions_are_cut(folder):
    assert load(folder, max_length=4).transform(CAPTIONS).take(np.arange(5))["mask"].sum(dim=1).tolist() == [
        4,
        4,
        2,
        4,
        4,
    ]


def test_weights_other_than_those_of_training_are_refused(folder, tmp_path):
    state = json.loads(json.dumps(load(folder).state()))
    assert load(folder).restore(state).transform(["a dog"]).flat.shape == (4, 8)
    with pytest.raises(ValueError, match=r"is at revision \w{12}, training used"):
        load(make(tmp_path, seed=2)).restore(state)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no config"):
        load(tmp_path)


def test_the_packaged_sentence_encoder_gives_384_dimensions():
    taken = text.load("word_features").transform(["a dog runs", "a dog"]).take(np.arange(2))
    assert taken["values"].shape == (2, 5, 384)
    assert taken["mask"].tolist() == [[True] * 5, [True] * 4 + [False]]


def test_a_few_captions_leave_no_file_where_the_cache_is_for_many(folder, tmp_path):
    load(folder, cache=str(tmp_path), cache_from=len(CAPTIONS) + 1).transform(CAPTIONS)
    assert list(tmp_path.glob("*.npy")) == []
    load(folder, cache=str(tmp_path), cache_from=len(CAPTIONS)).transform(CAPTIONS)
    assert len(list(tmp_path.glob("*.npy"))) == 1
