"""Where things stand in a scene: every relation is what the boxes show, with room to spare."""

from __future__ import annotations

from itertools import permutations

from scene_world.dice import Dice
from scene_world.placement import FAR, NEAR, graph_of, make_scene, relations
from scene_world.vocabulary import CONVERSE

SCENES = [make_scene(Dice(7, i)) for i in range(600)]


def pairs():
    """(scene's relations, i, j, box of i, box of j) of all ordered pairs of different things."""
    for scene in SCENES:
        true = set(relations(scene))
        for i, j in permutations(range(len(scene.things)), 2):
            yield true, i, j, scene.things[i].box, scene.things[j].box


def test_left_of_means_that_the_boxes_are_apart_in_x_and_right_of_is_its_converse():
    for true, i, j, a, b in pairs():
        assert ((i, "left of", j) in true) == (b[0] - a[2] >= 20)
        assert ((i, "left of", j) in true) == ((j, "right of", i) in true)


def test_two_things_are_either_apart_in_x_or_tied_by_the_relation_of_their_column():
    inside = {"on", "in", "above", "below", "in front of", "behind"}
    for true, i, j, a, b in pairs():
        apart = a[2] < b[0] or b[2] < a[0]
        tied = any((i, r, j) in true or (j, r, i) in true for r in inside)
        assert apart != tied


def test_next_to_is_symmetric_and_near_and_no_gap_is_in_doubt():
    for scene in SCENES:
        true = set(relations(scene))
        for i, j in permutations(range(len(scene.things)), 2):
            a, b = scene.things[i], scene.things[j]
            gap = b.box[0] - a.box[2]
            close = (i, "next to", j) in true
            assert close == ((j, "next to", i) in true)
            if a.row == b.row == "ground" and b.column == a.column + 1:
                assert not NEAR < gap < FAR
                assert close == (gap <= NEAR)


def test_what_is_above_has_air_below_it_and_what_is_on_does_not():
    for true, i, j, a, b in pairs():
        if (i, "above", j) in true:
            assert b[1] - a[3] >= 60
            assert min(a[2], b[2]) > max(a[0], b[0])
        if (i, "on", j) in true:
            assert b[1] <= a[3] < b[3]
        if (i, "in", j) in true:
            assert b[0] <= a[0] < a[2] <= b[2]
            assert b[1] < a[3] <= b[3]


def test_what_is_in_front_is_lower_and_hides_less_than_half():
    for true, i, j, a, b in pairs():
        if (i, "in front of", j) in true:
            assert a[3] >= b[3] + 50
            wide = min(a[2], b[2]) - max(a[0], b[0])
            high = b[3] - max(a[1], b[1])
            assert 0 < wide * high < (b[2] - b[0]) * (b[3] - b[1]) / 2


def test_converse_relations_come_together():
    for scene in SCENES:
        true = set(relations(scene))
        assert {(o, CONVERSE[r], s) for s, r, o in true if r in CONVERSE} <= true


def test_things_stay_in_the_image_and_are_large_enough_to_see():
    for scene in SCENES:
        for thing in scene.things:
            x0, y0, x1, y1 = thing.box
            assert 0 <= x0 < x1 <= 1000
            assert 0 <= y0 < y1 <= 1000
            assert max(thing.item()) >= (280 if thing.size == "large" else 180)


def test_the_things_of_a_scene_have_different_nouns_and_the_backdrop_comes_last():
    for scene in SCENES:
        graph = graph_of(scene)
        assert len(set(graph.objects)) == len(graph.objects)
        assert graph.objects[-1] == scene.backdrop
        assert {s for s, _, o in graph.relations if o == len(graph.objects) - 1} == set(
            range(len(scene.things))
        )
