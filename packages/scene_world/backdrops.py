"""Backdrops: a sky, a ground, and what belongs to the place, in a few variants each."""

from functools import lru_cache
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

from scene_world.dice import Dice
from scene_world.raster import Colour, fill_polygon, mix_colours, smooth_polygon

FINE = 2
_HORIZON = 600
# the outline of a tuft of grass
_BLADES = ((-12, 0), (-14, -22), (-4, -4), (0, -28), (4, -4), (14, -22), (12, 0))
Range = tuple[int, ...]


class Between(NamedTuple):
    """A number in ``low..high`` that is drawn when the backdrop is painted."""

    low: int
    high: int


class Canvas:
    """An image drawn in thousandths of its side."""

    def __init__(self, side: int, dice: Dice) -> None:
        self.side, self.dice = side * FINE, dice
        self.image = Image.new("RGB", (self.side, self.side))
        self.draw = ImageDraw.Draw(self.image)

    def draw_number(self, argument: Any) -> Any:
        """Draw a number between two; anything else is as it is."""
        return self.dice.between(*argument) if isinstance(argument, Between) else argument

    def points(self, *numbers: int) -> list[tuple[int, int]]:
        """Return pixels of points given as x, y, x, y in thousandths."""
        p = [n * self.side // 1000 for n in numbers]
        return list(zip(p[::2], p[1::2], strict=True))

    def draw_fade(self, top: int, bottom: int, above: Colour, below: Colour) -> None:
        """Draw a vertical gradient between two heights."""
        y0, y1 = top * self.side // 1000, bottom * self.side // 1000
        for y in range(y0, y1):
            self.draw.line(
                [(0, y), (self.side, y)], mix_colours(above, below, (y - y0) * 100 // max(1, y1 - y0))
            )

    def draw_disc(self, x: int, y: int, r: int, colour: Colour, flat: int = 100) -> None:
        """Draw an ellipse, ``flat`` percent as high as wide."""
        self.draw.ellipse(self.points(x - r, y - r * flat // 100, x + r, y + r * flat // 100), colour)

    def draw_crescent(self, x: int, y: int, r: int, colour: Colour) -> None:
        """Draw a moon: a disc without another."""
        mask = Image.new("L", self.image.size)
        draw = ImageDraw.Draw(mask)
        for cx, cy, s, shown in ((x, y, r, 255), (x + r * 4 // 10, y - r * 2 // 10, r * 86 // 100, 0)):
            draw.ellipse(self.points(cx - s, cy - s, cx + s, cy + s), shown)
        self.image.paste(colour, (0, 0), mask)

    def draw_hill(self, start: int, height: int, bottom: int, colour: Colour, step: int = 250) -> None:
        """Draw a rolling skyline, filled down to ``bottom``."""
        tops: list[int] = []
        for x in range(-step, 1001 + step, step):
            tops += [x, start - self.dice.between(0, height)]
        fill_polygon(
            self.image, smooth_polygon(self.points(-step, bottom, *tops, 1000 + step, bottom)), colour
        )

    def draw_peaks(self, *places: int) -> None:
        """Draw three mountains with snow on them, the second lower and the third higher than the first."""
        colour = (122, 132, 158)
        for x, lower in zip(places, (0, 30, -60), strict=True):
            top, half = 230 + lower + self.dice.between(-20, 40), self.dice.between(280, 340)
            d, w = (_HORIZON - top) // 3, half // 3
            right = x + half
            cap = [x, top, x + w, top + d, x + w // 3, top + d * 3 // 4, x, top + d * 11 // 10]
            cap += [x - w // 3, top + d * 3 // 4, x - w, top + d]
            for corners, paint in (
                ((x - half, _HORIZON, x, top, right, _HORIZON), colour),
                ((x, top, right, _HORIZON, x + half // 5, _HORIZON), mix_colours(colour, (30, 30, 70), 16)),
                (cap, (250, 252, 255)),
            ):
                fill_polygon(self.image, self.points(*corners), paint)

    def draw_clouds(self, colour: Colour, number: int) -> None:
        """Draw soft clouds in the sky."""
        for _ in range(number):
            x, y = self.dice.between(60, 940), self.dice.between(60, 330)
            r = self.dice.between(32, 52)
            for dx, dy, k in ((-60, 12, 80), (0, 0, 110), (62, 10, 85), (120, 22, 55), (-110, 24, 50)):
                self.draw_disc(x + dx * r // 50, y + dy * r // 50, r * k // 100, colour, 70)

    def draw_dots(
        self, number: int, heights: tuple[int, int], radii: tuple[int, int], colour: Colour
    ) -> None:
        """Draw scattered dots: stars, flakes, pebbles."""
        for _ in range(number):
            self.draw_disc(
                self.dice.between(0, 1000), self.dice.between(*heights), self.dice.between(*radii), colour
            )

    def draw_tufts(self, number: int, colour: Colour) -> None:
        """Draw blades of grass on the ground."""
        for _ in range(number):
            x, y = self.dice.between(0, 1000), self.dice.between(_HORIZON + 60, 990)
            corners: list[int] = []
            for dx, dy in _BLADES:
                corners += [x + dx, y + dy]
            fill_polygon(self.image, self.points(*corners), colour)

    def draw_ripples(
        self, heights: Range, each: int, starts: Range, shape: Range, line: tuple[Colour, int]
    ) -> None:
        """Draw lines on water or sand: ``shape`` is x, y, x, y from the start, ``line`` a colour and which
        part of the side is its width.
        """
        for y in heights:
            for _ in range(each):
                at = self.dice.between(*starts), y
                moved = (n + at[place % 2] for place, n in enumerate(shape))
                self.draw.line(self.points(*moved), line[0], max(1, self.side // line[1]))

    def draw_lamps(self, *places: int) -> None:
        """Draw street lamps."""
        grey = (112, 116, 130)
        for x in places:
            self.draw.line(self.points(x, 300, x, _HORIZON), grey, max(2, self.side // 70))
            self.draw.line(self.points(x - 6, 300, x + 54, 300), grey, max(2, self.side // 90))
            self.draw_disc(x + 54, 312, 26, (255, 240, 190), 60)

    def draw_slabs(self) -> None:
        """Draw the joints of a pavement."""
        for x in range(-60, 1000, 130):
            self.draw.line(
                self.points(x + 40, _HORIZON - 20, x, 690), (170, 164, 160), max(1, self.side // 160)
            )

    def draw_marks(self, shift: int) -> None:
        """Draw the marks in the middle of a road."""
        for x in range(shift - 200, shift + 1000, 240):
            fill_polygon(
                self.image, self.points(x, 840, x + 130, 840, x + 120, 862, x - 10, 862), (250, 226, 120)
            )


_RECIPES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "meadow": (
        (Canvas.draw_fade, 0, _HORIZON, (132, 200, 246), (222, 242, 252)),
        (Canvas.draw_clouds, (255, 255, 255), 2),
        (Canvas.draw_hill, _HORIZON - 20, 110, 1000, (150, 208, 122)),
        (Canvas.draw_hill, _HORIZON + 30, 60, 1000, (124, 194, 98), 330),
        (Canvas.draw_fade, _HORIZON + 40, 1000, (124, 194, 98), (98, 172, 78)),
        (Canvas.draw_tufts, 26, (84, 156, 66)),
    ),
    "beach": (
        (Canvas.draw_fade, 0, 430, (92, 196, 240), (206, 240, 250)),
        (Canvas.draw_disc, Between(120, 880), 120, 62, (255, 232, 120)),
        (Canvas.draw_fade, 430, 720, (30, 146, 196), (104, 220, 218)),
        (Canvas.draw_ripples, (470, 520, 570), 4, (0, 950), (0, 0, 30, -8, 60, 0), ((214, 246, 250), 110)),
        (Canvas.draw_hill, 672, 20, 760, (240, 252, 252), 150),
        (Canvas.draw_hill, 690, 18, 1000, (246, 222, 166), 150),
        (Canvas.draw_fade, 700, 1000, (246, 222, 166), (232, 198, 134)),
        (Canvas.draw_dots, 50, (720, 1000), (2, 5), (214, 180, 118)),
    ),
    "snow": (
        (Canvas.draw_fade, 0, _HORIZON, (150, 176, 208), (214, 228, 242)),
        (Canvas.draw_hill, _HORIZON, 90, 1000, (226, 236, 248)),
        (Canvas.draw_hill, _HORIZON + 60, 50, 1000, (240, 246, 252), 330),
        (Canvas.draw_fade, _HORIZON + 60, 1000, (240, 246, 252), (214, 226, 242)),
        (Canvas.draw_dots, 110, (0, 1000), (5, 10), (255, 255, 255)),
    ),
    "street": (
        (Canvas.draw_fade, 0, _HORIZON, (158, 186, 222), (240, 232, 226)),
        (Canvas.draw_clouds, (250, 250, 252), 1),
        (Canvas.draw_lamps, Between(40, 200), Between(760, 940)),
        (Canvas.draw_fade, _HORIZON - 20, 690, (206, 200, 194), (190, 184, 180)),
        (Canvas.draw_slabs,),
        (Canvas.draw_fade, 690, 712, (150, 146, 146), (120, 118, 120)),
        (Canvas.draw_fade, 712, 1000, (98, 100, 110), (78, 80, 90)),
        (Canvas.draw_marks, Between(0, 200)),
    ),
    "desert": (
        (Canvas.draw_fade, 0, _HORIZON, (255, 202, 118), (255, 236, 190)),
        (Canvas.draw_disc, Between(150, 850), 150, 80, (255, 244, 196)),
        (Canvas.draw_hill, _HORIZON, 110, 1000, (232, 168, 96), 330),
        (Canvas.draw_hill, _HORIZON + 70, 70, 1000, (222, 150, 78), 400),
        (Canvas.draw_fade, _HORIZON + 80, 1000, (222, 150, 78), (204, 128, 62)),
        (
            Canvas.draw_ripples,
            (740, 810, 890, 960),
            1,
            (-50, 700),
            (0, 0, 90, -14, 190, 0, 300, -10),
            ((196, 120, 56), 130),
        ),
    ),
    "mountain": (
        (Canvas.draw_fade, 0, 700, (120, 170, 220), (226, 238, 246)),
        (Canvas.draw_peaks, Between(60, 200), Between(800, 940), Between(420, 580)),
        (Canvas.draw_hill, _HORIZON - 10, 40, 1000, (112, 158, 116), 200),
        (Canvas.draw_fade, _HORIZON + 20, 1000, (104, 150, 108), (136, 158, 122)),
        (Canvas.draw_dots, 24, (680, 1000), (6, 16), (156, 160, 158)),
    ),
    "night": (
        (Canvas.draw_fade, 0, _HORIZON, (18, 22, 62), (62, 66, 128)),
        (Canvas.draw_dots, 46, (10, 560), (2, 6), (250, 246, 210)),
        (Canvas.draw_crescent, Between(120, 880), Between(90, 170), 64, (252, 244, 200)),
        (Canvas.draw_hill, _HORIZON, 70, 1000, (34, 44, 84)),
        (Canvas.draw_hill, _HORIZON + 40, 40, 1000, (40, 60, 88), 330),
        (Canvas.draw_fade, _HORIZON + 50, 1000, (40, 60, 88), (28, 44, 66)),
        (Canvas.draw_tufts, 16, (56, 82, 104)),
    ),
    "sunset": (
        (Canvas.draw_fade, 0, 330, (112, 66, 140), (240, 112, 110)),
        (Canvas.draw_fade, 330, _HORIZON, (240, 112, 110), (255, 204, 120)),
        (Canvas.draw_disc, Between(200, 800), _HORIZON - 10, 130, (255, 240, 180)),
        *[(Canvas.draw_disc, Between(100, 900), Between(90, 360), Between(110, 170), (250, 150, 132), 10)]
        * 3,
        (Canvas.draw_hill, _HORIZON, 50, 1000, (124, 62, 104), 200),
        (Canvas.draw_fade, _HORIZON + 6, 1000, (124, 62, 104), (78, 40, 84)),
        (Canvas.draw_tufts, 18, (104, 52, 96)),
    ),
}


@lru_cache(maxsize=128)
def backdrop(name: str, variant: int, side: int) -> Image.Image:
    """Return the backdrop of a scene, RGB, ``side`` by ``side`` pixels."""
    canvas = Canvas(side, Dice(list(_RECIPES).index(name), variant))
    for stroke, *arguments in _RECIPES[name]:
        stroke(canvas, *(canvas.draw_number(argument) for argument in arguments))
    return canvas.image.reduce(FINE)
