"""The layouts of ARO, SugarCrepe and Winoground, and rows that are misshapen."""

from __future__ import annotations

import json

import pytest

from tests.data import fixtures
from workbench import data


def load(place, source):
    return data.load("counterfactuals", source=source, root=str(getattr(fixtures, source)(place)))


@pytest.mark.parametrize(
    ("source", "kinds", "size"),
    [
        ("aro", {"relation": 2, "attribution": 1}, (6, 4)),
        ("sugarcrepe", {"swap_att": 2, "add_obj": 1}, (20, 10)),
        ("winoground", {"Object": 2, "Relation": 2}, (20, 10)),
    ],
)
def test_each_layout_is_read(tmp_path, source, kinds, size):
    split = load(tmp_path, source)
    assert {kind: len(pairs.grades) for kind, pairs in split.counterfactuals.items()} == kinds
    pairs = next(iter(split.counterfactuals.values()))
    first, counterfactual = split.captions[pairs.images[0]], split.captions[pairs.captions[0]]
    assert (first, counterfactual) == ("the horse is left of the man", "the man is left of the horse")
    assert split.open_image(0).size == size
    assert split.own[pairs.images[0]] == split.own[pairs.captions[0]] == 0


def test_both_captions_of_a_row_of_winoground_have_the_other_as_counterfactual(tmp_path):
    split = load(tmp_path, "winoground")
    pairs = split.counterfactuals["Object"]
    assert [split.captions[row] for row in pairs.images] == [
        split.captions[row] for row in pairs.captions[::-1]
    ]
    assert split.own[pairs.images].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("source", "file", "change", "message"),
    [
        ("aro", "visual_genome_relation.json", {"false_caption": 7}, "row 1 is malformed: false_caption"),
        ("aro", "visual_genome_relation.json", {"bbox_w": "wide"}, "row 1 is malformed: bbox_w"),
        ("sugarcrepe", "swap_att.json", {"negative_caption": " "}, "row 1' by swap_att is empty"),
        ("winoground", "examples.jsonl", {"caption_1": None}, "examples.jsonl row 1 is malformed: caption_1"),
        ("winoground", "examples.jsonl", {"caption_1": "the horse is left of the man"}, "the caption itself"),
    ],
)  # fmt: skip
def test_a_misshapen_counterfactual_is_named_by_file_and_row(tmp_path, source, file, change, message):
    path = getattr(fixtures, source)(tmp_path) / file
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    content = rows if file.endswith(".jsonl") else rows[0]
    first = next(iter(content.values())) if isinstance(content, dict) else content[0]
    first.update(change)
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=message):
        data.load("counterfactuals", source=source, root=str(tmp_path))


def test_a_place_without_the_files_says_what_to_get(tmp_path):
    (tmp_path / "images").mkdir()
    with pytest.raises(FileNotFoundError, match=r"winoground: .* lacks examples.jsonl. Get examples.jsonl"):
        data.load("counterfactuals", source="winoground", root=str(tmp_path))
    (fixtures.sugarcrepe(tmp_path) / "val2017" / "1.jpg").unlink()
    with pytest.raises(FileNotFoundError, match="row 1"):
        data.load("counterfactuals", source="sugarcrepe", root=str(tmp_path))
