from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import cider as oracle
from workbench import text
from workbench.records import SceneGraph
from workbench.text.tuple_f1 import TupleF1Relevance, TupleScore, tuple_f1, tuple_scores

GIRL = SceneGraph(("girl", "court"), ((0, "young"),), ((0, "on", 1),))
TRUTH = SceneGraph(("girl", "court", "racket"), ((0, "young"),), ((0, "holding", 2),))
SYNONYMS = [{"a", "b"}, {"on", "upon"}]
NAMES = st.sampled_from("abcd")


@st.composite
def graphs(draw):
    objects = tuple(draw(st.lists(NAMES, max_size=4)))
    node = st.integers(0, max(len(objects) - 1, 0))
    size = 3 if objects else 0
    attributes = draw(st.lists(st.tuples(node, NAMES), max_size=size))
    relations = draw(st.lists(st.tuples(node, st.sampled_from(["on", "upon", "by"]), node), max_size=size))
    return SceneGraph(objects, tuple(attributes), tuple(relations))


def words_as_objects(captions):
    """A parser that needs no model: every word is an object."""
    return [SceneGraph(tuple(caption.split())) for caption in captions]


def test_the_girl_on_the_court_gives_the_worked_figures():
    # Matched: girl, court, girl-young. 3 of 4 of the candidate, 3 of 5 of the references, 2 * .75 * .6 / 1.35
    whole = tuple_scores(GIRL, [TRUTH])["all"]
    assert (whole.precision, whole.recall) == (0.75, 0.6)
    assert tuple_f1(GIRL, [TRUTH]) == whole.f1 == pytest.approx(0.666667, abs=1e-6)


def test_every_part_has_its_own_figures():
    # objects 2 of 2 and of 3; attributes 1 of 1 and of 1; relations "on" against "holding"
    parts = tuple_scores(GIRL, [TRUTH])
    assert parts["objects"] == TupleScore(2, 2, 3)
    assert parts["attributes"] == TupleScore(1, 1, 1)
    assert parts["relations"] == TupleScore(0, 1, 1)
    assert parts["objects"] + parts["attributes"] + parts["relations"] == parts["all"] == TupleScore(3, 4, 5)


def test_references_are_taken_together_and_a_tuple_counts_once():
    # girl, court, racket: {girl}, {girl, court}, {racket} -> union of 3; candidate girl, court: P 1, R 2/3,
    # F1 4/5
    references = [SceneGraph(("girl",)), SceneGraph(("girl", "court")), SceneGraph(("racket", "racket"))]
    assert tuple_f1(SceneGraph(("girl", "court")), references) == pytest.approx(0.8)


def test_synonyms_match_in_every_part():
    other = SceneGraph(("lady", "field"), ((0, "little"),), ((0, "upon", 1),))
    synonyms = [{"girl", "lady"}, ("court", "field"), ["young", "little"], {"on", "upon"}]
    assert tuple_f1(GIRL, [other]) == 0
    assert tuple_f1(GIRL, [other], synonyms) == 1


def test_graphs_without_tuples_match_nothing():
    empty = SceneGraph(())
    score = tuple_scores(empty, [empty])["all"]
    assert (score.precision, score.recall, score.f1) == (0, 0, 0)
    assert tuple_f1(GIRL, []) == tuple_f1(empty, [GIRL]) == 0
    assert TupleF1Relevance([empty, GIRL], [empty], np.array([1]), 2).dense().tolist() == [[0, 0], [0, 0]]


@given(candidates=st.lists(graphs(), max_size=5), references=st.lists(graphs(), max_size=6), data=st.data())
def test_the_matrix_and_the_pairwise_function_equal_a_loop_over_tuples(candidates, references, data):
    own = np.array([data.draw(st.integers(0, 3)) for _ in references], dtype=np.int64)
    for synonyms in ([], SYNONYMS):
        found = TupleF1Relevance(candidates, references, own, 4, synonyms)
        whole = found.dense()
        assert whole.shape == found.shape == (4, len(candidates))
        for image in range(4):
            mine = [references[row] for row in np.flatnonzero(own == image)]
            for t, candidate in enumerate(candidates):
                expected = oracle.tuple_f1(candidate, mine, synonyms)
                assert whole[image, t] == pytest.approx(expected, abs=1e-6)
                assert tuple_f1(candidate, mine, synonyms) == pytest.approx(expected, abs=1e-12)
        np.testing.assert_array_equal(
            np.concatenate([whole[:, :0], *(s for _, s in found.blocks(2))], axis=1), whole
        )


def test_a_batch_is_cut_from_the_whole_matrix():
    captions, own = ["a b", "b c", "c", "a a d"], np.array([0, 0, 1, 1])
    found = text.load("tuple_f1", parser=words_as_objects).fit(captions, own).transform(captions, own)
    # Image 0 has a, b, c; image 1 has c, a, d. "a b": 2 * 2 / (2 + 3) and 2 * 1 / (2 + 3)
    np.testing.assert_allclose(found.dense(), [[0.8, 0.8, 0.5, 0.4], [0.4, 0.4, 0.5, 0.8]], rtol=1e-6)
    taken = found.take(np.array([1, 0]), np.array([3, 3, 0]))
    assert taken.dtype == np.float32
    np.testing.assert_allclose(taken, [[0.8, 0.8, 0.4], [0.4, 0.4, 0.8]], rtol=1e-6)
    made = found.judgements(minimum=0.5)
    assert (made.name, sorted(zip(made.images.tolist(), made.captions.tolist()))) == (
        "tuple_f1", [(0, 0), (0, 1), (0, 2), (1, 2), (1, 3)],
    )  # fmt: skip


def test_texts_from_elsewhere_are_compared_with_every_image():
    maker = text.load("tuple_f1", parser=words_as_objects, synonyms=[["a", "x"]])
    found = maker.compare(["x", "y"], ["a", "b"], np.array([0, 1]), images=3)
    assert found.dense().tolist() == [[1, 0], [0, 0], [0, 0]]


def test_captions_are_parsed_by_the_scene_graph_signal():
    captions = ["A young girl stands on a court.", "A young girl is on a tennis court.", "Two dogs."]
    found = text.load("tuple_f1").transform(captions, np.array([0, 0, 1])).dense()
    parsed = text.load("scene_graph").transform(captions).graphs
    assert found[0, 0] == pytest.approx(tuple_f1(parsed[0], parsed[:2]))
    assert found[1].tolist() == [0, 0, 1]


def test_mistakes_are_refused_by_name():
    with pytest.raises(ValueError, match="'a' is in two synonym sets; join them into one"):
        text.load("tuple_f1", synonyms=[{"a", "b"}, {"a", "c"}])
    with pytest.raises(ValueError, match=r"own has shape \(2,\) for 1 captions"):
        TupleF1Relevance([GIRL], [TRUTH], np.array([0, 0]))
