"""From the lines of a drawing to the image of a scene, the same on every machine.

A drawing is a text, one shape a line, in percent of the pictogram's box, y down: ``polygon``, ``blob`` (a
polygon with its corners rounded off), ``ellipse x0 y0 x1 y1``, ``round x0 y0 x1 y1 radius``, ``pie`` and
``arc`` (a box, then two angles), ``line`` and ``arc`` with a stroke width first. The second word is a paint:
``main`` takes the thing's colour and pattern, ``dark`` and ``light`` are shades of it, the rest are fixed.
What follows a line ``front`` covers a thing that is inside. Everything is drawn with integer coordinates four
times too large and averaged down, so that the pixels do not depend on the machine.
"""

import itertools
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from PIL import Image, ImageChops, ImageDraw
from scipy.ndimage import maximum_filter

from scene_world.art import DRAWINGS
from scene_world.backdrops import backdrop
from scene_world.placement import Scene, Thing
from scene_world.raster import Colour, Points, fill_polygon, fill_rounded, mix_colours, smooth_polygon
from scene_world.vocabulary import COLOURS

FINE = 4
_INK = (44, 42, 56)
_FIXED: dict[str, Colour] = {
    "ink": _INK, "white": (255, 255, 255), "rosy": (250, 150, 160), "gold": (255, 196, 46),
    "wood": (134, 88, 56), "leaf": (88, 176, 78), "berry": (214, 48, 60), "glass": (176, 222, 244),
    "metal": (176, 182, 194), "cream": (255, 244, 222), "sky": (90, 170, 240),
}  # fmt: skip
_MARKS: dict[str, Colour] = {
    "red": (255, 226, 206), "yellow": (196, 118, 22), "green": (222, 246, 190), "blue": (206, 230, 255),
    "pink": (196, 44, 112), "brown": (240, 208, 160), "white": (140, 148, 178), "black": (176, 176, 192),
}  # fmt: skip
_PAINTS = ("", "main", "dark", "light", "outline", *_FIXED)


# of each shape: how many numbers stand before its points, how many after them, and what draws it
_SHAPES: dict[str, tuple[int, int, Callable[[Image.Image, Points, list[int], int], None]]] = {
    "polygon": (0, 0, lambda sheet, p, _, fill: fill_polygon(sheet, p, fill)),
    "blob": (0, 0, lambda sheet, p, _, fill: fill_polygon(sheet, smooth_polygon(p), fill)),
    "ellipse": (0, 0, lambda sheet, p, _, fill: ImageDraw.Draw(sheet).ellipse(p, fill)),
    "round": (
        0,
        1,
        lambda sheet, p, n, fill: fill_rounded(ImageDraw.Draw(sheet), (*p[0], *p[1]), n[0], fill),
    ),
    "pie": (0, 2, lambda sheet, p, n, fill: ImageDraw.Draw(sheet).pieslice(p, n[0], n[1], fill)),
    "arc": (1, 2, lambda sheet, p, n, fill: ImageDraw.Draw(sheet).arc(p, n[1], n[2], fill, n[0])),
    "line": (1, 0, lambda sheet, p, n, fill: ImageDraw.Draw(sheet).line(p, fill, n[0], "curve")),
}
_LENGTHS = {"round": (0,), "arc": (0,), "line": (0,)}


