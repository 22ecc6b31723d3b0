"""Ids of a pre-trained text encoder's tokenizer."""

from __future__ import annotations

import numpy as np
import pytest

from tests import tiny_bert
from workbench import text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_bert.make(tmp_path_factory.mktemp("tiny"), seed=0)


def test_ids_are_those_of_the_tokenizer_plus_one_and_padding_is_zero(folder):
    # [CLS] a dog [SEP] is 2 4 5 3 in the vocabulary of the folder, an unknown word 1
    made = text.load("word_pieces", model=str(folder)).transform(["a dog", "dog runs zebra on", ""])
    assert made.take(np.arange(3)).tolist() == [[3, 5, 6, 4, 0, 0], [3, 6, 7, 2, 8, 4], [3, 4, 0, 0, 0, 0]]


def test_the_pieces_of_a_caption_are_spelt(folder):
    for signal in ("word_pieces", "word_features"):
        spelt = text.load(signal, model=str(folder)).token_texts(["a dog", "dog runs zebra on"])
        assert spelt == [["[CLS]", "a", "dog", "[SEP]"], ["[CLS]", "dog", "runs", "[UNK]", "on", "[SEP]"]], (
            signal
        )


def test_long_captions_are_cut(folder):
    made = text.load("word_pieces", model=str(folder), max_length=4).transform(["a dog runs on grass"])
    assert made.take(np.arange(1)).tolist() == [[3, 5, 6, 4]]


def test_a_state_belongs_to_its_vocabulary(folder, tmp_path, monkeypatch):
    state = text.load("word_pieces", model=str(folder)).state()
    assert text.load("word_pieces", model=str(folder)).restore(state).transform(["a"]).flat.tolist() == [
        3,
        5,
        4,
    ]
    monkeypatch.setattr(tiny_bert, "WORDS", [*tiny_bert.WORDS, "cat"])
    with pytest.raises(ValueError, match="the state was made with fingerprint"):
        text.load("word_pieces", model=str(tiny_bert.make(tmp_path, seed=0))).restore(state)


def test_a_folder_without_a_model_is_named_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"word_pieces: .* holds no config\.json; give the folder"):
        text.load("word_pieces", model=str(tmp_path))
