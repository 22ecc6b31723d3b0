"""A card of one's own data: what it says, what is loaded by it, and what it says of files that differ."""

from __future__ import annotations

import json

import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from tests.data.test_layouts import put, write
from workbench.cli import app
from workbench.runs.data_card import write_card


def photos(place):
    """Four images with two captions each, all of the split test, and one of another split."""
    put(place, 1, 2, 3, 4, 5)
    rows = [f"{n}.jpg,{word} number {n},test" for n in (1, 2, 3, 4) for word in ("scene", "view")]
    write(place / "captions.csv", "\n".join(["image,caption,split", *rows, "5.jpg,other,train"]) + "\n")
    return place


def texts_beside(place):
    for n in (1, 2):
        put(place, n)
        write(place / f"{n}.txt", f"scene {n}\n")
    return place


def coco(place):
    put(place / "images", 1, 2)
    content = {
        "images": [{"id": n, "file_name": f"{n}.jpg"} for n in (1, 2)],
        "annotations": [{"id": n, "image_id": n, "caption": f"scene {n}"} for n in (1, 2)],
    }
    write(place / "annotations" / "captions_val.json", json.dumps(content))
    return place


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def carded(place):
    """The card of the photographs, as the command writes it."""
    done = run("data", photos(place), "--card")
    assert done.exit_code == 0, done.output
    return place / "card.yaml"


def notes_of(card):
    return [note for note in wb.load_data(str(card)).notes if "card.yaml" in note]


def test_the_card_says_how_the_split_is_read_and_by_which_rules_it_is_measured(tmp_path):
    card = yaml.safe_load(carded(tmp_path / "photos").read_text())
    assert card["name"] == "photos"
    assert card["read"] == {"split": "test", "layout": "table", "table": "captions.csv"}
    assert card["files"] == ["captions.csv"]
    assert card["licence"] == card["citation"] == ""
    # one of four images; two of eight captions; of five captions of eight at least one of two: 1 - 3/28
    assert card["chance"]["t2i/R@1"] == card["chance"]["i2t/R@1"] == 25.0
    assert card["chance"]["i2t/R@5"] == pytest.approx(100 * (1 - (3 * 2) / (8 * 7)), abs=0.01)
    lines = card["frozen"].splitlines()
    assert len(lines) == 1 + 4 + 8
    assert lines[1].startswith("image,1.jpg,")


@pytest.mark.parametrize("layout", [photos, texts_beside, coco])
def test_data_are_loaded_by_their_card_as_by_their_path(layout, tmp_path):
    place = layout(tmp_path / "mine")
    split = wb.load_data(str(place))
    read = wb.load_data(str(write_card(place, split)))
    assert read.image_ids == split.image_ids
    assert read.captions == split.captions
    assert read.checksums() == split.checksums()
    many = f"{len(split.image_ids)} images, {len(split.captions)} captions"
    assert f"as card.yaml froze it: {many}" in read.notes


def test_a_card_measures_what_its_folder_measures(tmp_path):
    card = carded(tmp_path / "photos")
    done = run("evaluate", "--model", "scenes:scenes", "--data", card, "--root", tmp_path / "runs", "--json")
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)["results"]
    by_path = wb.evaluate("scenes:scenes", str(card.parent), rounds=0)
    numbers = {number["key"]: number for number in result["numbers"]}
    assert numbers["rsum"]["value"] == by_path["rsum"]
    for key, chance in yaml.safe_load(card.read_text())["chance"].items():
        assert 100 * numbers[key]["chance"] == pytest.approx(chance, abs=0.01)


def test_a_file_that_changed_is_told_in_a_line(tmp_path):
    card = carded(tmp_path / "photos")
    Image.new("RGB", (9, 9)).save(card.parent / "2.jpg")
    table = card.parent / "captions.csv"
    table.write_text(table.read_text().replace("view number 3", "view number three"))
    assert notes_of(card)[1:] == [
        "1 image changed since card.yaml was written: 2.jpg",
        "1 caption changed since card.yaml was written: 3.jpg#1",
    ]


def test_a_file_that_is_missing_is_told_in_a_line_and_the_rest_is_read(tmp_path):
    card = carded(tmp_path / "photos")
    (card.parent / "4.jpg").unlink()
    assert len(wb.load_data(str(card)).image_ids) == 3
    assert "1 image of card.yaml missing here: 4.jpg" in notes_of(card)
    assert "2 captions of card.yaml missing here: 4.jpg#0, 4.jpg#1" in notes_of(card)


def test_a_file_that_came_later_is_told_in_a_line_and_left_out(tmp_path):
    card = carded(tmp_path / "photos")
    put(card.parent, 9)
    with (card.parent / "captions.csv").open("a") as table:
        table.write("9.jpg,a late one,test\n1.jpg,a third one,test\n")
    split = wb.load_data(str(card))
    assert (len(split.image_ids), len(split.captions)) == (4, 8)
    assert "1 image that card.yaml does not have, left out: 9.jpg" in split.notes
    assert "2 captions that card.yaml does not have, left out: 9.jpg#0, 1.jpg#2" in split.notes


def test_a_card_is_passed_on_without_its_data_which_then_are_named(tmp_path):
    card = carded(tmp_path / "photos")
    alone = tmp_path / "elsewhere" / "mine.yaml"
    write(alone, card.read_text().replace("url: ''", "url: https://photos.example"))
    done = run("data", alone)
    assert done.exit_code == 2
    assert "get them from https://photos.example" in done.output
    assert len(wb.load_data(str(alone), root=str(card.parent)).captions) == 8
    done = run("evaluate", "--model", "scenes:scenes", "--data", alone, "-p", f"data.root={card.parent}",
               "--root", tmp_path / "runs")  # fmt: skip
    assert "as mine.yaml froze it: 4 images, 8 captions" in done.output


def test_a_card_is_not_written_over_and_a_name_has_none(tmp_path):
    card = carded(tmp_path / "photos")
    before = card.read_text()
    done = run("data", card.parent, "--card")
    assert done.exit_code == 2
    assert "is there already; delete it to write it anew" in done.output
    assert card.read_text() == before
    done = run("data", "scenes", "--card", "-p", "data.size=8")
    assert done.exit_code == 2
    assert "a card describes data at a path" in done.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card.update(task="drawing"), "card.yaml is no card of data: task"),
        (lambda card: card.update(licenze="MIT"), "licenze"),
        (lambda card: card.pop("frozen"), "card.yaml is no card of data: frozen"),
        (lambda card: card.update(frozen="a,b\n"), "card.yaml: frozen does not begin with of,id,checksum"),
        (
            lambda card: card.update(frozen="of,id,checksum\nimage,1\n"),
            "card.yaml: frozen row 1 is 'image,1'",
        ),
        (lambda card: card.update(frozen="of,id,checksum\n"), "no caption that it froze is left"),
        (lambda card: card["read"].update(tabel="x"), "has no option 'tabel'; did you mean table"),
    ],
)
def test_a_card_that_is_malformed_is_refused_in_a_line(change, message, tmp_path):
    file = carded(tmp_path / "photos")
    card = yaml.safe_load(file.read_text())
    change(card)
    file.write_text(yaml.safe_dump(card))
    done = run("data", file)
    assert done.exit_code == 2
    assert message in done.output
    assert done.output.count("\n") == 1


def test_the_split_of_a_card_is_its_own(tmp_path):
    card = carded(tmp_path / "photos")
    assert wb.load_data(str(card), split="test").name == "photos/test"
    with pytest.raises(ValueError, match="is of the split 'test'; leave split='train' out"):
        wb.load_data(str(card), split="train")
