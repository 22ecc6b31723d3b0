"""Every reader of other people's files, with valid files to begin from; ``tests/fuzz`` damages them."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzz.damage import DAMAGES, retyped


@dataclass(frozen=True)
class Reader:
    """A reader and what it reads.

    Args:
        lay_out: writes all files that it needs into an empty folder; gives the one that is damaged, and other
            contents to begin from.
        read: reads the folder.
    """

    lay_out: Callable[[Path], tuple[str, list[bytes]]]
    read: Callable[[Path], Any]


def _written(name: str, *contents: bytes | str) -> Callable[[Path], tuple[str, list[bytes]]]:
    """A layout of one file: the first content, and the others to begin from as well."""
    first, *others = (one.encode() if isinstance(one, str) else one for one in contents)

    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        (folder / name).write_bytes(first)
        return name, others

    return lay_out


def _fixture(make: str, name: str, place: str = "data") -> Callable[[Path], tuple[str, list[bytes]]]:
    """The layout of a fixture of ``tests/data``; the file is named from there."""

    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        from tests.data import fixtures

        made = folder / place
        if make not in ("photographs", "bottom_up"):
            made.mkdir()
        getattr(fixtures, make)(made)
        return f"{place}/{name}", []

    return lay_out


GRID = """# arms
notebook: 03_train
fixed: &few {epochs: 1, train_images: 64}
reference: {plain: {objective: vsepp}}
arms:
  a: {objective: {name: ditm, tau: 0.05}}
  b: {<<: *few, objective: dias}
grid: {seed: [0, 1], lr: [1.0e-3, 0.1]}
record: [rsum, "t2i/R@1"]
"""
CONFIG = {
    "objective": {"name": "vsepp", "margin": 0.3}, "data": "scenes", "epochs": 2, "lr": 0.001,
    "train_images": 8, "image_encoder": {"embed_dim": 16}, "metrics": ["map_at_r"], "seed": 1,
}  # fmt: skip
ROWS = [
    {
        "image": f"{n}.png",
        "caption": f"a red thing {n}",
        "id": f"c{n}",
        "split": "test",
        "level": n,
        "chain": 0,
    }
    for n in range(3)
]


def _parquet(columns: dict[str, Any], metadata: dict[bytes, bytes] | None = None, **options: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table(columns).replace_schema_metadata(metadata), file, **options)
    return file.getvalue()


def _odd_columns(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The table with one column of another type, twice as long, with gaps, or without it."""
    import pyarrow as pa

    for name, values in columns.items():
        rows = len(values)
        kinds = [[None] * rows, [1.5] * rows, [b"x"] * rows, [["a"]] * rows, [{"a": 1}] * rows, [True] * rows]
        stamps = pa.array([2**62] * rows, pa.timestamp("ns"))
        for other in (*kinds, stamps, pa.array(["a"] * rows).dictionary_encode(), [2**62] * rows):
            yield {**columns, name: other}
        yield {key: value for key, value in columns.items() if key != name}
        yield {key: list(value) * 2 for key, value in columns.items()}


def _table_of(kind: str) -> Callable[[Path], tuple[str, list[bytes]]]:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    texts = {
        ".csv": lambda: [
            ",".join(columns) + "\n" + "".join(f"{','.join(map(str, r.values()))}\n" for r in ROWS)
        ],
        ".jsonl": lambda: ["".join(json.dumps(row) + "\n" for row in ROWS)],
        ".parquet": lambda: [_parquet(columns), *map(_parquet, _odd_columns(columns))],
    }

    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        from PIL import Image

        for row in ROWS:
            Image.new("RGB", (4, 4)).save(folder / str(row["image"]))
        return _written(f"captions{kind}", *texts[kind]())(folder)

    return lay_out


def _arrays(first: tuple[int, ...]) -> list[bytes]:
    """Arrays as ``.npy``: one of this shape, and others of every kind."""
    shapes = [(2, 3, 4), (2, 4), (4,), (), (0, 4), (1, 1, 1, 1)]
    kinds = ["<f4", ">f8", "<f2", "<i8", "?", "<c8", "S3", "U2", "M8[s]", "V4", [("a", "<f4"), ("b", "<i4")]]
    made = [np.zeros(shape, kind) for shape in shapes[:2] for kind in kinds]
    made += [np.zeros(shape, np.float32) for shape in shapes]
    made += [np.full((2, 4), np.nan), np.full(4, 1e300), np.asfortranarray(np.zeros((3, 4)))]
    return [_saved(one) for one in (np.ones(first, np.float32), *made, np.array([None], dtype=object))]


