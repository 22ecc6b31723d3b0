"""The field's files in their true formats, with a few captions and photographs of our own."""

from __future__ import annotations

import csv
import io
import json
import tarfile

import numpy as np
from PIL import Image

from workbench.data import eccv_caption as eccv

# part, number of the image, ids of its sentences; the ids are ours, but for those of ``eccv_caption``
COCO = [
    ("train", 11, (101, 102, 103, 104, 105)),
    ("restval", 12, (111, 112, 113, 114, 115)),
    ("train", 13, (121, 122, 123, 124, 125)),
    ("val", 14, (131, 132, 133, 134, 135, 136)),
    ("test", 16, (151, 152, 153, 154, 155)),
    ("test", 15, (141, 142, 143, 144, 145)),
]
FLICKR30K = [
    ("train", 21, (0, 1, 2, 3, 4)),
    ("val", 22, (5, 6, 7, 8, 9)),
    ("test", 23, (10, 11, 12, 13, 14)),
    ("train", 24, (15, 16, 17, 18, 19)),
]
THINGS = ["kite", "tram", "goat", "lamp", "pier", "drum"]


def sentences(number, count):
    """Captions of one image: they share its thing and nothing else."""
    thing = THINGS[number % len(THINGS)] + "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return [
        f"  {word} {thing} ,\n{number} . " for word in ("A", "The old", "One", "Some", "A big", "My")[:count]
    ]


def filename(part, number):
    folder = "train2014" if part == "train" else "val2014"
    return folder, f"COCO_{folder}_{number:012d}.jpg"


def karpathy(root, name, images, *, coco=True):
    """The JSON file and its photographs."""
    records = []
    for index, (part, number, ids) in enumerate(images):
        folder, image = filename(part, number) if coco else ("", f"{number}.jpg")
        place = root / "images" / folder / image
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 10), (90, 120, 30)).save(place)
        said = zip(ids, sentences(number, len(ids)), strict=True)
        records.append(
            {
                **({"filepath": folder, "cocoid": number} if coco else {}),
                "sentids": list(ids),
                "filename": image,
                "imgid": index,
                "split": part,
                "sentences": [
                    {"tokens": raw.lower().split(), "raw": raw, "imgid": index, "sentid": i}
                    for i, raw in said
                ],
            }
        )
    (root / name).write_text(json.dumps({"images": records, "dataset": name}), encoding="utf-8")


def precomp(root, part, images, *, ids_each=5, regions_each=1):
    """Features with random regions; ids and regions stand once an image or once a caption."""
    folder = root / "precomp"
    folder.mkdir(parents=True, exist_ok=True)
    captions = [" ".join(raw.lower().split()) for _, number, _ in images for raw in sentences(number, 5)]
    (folder / f"{part}_caps.txt").write_text(
        "".join(f"{caption}\n" for caption in captions), encoding="utf-8"
    )
    ids = [number for _, number, _ in images for _ in range(ids_each)]
    (folder / f"{part}_ids.txt").write_text("".join(f"{number}\n" for number in ids), encoding="utf-8")
    regions = np.random.default_rng(0).normal(size=(len(images), 36, 8)).astype(np.float32)
    np.save(folder / f"{part}_ims.npy", regions.repeat(regions_each, axis=0))
    return regions


def coco(place):
    karpathy(place, "dataset_coco.json", COCO)
    return {"root": str(place), "complete": False}


def flickr30k(place):
    karpathy(place, "dataset_flickr30k.json", FLICKR30K, coco=False)
    return {"root": str(place), "complete": False}


def table(file, columns, rows):
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow([*columns, "agg_score", "sampling_method"])
        writer.writerows(rows)


