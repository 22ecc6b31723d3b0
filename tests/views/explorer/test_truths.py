"""What the explorer says of questions that were typed, edited or added up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scene_world as scenes

from tests.views.explorer.toys import hand_space, toy_space, toy_spaces
from workbench import data
from workbench.records import SceneGraph, Truth
from workbench.text import load
from workbench.text.tokens import Tokens
from workbench.views.explorer import truths
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Change, Filters, Question, Term, sentence

nan = np.nan


def text(words, sign=1):
    return Term("text", words, sign)


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
    assert truths.SUM in answer.note


def test_a_sum_with_an_unknown_word_is_false_where_another_part_is(engine):
    answer = engine.answer(Question((text("a unicorn"), text("a cat", -1)), k=40))
    assert marked(answer, "not") == holding(engine, "cat")
    assert marked(answer, "unknown") == set(range(40)) - holding(engine, "cat")


def test_a_sum_with_a_picture_in_it_is_not_graded(engine):
    answer = engine.answer(Question((Term("image", 0), text("at night"))))
    assert answer.truth == ""
    assert "nobody judged" in answer.note
    assert {item.mark for item in answer.items} == {"unknown"}


def test_an_edited_graph_is_graded_by_what_it_says_now(engine):
    swap = Question((text("a nice photo of a cat"),), k=40, changes=(Change("objects", 0, "bird"),))
    assert marked(engine.answer(swap)) == holding(engine, "bird")


def test_a_plural_can_be_dropped_from_the_graph(engine):
    question = Question((text("some animals, that is all"),), k=40, extras=frozenset({"graph"}))
    answer = engine.answer(question)
    assert (0, "plural") in answer.graph.attributes
    changes = (Change("attributes", answer.graph.attributes.index((0, "plural"))),)
    assert marked(answer) < marked(engine.answer(Question(question.terms, k=40, changes=changes)))
    assert sentence(SceneGraph(("cactus",), ((0, "plural"), (0, "red")))) == "some red cacti"


def test_words_without_meaning_in_the_world_are_named(engine):
    answer = engine.answer(Question((text("a red unicorn"),), k=40))
    assert answer.truth.startswith("Not known of any of the 40 images. The world has no word for: “unicorn”.")
    assert {item.mark for item in answer.items} == {"unknown"}


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("a dog not next to a tree", "not"),
        ("there isn't a dog", "isn't"),
        ("a dog, not a cat", "not"),
        ("an animal that is not a dog", "not"),
        ("a red dog, not blue", "not"),
        ("it is not night", "not"),
        ("a dog instead of a cat", "instead"),
        ("hardly any dogs", "hardly"),
        ("at least two dogs", "least"),
        ("up to three dogs", "up"),
        ("every dog is red", "every"),
        ("a dog away from a tree", "away"),
        ("a dog is missing", "missing"),
        ("0 dogs", "0"),
        ("isnt a dog", "isnt"),
        ("there arent dogs", "arent"),
        ("absence of dogs", "absence"),
        ("dogs are absent", "absent"),
        ("a scene free of dogs", "free of"),
        ("an animal other than a dog", "other than"),
        ("an animal besides a dog", "besides"),
        ("both animals are big", "both"),
        ("a dog and another dog", "another"),
        ("the dogs are two", "two"),
        ("on the table sits an apple", "sits"),
        ("in the box, a cat", "in"),
        ("two dogs, one of them red", "red"),
        ("a dog above and to the left of a bus", "above"),
        ("side by side a dog and a cat", "side"),
        ("a dog by itself", "itself"),
        ("an animal that is a dog", "is"),
        ("a dog is an animal", "is"),
        ("small animals that are dogs", "are"),
        ("the animals are a dog and a cat", "are"),
        ("!dog", "!"),
        ("cat, -dog", "-"),
        ("cat ≠ dog", "≠"),
        ("a vehicle and a plant which is red", "which"),
        ("two animals, a dog and a cat", ","),
        ("two animals: a dog and a cat", ":"),
        ("an animal next to a plant next to a building", "next"),
        ("a cat in a box and dogs", "and"),
        ("a cat above a bus and a boat in a field", "and"),
        ("a dog, a red one", "one"),
        ("the dog is a red one", "one"),
        ("an animal: a dog", ":"),
        ("an animal, a dog", ","),
        ("a dog being a cat", "being"),
        ("an apple inside a bucket. The fruit is yellow.", "the"),
        ("a banana and a box and the banana is inside the box", "the"),
        ("at night, a dog", "at"),
        ("a dog lacking stripes", "stripes"),
    ],
)
def test_a_sentence_that_says_more_than_its_graph_is_not_graded_by_the_graph_alone(engine, sentence, named):
    truth = engine.answer(Question((text(sentence),), k=40)).truth
    assert truth.startswith("Not known of any of the 40 images.")
    assert f"“{named}”" in truth


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("2 dogs", "two dogs"),
        ("a pair of dogs", "two dogs"),
        ("a couple of cats", "two cats"),
        ("3 cats", "three cats"),
    ],
)
def test_a_number_in_other_words_is_the_same_number(engine, said, means):
    found, wanted = (engine.answer(Question((text(one),), k=40)) for one in (said, means))
    assert marked(found) == marked(wanted)
    assert found.truth.split(" Read as")[0] == wanted.truth.split(" Read as")[0]


def test_the_graph_of_a_caption_of_the_world_says_what_it_says():
    captions = dict.fromkeys(data.load("scenes", split="val").captions[:600])
    doubted = {
        one: more
        for one in captions
        for graph in [truths.parsed(one)]
        if (more := [*truths._left_out(one, graph), *truths._misread(one, graph)])
    }
    assert doubted == {}


@pytest.mark.parametrize(
    "said",
    [
        "there is a cat",
        "look, a cat!",
        "a cat in a field and a red tree",
        "this is a cat",
        "is there a cat?",
        "a cat & a cat",
        "cats are white",
        "cats, white",
    ],
)
def test_what_can_be_read_in_one_way_alone_is_graded(engine, said):
    truth = engine.answer(Question((text(said),))).truth
    assert "no word" not in truth
    assert "Not checked" not in truth


def test_a_second_thing_after_a_place_is_beside_the_first(engine):
    both = sentence(truths.parsed("a black bird in a desert and three white cats to the left of a box"))
    assert both == "a black bird in a desert, three white cats left of a box"


def test_a_word_of_the_world_that_no_graph_holds_is_not_called_unknown(engine):
    truth = engine.answer(Question((text("a unicorn or a cat"),))).truth
    assert "no word for: “unicorn”. Not checked here: what “or” says." in truth


def test_what_no_plan_says_of_a_backdrop_and_two_colours_of_one_thing_are_not_known(engine):
    behind = engine.answer(Question((text("an animal in front of the mountains"),), k=40))
    animals = {"dog", "cat", "bird", "rabbit", "fish", "elephant", "turtle", "butterfly", "duck"}
    shown = {row for name in animals for row in holding(engine, name)} & holding(engine, "mountain")
    assert shown <= marked(behind, "unknown")
    assert marked(behind) == set()
    assert "“in front of”" in behind.truth
    assert "“red”, “blue”" in engine.answer(Question((text("red and blue balls"),))).truth


def test_a_choice_cannot_be_said_by_a_graph(engine):
    assert "Not checked here: what “or” says." in engine.answer(Question((text("a cat or a dog"),))).truth


def test_a_filter_of_marks_keeps_what_is_true(engine):
    only = Question((text("look, a cat"),), k=40, filters=Filters(marks=("relevant",)))
    assert set(engine.answer(only).columns[0]) == holding(engine, "cat")


def test_more_things_than_can_be_checked_are_said_to_be_too_many(engine):
    words = "a cat, a dog, a bird, a car, a bus, a tree, a house and a ball"
    assert engine.answer(Question((text(words),))).truth.startswith("Not graded: so many things at once")


def test_nothing_is_claimed_where_the_data_know_no_truth():
    run = hand_space([[1.0, 0.0], [0.0, 1.0]])
    answer = Engine([run]).answer(Question((Term("caption", 0), Term("caption", 1))))
    assert answer.truth == ""
    own = Engine(toy_spaces(12, runs=1), grades="own").answer(Question((text("a cat"),)))
    assert own.truth == ""
    assert {item.mark for item in own.items} == {"unknown"}


def test_the_line_by_hand():
    question = Question((text("a cat"),), pins=(0,))
    found = Truth(np.array([1, 0, nan]), np.array([nan] * 3), ("furry",))
    assert truths.told(found, question) == (
        "True of 1 of the 3 images, not known of 1; the pinned one is among them. "
        "The world has no word for: “furry”."
    )
    found = Truth(np.array([nan] * 3), np.array([nan] * 3), (), ("or", "one"))
    assert truths.told(found, question) == (
        "Not known of any of the 3 images. Not checked here: what “or”, “one” say."
    )


def test_words_that_a_model_has_not_met_are_named_for_each_model():
    makers = [Tokens().fit(captions) for captions in (["a cat"], ["a red cat"])]
    one, two = (SimpleNamespace(makers={"tokens": maker}) for maker in makers)
    pieces = SimpleNamespace(makers={"word_features": SimpleNamespace()})
    asked = (text("a red unicorn"),)
    assert truths.unseen(asked, {"one": one}) == "The model has never seen: “red”, “unicorn”."
    assert truths.unseen(asked, {"one": one, "two": one}) == "The models have never seen: “red”, “unicorn”."
    assert truths.unseen(asked, {"one": one, "two": two, "three": pieces}) == (
        "one has never seen: “red”, “unicorn”. two has never seen: “unicorn”."
    )
    assert truths.unseen((text("a cat"),), {"one": one}) == ""


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
    phi = load("cider").fit(split.captions, split.own).of(split.captions, split.own).dense()
    assert [item.grade for item in items] == pytest.approx([phi[item.row, 7] for item in items])
    assert {item.mark for item in items} <= {"own", "relevant", "not"}
    # what was typed is no caption of the data, and the exact truth is not the judge's word
    assert {item.mark for item in judged.answer(Question((text("a cat"),))).items} == {"unknown"}
