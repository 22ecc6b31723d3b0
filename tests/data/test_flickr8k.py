from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from workbench import data
from workbench.data.flickr8k import ABSENT
from workbench.metrics import correlation

TRAIN = ["1000268201_693b08cb0e.jpg", "1001773457_577c3a7d70.jpg"]
VAL = ["1002674143_1b742ab4b8.jpg"]
TEST = ["1003163366_44323f5815.jpg", "1007129816_e794419615.jpg"]
JUDGED = [
    (TEST[0], f"{TEST[0]}#0", "1", "3", "0"),
    (TEST[0], f"{TEST[1]}#1", "0.666666666666667", "2", "1"),
    (TEST[1], f"{TEST[0]}#0", "0.5", "2", "2"),
    (TEST[1], f"{TEST[0]}#1", "0", "0", "3"),
]


@pytest.fixture
def copy(tmp_path):
    """Five images in the format of the real files."""
    (tmp_path / "images").mkdir()
    captions = []
    for image in [*VAL, *TEST, *TRAIN]:
        Image.new("RGB", (20, 10), (90, 120, 30)).save(tmp_path / "images" / image)
        captions += [f"{image}#{k}\tCaption {k} of {image} ." for k in range(5)]
    lists = {"train": TRAIN, "dev": VAL, "test": TEST}
    for name, images in lists.items():
        (tmp_path / f"Flickr_8k.{name}Images.txt").write_text(
            "".join(f"{image}\n" for image in images), encoding="utf-8"
        )
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(captions) + "\n", encoding="utf-8")
    (tmp_path / "CrowdFlowerAnnotations.txt").write_text(
        "".join("\t".join(row) + "\n" for row in JUDGED), encoding="utf-8"
    )
    return tmp_path


def load(root, split="train", **options):
    return data.load("flickr8k", split=split, root=str(root), **{"complete": False, **options})


def edit(file, old, new):
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_the_official_lists_are_the_splits(copy):
    for name, images in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        split = load(copy, name)
        assert split.name == f"flickr8k/{name}"
        assert split.image_ids == tuple(images)
        assert split.fingerprint()["captions_per_image"] == {5: len(images)}
    assert load(copy).captions[6] == f"Caption 1 of {TRAIN[1]} ."
    assert load(copy).caption_ids[6] == f"{TRAIN[1]}#1"
    assert load(copy).own.tolist() == [0] * 5 + [1] * 5


def test_a_share_is_of_the_training_images_alone(copy):
    split = load(copy, share=0.5)
    assert len(split.image_ids) == 1
    assert split.notes == ("1 of 2 images, drawn with seed 0",)
    assert {load(copy, share=0.5, share_seed=seed).image_ids[0] for seed in range(8)} == set(TRAIN)
    with pytest.raises(ValueError, match="leave it out, it is for training splits alone"):
        load(copy, "val", share=0.5)


def test_images_are_opened_when_asked_and_not_before(copy):
    split = load(copy)
    assert split.open_image(1).size == (20, 10)
    (copy / "images" / TRAIN[1]).write_bytes(b"no image")
    split = load(copy)
    split.open_image(0)
    with pytest.raises(ValueError, match=rf"Flickr8k.token.txt row 21: .*{TRAIN[1]} is not a readable image"):
        split.open_image(1)


def test_the_human_judgements_are_shares_of_yes_on_the_test_split(copy):
    human = load(copy, "test").judgements["human"]
    dense = human.dense()
    # Listed pairs carry their share; the other 16 of 20 pairs were not judged.
    assert dense[0, 0] == 1
    assert dense[0, 6] == pytest.approx(2 / 3)
    assert dense[1, 0] == 0.5
    assert dense[1, 1] == 0
    assert np.isnan(dense).sum() == 16
    assert human.relevant().sum() == 3
    assert "human" not in load(copy, "train").judgements
    assert "human" not in load(copy, "val").judgements


def test_judgements_of_other_splits_are_left_out(copy):
    with (copy / "CrowdFlowerAnnotations.txt").open("a", encoding="utf-8") as file:
        file.write(f"{TRAIN[0]}\t{TEST[0]}#0\t1\t3\t0\n{TEST[0]}\t{VAL[0]}#0\t1\t3\t0\n")
    assert len(load(copy, "test").judgements["human"].grades) == 4


def test_the_experts_scores_are_read_where_their_file_is_there(copy):
    assert set(load(copy, "test").judgements) == {"own", "human"}
    # The form of the public file: image, caption, three scores from 1 to 4.
    rows = [(TEST[0], f"{TEST[0]}#0", 4, 4, 3), (TEST[1], f"{TEST[0]}#2", 1, 2, 1)]
    rows += [(TEST[0], f"{TEST[1]}#0", 2, 3, 3), (VAL[0], f"{TEST[1]}#1", 1, 1, 1)]
    file = copy / "ExpertAnnotations.txt"
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    expert = load(copy, "test").judgements["expert"]
    assert expert.dense()[0, 0] == pytest.approx(11 / 3)
    assert expert.dense()[1, 2] == pytest.approx(4 / 3)
    assert (len(expert.grades), expert.unlisted, int(expert.relevant().sum())) == (3, None, 1)
    assert "expert" not in load(copy, "train").judgements
    # As 09_relevance_audit measures judges by ``ratings: {flickr8k:expert: {}}``: 3 concordant of 3 pairs,
    # m = 3, 2 x 3 / (9 x 2 / 3).
    found = correlation.correlations(
        expert.grades * 2, expert, load(copy, "test").own, metrics=[correlation.TauC()], rounds=0
    )
    assert found[0].value == pytest.approx(1)
    for bad in ("a.jpg\tb.jpg#0\t1\t2", "a.jpg\tb.jpg#0\t1\t2\t5", "a.jpg\tb.jpg#0\t1\tx\t3"):
        file.write_text(bad + "\n", encoding="utf-8")
        with pytest.raises(
            ValueError, match=r"ExpertAnnotations.txt row 1: expected image, caption id, three"
        ):
            load(copy, "test")


