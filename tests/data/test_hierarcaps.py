from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest
from PIL import Image

from workbench import data
from workbench.metrics import correlation

PLACE = "http://images.cocodataset.org/val2014/"
PHOTOS = ["COCO_val2014_000000000001.jpg", "COCO_val2014_000000000002.jpg"]
ABSENT = "COCO_val2014_000000000003.jpg"
CHAINS = [
    ("0", "animal => cats => two cats on a rug => Two cats lie on a red rug.", PHOTOS[1]),
    (
        "1",
        'bird => blue bird => blue bird, "sitting" => A blue bird sits on a branch, in autumn',
        PHOTOS[0],
    ),
]
EXPANDED = [
    ("pet => cat => a cat => A cat on a rug .", "dog => dogs => a dog => A dog", PHOTOS[1]),
    ("bird => jay => a jay sitting => A jay sits in a tree.", "cat => cats => two cats => Two cats", ABSENT),
    (
        "animal => cats => two cats on a rug => Two cats lie on a red rug.",
        "dog => dogs => a dog => A dog",
        PHOTOS[1],
    ),
]


def table(lines, header, rows):
    writer = csv.writer(lines)
    writer.writerow(header)
    writer.writerows([*row[:-1], PLACE + row[-1]] for row in rows)


@pytest.fixture
def copy(tmp_path):
    """Two photographs and both text files in the format of the real ones."""
    (tmp_path / "images").mkdir()
    for image in PHOTOS:
        Image.new("RGB", (20, 10), (90, 120, 30)).save(tmp_path / "images" / image)
    with (tmp_path / "hierarcaps_test.csv").open("w", encoding="utf-8", newline="") as lines:
        table(lines, ["id", "captions", "image_url"], CHAINS)
    with gzip.open(tmp_path / "hierarcaps_test_expanded.csv.gz", "wt", encoding="utf-8", newline="") as lines:
        table(lines, ["positive", "negative", "image_url"], EXPANDED)
    return tmp_path


def load(root, **options):
    return data.load("hierarcaps", root=str(root), **{"complete": False, **options})


def test_every_image_has_a_chain_of_four_texts_from_generic_to_specific(copy):
    split = load(copy)
    assert split.name == "hierarcaps/test"
    assert split.image_ids == (PHOTOS[1], PHOTOS[0])
    assert split.captions[:4] == ("animal", "cats", "two cats on a rug", "Two cats lie on a red rug.")
    assert split.captions[6:] == ('blue bird, "sitting"', "A blue bird sits on a branch, in autumn")
    assert split.caption_ids == ("0#1", "0#2", "0#3", "0#4", "1#1", "1#2", "1#3", "1#4")
    assert split.level.tolist() == [1, 2, 3, 4] * 2
    assert split.chain.tolist() == split.own.tolist() == [0] * 4 + [1] * 4
    assert split.open_image(0).size == (20, 10)


def test_the_expanded_chains_of_an_image_stand_together(copy):
    split = load(copy, texts="expanded")
    assert split.name == "hierarcaps/test, expanded"
    assert split.image_ids == (PHOTOS[1], ABSENT)
    assert split.own.tolist() == [0] * 8 + [1] * 4
    assert split.chain.tolist() == [0] * 4 + [2] * 4 + [1] * 4
    assert split.level.tolist() == [1, 2, 3, 4] * 3


def test_the_captions_are_the_last_texts_of_the_expanded_chains_and_form_none(copy):
    split = load(copy, texts="captions")
    assert split.captions == ("A cat on a rug .", "Two cats lie on a red rug.", "A jay sits in a tree.")
    assert split.level is None
    assert split.chain is None


def test_the_levels_of_a_chain_are_ratings_beside_texts_of_a_wrong_chain(copy):
    split = load(copy, texts="levels", on_error="skip")
    assert split.image_ids == (PHOTOS[1], f"{PHOTOS[1]}#levels")
    # A human caption that ends the rated chain is left out of those that a judge may look at.
    assert split.captions == (
        "A cat on a rug .",
        *("animal", "cats", "two cats on a rug", "Two cats lie on a red rug."),
        *("dog", "dogs", "a dog", "A dog"),
    )
    assert split.own.tolist() == [0] + [1] * 8
    rated = split.judgements["levels"]
    assert rated.images.tolist() == [0] * 8
    assert rated.captions.tolist() == list(range(1, 9))
    assert rated.grades.tolist() == [1, 2, 3, 4, 0, 0, 0, 0]
    assert rated.unlisted is None
    assert split.open_image(1).size == (20, 10)
    assert "1 x image without other captions" in split.notes[0]
    with pytest.raises(ValueError, match=f"csv row 2: .* has none of {PHOTOS[0]}"):
        load(copy, texts="levels")


