import io
import json
import tarfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

import workbench as wb
from tests.data.fixtures import tar
from workbench import Config, data
from workbench.io import ChecksumError
from workbench.runs.train import train

CAPTIONS = [["a red square", "something red"], ["a green square"], ["a blue square", "blue", "a square"]]
COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200)]


def image_bytes(colour, size=(12, 8)):
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def webdataset(file, first=0):
    members = []
    for n, (captions, colour) in enumerate(zip(CAPTIONS, COLOURS, strict=True), first):
        members.append((f"{n:05d}.png", image_bytes(colour)))
        members.append((f"{n:05d}.json", json.dumps({"captions": captions}).encode()))
    tar(file, members)


def table(file, image=None, **columns):
    images = image or [{"bytes": image_bytes(colour), "path": None} for colour in COLOURS]
    made = pyarrow.table({"image": images, **(columns or {"captions": CAPTIONS})})
    pyarrow.parquet.write_table(made, file, row_group_size=2)


def load(folder, split="all", **options):
    return data.load("shards", split=split, root=str(folder), **options)


@pytest.mark.parametrize(("write", "name"), [(webdataset, "a.tar"), (table, "a.parquet")])
def test_captions_and_pixels_are_those_of_the_shard(write, name, tmp_path):
    write(tmp_path / name)
    split = load(tmp_path)
    assert list(split.captions) == [one for captions in CAPTIONS for one in captions]
    assert split.own.tolist() == [0, 0, 1, 2, 2, 2]
    for row in (2, 0, 1):
        assert split.open_image(row).size == (12, 8)
        assert split.open_image(row).getpixel((3, 3)) == COLOURS[row]
    assert split.caption_ids[4] == f"{split.image_ids[2]}#1"


def test_both_forms_and_several_shards_are_one_split_with_ids_of_their_own(tmp_path):
    webdataset(tmp_path / "a.tar")
    webdataset(tmp_path / "b.tar")
    table(tmp_path / "c.parquet")
    split = load(tmp_path)
    assert split.image_ids[::3] == ("a/00000", "b/00000", "c/0")
    assert [split.open_image(row).getpixel((0, 0)) for row in range(9)] == COLOURS * 3


def test_the_pixels_of_a_replaced_table_are_its_own(tmp_path):
    table(tmp_path / "a.parquet")
    assert load(tmp_path).open_image(0).getpixel((0, 0)) == COLOURS[0]
    table(tmp_path / "a.parquet", image=[image_bytes(one) for one in COLOURS[::-1]], captions=CAPTIONS)
    assert load(tmp_path).open_image(0).getpixel((0, 0)) == COLOURS[2]


def test_captions_may_be_a_text_file_beside_the_image_or_a_column_of_texts(tmp_path):
    # img2dataset writes both a text and a json with the same caption
    about = json.dumps({"caption": "a red square", "width": 12}).encode()
    members = [
        ("x/1.jpg.png", b""),
        ("x/1.png", image_bytes(COLOURS[0])),
        ("x/1.txt", b"\xef\xbb\xbfa red square\n"),
    ]
    tar(tmp_path / "a.tar", [*members[1:], ("x/1.json", about)])
    table(tmp_path / "b.parquet", caption=["one", "two", "three"])
    assert load(tmp_path).captions == ("a red square", "one", "two", "three")


def test_names_of_shards_say_the_split_else_a_checksum_of_the_key_does(tmp_path):
    webdataset(tmp_path / "train-000.tar")
    webdataset(tmp_path / "coco_val-000.tar", first=5)
    assert load(tmp_path, "train").image_ids[0] == "train-000/00000"
    assert load(tmp_path, "val").image_ids[0] == "coco_val-000/00005"
    with pytest.raises(ValueError, match="no usable row for split 'test'; choose train, val, all"):
        load(tmp_path, "test")
    webdataset(tmp_path / "more.tar")
    with pytest.raises(ValueError, match=r"more.tar, 00000: split '' is not one of train"):
        load(tmp_path, "train")

    plain = tmp_path / "plain"
    plain.mkdir()
    for n in range(8):
        webdataset(plain / f"{n}.tar")
    parts = [load(plain, split).image_ids for split in ("train", "val", "test")]
    assert sorted(one for part in parts for one in part) == sorted(load(plain).image_ids)


