from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import cider as oracle
from workbench import text

CAPTIONS = [
    "a dog runs on the grass", "a brown dog is running",
    "a man rides a horse", "a person riding a brown horse",
    "a plate of food on a table", "food on a white plate",
]  # fmt: skip
OWN = np.array([0, 0, 1, 1, 2, 2])
WORLDS = st.lists(st.lists(st.text("ab c", max_size=14), min_size=1, max_size=3), min_size=1, max_size=4)
LOOSE = st.lists(st.text("abX c", max_size=14), max_size=3)


def fitted(captions=CAPTIONS, own=OWN, **options):
    return text.load("cider", **options).fit(captions, own)


def flat(world):
    return [caption for image in world for caption in image], np.repeat(
        np.arange(len(world)), [len(image) for image in world]
    )


def test_one_pair_gives_what_the_formula_gives_by_hand():
    # Two images, {"x y"} and {"z"}; every n-gram stands in one of them, idf = log 2. "x" against "x y":
    # unigrams: h = (log 2) and (log 2, log 2), cosine 1 / sqrt 2; the other orders of "x" are empty. Lengths
    # 0 and 1.
    found = fitted(["x y", "z"], [0, 1]).compare(["x"], ["x y", "z"], [0, 1]).dense()
    np.testing.assert_allclose(found[:, 0], [10 * np.exp(-1 / 72) / np.sqrt(2) / 4, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("cider-d", [[5.342274, 0, 0.087219], [5.342274, 0.100164, 0], [0, 5.401897, 0],
                     [0.100164, 5.401897, 0], [0.040597, 0, 6.489371], [0.046622, 0, 6.489371]]),
        ("cider", [[5.347061, 0, 0.088439], [5.347061, 0.101565, 0], [0, 5.407518, 0],
                   [0.101565, 5.407518, 0], [0.041165, 0, 6.574455], [0.047274, 0, 6.574455]]),
    ],
)  # fmt: skip
def test_three_images_of_two_captions_give_the_worked_matrix(variant, expected):
    found = fitted(variant=variant).transform(CAPTIONS, OWN)
    assert (found.name, found.shape) == (variant, (3, 6))
    np.testing.assert_allclose(found.dense().T, expected, atol=1e-6)


def test_texts_from_elsewhere_give_the_worked_rows():
    found = fitted().compare(["a dog on the table", "horse"], CAPTIONS, OWN).dense()
    np.testing.assert_allclose(found.T, [[1.681047, 0, 0.427315], [0, 1.076664, 0]], atol=1e-6)


@pytest.mark.parametrize("variant", ["cider-d", "cider"])
@given(world=WORLDS, loose=LOOSE, corpus=WORLDS)
def test_it_equals_a_loop_over_ngrams_with_frequencies_of_any_corpus(variant, world, loose, corpus):
    captions, own = flat(world)
    maker = fitted(*flat(corpus), variant=variant)
    for texts, found in (
        (loose, maker.compare(loose, captions, own).dense()),
        (captions, maker.transform(captions, own).dense()),
    ):
        expected = [[oracle.cider(one, references, corpus, variant) for one in texts] for references in world]
        np.testing.assert_allclose(found, np.array(expected).reshape(found.shape), atol=1e-6)


@given(world=WORLDS, seed=st.integers(0, 99))
def test_a_batch_and_a_block_are_cut_from_the_whole_matrix(world, seed):
    captions, own = flat(world)
    rng = np.random.default_rng(seed)
    for leave_one_out in (False, True):
        found = fitted(captions, own, leave_one_out=leave_one_out).transform(
            captions, own, images=len(world) + 1
        )
        whole = found.dense()
        images, rows = rng.integers(0, len(world) + 1, 4), rng.integers(0, len(captions), 5)
        np.testing.assert_allclose(found.take(images, rows), whole[np.ix_(images, rows)], atol=1e-6)
        pieces = list(found.blocks(2))
        assert [piece.start for piece, _ in pieces] == list(range(0, len(captions), 2))
        np.testing.assert_array_equal(np.concatenate([scores for _, scores in pieces], axis=1), whole)
        assert not whole[-1].any()


