"""Every card says of its data set what the loader yields."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
import yaml
from benchmark_sets import declaration
from PIL import Image

from tests.data import fixtures
from workbench import data

FOLDER = Path(__file__).parent.parent / "data_cards"
CARDS = sorted(path.stem for path in FOLDER.glob("*.md"))
KEYS = [
    "name",
    "version",
    "licence",
    "url",
    "citation",
    "splits",
    "fields",
    "relevance",
    "files",
    "preprocessing",
    "fixture",
]
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


def is_there(needs):
    """Whether the real files that a card needs are all there."""
    root = os.environ.get("WORKBENCH_DATA")
    return root is not None and all((Path(root) / file).exists() for file in needs)


def options_and_counts(name, card, place):
    """Options that lead a loader to files, and the counts that it must find there: the real ones, else those
    of a fixture."""
    fixture = card["fixture"]
    if isinstance(fixture, str):
        return {"root": str(real(name))} if card["files"] else {}, card["splits"]
    if "made_by" not in fixture:
        return {"root": str(made(fixture, place))}, card["splits"]
    return (
        ({}, card["splits"])
        if is_there(fixture.get("needs", ["nothing"]))
        else (getattr(fixtures, name)(place), fixture["splits"])
    )


def test_every_loader_has_a_card_and_every_card_a_loader():
    # benchmarks are declared by the file that their loader reads
    assert [name for name in data.names() if name not in declaration.names()] == CARDS


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
    options, expected = options_and_counts(name, card, tmp_path)
    assert expected.keys() == card["splits"].keys()
    judged = set()
    for split, counts in expected.items():
        loaded = data.load(name, split=split, **options)
        assert {"images": len(loaded.image_ids), "captions": len(loaded.captions)} == counts
        judged |= {*loaded.judgements, *loaded.image_judgements, *loaded.caption_judgements}
        assert (loaded.level is not None) == ("level" in card["fields"])
        assert (loaded.caption_graphs is not None) == ("caption_graph" in card["fields"])
        image = loaded.open_image(0)
        found = (image.height, image.width, len(image.getbands()))
        assert all(
            size in (None, there) for size, there in zip(card["fields"]["image"]["shape"], found, strict=True)
        )
    assert judged == set(card["relevance"])


@pytest.mark.parametrize("name", [name for name in CARDS if "needs" in read(name)[0]["fixture"]])
def test_the_counts_of_a_card_that_a_fixture_stands_in_for_are_those_that_the_loader_insists_on(
    name, tmp_path
):
    options = getattr(fixtures, name)(tmp_path)
    for split, counts in read(name)[0]["splits"].items():
        with pytest.raises(
            ValueError,
            match=f"expected {counts['images']:,} images and {counts['captions']:,} captions, found",
        ):
            data.load(name, split=split, **{**options, "complete": True})


@pytest.mark.real_data
@pytest.mark.parametrize("name", [name for name in CARDS if read(name)[0]["files"]])
def test_the_real_files_are_those_of_the_card(name):
    root = real(name)
    found = {file: hashlib.sha256((root / file).read_bytes()).hexdigest() for file in read(name)[0]["files"]}
    assert found == read(name)[0]["files"]
