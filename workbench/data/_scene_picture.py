"""The picture of a scene: its backdrop, soft shadows, and its things from back to front."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from workbench.data._scene_backdrops import backdrop
from workbench.data._scene_layout import Scene
from workbench.data._scene_sprites import FINE, margin, sprite
from workbench.data._scene_things import Thing

_DEPTH = {"air": 0, "ground": 1, "top": 2, "inside": 2, "front": 4}


@lru_cache(maxsize=512)
def _shadow(width: int, height: int) -> Image.Image:
    """A soft dark ellipse."""
    sheet = Image.new("L", (width * FINE, height * FINE))
    draw = ImageDraw.Draw(sheet)
    for ring in range(8):
        dx, dy = width * FINE * ring // 18, height * FINE * ring // 18
        draw.ellipse((dx, dy, width * FINE - 1 - dx, height * FINE - 1 - dy), 12 + ring * 12)
    out = Image.new("RGBA", sheet.size, (16, 14, 40, 0))
    out.putalpha(sheet)
    return out.reduce(FINE)


def _ground(image: Image.Image, thing: Thing) -> None:
    """The shadows under a thing that stands on the ground."""
    side, (w, _) = image.width, thing.item()
    width = w * side // 1000
    for x, y in thing.offsets():
        bottom = thing.box[1] + y + thing.item()[1]
        mark = _shadow(max(2, width * 112 // 100), max(2, width * 22 // 100))
        image.paste(
            mark,
            (
                (thing.box[0] + x) * side // 1000 - width * 6 // 100,
                bottom * side // 1000 - mark.height * 55 // 100,
            ),
            mark,
        )


def _stand(image: Image.Image, thing: Thing, layer: str) -> None:
    """One layer of a thing, each item of its group."""
    side, (w, h) = image.width, thing.item()
    size, edge = (w * side // 1000, h * side // 1000), margin(side)
    mark = sprite((thing.noun, thing.colour, thing.pattern), size, layer, thing.flipped, side)
    for x, y in thing.offsets():
        image.paste(
            mark, ((thing.box[0] + x) * side // 1000 - edge, (thing.box[1] + y) * side // 1000 - edge), mark
        )


def picture(scene: Scene, side: int) -> Image.Image:
    """Draw a scene.

    Args:
        scene: what stands where.
        side: width and height in pixels.

    Returns:
        An RGB image.
    """
    image = backdrop(scene.backdrop, scene.variant, side).copy()
    holders = {o for _, relation, o in scene.links if relation == "in"}
    strokes = [(_DEPTH[t.row], n, "back" if n in holders else "all") for n, t in enumerate(scene.things)]
    strokes += [(3, n, "front") for n in holders]
    for depth, n, layer in sorted(strokes):
        thing = scene.things[n]
        if depth in (1, 4):
            _ground(image, thing)
        _stand(image, thing, layer)
    return image
