"""Shapes that come out the same with every version of Pillow: its polygons and rounded rectangles do not, the
rest does.
"""

import numpy as np
from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
Points = list[tuple[int, int]]


def mix_colours(a: Colour, b: Colour, percent: int) -> Colour:
    """Colour ``a`` with this percentage of ``b`` in it."""
    red, green, blue = ((x * (100 - percent) + y * percent) // 100 for x, y in zip(a, b, strict=True))
    return red, green, blue


def smooth_polygon(points: Points, rounds: int = 3) -> Points:
    """Return a closed polygon with its corners cut (Chaikin), in integers."""
    for _ in range(rounds):
        cut: Points = []
        for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1], strict=True):
            cut.append(((3 * ax + bx) // 4, (3 * ay + by) // 4))
            cut.append(((ax + 3 * bx) // 4, (ay + 3 * by) // 4))
        points = cut
    return points


def fill_polygon(image: Image.Image, points: Points, fill: Colour | int) -> None:
    """Fill a polygon: a pixel belongs to it if its centre lies inside, by the even-odd rule.

    Args:
        image: drawn on in place; what lies outside of it is cut off.
        points: corners in pixels, at least three.
        fill: what to fill with.
    """
    corners = np.array(points, dtype=np.int64)
    left, top = np.maximum(corners.min(axis=0), 0).tolist()
    right, bottom = np.minimum(corners.max(axis=0), image.size).tolist()
    if right <= left or bottom <= top:
        return
    y = np.arange(top, bottom)[:, None]
    (x0, y0), (x1, y1) = corners.T, np.roll(corners, -1, axis=0).T
    down = np.where(y1 > y0, 1, -1)
    high = np.where(y1 == y0, 1, (y1 - y0) * down)
    # first pixel of row y whose centre lies right of the edge: ceil(x of the edge at y + 1/2, less 1/2)
    first = -(-(2 * x0 * high + (2 * y + 1 - 2 * y0) * (x1 - x0) * down - high) // (2 * high))
    rows, edges = np.nonzero((np.minimum(y0, y1) <= y) & (y < np.maximum(y0, y1)))
    turns = np.zeros((bottom - top, right - left + 1), dtype=np.uint8)
    np.add.at(turns, (rows, np.clip(first[rows, edges] - left, 0, right - left)), 1)
    inside = np.cumsum(turns, axis=1, dtype=np.uint8)[:, :-1] & 1
    image.paste(fill, (left, top, right, bottom), Image.fromarray(inside * np.uint8(255)))


def fill_rounded(
    draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], radius: int, fill: Colour | int
) -> None:
    """Fill a rectangle whose corners are quarters of circles.

    Args:
        draw: draws on the image.
        box: left, top, right and bottom, the last two included.
        radius: of the corners, at most half the shorter side.
        fill: what to fill with.
    """
    x0, y0, x1, y1 = box
    r = min(radius, (x1 - x0) // 2, (y1 - y0) // 2)
    draw.rectangle((x0 + r, y0, x1 - r, y1), fill)
    draw.rectangle((x0, y0 + r, x1, y1 - r), fill)
    for x in (x0, x1 - 2 * r):
        for y in (y0, y1 - 2 * r):
            draw.ellipse((x, y, x + 2 * r, y + 2 * r), fill)
