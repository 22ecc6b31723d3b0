"""Conditions: the label of a slice, as tables print it, read back into the queries that meet it.

``language=de``, ``words>22``, ``8<words<=14`` and ``negation=no`` are conditions on a field; ``word=red``
holds for captions with this word, ``shows=snow`` for images whose scene graph has it, and for their captions.
Several conditions stand between commas and hold together: ``language=de, words>22``; of those with ``or``
between them one holds: ``language=de or language=fr, words>22``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from workbench.records import Field, Mask, Rows, Split, require
from workbench.registry import did_you_mean
from workbench.runs.fields import AllFields
from workbench.runs.slices import JOINT, SIDES, equal_to, query_values
from workbench.runs.ways import WAYS
from workbench.text.words import words

WORD, SHOWS = "word", "shows"
# between conditions of which one holds
OR = " or "
NUMBER = r"-?[\d.]+(?:e[-+]?\d+)?"
COMPARED = re.compile(rf"(>=|<=|>|<)({NUMBER})")
BETWEEN = re.compile(rf"({NUMBER})<(.+)<=({NUMBER})")


class Condition(NamedTuple):
    """One condition on a field.

    Args:
        field: its name.
        tests: pairs of a sign, such as ``"="`` or ``"<="``, and what stands behind it; all of them hold.
    """

    field: str
    tests: tuple[tuple[str, str], ...]


def slice_masks(split: Split, label: str, *, fields: Mapping[str, Field] | None = None) -> dict[str, Mask]:
    """Return the queries of one slice by direction.

    Args:
        split: whose queries.
        label: as tables print it, see the module.
        fields: by name; ``None`` = those of the split, and those that are computed of it.

    Returns:
        ``"i2t"`` and ``"t2i"`` -> ``(queries,)`` which are in the slice.

    Raises:
        ValueError: a condition that cannot be read, or that no query meets.
    """
    known = AllFields(split) if fields is None else fields
    groups = read_label(label, known)
    conditions = list(chain.from_iterable(groups))
    masks = {}
    for way in WAYS:
        holds = {each: _mask_of_condition(split, each, way, known) for each in conditions}
        mask = np.ones_like(holds[conditions[0]])
        for either in groups:
            mask &= np.logical_or.reduce([holds[each] for each in either])
        masks[str(way)] = mask
    met = any(mask.any() for mask in masks.values())
    require(met, f"no query of {split.name} is in the slice {label!r}{_values_there(conditions, known)}")
    return masks


def read_label(label: str, names: Collection[str]) -> list[list[Condition]]:
    """Return the conditions of a label: one of each list holds.

    Args:
        label: of a slice.
        names: of the fields.

    Raises:
        ValueError: it has a part that is none.

    >>> read_label("8<words<=14, language=de, at", ["words", "language"])[1]
    [Condition(field='language', tests=(('=', 'de, at'),))]
    >>> [len(either) for either in read_label("words<=8 or words>14, a=b or c", ["words", "a"])]
    [2, 1]
    """
    groups = []
    for part in _split_at(label, JOINT, names):
        groups.append([_require_condition(text.strip(), names) for text in _split_at(part, OR, names)])
    return groups


def _split_at(text: str, joint: str, names: Collection[str]) -> list[str]:
    """Return the parts of a text between joints; a part that begins no condition belongs to the value before
    it.
    """
    parts: list[str] = []
    for part in text.split(joint):
        begins = _read_condition(part.split(OR)[0].strip(), names) is not None
        if parts and not begins:
            parts[-1] += joint + part
        else:
            parts.append(part)
    return parts


def _require_condition(text: str, names: Collection[str]) -> Condition:
    """Return one condition, or raise if the text is none."""
    condition = _read_condition(text, names)
    if condition is None:
        name = re.split("[=<>]", text)[0].strip()
        example, known = "write language=de, words>20 or word=red", [*names, WORD, SHOWS]
        near = example if name in known else did_you_mean(name, known, example)
        raise ValueError(f"{text!r} is no condition on a field; {near}")
    return condition


def query_words(split: Split, direction: str) -> list[set[str]]:
    """Return the words of each caption; an image has those of all its captions.

    Args:
        split: whose queries.
        direction: what is asked.
    """
    of_captions = [set(words(caption)) for caption in split.captions]
    if not direction.startswith("i"):
        return of_captions
    of_images: list[set[str]] = [set() for _ in split.image_ids]
    for row, several in zip(split.own.tolist(), of_captions, strict=True):
        of_images[row] |= several
    return of_images


def query_contents(split: Split, direction: str) -> list[set[str]]:
    """Return the things and attributes that each image shows, by its scene graph; a caption has those of its
    image. Nothing is known where the data have no graphs.

    Args:
        split: whose queries.
        direction: what is asked.
    """
    if split.image_graphs is None:
        return [set() for _ in rows_of_queries(split, direction)]
    of_images = []
    for graph in split.image_graphs:
        of_images.append({*graph.objects, *(attribute for _, attribute in graph.attributes)})
    return [of_images[row] for row in rows_of_queries(split, direction)]


def rows_of_queries(split: Split, direction: str) -> Rows:
    """Return ``(Q,)`` image of each query of a direction."""
    return np.arange(len(split.image_ids)) if direction.startswith("i") else split.own


def _read_condition(text: str, names: Collection[str]) -> Condition | None:
    """Return one condition; ``None`` = the text is none."""
    between = BETWEEN.fullmatch(text)
    if between and between[2] in names:
        return Condition(between[2], ((">", between[1]), ("<=", between[3])))
    for name in sorted({*names, WORD, SHOWS}, key=len, reverse=True):
        if not text.startswith(name):
            continue
        rest = text.removeprefix(name).strip()
        if compared := COMPARED.fullmatch(rest):
            return Condition(name, ((compared[1], compared[2]),))
        if rest.startswith("="):
            return Condition(name, (("=", rest.removeprefix("=").strip()),))
    return None


def _mask_of_condition(split: Split, condition: Condition, way: str, fields: Mapping[str, Field]) -> Mask:
    """Return the queries of a direction that meet a condition."""
    name, tests = condition
    if name in (WORD, SHOWS) and name not in fields:
        several = query_words(split, way) if name == WORD else query_contents(split, way)
        return np.array([tests[0][1] in labels for labels in several], dtype=bool)
    field = fields[name]
    masks = []
    for sign, text in tests:
        if sign == "=":
            masks.append(equal_to(split, field, text, way))
            continue
        require(field.kind == "number", f"field {name!r} has no numbers to compare; write {name}=VALUE")
        values = query_values(field, split.own, len(split.image_ids), way)
        masks.append(SIDES[sign][0](values, float(text)))
    return np.asarray(np.logical_and.reduce(masks))


def _values_there(conditions: Sequence[Condition], fields: Mapping[str, Field]) -> str:
    """Describe which values the fields have, for a slice without queries."""
    parts = []
    for condition in conditions:
        if condition.field in fields:
            field = fields[condition.field]
            parts.append(f"{field.name} has {field.range_text()}")
    return "".join(f"; {part}" for part in dict.fromkeys(parts))
