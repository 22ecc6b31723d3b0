"""Layouts in which people's data are found: each is read by its path alone, misshapen ones are refused."""

from __future__ import annotations

import csv
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from tests.data.fixtures import tar
from workbench.cli import app
from workbench.io import read_text

MAC = b"\x00\x05\x16\x07" + b"\x00" * 60


def image_bytes(n, kind="JPEG"):
    """The bytes of one of 40 images that are all different."""
    out = io.BytesIO()
    Image.new("RGB", (16, 12), (n * 6 % 256, n * 37 % 256, 90)).save(out, kind)
    return out.getvalue()


def put(place, *numbers, name="{}.jpg"):
    place.mkdir(parents=True, exist_ok=True)
    for n in numbers:
        (place / name.format(n)).write_bytes(image_bytes(n))


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def parquet(file, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(pa.table(columns), file, row_group_size=2)


def kaggle_flickr8k(at):
    put(at / "Images", 1000268201, 1001773457, name="{}_693b08cb0e.jpg")
    write(at / "captions.txt", "image,caption\n" + "".join(
        f'{n}_693b08cb0e.jpg,"A child in a pink dress, number {k} of {n} ."\n'
        for n in (1000268201, 1001773457) for k in range(5)
    ))  # fmt: skip


def kaggle_flickr30k(at):
    inner = at / "flickr30k_images"
    put(inner / "flickr30k_images", 1000092795, 2199200615)
    rows = [
        f'{n}.jpg| {k}| Two young " men {n} with shaggy hair {k} .'
        for n in (1000092795, 2199200615)
        for k in range(4)
    ]
    rows += [
        "1000092795.jpg| 4| Two friends enjoy time .",
        "2199200615.jpg| 4   A dog runs across the grass .",
    ]
    write(inner / "results.csv", "image_name| comment_number| comment\n" + "\n".join(rows) + "\n")


def official_flickr30k(at):
    put(at / "flickr30k-images", 1, 2)
    write(
        at / "results_20130124.token",
        "".join(f"{n}.jpg#{k}\tText {k} of {n} .\n" for n in (1, 2) for k in range(5)),
    )


def official_flickr8k(at):
    put(at / "Flickr8k_Dataset" / "Flicker8k_Dataset", 1, 2, 3, 4)
    text = at / "Flickr8k_text"
    rows = "".join(f"{n}.jpg#{k}\tText {k} of {n} .\n" for n in (1, 2, 3, 4) for k in range(5))
    write(text / "Flickr8k.token.txt", rows)
    write(text / "Flickr8k.lemma.token.txt", rows.lower())
    write(text / "CrowdFlowerAnnotations.txt", "1.jpg\t2.jpg#2\t1\t3\t0\n")
    write(text / "readme.txt", "If you use this corpus\n")
    for name, n in (("train", 1), ("dev", 2), ("test", 3)):
        write(text / f"Flickr_8k.{name}Images.txt", f"{n}.jpg\n")


def coco(at, year, name):
    for part, numbers in (("train", (1, 2)), ("val", (3,))):
        put(at / f"{part}{year}", *numbers, name=name.format(part))
        images = [
            {"id": n, "file_name": name.format(part).format(n), "coco_url": "http://x", "height": 12}
            for n in numbers
        ]
        notes = [
            {"image_id": n, "id": 10 * n + k, "caption": f"A bicycle {n}\nreplica {k}."}
            for n in numbers
            for k in range(5)
        ]
        whole = {"info": {"year": year}, "images": images, "licenses": [], "annotations": notes}
        write(at / "annotations" / f"captions_{part}{year}.json", json.dumps(whole))
        boxes = [{"image_id": n, "id": n, "bbox": [0, 0, 1, 1], "category_id": 1} for n in numbers]
        write(
            at / "annotations" / f"instances_{part}{year}.json", json.dumps({**whole, "annotations": boxes})
        )


def coco_2014(at):
    coco(at, 2014, "COCO_{}2014_{{:012d}}.jpg")


def coco_2017(at):
    coco(at, 2017, "{{:012d}}.jpg")


def rsicd(at, name="rsicd"):
    put(at / "RSICD_images", 1, 2, 3, 4, name="airport_{}.jpg")
    images = [
        {
            "filename": f"airport_{n}.jpg",
            "imgid": n,
            "split": split,
            "sentids": [5 * n + k for k in range(5)],
            "sentences": [
                {"tokens": ["many"], "raw": f"many planes {n} {k} .", "imgid": n, "sentid": 5 * n + k}
                for k in range(5)
            ],
        }
        for n, split in ((1, "train"), (2, "restval"), (3, "val"), (4, "test"))
    ]
    write(at / f"dataset_{name}.json", json.dumps({"images": images, "dataset": name}))
    write(at / "txtclasses_rsicd" / "airport.txt", "airport_1.jpg\n")


METADATA = [
    {"file_name": f"{n}.jpg", "text": f"image {n}", "split": split}
    for n, split in enumerate(["train", "train", "validation", "test"])
]


def metadata_csv(at):
    put(at, 0, 1, 2, 3)
    pd.DataFrame(METADATA).rename(columns={"text": "caption"}).to_csv(at / "metadata.csv", index=False)


def metadata_jsonl(at):
    for part, row in (("train", METADATA[0]), ("validation", METADATA[2]), ("test", METADATA[3])):
        put(at / part, int(row["file_name"][0]))
        write(
            at / part / "metadata.jsonl",
            json.dumps({"file_name": row["file_name"], "text": row["text"]}) + "\n",
        )


def metadata_parquet(at):
    put(at / "images", 0, 1, 2, 3)
    parquet(
        at / "metadata.parquet",
        file_name=[f"images/{n}.jpg" for n in range(4)],
        text=[f"image {n}" for n in range(4)],
    )


def hub(at, split, numbers, image, **more):
    parquet(
        at / f"{split}-00000-of-00001.parquet",
        image=[image(n) for n in numbers],
        caption=[[f"a {n}", f"b {n}"] for n in numbers],
        **more,
    )


def hub_structs(at):
    write(at / "README.md", "---\nconfigs: []\n---\n")
    for split, numbers in (("train", (1, 2, 3)), ("validation", (4,)), ("test", (5, 6))):
        hub(at / "data", split, numbers, lambda n: {"bytes": image_bytes(n), "path": f"{n}.jpg"})


def hub_bytes(at):
    for split, numbers in (("train", (1, 2, 3)), ("validation", (4,)), ("test", (5, 6))):
        hub(at, split, numbers, image_bytes)


def hub_paths(at):
    for split, numbers in (("train", (1, 2, 3)), ("validation", (4,)), ("test", (5, 6))):
        put(at / "images", *numbers)
        hub(at, split, numbers, lambda n: f"images/{n}.jpg")


def img2dataset(at):
    """Each caption of an image is a sample with the image again; failed downloads are in the table alone."""
    members = []
    for k in range(6):
        about = {
            "caption": f"caption {k}",
            "url": f"http://x/{k // 2}.jpg",
            "key": f"{k:09d}",
            "status": "success",
            "sha256": "0",
        }
        members += [
            (f"{k:09d}.{end}", content)
            for end, content in (
                ("jpg", image_bytes(k // 2)),
                ("txt", about["caption"].encode()),
                ("json", json.dumps(about).encode()),
            )
        ]
    at.mkdir(exist_ok=True)
    tar(at / "00000.tar", members)
    parquet(
        at / "00000.parquet",
        url=["u"] * 7,
        caption=["c"] * 7,
        key=["k"] * 7,
        status=["success"] * 6 + ["failed"],
    )
    write(at / "00000_stats.json", '{"count": 7, "successes": 6}')


def clip_benchmark(at):
    for part, numbers in (("train", (1, 2)), ("test", (3,))):
        members = [(f"./s{n:07d}.{end}", content) for n in numbers for end, content in (
            ("jpg", image_bytes(n)), ("txt", f"one {n}\ntwo {n}\nthree {n}\n".encode()),
        )]  # fmt: skip
        (at / part).mkdir(parents=True)
        tar(at / part / "0.tar", members)
        write(at / part / "nshards.txt", "1")
    write(at / "dataset_type.txt", "retrieval")


def shards_of_macos(at):
    at.mkdir(exist_ok=True)
    members = [("._photo.v1.jpg", MAC), ("__MACOSX/x.jpg", MAC)]
    for n in (1, 2):
        members += [
            (f"./photo.v{n}.jpg", image_bytes(n)),
            (f"./._photo.v{n}.txt", MAC),
            (f"./photo.v{n}.txt", f"photo {n}".encode()),
        ]
    tar(at / "a.tar", members)
    (at / "._a.tar").write_bytes(MAC)


def open_clip_tsv(at):
    put(at / "img", 1, 2)
    write(at / "pairs.tsv", 'filepath\ttitle\nimg/1.jpg\tone, "quoted"\nimg/2.jpg\ttwo\n')


def records_json(at):
    put(at, 1, 2)
    write(
        at / "pairs.json",
        json.dumps([{"image_path": f"{n}.jpg", "captions": [f"a {n}", f"b {n}"]} for n in (1, 2)]),
    )


def by_name_json(at):
    put(at, 1, 2)
    write(at / "captions.json", json.dumps({f"{n}.jpg": [f"a {n}", f"b {n}"] for n in (1, 2)}))


def lines_jsonl(at):
    put(at, 1, 2)
    write(
        at / "pairs.jsonl",
        "".join(json.dumps({"img": f"{n}.jpg", "sentence": f"a {n}"}) + "\n" for n in (1, 2)),
    )


def listed_csv(at):
    put(at / "flickr30k-images", 1, 2)
    rows = [["raw", "sentids", "split", "filename", "img_id"]]
    rows += [
        [json.dumps([f"a {n}", f"b {n}"]), "[0, 1]", split, f"{n}.jpg", n]
        for n, split in ((1, "train"), (2, "test"))
    ]
    with (at / "flickr_annotations_30k.csv").open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows(rows)


def csv_a_split(at):
    put(at, 1, 2, 3)
    for n, split in ((1, "train"), (2, "val"), (3, "test")):
        write(at / f"{split}.csv", f"image,caption\n{n}.jpg,number {n}\n")


def texts_beside(at):
    put(at, 1, 2)
    for n in (1, 2):
        write(at / f"{n}.txt", f"one {n}\n\ntwo {n}\n")
    write(at / "README.txt", "my photographs\n")


def own(at):
    put(at, 1, 2)
    write(at / "captions.csv", "image,caption,split\n1.jpg,one,train\n2.jpg,two,test\n")


def names_without_ending(at):
    put(at / "Images", 1000268201, 1001773457, name="{}_693b08cb0e.jpg")
    rows = [f"{n}_693b08cb0e,A child {n} {k} ." for n in (1000268201, 1001773457) for k in range(5)]
    write(at / "captions.csv", "\n".join(["image_id,caption", *rows]))


def descriptions_json(at):
    put(at / "Images", 1, 2)
    write(at / "descriptions.json", json.dumps({str(n): [f"a thing {n}", f"b thing {n}"] for n in (1, 2)}))


def numbered_csv(at):
    put(at, 1, 2)
    heads = ",".join(f"caption_{k}" for k in range(1, 6))
    write(at / "five.csv", f"filename,{heads}\n1.jpg,a,b,c,d,e\n2.jpg,f,g,h,,\n")


def numbered_json(at):
    put(at, 1, 2)
    rows = [{"img": f"{n}.jpg", "sentence_0": f"a {n}", "sentence_1": f"b {n}"} for n in (1, 2)]
    write(at / "pairs.json", json.dumps(rows))


def numbered_parquet(at):
    rows = {"caption": ["a", "b"], "caption1": ["c", None], "width": [1, 2]}
    parquet(at / "test-00000-of-00001.parquet", image=[image_bytes(1), image_bytes(2)], **rows)


def llava(at):
    put(at / "images" / "00453", 1, 2, name="00453000{}.jpg")
    asked = {"from": "human", "value": "Render a clear and concise summary of the photo.\n<image>"}
    rows = [
        {
            "id": f"00453000{n}",
            "image": f"00453/00453000{n}.jpg",
            "conversations": [asked, {"from": "gpt", "value": f"olive oil {n}"}],
        }
        for n in (1, 2)
    ]
    write(at / "blip_laion_cc_sbu_558k.json", json.dumps(rows))


def messages_jsonl(at):
    put(at, 1, 2)
    rows = [
        {
            "messages": [
                {"role": "user", "content": "<image>Describe it."},
                {"role": "assistant", "content": f"number {n}"},
            ],
            "images": [f"{n}.jpg"],
        }
        for n in (1, 2)
    ]
    write(at / "sft.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def blip(at):
    put(at / "flickr30k-images", 1, 2, 3)
    each = [{"image": "flickr30k-images/1.jpg", "caption": f"a {k}", "image_id": "1"} for k in range(5)]
    write(at / "flickr30k_train.json", json.dumps(each))
    for part, n in (("val", 2), ("test", 3)):
        whole = [{"image": f"flickr30k-images/{n}.jpg", "caption": [f"{part} {k}" for k in range(5)]}]
        write(at / f"flickr30k_{part}.json", json.dumps(whole))


def lists_by_split(at):
    put(at, 1, 2, 3)
    parts = enumerate(("train", "val", "test"), start=1)
    rows = {part: [{"image": f"{n}.jpg", "caption": f"number {n}"}] for n, part in parts}
    write(at / "dataset.json", json.dumps({"version": "1.0", **rows}))


def frame_json(at):
    put(at, 1, 2)
    frame = pd.DataFrame({"image": ["1.jpg", "2.jpg"], "caption": ["one", ["two", "deux"]]})
    frame.to_json(at / "frame.json")


EACH = {"train": (3, 6), "val": (1, 2), "test": (2, 4)}
FOUR = {"train": (2, 2), "val": (1, 1), "test": (1, 1)}
# layout: who makes it, (images, captions) a split, what the notes say of how it was read and what was guessed
LAYOUTS = {
    "Kaggle's Flickr8k": (
        kaggle_flickr8k,
        {"all": (2, 10)},
        "table: captions.txt",
        "images are read from Images/",
    ),
    "Kaggle's Flickr30k": (kaggle_flickr30k, {"all": (2, 10)}, "table: results.csv", "caption = comment"),
    "Flickr30k's token file": (
        official_flickr30k,
        {"all": (2, 10)},
        "results_20130124.token",
        "flickr30k-images/",
    ),
    "Flickr8k as distributed": (
        official_flickr8k,
        {"train": (1, 5), "val": (1, 5), "test": (1, 5)},
        "by the lists of images",
        "1 image that no list",
    ),
    "COCO 2014": (
        coco_2014,
        {"train": (2, 10), "val": (1, 5)},
        "coco: captions_train2014.json, captions_val2014.json",
        "by the names of the files: train (2 images), val (1 image)",
    ),
    "COCO 2017": (
        coco_2017,
        {"train": (2, 10), "val": (1, 5)},
        "captions_val2017.json",
        "images are read from train2017/, val2017/",
    ),
    "Karpathy's JSON of RSICD": (
        rsicd,
        {"train": (2, 10), "val": (1, 5), "test": (1, 5)},
        "karpathy: dataset_rsicd.json",
        "RSICD_images/",
    ),
    "metadata.csv": (metadata_csv, FOUR, "metadata.csv", "by the column split"),
    "metadata.jsonl, a folder a split": (
        metadata_jsonl,
        {"train": (1, 1), "val": (1, 1), "test": (1, 1)},
        "caption = text",
        "by the names of the files",
    ),
    "metadata.parquet": (
        metadata_parquet,
        {"all": (4, 4)},
        "metadata.parquet",
        "image = file_name, caption = text",
    ),
    "Parquet of a hub, structs in data/": (hub_structs, EACH, "shards:", "by the names of the shards"),
    "Parquet of a hub, bytes": (
        hub_bytes,
        EACH,
        "train-00000-of-00001.parquet",
        "train (3 images), val (1 image)",
    ),
    "Parquet of a hub, paths": (
        hub_paths,
        EACH,
        "train-00000-of-00001.parquet",
        "train (3 images), val (1 image)",
    ),
    "shards of img2dataset": (
        img2dataset,
        {"all": (3, 6)},
        "shards: 00000.tar",
        "3 samples repeat the image of another",
    ),
    "shards of CLIP_benchmark": (
        clip_benchmark,
        {"train": (2, 6), "test": (1, 3)},
        "0.tar",
        "by the names of the shards",
    ),
    "shards made on macOS, dots in names": (
        shards_of_macos,
        {"all": (2, 2)},
        "a.tar",
        "nothing tells the splits",
    ),
    "TSV of open_clip": (open_clip_tsv, {"all": (2, 2)}, "pairs.tsv", "image = filepath, caption = title"),
    "JSON of records": (
        records_json,
        {"all": (2, 4)},
        "pairs.json",
        "image = image_path, caption = captions",
    ),
    "JSON by image": (by_name_json, {"all": (2, 4)}, "captions.json", "nothing tells the splits"),
    "JSON Lines": (lines_jsonl, {"all": (2, 2)}, "pairs.jsonl", "image = img, caption = sentence"),
    "CSV of lists": (
        listed_csv,
        {"train": (1, 2), "test": (1, 2)},
        "flickr_annotations_30k.csv",
        "caption = raw",
    ),
    "CSV, one a split": (
        csv_a_split,
        {"train": (1, 1), "val": (1, 1), "test": (1, 1)},
        "test.csv, train.csv, val.csv",
        "by the names of the files",
    ),
    "a text beside each image": (texts_beside, {"all": (2, 4)}, "texts: 2 texts", "nothing tells the splits"),
    "a table of our own": (own, {"train": (1, 1), "test": (1, 1)}, "captions.csv", "by the column split"),
    "names without an ending": (
        names_without_ending,
        {"all": (2, 10)},
        "image = image_id",
        "1000268201_693b08cb0e is 1000268201_693b08cb0e.jpg",
    ),
    "JSON by names without an ending": (
        descriptions_json,
        {"all": (2, 4)},
        "descriptions.json",
        "1 is 1.jpg",
    ),
    "CSV, numbered captions": (
        numbered_csv,
        {"all": (2, 8)},
        "five.csv",
        "caption = caption_1 and caption_2",
    ),
    "JSON, numbered captions": (
        numbered_json,
        {"all": (2, 4)},
        "pairs.json",
        "caption = sentence_0 and sentence_1",
    ),
    "Parquet, numbered captions": (
        numbered_parquet,
        {"test": (2, 3)},
        "caption = caption and caption1",
    ),
    "conversations of LLaVA": (llava, {"all": (2, 2)}, "caption = conversations", "images/00453/"),
    "messages in JSON Lines": (messages_jsonl, {"all": (2, 2)}, "image = images", "caption = messages"),
    "BLIP's lists": (
        blip,
        {"train": (1, 5), "val": (1, 5), "test": (1, 5)},
        "flickr30k_train.json",
        "by the names of the files",
    ),
    "JSON, a list a split": (
        lists_by_split,
        {"train": (1, 1), "val": (1, 1), "test": (1, 1)},
        "dataset.json",
        "by the column split",
    ),
    "JSON of a frame, by column": (frame_json, {"all": (2, 3)}, "frame.json", "nothing tells the splits"),
}


def counts(split):
    return len(split.image_ids), len(split.captions)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_read_by_its_path_alone(name, tmp_path):
    make, expected, *said = LAYOUTS[name]
    place = tmp_path / "mine"
    place.mkdir()
    make(place)
    for split, (images, captions) in expected.items():
        loaded = wb.load_data(str(place), split=split)
        assert counts(loaded) == (images, captions), split
        assert all(loaded.open_image(row).size == (16, 12) for row in range(images))
    whole = wb.load_data(place, split="all")
    assert counts(whole) == tuple(map(sum, zip(*expected.values(), strict=True)))
    notes = "\n".join(whole.notes)
    assert all(one in notes for one in said), notes
    assert whole.name == ("rsicd/all" if make is rsicd else "mine/all")


def edit(file, old, new):
    """The file with one text in place of another, all of them."""

    def change(at):
        place = at / file
        text = read_text(place)
        assert old in text
        place.write_text(text.replace(old, new), encoding="utf-8")

    return change


def without(pattern):
    def change(at):
        files = list(at.glob(pattern))
        assert files
        for file in files:
            file.unlink()

    return change


def beside(make):
    return lambda at: make(at)


# layout: what is wrong with its misshapen copy, and what the one line says of it
MISSHAPEN = {
    "Kaggle's Flickr8k": (
        edit("captions.txt", "image,caption", "a,b"),
        "captions.txt has the columns a, b; image, caption are needed",
    ),
    "Kaggle's Flickr30k": (
        edit("flickr30k_images/results.csv", "| 2| Two", " 2 Two"),
        "results.csv row 3: 1 fields, but the columns are",
    ),
    "Flickr30k's token file": (
        edit("results_20130124.token", "2.jpg#3\t", "2.jpg 3 "),
        "row 9: expected 'image#k<TAB>caption'",
    ),
    "Flickr8k as distributed": (without("**/2.jpg"), "there is no image file"),
    "COCO 2014": (
        edit("annotations/captions_val2014.json", '"image_id": 3', '"image_id": 4'),
        "captions_val2014.json annotation 1: no image has the id",
    ),
    "COCO 2017": (beside(coco_2014), "captions_train2014.json (layout='coco'), captions_train2017.json"),
    "Karpathy's JSON of RSICD": (
        edit("dataset_rsicd.json", "restval", "holdout"),
        "dataset_rsicd.json image 2 is malformed: split",
    ),
    "metadata.csv": (
        edit("metadata.csv", "validation", "holdout"),
        "metadata.csv row 3: split 'holdout' is not one of",
    ),
    "metadata.jsonl, a folder a split": (
        edit("test/metadata.jsonl", '"3.jpg"', '"3.jpg'),
        "metadata.jsonl row 1: not JSON",
    ),
    "metadata.parquet": (
        lambda at: parquet(at / "metadata.parquet", file_name=["images/1.jpg"], text=["a"], title=["b"]),
        "the columns text and title, and each may hold the caption",
    ),
    "Parquet of a hub, structs in data/": (
        lambda at: hub(at / "data", "test", (5,), lambda n: {"bytes": None, "path": None}),
        "row 1: there is no image",
    ),
    "Parquet of a hub, bytes": (
        lambda at: (at / "test-00000-of-00001.parquet").write_bytes(b"version https://git-lfs"),
        "test-00000-of-00001.parquet holds no samples: it is a Git LFS pointer",
    ),
    "Parquet of a hub, paths": (without("images/5.jpg"), "there is no image file"),
    "shards of img2dataset": (
        lambda at: tar(at / "00000.tar", [("1.jpg", image_bytes(1)), ("1.json", b"{oops")]),
        "00000.tar, 1",
    ),
    "shards of CLIP_benchmark": (
        lambda at: (at / "test/0.tar").write_bytes((at / "test/0.tar").read_bytes()[:700]),
        "0.tar is not a tar file",
    ),
    "shards made on macOS, dots in names": (
        lambda at: tar(
            at / "a.tar",
            [("photo.v1.jpg", image_bytes(1)), ("photo.v2.jpg", image_bytes(2)), ("photo.v2.txt", b"2")],
        ),
        "a.tar, photo.v1: there is no caption",
    ),
    "TSV of open_clip": (
        edit("pairs.tsv", "filepath\ttitle\n", "filepath\ttitle\ttext\n"),
        "row 1: 2 fields, but the columns are",
    ),
    "JSON of records": (
        edit("pairs.json", '"a 2", "b 2"', "7"),
        "pairs.json row 2: the caption is 7; expected text",
    ),
    "JSON by image": (edit("captions.json", "2.jpg", "3.jpg"), "there is no image file"),
    "JSON Lines": (edit("pairs.jsonl", '"a 2"', '""'), "pairs.jsonl row 2: the caption of 2.jpg is empty"),
    "CSV of lists": (
        beside(lambda at: put(at / "thumbnails", 1, 2)),
        "1.jpg may be flickr30k-images/1.jpg and thumbnails/1.jpg",
    ),
    "CSV, one a split": (edit("test.csv", "3.jpg", "1.jpg"), "1.jpg is in 'train' here, in 'test' before"),
    "a text beside each image": (without("1.txt"), "1.jpg has no 1.txt beside it"),
    "a table of our own": (
        beside(lambda at: write(at / "more.csv", "image,caption\n1.jpg,more\n")),
        "can be read in 2 ways: captions.csv (layout='table'), more.csv",
    ),
    "names without an ending": (
        lambda at: (at / "Images/1000268201_693b08cb0e.png").write_bytes(image_bytes(1, "PNG")),
        "1000268201_693b08cb0e may be Images/1000268201_693b08cb0e.jpg and Images/1000268201_693b08cb0e.png",
    ),
    "JSON by names without an ending": (without("Images/2.jpg"), "there is no image file"),
    "CSV, numbered captions": (
        edit("five.csv", "caption_5", "text"),
        "the columns caption_1 and caption_2 and caption_3 and caption_4 and text, and each may hold",
    ),
    "JSON, numbered captions": (
        edit("pairs.json", '"a 2"', "7"),
        "pairs.json row 2: the caption is 7; expected text",
    ),
    "Parquet, numbered captions": (
        lambda at: parquet(
            at / "test-00000-of-00001.parquet", image=[image_bytes(1)], caption=[""], caption1=[""]
        ),
        "row 1: the captions are []",
    ),
    "conversations of LLaVA": (
        edit("blip_laion_cc_sbu_558k.json", '"human"', '"gpt"'),
        "row 1: the conversation has 2 answers, and the first or each may be a caption",
    ),
    "messages in JSON Lines": (
        edit("sft.jsonl", '["1.jpg"]', '["1.jpg", "2.jpg"]'),
        "sft.jsonl row 1: the image path is ['1.jpg', '2.jpg']",
    ),
    "BLIP's lists": (
        beside(lambda at: write(at / "coco_test.json", '[{"image": "1.jpg", "caption": "x"}]')),
        "can be read in 4 ways",
    ),
    "JSON, a list a split": (
        edit("dataset.json", '"version": "1.0"', '"training": {"1.jpg": "one"}'),
        "holds no data that can be read",
    ),
    "JSON of a frame, by column": (
        edit("frame.json", '"1":["two","deux"]', '"1":{"two":1}'),
        "frame.json row 2: the caption is an object with two",
    ),
}


def test_every_layout_has_a_misshapen_copy():
    assert MISSHAPEN.keys() == LAYOUTS.keys()


@pytest.mark.parametrize("name", MISSHAPEN)
def test_a_misshapen_layout_is_refused_with_one_line_and_never_read_in_part(name, tmp_path):
    change, said = MISSHAPEN[name]
    LAYOUTS[name][0](tmp_path)
    change(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        wb.load_data(tmp_path, split="all")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    ended = CliRunner().invoke(
        app, ["data", str(tmp_path), "--split", "all", "-p", "data.check_images", "true"]
    )
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (2, 1)
    assert said in ended.stderr


def test_paths_of_windows_are_read_where_no_file_is_called_so(tmp_path):
    (tmp_path / "mine").mkdir()
    put(tmp_path / "mine", 1)
    write(tmp_path / "captions.csv", "image,caption\nmine\\1.jpg,one\n")
    assert wb.load_data(tmp_path, split="all").image_ids == ("mine/1.jpg",)


OPEN_QUOTES = {
    "the image first": 'image,caption\n1.jpg,"a stop sign\n2.jpg,a cat\n3.jpg,a dog"\n4.jpg,the end\n',
    "the image last": 'caption,image\n"a stop sign,1.jpg\na dog",2.jpg\n',
    "lines of Windows": 'image;caption\r\n1.jpg;"a stop sign\r\n2.jpg;a dog"\r\n',
}


@pytest.mark.parametrize("kind", OPEN_QUOTES)
def test_a_quote_that_is_not_closed_swallows_no_row(kind, tmp_path):
    put(tmp_path, 1, 2, 3, 4)
    (tmp_path / "captions.csv").write_bytes(OPEN_QUOTES[kind].encode())
    with pytest.raises(ValueError, match=r"captions.csv row 1, which ends at line \d: a quote is not closed"):
        wb.load_data(tmp_path)
    write(tmp_path / "captions.csv", 'image,caption\n1.jpg,"1.jpg is\na stop sign, and a cat"\n')
    assert wb.load_data(tmp_path).captions == ("1.jpg is\na stop sign, and a cat",)
    write(tmp_path / "captions.csv", 'image,caption\n1.jpg,"a stop sign\n')
    with pytest.raises(ValueError, match="unexpected end of data; close each quote, double inner ones"):
        wb.load_data(tmp_path)


def test_tables_of_one_name_in_several_folders_are_named_and_chosen_by_their_paths(tmp_path):
    for n in (1, 2):
        put(tmp_path / f"set{n}", n)
        write(tmp_path / f"set{n}/captions.csv", f"image,caption\n{n}.jpg,number {n}\n")
    said = r"2 ways: set1/captions\.csv \(layout='table'\), set2/captions\.csv \(layout='table'\); choose one"
    for table in ("", "captions.csv", "set*/captions.csv"):
        with pytest.raises(ValueError, match=said):
            wb.load_data(tmp_path, table=table)
    for table in ("set2/captions.csv", "set2/*"):
        assert wb.load_data(tmp_path, table=table).captions == ("number 2",)
    with pytest.raises(FileNotFoundError, match=r"holds no data that can be read named \.\./captions.csv"):
        wb.load_data(tmp_path / "set1", table="../captions.csv")


def test_a_chosen_layout_goes_before_the_files_of_a_known_data_set(tmp_path):
    put(tmp_path, 1)
    write(tmp_path / "captions.csv", "image,caption\n1.jpg,number 1\n")
    write(tmp_path / "dataset_dict.json", "{}")
    assert wb.load_data(tmp_path, layout="table").captions == ("number 1",)
    with pytest.raises(FileNotFoundError, match="as layout='texts'"):
        wb.load_data(tmp_path, layout="texts")
