"""Backdrops: a sky, a ground, and what belongs to the place, in a few variants each."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PIL import Image, ImageDraw

from workbench.data.scenes.dice import Dice
from workbench.data.scenes.raster import Colour, mixed, polygon, smooth

FINE = 2
_HORIZON = 600


class Canvas:
    """A picture drawn in thousandths of its side."""

    def __init__(self, side: int, dice: Dice) -> None:
        self.side, self.dice = side * FINE, dice
        self.image = Image.new("RGB", (self.side, self.side))
        self.draw = ImageDraw.Draw(self.image)

    def points(self, *numbers: int) -> list[tuple[int, int]]:
        """Pixels of points given as x, y, x, y in thousandths."""
        p = [n * self.side // 1000 for n in numbers]
        return list(zip(p[::2], p[1::2], strict=True))

    def fade(self, top: int, bottom: int, above: Colour, below: Colour) -> None:
        """A vertical gradient between two heights."""
        y0, y1 = top * self.side // 1000, bottom * self.side // 1000
        for y in range(y0, y1):
            self.draw.line([(0, y), (self.side, y)], mixed(above, below, (y - y0) * 100 // max(1, y1 - y0)))

    def disc(self, x: int, y: int, r: int, colour: Colour, flat: int = 100) -> None:
        """An ellipse, ``flat`` percent as high as wide."""
        (ax, ay), (bx, by) = self.points(x - r, y - r * flat // 100, x + r, y + r * flat // 100)
        self.draw.ellipse((ax, ay, bx, by), colour)

    def crescent(self, x: int, y: int, r: int, colour: Colour) -> None:
        """A moon: a disc without another."""
        mask = Image.new("L", self.image.size)
        draw = ImageDraw.Draw(mask)
        for centre_x, centre_y, radius, shown in (
            (x, y, r, 255),
            (x + r * 4 // 10, y - r * 2 // 10, r * 86 // 100, 0),
        ):
            draw.ellipse(
                [
                    n
                    for p in self.points(
                        centre_x - radius, centre_y - radius, centre_x + radius, centre_y + radius
                    )
                    for n in p
                ],
                shown,
            )
        self.image.paste(colour, (0, 0), mask)

    def hill(self, start: int, height: int, bottom: int, colour: Colour, step: int = 250) -> None:
        """A rolling skyline, filled down to ``bottom``."""
        tops = [(x, start - self.dice.between(0, height)) for x in range(-step, 1001 + step, step)]
        line = [n for x, y in tops for n in (x, y)]
        polygon(self.image, smooth(self.points(-step, bottom, *line, 1000 + step, bottom)), colour)

    def peak(self, x: int, top: int, half: int, colour: Colour, cap: Colour) -> None:
        """A mountain with snow on it."""
        polygon(self.image, self.points(x - half, _HORIZON, x, top, x + half, _HORIZON), colour)
        polygon(
            self.image,
            self.points(x, top, x + half, _HORIZON, x + half // 5, _HORIZON),
            mixed(colour, (30, 30, 70), 16),
        )
        d, w = (_HORIZON - top) // 3, half // 3
        polygon(self.image, self.points(x, top, x + w, top + d, x + w // 3, top + d * 3 // 4, x, top + d * 11 // 10,
                                      x - w // 3, top + d * 3 // 4, x - w, top + d), cap)  # fmt: skip

    def clouds(self, colour: Colour, number: int) -> None:
        """Soft clouds in the sky."""
        for _ in range(number):
            x, y, r = self.dice.between(60, 940), self.dice.between(60, 330), self.dice.between(32, 52)
            for dx, dy, k in ((-60, 12, 80), (0, 0, 110), (62, 10, 85), (120, 22, 55), (-110, 24, 50)):
                self.disc(x + dx * r // 50, y + dy * r // 50, r * k // 100, colour, 70)

    def dots(self, number: int, heights: tuple[int, int], radii: tuple[int, int], colour: Colour) -> None:
        """Scattered dots: stars, flakes, pebbles."""
        for _ in range(number):
            self.disc(
                self.dice.between(0, 1000), self.dice.between(*heights), self.dice.between(*radii), colour
            )

    def tufts(self, number: int, colour: Colour) -> None:
        """Blades of grass on the ground."""
        for _ in range(number):
            x, y = self.dice.between(0, 1000), self.dice.between(_HORIZON + 60, 990)
            polygon(
                self.image,
                self.points(
                    x - 12,
                    y,
                    x - 14,
                    y - 22,
                    x - 4,
                    y - 4,
                    x,
                    y - 28,
                    x + 4,
                    y - 4,
                    x + 14,
                    y - 22,
                    x + 12,
                    y,
                ),
                colour,
            )


def _meadow(c: Canvas) -> None:
    c.fade(0, _HORIZON, (132, 200, 246), (222, 242, 252))
    c.clouds((255, 255, 255), 2)
    c.hill(_HORIZON - 20, 110, 1000, (150, 208, 122))
    c.hill(_HORIZON + 30, 60, 1000, (124, 194, 98), 330)
    c.fade(_HORIZON + 40, 1000, (124, 194, 98), (98, 172, 78))
    c.tufts(26, (84, 156, 66))


def _beach(c: Canvas) -> None:
    c.fade(0, 430, (92, 196, 240), (206, 240, 250))
    c.disc(c.dice.between(120, 880), 120, 62, (255, 232, 120))
    c.fade(430, 720, (30, 146, 196), (104, 220, 218))
    for y in (470, 520, 570):
        for _ in range(4):
            x = c.dice.between(0, 950)
            c.draw.line(c.points(x, y, x + 30, y - 8, x + 60, y), (214, 246, 250), max(1, c.side // 110))
    c.hill(672, 20, 760, (240, 252, 252), 150)
    c.hill(690, 18, 1000, (246, 222, 166), 150)
    c.fade(700, 1000, (246, 222, 166), (232, 198, 134))
    c.dots(50, (720, 1000), (2, 5), (214, 180, 118))


def _snow(c: Canvas) -> None:
    c.fade(0, _HORIZON, (150, 176, 208), (214, 228, 242))
    c.hill(_HORIZON, 90, 1000, (226, 236, 248))
    c.hill(_HORIZON + 60, 50, 1000, (240, 246, 252), 330)
    c.fade(_HORIZON + 60, 1000, (240, 246, 252), (214, 226, 242))
    c.dots(110, (0, 1000), (5, 10), (255, 255, 255))


def _street(c: Canvas) -> None:
    c.fade(0, _HORIZON, (158, 186, 222), (240, 232, 226))
    c.clouds((250, 250, 252), 1)
    for x in (c.dice.between(40, 200), c.dice.between(760, 940)):
        c.draw.line(c.points(x, 300, x, _HORIZON), (112, 116, 130), max(2, c.side // 70))
        c.draw.line(c.points(x - 6, 300, x + 54, 300), (112, 116, 130), max(2, c.side // 90))
        c.disc(x + 54, 312, 26, (255, 240, 190), 60)
    c.fade(_HORIZON - 20, 690, (206, 200, 194), (190, 184, 180))
    for x in range(-60, 1000, 130):
        c.draw.line(c.points(x + 40, _HORIZON - 20, x, 690), (170, 164, 160), max(1, c.side // 160))
    c.fade(690, 712, (150, 146, 146), (120, 118, 120))
    c.fade(712, 1000, (98, 100, 110), (78, 80, 90))
    shift = c.dice.between(0, 200)
    for x in range(-200, 1000, 240):
        polygon(
            c.image,
            c.points(x + shift, 840, x + shift + 130, 840, x + shift + 120, 862, x + shift - 10, 862),
            (250, 226, 120),
        )


def _desert(c: Canvas) -> None:
    c.fade(0, _HORIZON, (255, 202, 118), (255, 236, 190))
    c.disc(c.dice.between(150, 850), 150, 80, (255, 244, 196))
    c.hill(_HORIZON, 110, 1000, (232, 168, 96), 330)
    c.hill(_HORIZON + 70, 70, 1000, (222, 150, 78), 400)
    c.fade(_HORIZON + 80, 1000, (222, 150, 78), (204, 128, 62))
    for y in (740, 810, 890, 960):
        x = c.dice.between(-50, 700)
        c.draw.line(
            c.points(x, y, x + 90, y - 14, x + 190, y, x + 300, y - 10), (196, 120, 56), max(1, c.side // 130)
        )


def _mountain(c: Canvas) -> None:
    c.fade(0, 700, (120, 170, 220), (226, 238, 246))
    for x, k in (
        (c.dice.between(60, 200), 0),
        (c.dice.between(800, 940), 30),
        (c.dice.between(420, 580), -60),
    ):
        c.peak(
            x, 230 + k + c.dice.between(-20, 40), c.dice.between(280, 340), (122, 132, 158), (250, 252, 255)
        )
    c.hill(_HORIZON - 10, 40, 1000, (112, 158, 116), 200)
    c.fade(_HORIZON + 20, 1000, (104, 150, 108), (136, 158, 122))
    c.dots(24, (680, 1000), (6, 16), (156, 160, 158))


def _night(c: Canvas) -> None:
    c.fade(0, _HORIZON, (18, 22, 62), (62, 66, 128))
    c.dots(46, (10, 560), (2, 6), (250, 246, 210))
    x, y = c.dice.between(120, 880), c.dice.between(90, 170)
    c.crescent(x, y, 64, (252, 244, 200))
    c.hill(_HORIZON, 70, 1000, (34, 44, 84))
    c.hill(_HORIZON + 40, 40, 1000, (40, 60, 88), 330)
    c.fade(_HORIZON + 50, 1000, (40, 60, 88), (28, 44, 66))
    c.tufts(16, (56, 82, 104))


def _sunset(c: Canvas) -> None:
    c.fade(0, 330, (112, 66, 140), (240, 112, 110))
    c.fade(330, _HORIZON, (240, 112, 110), (255, 204, 120))
    c.disc(c.dice.between(200, 800), _HORIZON - 10, 130, (255, 240, 180))
    for _ in range(3):
        x, y = c.dice.between(0, 800), c.dice.between(90, 360)
        c.disc(x + 100, y, c.dice.between(110, 170), (250, 150, 132), 10)
    c.hill(_HORIZON, 50, 1000, (124, 62, 104), 200)
    c.fade(_HORIZON + 6, 1000, (124, 62, 104), (78, 40, 84))
    c.tufts(18, (104, 52, 96))


_PAINT: dict[str, Callable[[Canvas], None]] = {
    "meadow": _meadow, "beach": _beach, "snow": _snow, "street": _street,
    "desert": _desert, "mountain": _mountain, "night": _night, "sunset": _sunset,
}  # fmt: skip


@lru_cache(maxsize=128)
def backdrop(name: str, variant: int, side: int) -> Image.Image:
    """The backdrop of a scene, RGB, ``side`` by ``side`` pixels."""
    canvas = Canvas(side, Dice(list(_PAINT).index(name), variant))
    _PAINT[name](canvas)
    return canvas.image.reduce(FINE)
