from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scene_world as scenes
import torch
from PIL import Image

from tests.views.explorer.toys import hand_space, toy_space, toy_spaces
from workbench.records import Embedding
from workbench.runs.models import own_model
from workbench.runs.own import SavedVectors
from workbench.runs.preview import preview_model
from workbench.runs.result import Result
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Filters, Question, Term

THREE = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]


def text(words, sign=1):
    return Term("text", words, sign, words)


def edited(*changes):
    """Settings of the panel of scene graphs."""
    names = ("part", "index", "word")
    return {"graph": {"changes": [dict(zip(names, change)) for change in changes]}}


def walked(share):
    return {"way": {"walk": share}}


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_spaces())


@pytest.fixture(scope="module")
def long(engine):
    """The longest caption of the first image, as a question."""
    return text(engine.gallery.item("images", 0)["captions"][0])


def test_a_stored_embedding_finds_the_nearest_images_by_hand():
    # cosines of (0, 1) with the three: 0, 1, 0.8
    answer = Engine([hand_space(THREE)]).answer(Question((Term("embedding", np.array([0.0, 2.0])),), k=2))
    assert answer.columns == ((1, 2),)
    assert [(item.row, item.ranks, round(item.scores[0], 6)) for item in answer.items] == [
        (1, (1,), 1.0),
        (2, (2,), 0.8),
    ]


def test_arithmetic_adds_and_takes_away_by_hand():
    # (0.6, 0.8) - (1, 0) = (-0.4, 0.8), at length 1 (-0.447, 0.894): cosines -0.447, 0.894, 0.447
    terms = (Term("image", 2), Term("image", 0, sign=-1))
    answer = Engine([hand_space(THREE)]).answer(Question(terms, k=3))
    assert answer.columns == ((1, 2, 0),)
    assert np.allclose([item.scores[0] for item in answer.items], [0.894427, 0.447214, -0.447214], atol=1e-6)
    assert answer.query.measure == "cosine"


def test_what_cancels_out_is_refused():
    terms = (Term("image", 0), Term("image", 0, sign=-1))
    with pytest.raises(ValueError, match="cancel out"):
        Engine([hand_space(THREE)]).answer(Question(terms))


def test_a_caption_finds_as_the_whole_score_matrix_does(engine):
    for row in (0, 7, 31):
        answer = engine.answer(Question((Term("caption", row),), k=30))
        for run, answerer in enumerate(engine.answerers):
            scores = answerer.run.scores[:, row]
            assert answer.columns[run] == tuple(np.argsort(-scores, kind="stable"))
            by_row = {item.row: item for item in answer.items}
            assert all(
                by_row[image].ranks[run] == place for place, image in enumerate(answer.columns[run], 1)
            )


def test_an_image_finds_captions_and_equal_ones_are_shown_once(engine):
    answer = engine.answer(Question((Term("image", 3),), "captions", k=20))
    found = [item.captions[0] for item in answer.items if item.row in answer.columns[0]]
    assert len(set(found)) == len(found) == 20
    assert all(item.mark == "own" for item in answer.items if engine.split.own[item.row] == 3)


def test_words_that_are_a_caption_of_the_data_are_graded_as_it(engine, long):
    answer = engine.answer(Question((long,), k=30))
    marks = {item.row: item.mark for item in answer.items}
    assert marks[0] == "own"
    row = engine.split.captions.index(long.value)
    exact = engine.split.judgements["exact"].relevant()[:, row]
    assert {image for image, mark in marks.items() if mark in ("own", "relevant")} == set(
        np.flatnonzero(exact)
    ) | {0}


def test_other_words_are_not_judged(engine):
    answer = engine.answer(Question((text("a purple submarine"),)))
    assert {(item.mark, item.grade) for item in answer.items} == {("unknown", None)}
    assert "nobody judged" in answer.note


