"""What was typed is what is asked and what is read: no slip is put right in silence, and no edit changes the
item that it is measured on."""

from __future__ import annotations

import pytest
from caption_graphs.sentences import sentence

from tests.views.explorer.toys import hand_space, toy_spaces
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Filters, Question, Term

REPEATED = ("a dog", "a cat", "a dog", "a bird", "a dog")
PLACES = [[0.0, 1.0], [0.6, 0.8], [1.0, 0.0], [0.8, 0.6], [0.0, -1.0]]


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_spaces(40, runs=2))


@pytest.mark.parametrize("typed", ["a gren elefant", "a brow dog", "a whit puddle wearing a coat"])
def test_a_slip_is_read_as_it_was_typed(engine, typed):
    assert set(typed.split()) <= set(engine.graph_parser.restate(typed).split())


def test_a_word_that_the_reading_leaves_out_is_named(engine):
    truth = engine.answer(Question((Term("text", "a cat and a hous"),))).truth
    assert "Read as: a cat. The reading leaves out: “hous”." in truth
    assert truth.startswith("Not graded")


def test_a_sentence_that_is_read_whole_leaves_nothing_out(engine):
    assert "leaves out" not in engine.answer(Question((Term("text", "two cats on a red box"),))).truth


def test_words_that_captions_do_not_use_come_with_near_ones(engine):
    terms = (Term("text", "a gren elefant"), Term("text", "a hous", -1))
    unusual = engine.answer(Question(terms)).unusual
    assert list(unusual) == ["gren", "elefant", "hous"]
    for word, near in (("gren", "green"), ("elefant", "elephant"), ("hous", "house")):
        assert near in unusual[word]
    assert engine.answer(Question((Term("text", "qwxz"),))).unusual == {"qwxz": ()}


@pytest.mark.parametrize(
    ("slip", "meant"), [("dgo", "dog"), ("kat", "cat"), ("tres", "trees"), ("blu", "blue"), ("rooof", "roof")]
)
def test_what_is_one_slip_away_is_offered_first(engine, slip, meant):
    unusual = engine.answer(Question((Term("text", f"no a-{slip}"),))).unusual
    assert list(unusual) == [slip]
    assert meant in unusual[slip]


@pytest.mark.parametrize("kind", ["caption", "image"])
def test_nothing_of_the_data_is_called_unusual(engine, kind):
    assert engine.answer(Question((Term(kind, 3, name="Qwxz"),))).unusual == {}


def test_words_of_the_data_are_usual():
    engine = Engine([hand_space(PLACES, tuple(f"a zorblax {row}" for row in range(5)))])
    assert "zorblax" in engine.gallery.words


def test_edits_are_measured_on_the_first_item_of_the_unedited_sentence(engine):
    typed = Term("text", "a red bus next to a small tree")
    before = engine.answer(Question((typed,), shown=frozenset({"graph"})))
    changes = [{"part": "objects", "index": 0, "word": "cat"}, {"part": "attributes", "index": 0}]
    settings = {"graph": {"changes": changes}}
    after = engine.answer(Question((typed,), k=1, settings=settings, shown=frozenset({"graph"})))
    assert after.watched == before.watched == before.columns[0][0]
    assert after.watched in {item.row for item in after.items}
    old, new = (_remade(answer) for answer in (before, after))
    assert old == new
    assert after.query.text == sentence(after.panels["graph"]["graph"])
    other = engine.answer(Question((typed,), settings=settings, watched=7))
    assert other.watched == 7


def _remade(answer):
    return next(edit for edit in answer.panels["graph"]["edits"] if edit["kind"] == "remade")


def test_captions_that_read_the_same_stand_at_the_best_of_their_ranks_with_their_number():
    # image 0 at (0, 1): its own caption "a dog" has cosine 1, "a cat" 0.8, "a bird" 0.6
    engine = Engine([hand_space(PLACES, REPEATED)])
    answer = engine.answer(Question((Term("image", 0),), "captions", k=5))
    items = {item.row: item for item in answer.items}
    column = [items[row] for row in answer.columns[0]]
    shown = [(item.captions[0], item.ranks[0], item.count) for item in column]
    assert shown == [("a dog", 1, 3), ("a cat", 2, 1), ("a bird", 3, 1)]
    last = engine.answer(Question((Term("image", 4),), "captions", k=5))
    assert next(item.ranks[0] for item in last.items if item.row in last.columns[0]) == 1
    assert last.columns[0][0] == 4


def test_a_filter_hides_no_wording_whose_first_caption_it_hides():
    engine = Engine([hand_space(PLACES, REPEATED)])
    only = Question((Term("image", 0),), "captions", filters=Filters(images=(4,)))
    assert engine.answer(only).columns == ((4,),)


def test_no_sentence_speaks_of_equal_captions_where_there_are_none():
    engine = Engine([hand_space(PLACES)])
    assert "read the same" not in engine.answer(Question((Term("image", 0),), "captions")).note