def _scale_to_pixels(
    name: str, numbers: list[int], size: tuple[int, int], edge: int
) -> tuple[Points, list[int]]:
    """Return points in pixels, and the numbers that are not points (lengths in pixels, angles as they
    are).
    """
    before, after, _ = _SHAPES[name]
    body = numbers[before : len(numbers) - after]
    across = [edge + x * size[0] // 100 for x in body[::2]]
    down = [edge + y * size[1] // 100 for y in body[1::2]]
    points = list(zip(across, down, strict=True))
    rest = numbers[:before] + numbers[len(numbers) - after :] if after else numbers[:before]
    for i in _LENGTHS.get(name, ()):
        rest[i] = max(1, rest[i] * min(size) // 100)
    return points, rest


@lru_cache(maxsize=64)
def _pattern_mask(side: int, pattern: str) -> Image.Image:
    """Return a square mask of stripes or spots, in proportion to its side."""
    cloth, step = Image.new("L", (side, side)), side * 16 // 100
    if pattern == "striped":
        for x in range(-side, side, step):
            wide = x + step * 42 // 100
            fill_polygon(cloth, [(x, side), (wide, side), (wide + side, 0), (x + side, 0)], 255)
        return cloth
    draw, r = ImageDraw.Draw(cloth), step * 29 // 100
    for row, y in enumerate(range(step // 3, side + r, step * 4 // 5)):
        for x in range(step // 2 * (row % 2), side + r, step):
            draw.ellipse((x - r, y - r, x + r, y + r), 255)
    return cloth


def outline_margin(side: int) -> int:
    """Return pixels around a pictogram for its outline, in an image of this side."""
    return 1 + side // 64


@lru_cache(maxsize=1024)
def _pictogram_layers(noun: str, size: tuple[int, int], layer: str, side: int) -> tuple[Image.Image, ...]:
    """Return a pictogram with its outline, without colours: which paint is where, where the main one is, and
    the shade, all ``FINE`` times too large; and the outer edge.
    """
    back, _, front = DRAWINGS[noun].partition("front\n")
    edge = outline_margin(side) * FINE
    where = Image.new("L", (size[0] * FINE + 2 * edge, size[1] * FINE + 2 * edge))
    for line in {"all": back + front, "back": back, "front": front}[layer].strip().splitlines():
        name, paint, *words = line.split()
        points, numbers = _scale_to_pixels(
            name, [int(w) for w in words], (size[0] * FINE, size[1] * FINE), edge
        )
        _SHAPES[name][2](where, points, numbers, _PAINTS.index(paint))
    drawn = where.point([0] + [255] * 255)
    outlined = _grow_mask(drawn, side * FINE // 200)
    where.paste(_PAINTS.index("outline"), (0, 0), ImageChops.subtract(outlined, drawn))
    ramp = Image.linear_gradient("L").resize(drawn.size).point([255 - v * 44 // 255 for v in range(256)])
    ramp.paste(255, (0, 0), ImageChops.invert(drawn))
    main = where.point([255 * (v == _PAINTS.index("main")) for v in range(256)])
    halo = _grow_mask(outlined, side * FINE // 170)
    return where, main, Image.merge("RGB", (ramp, ramp, ramp)), halo.reduce(FINE)


def _grow_mask(mask: Image.Image, radius: int) -> Image.Image:
    """Return the mask, larger by ``radius`` pixels to all sides and corners."""
    grown = maximum_filter(np.asarray(mask), 2 * max(1, radius) + 1, mode="nearest")
    return Image.fromarray(grown)


@lru_cache(maxsize=8192)
def sprite(
    looks: tuple[str, str, str], size: tuple[int, int], layer: str, flipped: bool, side: int
) -> Image.Image:
    """Return a pictogram with a thin dark outline and a white edge, like a sticker.

    Args:
        looks: its noun, colour and pattern.
        size: width and height in pixels, the outline apart.
        layer: "all", or "back" or "front" of a thing that holds another.
        flipped: looks to the left instead of to the right.
        side: side of the whole image in pixels; it sets the outline's width.

    Returns:
        An RGBA image, larger than ``size`` by ``outline_margin(side)`` at each edge.
    """
    if flipped:
        return sprite(looks, size, layer, False, side).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    noun, colour, pattern = looks
    paint, main, shade, alpha = _pictogram_layers(noun, size, layer, side)
    body, white = COLOURS[colour], (255, 255, 255)
    paints = _FIXED | {
        "main": body,
        "dark": mix_colours(body, (20, 16, 44), 32),
        "light": mix_colours(body, white, 48),
        "outline": mix_colours(body, _INK, 78),
        "": white,
    }
    sheet = paint.copy()
    sheet.putpalette(list(itertools.chain.from_iterable(paints[name] for name in _PAINTS)))
    sheet = sheet.convert("RGB")
    if pattern != "plain":
        cloth = _pattern_mask(max(sheet.size), pattern).crop((0, 0, *sheet.size))
        sheet.paste(_MARKS[colour], (0, 0), ImageChops.multiply(cloth, main))
    sheet = ImageChops.multiply(sheet, shade).reduce(FINE)
    sheet.putalpha(alpha)
    return sheet


DEPTH = {"air": 0, "ground": 1, "top": 2, "inside": 2, "front": 4}


@lru_cache(maxsize=512)
def _shadow(width: int, height: int) -> Image.Image:
    """Return a soft dark ellipse."""
    sheet = Image.new("L", (width * FINE, height * FINE))
    draw = ImageDraw.Draw(sheet)
    for ring in range(8):
        dx, dy = width * FINE * ring // 18, height * FINE * ring // 18
        draw.ellipse((dx, dy, width * FINE - 1 - dx, height * FINE - 1 - dy), 12 + ring * 12)
    out = Image.new("RGBA", sheet.size, (16, 14, 40, 0))
    out.putalpha(sheet)
    return out.reduce(FINE)


def _draw_ground_shadows(image: Image.Image, thing: Thing) -> None:
    """Draw the shadows under a thing that stands on the ground."""
    side, (w, h) = image.width, thing.item()
    width = w * side // 1000
    mark = _shadow(max(2, width * 112 // 100), max(2, width * 22 // 100))
    for x, y in thing.offsets():
        left, bottom = (thing.box[0] + x) * side // 1000, (thing.box[1] + y + h) * side // 1000
        image.paste(mark, (left - width * 6 // 100, bottom - mark.height * 55 // 100), mark)


def _draw_layer(image: Image.Image, thing: Thing, layer: str) -> None:
    """Draw one layer of a thing, each item of its group."""
    side, (w, h) = image.width, thing.item()
    size, edge = (w * side // 1000, h * side // 1000), outline_margin(side)
    mark = sprite((thing.noun, thing.colour, thing.pattern), size, layer, thing.flipped, side)
    for x, y in thing.offsets():
        left, top = (thing.box[0] + x) * side // 1000, (thing.box[1] + y) * side // 1000
        image.paste(mark, (left - edge, top - edge), mark)


def draw_scene(scene: Scene, side: int) -> Image.Image:
    """Draw a scene.

    Args:
        scene: what stands where.
        side: width and height in pixels.

    Returns:
        An RGB image.
    """
    image = backdrop(scene.backdrop, scene.variant, side).copy()
    holders = {o for _, relation, o in scene.links if relation == "in"}
    strokes = [(3, n, "front") for n in holders]
    for n, thing in enumerate(scene.things):
        strokes.append((DEPTH[thing.row], n, "back" if n in holders else "all"))
    for depth, n, layer in sorted(strokes):
        thing = scene.things[n]
        if depth in (1, 4):
            _draw_ground_shadows(image, thing)
        _draw_layer(image, thing, layer)
    return image
