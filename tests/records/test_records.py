"""The records refuse what does not fit, where it enters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from workbench.records import Batch, Embedding, Judgements, SceneGraph, Split, measurement


def opener(row: int) -> Image.Image:
    return Image.new("RGB", (4, 4))


def small(**changes) -> Split:
    values = {
        "name": "toy/test",
        "image_ids": ("a", "b"),
        "captions": ("one", "two", "three"),
        "caption_ids": ("a0", "a1", "b0"),
        "own": np.array([0, 0, 1]),
        "open_image": opener,
    }
    return Split(**(values | changes))


def test_a_split_always_has_its_own_pairs_as_judgements():
    own = small().judgements["own"].dense()
    assert own.tolist() == [[1, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_ids": ("a", "a")}, "image id occurs twice"),
        ({"caption_ids": ("x", "x", "y")}, "caption id occurs twice"),
        ({"captions": ("one", " ", "three")}, "'a1'.*empty"),
        ({"own": np.array([0, 0, 0])}, "'b'.*no caption"),
        ({"own": np.array([0, 0, 2])}, "outside the 2 images"),
        ({"own": np.array([0, 1])}, "own has 2 rows, expected 3"),
        ({"regions": np.zeros((3, 1, 1))}, "regions has 3 rows, expected 2"),
    ],
)
def test_a_split_refuses_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_cut_split_keeps_the_pairs_of_its_images():
    cut = small(level=np.array([1, 2, 3])).first(1)
    assert cut.captions == ("one", "two")
    assert cut.level.tolist() == [1, 2]
    assert cut.judgements["own"].dense().tolist() == [[1, 1]]


def test_a_fingerprint_tells_counts_apart():
    assert small().fingerprint() == {"images": 2, "captions": 3, "captions_per_image": {1: 1, 2: 1}}


def test_a_split_is_printed_in_two_lines_of_counts_and_of_what_is_known():
    counts, known = repr(small(level=np.array([1, 2, 3]))).splitlines()
    assert (counts, known) == (
        f"{small().name}: 2 images, 3 captions (1 to 2 per image)",
        "fields: level; judgements: own",
    )


def test_judgements_refuse_a_pair_listed_twice():
    with pytest.raises(ValueError, match="listed twice"):
        Judgements("j", "r", (2, 2), np.array([0, 0]), np.array([1, 1]), np.ones(2, np.float32))


def test_pairs_that_nobody_judged_are_not_a_number_and_not_relevant():
    judged = Judgements("j", "r", (1, 2), np.array([0]), np.array([1]), np.ones(1, np.float32), unlisted=None)
    assert np.isnan(judged.dense()[0, 0])
    assert judged.relevant().tolist() == [[False, True]]


def test_pairs_of_one_kind_count_in_both_directions_with_the_larger_of_two_ratings():
    # (0, 1) was rated 2 and, turned round, 4; (2, 0) was rated once
    rated = Judgements(
        "sis", "", (3, 3), np.array([0, 1, 2]), np.array([1, 0, 0]), np.float32([2, 4, 1]), 2.5, None
    )
    both = rated.symmetrise().dense()
    assert both[0, 1] == both[1, 0] == 4
    assert both[0, 2] == both[2, 0] == 1
    assert np.isnan(both).sum() == 5
    with pytest.raises(ValueError, match="pairs of one kind"):
        Judgements("own", "", (1, 2), np.array([0]), np.array([1]), np.ones(1, np.float32)).symmetrise()


def test_a_cut_split_keeps_judgements_of_image_pairs_caption_pairs_and_the_queries_that_are_left():
    one = np.ones(1, np.float32)
    whole = small(
        judgements={
            "eccv": Judgements(
                "eccv", "", (2, 3), np.array([0]), np.array([2]), one, caption_queries=np.array([1, 2])
            )
        },
        image_judgements={"sis": Judgements("sis", "", (2, 2), np.array([0]), np.array([1]), one)},
        caption_judgements={"sts": Judgements("sts", "", (3, 3), np.array([0]), np.array([2]), one)},
    )
    cut = whole.first(1)
    kept = np.flatnonzero(whole.own < 1)
    assert cut.image_judgements["sis"].shape == (1, 1)
    assert len(cut.image_judgements["sis"].grades) == 0
    assert cut.caption_judgements["sts"].shape == (len(kept), len(kept))
    assert cut.judgements["eccv"].image_queries is None
    assert cut.judgements["eccv"].caption_queries.tolist() == [
        n for n, row in enumerate(kept) if row in (1, 2)
    ]
    with pytest.raises(ValueError, match=r"'sis' have shape \(2, 2\), expected \(3, 3\)"):
        small(caption_judgements={"sis": whole.image_judgements["sis"]})
    with pytest.raises(ValueError, match="a caption row lies outside"):
        Judgements("eccv", "", (2, 3), np.array([0]), np.array([2]), one, caption_queries=np.array([3]))


def test_a_scene_graph_refuses_a_node_that_does_not_exist():
    with pytest.raises(ValueError, match="node 2"):
        SceneGraph(("dog",), relations=((0, "on", 2),))


def test_a_scene_graph_as_tuples():
    graph = SceneGraph(("dog", "tree"), ((0, "brown"),), ((0, "left of", 1),))
    assert graph.tuples() == {("dog",), ("tree",), ("dog", "brown"), ("dog", "left of", "tree")}


def test_positives_come_from_ids_and_not_from_position():
    batch = Batch(["a", "b", "a"], ["0", "1", "2"], torch.tensor([1, 0, 2]))
    assert batch.positives.tolist() == [[False, True, True], [True, False, False], [False, True, True]]


def test_judgements_add_positives_and_take_none_away():
    also = torch.tensor([[True, False, False], [False, False, False], [False, False, False]])
    batch = Batch(["a", "b", "a"], ["0", "1", "2"], torch.tensor([1, 0, 2]), also=also)
    assert batch.positives.tolist() == [[True, True, True], [True, False, False], [False, True, True]]
    with pytest.raises(ValueError, match=r"batch: also of shape \(1, 2\), expected \(3, 3\)"):
        Batch(["a", "b", "a"], ["0", "1", "2"], torch.tensor([1, 0, 2]), also=also[:1, :2])


def test_an_embedding_refuses_parts_without_a_mask():
    with pytest.raises(ValueError, match="parts and mask"):
        Embedding(torch.zeros(2, 3), parts=torch.zeros(2, 4, 3))


def test_the_grades_of_single_pairs_are_those_of_the_matrix():
    grades = np.array([2.0, 1.0], dtype=np.float32)
    judged = Judgements("toy", "toy", (2, 3), np.array([0, 1]), np.array([2, 0]), grades, unlisted=None)
    assert judged.grades_at(np.array([0, 1, 1]), np.array([2, 0, 1])).tolist()[:2] == [2.0, 1.0]
    np.testing.assert_array_equal(judged.take(np.arange(2), np.arange(3)), judged.dense())


def test_some_rows_of_an_embedding_keep_their_entities():
    mean, entities = torch.arange(6.0).view(3, 2), torch.arange(8.0).view(4, 2)
    whole = Embedding(
        mean, entities=entities, owner=torch.tensor([0, 2, 1, 2]), labels=torch.arange(4)[:, None]
    )
    part = whole.take(np.array([2, 0]))
    # row 2 becomes 0 and row 0 becomes 1; row 1 and its entity 2 are gone
    assert part.mean.tolist() == [[4, 5], [0, 1]]
    assert part.owner.tolist() == [1, 0, 0]
    assert part.labels.ravel().tolist() == [0, 1, 3]
    assert part.entities.tolist() == entities[[0, 1, 3]].tolist()
    assert Embedding(mean).take(np.array([1])).entities is None


def test_judgements_name_positives_that_the_split_lacks_and_drop_them_when_cut():
    one, missing = np.zeros(1, dtype=np.int64), np.array([1])
    judged = Judgements("j", "r", (2, 2), one, one, np.ones(1, np.float32), missing_captions=missing)
    assert judged.restrict(np.arange(2), np.arange(1)).missing_captions is None
    with pytest.raises(ValueError, match=r"a image row lies outside 0\.\.1"):
        Judgements("j", "r", (2, 2), one, one, np.ones(1, np.float32), missing_captions=np.array([2]))


def test_a_table_explains_r_at_k_beside_recall_and_intervals_that_are_no_bootstraps():
    rows = [(f"i2t/R@{k}", {"interval": measurement.WILSON}) for k in (1, 5, 10, 20)]
    both = [*rows, ("t2i/recall@1", {"interval": measurement.CERTAIN})]
    said = measurement.remarks(both)
    assert said[0] == measurement.HITS
    assert said[1].startswith("interval of i2t/R@1, i2t/R@5, i2t/R@10 and 1 more: Wilson's")
    assert said[2] == "interval of t2i/recall@1: none, since every order has this value"
    assert measurement.remarks([("rsum", {}), ("i2t/R@1", {})]) == []


def test_an_interval_of_no_width_that_an_older_version_wrote_is_not_printed_as_certainty():
    old = {"value": 1.0, "low": 1.0, "high": 1.0}
    assert measurement.measurement_row("i2t/R@1", old)["value"] == "100.0"
    assert measurement.measurement_row("i2t/medr", old)["value"] == "1 (1 to 1)"