def test_a_judge_is_held_against_the_levels_by_kendalls_tau(copy):
    # As 09_relevance_audit measures judges by ``ratings: {hierarcaps:levels: {texts: levels}}``.
    split = load(copy, texts="levels", on_error="skip")
    values = np.zeros((2, 9))
    values[0, 1:] = [0, 1, 1, 2, 0, 0, 0, 1]
    found = correlation.correlations(
        values, split.judgements["levels"], split.own, metrics=[correlation.TauC()], rounds=0
    )
    # Grades 1 2 3 4 0 0 0 0. Concordant: 5 pairs of true texts (2 and 3 tie), 0 + 3 + 3 + 4 of a true and
    # a wrong one; discordant: the first true text against the last wrong one. 2 (15 - 1) / (64 x 2 / 3).
    assert [m.value for m in found] == [pytest.approx(28 * 3 / 128)] * len(found)


def test_a_photograph_of_the_expanded_chains_is_missed_when_it_is_opened_and_not_before(copy):
    split = load(copy, texts="captions")
    split.open_image(0)
    with pytest.raises(FileNotFoundError, match=f"hierarcaps_test_expanded.csv.gz row 2: .*{ABSENT}"):
        split.open_image(1)
    with pytest.raises(FileNotFoundError, match=ABSENT):
        load(copy, texts="captions", check_images=True)


def test_a_photograph_of_the_chains_must_be_there(copy):
    (copy / "images" / PHOTOS[0]).unlink()
    with pytest.raises(FileNotFoundError, match=r"hierarcaps_test.csv row 2: there is no image"):
        load(copy)
    split = load(copy, on_error="skip")
    assert split.image_ids == (PHOTOS[1],)
    assert "4 x missing image" in split.notes[0]


@pytest.mark.parametrize(
    "chain", ["animal => cats => two cats", "a => b => c => d => e", "", "a => b =>  => d"]
)
def test_a_chain_without_four_texts_is_named_by_its_row_or_skipped_and_counted(copy, chain):
    with (copy / "hierarcaps_test.csv").open("a", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerow(["2", chain, PLACE + PHOTOS[0]])
    with pytest.raises(
        ValueError, match=r"hierarcaps_test.csv row 3: (expected 4 texts|the caption of .* is empty)"
    ):
        load(copy)
    assert "hierarcaps_test.csv row 3" in load(copy, on_error="skip").notes[0]


def test_a_copy_with_other_counts_than_the_published_ones_is_refused(copy):
    for texts, counts in (
        ("chains", "1,000 images and 4,000 captions"),
        ("expanded", "5,000 images and 93,916 captions"),
        ("captions", "5,000 images and 23,479 captions"),
    ):
        with pytest.raises(ValueError, match=rf"hierarcaps/test.*: expected {counts}, found 2 and"):
            load(copy, texts=texts, complete=True)


@pytest.mark.parametrize("name", ["hierarcaps_test_expanded.csv.gz", "hierarcaps_test.csv"])
def test_a_file_that_breaks_off_or_is_none_is_refused(copy, name):
    content = (copy / name).read_bytes()
    texts = "expanded" if name.endswith(".gz") else "chains"
    end = content.find(b"sitting") if texts == "chains" else len(content) // 2
    for spoilt in (content[:end], b"\xff\xfe" + content[2:]):
        (copy / name).write_bytes(spoilt)
        with pytest.raises(ValueError, match=name):
            load(copy, texts=texts)


def test_missing_files_say_what_to_get_and_from_where(copy, monkeypatch):
    (copy / "hierarcaps_test_expanded.csv.gz").unlink()
    load(copy)
    with pytest.raises(
        FileNotFoundError, match=r"lacks hierarcaps_test_expanded.csv.gz. .*https://.*val2014"
    ):
        load(copy, texts="expanded")
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"set root=\.\.\., or WORKBENCH_DATA"):
        data.load("hierarcaps")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("texts", "images", "captions"),
    [
        ("chains", 1000, 4000),
        ("expanded", 5000, 93916),
        ("captions", 5000, 23479),
        ("levels", 2000, 11748),
    ],
)
def test_the_real_files_have_the_published_counts(real_data, texts, images, captions):
    found = data.load("hierarcaps", texts=texts, root=str(real_data / "hierarcaps"))
    assert (len(found.image_ids), len(found.captions)) == (images, captions)


@pytest.mark.real_data
def test_the_real_chains_have_as_many_distinct_texts_a_level_as_the_card_says(real_data):
    split = data.load("hierarcaps", root=str(real_data / "hierarcaps"), check_images=True)
    assert [
        len({c for c, at in zip(split.captions, split.level, strict=True) if at == level})
        for level in (1, 2, 3, 4)
    ] == [
        491,
        717,
        999,
        1000,
    ]
    assert len(set(split.captions)) == 3132
