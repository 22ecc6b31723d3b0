from __future__ import annotations

import numpy as np
import pytest

from tests.views.explorer.toys import hand_space, toy_spaces
from workbench.runs import compare
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Filters, Question, Term


def test_captions_are_in_the_order_of_the_comparison_with_their_ranks():
    engine = Engine(toy_spaces())
    runs = [answerer.run for answerer in engine.answerers]
    ranks = compare.ranks(runs, "t2i")
    expected = [row for _, row in compare.choose_queries(ranks, engine.split, "t2i", (), 100)]
    found = engine.disagreements()
    assert [one["row"] for one in found] == expected
    assert all(one["ranks"] == ranks[:, one["row"]].tolist() for one in found)
    assert found is engine.disagreements(), "they are looked for once"


def test_the_first_is_the_worst_ratio_by_hand():
    # of caption 0 the runs see their image first and last of three; of the others alike
    one = hand_space([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    other = hand_space([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    turned = one.with_embeddings("turned", one.image, other.text.take(np.array([1, 1, 2])))
    (found,) = Engine([one, turned]).disagreements()
    assert (found["row"], found["ranks"], found["thumbnail"]) == (0, [1, 3], "0")


def test_by_grade_the_first_images_have_different_truth():
    engine = Engine(toy_spaces())
    grade = compare.make_grader(engine.split)
    found = engine.disagreements("grade")
    gaps = [max(one["grades"]) - min(one["grades"]) for one in found]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) > 0
    for one in found[:5]:
        first = np.array([answerer.run.scores[:, one["row"]].argmax() for answerer in engine.answerers])
        assert one["grades"] == pytest.approx(grade(first, np.array([one["row"]]))[:, 0])
    assert len({one["thumbnail"] for one in found}) == len(found), "one caption an image"


def test_what_cannot_be_compared_is_said():
    with pytest.raises(ValueError, match="nothing to disagree with"):
        Engine(toy_spaces(runs=1)).disagreements()
    one = hand_space([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="by rank"):
        Engine([one, one]).disagreements("grade")


def test_partners_stand_beside_the_answer_wherever_they_are():
    engine = Engine(toy_spaces())
    answer = engine.answer(Question((Term("caption", 7),), k=1))
    scores = engine.answerers[1].run.scores[:, 7]
    (own,) = answer.partners
    assert own.row == engine.split.own[7]
    assert own.ranks[1] == 1 + (scores > scores[own.row]).sum()
    captions = engine.answer(Question((Term("image", 3),), "captions", k=1)).partners
    assert {one.row for one in captions} == set(np.flatnonzero(engine.split.own == 3))
    assert captions[0].scores[0] == max(one.scores[0] for one in captions)
    assert engine.answer(Question((Term("text", "a purple submarine"),))).partners == ()


def test_a_filter_of_images_keeps_those():
    engine = Engine(toy_spaces())
    question = Question((Term("text", "a dog"),), k=30, filters=Filters(images=(4, 2)))
    assert sorted(engine.answer(question).columns[0]) == [2, 4]
    rows = engine.answer(
        Question((Term("image", 4),), "captions", k=99, filters=Filters(images=(2,)))
    ).columns[0]
    assert rows
    assert set(engine.split.own[list(rows)]) == {2}
