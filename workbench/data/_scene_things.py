"""Things and columns: what a scene is put together from.

A column is a list of things with their places relative to each other: one alone, or a guest and its host.
Coordinates are integers in thousandths of the image side, y down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.data._scene_dice import Dice
from workbench.data._scene_vocabulary import COLOURS, NOUNS, PATTERNS, SIZES

Box = tuple[int, int, int, int]
SIDE = {("small", False): 205, ("large", False): 345, ("small", True): 180, ("large", True): 285}
_CARRIERS = tuple(n for n, noun in NOUNS.items() if noun.carries)
_HOLDERS = tuple(n for n, noun in NOUNS.items() if noun.holds)


def _who(place: str) -> tuple[str, ...]:
    """The nouns that may be in a place, as often as their entry says."""
    return tuple(name for name, noun in NOUNS.items() for p in noun.places if p == place)


_WHO = {place: _who(place) for place in ("ground", "air", "top", "inside")}


@dataclass(frozen=True)
class Thing:
    """One node of a scene: a noun with its looks, its place, and the box that it fills (a group fills one
    box).
    """

    noun: str
    colour: str
    pattern: str
    size: str
    count: int
    row: str
    box: Box = (0, 0, 0, 0)
    column: int = 0
    flipped: bool = False

    def item(self) -> tuple[int, int]:
        """Width and height of one item of the group, in thousandths."""
        side, width = SIDE[self.size, self.count > 1], NOUNS[self.noun].width
        return (side, side * 100 // width) if width >= 100 else (side * width // 100, side)

    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Where the items of the group lie in its box, back to front: two or three side by side, or a third
        behind two.
        """
        w, h = self.item()
        if self.count == 3 and w >= h * 4 // 5:
            return ((w // 2, 0), (0, h * 55 // 100), (w, h * 55 // 100))
        return tuple((k * w * 104 // 100, 0) for k in range(self.count))

    def extent(self) -> tuple[int, int]:
        """Width and height of the whole group, in thousandths."""
        w, h = self.item()
        return max(x for x, _ in self.offsets()) + w, max(y for _, y in self.offsets()) + h

    def at(self, x: int, bottom: int) -> Thing:
        """The same thing with its left edge and its bottom in these places."""
        w, h = self.extent()
        return replace(self, box=(x, bottom - h, x + w, bottom))


def _thing(dice: Dice, names: tuple[str, ...], row: str, sizes: tuple[str, ...], groups: bool) -> Thing:
    """A thing with random looks."""
    count = dice.pick((1, 1, 1, 2, 3)) if groups else 1
    looks = dice.pick(tuple(COLOURS)), dice.pick(("plain", *PATTERNS))
    return Thing(dice.pick(names), *looks, dice.pick(sizes), count, row, flipped=dice.chance(50))


def single(dice: Dice) -> list[Thing]:
    """A column with one thing, on the ground or in the air."""
    row = dice.pick(("ground", "ground", "ground", "ground", "air"))
    thing = _thing(dice, _WHO[row], row, tuple(SIZES), True)
    height = thing.extent()[1]
    return [
        thing.at(
            0, dice.between(870, 910) if row == "ground" else dice.between(height + 40, max(height + 60, 480))
        )
    ]


def _on(dice: Dice) -> list[Thing]:
    """A small thing on a large one."""
    below = _thing(dice, _CARRIERS, "ground", ("large",), False).at(0, dice.between(870, 910))
    return _perched(dice, below, NOUNS[below.noun].carries, "top", 0)


def _in(dice: Dice) -> list[Thing]:
    """A small thing that looks out of a large one."""
    holder = _thing(dice, _HOLDERS, "ground", ("large",), False).at(0, dice.between(870, 910))
    return _perched(dice, holder, NOUNS[holder.noun].holds, "inside", 30)


def _perched(dice: Dice, host: Thing, place: tuple[int, int, int] | None, row: str, sunk: int) -> list[Thing]:
    """A small thing on or in the host, ``sunk`` percent of its height below the host's surface; empty where
    it does not fit.
    """
    if place is None:
        return []
    guest = _thing(dice, _WHO[row], row, ("small",), False)
    x0, y0, x1, y1 = host.box
    y, left, right = (y0 + place[0] * (y1 - y0) // 100, place[1], place[2])
    if host.flipped:
        left, right = 100 - right, 100 - left
    left, right = x0 + left * (x1 - x0) // 100, x0 + right * (x1 - x0) // 100
    w, h = guest.extent()
    slack = right - left - w
    if sunk and (slack < 0 or y + sunk * h // 100 > y1):
        return []
    x = left + dice.between(0, slack) if slack > 0 else (left + right - w) // 2
    return [guest.at(x, y + sunk * h // 100), host]


def _front(dice: Dice) -> list[Thing]:
    """A small thing in front of a large one: it covers part of it, and at most two fifths."""
    back = _thing(dice, _WHO["ground"], "ground", ("large",), False).at(0, dice.between(850, 880))
    front = _thing(dice, _WHO["ground"], "front", ("small",), True)
    w, (x0, y0, x1, y1) = front.extent()[0], back.box
    x = dice.between(x0 - w // 3, x1 - w + w // 3) if x1 - x0 > w // 3 else x0
    front = front.at(x, y1 + dice.between(60, 85))
    wide, high = min(x1, x + w) - max(x0, x), y1 - max(y0, front.box[1])
    seen = wide * 2 >= min(w, x1 - x0) and wide * high * 5 <= (x1 - x0) * (y1 - y0) * 2
    return [front, back] if seen else []


def _above(dice: Dice) -> list[Thing]:
    """A thing in the air over one on the ground, with air between."""
    low = _thing(dice, _WHO["ground"], "ground", tuple(SIZES), True).at(0, dice.between(870, 910))
    high = _thing(dice, _WHO["air"], "air", tuple(SIZES), True)
    w, h = high.extent()
    top, middle = low.box[1] - 60, low.box[2] // 2
    if h + 30 > top:
        return []
    shift = low.box[2] // 6
    return [
        high.at(
            middle - w // 2 + dice.between(-shift, shift), dice.between(h + 30, min(top, max(h + 30, 500)))
        ),
        low,
    ]


PAIRS = {"on": _on, "in": _in, "in front of": _front, "above": _above}
