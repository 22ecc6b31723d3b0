"""What the explorer says of questions that were typed, edited or added up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scene_world as scenes

from tests.views.explorer.toys import hand_space, toy_space, toy_spaces
from workbench.records import Truth
from workbench.text import load
from workbench.text.tokens import Tokens
from workbench.views.explorer import notes
from workbench.views.explorer.engine import Answerer, Engine, count_true_images
from workbench.views.explorer.questions import Filters, Question, Term

nan = np.nan


def text(words, sign=1):
    return Term("text", words, sign)


def edited(part, index, word=""):
    return {"graph": {"changes": [{"part": part, "index": index, "word": word}]}}


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_spaces(40, runs=1))


def holding(engine, word):
    """Rows of the images that show a thing of this name."""
    return {row for row, graph in enumerate(engine.split.image_graphs) if word in graph.objects}


def marked(answer, mark="relevant"):
    return {item.row for item in answer.items if item.mark == mark}


def test_a_typed_question_is_graded_as_a_caption_is(engine):
    cats = holding(engine, "cat")
    answer = engine.answer(Question((text("one can see a cat"),), k=40))
    assert marked(answer) == cats
    assert marked(answer, "not") == set(range(40)) - cats
    assert answer.truth == f"True of {len(cats)} of the 40 images. Read as: a cat."
    assert answer.note == ""


def test_the_pinned_image_is_among_the_true_ones_or_not(engine):
    cats = sorted(holding(engine, "cat"))
    other = min(set(range(40)) - set(cats))
    ask = Question((text("one can see a cat"),))
    one, both = Question(ask.terms, pins=(cats[0],)), Question(ask.terms, pins=(cats[0], other))
    assert "; the pinned one is among them." in engine.answer(one).truth
    assert "; the pinned one is not among them." in engine.answer(Question(ask.terms, pins=(other,))).truth
    assert "; 1 of the 2 pinned ones are among them." in engine.answer(both).truth


def test_a_caption_of_the_data_keeps_its_grades_and_gets_its_line(engine):
    exact = engine.split.judgements["exact"].relevant()[:, 3]
    answer = engine.answer(Question((Term("caption", 3, name=engine.split.captions[3]),), k=40))
    assert answer.truth == f"True of {exact.sum()} of the 40 images."
    assert {item.row for item in answer.items if item.mark in ("own", "relevant")} == set(
        np.flatnonzero(exact)
    )


def test_a_sum_is_true_where_all_that_is_added_is_and_nothing_that_is_taken_away(engine):
    terms = (text("a plant"), text("at night", -1))
    plants = {
        row
        for row, graph in enumerate(engine.split.image_graphs)
        if {"tree", "flower", "cactus", "bush"} & set(graph.objects)
    }
    answer = engine.answer(Question(terms, k=40))
    expected = plants - holding(engine, "night")
    assert marked(answer) == expected
    assert answer.truth == f"True of {len(expected)} of the 40 images."
    assert notes.SUM in answer.note


def test_a_sum_with_an_unknown_word_is_false_where_another_part_is(engine):
    answer = engine.answer(Question((text("a unicorn"), text("a cat", -1)), k=40))
    assert marked(answer, "not") == holding(engine, "cat")
    assert marked(answer, "unknown") == set(range(40)) - holding(engine, "cat")


def test_a_sum_with_an_image_in_it_is_not_graded(engine):
    answer = engine.answer(Question((Term("image", 0), text("at night"))))
    assert answer.truth == ""
    assert "nobody judged" in answer.note
    assert {item.mark for item in answer.items} == {"unknown"}


def test_an_edited_graph_is_graded_by_what_it_says_now(engine):
    swap = Question((text("a nice photo of a cat"),), k=40, settings=edited("objects", 0, "bird"))
    assert marked(engine.answer(swap)) == holding(engine, "bird")


def test_a_plural_can_be_dropped_from_the_graph(engine):
    question = Question((text("some animals, that is all"),), k=40, shown=frozenset({"graph"}))
    answer = engine.answer(question)
    attributes = answer.panels["graph"]["graph"].attributes
    assert (0, "plural") in attributes
    settings = edited("attributes", attributes.index((0, "plural")))
    assert marked(answer) < marked(engine.answer(Question(question.terms, k=40, settings=settings)))


def test_words_without_meaning_in_the_world_are_named(engine):
    answer = engine.answer(Question((text("a red unicorn"),), k=40))
    assert answer.truth.startswith("Not graded. The world has no word for: “unicorn”.")
    assert {item.mark for item in answer.items} == {"unknown"}


def test_a_sentence_that_the_data_do_not_grade_says_so_and_how_it_was_read(engine):
    answer = engine.answer(Question((text("a cat or a dog"),)))
    assert answer.truth.startswith("Not graded: the data would not say it like this. Read as: a cat")
    assert {item.mark for item in answer.items} == {"unknown"}


def test_what_no_plan_says_of_a_backdrop_is_not_known(engine):
    behind = engine.answer(Question((text("an animal in front of the mountains"),), k=40))
    animals = {"dog", "cat", "bird", "rabbit", "fish", "elephant", "turtle", "butterfly", "duck"}
    shown = {row for name in animals for row in holding(engine, name)} & holding(engine, "mountain")
    assert shown <= marked(behind, "unknown")
    assert marked(behind) == set()
    assert "“in front of”" in behind.truth


def test_a_filter_of_marks_keeps_what_is_true(engine):
    only = Question((text("look, a cat"),), k=40, filters=Filters(marks=("relevant",)))
    assert set(engine.answer(only).columns[0]) == holding(engine, "cat")


def test_nothing_is_claimed_where_the_data_know_no_truth():
    run = hand_space([[1.0, 0.0], [0.0, 1.0]])
    answer = Engine([run]).answer(Question((Term("caption", 0), Term("caption", 1))))
    assert answer.truth == ""
    own = Engine(toy_spaces(12, runs=1), grades="own").answer(Question((text("a cat"),)))
    assert own.truth == ""
    assert {item.mark for item in own.items} == {"unknown"}


def test_the_line_by_hand():
    found = Truth(np.array([1, 0, nan]), np.array([nan] * 3), ("furry",), ("or", "one"))
    assert notes.truth_line(count_true_images(found, (0,))) == (
        "True of 1 of the 3 images, not known of 1; the pinned one is among them. "
        "The world has no word for: “furry”. Not checked here: what “or”, “one” say."
    )


def test_words_that_a_model_has_not_met_are_named_for_each_model():
    makers = [Tokens().fit(captions) for captions in (["a cat"], ["a red cat"])]
    models = [{"tokens": maker} for maker in makers] + [{"word_features": SimpleNamespace()}]
    runs = [SimpleNamespace(model=SimpleNamespace(makers=of_model)) for of_model in models]
    one, two, pieces = (Answerer(run, 0, None).unseen_words(["a", "red", "unicorn", "a"]) for run in runs)
    assert notes.unseen_note({"one": one}) == "The model has never seen: “red”, “unicorn”."
    assert notes.unseen_note({"one": one, "two": one}) == "The models have never seen: “red”, “unicorn”."
    assert notes.unseen_note({"one": one, "two": two, "three": pieces}) == (
        "one has never seen: “red”, “unicorn”. two has never seen: “unicorn”."
    )
    assert notes.unseen_note({"one": Answerer(runs[0], 0, None).unseen_words(["a", "cat"])}) == ""


def test_a_typed_question_has_the_grades_of_the_same_caption_of_the_data():
    split = scenes.load("test", size=12, image_size=64)
    run = Engine([toy_space(split)])
    for row in range(0, 60, 5):
        changed = split.captions[row].rstrip(".") + " ."
        typed = run.answer(Question((text(changed),), k=12))
        exact = split.judgements["exact"].relevant()[:, row]
        assert marked(typed) == set(np.flatnonzero(exact))


def test_a_judge_of_the_text_shelf_grades_answers_by_the_captions():
    run = toy_spaces(12, runs=1)[0]
    judged, split = Engine([run], grades="cider"), run.split
    items = judged.answer(Question((Term("caption", 7),))).items
    phi = load("cider").fit(split.captions, split.own).transform(split.captions, split.own).dense()
    assert [item.grade for item in items] == pytest.approx([phi[item.row, 7] for item in items])
    assert {item.mark for item in items} <= {"own", "relevant", "not"}
    # what was typed is no caption of the data, and the exact truth is not the judge's word
    assert {item.mark for item in judged.answer(Question((text("a cat"),))).items} == {"unknown"}