def _saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zipped(packed: bool, **arrays: Any) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **arrays)
    return file.getvalue()


def _regions(folder: Path) -> tuple[str, list[bytes]]:
    values, boxes = np.ones((3, 4), np.float32), np.full((3, 4), 7.0)
    whole = {"features": values, "bbox": boxes, "image_w": 20, "image_h": 10}
    odd = [{**whole, name: other} for name in whole for other in (np.zeros(0), np.array("a"), boxes[None], 0)]
    return _written("a.npz", *(_zipped(packed, **one) for one in (whole, *odd) for packed in (False, True)))(
        folder
    )


def _image_files() -> list[bytes]:
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 255, (9, 7, 4), dtype=np.uint8)
    image, exif = Image.fromarray(noise), Image.Exif()
    exif[0x0112] = 6
    grey = Image.fromarray(noise[:, :, 0].astype(np.uint16) * 257)
    made = [
        (image, "PNG", {}), (image.convert("RGB"), "JPEG", {"exif": exif}), (image.convert("RGB"), "BMP", {}),
        (image.convert("P"), "GIF", {"transparency": 1}), (image, "WEBP", {}), (image, "TIFF", {}),
        (image.convert("CMYK"), "JPEG", {}), (image.convert("CMYK"), "TIFF", {"compression": "tiff_lzw"}),
        (grey, "PNG", {}), (grey, "TIFF", {}), (Image.fromarray(noise[..., 0] / np.float32(255)), "TIFF", {}),
        (image.convert("P"), "PNG", {"transparency": bytes([0, 99])}), (image.convert("RGB"), "PPM", {}),
        (image.convert("1"), "TIFF", {"compression": "group4"}),
        (image.convert("RGB"), "JPEG2000", {}), (image.convert("RGB"), "WEBP", {"lossless": True}),
        (image.convert("L"), "PPM", {}), (image.convert("RGB"), "TIFF", {"compression": "jpeg"}),
    ]  # fmt: skip
    out = []
    for one, kind, options in made:
        file = io.BytesIO()
        one.save(file, kind, **options)
        out.append(file.getvalue())
    return out


def _precomp(ending: str, *odd: bytes) -> Callable[[Path], tuple[str, list[bytes]]]:
    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        from tests.data import fixtures

        fixtures.precomp(folder, "test", [one for one in fixtures.COCO if one[0] == "test"])
        return f"precomp/test_{ending}", list(odd)

    return lay_out


def _split() -> Any:
    from workbench.records import Judgements, Split

    ids, own = ("a", "b", "c"), np.arange(6) // 2
    names = tuple(f"c{n}" for n in range(6))
    judged = Judgements("exact", "toy", (3, 6), own, np.arange(6), np.ones(6, dtype=np.float32))
    return Split(
        "toy/test", ids, ("a caption",) * 6, names, own, lambda _: None, judgements={"exact": judged}
    )


def _judgements(folder: Path) -> tuple[str, list[bytes]]:
    import pyarrow.parquet
    from relevance_audit import write_parquet

    split, file = _split(), folder / "j.parquet"
    write_parquet(file, split.judgements["exact"], split)
    table = pyarrow.parquet.read_table(file)
    about = table.schema.metadata
    odd = [_parquet(columns, about) for columns in _odd_columns(table.to_pydict())]
    key, rule = next(iter(about.items()))
    for number in range(60):
        odd.append(_parquet(table.to_pydict(), {key: retyped(rule, random.Random(number))}))
    return file.name, odd


def _values(folder: Path) -> tuple[str, list[bytes]]:
    from workbench.runs.by_query import ByQuery
    from workbench.runs.store import VALUES

    split = _split()
    numbers = {"i2t/R@1": np.ones(3), "t2i/R@1": np.ones(6)}
    ByQuery(split.image_ids, split.caption_ids, split.own, numbers).write(folder)
    whole = dict(np.load(folder / VALUES))
    odd = [{**whole, name: other} for name in whole for other in (np.zeros(0), np.array("a"))]
    return VALUES, [_zipped(packed, **one) for one in (whole, *odd) for packed in (False, True)]


def _checkpoint(folder: Path) -> tuple[str, list[bytes]]:
    import torch

    from workbench.training import checkpoint

    facts = {"epoch": 3, "history": [{"loss": 0.5}], "made_from": {"objective": "vsepp"}}
    checkpoint.write(folder / "last.safetensors", {"model.w": torch.ones(2, 3)}, facts)
    return "last.safetensors", []


