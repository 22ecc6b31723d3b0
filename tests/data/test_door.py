"""The one door: a name, a path, a table in memory or a split; what is refused, skipped, noted or doubtful."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from tests.data.fixtures import tar
from tests.data.test_layouts import MAC, coco_2017, hub_bytes, image_bytes, own, put, write
from workbench import data
from workbench.cli import app
from workbench.data.opening import find_doubts
from workbench.records import NoImageError
from workbench.runs.resolve import resolve


def test_a_split_comes_back_and_other_things_are_refused(tmp_path):
    own(tmp_path)
    split = wb.load_data(tmp_path)
    assert wb.load_data(split) is split
    with pytest.raises(ValueError, match="is loaded already; it takes no split"):
        wb.load_data(split, split="test")
    with pytest.raises(TypeError, match="expected a name, a path, a DataFrame"):
        wb.load_data(7)
    with pytest.raises(KeyError, match=r"did you mean folder.*; and there is no file or folder foldre"):
        wb.load_data("foldre")
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        wb.load_data("./nothing")
    with pytest.raises(TypeError, match="has no option 'tabel'"):
        wb.load_data(tmp_path, tabel="captions.csv")


def test_a_name_of_the_registry_goes_before_a_folder_and_tilde_is_the_home(tmp_path, monkeypatch):
    own(tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set root="):
        wb.load_data("folder")
    for place in ("./folder", "~/folder", "folder/captions.csv", tmp_path / "folder"):
        assert wb.load_data(place, split="all").captions == ("one", "two")
    assert data.load("folder", root="~/folder", split="all").captions == ("one", "two")


def test_without_a_split_it_is_the_test_split_the_only_one_or_all(tmp_path):
    own(tmp_path / "told")
    assert wb.load_data(tmp_path / "told").name == "told/test"
    coco_2017(tmp_path / "coco")
    with pytest.raises(
        ValueError, match=r"has the splits train and val, and no test; choose one with split="
    ):
        wb.load_data(tmp_path / "coco")
    with pytest.raises(ValueError, match="no annotations of the split 'test'; choose train, val or all"):
        wb.load_data(tmp_path / "coco", split="test")
    assert wb.load_data(tmp_path / "coco/annotations/captions_val2017.json").image_ids == (
        "000000000003.jpg",
    )
    put(tmp_path / "plain", *range(20))
    rows = "".join(f"{n}.jpg,number {n}\n" for n in range(20))
    write(tmp_path / "plain" / "captions.csv", "image,caption\n" + rows)
    assert len(wb.load_data(tmp_path / "plain").image_ids) == 20
    part = wb.load_data(tmp_path / "plain", split="train")
    assert "the checksum of an image's name cuts 80, 10 and 10 %" in part.notes[1]


@pytest.mark.parametrize("kind", ["path", "bytes", "array", "image"])
def test_a_data_frame_is_read(tmp_path, kind, monkeypatch):
    put(tmp_path, 1, 2)
    monkeypatch.chdir(tmp_path)
    image = {
        "path": lambda n: f"{n}.jpg",
        "bytes": image_bytes,
        "array": lambda n: np.full((12, 16, 3), n, np.uint8),
        "image": lambda n: Image.new("RGB", (16, 12), (n, 0, 0)),
    }[kind]
    frame = pd.DataFrame(
        {"image": [image(1), image(2)], "text": ["one", ["two", "deux"]], "split": ["train", "valid"]}
    )
    split = wb.load_data(frame, split="all")
    assert split.captions == ("one", "two", "deux")
    assert [split.open_image(row).size for row in (0, 1)] == [(16, 12)] * 2
    assert wb.load_data(frame, split="val").captions == ("two", "deux")
    with pytest.raises(ValueError, match="image, caption are needed"):
        wb.load_data(frame.drop(columns="text"))


class Dataset:
    """What the door reads of a ``datasets.Dataset``."""

    def __init__(self, rows):
        self.rows, self.column_names = rows, list(rows[0])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return [row[at] for row in self.rows] if isinstance(at, str) else self.rows[at]


def test_a_data_set_of_the_hub_is_read_and_its_parts_are_splits():
    parts = {
        name: Dataset([{"image": Image.new("RGB", (16, 12), (n, 0, 0)), "caption": [f"a {n}", f"b {n}"]}])
        for n, name in enumerate(("train", "validation", "test"))
    }
    assert wb.load_data(parts).captions == ("a 2", "b 2")
    assert wb.load_data(parts, split="val").open_image(0).getpixel((0, 0)) == (1, 0, 0)
    assert wb.load_data(parts["train"]).captions == ("a 0", "b 0")


def test_the_library_datasets_gives_what_the_door_reads(tmp_path):
    datasets = pytest.importorskip("datasets")
    hub_bytes(tmp_path / "hub")
    made = datasets.load_dataset("parquet", data_dir=str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    made = made.cast_column("image", datasets.Image())
    made.save_to_disk(str(tmp_path / "disk"))
    for source in (made, tmp_path / "disk", tmp_path / "hub"):
        split = wb.load_data(source, split="train")
        assert split.captions == ("a 1", "b 1", "a 2", "b 2", "a 3", "b 3")
        assert split.open_image(2).size == (16, 12)


def test_a_configuration_takes_a_path_where_it_takes_a_name(tmp_path):
    own(tmp_path)
    config = resolve(wb.Config(data=str(tmp_path), start="scenes", positives="same_text"))
    assert config.data.name == str(tmp_path)
    with pytest.raises(ValueError, match="positives='exact' names judgements"):
        resolve(wb.Config(data=str(tmp_path), start="scenes", positives="exact"))


def test_a_text_at_several_images_is_right_for_all_of_them(tmp_path):
    put(tmp_path, *range(4))
    rows = [f"{n}.jpg,{'a man in a black coat' if n < 3 else 'a red bus'},test" for n in range(4)]
    write(tmp_path / "captions.csv", "\n".join(["image,caption,split", *rows]))
    for split in (wb.load_data(tmp_path), data.load("folder", root=str(tmp_path), split="test")):
        truth = np.array([[one == other for other in split.captions] for one in split.captions])
        np.testing.assert_array_equal(split.judgements["same_text"].relevant(), truth)
        assert any("3 captions stand at another image too" in note for note in split.notes)


def test_a_text_at_very_many_images_makes_no_judgements(tmp_path, monkeypatch):
    put(tmp_path, *range(4))
    rows = [f"{n}.jpg,a man in a black coat" for n in range(4)]
    write(tmp_path / "captions.csv", "\n".join(["image,caption", *rows]))
    monkeypatch.setattr("workbench.data.reading.MOST_SAME", 15)
    split = wb.load_data(tmp_path)
    assert "same_text" not in split.judgements
    assert any("in no judgements, since 16 pairs are many" in note for note in split.notes)


def test_splits_that_number_their_captions_and_name_their_images_alike_stay_apart(tmp_path):
    for part, names in (("train", (1, 2)), ("val", (1, 3))):
        put(tmp_path / part, *names)
        images = [{"id": n, "file_name": f"{name}.jpg"} for n, name in enumerate(names)]
        captions = [{"id": n, "image_id": n, "caption": f"{part} {n}"} for n in range(2)]
        write(tmp_path / f"annotations/{part}.json", json.dumps({"images": images, "annotations": captions}))
    assert wb.load_data(tmp_path, split="val").captions == ("val 0", "val 1")
    assert wb.load_data(tmp_path, split="val").open_image(0).size == (16, 12)
    with pytest.raises(ValueError, match="in 'val' here, in 'train' before; two images"):
        wb.load_data(tmp_path, split="all")
    file = tmp_path / "annotations/train.json"
    file.write_text(file.read_text().replace("1.jpg", "4.jpg"))
    (tmp_path / "train/1.jpg").rename(tmp_path / "train/4.jpg")
    assert wb.load_data(tmp_path, split="all").caption_ids == ("train/0", "train/1", "val/0", "val/1")


def test_images_that_lie_elsewhere_are_found_or_named(tmp_path):
    put(tmp_path / "photos", 1)
    write(tmp_path / "table/captions.csv", "image,caption\nsub/1.jpg,a dog")
    there = str(tmp_path / "photos")
    assert wb.load_data(tmp_path / "table", images=there).open_image(0).size == (16, 12)
    write(tmp_path / "table/captions.csv", "image,caption\n9.jpg,a dog")
    with pytest.raises(FileNotFoundError, match=r"no image file .*9.jpg"):
        wb.load_data(tmp_path / "table", images=there)


def parquet(file, **columns):
    pa.parquet.write_table(pa.table(columns), file)


def test_a_field_split_decides_before_the_name_of_a_shard(tmp_path):
    rows = {"caption": ["a", "b", "c"], "split": ["train", "val", "test"]}
    parquet(tmp_path / "TEST-00000-of-00001.parquet", image=[image_bytes(n) for n in range(3)], **rows)
    found = [data.load("shards", split=one, root=str(tmp_path)).captions for one in ("train", "val", "test")]
    assert found == [("a",), ("b",), ("c",)]
    place = tmp_path / "tar"
    place.mkdir()
    tar(place / "test.tar", [("1.jpg", image_bytes(1)), ("1.json", b'{"caption": "one", "split": "train"}')])
    assert data.load("shards", split="train", root=str(place)).captions == ("one",)


@pytest.mark.parametrize(
    ("name", "split"),
    [("validation", "val"), ("valid", "val"), ("dev", "val"), ("training", "train"), ("testing", "test")],
)
def test_names_of_splits_are_those_of_the_field(tmp_path, name, split):
    parquet(tmp_path / f"{name}-00000-of-00001.parquet", image=[image_bytes(1)] * 4, caption=list("abcd"))
    assert len(data.load("shards", split=split, root=str(tmp_path)).image_ids) == 4
    parquet(tmp_path / "more.parquet", image=[image_bytes(1)], caption=["e"])
    assert len(data.load("shards", split="all", root=str(tmp_path)).captions) == 5


def test_a_caption_with_line_breaks_that_the_json_holds_too_is_one(tmp_path):
    members = [("1.jpg", image_bytes(1)), ("1.txt", b"one\ntwo"), ("1.json", b'{"caption": "one\\ntwo"}')]
    tar(tmp_path / "a.tar", members)
    assert wb.load_data(tmp_path).captions == ("one two",)


BAD = {
    "unreadable text": [("1.jpg", image_bytes(1)), ("1.json", b"{oops")],
    "unreadable text, latin-1": [("1.jpg", image_bytes(1)), ("1.txt", b"caf\xe9")],
    "repeated key": [
        ("9.jpg", image_bytes(1)),
        ("9.txt", b"again"),
        ("8.jpg", image_bytes(8)),
        ("8.txt", b"8"),
    ],
    "corrupt image": [("1.jpg", image_bytes(1)[:300]), ("1.txt", b"cut off")],
    "missing image": [("1.txt", b"none")],
    "missing caption": [("1.jpg", image_bytes(1))],
}


@pytest.mark.parametrize("kind", BAD)
def test_every_kind_of_broken_sample_is_skipped_one_by_one_and_counted(tmp_path, kind):
    tar(tmp_path / "a.tar", [*BAD[kind], ("9.jpg", image_bytes(9)), ("9.txt", b"a good one")])
    split = wb.load_data(tmp_path, on_error="skip")
    assert len(split.captions) == (2 if kind == "repeated key" else 1)
    assert any(
        f"skipped 1: 1 x {kind.partition(',')[0]}" in note and "a.tar, " in note for note in split.notes
    )
    with pytest.raises(ValueError, match=r"a\.tar"):
        wb.load_data(tmp_path).open_image(0)


def test_a_null_image_and_a_cut_photograph_are_skipped(tmp_path):
    parquet(tmp_path / "a.parquet", image=[image_bytes(1), None], caption=["a", "b"])
    assert wb.load_data(tmp_path, on_error="skip").captions == ("a",)
    coco_2017(tmp_path / "coco")
    (tmp_path / "coco/train2017/000000000002.jpg").write_bytes(image_bytes(2)[:300])
    split = wb.load_data(tmp_path / "coco", split="train", on_error="skip")
    assert split.image_ids == ("000000000001.jpg",)
    assert any("5 x corrupt image" in note for note in split.notes)


def test_a_row_in_another_encoding_and_an_annotation_without_a_caption_are_skipped_alone(tmp_path):
    put(tmp_path, 1, 2)
    place = tmp_path / "captions.csv"
    place.write_bytes("image,caption\n1.jpg,größer\n".encode("latin-1") + b"2.jpg,fine\n")
    split = wb.load_data(tmp_path, on_error="skip")
    assert split.captions == ("fine",)
    assert any("1 x unreadable text" in note for note in split.notes)
    coco_2017(tmp_path / "coco")
    file = tmp_path / "coco/annotations/captions_val2017.json"
    file.write_text(file.read_text().replace('"image_id": 3, "id": 30, ', '"id": 30, ', 1))
    split = wb.load_data(tmp_path / "coco", split="val", on_error="skip")
    assert len(split.captions) == 4
    assert any("1 x caption without image" in note for note in split.notes)


@pytest.mark.parametrize("name", ["captions.csv", "test-00000-of-00001.parquet", "0.tar", "1.jpg", "a.jsonl"])
def test_what_a_download_left_in_place_of_a_file_is_named(tmp_path, name):
    if name in ("1.jpg", "captions.csv"):
        own(tmp_path)
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    with pytest.raises(ValueError, match=f"{name} holds no .*: it is a Git LFS pointer; download the file"):
        wb.load_data(tmp_path, split="all", table=name if name == "a.jsonl" else "")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("data.json", b'[{"image": "1.jpg", "cap', r"data\.json is not whole"),
        ("data.jsonl", b'{"image": "1.jpg", "cap', r"data\.jsonl row 1: not JSON"),
        (
            "data.csv",
            "image,caption\n1.jpg,one\n".encode("utf-16"),
            r"data\.csv cannot be read .*; save it as UTF-8",
        ),
    ],
)
def test_where_nothing_can_be_read_a_broken_table_says_why(name, content, said, tmp_path):
    put(tmp_path, 1)
    (tmp_path / name).write_bytes(content)
    write(tmp_path / "data.txt", '"a text')
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(
        FileNotFoundError, match=f"can be read: 1.jpg, {name}, data.txt, folder.json; {said}.*; give a table"
    ):
        wb.load_data(tmp_path)
    with pytest.raises(ValueError, match=f"^{said}"):
        wb.load_data(tmp_path / name)


def test_images_that_are_too_few_to_be_cut_say_so(tmp_path):
    put(tmp_path, 1, 2)
    write(tmp_path / "captions.csv", "image,caption\n1.jpg,one\n2.jpg,two\n")
    with pytest.raises(
        ValueError, match="no usable row for split 'val'; nothing tells the splits, and a chec"
    ):
        wb.load_data(tmp_path, split="val")


def test_images_without_a_caption_are_counted_and_those_of_other_splits_are_not(tmp_path):
    coco_2017(tmp_path)
    put(tmp_path / "val2017", 77, 78)
    for split, told in (("val", True), ("train", False), ("all", True)):
        notes = wb.load_data(tmp_path, split=split).notes
        assert ("2 images beside them without a caption in what was read" in notes) == told
    assert "2 images beside them without a caption" in command(tmp_path).output


def test_texts_beside_the_images_of_a_table_are_told_and_can_be_chosen(tmp_path):
    put(tmp_path, 1, 2)
    for n in (1, 2, 3):
        write(tmp_path / f"{n}.txt", f"text {n}")
    write(tmp_path / "captions.csv", "image,caption\n1.jpg,row 1\n2.jpg,row 2\n")
    split = wb.load_data(tmp_path)
    assert split.captions == ("row 1", "row 2")
    assert "2 texts beside images not read; layout='texts' reads these instead" in split.notes
    (tmp_path / "3.txt").unlink()
    split = wb.load_data(tmp_path, layout="texts")
    assert split.captions == ("text 1", "text 2")
    assert not any("not read" in note for note in split.notes)


def test_hidden_files_are_passed_over(tmp_path):
    from workbench.data.images import images_below

    (tmp_path / ".thumbnails").mkdir()
    for name in ("a.png", ".thumbnails/a.png"):
        (tmp_path / name).write_bytes(image_bytes(1, "PNG"))
    (tmp_path / "._a.png").write_bytes(MAC)
    assert [path.name for path in images_below(tmp_path)] == ["a.png"]


def test_one_image_under_two_spellings_is_one_image_with_one_split(tmp_path):
    put(tmp_path, 1)
    write(tmp_path / "captions.csv", "image,caption,split\n1.jpg,one,train\n./1.jpg,two,test\n")
    with pytest.raises(ValueError, match="is in 'test' here, in 'train' before"):
        wb.load_data(tmp_path)
    write(tmp_path / "captions.csv", "image,caption\n1.jpg,one\n./1.jpg,two\n")
    assert wb.load_data(tmp_path).own.tolist() == [0, 0]
    write(tmp_path / "captions.csv", "image,caption,split\n1,one,train\n1.jpg,two,test\n")
    with pytest.raises(ValueError, match=r"1\.jpg and 1 name one image"):
        wb.load_data(tmp_path)


HEADERS = [
    "image\tcaption",
    "filepath,title",
    "file_name,text",
    "Image,Caption",
    "image, caption",
    "img;sentence",
]


@pytest.mark.parametrize("header", HEADERS)
def test_the_usual_headers_are_read_and_none_is_named(tmp_path, header):
    put(tmp_path, 1)
    mark = next(one for one in "\t;," if one in header)
    write(tmp_path / "captions.csv", f"{header}\n1.jpg{mark} a red square\n")
    assert wb.load_data(tmp_path).captions == ("a red square",)
    assert data.load("folder", root=str(tmp_path), split="all").captions == ("a red square",)
    write(tmp_path / "captions.csv", "1.jpg,a red square\n1.jpg,again\n")
    with pytest.raises(ValueError, match=r"has the columns 1\.jpg, a red square; image, caption are needed"):
        wb.load_data(tmp_path)
    write(tmp_path / "captions.csv", "photo id,words\n1.jpg,a red square\n")
    assert (
        wb.load_data(tmp_path, columns={"image": "photo id", "caption": "words"})
        .captions[0]
        .endswith("square")
    )


def command(*given):
    return CliRunner().invoke(app, ["data", *map(str, given)])


def test_the_command_says_how_a_path_is_read_and_what_is_doubtful(tmp_path):
    put(tmp_path, 1, 2)
    (tmp_path / "copy.jpg").write_bytes(image_bytes(1))
    (tmp_path / "cut.jpg").write_bytes(image_bytes(3)[:300])
    rows = ["1.jpg,one,train", f"2.jpg,{'long ' * 80},train", "copy.jpg,two,val", "cut.jpg,two,test"]
    write(tmp_path / "captions.csv", "\n".join(["image,caption,split", *rows]))
    found = json.loads(command(tmp_path, "--json").output)
    assert (found["images"], found["captions"], found["captions_per_image"]) == (4, 4, {"1": 4})
    assert "splits by the column split: train (2 images), val (1 image), test (1 image)" in found["notes"]
    assert [one.partition(":")[0] for one in found["doubtful"]] == [
        "1 image cannot be opened",
        "1 image with the pixels of another one",
    ]
    assert any("2 captions stand at another image too" in note for note in found["notes"])


def test_the_command_refuses_in_one_line(tmp_path):
    (tmp_path / "photos.zip").touch()
    for place in (tmp_path, Path("nothing/"), tmp_path / "photos.zip"):
        result = command(place)
        assert result.exit_code == 2
        assert len(result.output.strip().splitlines()) == 1
    assert "unpack the archives" in command(tmp_path).output


def test_vectors_need_no_images(tmp_path):
    put(tmp_path, 0)
    rows = [f"{n}.jpg,a caption of {n}" for n in range(3)]
    write(tmp_path / "captions.csv", "\n".join(["image,caption", *rows]))
    frame = pd.DataFrame({"image": [f"{n}.jpg" for n in range(3)], "caption": ["one", "two", "three"]})
    for source in (tmp_path, tmp_path / "captions.csv", frame):
        read = source
        if source is frame:
            read = wb.load_data(frame, images=str(tmp_path), require_images=False)
        found = wb.evaluate(images=np.eye(3), texts=np.eye(3), data=read)
        assert found["t2i/R@1"] == 1.0
        assert any("2 images not there" in note for note in found.split.notes)
        assert found.split.open_image(0).size == (16, 12)
        with pytest.raises(NoImageError):
            found.split.open_image(2)
    with pytest.raises(FileNotFoundError, match=r"1\.jpg"):
        wb.load_data(tmp_path)


@pytest.mark.parametrize("place", ["/srv/photos", r"D:\\photos", r"\\\\server\\share"])
def test_paths_of_another_machine_are_found_by_their_end(tmp_path, place):
    put(tmp_path / "one", 0, 1)
    put(tmp_path / "two", 0)
    mark = "\\" if "\\" in place else "/"
    rows = [
        f"{mark.join([place, *name])},a caption" for name in (("one", "0.jpg"), ("two", "0.jpg"), ("1.jpg",))
    ]
    write(tmp_path / "captions.csv", "\n".join(["image,caption", *rows]))
    split = wb.load_data(tmp_path)
    assert len(split.image_ids) == 3
    assert any("images are read from one/, two/" in note for note in split.notes)


def test_images_of_annotations_stand_in_the_order_of_the_file(tmp_path):
    coco_2017(tmp_path)
    file = tmp_path / "annotations/captions_val2017.json"
    content = json.loads(file.read_text())
    content["annotations"].reverse()
    file.write_text(json.dumps(content))
    split = wb.load_data(tmp_path, split="val")
    assert split.image_ids == tuple(one["file_name"] for one in content["images"])
    assert split.captions == tuple(" ".join(one["caption"].split()) for one in content["annotations"])
    content["images"].append(content["images"][0] | {"id": 77})
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="2 images have the file"):
        wb.load_data(tmp_path, split="val")


def test_names_are_found_without_their_case_and_rows_a_line_under_json(tmp_path):
    put(tmp_path, 0, 1, name="{}.JPG")
    rows = [json.dumps({"image": f"{n}.jpg", "caption": f"a caption of {n}"}) for n in range(2)]
    write(tmp_path / "captions.json", "\n".join(rows))
    split = wb.load_data(tmp_path)
    assert split.image_ids == ("0.jpg", "1.jpg")
    assert split.open_image(1).size == (16, 12)
    assert "0.jpg is 0.JPG" in split.notes


def test_a_caption_that_stands_twice_is_doubtful(tmp_path):
    put(tmp_path, 0)
    write(tmp_path / "captions.csv", "image,caption\n" + "0.jpg,the same\n" * 3)
    assert "2 captions standing twice at an image: the same" in find_doubts(wb.load_data(tmp_path))


def test_addresses_are_ids_where_vectors_stand_for_images(tmp_path):
    rows = [f"https://example.org/{n}.jpg,a caption of {n}" for n in range(3)]
    write(tmp_path / "captions.csv", "\n".join(["image,caption", *rows]))
    np.savez(tmp_path / "both.npz", images=np.eye(3), texts=np.eye(3))
    found = wb.evaluate(images=tmp_path / "both.npz", data=tmp_path / "captions.csv", name="mine")
    assert found["rsum"] == pytest.approx(6)
    assert any("stand in the order of the data: images https" in note for note in found.split.notes)
    with pytest.raises(ValueError, match="download the images"):
        wb.load_data(tmp_path / "captions.csv")