def test_the_image_that_was_never_distributed_is_noted_and_not_an_error(copy):
    with (copy / "Flickr_8k.trainImages.txt").open("a", encoding="utf-8") as file:
        file.write(f"{ABSENT}\n")
    with (copy / "Flickr8k.token.txt").open("a", encoding="utf-8") as file:
        file.write("".join(f"{ABSENT}.1#{k}\tA caption without an image .\n" for k in range(5)))
    split = load(copy)
    assert split.image_ids == tuple(TRAIN)
    assert split.notes == (f"{ABSENT} is listed but was never distributed",)


def test_a_copy_with_other_counts_than_the_official_ones_is_refused(copy):
    with pytest.raises(
        ValueError, match=r"flickr8k/val, from .*: expected 1,000 images and 5,000 captions, found 1 and 5;"
    ):
        load(copy, "val", complete=True)


BAD = {
    "missing image": (
        lambda root: (root / "images" / TRAIN[0]).unlink(),
        FileNotFoundError,
        r"row 16: there is no image",
        5,
    ),
    "empty caption": (
        lambda root: edit(root / "Flickr8k.token.txt", f"Caption 2 of {TRAIN[1]} .", " "),
        ValueError,
        "row 23: the caption of .* is empty",
        9,
    ),
    "repeated id": (
        lambda root: edit(root / "Flickr8k.token.txt", f"{TRAIN[0]}#1", f"{TRAIN[0]}#0"),
        ValueError,
        "row 17: the id .* was used before, in Flickr8k.token.txt row 16",
        9,
    ),
    "malformed row": (
        lambda root: edit(root / "Flickr8k.token.txt", f"{TRAIN[0]}#1\t", f"{TRAIN[0]} "),
        ValueError,
        "row 17: expected 'image#k<TAB>caption'",
        9,
    ),
    "image without captions": (
        lambda root: edit(root / "Flickr_8k.trainImages.txt", TRAIN[0], "other.jpg"),
        ValueError,
        "other.jpg has no caption",
        5,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_or_skipped_and_counted(copy, name):
    spoil, error, message, left = BAD[name]
    spoil(copy)
    with pytest.raises(error, match=message):
        load(copy)
    split = load(copy, on_error="skip")
    assert len(split.captions) == left
    assert f"x {name}" in split.notes[0]


def test_a_corrupt_image_is_found_at_once_when_asked(copy):
    (copy / "images" / TRAIN[1]).write_bytes(b"no image")
    load(copy)
    with pytest.raises(ValueError, match="is not a readable image"):
        load(copy, check_images=True)
    assert load(copy, check_images=True, on_error="skip").image_ids == (TRAIN[0],)


@pytest.mark.parametrize("row", ["a.jpg\tb.jpg#0\t1", "a.jpg\tb.jpg#0\tyes\t3\t0", "a.jpg\tb.jpg#0\t3\t3\t0"])
def test_a_bad_judgement_is_named_by_its_row(copy, row):
    with (copy / "CrowdFlowerAnnotations.txt").open("a", encoding="utf-8") as file:
        file.write(row + "\n")
    with pytest.raises(
        ValueError, match=r"CrowdFlowerAnnotations.txt row 5: expected image, caption id, share, yes, no"
    ):
        load(copy, "test")


def test_missing_files_say_what_to_download_and_from_where(copy, tmp_path, monkeypatch):
    (copy / "CrowdFlowerAnnotations.txt").unlink()
    load(copy, "train")
    with pytest.raises(
        FileNotFoundError, match=r"lacks CrowdFlowerAnnotations.txt. .*Flickr8k_text.zip .*https://"
    ):
        load(copy, "test")
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"set root=\.\.\., or WORKBENCH_DATA"):
        data.load("flickr8k")
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"flickr8k: there is no folder .*nowhere.*https://"):
        data.load("flickr8k")


@pytest.mark.real_data
def test_the_real_files_have_the_published_counts(real_data):
    root = str(real_data / "flickr8k")
    expected = {"train": (5999, 29995), "val": (1000, 5000), "test": (1000, 5000)}
    for name, counts in expected.items():
        found = data.load("flickr8k", split=name, root=root).fingerprint()
        assert (found["images"], found["captions"]) == counts
        assert found["captions_per_image"] == {5: counts[0]}


@pytest.mark.real_data
def test_the_real_judgements_have_the_published_counts(real_data):
    split = data.load("flickr8k", split="test", root=str(real_data / "flickr8k"))
    human = split.judgements["human"]
    relevant = human.relevant()
    own = split.judgements["own"].relevant()
    assert len(human.grades) == 47288
    assert (relevant & ~own).sum() == 2012
    assert (relevant & own).sum() == 693