def test_shards_are_read_once_and_again_when_one_changes(tmp_path, monkeypatch):
    from workbench.data import shards as module

    webdataset(tmp_path / "a.tar")
    first, kept = load(tmp_path), dict(module.READERS)
    monkeypatch.setitem(module.READERS, ".tar", lambda *given: pytest.fail("it was read again"))
    assert load(tmp_path).captions == first.captions
    monkeypatch.setitem(module.READERS, ".tar", kept[".tar"])
    webdataset(tmp_path / "b.tar")
    assert len(load(tmp_path).captions) == 12


def test_a_damaged_index_is_made_again_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    webdataset(tmp_path / "a.tar")
    before = load(tmp_path)
    index = next((tmp_path / "cache").glob("shards-*.jsonl"))
    index.write_bytes(index.read_bytes()[:-9] + b"123456789")
    with pytest.warns(UserWarning, match=r"made again"):
        assert load(tmp_path).captions == before.captions
    assert not issubclass(ChecksumError, OSError)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([("1.png", image_bytes(COLOURS[0]))], "a.tar, 1: there is no caption"),
        ([("1.txt", b"a cat")], "a.tar, 1: there is no image"),
        ([("1.png", b"x"), ("1.txt", b"  ")], r"a.tar, 1: the captions are \["),
        ([("1.png", b"x"), ("1.json", b"[1]")], "1.json: expected an object"),
        ([("1.png", b"x"), ("1.json", b"{")], "a.tar, 1"),
        ([("1.png", b"x"), ("1.json", b'{"captions": [3]}')], "a.tar, 1: the caption is 3; expected text"),
    ],
)
def test_what_is_wrong_with_a_sample_is_said_with_shard_and_key(members, said, tmp_path):
    tar(tmp_path / "a.tar", members)
    with pytest.raises(ValueError, match=said):
        load(tmp_path)


def test_bad_samples_are_left_out_and_counted_where_that_is_asked_for(tmp_path):
    webdataset(tmp_path / "a.tar")
    tar(tmp_path / "b.tar", [("1.png", image_bytes(COLOURS[0])), ("2.txt", b"a cat")])
    for _ in range(2):  # the second time from the index
        split = load(tmp_path, on_error="skip")
        assert len(split.image_ids) == 3
        assert any("1 x missing caption, 1 x missing image" in note for note in split.notes)


def test_a_broken_image_names_shard_and_key_when_it_is_opened(tmp_path):
    tar(tmp_path / "a.tar", [("1.png", b"no image"), ("1.txt", b"a cat")])
    with pytest.raises(ValueError, match=r"a.tar, 1 is not a readable image"):
        load(tmp_path).open_image(0)


def test_shards_that_cannot_be_read_or_are_not_there_say_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no .tar or .parquet"):
        load(tmp_path)
    (tmp_path / "a.tar").write_bytes(b"x" * 2000)
    with pytest.raises(ValueError, match=r"a.tar is not a tar file"):
        load(tmp_path)
    (tmp_path / "a.tar").unlink()
    table(tmp_path / "a.parquet", image=["x", "y", "z"], words=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"has the columns .*image, caption are needed"):
        load(tmp_path)


