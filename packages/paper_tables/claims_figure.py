"""The effects of the ledger on one scale, from chance to the best that can be reached."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.special import stdtrit

from paper_tables import claims, claims_told, health
from paper_tables.claims_told import Line
from workbench.formatting import format_number

# how often an effect of the size of the shaded band is found
POWER = 0.8


@dataclass(frozen=True)
class Mark:
    """An effect in percent of the way from chance to the best value, positive where it goes the paper's way.

    Args:
        line: of the ledger.
        effect, low, high: the mean with its interval.
        detectable: effects that are smaller are found in less than ``POWER`` of such experiments.
    """

    line: Line
    effect: float
    low: float
    high: float
    detectable: float

    @property
    def paper(self) -> str:
        """The paper of its claim."""
        return claims.find_claim(self.line["claim"]).paper

    @property
    def words(self) -> str:
        """Its claim, data, judge and verdict, as a screen reader says them."""
        place, numbers = claims.DATA[self.line["data"]], (self.effect, self.low, self.high)
        effect, low, high = (format_number(number, 1) for number in numbers)
        judge = "the truth" if self.line["judge"] == "truth" else "annotated pairs"
        about = f"{self.line['claim']}, {place}, by {judge}: {self.line['verdict']}"
        return f"{about}, {effect} percent ({low} to {high})"


def marks(lines: Iterable[Line]) -> list[Mark]:
    """Return a mark for each difference of two arms that have learnt, in RSUM or in a share."""
    chosen = []
    for line in lines:
        two_arms = "seeds" in line and len(line["values"]) == 2
        if two_arms and line["unit"] in claims.SCALE and line["verdict"] != "void":
            chosen.append(_mark(line))
    return chosen


def _mark(line: Line) -> Mark:
    way = claims.best_of(line) - _chance(line)
    scatter = claims.evidence_of_line(line).scatter
    found = stdtrit(scatter.freedom, 0.975) + stdtrit(scatter.freedom, POWER)
    detectable = float(found * scatter.variance**0.5)
    shares = [100 * number / way for number in (line["effect"], line["low"], line["high"], detectable)]
    return Mark(line, *shares)


def _chance(line: Line) -> float:
    """Return the value of a random order; of a share, whose chance is near 0, none is subtracted."""
    if line["metric"] != ["rsum"]:
        return 0.0
    return health.chance(line.get("budget", {}).get("test_images", claims.RECORDED_IMAGES))


def figure_values(lines: Iterable[Line]) -> Mapping[str, object]:
    """Return what the template draws: marks, placed in percent of the width, and the ends of the scale."""
    every = marks(lines)
    reach = max([1.0, *(max(abs(mark.low), abs(mark.high)) for mark in every)])
    several = Counter(_question(mark) for mark in every)
    rows = []
    for mark in every:
        ends = {"low": mark.low, "high": mark.high, "effect": mark.effect}
        row: dict[str, object] = {name: round(_place(value, reach), 2) for name, value in ends.items()}
        band = min(mark.detectable, reach)
        row |= {"band_low": round(_place(-band, reach), 2), "band_high": round(_place(band, reach), 2)}
        about = {"id": mark.line["claim"], "paper": mark.paper, "verdict": mark.line["verdict"]}
        arms = claims_told.contrast_of(mark.line)
        # of a claim with several rows the arms tell which is which
        says = f"{arms}." if several[_question(mark)] > 1 else claims.find_claim(mark.line["claim"]).says
        row |= about | {"says": says, "judge": mark.line["judge"]}
        row |= {"kind": claims_told.kind_of(mark.line)}
        row |= {"place": claims.DATA[mark.line["data"]].capitalize() + "."}
        row |= {"words": mark.words, "arms": arms}
        rows.append(row)
    return {"marks": rows, "ends": [format_number(end, 0) for end in (-reach, reach)]}


def _question(mark: Mark) -> tuple[str, str, str, str]:
    """Return claim, data, judge and kind of a mark."""
    return mark.line["claim"], mark.line["data"], mark.line["judge"], claims_told.kind_of(mark.line)


def _place(value: float, reach: float) -> float:
    return 50 + 50 * value / reach
