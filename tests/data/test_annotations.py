"""Annotations of MS-COCO and in Karpathy's form as tools and editors write them: names, marks, other keys."""

from __future__ import annotations

import json

import pytest

import workbench as wb
from tests.data.test_layouts import parquet, put, write

SPELLINGS = {
    "plain": lambda n, folder: f"images/{n}.jpg",
    "dot": lambda n, folder: f"./images/{n}.jpg",
    "dot inside": lambda n, folder: f"images/./{n}.jpg",
    "backslash": lambda n, folder: f"images\\{n}.jpg",
    "two slashes": lambda n, folder: f"images//{n}.jpg",
    "absolute": lambda n, folder: str((folder / "images" / f"{n}.jpg").absolute()),
    "of another machine": lambda n, folder: f"/data/upload/4/{n}.jpg",
    "of Windows": lambda n, folder: f"C:\\photos\\images\\{n}.jpg",
    "other case": lambda n, folder: f"images/{n}.JPG",
}


def coco(names, key="caption", texts=None):
    """Annotations with a caption for each image."""
    texts = texts or [f"caption {n}" for n in range(len(names))]
    return {
        "images": [{"id": n, "file_name": name} for n, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, key: text} for n, text in enumerate(texts)],
    }


def karpathy(names, key="raw"):
    return {
        "dataset": "mine",
        "images": [
            {"filename": name, "split": "test", "sentences": [{key: f"caption {n}"}]}
            for n, name in enumerate(names)
        ],
    }


def by_image(names):
    return {name: f"caption {n}" for n, name in enumerate(names)}


def records(names):
    return [{"image": name, "caption": f"caption {n}"} for n, name in enumerate(names)]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("form", [coco, karpathy, by_image, records])
def test_names_of_images_are_brought_into_one_form_before_they_are_compared(tmp_path, form, spelling):
    put(tmp_path / "images", 0, 1, 2)
    names = [SPELLINGS[spelling](n, tmp_path) for n in range(3)]
    write(tmp_path / "captions_test.json", json.dumps(form(names)))
    split = wb.load_data(tmp_path)
    assert split.captions == ("caption 0", "caption 1", "caption 2")
    assert [split.open_image(row).size for row in range(3)] == [(16, 12)] * 3
    if spelling in ("plain", "dot", "dot inside", "backslash", "two slashes", "absolute"):
        assert split.image_ids == ("images/0.jpg", "images/1.jpg", "images/2.jpg")


@pytest.mark.parametrize("form", [coco, karpathy])
def test_two_spellings_of_one_file_are_not_two_images(tmp_path, form):
    put(tmp_path, 0)
    write(tmp_path / "captions_test.json", json.dumps(form(["0.jpg", "./0.jpg"])))
    with pytest.raises(ValueError, match=r"2 images have the file 0\.jpg|0\.jpg occurs twice"):
        wb.load_data(tmp_path)


def test_an_image_without_captions_and_two_images_of_one_id_are_named(tmp_path):
    put(tmp_path, 0, 1)
    content = coco(["./0.jpg", "./1.jpg"])
    content["annotations"].pop()
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(ValueError, match=r"1\.jpg has no caption"):
        wb.load_data(tmp_path)
    content["images"][1]["id"] = 0
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(ValueError, match="image 2: the id 0 was used before"):
        wb.load_data(tmp_path)
    content["images"][1]["id"] = [1]
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(ValueError, match=r"image 2: its id is \[1\]"):
        wb.load_data(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("form", [coco, karpathy, by_image, records])
def test_the_kind_of_a_json_file_is_told_in_every_encoding_of_json(tmp_path, form, encoding):
    put(tmp_path, 0, 1)
    content = json.dumps(form(["0.jpg", "1.jpg"]))
    (tmp_path / "captions_test.json").write_bytes(content.encode(encoding))
    assert wb.load_data(tmp_path).captions == ("caption 0", "caption 1")


def test_annotations_without_a_caption_say_what_they_have_and_another_key_can_be_chosen(tmp_path):
    put(tmp_path, 0, 1)
    write(tmp_path / "captions_test.json", json.dumps(coco(["0.jpg", "1.jpg"], key="sentence")))
    with pytest.raises(FileNotFoundError, match=r"no 'caption', but id, image_id, sentence; .*'sentence'"):
        wb.load_data(tmp_path)
    with pytest.raises(ValueError, match=r"^captions_test\.json: its annotations have no 'caption'"):
        wb.load_data(tmp_path / "captions_test.json")
    split = wb.load_data(tmp_path, columns={"caption": "sentence"})
    assert split.captions == ("caption 0", "caption 1")
    with pytest.raises(ValueError, match="'split'"):
        wb.load_data(tmp_path, columns={"caption": "sentence", "split": "fold"})
    boxes = coco(["0.jpg", "1.jpg"], key="bbox", texts=[[0, 0, 1, 1]] * 2)
    write(tmp_path / "captions_test.json", json.dumps(boxes))
    with pytest.raises(FileNotFoundError, match="no 'caption', but id, image_id, bbox"):
        wb.load_data(tmp_path)


@pytest.mark.parametrize("annotations", [None, [], "none", [7]])
def test_annotations_that_are_none_are_said(tmp_path, annotations):
    put(tmp_path, 0)
    content = coco(["0.jpg"]) | {"annotations": annotations}
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(FileNotFoundError, match="its annotations are no list of objects"):
        wb.load_data(tmp_path)


def test_an_image_without_a_file_name_is_named_with_its_keys(tmp_path):
    put(tmp_path, 0)
    content = coco(["0.jpg"])
    content["images"][0]["path"] = content["images"][0].pop("file_name")
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(ValueError, match="image 1 has no file_name, but id, path"):
        wb.load_data(tmp_path)


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ({"caption": "meta.captions.en"}, {"image": "0.jpg", "meta": {"captions": {"en": "deep"}}}),
        ({"image": "file.name"}, {"file": {"name": "0.jpg"}, "caption": "deep"}),
        ({}, {"image": "0.jpg", "caption": {"text": "deep", "tokens": ["deep"]}}),
    ],
)
def test_a_field_at_any_depth_can_be_chosen_and_a_known_name_is_taken(tmp_path, path, record):
    put(tmp_path, 0)
    write(tmp_path / "pairs.json", json.dumps([record]))
    assert wb.load_data(tmp_path, columns=path).captions == ("deep",)