def test_a_filter_of_the_grade_shows_only_such_items(engine):
    question = Question((Term("caption", 1),), k=30, filters=Filters(marks=("not",)))
    assert {item.mark for item in engine.answer(question).items} == {"not"}


def test_filters_of_captions_hold_for_one_and_the_same_caption(engine):
    split, level = engine.split, engine.split.level
    answer = engine.answer(Question((text("a dog"),), k=30, filters=Filters("cat", (1, 2))))
    wanted = {
        int(i)
        for i, caption, one in zip(split.own, split.captions, level, strict=True)
        if one in (1, 2) and "cat" in caption.lower()
    }
    assert set(answer.columns[0]) == wanted
    assert answer.passed == len(wanted)


def test_the_descriptiveness_slider_keeps_what_lies_between(engine):
    answer = engine.answer(Question((text("a dog"),), "captions", k=150, filters=Filters(low=0.3, high=0.6)))
    values = engine.gallery.descriptiveness[list(answer.columns[0])]
    assert len(values)
    assert values.min() >= 0.3
    assert values.max() <= 0.6


def test_pinned_items_are_answered_wherever_they_stand(engine):
    last = engine.answer(Question((text("a dog"),), k=30)).columns[0][-1]
    answer = engine.answer(Question((text("a dog"),), k=3, pins=(last,)))
    assert next(item for item in answer.items if item.row == last).ranks[0] == 30


def test_a_walk_begins_at_the_query_and_ends_at_the_root(engine, long):
    answerer = engine.answerers[0]
    ends = []
    for share in (0.0, 1.0):
        question = engine.with_settings(Question((long,), settings=walked(share)))
        ends.append(answerer.query_vector(engine.move(question)))
    assert np.allclose(ends[0], answerer.run.model.vector(long.value), atol=1e-6)
    assert np.allclose(ends[1], answerer.run.model.vector(""), atol=1e-6)


def test_every_step_of_the_way_names_the_nearest_caption_and_image(engine, long):
    answer = engine.answer(Question((long,), shown=frozenset({"way"})))
    steps = answer.panels["way"]["steps"]
    assert len(steps) == 2 * 11
    step = steps[4]
    asked = engine.with_settings(Question((long,), "captions", k=1, settings=walked(step["walk"])))
    nearest = int(engine.scores(engine.move(asked))[0].argmax())
    assert (step["text"], step["level"]) == (engine.split.captions[nearest], engine.split.level[nearest])


def test_the_effect_of_a_word_is_what_the_score_loses_without_it(engine):
    answer = engine.answer(Question((text("a red bus"),), k=2, shown=frozenset({"words"})))
    model, image = engine.answerers[1].run.model, engine.answerers[1].run.image.mean[answer.watched].numpy()
    expected = [
        image @ (model.vector("a red bus") - model.vector(left)) for left in ("red bus", "a bus", "a red")
    ]
    assert [word["text"] for word in answer.panels["words"]["words"]] == ["a", "red", "bus"]
    assert np.allclose([word["effects"][1] for word in answer.panels["words"]["words"]], expected, atol=1e-5)


def test_edits_are_scored_and_ranked_against_the_sentence_made_again(engine):
    question = Question((text("a red bus next to a tree"),), shown=frozenset({"graph"}), watched=5)
    answer = engine.answer(question)
    edits = answer.panels["graph"]["edits"]
    assert [edit["kind"] for edit in edits] == ["asked", "remade", *["drop"] * 4]
    without = next(edit for edit in edits if edit["label"] == "without red bus")
    assert without["sentence"] == "a bus next to a tree"
    scores = engine.answerers[0].score_sentences([without["sentence"]])[:, 0]
    assert without["scores"][0] == pytest.approx(float(scores[5]), abs=1e-6)
    assert without["ranks"][0] == 1 + int((scores > scores[5]).sum())


