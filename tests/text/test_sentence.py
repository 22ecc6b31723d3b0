"""The sentence judge: cosines by hand, a slow double loop, blocks, the cache, and what the packaged encoder
says."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tests.text.test_word_features import make
from workbench import text
from workbench.text import sentence as module
from workbench.text.word_features import WordFeatures

VECTORS = np.array([[1, 0], [0.6, 0.8], [0, 1], [-1, 0]], dtype=np.float32)
OWN = np.array([0, 0, 1, 1])
CAPTIONS = ["a dog runs on grass", "a dog", "dog runs", "a stranger", "grass", "a dog"]
IMAGES = np.array([1, 0, 2, 1, 0, 2])
OVER = ["best", "mean", "soft-best"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tiny"), seed=0)


def load(folder, **options):
    return text.load("sentence", model=str(folder), **options)


def compared(folder, vectors=VECTORS, own=OWN, images=None, left_out=False, **options):
    images = images or int(own.max()) + 1
    return module.SentenceRelevance(
        load(folder, **options), vectors, vectors, own, images, leave_one_out=left_out
    )


def slow(vectors, own, images, over, t, left_out):
    """Every image and caption on its own, in Python numbers."""
    out = np.zeros((images, len(vectors)))
    for image in range(images):
        for caption, vector in enumerate(vectors.tolist()):
            cosines = [
                sum(a * b for a, b in zip(vector, vectors[r].tolist(), strict=True))
                for r in range(len(own))
                if own[r] == image and not (left_out and r == caption)
            ]
            if not cosines:
                continue
            value = {
                "best": max(cosines),
                "mean": sum(cosines) / len(cosines),
                "soft-best": t * math.log(sum(math.exp(c / t) for c in cosines) / len(cosines)),
            }[over]
            out[image, caption] = min(max(value, 0), 1)
    return out


def test_four_vectors_give_the_worked_scores(folder):
    # Image 0 has (1, 0) and (.6, .8), image 1 has (0, 1) and (-1, 0). Cosines of (.6, .8) with them: .6, 1,
    # .8, -.6, so best 1 and .8, mean .8 and .1; those of (-1, 0) with image 0: -1 and -.6, below 0, so 0.
    best, mean = (compared(folder, over=over).dense() for over in ("best", "mean"))
    np.testing.assert_allclose(best, [[1, 1, 0.8, 0], [0, 0.8, 1, 1]], atol=1e-6)
    np.testing.assert_allclose(mean, [[0.8, 0.8, 0.4, 0], [0, 0.1, 0.5, 0.5]], atol=1e-6)
    # soft-best at t = .5 of .6 and 1: .5 log((e^1.2 + e^2) / 2) = .5 log 5.354587 = .838977
    soft = compared(folder, over="soft-best", temperature=0.5).dense()
    assert soft[0, 1] == pytest.approx(0.838977, abs=1e-6)


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("left_out", [False, True])
def test_it_is_the_slow_double_loop(folder, over, left_out):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((23, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    own = np.sort(rng.integers(0, 9, 23))[rng.permutation(23)]
    made = compared(folder, vectors, own, 10, left_out, over=over, temperature=0.2)
    expected = slow(vectors, own, 10, over, 0.2, left_out)
    np.testing.assert_allclose(made.dense(), expected, atol=1e-6)
    assert (made.dense()[9] == 0).all()


@pytest.mark.parametrize("over", OVER)
def test_blocks_and_batches_are_parts_of_the_whole_however_few_cosines_are_held(folder, over, monkeypatch):
    made = load(folder, over=over).transform(CAPTIONS, IMAGES, images=4)
    whole = made.dense()
    monkeypatch.setattr(module, "CELLS", 1)
    np.testing.assert_allclose(made.dense(), whole, atol=1e-6)
    parts = np.concatenate([scores for _, scores in made.blocks(4)], axis=1)
    np.testing.assert_allclose(parts, whole, atol=1e-6)
    images, captions = np.array([2, 0, 2, 3]), np.array([5, 0, 0])
    np.testing.assert_allclose(made.take(images, captions), whole[images][:, captions], atol=1e-6)
    assert made.take(images[:0], captions).shape == (0, 3)
    assert made.take(images, captions[:0]).shape == (4, 0)


def test_soft_best_is_the_best_for_a_small_temperature_and_the_mean_for_a_large_one(folder):
    vectors = np.abs(VECTORS)
    best, mean = (compared(folder, vectors, over=over).dense() for over in ("best", "mean"))
    cold, warm = (compared(folder, vectors, over="soft-best", temperature=t).dense() for t in (1e-4, 1e3))
    np.testing.assert_allclose(cold, best, atol=1e-3)
    np.testing.assert_allclose(warm, mean, atol=1e-3)


def test_one_caption_an_image_leaves_no_choice(folder):
    one = np.arange(4)
    made = [compared(folder, own=one, over=over).dense() for over in OVER]
    np.testing.assert_allclose(made[0], np.clip(VECTORS @ VECTORS.T, 0, 1), atol=1e-6)
    np.testing.assert_allclose(made[1], made[0], atol=1e-6)
    np.testing.assert_allclose(made[2], made[0], atol=1e-6)
    left = [compared(folder, own=one, left_out=True, over=over).dense() for over in OVER]
    assert all((np.diag(scores) == 0).all() for scores in left)


def test_a_vector_is_the_mean_of_the_tokens_or_the_first_and_has_length_1(folder):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, encoder = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = {pooling: load(folder, pooling=pooling).vectors(CAPTIONS) for pooling in ("mean", "first")}
    for row, caption in enumerate(CAPTIONS):
        with torch.no_grad():
            tokens = encoder(**tokenizer(caption, return_tensors="pt")).last_hidden_state[0].numpy()
        for pooling, alone in (("mean", tokens.mean(axis=0)), ("first", tokens[0])):
            np.testing.assert_allclose(found[pooling][row], alone / np.linalg.norm(alone), atol=1e-5)


def test_texts_from_elsewhere_are_compared_like_those_of_the_images(folder):
    maker = load(folder)
    whole = maker.transform(CAPTIONS, IMAGES).dense()
    np.testing.assert_allclose(maker.compare(CAPTIONS, CAPTIONS, IMAGES).dense(), whole, atol=1e-6)
    assert maker.compare([], CAPTIONS, IMAGES).dense().shape == (3, 0)
    assert maker.transform([], np.zeros(0, int), images=2).dense().shape == (2, 0)


def test_vectors_are_kept_by_text_and_weights(folder, tmp_path, tmp_path_factory, monkeypatch):
    first = load(folder, cache=str(tmp_path)).vectors(CAPTIONS)
    other = load(make(tmp_path_factory.mktemp("other"), seed=1), cache=str(tmp_path)).vectors(CAPTIONS)
    assert not np.allclose(first, other)
    read = []
    spoken = WordFeatures.tokens
    monkeypatch.setattr(
        WordFeatures, "tokens", lambda self, captions: (read.extend(captions), spoken(self, captions))[1]
    )
    again = load(folder, cache=str(tmp_path)).vectors(["dog runs", "runs on", *CAPTIONS])
    np.testing.assert_array_equal(again[2:], first)
    assert read == ["runs on"]
    assert len(list(tmp_path.glob("sentence-*.sqlite"))) == 2


def test_the_rule_says_what_the_packaged_encoder_was_trained_on(folder):
    made = text.load("sentence").transform(["a dog runs", "two people eat"], np.array([0, 1]))
    assert made.name == "sentence-best"
    assert made.rule.endswith("trained on captions, COCO's and Flickr30K's among them, though not on ratings")
    assert load(folder).trained == "whether the encoder was trained on captions stands in its own model card"


def test_the_packaged_encoder_puts_a_paraphrase_before_shared_words():
    references = ["A little boy is laughing on a swing", "A man is cooking on a stove"]
    found = text.load("sentence").compare(["A small child giggles at the playground"], references, [0, 1])
    own, other = found.dense()[:, 0]
    assert own > 0.5 > 0.3 > other


def test_a_state_belongs_to_its_weights(folder, tmp_path):
    state = json.loads(json.dumps(load(folder).state()))
    assert load(folder).restore(state).state() == state
    with pytest.raises(ValueError, match="made with revision"):
        load(make(tmp_path, seed=2)).restore(state)


def test_bad_options_are_refused_with_their_remedy(folder, tmp_path):
    with pytest.raises(ValueError, match="over is 'bset'; did you mean best"):
        load(folder, over="bset")
    with pytest.raises(ValueError, match="temperature"):
        load(folder, temperature=0)
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        text.load("sentence", model=str(tmp_path))
    with pytest.raises(ValueError, match="own has shape"):
        load(folder).transform(CAPTIONS, OWN)
    pooled = tmp_path / "first"
    (pooled / "1_Pooling").mkdir(parents=True)
    make(pooled, seed=0)
    stated = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (pooled / "1_Pooling" / "config.json").write_text(json.dumps(stated))
    with pytest.raises(ValueError, match="pools by cls_token, which is not pooling='mean'"):
        load(pooled)
    assert load(pooled, pooling="first").pooling == "first"