def test_options_that_a_layout_does_not_read_are_refused(tmp_path):
    put(tmp_path, 0)
    write(tmp_path / "0.txt", "a text")
    for option in ({"columns": {"caption": "title"}}, {"images": "photos"}):
        with pytest.raises(ValueError, match=f"read as texts, which takes no {next(iter(option))}"):
            wb.load_data(tmp_path, **option)


def test_an_annotation_that_lacks_its_caption_is_named_with_its_keys_and_can_be_skipped(tmp_path):
    put(tmp_path, 0, 1)
    content = coco(["0.jpg", "1.jpg"])
    content["annotations"][1]["captoin"] = content["annotations"][1].pop("caption")
    write(tmp_path / "captions_test.json", json.dumps(content))
    with pytest.raises(ValueError, match="annotation 2 has no caption, but id, image_id, captoin"):
        wb.load_data(tmp_path)
    assert wb.load_data(tmp_path, on_error="skip").captions == ("caption 0",)


def test_sentences_of_karpathys_form_without_their_text_say_what_they_have(tmp_path):
    put(tmp_path, 0)
    write(tmp_path / "captions_test.json", json.dumps(karpathy(["0.jpg"], key="text")))
    with pytest.raises(ValueError, match=r"image 1 .*raw.*\{'text': 'caption 0'\}"):
        wb.load_data(tmp_path)
    with pytest.raises(ValueError, match="read as karpathy, which takes no columns"):
        wb.load_data(tmp_path, columns={"caption": "text"})


def languages(n):
    return {"en": f"a thing {n}", "de": f"ein Ding {n}"}


CONTAINERS = {
    "JSON": lambda at, rows: write(at / "captions.json", json.dumps(rows)),
    "JSON Lines": lambda at, rows: write(
        at / "captions.jsonl", "".join(json.dumps(row) + "\n" for row in rows)
    ),
    "Parquet": lambda at, rows: parquet(
        at / "captions.parquet", **{name: [row[name] for row in rows] for name in rows[0]}
    ),
    "annotations of MS-COCO": lambda at, rows: write(
        at / "captions_test.json",
        json.dumps(coco([row["image"] for row in rows], texts=[row["caption"] for row in rows])),
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("several", [False, True])
def test_a_caption_that_is_an_object_is_named_by_its_keys_and_one_can_be_chosen(tmp_path, container, several):
    put(tmp_path, 0, 1)
    captions = [[languages(n)] * 2 if several else languages(n) for n in range(2)]
    CONTAINERS[container](tmp_path, [{"image": f"{n}.jpg", "caption": captions[n]} for n in range(2)])
    with pytest.raises(ValueError, match=r"1: the caption is an object with en, de; .*'caption\.en'"):
        wb.load_data(tmp_path)
    split = wb.load_data(tmp_path, columns={"caption": "caption.de"})
    assert split.captions == tuple(f"ein Ding {n}" for n in range(2) for _ in range(1 + several))
    with pytest.raises(ValueError, match=r"(row|annotation) 1"):
        wb.load_data(tmp_path, columns={"caption": "caption.fr"})
