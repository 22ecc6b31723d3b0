"""The official layouts of the benchmarks, with a few examples of our own: ``LAYOUTS[name](folder)``."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from PIL import Image

# true and false captions of the same words
PAIRS = [
    ("the horse is left of the man", "the man is left of the horse"),
    ("a red cup on a blue plate", "a blue cup on a red plate"),
    ("the dog chases the white cat", "the white cat chases the dog"),
    ("a small boat under a long bridge", "a long boat under a small bridge"),
    ("the woman looks at the old clock", "the old woman looks at the clock"),
    ("a black bird above a green tree", "a green bird above a black tree"),
]
OTHERS = ["a cow", "no cup at all", "two dogs", "a plane", "the sea", "a yellow bird"]


def draw_image(number):
    """A small image whose colour is its number."""
    return Image.new("RGB", (20, 10), (40 * number % 256, 90, 250 - 30 * number % 250))


def draw(folder, *names):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        draw_image(number).save(folder / name)


def write_json(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows), encoding="utf-8")


def write_lines(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")


def winoground(root):
    draw(root / "data" / "images", *(f"ex_{n}_img_{i}.png" for n in range(6) for i in range(2)))
    rows = []
    for n, (first, second) in enumerate(PAIRS):
        rows.append(
            {"id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1", "caption_0": first,
             "caption_1": second, "tag": "Noun", "secondary_tag": "",
             "num_main_preds": 1, "collapsed_tag": ("Object", "Relation", "Both")[n % 3]}
        )  # fmt: skip
    write_lines(root / "data" / "examples.jsonl", rows)


def colorswap(root):
    rows = []
    for n, (first, second) in enumerate(PAIRS):
        row = {"id": n, "caption_1": first, "caption_2": second}
        for i in (1, 2):
            content = io.BytesIO()
            draw_image(2 * n + i).save(content, "PNG")
            row[f"image_{i}"] = {"bytes": content.getvalue(), "path": f"{n}_{i}.png"}
        rows.append(row)
    (root / "data").mkdir(parents=True)
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), root / "data" / "test-00000-of-00001.parquet")


def eqben(root):
    draw(root / "image_subset", *(f"eqbenag/{n}_{i}.jpg" for n in range(1, 6) for i in range(2)))
    names = [[f"eqbenag/{n}_{i}.jpg" for i in range(2)] for n in range(6)]
    names[0] = [f"eqbenyoucook2/frame{i}.npy" for i in range(2)]
    (root / "image_subset" / "eqbenyoucook2").mkdir()
    for i, name in enumerate(names[0]):
        # frames of this part are arrays, blue first
        np.save(root / "image_subset" / name, np.full((10, 20, 3), (200, 90, 40 * i), dtype=np.uint8))
    rows = []
    for (first, second), (a, b) in zip(PAIRS, names, strict=True):
        rows.append({"image0": a, "image1": b, "caption0": first, "caption1": second})
    write_json(root / "eqben_subset_10percent_final.json", rows)


def cola(root):
    draw(root / "images", *(f"24{n}{i}.jpg" for n in range(6) for i in range(2)))
    place = "https://cs-people.bu.edu/array/data/vg_gqa_images/"
    rows = [[f"{place}24{n}0.jpg", a, f"{place}24{n}1.jpg", b] for n, (a, b) in enumerate(PAIRS)]
    write_json(root / "data" / "COLA_multiobjects_matching_benchmark.json", rows)


def mmvp_vlm(root):
    kinds = ["Orientation and Direction", "Color and Appearance"]
    names, lines = [], ["Question ID,Type,Statement"]
    for n, pair in enumerate(PAIRS):
        for i, text in enumerate(pair):
            number, kind = 2 * n + i + 1, kinds[n // 3]
            names.append(f"{kind}/{number}.jpg")
            lines.append(f"{number},{kind},{text}")
    draw(root / "MLLM_VLM Images", *names)
    write_lines(root / "Questions.csv", lines)


def sugarcrepe(root):
    draw(root / "val2017", *(f"{n:012d}.jpg" for n in range(3)))
    for kind, places in (("swap_att", (0, 1, 2)), ("add_obj", (3, 4, 5))):
        rows = {}
        for n in places:
            false = PAIRS[n][1] if kind == "swap_att" else f"{PAIRS[n][0]} and a cow"
            rows[str(2 * n)] = {
                "filename": f"{n % 3:012d}.jpg",
                "caption": PAIRS[n][0],
                "negative_caption": false,
            }
        write_json(root / f"{kind}.json", rows)


def sugarcrepe_pp(root):
    draw(root / "val2017", *(f"{n:012d}.jpg" for n in range(3)))
    for kind, places in (("swap_obj", (0, 1, 2)), ("replace_rel", (3, 4, 5))):
        rows = []
        for n in places:
            true, false = PAIRS[n]
            rows.append(
                {"id": n, "filename": f"{n % 3:012d}.jpg", "caption": true, "caption2": f"there is {true}",
                 "negative_caption": false}
            )  # fmt: skip
        write_json(root / "data" / f"{kind}.json", rows)


def _aro(root, kind, column):
    draw(root / "images", *(f"{n}.jpg" for n in range(3)))
    rows = []
    for n, (true, false) in enumerate(PAIRS):
        box = {"bbox_x": 2, "bbox_y": 3, "bbox_w": 6, "bbox_h": 4 + n % 2}
        rows.append(
            {"image_id": n % 3, "image_path": f"{n % 3}.jpg", "true_caption": true, "false_caption": false,
             **box, **column(n)}
        )  # fmt: skip
    write_json(root / f"visual_genome_{kind}.json", rows)


def aro_relation(root):
    _aro(root, "relation", lambda n: {"relation_name": ("under", "above", "near")[n % 3]})


def aro_attribution(root):
    _aro(root, "attribution", lambda n: {"attributes": [("red", "small")[n % 2], "white"]})


def _order(root, file):
    draw(root / "images", *(f"val2014/{n}.jpg" for n in range(2)))
    rows = []
    for n in range(2):
        captions = [f"{PAIRS[3 * n + k][0].capitalize()}, near a {OTHERS[k]}." for k in range(3)]
        rows.append({"image": f"val2014/{n}.jpg", "caption": captions})
    write_json(root / file, rows)


def aro_coco_order(root):
    _order(root, "coco_karpathy_test.json")


def aro_flickr30k_order(root):
    _order(root, "flickr30k_test.json")


def valse(root):
    draw(
        root / "images", *(f"visual7w/{n}.jpg" for n in range(3)), *(f"val2014/{n}.jpg" for n in range(3, 6))
    )
    for piece, places in (("existence", (0, 1, 2)), ("foil-it", (3, 4, 5))):
        rows = {}
        for n in places:
            votes = {"foil": 0, "caption": 3 - n % 3, "other": n % 3}
            rows[f"{piece}_{n}"] = {
                "dataset": "MSCOCO", "original_split": "val2014", "dataset_idx": n, "image_file": f"{n}.jpg",
                "linguistic_phenomena": piece, "caption": PAIRS[n][0], "foil": OTHERS[n], "mturk": votes,
            }  # fmt: skip
        write_json(root / "data" / f"{piece}.json", rows)


def xm3600(root):
    draw(root / "images", *(f"{n:016x}.jpg" for n in range(6)))
    rows = []
    for n, (true, other) in enumerate(PAIRS):
        row = {"image/key": f"{n:016x}", "image/locale": "de"}
        row["en"] = {"caption": [true, f"there is {true}"], "caption/tokenized": []}
        row["de"] = {"caption": [f"ein Bild: {other}"], "caption/tokenized": []}
        rows.append(row)
    write_lines(root / "captions.jsonl", rows)


def xtd10(root):
    names = [f"COCO_val2014_{n:012d}.jpg" for n in range(6)]
    draw(root / "images" / "val2014", *names)
    write_lines(root / "XTD10" / "test_image_names.txt", names)
    write_lines(root / "MIC" / "test_1kcaptions_de.txt", [f"ein Bild: {true}" for true, _ in PAIRS])
    write_lines(root / "XTD10" / "test_1kcaptions_en.txt", [true for true, _ in PAIRS])


def flickr30k_cn(root):
    draw(root / "flickr30k-images", *(f"{n}.jpg" for n in range(3)))
    lines = [f"{n % 3}#{n // 3}\t一张图片 {true}" for n, (true, _) in enumerate(PAIRS)]
    write_lines(root / "test" / "flickr30k_cn_test.txt", lines)


def multi30k(root):
    names = [f"{n}.jpg" for n in range(6)]
    draw(root / "flickr30k-images", *names)
    write_lines(root / "data/task1/image_splits/test_2016_flickr.txt", names)
    for language in ("de", "en"):
        lines = "".join(f"{language}: {true}\n" for true, _ in PAIRS)
        file = root / f"data/task1/raw/test_2016_flickr.{language}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(lines.encode()))


def docci(root):
    draw(root / "images", *(f"test_{n:05d}.jpg" for n in range(6)))
    rows = [{"type": "docci", "split": "train", "image_file": "train_0.jpg", "description": "a cow"}]
    for n, (true, other) in enumerate(PAIRS):
        rows.append(
            {"type": "docci", "split": "test", "example_id": f"test_{n:05d}",
             "image_file": f"test_{n:05d}.jpg", "description": " ".join([true, "and", other] * 12)}
        )  # fmt: skip
    write_lines(root / "docci_descriptions.jsonlines", rows)


def iiw(root):
    draw(root / "images_aar", *(f"aar_test_{n}.jpg" for n in range(6)))
    rows = [
        {"image/key": f"aar_test_{n}", "IIW": f"A photograph. {true}."} for n, (true, _) in enumerate(PAIRS)
    ]
    write_lines(root / "IIW-400" / "data.jsonl", rows)


def dci(root):
    draw(root / "photos", *(f"sa_{n}.jpg" for n in range(6)))
    for n, (true, other) in enumerate(PAIRS):
        row = {
            "image": f"sa_{n}.jpg",
            "short_caption": true,
            "extra_caption": f"Not {other}.",
            "mask_data": {},
        }
        write_json(root / "annotations" / f"sa_{n}.json", row)


def urban1k(root):
    draw(root / "image", *(f"{n}.jpg" for n in range(6)))
    for n, (true, _) in enumerate(PAIRS):
        write_lines(root / "caption" / f"{n}.txt", [f"A street. {true}.", "It rains."])


def sharegpt4v(root):
    names = [f"coco/train2017/{n:012d}.jpg" for n in range(6)]
    draw(root / "data", *names)
    rows = []
    for name, (true, _) in zip(names, PAIRS, strict=True):
        talk = [
            {"from": "human", "value": "Describe it.\n<image>"},
            {"from": "gpt", "value": f"Here,\n{true}"},
        ]
        rows.append({"id": name, "image": name, "conversations": talk})
    write_json(root / "share-captioner_coco_lcs_sam_1246k_1107.json", rows)


LAYOUTS = {
    name: write
    for name, write in list(globals().items())
    if callable(write) and getattr(write, "__module__", "") == __name__
    and name not in ("draw_image", "draw", "write_json", "write_lines", "_aro", "_order")
}  # fmt: skip