@given(world=WORLDS)
def test_a_caption_that_is_left_out_is_compared_with_the_others_of_its_image(world):
    captions, own = flat(world)
    found = fitted(captions, own, leave_one_out=True).transform(captions, own).dense()
    for t, caption in enumerate(captions):
        for image in range(len(world)):
            references = [captions[r] for r in np.flatnonzero(own == image) if r != t]
            assert found[image, t] == pytest.approx(oracle.cider(caption, references, world), abs=1e-6)


def test_a_batch_is_an_array_of_float32():
    taken = fitted().transform(CAPTIONS, OWN).take(np.array([2, 0]), np.array([5, 0, 0]))
    assert (taken.dtype, taken.shape) == (np.float32, (2, 3))
    np.testing.assert_allclose(
        taken, [[6.489371, 0.087219, 0.087219], [0.046622, 5.342274, 5.342274]], atol=1e-6
    )


@pytest.mark.parametrize("variant", ["cider-d", "cider"])
def test_a_caption_like_the_only_reference_scores_10_if_it_has_ngrams_of_all_orders(variant):
    captions = ["two dogs run on sand", "one cat"]
    found = fitted(captions, [0, 1], variant=variant).transform(captions, [0, 1]).dense()
    # "one cat" has unigrams and bigrams only: two orders of four.
    np.testing.assert_allclose(found, [[10, 0], [0, 5]], rtol=1e-6)


def test_repeats_are_clipped_by_cider_d_alone():
    # "dog dog dog dog" against "dog" and a second image: idf log 2. Unigrams: 4 log 2 against log 2, and
    # n-grams of higher order are not shared. CIDEr: cosine 1. CIDEr-D: min(4, 1) * 1 / (4 * 1) = 1/4, and the
    # lengths 3 and 0 differ.
    captions, own = ["dog", "cat"], [0, 1]
    score = {
        v: fitted(captions, own, variant=v).compare(["dog dog dog dog"], captions, own).dense()[0, 0]
        for v in ("cider", "cider-d")
    }
    assert score["cider"] == pytest.approx(2.5)
    assert score["cider-d"] == pytest.approx(2.5 / 4 * np.exp(-9 / 72))


def test_a_word_of_every_image_is_worth_nothing_and_one_image_has_no_scores():
    captions = ["a dog", "a cat"]
    assert fitted(captions, [0, 1]).compare(["a"], captions, [0, 1]).dense().tolist() == [[0], [0]]
    assert not fitted(CAPTIONS, np.zeros(6, int)).transform(CAPTIONS, np.zeros(6, int)).dense().any()


def test_the_order_of_references_and_an_image_without_any_do_not_matter():
    order = np.array([3, 0, 5, 1, 4, 2])
    shuffled = fitted([CAPTIONS[i] for i in order], OWN[order])
    again = shuffled.compare(CAPTIONS, [CAPTIONS[i] for i in order], OWN[order], images=4).dense()
    np.testing.assert_allclose(again[:3], fitted().transform(CAPTIONS, OWN).dense(), rtol=1e-6)
    assert not again[3].any()


def test_signs_belong_to_words_unless_the_words_of_the_other_signals_are_asked_for():
    captions, own = ["A dog.", "a cat"], [0, 1]
    score = {
        t: fitted(captions, own, tokens=t).compare(["dog"], captions, own).dense()[0, 0]
        for t in ("whitespace", "words")
    }
    assert score["whitespace"] == 0 < score["words"]


def test_judgements_list_the_pairs_from_a_minimum_on():
    found = fitted().transform(CAPTIONS, OWN)
    made = found.judgements(minimum=0.08, size=4)
    assert (made.name, made.shape, made.relevant_from, made.unlisted) == ("cider-d", (3, 6), 0.08, 0)
    whole = found.dense()
    np.testing.assert_array_equal(made.dense(), np.where(whole >= 0.08, whole, 0))
    assert len(found.judgements(minimum=11).grades) == 0
    with pytest.raises(ValueError, match="greater than 0"):
        found.judgements(minimum=0)


def test_what_was_learnt_survives_json():
    maker = fitted()
    again = text.load("cider").restore(json.loads(json.dumps(maker.state())))
    assert again.transform(CAPTIONS, OWN).dense().tolist() == maker.transform(CAPTIONS, OWN).dense().tolist()
    assert maker.state()["holding"]["brown"] == 2