def test_an_edited_question_is_asked_with_the_edited_sentence(engine):
    question = Question(
        (text("a red bus next to a tree"),), settings=edited(("attributes", 0, "blue"), ("objects", 1))
    )
    answer = engine.answer(replace(question, shown=frozenset({"graph"})))
    assert answer.query.text == "a blue bus"
    assert answer.columns == engine.answer(Question((text("a blue bus"),))).columns
    edits = answer.panels["graph"]["edits"]
    assert [edit["label"] for edit in edits if edit["kind"] == "edited"] == [
        "red bus → blue bus",
        "without tree",
    ]


def test_what_is_asked_again_is_not_embedded_again(engine):
    question = Question((text("a very new sentence"),))
    engine.answer(question)
    before = engine.answerers[0].run.model.asked
    engine.answer(replace(question, filters=Filters("dog"), pins=(1,)))
    assert engine.answerers[0].run.model.asked == before


def with_entities(space):
    """Entities of the first two captions: "red bus", "tree", and "red bus" again."""
    phrases = ("bus", "red", "tree")
    vectors = torch.tensor([[1.0] + [0.0] * 23, [0.0, 1.0] + [0.0] * 22, [1.0] + [0.0] * 23])
    text = Embedding(
        space.text.mean,
        entities=vectors,
        owner=torch.tensor([0, 0, 5]),
        labels=torch.tensor([[1, 2], [3, 0], [1, 2]]),
    )
    space.model.makers["graph_tokens"] = SimpleNamespace(
        transform=lambda captions: SimpleNamespace(phrases=phrases)
    )
    return space.with_embeddings(space.name, space.image, text)


def test_an_image_finds_entities_where_a_run_embeds_them():
    split = scenes.load("test", size=4, image_size=32)
    engine = Engine([with_entities(toy_space(split)), toy_space(split, "plain", 1)])
    answer = engine.answer(Question((Term("image", 0),), "entities"))
    assert {item.id for item in answer.items} == {"red bus", "tree"}
    assert answer.columns[1] == ()
    assert all(item.ranks[1] is None and item.mark == "own" for item in answer.items)


def test_a_question_without_anything_to_find_says_so(engine):
    with pytest.raises(ValueError, match="no run embeds entities"):
        engine.answer(Question((Term("image", 0),), "entities"))


def test_answers_are_plain_json(engine, long):
    answer = engine.answer(Question((long,), shown=frozenset({"graph", "way", "words"})))
    assert json.loads(json.dumps(answer.as_dict(), allow_nan=False))["query"]["text"] == long.value


@pytest.fixture
def kept():
    """Vectors without their model beside a run that has one."""
    run, other = toy_spaces(images=6)
    return Engine([Result("kept", run.split, lambda: (SavedVectors(), other.image, other.text)), run])


@pytest.mark.parametrize("kind", ["image", "caption"])
@pytest.mark.parametrize("seeks", ["images", "captions"])
def test_vectors_without_their_model_answer_with_the_data(kept, kind, seeks):
    answer, run = kept.answer(Question((Term(kind, 2),), seeks)), kept.answerers[0].run
    asked, found = (run.image if one.startswith("image") else run.text for one in (kind, seeks))
    first = next(item for item in answer.items if item.row == answer.columns[0][0])
    assert first.scores[0] == pytest.approx(float((found.mean @ asked.mean[2]).max()), abs=1e-6)
    assert "No answer" not in answer.note


@pytest.mark.parametrize(
    "question",
    [
        Question((text("a red dog"),)),
        Question((text("a red dog"),), "captions"),
        Question((text("a red dog"),), settings=edited(("objects", 0, "cat"))),
        Question((Term("image", 0), text("a red dog", -1))),
        Question((Term("image", 0),), settings=walked(0.5)),
        Question((Term("pixels", Image.new("RGB", (8, 8))),), "captions"),
    ],
    ids=["text", "captions", "edited", "sum", "walk", "image"],
)
def test_vectors_without_their_model_say_what_they_cannot_answer(kept, question):
    answer = kept.answer(question)
    assert answer.columns[0] == ()
    assert answer.columns[1]
    assert {item.ranks[0] for item in answer.items} == {None}
    line = "No answer from kept, which came without a model: ask about an image or caption of the data."
    assert line in answer.note


