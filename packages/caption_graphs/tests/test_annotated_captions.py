"""The hand-annotated scene graphs that ship with the package: well formed, and of the captions they say."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections import Counter
from pathlib import Path

import caption_graphs as scene_graph
import pytest

from tools.caption_graphs import annotations, leave_one_out
from tools.caption_graphs.annotations import DATA
from workbench.records import SceneGraph

# readings of chosen.jsonl that were there when late and last were drawn, and when late was drawn further;
# those that came later are of captions drawn before
CHOSEN_BEFORE, CHOSEN_THEN = 3864, 5875
# captions of eight of them were missing when the part last was drawn
MISSING = {"2696", "807366", "806547", "14609", "41441", "89252", "414461", "732055"}
README = Path(scene_graph.__file__).parent / "README.md"
FIELDS = {"source", "id", "sha256", "part", "objects", "attributes", "relations"}


@pytest.fixture(scope="module")
def records():
    return annotations.records()


def graph(record):
    attributes, relations = (tuple(map(tuple, record[name])) for name in ("attributes", "relations"))
    return SceneGraph(tuple(record["objects"]), attributes, relations)


@pytest.fixture(scope="module")
def again():
    """What three further annotators read, by source and id of the caption."""
    lines = (DATA / "read_again.jsonl").read_text("utf-8").splitlines()
    return {(one["source"], one["id"]): one for one in map(json.loads, lines)}


@pytest.fixture(scope="module")
def before(again):
    """The graphs that gave way."""
    return {name: one["before"] for name, one in again.items() if "before" in one}


@pytest.fixture(scope="module")
def pools(real_data):
    lines = (real_data / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    coco = json.loads((real_data / "coco" / "captions_val2017.json").read_text("utf-8"))["annotations"]
    with (real_data / "hierarcaps" / "hierarcaps_test.csv").open(encoding="utf-8", newline="") as chains:
        levels = [(row["id"], row["captions"].split(" => ")) for row in csv.DictReader(chains)]
    return {
        "hierarcaps": {f"{row}#{level}": text for row, chain in levels for level, text in enumerate(chain)},
        "flickr8k": {key: text.strip() for key, text in (line.split("\t", 1) for line in lines)},
        "coco": {str(one["id"]): one["caption"].strip() for one in coco},
    }


def test_there_are_captions_to_write_rules_by_and_others_to_measure_on(records):
    counts = Counter((record["part"], record["source"]) for record in records)
    assert counts == {
        ("fresh", "flickr8k"): 80,
        ("fresh", "coco"): 80,
        ("fresh", "hierarcaps"): 40,
        ("dev", "flickr8k"): 30,
        ("dev", "coco"): 30,
        ("test", "flickr8k"): 100,
        ("test", "coco"): 100,
        ("late", "flickr8k"): 3798,
        ("late", "coco"): 3636,
        ("late", "hierarcaps"): 866,
        ("last", "flickr8k"): 120,
        ("last", "coco"): 120,
        ("last", "hierarcaps"): 60,
        ("fresh2", "flickr8k"): 50,
        ("fresh2", "coco"): 50,
    } | {
        (part, source): number
        for part in ("seen", "held")
        for source, number in (("flickr8k", 60), ("coco", 60), ("hierarcaps", 30))
    }


def test_no_caption_is_annotated_twice(records):
    assert len({(record["source"], record["id"]) for record in records}) == len(records)


def test_every_record_has_the_same_fields_and_a_hash_but_no_text(records):
    for record in records:
        assert set(record) - {"note"} == FIELDS
        assert len(record["sha256"]) == 16
        int(record["sha256"], 16)


def test_every_record_is_a_scene_graph_with_at_least_one_object(records):
    for record in records:
        assert graph(record).objects, record["id"]


def test_no_statement_of_a_graph_is_made_twice(records):
    for record in records:
        for name in ("attributes", "relations"):
            assert len(set(map(tuple, record[name]))) == len(record[name]), record["id"]


def test_every_word_is_lower_case_with_single_blanks(records):
    words = {word for record in records for statement in graph(record).tuples() for word in statement}
    assert [word for word in words if word != " ".join(word.lower().split()) or not word] == []


def test_the_guide_states_the_counts_of_the_file(records):
    guide = (DATA / "README.md").read_text("utf-8")
    sums = (
        f"{sum(len(record[name]) for record in records):,}" for name in ("objects", "attributes", "relations")
    )
    assert f"| all | {len(records):,} | {' | '.join(sums)} |" in guide


@pytest.mark.real_data
def test_each_id_names_the_caption_that_was_annotated(records, pools):
    for record in records:
        text = pools[record["source"]][record["id"]]
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == record["sha256"], record["id"]


@pytest.mark.real_data
def test_drawing_again_with_the_stated_seed_gives_the_same_captions_and_parts(records, pools):
    generator = random.Random(20240607)
    for source in ("flickr8k", "coco"):
        drawn = generator.sample(sorted(pools[source]), 130)
        for part, expected in (("dev", drawn[:30]), ("test", drawn[30:])):
            found = [
                record["id"] for record in records if (record["source"], record["part"]) == (source, part)
            ]
            assert found == expected


@pytest.mark.real_data
def test_the_later_draws_with_their_seeds_give_the_same_halves(records, pools):
    earlier = {(one["source"], one["id"]) for one in records if one["part"] in ("dev", "test")}
    drawn = {"held": [], "seen": [], "fresh": []}
    for seed in (20261122, 20261123):
        generator = random.Random(seed)
        for source, number in (("flickr8k", 60), ("coco", 60), ("hierarcaps", 30)):
            free = sorted(key for key in pools[source] if (source, key) not in earlier)
            found = [(source, key) for key in generator.sample(free, number)]
            earlier |= set(found)
            drawn["held"] += found[: number // 2]
            drawn["seen"] += found[number // 2 :]
    generator = random.Random(20261124)
    fresh = {}
    for source, number in (("flickr8k", 80), ("coco", 80), ("hierarcaps", 40)):
        free = sorted(key for key in pools[source] if (source, key) not in earlier)
        fresh[source] = [(source, key) for key in generator.sample(free, number)]
    for batch in range(4):
        quarters = (some[batch * len(some) // 4 : (batch + 1) * len(some) // 4] for some in fresh.values())
        drawn["fresh"] += [one for quarter in quarters for one in quarter]
    for part, expected in drawn.items():
        assert [(one["source"], one["id"]) for one in records if one["part"] == part] == expected


@pytest.mark.real_data
def test_the_last_draws_take_no_picture_that_was_known(records, pools, real_data):
    picture = annotations.pictures(real_data)
    lines = (DATA / "chosen.jsonl").read_text("utf-8").splitlines()
    before, then = (
        [row for row in map(json.loads, lines[:count]) if "source" in row]
        for count in (CHOSEN_BEFORE, CHOSEN_THEN)
    )
    earlier = [record for record in records if record["part"] not in ("late", "last", "fresh2")]
    taken = {picture(one["source"], one["id"]) for one in earlier}
    missing = {picture(one["source"], one["id"]) for one in before if one["id"] in MISSING}
    missing -= {picture(one["source"], one["id"]) for one in before if one["id"] not in MISSING}
    drawn = {"late": [], "last": []}
    for seed, part, chosen, numbers in (
        (20261125, "late", before, (120, 120, 60)),
        (20261126, "late", before, (270, 270, 60)),
        (20261127, "late", before, (270, 270, 60)),
        (20261128, "last", before, (120, 120, 60)),
        (20261129, "late", then, (360, 360, 80)),
        (20261130, "late", then, (360, 360, 80)),
        (20261201, "late", then, (360, 360, 80)),
        (20261202, "late", then, (180, 180, 40)),
        (20261203, "late", then, (178, 356, 266)),
        (20261204, "late", then, (300, 400, 100)),
        (20261205, "late", then, (360, 400, 40)),
        (20261206, "late", then, (400, 400, 0)),
        (20261207, "late", then, (640, 160, 0)),
    ):
        generator, found = random.Random(seed), []
        taken |= {picture(one["source"], one["id"]) for one in chosen}
        taken -= missing if part == "last" else set()
        for source, number in zip(("flickr8k", "coco", "hierarcaps"), numbers, strict=True):
            free = sorted(key for key in pools[source] if picture(source, key) not in taken)
            found += [(source, key) for key in generator.sample(free, number)]
        taken |= {picture(*one) for one in found}
        drawn[part] += found
    for part, expected in drawn.items():
        assert [(one["source"], one["id"]) for one in records if one["part"] == part] == expected


@pytest.mark.real_data
def test_the_draw_for_comparing_parsers_takes_no_picture_that_was_annotated(records, pools, real_data):
    picture, generator = annotations.pictures(real_data), random.Random(20261208)
    parts = {one: [row for row in records if (row["part"] == "fresh2") is one] for one in (True, False)}
    taken = {picture(row["source"], row["id"]) for row in parts[False]}
    drawn = [
        (source, key)
        for source in ("flickr8k", "coco")
        for key in generator.sample(
            sorted(key for key in pools[source] if picture(source, key) not in taken), 50
        )
    ]
    assert [(row["source"], row["id"]) for row in parts[True]] == drawn


@pytest.mark.real_data
def test_each_rule_of_the_parser_is_worth_something_on_captions_that_did_not_suggest_it(real_data):
    worth = leave_one_out.measured(str(real_data))
    assert [name for name, one in worth.items() if max(one[1:]) <= 0] == []
    assert "\n".join(leave_one_out.table(worth)) in (DATA / "README.md").read_text("utf-8")


def test_the_guide_states_how_far_two_annotators_agree(records, before):
    own = {(one["source"], one["id"]): one for one in records if one["part"] in ("test", "held")}
    lines = (DATA / "second_annotator.jsonl").read_text("utf-8").splitlines()
    second = {(one["source"], one["id"]): one for one in map(json.loads, lines)}
    assert list(second) == list(own)
    # What the first annotator had, also where it was corrected since.
    first = {name: one.get("first", before.get(name, own[name])) for name, one in second.items()}
    guide = " ".join((DATA / "README.md").read_text("utf-8").split())
    for part in ("test", "held"):
        names = [name for name, one in own.items() if one["part"] == part]
        mine, his = ([graph(side[name]) for name in names] for side in (first, second))
        found = annotations.agreement(his, mine)
        objects, attributes, relations = (f"{one.f1:.3f}" for one in found.values())
        differ = sum(a.tuples() != b.tuples() for a, b in zip(mine, his, strict=True))
        told = f"of `{part}` {objects} of objects, {attributes} of attributes and {relations} of relations"
        assert f"{told}, and {differ} captions differ" in guide
    corrected = [name for name, one in second.items() if "first" in one]
    assert all(graph(second[name]["first"]).tuples() != graph(own[name]).tuples() for name in corrected)
    assert f"it decided {len(corrected)} times against the first" in guide


def test_the_guide_states_the_draws_as_they_were_recorded():
    told = (DATA / "README.md").read_text("utf-8")
    with (DATA / "batches.tsv").open(encoding="utf-8") as lines:
        batches = list(csv.DictReader((line for line in lines if line[0] != "#"), delimiter="\t"))
    assert sum(int(batch["captions"]) for batch in batches) == 8300
    for batch in batches:
        assert f"| {' | '.join(batch.values())} |" in told


def test_the_guide_states_how_far_three_further_annotators_agree_and_what_that_changed(records, again):
    own = {(one["source"], one["id"]): one for one in records if one["part"] in annotations.MEASURING}
    assert list(again) == list(own)
    guide = " ".join((DATA / "README.md").read_text("utf-8").split())
    for part in annotations.MEASURING:
        names = [name for name, one in own.items() if one["part"] == part]
        truth = [graph(again[name].get("before", own[name])) for name in names]
        each = [
            annotations.agreement([graph(again[name]["graphs"][reader]) for name in names], truth)
            for reader in range(3)
        ]
        told = " | ".join(
            f"{min(one[kind].f1 for one in each):.3f} to {max(one[kind].f1 for one in each):.3f}"
            for kind in ("objects", "attributes", "relations")
        )
        assert f"| `{part}` | {told} |" in guide
    changed = {name for name, one in again.items() if "before" in one}
    assert f"{len(changed)} of {len(again)} graphs gave way" in guide
    for name, one in again.items():
        before, now = graph(one.get("before", own[name])).tuples(), graph(own[name]).tuples()
        read = [graph(each).tuples() for each in one["graphs"]]
        if name in changed:
            assert read.count(now) >= 2
            assert now != before
        elif len(set(read)) == 1:
            assert read[0] == now


@pytest.mark.real_data
def test_the_guide_states_what_the_graphs_that_gave_way_are_worth(before, real_data):
    guide = (DATA / "README.md").read_text("utf-8")
    for part in annotations.MEASURING:
        truth = annotations.annotated(real_data, part)
        former = [
            graph(before[name]) if name in before else now
            for name, now in zip(truth.ids, truth.graphs, strict=True)
        ]
        found = annotations.agreement(scene_graph.parse(truth.captions), former)
        figures = " | ".join(f"{found[each].f1:.3f}" for each in ("objects", "attributes", "relations"))
        assert f"| `{part}`, by the graphs before | {len(former)} | {figures} |" in guide


# Kinds of construction, by what a caption's text matches.
KINDS = {
    "all": "",
    "seven words or fewer": r"^\W*(\w[\w'-]*\W+){0,6}\w[\w'-]*\W*$",
    "fifteen words or more": r"^\W*(\w[\w'-]*\W+){14,}\w",
    "a list: and, or": r"\b(and|or)\b",
    "with": r"\bwith\b",
    "of": r"\bof\b",
    "participle: -ing": r"\b[a-z]+ing\b",
    "passive: is or are, or by": r"\b(is|are|was|were|being|been) \w+(ed|en|wn)\b|\w+(ed|en|wn) by\b",
    "clause: who, that, while, as": r"\b(who|that|which|while|as)\b",
    "pronoun": r"\b(he|she|him|it|they|them|another|other|others|\w+sel(f|ves))\b|\bher\b(?= [.,]|[.,]|$)",
}


@pytest.mark.real_data
def test_the_table_of_constructions_is_computed_from_the_parts_for_measuring(real_data):
    told = (DATA / "README.md").read_text("utf-8")
    parts = [annotations.annotated(real_data, part) for part in annotations.MEASURING]
    captions = [caption for part in parts for caption in part.captions]
    truth = [graph for part in parts for graph in part.graphs]
    parsed = scene_graph.parse(captions)
    for kind, pattern in KINDS.items():
        chosen = [row for row, caption in enumerate(captions) if re.search(pattern, caption.lower())]
        found = annotations.agreement([parsed[row] for row in chosen], [truth[row] for row in chosen])
        figures = " | ".join(f"{found[name].f1:.3f}" for name in ("objects", "attributes", "relations"))
        assert f"| {kind} | {len(chosen)} | {figures} |" in told
    for name in (*annotations.MEASURING, "fresh2"):
        part = annotations.annotated(real_data, name)
        found = annotations.agreement(scene_graph.parse(part.captions), part.graphs)
        figures = " | ".join(f"{found[each].f1:.3f}" for each in ("objects", "attributes", "relations"))
        for text in (told, README.read_text("utf-8")):
            assert f"| `{name}` | {len(part.captions)} | {figures} |" in text