def test_hostile_texts_are_scored_like_any_other():
    texts = [
        "",
        " ",
        "word " * 10_000,
        "<script>alert(1)</script>",
        "\x00\x07",
        "שלום עולם",
        "🐕 🐕",
        "a\u2028b",
    ]
    found = fitted().compare([*texts, *CAPTIONS], CAPTIONS, OWN).dense()
    assert np.isfinite(found).all()
    assert not found[:, : len(texts)].any()
    assert np.isfinite(fitted(texts, np.arange(8)).transform(texts, np.arange(8)).dense()).all()


def test_mistakes_are_refused_by_name():
    with pytest.raises(ValueError, match="variant is 'ciderd'; did you mean cider-d"):
        text.load("cider", variant="ciderd")
    with pytest.raises(ValueError, match="tokens is 'word'; did you mean words"):
        text.load("cider", tokens="word")
    with pytest.raises(ValueError, match="sigma is 0"):
        text.load("cider", sigma=0)
    with pytest.raises(ValueError, match=r"call fit\(captions, own\)"):
        text.load("cider").transform(CAPTIONS, OWN)
    with pytest.raises(ValueError, match=r"own has shape \(5,\) for 6 captions"):
        fitted().transform(CAPTIONS, OWN[:5])
    with pytest.raises(ValueError, match=r"own holds rows 0..2, there are 2 images"):
        fitted().transform(CAPTIONS, OWN, images=2)
    with pytest.raises(ValueError, match="made with tokens 'whitespace', this one has 'words'"):
        text.load("cider", tokens="words").restore(fitted().state())


def reference_scores(hypotheses, references):
    """``pycocoevalcap``, which calls CIDEr-D CIDEr: one hypothesis an image, frequencies of all images'
    references."""
    scorer = pytest.importorskip(
        "pycocoevalcap.cider.cider_scorer",
        reason="pycocoevalcap is not installed; pip install 'itm-workbench[test]'",
    ).CiderScorer()
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        scorer += (hypothesis.lower(), [one.lower() for one in texts])
    return scorer.compute_score()[1]


def test_it_equals_pycocoevalcap_on_the_worked_texts():
    references = [CAPTIONS[:2], CAPTIONS[2:4], CAPTIONS[4:]]
    hypotheses = ["a dog a dog a dog on the grass", "horse", ""]
    found = fitted().compare(hypotheses, CAPTIONS, OWN).dense()
    np.testing.assert_allclose(np.diag(found), reference_scores(hypotheses, references), atol=1e-6)


@pytest.mark.real_data
def test_it_equals_pycocoevalcap_on_5000_real_pairs_with_repeats_and_short_and_empty_texts(real_data):
    split = json.loads((real_data / "coco" / "karpathy_test_captions.json").read_text(encoding="utf-8"))
    references = [image["caption"] for image in split]
    captions, own = flat(references)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(captions), len(references))
    # A third are the image's own captions, so that high scores are among the pairs.
    rows[::3] = [rng.choice(np.flatnonzero(own == image)) for image in range(0, len(references), 3)]
    hypotheses = [captions[row] for row in rows]
    for n, image in enumerate(range(0, len(references), 10)):
        whole = hypotheses[image].split()
        changed = [
            whole * 2,
            [whole[0]],
            [],
            [whole[-1]] * 6,
            references[image][0].split()[:1],
            [*whole, *whole[:3]] * 2,
        ][n % 6]
        hypotheses[image] = " ".join(changed)
    maker = fitted(captions, own)
    found = maker.compare(hypotheses, captions, own)
    images = np.arange(len(references))
    diagonal = np.empty(len(references))
    for block, scores in found.blocks(1000):
        diagonal[block] = scores[images[block], np.arange(scores.shape[1])]
    expected = reference_scores(hypotheses, references)
    assert ((expected > 0).sum(), (expected > 1).sum()) > (2000, 1000)
    np.testing.assert_allclose(diagonal, expected, rtol=0, atol=1e-6)
    taken = np.concatenate(
        [np.diag(found.take(images[i : i + 100], images[i : i + 100])) for i in range(0, 5000, 100)]
    )
    np.testing.assert_allclose(taken, expected, rtol=0, atol=1e-6)