def _labels(folder: Path) -> tuple[str, list[bytes]]:
    from relevance_audit import Labels

    Labels(folder / "labels.json", "me").add_all([("a", "c1", "valid"), ("b", "c2", "unsure")])
    return "labels.json", []


def _hierarcaps(name: str) -> Callable[[Path], tuple[str, list[bytes]]]:
    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        from PIL import Image

        (folder / "images").mkdir()
        Image.new("RGB", (4, 4)).save(folder / "images" / "1.jpg")
        column = "positive" if name.endswith(".gz") else "captions"
        text = f"id,{column},image_url\n" + "".join(
            f'{n},"a => b => c{n} => d, {n}",x/1.jpg\n' for n in range(3)
        )
        content = text.encode()
        return _written(name, gzip.compress(content, mtime=0) if name.endswith(".gz") else content)(folder)

    return lay_out


def _flickr8k(name: str) -> Callable[[Path], tuple[str, list[bytes]]]:
    def lay_out(folder: Path) -> tuple[str, list[bytes]]:
        from PIL import Image

        (folder / "images").mkdir()
        for image in ("1.jpg", "2.jpg"):
            Image.new("RGB", (4, 4)).save(folder / "images" / image)
        lines = {
            "Flickr_8k.testImages.txt": "1.jpg\n2.jpg\n",
            "Flickr8k.token.txt": "".join(
                f"{n}.jpg#{k}\tA caption {k} .\n" for n in (1, 2) for k in range(5)
            ),
            "CrowdFlowerAnnotations.txt": "1.jpg\t2.jpg#0\t0.5\t2\t2\n2.jpg\t1.jpg#1\t0\t0\t3\n",
            "ExpertAnnotations.txt": "1.jpg\t2.jpg#0\t1\t2\t4\n2.jpg\t1.jpg#1\t1\t1\t3\n",
        }
        for file, text in lines.items():
            (folder / file).write_text(text)
        return name, []

    return lay_out


def _lexicon(folder: Path) -> tuple[str, list[bytes]]:
    from relevance_audit.lexicon import ENDINGS

    for kind in ENDINGS:
        (folder / f"index.{kind}").write_text("  1 notice\ncat n 1 1 @ 1 0 00000002\n")
        (folder / f"data.{kind}").write_text(
            "00000002 05 n 02 cat 0 house_cat 0 001 @ 00000001 n 0000 | pet\n"
        )
    return "data.noun", [(folder / "index.noun").read_bytes()]


def _notebook(folder: Path) -> tuple[str, list[bytes]]:
    source = "seed: int = 0  # of all\nrate: float = 1e-3\nnames: list = ['a', {'b': [1]}]\nout: str = \"\"\n"
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "outputs": [], "source": source}
    whole = {"cells": [{**cell, "metadata": {"tags": ["parameters"]}}], "metadata": {}, "nbformat": 4,
             "nbformat_minor": 5}  # fmt: skip
    odd = []
    for number in range(300):  # damage within the cell
        rng = random.Random(number)
        inner = rng.choice(DAMAGES)(source.encode(), rng).decode("utf-8", "replace")
        inside = {**cell, "source": inner, "metadata": {"tags": ["parameters"]}}
        odd.append(json.dumps({**whole, "cells": [inside]}).encode())
    return _written("a.ipynb", json.dumps(whole), *odd)(folder)


def _load(name: str, **options: Any) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        from workbench import data

        roots = {"cxc": {"root": str(folder / "data/cxc"), "coco": str(folder / "data/coco")}}
        place = folder / "data" if (folder / "data").is_dir() else folder
        return data.load(name, **{"root": str(place), **roots.get(name, {}), **options})

    return read


def _read(module: str, name: str, file: str, *more: Any) -> Callable[[Path], Any]:
    """Calls a function of a module on a file of the folder; more arguments that can be called are called."""

    def read(folder: Path) -> Any:
        from importlib import import_module

        function: Any = import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        return function(folder / file, *(one() if callable(one) else one for one in more))

    return read


def _regions_read(folder: Path) -> Any:
    from workbench.data.region_files import RegionFiles

    files = RegionFiles([next(folder.glob("a.np*"))])
    return np.asarray(files), files.boxes(0)


