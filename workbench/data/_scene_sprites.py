"""Pictograms: from the lines of a drawing to an anti-aliased picture.

A drawing is a text, one shape a line, in percent of the pictogram's box, y down: ``polygon``, ``blob`` (a polygon with its corners
rounded off), ``ellipse x0 y0 x1 y1``, ``round x0 y0 x1 y1 radius``, ``pie`` and ``arc`` (a box, then two angles), ``line`` and ``arc`` with a
stroke width first. The second word is a paint: ``main`` takes the thing's colour and pattern, ``dark`` and ``light`` are shades of it, the rest
are fixed. What follows a line ``front`` covers a thing that is inside. Everything is drawn with integer coordinates four times too
large and averaged down, so that the pixels do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from workbench.data import _scene_art_living, _scene_art_made
from workbench.data._scene_vocabulary import COLOURS

Colour = tuple[int, int, int]
Points = list[tuple[int, int]]
Draw = ImageDraw.ImageDraw
FINE = 4
DRAWINGS = _scene_art_living.DRAWINGS | _scene_art_made.DRAWINGS
_INK = (44, 42, 56)
_FIXED: dict[str, Colour] = {
    "ink": _INK, "white": (255, 255, 255), "rosy": (250, 150, 160), "gold": (255, 196, 46), "wood": (134, 88, 56), "leaf": (88, 176, 78),
    "berry": (214, 48, 60), "glass": (176, 222, 244), "metal": (176, 182, 194), "cream": (255, 244, 222), "sky": (90, 170, 240),
}  # fmt: skip
_MARKS: dict[str, Colour] = {
    "red": (255, 226, 206), "yellow": (196, 118, 22), "green": (222, 246, 190), "blue": (206, 230, 255), "pink": (196, 44, 112),
    "brown": (240, 208, 160), "white": (104, 110, 136), "black": (214, 214, 226),
}  # fmt: skip


def mixed(a: Colour, b: Colour, percent: int) -> Colour:
    """Colour ``a`` with this percentage of ``b`` in it."""
    return tuple((x * (100 - percent) + y * percent) // 100 for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def smooth(points: Points, rounds: int = 3) -> Points:
    """A closed polygon with its corners cut (Chaikin), in integers."""
    for _ in range(rounds):
        turned = points[1:] + points[:1]
        cut = [((3 * ax + bx) // 4, (3 * ay + by) // 4, (ax + 3 * bx) // 4, (ay + 3 * by) // 4)
               for (ax, ay), (bx, by) in zip(points, turned, strict=True)]  # fmt: skip
        points = [p for x0, y0, x1, y1 in cut for p in ((x0, y0), (x1, y1))]
    return points


def _bounds(p: Points) -> tuple[int, int, int, int]:
    return p[0][0], p[0][1], p[1][0], p[1][1]


Shape = Callable[[Draw, Points, list[int], "Colour | int"], None]
_SHAPES: dict[str, tuple[int, int, Shape]] = {
    "polygon": (0, 0, lambda draw, p, _, fill: draw.polygon(p, fill)),
    "blob": (0, 0, lambda draw, p, _, fill: draw.polygon(smooth(p), fill)),
    "ellipse": (0, 0, lambda draw, p, _, fill: draw.ellipse(_bounds(p), fill)),
    "round": (0, 1, lambda draw, p, n, fill: draw.rounded_rectangle(_bounds(p), n[0], fill)),
    "pie": (0, 2, lambda draw, p, n, fill: draw.pieslice(_bounds(p), n[0], n[1], fill)),
    "arc": (1, 2, lambda draw, p, n, fill: draw.arc(_bounds(p), n[1], n[2], fill, n[0])),
    "line": (1, 0, lambda draw, p, n, fill: draw.line(p, fill, n[0], "curve")),
}  # fmt: skip
_LENGTHS = {"round": (0,), "arc": (0,), "line": (0,)}


def _place(name: str, numbers: list[int], width: int, height: int) -> tuple[Points, list[int]]:
    """Points in pixels, and the numbers that are not points (lengths in pixels, angles as they are)."""
    before, after, _ = _SHAPES[name]
    body = numbers[before : len(numbers) - after]
    points = [(x * width // 100, y * height // 100) for x, y in zip(body[::2], body[1::2], strict=True)]
    rest = numbers[:before] + numbers[len(numbers) - after :] if after else numbers[:before]
    side = min(width, height)
    return points, [max(1, n * side // 100) if i in _LENGTHS.get(name, ()) else n for i, n in enumerate(rest)]


def _pattern(colour: str, pattern: str, size: tuple[int, int]) -> Image.Image:
    """A sheet of the colour with its pattern."""
    sheet = Image.new("RGB", size, COLOURS[colour])
    draw, mark, step = ImageDraw.Draw(sheet), _MARKS[colour], max(size) * 17 // 100
    if pattern == "striped":
        for x in range(-size[1], size[0], step):
            draw.polygon(
                [(x, size[1]), (x + step * 42 // 100, size[1]), (x + step * 42 // 100 + size[1], 0), (x + size[1], 0)], mark
            )
    if pattern == "spotted":
        r = step * 29 // 100
        for row, y in enumerate(range(step // 3, size[1] + r, step * 4 // 5)):
            for x in range(step // 2 * (row % 2), size[0] + r, step):
                draw.ellipse((x - r, y - r, x + r, y + r), mark)
    return sheet


def _layers(noun: str, layer: str) -> list[list[str]]:
    """The words of the drawing's lines that belong to a layer: "all", "back" or "front"."""
    back, _, front = DRAWINGS[noun].partition("front\n")
    text = {"all": back + front, "back": back, "front": front}[layer]
    return [line.split() for line in text.splitlines() if line.strip()]


