"""Slices: the queries of a split apart by a field, such as a language, or by two fields crossed.

What cuts is typed as a text: ``language`` takes every value of a field, and of a field of many numbers its
quartiles; ``words:median``, ``:thirds``, ``:quartiles``, ``:fifths`` and ``:tenths`` cut where that share of
the rows lies below; ``words:>20`` cuts once, ``words:10,20`` several times; ``has:negation`` is whether there
is any; ``language*category`` crosses two fields; ``slice:hard`` is a saved slice.

Text queries have the fields of their captions and of their images. An image query has the fields of its
image; of its captions' fields it has what they share, which is the common value of a category (``(several)``
where they differ), the mean of numbers, and whether any of its flags is true. So every query is in one slice
of each field, and the slices together are the whole.
"""

import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import pairwise
from math import floor, log10
from typing import Any

import numpy as np
from pandas import factorize

from workbench.formatting import format_count
from workbench.records import Array, Field, Mask, Rows, Split, Values, require
from workbench.records.fields import NO, YES
from workbench.registry import require_known
from workbench.runs.fields import NEEDS, AllFields, field_extractors
from workbench.runs.saved_slices import PREFIX

SHARES = {"median": 2, "thirds": 3, "quartiles": 4, "fifths": 5, "tenths": 10}
USUAL = "quartiles"
# a field of numbers with at most so many values is taken value by value
FEW = 10
# slices of one field at most: more are no table
MOST = 100
HAS = "has"
CROSS = "*"
MISSING, SEVERAL = "(missing)", "(several)"
# compares with an array of objects element by element, as a value never does
NOTHING: Any = None
# between the labels of crossed slices
JOINT = ", "
CUT = re.compile(r"(>=|<=|>|<)\s*(-?[\d.]+)")
CUTS = re.compile(r"-?[\d.]+(\s*,\s*-?[\d.]+)*")
SIDES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    ">": (operator.gt, "<="),
    ">=": (operator.ge, "<"),
    "<": (operator.lt, ">="),
    "<=": (operator.le, ">"),
}
DIGITS = 3


def slices_of(
    split: Split, by: str, direction: str, *, fields: Mapping[str, Field] | None = None
) -> dict[str, Mask]:
    """Cut the queries of a direction into slices.

    Args:
        split: whose queries.
        by: what cuts, see the module.
        direction: ``"i2t"`` and ``"i2i"`` ask images, ``"t2i"`` and ``"t2t"`` captions.
        fields: by name; ``None`` = those of the split, and those that are computed of it.

    Returns:
        Label of each slice, such as ``"language=de"`` -> ``(queries,)`` which queries are in it. No slice is
        empty; each query is in one.

    Raises:
        KeyError: no such field; the message lists the near ones.
        ValueError: a rule that cannot be read, or a field with too many values.
    """
    known = AllFields(split) if fields is None else fields
    crossed: dict[str, Mask] = {}
    for term in map(str.strip, by.split(CROSS)):
        parts = _slices_of_term(split, term, direction, known)
        if not crossed:
            crossed = parts
            continue
        pairs: dict[str, Mask] = {}
        for label, mask in crossed.items():
            for other, inside in parts.items():
                pairs[JOINT.join((label, other))] = mask & inside
        crossed = pairs
    slices = {label: mask for label, mask in crossed.items() if mask.any()}
    many = format_count(len(slices), "slice")
    require(len(slices) <= MOST, f"{by!r} gives {many}, at most {MOST} are one table; cut it by quartiles")
    return slices


def is_value_slice(label: str) -> bool:
    """Return whether a slice is one of a value, and not of what has none or several.

    >>> is_value_slice("language=de"), is_value_slice("language=(missing)")
    (True, False)
    """
    return (
        not label.endswith((MISSING, SEVERAL)) and f"{MISSING}, " not in label and f"{SEVERAL}, " not in label
    )