@pytest.mark.parametrize("asked", [Term("caption", 2, name="a red dog runs"), text("a red dog runs")])
def test_beside_vectors_without_their_model_a_question_has_its_graph_and_nothing_that_is_encoded(kept, asked):
    answer = kept.answer(Question((asked,), shown=frozenset({"graph", "way", "words"})))
    assert answer.panels["graph"]["graph"] is not None
    parts = answer.panels["graph"]["edits"], answer.panels["way"]["steps"], answer.panels["words"]["words"]
    assert parts == ([], [], [])
    assert "need the model of every run" in answer.note


class ReadsPairs:
    """Scores an image and a text together."""

    def scores(self, images, texts):
        return [[image.size[0] + len(words) for words in texts] for image in images]


@pytest.fixture
def mixed():
    """A model that reads pairs beside one that has vectors."""
    run = toy_spaces(images=6, runs=1)[0]
    return Engine([preview_model(own_model(ReadsPairs(), "pairs"), run.split), run])


@pytest.mark.parametrize(
    "question", [Question((text("a red dog"),)), Question((Term("image", 0),), "captions")]
)
def test_a_model_that_reads_pairs_answers_one_item_of_one_kind(mixed, question):
    answer = mixed.answer(question)
    assert all(answer.columns)
    assert "No answer" not in answer.note


@pytest.mark.parametrize(
    "question",
    [
        Question((Term("image", 0),)),
        Question((text("a red dog"), text("at night", -1))),
        Question((text("a red dog"),), settings=walked(0.5)),
    ],
    ids=["image", "sum", "walk"],
)
def test_a_model_that_reads_pairs_says_what_needs_vectors(mixed, question):
    answer = mixed.answer(question)
    assert answer.columns[0] == ()
    assert answer.columns[1]
    assert "No answer from pairs, which scores pairs and has no vectors" in answer.note


def test_the_way_to_the_root_is_that_of_the_models_with_vectors(mixed):
    shown = frozenset({"graph", "way", "words"})
    panels = mixed.answer(Question((text("a red dog on a box"),), shown=shown)).panels
    assert {step["run"] for step in panels["way"]["steps"]} == {1}
    assert all(len(edit["ranks"]) == 2 for edit in panels["graph"]["edits"])


def test_vectors_of_any_length_are_compared_by_their_cosine():
    # (3, 4) has length 5 and cosine 0.8 with (0, 1); the second image has 0.6
    run = hand_space([[3.0, 4.0], [0.8, 0.6]])
    run.model.of_unit_length = False
    answer = Engine([run]).answer(Question((Term("embedding", np.array([0.0, 1.0])),)))
    assert [round(item.scores[0], 6) for item in answer.items] == [0.8, 0.6]


@pytest.mark.parametrize(
    ("question", "trouble"),
    [
        (Question((text("a"),), pins=(900,)), "outside"),
        (Question((Term("embedding", np.ones(3)),)), "24 dimensions"),
        (Question((text("a"), text("b")), settings=edited(("objects", 0))), "text alone"),
    ],
)
def test_questions_that_make_no_sense_are_refused(engine, question: Question, trouble: str):
    with pytest.raises(ValueError, match=trouble):
        engine.answer(question)


def test_spaces_of_different_splits_are_refused():
    with pytest.raises(ValueError, match="different splits"):
        Engine([*toy_spaces(4, 1), *toy_spaces(5, 1)])
    with pytest.raises(ValueError, match="at least one run"):
        Engine([])


def test_unknown_judgements_are_refused():
    with pytest.raises(ValueError, match="no judgements 'exakt'"):
        Engine(toy_spaces(4, 1), grades="exakt")