def cxc(place):
    """Six tables over the fixture of COCO."""
    (place / "cxc").mkdir(parents=True)
    karpathy(place / "coco", "dataset_coco.json", COCO)
    one, two, val = (filename("val", number)[1] for number in (15, 16, 14))

    def said(number):
        return f"COCO_val2014:sentid:{number}"

    table(
        place / "cxc/sits_test.csv",
        ["caption", "image"],
        [
            (said(141), one, 4.8, "c2i_original"),
            (said(151), two, 2.9, "c2i_original"),
            (said(141), two, 3.0, "c2i_intrasim"),
        ],
    )
    table(
        place / "cxc/sis_test.csv",
        ["image1", "image2"],
        [(one, two, 2.4, "i2i_csim"), (two, one, 2.6, "i2i_csim")],
    )
    table(
        place / "cxc/sts_test.csv",
        ["caption1", "caption2"],
        [
            (said(141), said(142), 3.5, "c2c_cocaption"),
            (said(141), said(155), 0.5, "c2c_isim"),
        ],
    )
    table(place / "cxc/sits_val.csv", ["caption", "image"], [(said(135), val, 5.0, "c2i_original")])
    table(place / "cxc/sis_val.csv", ["image1", "image2"], [])
    table(place / "cxc/sts_val.csv", ["caption1", "caption2"], [(said(131), said(135), 1.0, "c2c_cocaption")])
    return {"root": str(place / "cxc"), "coco": str(place / "coco"), "complete": False}


# Images of MS-COCO's test split with the ids of their five captions, as the package states them.
ECCV = [
    ("test", 183786, (324, 2019, 2427, 3081, 6690)),
    ("test", 571990, (179578, 182023, 183121, 183142, 184864)),
]


def eccv_caption(place):
    karpathy(place, "dataset_coco.json", ECCV)
    return {"root": str(place), "complete": False}


def tar(file, members):
    """A tar file of these names and contents."""
    with tarfile.open(file, "w") as made:
        for name, content in members:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            made.addfile(about, io.BytesIO(content))


def shards(place):
    """A shard a split, of two images with a caption each; options that read them."""
    for split in ("train", "val", "test"):
        members = []
        for n in range(2):
            out = io.BytesIO()
            Image.new("RGB", (8, 6), (40 * n, 0, 0)).save(out, "PNG")
            members += [(f"{n}.png", out.getvalue()), (f"{n}.txt", f"{split} number {n}".encode())]
        tar(place / f"{split}-0.tar", members)
    return {"root": str(place)}


def photographs(place, images=12):
    """A folder of one's own photographs."""
    place.mkdir()
    rows, rng = ["image,caption"], np.random.default_rng(0)
    for n in range(images):
        pixels = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(place / f"{n}.png")
        rows += [f"{n}.png,a red thing number {n}", f"{n}.png,two small birds beside thing {n}"]
    (place / "captions.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place


def bottom_up(place, images=24, regions=6, width=12):
    """Region features of an own folder, one file an image with boxes in pixels, and no photographs."""
    (place / "butd").mkdir(parents=True)
    rows, rng = ["image,caption,split"], np.random.default_rng(0)
    for n in range(images):
        kind = n % len(THINGS)
        features = rng.normal(size=(regions, width)).astype(np.float32) + np.eye(width)[kind] * 3
        corners = rng.uniform(0, 100, (regions, 2))
        boxes = np.hstack([corners, corners + 50]).astype(np.float32)
        np.savez(
            place / "butd" / f"{n}.npz", x=features.astype(np.float32), bbox=boxes, image_w=200, image_h=150
        )
        part = ("train", "train", "val", "test")[n % 4]
        rows += [f"{n}.jpg,a {word} {THINGS[kind]},{part}" for word in ("red", "big", "small", "wet", "new")]
    (place / "captions.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place


def swaps(root):
    """A small part of the embedded world."""
    return {"of": "scenes", "options": {"size": 8}}


def write_karpathy_test(real_data, place):
    """``dataset_coco.json`` with the test split alone: its captions, and the ids of the package, which stand
    in the same order."""
    images = json.loads((real_data / "coco" / "karpathy_test_captions.json").read_text())
    ids = np.load(eccv._package_folder() / "coco_test_ids.npy").reshape(-1, 5).tolist()
    records = []
    for n, (image, row) in enumerate(zip(images, ids, strict=True)):
        texts = zip(image["caption"][: len(row)], row, strict=True)
        sentences = [{"raw": raw, "imgid": n, "sentid": number} for raw, number in texts]
        record = {"filepath": "val2014", "filename": image["image"].split("/")[1], "imgid": n}
        records.append(record | {"split": "test", "sentids": row, "sentences": sentences})
    (place / "dataset_coco.json").write_text(json.dumps({"images": records}))
