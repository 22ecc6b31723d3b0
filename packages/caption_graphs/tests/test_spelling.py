"""Misspelt words of captions: which are put right, which stay, and how often that is right."""

import tomllib

import pytest
from caption_graphs import parse, spelling, wording
from caption_graphs.vocabulary import ASSETS

from tools.caption_graphs.annotations import DATA
from workbench import data


@pytest.fixture(scope="module")
def tables():
    return tomllib.loads((ASSETS / "spelling.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("feild", "field"),  # two letters swapped
        ("moutain", "mountain"),  # one left out
        ("snowbboard", "snowboard"),  # one put in
        ("jackat", "jacket"),  # one changed
        ("jumpping", "jumping"),  # no form of "jump", though a letter is doubled
    ],
)
def test_a_word_that_is_one_slip_away_from_one_of_captions_is_meant(written, meant):
    assert spelling.spell(written) == meant
    assert spelling.guess_word(written) == meant


@pytest.mark.parametrize(
    "word",
    [
        "frisbee",
        "tobogganing",
        "snowiest",
        "sandcastles",
        "cat",
        "ipad",
        "elsa",
        "sitting",
        "qwxz",
        "t-shirt",
    ],
)
def test_a_word_that_is_right_or_like_none_stays(word):
    assert spelling.spell(word) == word


def test_of_several_words_the_most_frequent_is_meant(tables):
    order = tables["frequent"].split()
    near = [word for word in order if word in set(spelling._one_slip_away("beack")) and word[0] == "b"]
    assert len(near) > 1
    assert spelling.guess_word("beack") == near[0] == "black"


def test_the_first_letter_is_never_changed():
    assert spelling.guess_word("xield") == "xield"


def test_words_that_were_run_together_are_parted():
    assert spelling.corrected_words("A man lookingin a box.") == [
        "a",
        "man",
        "looking",
        "in",
        "a",
        "box",
        ".",
    ]


@pytest.mark.parametrize(
    ("caption", "written", "meant"),
    [
        ("A brow and white dog.", "brow", "brown"),
        ("A heard of sheep on a hill.", "heard", "herd"),
        ("A woman on skies in the snow.", "skies", "skis"),
        ("A dog runs though the water.", "though", "through"),
    ],
)
def test_a_word_that_is_right_by_itself_is_put_right_where_it_is_a_slip(caption, written, meant):
    before, after = wording.tokens(caption), spelling.corrected_words(caption)
    assert len(before) == len(after)
    changed = {(a, b) for a, b in zip(before, after, strict=True) if a != b}
    assert changed == {(written, meant)}


@pytest.mark.parametrize(
    "caption",
    [
        "A woman with a raised brow.",
        "A crow sits on a branch.",
        "Clouds in blue skies over a lake.",
        "A man is in a red shirt.",
        "A girl smiles, though she is wet.",
        "A team talks to its coach.",
        "A ten year old girl rides a horse.",
        "A boy threw a ball.",
        "A man waking up in bed.",
        "A woman paying at a counter.",
        "A layer of snow on a bench.",
        "A couple out for a jog.",
    ],
)
def test_the_same_word_stays_where_it_is_meant(caption):
    assert spelling.corrected_words(caption) == wording.tokens(caption)


def test_what_may_be_meant_in_a_place_is_a_word_of_captions(tables):
    often = spelling._word_counts()
    for word, several in tables["doubtful"].items():
        assert spelling.spell(word) == word
        assert word not in several
        for meant in several:
            assert spelling.word_number(meant) in often or spelling._in_dictionary(meant), meant


def test_a_thing_that_does_what_only_the_living_do_is_a_slip():
    assert spelling.corrected_words("A small white puddle wearing a coat")[3] == "poodle"
    assert spelling.corrected_words("A golden colored dug jumps")[3] == "dog"
    for caption in ("A black puddle near a truck", "A boy enjoys puddle jumping", "A puddle wearing away"):
        assert "puddle" in spelling.corrected_words(caption)


def test_no_frequent_word_is_changed(tables):
    assert all(spelling.spell(word) == word for word in tables["frequent"].split())


def test_no_caption_of_the_embedded_world_is_changed():
    captions = data.load("scenes", split="val").captions
    assert all(spelling.corrected_words(caption) == wording.tokens(caption) for caption in captions)


def test_a_misspelt_caption_has_the_graph_of_the_right_one():
    assert parse(["A dog runns acros a feild."]) == parse(["A dog runs across a field."])


def test_the_guide_states_how_often_a_word_that_is_not_listed_is_put_right(tables):
    alone = {word: meant for word, meant in tables["slips"].items() if " " not in meant}
    guesses = {word: spelling.guess_word(word) for word in alone}
    right = sum(guesses[word] == meant for word, meant in alone.items())
    wrong = sum(guesses[word] not in (word, meant) for word, meant in alone.items())
    guide = " ".join((DATA / "README.md").read_text("utf-8").split())
    assert f"of {len(alone)} such words {right} are put right without the list, {wrong} wrongly" in guide
    assert right > 10 * wrong