def read_term(names: Collection[str], term: str) -> tuple[str, str]:
    """Return the field that one term names, and its rule: ``has``, a share, a cut, or nothing.

    Args:
        names: of all fields.
        term: as it is typed.

    Raises:
        KeyError: no such field; the message lists the near ones.

    >>> read_term(["words"], "words:median"), read_term(["negation"], "has:negation")
    (('words', 'median'), ('negation', 'has'))
    """
    if term.startswith(PREFIX):
        require_known("no saved slice", term, names)
        return term, ""
    name, rule = term, ""
    if term not in names and ":" in term:
        head, _, tail = term.rpartition(":")
        name, rule = (tail, HAS) if head == HAS else (head, tail)
    if name not in names and name in field_extractors():
        what = NEEDS[field_extractors()[name].needs]
        raise KeyError(f"field {name!r} is computed of {what}, which is not at hand here")
    require_known("no field", name, names)
    return name, rule


def query_values(field: Field, own: Rows, images: int, direction: str) -> Array:
    """Return the value of each query of a direction, as ``Field.values`` are.

    Args:
        field: of images, captions or pairs.
        own: ``(T,)`` image row of each caption.
        images: how many there are.
        direction: what is asked.
    """
    asks_images = direction.startswith("i")
    if field.owner == "image":
        return field.values if asks_images else field.values[own]
    if not asks_images:
        return field.values
    if not field.is_numeric:
        return _common_values(field.values, own, images)
    known = ~field.missing
    count = np.bincount(own[known], minlength=images)
    if field.kind == "flag":
        total = np.bincount(own[known], field.values[known] > 0, images)
        return np.where(count > 0, np.minimum(total, 1), np.nan)
    total = np.bincount(own[known], field.values[known], images)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _common_values(values: Array, own: Rows, images: int) -> Array:
    """Return ``(I,)`` the value that all captions of an image share, of those that have one."""
    codes, texts = factorize(values)
    known = codes >= 0
    own, codes = own[known], codes[known]
    last = np.full(images, len(texts))
    last[own] = codes
    last[own[last[own] != codes]] = len(texts) + 1
    common: Array = np.array([*texts, None, SEVERAL], dtype=object)[last]
    return common


def _slices_of_term(split: Split, term: str, direction: str, fields: Mapping[str, Field]) -> dict[str, Mask]:
    """Return the slices of one field."""
    name, rule = read_term(fields, term)
    field, rule = _as_cut(fields[name], rule)
    values = query_values(field, split.own, len(split.image_ids), direction)
    if field.kind == "number":
        slices = _slices_of_number(field, values, rule, term)
    else:
        remedy = f"leave it out, or write {HAS}:{field.name}"
        require(not rule, f"{term!r}: {field.name} has no numbers that {rule!r} could cut; {remedy}")
        is_flag = field.kind == "flag"
        slices = _slices_of_flag(field.name, values > 0) if is_flag else _slices_of_text(field, values)
    missing = np.isnan(values) if field.is_numeric else np.asarray(values == NOTHING, dtype=bool)
    slices = {label: mask & ~missing for label, mask in slices.items()}
    return slices | {f"{field.name}={MISSING}": missing}


def _as_cut(field: Field, rule: str) -> tuple[Field, str]:
    """Return a field as it is cut: whether there is any as a flag, a field of few numbers as their texts."""
    if rule == HAS:
        values = field.values if field.is_numeric else ~field.missing
        there = (
            np.where(np.isnan(values), np.nan, values > 0) if field.is_numeric else values.astype(np.float64)
        )
        return replace(field, values=there, kind="flag"), ""
    if field.kind != "number" or rule or field.distinct > FEW:
        return field, rule
    texts = np.full(len(field.values), None, dtype=object)
    texts[~field.missing] = [field.text(value) for value in field.values[~field.missing].tolist()]
    return replace(field, values=texts, kind="category"), ""


def _slices_of_flag(name: str, true: Mask) -> dict[str, Mask]:
    return {f"{name}={YES}": true, f"{name}={NO}": ~true}


