"""The search: what is planted comes first, overlaps are told once, pairs only where they explain more."""

from __future__ import annotations

import numpy as np
import pytest
from slice_search.candidates import Candidates, Condition, candidates_of, combine
from slice_search.search import search_slices

from workbench.records import Field, Split

IMAGES = 200
OWN = np.repeat(np.arange(IMAGES), 5)


def of_fields(seed: int = 0) -> dict[str, np.ndarray]:
    """Values of each caption: two of captions, and one of images."""
    rng = np.random.default_rng(seed)
    return {
        "language": rng.choice(["en", "de", "fr", "cs"], 1000),
        "level": rng.integers(1, 6, 1000),
        "source": rng.choice(["a", "b", "c"], IMAGES)[OWN],
    }


def conditions(fields: dict[str, np.ndarray]) -> list[Condition]:
    """A condition a value."""
    return [
        Condition(f"{name}={value}", name, values == value)
        for name, values in fields.items()
        for value in np.unique(values).tolist()
    ]


def differences(mask: np.ndarray, drop: float, seed: int = 1) -> np.ndarray:
    """Of two models that are equally good elsewhere: one fails more often where the mask is true."""
    rng = np.random.default_rng(seed)
    damaged = np.where(mask, 0.6 - drop, 0.6)
    return (rng.random(1000) < damaged).astype(float) - (rng.random(1000) < 0.6)


@pytest.fixture(scope="module")
def searched() -> tuple[dict[str, np.ndarray], Candidates]:
    fields = of_fields()
    return fields, combine(conditions(fields), OWN)


@pytest.mark.parametrize("label", ["language=de", "level=5", "source=b"])
def test_a_planted_failure_comes_first_and_alone(
    searched: tuple[dict[str, np.ndarray], Candidates], label: str
) -> None:
    fields, candidates = searched
    name, value = label.split("=")
    mask = fields[name].astype(str) == value
    findings = search_slices(differences(mask, 0.4), OWN, candidates)
    assert [part.label for part in findings.slices] == [label]
    part = findings.slices[0]
    assert part.low < -0.4 < part.high
    assert (part.queries, part.images) == (mask.sum(), len(np.unique(OWN[mask])))


def test_a_failure_where_two_conditions_meet_is_told_as_a_pair(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    fields, candidates = searched
    mask = (fields["language"] == "fr") & (fields["source"] == "c")
    findings = search_slices(differences(mask, 0.55), OWN, candidates)
    assert set(findings.slices[0].conditions) == {"language=fr", "source=c"}


def test_two_failures_are_both_told_and_their_overlaps_are_not(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    fields, candidates = searched
    first, second = fields["language"] == "de", fields["source"] == "a"
    findings = search_slices(differences(first | second, 0.45), OWN, candidates)
    assert {part.label for part in findings.slices} == {"language=de", "source=a"}
    earlier, later = findings.slices
    assert later.alone == (later.mask & ~earlier.mask).sum()
    assert later.queries == later.mask.sum()


def test_one_model_reports_what_is_worse_and_not_what_is_better(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    fields, candidates = searched
    better = -differences(fields["level"] == 2, 0.45)
    worse = search_slices(better, OWN, candidates, worse=-1).slices
    assert all(part.effect < 0 and "level=2" not in part.conditions for part in worse)
    assert search_slices(better, OWN, candidates, worse=1).slices[0].label == "level=2"


def test_equal_models_report_nothing(searched: tuple[dict[str, np.ndarray], Candidates]) -> None:
    _, candidates = searched
    alarms = [
        len(search_slices(differences(np.zeros(1000, bool), 0.0, seed), OWN, candidates).slices)
        for seed in range(20)
    ]
    assert sum(map(bool, alarms)) <= 2


def test_the_other_rule_reports_at_least_as_many(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    fields, candidates = searched
    values = differences((fields["level"] == 1) | (fields["source"] == "a"), 0.2)
    by_rule = [len(search_slices(values, OWN, candidates, rule=rule).slices) for rule in ("holm", "bh")]
    assert by_rule[0] <= by_rule[1]


def test_values_of_other_queries_and_unknown_rules_are_refused(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    _, candidates = searched
    with pytest.raises(ValueError, match="queries"):
        search_slices(np.zeros(10), OWN, candidates)
    with pytest.raises(ValueError, match="bonferroni"):
        search_slices(np.zeros(1000), OWN, candidates, rule="bonferroni")  # type: ignore[arg-type]


def test_slices_have_enough_images_and_none_cuts_as_another_does(
    searched: tuple[dict[str, np.ndarray], Candidates],
) -> None:
    _, candidates = searched
    images = [len(np.unique(OWN[mask])) for mask in candidates.masks]
    assert min(images) >= candidates.minimum
    sides = {np.packbits(mask ^ mask[0]).tobytes() for mask in candidates.masks}
    assert len(sides) == len(candidates.labels)
    flag = [Condition("x=yes", "x", OWN < 50), Condition("x=no", "x", OWN >= 50)]
    assert combine(flag, OWN).labels == [("x=yes",)]


def small_split() -> Split:
    """Forty images with two captions each, a language by caption and a source by image."""
    colours = ["red", "green", "green", "green"] * 20
    captions = [f"a {colour} ball number {row}" for row, colour in enumerate(colours)]
    fields = {
        "language": Field("language", np.array(["en", "de"] * 40, dtype=object)),
        "length": Field("length", np.arange(80.0), kind="number"),
        "source": Field("source", np.array(["a"] * 20 + ["b"] * 20, dtype=object), "image"),
        "note": Field("note", np.array([f"n{row}" for row in range(80)], dtype=object), kind="text"),
    }
    return Split(
        name="small",
        image_ids=tuple(f"i{row}" for row in range(40)),
        captions=tuple(captions),
        caption_ids=tuple(f"c{row}" for row in range(80)),
        own=np.repeat(np.arange(40), 2),
        open_image=lambda row: None,  # type: ignore[arg-type,return-value]
        fields=fields,
    )


def test_fields_words_and_bins_are_candidates_in_both_directions() -> None:
    of_captions = candidates_of(small_split(), "t2i", minimum=5)
    singles = {labels[0] for labels in of_captions.labels if len(labels) == 1}
    # of two halves one is searched, the first where they are equally large
    assert {"language=en", "word=red", "length<=19"} <= singles, sorted(singles)
    assert not any(label.startswith("note") for label in singles)
    of_images = candidates_of(small_split(), "i2t", minimum=5)
    assert of_images.masks.shape[1] == 40
    assert any(labels[0].startswith("length") for labels in of_images.labels)
