from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from workbench import text
from workbench.text import tokens as module

POOL = ["a dog", "A dog runs", "the dog"]
ALL = np.arange(3)


def test_words_get_ids_after_the_four_special_ones_the_most_frequent_first():
    # dog 3 times, a twice, then alphabetically: runs, the
    maker = text.load("tokens").fit(POOL)
    assert maker.vocabulary == ["dog", "a", "runs", "the"]
    assert maker.transform(POOL).take(ALL).tolist() == [[2, 5, 4, 3, 0], [2, 5, 4, 6, 3], [2, 7, 4, 3, 0]]


def test_an_unknown_word_is_1_and_the_empty_caption_is_a_start_and_an_end():
    taken = text.load("tokens").fit(POOL).transform(["a zebra", ""]).take(np.array([0, 1]))
    assert taken.tolist() == [[2, 5, 1, 3], [2, 3, 0, 0]]
    assert taken.dtype == torch.int64


def test_a_batch_is_padded_to_its_own_longest_caption():
    signal = text.load("tokens").fit(POOL).transform([*POOL, "a dog runs the dog runs"])
    assert signal.take(np.array([0, 2])).shape == (2, 4)
    assert signal.take(np.array([3])).shape == (1, 8)
    assert len(signal) == 4


def test_a_long_caption_is_cut_and_keeps_its_end():
    signal = text.load("tokens", max_length=4).fit(POOL).transform(["a dog runs the dog"])
    assert signal.take(np.array([0])).tolist() == [[2, 5, 4, 3]]


def test_rare_words_may_be_left_out_and_a_fixed_vocabulary_is_not_fitted():
    assert text.load("tokens", min_count=2).fit(POOL).vocabulary == ["dog", "a"]
    fixed = text.load("tokens", vocabulary=["the", "dog"]).fit(POOL)
    assert fixed.vocabulary == ["the", "dog"]
    assert fixed.transform(["the a dog"]).take(np.array([0])).tolist() == [[2, 4, 1, 5, 3]]


def test_the_ids_of_a_caption_are_spelt():
    spelt = text.load("tokens").fit(["a dog", "a cat"]).token_texts(["A cat!", "a bird"])
    assert spelt == [["[start]", "a", "cat", "[end]"], ["[start]", "a", "[unknown]", "[end]"]]
    with pytest.raises(NotImplementedError, match="'descriptiveness' is not one of words"):
        text.load("descriptiveness").token_texts(["a dog"])
    clip = text.load("tokens", tokenizer="open_clip:ViT-B-32").token_texts(["a dog!"])
    assert clip == [["<start_of_text>", "a", "dog", "!", "<end_of_text>"]]


def test_the_vocabulary_survives_json():
    maker = text.load("tokens").fit(POOL)
    again = text.load("tokens").restore(json.loads(json.dumps(maker.state())))
    assert again.transform(POOL).take(ALL).tolist() == maker.transform(POOL).take(ALL).tolist()


def test_open_clip_models_get_their_own_ids_without_padding_that_no_caption_needs():
    import open_clip

    captions = ["a dog!!", "", "a man riding a horse on a beach"]
    maker = text.load("tokens", tokenizer="open_clip:ViT-B-32").fit(captions)
    expected = open_clip.get_tokenizer("ViT-B-32")(captions)
    taken = maker.transform(captions).take(ALL)
    assert torch.equal(taken, expected[:, :10])
    assert (expected[:, 10:] == 0).all()
    assert maker.vocabulary == []


def test_a_context_shorter_than_the_models_cuts_captions():
    maker = text.load("tokens", tokenizer="open_clip:ViT-B-32", max_length=4)
    assert maker.transform(["a man riding a horse"]).take(np.array([0])).shape == (1, 4)


def test_a_tokenizer_that_pads_with_another_id_comes_out_padded_with_0():
    class Padding:
        pad_token_id = 1

    class Odd:
        tokenizer = Padding()

        def __call__(self, captions):
            return torch.tensor([[7, 0, 8, 1, 1], [7, 9, 9, 8, 1]])

    assert module._token_ids(Odd(), ["x", "y"]) == [[7, 0, 8], [7, 9, 9, 8]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenizer": "wrods"}, "tokenizer is 'wrods'; choose 'words' or 'open_clip:<model name>'"),
        ({"tokenizer": "open_clip:ViT-B-23"}, "no open_clip model 'ViT-B-23'; did you mean ViT-B-32"),
        ({"max_length": 2}, "max_length is 2; it should be greater than or equal to 3"),
    ],
)
def test_mistakes_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        text.load("tokens", **options)


def test_words_without_a_vocabulary_are_refused():
    with pytest.raises(ValueError, match="call fit"):
        text.load("tokens").transform(["a dog"])
