"""Every card says of its data set what the loader yields."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import yaml
from PIL import Image

from workbench import data

FOLDER = Path(__file__).parent.parent / "data_cards"
CARDS = sorted(path.stem for path in FOLDER.glob("*.md"))
KEYS = ["name", "version", "licence", "url", "citation", "splits", "fields", "relevance", "files", "preprocessing", "fixture"]
PARAGRAPHS = [
    "Motivation", "Composition", "How it was collected", "What we change", "Known false negatives and biases",
    "Fit for, unfit for", "Licence", "Citation",
]  # fmt: skip


def read(name):
    """Front matter and prose of a card."""
    _, front, prose = (FOLDER / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), prose


def real(name):
    """Folder of the real files, or a skip with the reason."""
    root = Path(os.environ.get("WORKBENCH_DATA", "")) / name
    if "WORKBENCH_DATA" not in os.environ or not root.is_dir():
        pytest.skip(f"WORKBENCH_DATA does not name a folder with {name}/")
    return root


def made(fixture, place):
    """The files of a fixture that a card spells out, and a small image for each path that its table names."""
    for file, text in fixture.items():
        (place / file).write_text(text, encoding="utf-8")
        for line in text.splitlines()[1:]:
            image = place / line.split(",")[0]
            image.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8)).save(image)
    return place


def root_of(name, card, place):
    """Options that lead a loader to the files that the card counts."""
    if isinstance(card["fixture"], dict):
        return {"root": str(made(card["fixture"], place))}
    return {"root": str(real(name))} if card["files"] else {}


def test_every_loader_has_a_card_and_every_card_a_loader():
    assert data.names() == CARDS


@pytest.mark.parametrize("name", CARDS)
def test_a_card_has_all_keys_and_paragraphs_in_order(name):
    card, prose = read(name)
    assert list(card) == KEYS
    assert card["name"] == name
    places = [prose.find(f"**{paragraph}.**") for paragraph in PARAGRAPHS]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("name", CARDS)
def test_what_a_card_states_is_what_the_loader_yields(name, tmp_path):
    card, _ = read(name)
    options = root_of(name, card, tmp_path)
    judged = set()
    for split, counts in card["splits"].items():
        loaded = data.load(name, split=split, **options)
        assert {"images": len(loaded.image_ids), "captions": len(loaded.captions)} == counts
        judged |= set(loaded.judgements)
        assert (loaded.level is not None) == ("level" in card["fields"])
        assert (loaded.caption_graphs is not None) == ("caption_graph" in card["fields"])
        image = loaded.open_image(0)
        found = (image.height, image.width, len(image.getbands()))
        assert all(size in (None, there) for size, there in zip(card["fields"]["image"]["shape"], found, strict=True))
    assert judged == set(card["relevance"])


@pytest.mark.real_data
@pytest.mark.parametrize("name", [name for name in CARDS if read(name)[0]["files"]])
def test_the_real_files_are_those_of_the_card(name):
    root = real(name)
    found = {file: hashlib.sha256((root / file).read_bytes()).hexdigest() for file in read(name)[0]["files"]}
    assert found == read(name)[0]["files"]
