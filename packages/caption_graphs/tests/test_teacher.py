"""The large reader that teaches the small one: its scores by hand, what it learns, and what it leaves out."""

import math

import pytest
import torch

from tests.tiny_bert import make
from tools.caption_graphs.teacher import Biaffine, Reading, Teacher, is_tree, teach

DOG = Reading(
    ["a", "dog", "runs", "on", "grass"],
    ["DT", "NN", "VBZ", "IN", "NN"],
    ["det", "nsubj", "ROOT", "prep", "pobj"],
    [1, 2, 2, 2, 3],
)
GRASS = Reading(["grass", "runs"], ["NN", "VBZ"], ["nsubj", "ROOT"], [1, 1])
TAGS, DEPS = sorted(set(DOG.tags)), sorted(set(DOG.deps))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tiny"), seed=0)


@pytest.fixture
def teacher(folder):
    torch.manual_seed(0)
    return Teacher(TAGS, DEPS, str(folder)).eval()


def test_the_score_of_a_head_is_the_bilinear_form_with_a_one_at_each_end():
    torch.manual_seed(0)
    layer = Biaffine(4, 3, 2).eval()
    words = torch.randn(1, 5, 4)
    scores = layer(words)
    assert scores.shape == (1, 5, 5, 2)
    for i, j, label in ((0, 3, 0), (4, 1, 1), (2, 2, 0)):
        below = torch.cat([torch.nn.functional.gelu(layer.below(words[0, i])), torch.ones(1)])
        above = torch.cat([torch.nn.functional.gelu(layer.above(words[0, j])), torch.ones(1)])
        torch.testing.assert_close(scores[0, i, j, label], below @ layer.product[label] @ above)


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([1, 1, 1], True),
        ([0], True),
        ([1, 2, 2, 2, 3], True),
        ([0, 1, 0], False),  # two roots
        ([1, 0, 2], False),  # a circle beside the root
        ([1, 0], False),  # no root
        ([2, 3, 2, 2], False),  # 0-2 and 1-3 cross
        ([2, 3, 3, 3], False),
        ([3, 2, 3, 3], True),
    ],
)
def test_a_tree_has_one_root_and_no_arcs_that_cross(heads, expected):
    assert is_tree(heads) is expected


def test_a_sentence_is_scored_alike_alone_and_beside_a_longer_one(teacher):
    alone, both = teacher([GRASS.words]), teacher([GRASS.words, DOG.words])
    torch.testing.assert_close(both.tags[0, :2], alone.tags[0])
    torch.testing.assert_close(both.heads[0, :2, :2], alone.heads[0])
    torch.testing.assert_close(both.deps[0, :2, :2], alone.deps[0])
    assert (both.heads[0, :, 2:] == -math.inf).all()


def test_the_loss_is_the_mean_over_words_of_three_logarithms(teacher):
    scores = teacher([GRASS.words])
    tag, head, dep = (part.log_softmax(-1)[0] for part in scores)
    expected = 0
    for i, word in enumerate(zip(GRASS.tags, GRASS.deps, strict=True)):
        expected -= tag[i, TAGS.index(word[0])] + head[i, 1] + dep[i, 1, DEPS.index(word[1])]
    torch.testing.assert_close(teacher.loss([GRASS]), expected / 2)
    torch.testing.assert_close(teacher.loss([GRASS, GRASS]), expected / 2)


def test_a_label_that_is_not_known_is_not_counted(teacher):
    scores = teacher([GRASS.words])
    tag, head, dep = (part.log_softmax(-1)[0] for part in scores)
    expected = -(tag[1, TAGS.index("VBZ")] + head[:, 1].mean() + dep[1, 1, DEPS.index("ROOT")])
    torch.testing.assert_close(
        teacher.loss([GRASS._replace(tags=["FW", "VBZ"], deps=["dative", "ROOT"])]), expected
    )


def test_it_reads_as_it_was_taught_in_the_order_given(teacher):
    taught = [DOG, GRASS]
    assert teacher.read([reading.words for reading in taught]) != taught
    teach(teacher, taught * 4, 150, 3e-3, 0, "two sentences")
    assert teacher.read([GRASS.words, DOG.words, GRASS.words]) == [GRASS, DOG, GRASS]


def test_what_is_no_tree_is_left_out(teacher):
    """All words score the same, so that each takes the first one as its head, which is a tree of one root;
    with the scores of the first one as a head of itself taken away there is none.
    """
    for value in teacher.arc.parameters():
        torch.nn.init.zeros_(value)
    reading = teacher.read([DOG.words])[0]
    assert reading is not None
    assert (reading.heads, reading.deps[0]) == ([0] * 5, "ROOT")
    whole = teacher.forward

    def rootless(sentences):
        scores = whole(sentences)
        scores.heads[:, 0, 0] = -math.inf
        return scores

    teacher.forward = rootless
    assert teacher.read([DOG.words]) == [None]


def test_an_encoder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"teacher: .* holds no config.json"):
        Teacher(TAGS, DEPS, str(tmp_path))