def _uploaded(name: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        from workbench.views.explorer.thumbnails import read_upload

        return read_upload(name, (folder / name).read_bytes())

    return read


VECTORS = "the 0.1 -0.2 1e-3\ncat 1 2 3\ndog 3 2 1\n"
QRELS = "c0 0 a 1\nc1 0 a 1\nc2 0 b 1\n"
READERS: dict[str, Reader] = {
    "grid": Reader(
        _written("g.yaml", GRID, json.dumps(CONFIG)), _read("workbench.execution.grid", "read_grid", "g.yaml")
    ),
    "parameters": Reader(
        _written("p.yaml", "seed: 1\nlr: 1.0e-3\nmetrics: [a, b]\nobjective: {margin: 0.2}\n", GRID),
        _read("workbench.io", "read_options", "p.yaml"),
    ),
    "config": Reader(
        _written("c.json", json.dumps(CONFIG)), _read("workbench.runs.config", "Config.read", "c.json")
    ),
    "notebook": Reader(_notebook, _read("workbench.execution.parameters", "read_parameters", "a.ipynb")),
    "karpathy": Reader(
        _fixture("coco", "dataset_coco.json"), _load("coco", split="test", source="captions", complete=False)
    ),
    "csv": Reader(_table_of(".csv"), _load("folder", split="all", check_images=False)),
    "json lines": Reader(_table_of(".jsonl"), _load("folder", split="all", check_images=False)),
    "parquet": Reader(_table_of(".parquet"), _load("folder", split="all", check_images=False)),
    "tar shard": Reader(
        _fixture("shards", "train-0.tar"), lambda folder: _load("shards", split="train")(folder).open_image(0)
    ),
    "cxc": Reader(_fixture("cxc", "cxc/sits_test.csv"), _load("cxc", source="captions", complete=False)),
    "hierarcaps": Reader(_hierarcaps("hierarcaps_test.csv"), _load("hierarcaps", complete=False)),
    "hierarcaps, packed": Reader(
        _hierarcaps("hierarcaps_test_expanded.csv.gz"), _load("hierarcaps", texts="expanded", complete=False)
    ),
    "npz": Reader(_regions, _regions_read),
    "npy": Reader(lambda folder: _written("a.npy", *_arrays((3, 4)))(folder), _regions_read),
    "image": Reader(
        lambda folder: _written("a.png", *_image_files())(folder),
        _read("workbench.data.images", "read_image", "a.png", "row 1"),
    ),
    "uploaded image": Reader(lambda folder: _written("a.png", *_image_files())(folder), _uploaded("a.png")),
    "uploaded vector": Reader(lambda folder: _written("a.npy", *_arrays((4,)))(folder), _uploaded("a.npy")),
    "judgements": Reader(_judgements, _read("relevance_audit", "read_parquet", "j.parquet", _split)),
    "qrels": Reader(_written("j.qrels", QRELS), _read("relevance_audit", "read_qrels", "j.qrels", _split)),
    "labels": Reader(_labels, _read("relevance_audit", "Labels", "labels.json", "me")),
    "values by query": Reader(_values, _read("workbench.runs.by_query", "ByQuery.read", "")),
    "checkpoint": Reader(_checkpoint, _read("workbench.training.checkpoint", "read", "last.safetensors")),
    "lexicon": Reader(_lexicon, _read("tools.relevance_audit.wordnet", "from_files", "")),
    "word vectors": Reader(
        _written("v.txt", VECTORS),
        _read("workbench.encoders.words", "read_vectors", "v.txt", lambda: ["cat", "dog"]),
    ),
    "recorded": Reader(
        _written("r.tsv", "# made by\nobjective\tseed\tvalue\nvsepp\t0\t0.5\n"),
        _read("workbench.assets", "read_recorded", "r.tsv"),
    ),
    "eccv": Reader(
        _written("e.json", '{"1": [2, 3], "4": [5]}'),
        _read("workbench.data.eccv_caption", "_read_side", "e.json"),
    ),
    **{
        f"precomp, {what}": Reader(
            _precomp(ending, *odd), _read("workbench.data.benchmark", "read_precomp", "precomp", "test")
        )
        for what, ending, odd in (
            ("captions", "caps.txt", ()),
            ("ids", "ids.txt", ()),
            ("regions", "ims.npy", tuple(_arrays((2, 3, 4)))),
        )
    },
    **{
        f"flickr8k, {what}": Reader(_flickr8k(name), _load("flickr8k", split="test", complete=False))
        for what, name in (
            ("list", "Flickr_8k.testImages.txt"),
            ("captions", "Flickr8k.token.txt"),
            ("crowd", "CrowdFlowerAnnotations.txt"),
            ("experts", "ExpertAnnotations.txt"),
        )
    },
}
