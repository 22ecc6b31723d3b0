"""Writes the card of a data set of one's own, see ``workbench.data.cards``."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from workbench import data
from workbench.data.cards import OF_OWNER, SUFFIXES, freeze
from workbench.data.opening import choose_candidate, place_of
from workbench.data.reading import Problems, Request
from workbench.io import read_options, write_text
from workbench.metrics.intervals import UNIT
from workbench.metrics.recall import chance_of_hit
from workbench.records import MetricKey, Split, require
from workbench.records.measurement import TIES

FILE = "card.yaml"
DEPTHS = (1, 5, 10)
# layouts that are read from tables which can be named
NAMED = ("karpathy", "coco", "table")
HEADER = """\
# What `workbench evaluate --data {name}` reads. Fill in licence, url, citation and bias, and
# pass the file on with the data: whoever measures with it is told which files differ.
"""


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as such."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def write_card(path: Path | str, split: Split, **options: Any) -> Path:
    """Write the card of the data at a path, ``card.yaml`` in their folder.

    Args:
        path: a folder or a file that ``load_data`` reads, or a card whose ids are not frozen yet.
        split: what was read there.
        options: by which it was read, but for ``split``.

    Returns:
        The card; ``NAME.frozen.yaml`` beside a card that is given.

    Raises:
        FileExistsError: there is a card already.
        ValueError: the data have a name and no path, or the path is a card that is frozen already.
    """
    place = data.path_of(str(path))
    if place is None:
        raise ValueError(f"a card describes data at a path, and {path} is a name, which is described already")
    is_file = place.suffix in SUFFIXES
    file = place.with_suffix(".frozen.yaml") if is_file else place_of(place)[0] / FILE
    require(not file.exists(), f"{file} is there already; delete it to write it anew", FileExistsError)
    content = read_options(place) if is_file else _describe(place, split, options)
    require(
        not content.get("frozen"), f"{place.name} is frozen already; delete frozen in it to write it anew"
    )
    text = yaml.dump(
        {**content, "frozen": freeze(split)}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return write_text(file, HEADER.format(name=file.name) + text)


def _describe(path: Path, split: Split, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a card says beside what it freezes."""
    name, _, part = split.name.rpartition("/")
    base, table = place_of(path, options.get("table", ""))
    images, columns = options.get("images", ""), options.get("columns", {})
    problems, layout = Problems("raise"), options.get("layout", "")
    request = Request(base, part, table, images, columns, problems, layout)
    candidate = choose_candidate(path, request, options.get("regions", ""))
    files = [file.relative_to(base).as_posix() for file in candidate.files]
    read = {"split": part, "layout": candidate.layout}
    if len(files) == 1 and candidate.layout in NAMED:
        read["table"] = files[0]
    chosen = {name: options[name] for name in ("images", "columns", "regions") if options.get(name)}
    about = {"name": name, "title": f"{name}, {part}", "task": "retrieval", **dict.fromkeys(OF_OWNER, "")}
    rules = {"unit": UNIT, "ties": TIES, "chance": chances_of(split)}
    return {**about, "read": read | chosen, "files": files, **rules}


def chances_of(split: Split) -> dict[str, float]:
    """Return what a random order has of each R@K by own pairs, in percent, by the key of the number.

    Args:
        split: images with their captions.
    """
    images, captions = len(split.image_ids), len(split.captions)
    of_images = np.bincount(split.own, minlength=images).astype(np.int64)
    of_captions = np.ones(captions, dtype=np.int64)
    chances = {}
    for candidate, relevant, gallery in (("i2t", of_images, captions), ("t2i", of_captions, images)):
        for k in DEPTHS:
            chance = float(chance_of_hit(relevant, gallery, k).mean())
            chances[str(MetricKey("R", candidate, k=k))] = round(100 * chance, 2)
    return chances