def test_a_shard_that_is_not_there_is_missed_where_names_or_a_file_count_them(tmp_path):
    for n in (0, 2):
        table(tmp_path / f"train-{n:05d}-of-00003.parquet")
    table(tmp_path / "test-00001-of-00001.parquet")
    said = r"^missing shards: train-00001-of-00003\.parquet; download them, or say on_error"
    for load_it in (load, lambda place: wb.load_data(place)):
        with pytest.raises(ValueError, match=said):
            load_it(tmp_path)
    assert len(load(tmp_path, "test").image_ids) == 3
    assert any("1 x missing shard" in note for note in load(tmp_path, on_error="skip").notes)
    assert len(wb.load_data(tmp_path, table="train*").image_ids) == 6
    webdataset(tmp_path / "0.tar")
    (tmp_path / "nshards.txt").write_text("5\n")
    with pytest.raises(ValueError, match=r"^missing shards: 1\.tar, 2\.tar, 3\.tar \.\.\.; "):
        wb.load_data(tmp_path, split="val")


def test_a_shard_that_img2dataset_counted_and_that_is_not_there_is_missed(tmp_path):
    webdataset(tmp_path / "00000.tar")
    for n in range(2):
        (tmp_path / f"{n:05d}_stats.json").write_text('{"count": 7, "successes": 6}')
    with pytest.raises(ValueError, match=r"^missing shards: 00001\.tar; download them"):
        wb.load_data(tmp_path)
    assert any("1 x missing shard" in note for note in load(tmp_path, on_error="skip").notes)
    (tmp_path / "00001_stats.json").unlink()
    (tmp_path / "00000_stats.json").write_text('{"successes": 600}')
    with pytest.raises(ValueError, match=r"samples, and img2dataset has counted 600; download"):
        wb.load_data(tmp_path)


def test_a_gap_between_numbers_of_shards_is_told_and_years_are_no_numbers(tmp_path):
    for name in ("train-000000", "train-000002", "shard2014", "shard2017"):
        webdataset(tmp_path / f"{name}.tar")
    notes = [note for note in load(tmp_path, on_error="skip").notes if note.startswith("missing")]
    assert notes == ["missing shards: train-000001.tar"]


@pytest.mark.parametrize("ending", [b"", b"x" * 100, b"x" * 2000], ids=["no end", "half a block", "damaged"])
def test_a_tar_that_breaks_off_between_two_files_is_refused(ending, tmp_path):
    webdataset(tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as tar:
        third = tar.getmember("00002.png").offset
    (tmp_path / "a.tar").write_bytes((tmp_path / "a.tar").read_bytes()[:third] + ending)
    with pytest.raises(ValueError, match=r"^a\.tar breaks off after 00001\.json, without the end of a tar"):
        load(tmp_path)
    split = load(tmp_path, on_error="skip")
    assert len(split.image_ids) == 2
    assert any("1 x broken shard" in note for note in split.notes)


@pytest.mark.slow
def test_training_from_shards_is_training_from_the_same_images_in_a_folder(tmp_path):
    shards, folder, lines = tmp_path / "shards", tmp_path / "folder", ["image,caption,split"]
    shards.mkdir()
    folder.mkdir()
    rng = np.random.default_rng(0)
    for split in ("train", "val", "test"):
        members = []
        for n in range(8):
            content = image_bytes(tuple(int(c) for c in rng.integers(0, 255, 3)))
            members += [(f"{n}.png", content), (f"{n}.txt", f"{split} number {n}".encode())]
            (folder / f"{split}{n}.png").write_bytes(content)
            lines.append(f"{split}{n}.png,{split} number {n},{split}")
        tar(shards / f"{split}.tar", members)
    (folder / "captions.csv").write_text("\n".join(lines))
    given = {"objective": "infonce", "train_images": 0, "batch_size": 4, "epochs": 1, "device": "cpu"}
    given |= {"captions_per_image": 1, "text_encoder": "towers"}
    given |= {"image_encoder": {"name": "towers", "model": "scenes", "pretrained": "scenes"}}
    results = [
        train(Config(data={"name": name, "root": str(root)}, **given), progress=False)
        for name, root in (("shards", shards), ("folder", folder))
    ]
    assert results[0]["rsum"] == results[1]["rsum"]
    assert results[0].history[-1]["loss"] == results[1].history[-1]["loss"]