def equal_to(split: Split, field: Field, text: str, direction: str) -> Mask:
    """Return ``(queries,)`` which queries have one value of a field, as the label of a slice says it.

    Args:
        split: whose queries.
        field: of images, captions or pairs.
        text: of the value; ``yes`` and ``no`` also say whether a field that is no flag has any.
        direction: what is asked.
    """
    cut, _ = _as_cut(field, "")
    values = query_values(cut, split.own, len(split.image_ids), direction)
    texts = {} if cut.is_numeric else cut.counts()
    if text == MISSING:
        return np.isnan(values) if cut.is_numeric else np.asarray(values == NOTHING, dtype=bool)
    if text in (YES, NO) and text not in texts:
        flag, _ = _as_cut(field, HAS)
        values = query_values(flag, split.own, len(split.image_ids), direction)
        return np.asarray(values > 0) if text == YES else np.asarray(values == 0)
    if cut.is_numeric:
        return np.array([cut.text(value) == text for value in values.tolist()], dtype=bool)
    labels = {_label("", value): value for value in [*texts, SEVERAL]}
    return np.asarray(values == labels.get(_label("", text), text), dtype=bool)


def _slices_of_text(field: Field, values: Array) -> dict[str, Mask]:
    """Return a slice a value: numbers in their order, others with the most frequent among the field's rows
    first.
    """
    counts = field.counts()
    many = f"field {field.name!r} has {format_count(len(counts), 'value')}, and at most {MOST} can be slices"
    require(len(counts) <= MOST, f"{many}; write {HAS}:{field.name}, or another field")
    as_number = Field.from_cells(field.name, counts)
    texts = list(counts)
    if as_number.kind == "number":
        texts = [texts[row] for row in np.argsort(as_number.values)]
    slices = {_label(field.name, text): np.asarray(values == text) for text in texts}
    return slices | {f"{field.name}={SEVERAL}": np.asarray(values == SEVERAL)}


def _label(name: str, text: str) -> str:
    """Return a label that fits into the key of a number, in which square brackets have a meaning."""
    return f"{name}={text}".replace("[", "(").replace("]", ")")


def _slices_of_number(field: Field, values: Values, rule: str, term: str) -> dict[str, Mask]:
    """Return slices of numbers by shares of the rows of the field, or by cuts that are typed."""
    name = field.name
    if cut := CUT.fullmatch(rule):
        sign, at = cut[1], float(cut[2])
        compare, opposite = SIDES[sign]
        inside = compare(values, at)
        return {f"{name}{sign}{field.text(at)}": inside, f"{name}{opposite}{field.text(at)}": ~inside}
    if CUTS.fullmatch(rule):
        edges = sorted({float(text) for text in rule.split(",")})
    else:
        what = f"{term!r}: {name} has no cut"
        require_known(what, rule or USUAL, [*SHARES, ">20", "10,20"], ValueError)
        edges = _edges(field.values[~field.missing], SHARES[rule or USUAL])
    return _slices_between(field, values, edges)


def _edges(known: Values, parts: int) -> list[float]:
    """Return where equal parts of the values end, with three digits where they are no whole numbers."""
    if not len(known):
        return []
    shares = np.arange(1, parts) / parts
    ends = np.quantile(known, shares, method="lower")
    edges = {round_cut(end) for end in ends.tolist()}
    return sorted(edge for edge in edges if edge < known.max())


def round_cut(value: float) -> float:
    """Return where numbers are cut, with three digits where it is no whole number."""
    if value.is_integer():
        return value
    return round(value, DIGITS - 1 - floor(log10(abs(value))))


def _slices_between(field: Field, values: Values, edges: list[float]) -> dict[str, Mask]:
    """Return ``words<=8``, ``8<words<=12``, ``words>12``."""
    part = np.searchsorted(edges, values, side="left")
    if not edges:
        return {f"{field.name}=(any)": ~np.isnan(values)}
    return {label: part == number for number, label in enumerate(labels_between(field, edges))}


def labels_between(field: Field, edges: list[float]) -> list[str]:
    """Return the labels of slices of numbers, one more than there are edges."""
    name, texts = field.name, list(map(field.text, edges))
    between = [f"{low}<{name}<={high}" for low, high in pairwise(texts)]
    return [f"{name}<={texts[0]}", *between, f"{name}>{texts[-1]}"]