def _drawn(noun: str, colour: str, pattern: str, size: tuple[int, int], layer: str) -> Image.Image:
    """The drawing in full size on a transparent sheet."""
    body, sheet = COLOURS[colour], Image.new("RGBA", size)
    paints = _FIXED | {"main": body, "dark": mixed(body, (20, 16, 44), 32), "light": mixed(body, (255, 255, 255), 48)}
    cloth = _pattern(colour, pattern, size)
    draw = ImageDraw.Draw(sheet)
    for name, paint, *words in _layers(noun, layer):
        points, numbers = _place(name, [int(w) for w in words], size[0], size[1])
        if paint == "main" and pattern != "plain":
            mask = Image.new("L", size)
            _SHAPES[name][2](ImageDraw.Draw(mask), points, numbers, 255)
            sheet.paste(cloth, (0, 0), mask)
        else:
            _SHAPES[name][2](draw, points, numbers, paints[paint])
    return sheet


def _shaded(sheet: Image.Image) -> Image.Image:
    """A little lighter at the top, darker at the bottom."""
    ramp = Image.linear_gradient("L").resize(sheet.size).point([255 - v * 44 // 255 for v in range(256)])
    colour = ImageChops.multiply(sheet.convert("RGB"), Image.merge("RGB", (ramp, ramp, ramp)))
    colour.putalpha(sheet.getchannel("A"))
    return colour


@cache
def _grown(radius: int) -> ImageFilter.MaxFilter:
    return ImageFilter.MaxFilter(2 * radius + 1)


def margin(side: int) -> int:
    """Pixels around a pictogram for its outline, in a picture of this side."""
    return 1 + side // 64


@lru_cache(maxsize=8192)
def sprite(noun: str, colour: str, pattern: str, size: tuple[int, int], layer: str, flipped: bool, side: int) -> Image.Image:
    """A pictogram with a thin dark outline, like a sticker.

    Args:
        noun, colour, pattern: its looks.
        size: width and height in pixels, the outline apart.
        layer: "all", or "back" or "front" of a thing that holds another.
        flipped: looks to the left instead of to the right.
        side: side of the whole picture in pixels; it sets the outline's width.

    Returns:
        An RGBA image, larger than ``size`` by ``margin(side)`` at each edge.
    """
    edge = margin(side) * FINE
    inner = _shaded(_drawn(noun, colour, pattern, (size[0] * FINE, size[1] * FINE), layer))
    sheet = Image.new("RGBA", (inner.width + 2 * edge, inner.height + 2 * edge))
    sheet.paste(inner, (edge, edge))
    alpha = sheet.getchannel("A")
    line = alpha.filter(_grown(max(1, side * FINE // 200)))
    halo = line.filter(_grown(max(1, side * FINE // 170)))
    out = Image.new("RGBA", sheet.size, (255, 255, 255, 0))
    out.putalpha(halo)
    out.paste(Image.new("RGBA", sheet.size, (*mixed(COLOURS[colour], _INK, 78), 255)), (0, 0), line)
    out.alpha_composite(sheet)
    out = out.reduce(FINE)
    return out.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flipped else out
