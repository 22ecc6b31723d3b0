"""The one face of a number: how values are printed in tables, on pages and in the terminal.

Values are stored as fractions and shown as the field prints them: percent, RSUM of 600. What a value is (its
``unit``) stands in its contract, so that one number looks the same wherever it is met.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

from workbench.english import plural

Unit = Literal["share", "sum", "rank", "correlation", "number"]
NO_VALUE = "–"
# factor from the stored value to the shown one, digits after the point, and what the heading says
FACES: dict[str, tuple[float, int, str]] = {
    "share": (100.0, 1, "percent"),
    "sum": (100.0, 1, "of 600"),
    "rank": (1.0, 0, "rank"),
    "correlation": (1.0, 3, "correlation"),
    "number": (1.0, 3, "number"),
}
DIFFERENCES = {"share": "percentage points", "sum": "points of 600"}
UNITS: tuple[str, ...] = get_args(Unit)
# least and largest stored value
RANGES = {"share": (0.0, 1.0), "sum": (0.0, 6.0), "rank": (1.0, math.inf), "correlation": (-1.0, 1.0)}


def display_value(value: float, unit: str = "share") -> float:
    """Return the number that is shown for a stored value, for axes of figures.

    Args:
        value: as it is stored.
        unit: what it is, of ``UNITS``.

    >>> display_value(4.127, "sum")
    412.7
    """
    return round(FACES[unit][0] * value, 9)


def unit_heading(unit: str = "share", *, difference: bool = False) -> str:
    """Return the heading of a column or an axis with this unit: ``"percent"``, ``"of 600"``, ...; of
    differences ``"percentage points"``, ``"points of 600"``, ...
    """
    return (DIFFERENCES if difference else {}).get(unit, FACES[unit][2])


def format_value(value: float | None, unit: str = "share", *, sign: bool = False) -> str:
    """Return one value as text.

    Args:
        value: as it is stored; ``None`` and NaN are shown as a dash.
        unit: what it is, of ``UNITS``.
        sign: also show a plus, for differences.

    >>> format_value(0.5125), format_value(-0.004, sign=True), format_value(0.7624, "correlation")
    ('51.2', '-0.4', '0.762')
    """
    if value is None or math.isnan(value):
        return NO_VALUE
    return format_number(display_value(value, unit), FACES[unit][1], sign=sign)


def format_interval(
    value: float | None, low: float | None, high: float | None, unit: str = "share", *, sign: bool = False
) -> str:
    """Return one value and its interval as text.

    Args:
        value: as it is stored.
        low: lower end of the interval; without an interval the value stands alone.
        high: upper end.
        unit: what they are, of ``UNITS``.
        sign: also show a plus, for differences; an end has as many digits as say on which side of zero it is.

    >>> format_interval(4.1, 4.02, 4.17, "sum"), format_interval(0.01, 0.0002, 0.02, sign=True)
    ('410.0 (402.0 to 417.0)', '+1.0 (+0.02 to +2.0)')
    """
    alone = format_value(value, unit, sign=sign)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return alone
    show: Callable[[float, str], str] = _format_interval_end if sign else format_value
    return f"{alone} ({show(low, unit)} to {show(high, unit)})"


def _format_interval_end(value: float, unit: str) -> str:
    """Return an end of the interval of a difference, with up to two digits more where it would be shown as
    zero.
    """
    digits = FACES[unit][1]
    texts = [format_number(display_value(value, unit), digits + more, sign=True) for more in range(3)]
    return next((text for text in texts if text[0] in "+-"), texts[0])


def format_number(value: float, digits: int, *, sign: bool = False) -> str:
    """Return a plain number with so many digits after the point, e.g. a loss or milliseconds; never ``-0``.

    >>> format_number(12.345, 1), format_number(-0.01, 1), format_number(1234567, 0)
    ('12.3', '0.0', '1,234,567')
    """
    plus = "+" if sign else ""
    text = f"{value:{plus},.{digits}f}"
    return text.lstrip("+-") if not text.strip("+-0.,") else text


def format_p_value(p: float) -> str:
    """Return the p value of a test with three digits, the smallest as less than what they can say.

    >>> format_p_value(0.0312), format_p_value(2e-6)
    ('0.031', '< 0.001')
    """
    return format_number(p, 3) if p >= 0.0005 else "< 0.001"


def format_count(number: int, what: str = "") -> str:
    """Return a number of things, in the singular where there is one.

    >>> format_count(1, "query"), format_count(5000, "caption"), format_count(12)
    ('1 query', '5,000 captions', '12')
    """
    things = what if number == 1 or not what else plural(what)
    return f"{number:,} {things}".rstrip()


def format_some(names: Sequence[str], most: int = 3) -> str:
    """List the first of some names, and show that there are more.

    >>> format_some(["a", "b"]), format_some(["a", "b", "c", "d"])
    ('a, b', 'a, b, c ...')
    """
    listed = ", ".join(names[:most])
    return f"{listed} ..." if len(names) > most else listed


def format_bytes(size: int) -> str:
    """Return a size on the disk, in the largest unit of which there is one.

    >>> format_bytes(532), format_bytes(12_400_000), format_bytes(3_000_000_000)
    ('532 B', '12.4 MB', '3.0 GB')
    """
    value = float(size)
    unit = "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value >= 1000:
            value /= 1000
            unit = larger
    digits = 0 if unit == "B" else 1
    return f"{format_number(value, digits)} {unit}"


def format_duration(seconds: float) -> str:
    """Return a time that something takes, in the unit in which a reader would say it.

    >>> format_duration(42.4), format_duration(150), format_duration(9000)
    ('42 s', '2 min', '2.5 h')
    """
    if seconds < 120:
        return f"{format_number(seconds, 0)} s"
    minutes = seconds / 60
    return f"{format_number(minutes, 0)} min" if minutes < 120 else f"{format_number(minutes / 60, 1)} h"


def format_path(path: Path | str) -> str:
    """Return a path as one would type it in the working folder, without the folders of the machine where it
    can be.

    >>> format_path(Path.cwd() / "runs" / "tour")
    'runs/tour'
    """
    path = Path(path)
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def format_cost(pairs: int, every: int, name: str, seconds: float) -> str:
    """Return what re-ranking has cost, in a line.

    Args:
        pairs: that were scored again.
        every: pairs that there are.
        name: of what has scored them.
        seconds: that it took.
    """
    counts = f"{format_number(pairs, 0)} of {format_number(every, 0)} pairs"
    return f"re-ranked {counts} by {name} in {format_number(seconds, 1)} s"
