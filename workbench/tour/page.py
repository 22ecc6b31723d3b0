"""The tour's page: one table, thumbnails of the figures, links; it reads offline, in light and dark."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import nbformat

from workbench import data
from workbench.execution import report
from workbench.execution.notebook import NOTEBOOK, RunResult
from workbench.experiment.runs import Run

ROWS = (
    ("exact:t2i/own@1[most specific]", "A most specific caption finds its own image first"),
    ("t2i/R@1", "Any caption finds its own image first"),
    ("t2i/R@5", "... among the first five"),
    ("i2t/R@1", "An image finds one of its own captions first"),
    ("rsum", "RSUM, the sum of the six recalls"),
    ("exact:t2i/true@1", "The first image is truly described by the caption"),
    ("exact:t2i/false_negatives", "... so of the binary errors, this share were right"),
    ("exact:t2i/map_at_r", "mAP@R against the exact truth, caption to image"),
    ("exact:i2t/map_at_r", "mAP@R against the exact truth, image to caption"),
)
NOT_A_CONTEST = ("exact:t2i/false_negatives",)
FULL = (
    720,
    450,
)  # a figure is drawn at this size and scaled down by the page, so that a thumbnail looks like the figure


@dataclass(frozen=True)
class Shown:
    """One stop as the page shows it: its name, what to look for, how it ended, what it left."""

    name: str
    says: str
    result: RunResult
    run: Run


def render(shown: Sequence[Shown], seconds: float) -> str:
    """The whole page.

    Args:
        shown: the stops in order.
        seconds: wall time of the tour.
    """
    template = Template(files("workbench.assets").joinpath("tour/index.html").read_text(encoding="utf-8"))
    return template.substitute(
        minutes=f"{seconds / 60:.1f}",
        verdict=_verdict(shown),
        table=_table(
            [
                stop
                for stop in shown
                if "metrics" in stop.run.results and "rsum" in stop.run.results["metrics"]
            ]
        ),
        world=_world(),
        stops="\n".join(_stop(stop) for stop in shown),
        plotly=report.plotly_script(),
    )


def _verdict(shown: Sequence[Shown]) -> str:
    bad = [stop for stop in shown if stop.result.exit_code]
    if not bad:
        return f'<p class="good">All {len(shown)} notebooks ran to their end.</p>'
    items = "".join(f"<li><b>{escape(stop.name)}</b>: {escape(stop.result.error)}</li>" for stop in bad)
    return f'<div class="bad"><p>{len(bad)} of {len(shown)} notebooks failed.</p><ul>{items}</ul></div>'


def _table(shown: Sequence[Shown]) -> str:
    if not shown:
        return "<p>No notebook wrote metrics.</p>"
    heads = "".join(f'<th scope="col">{escape(str(stop.run.results["objective"]))}</th>' for stop in shown)
    rows = "".join(_row(key, words, shown) for key, words in ROWS)
    return f'<table><thead><tr><th scope="col">test split, percent</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _row(key: str, words: str, shown: Sequence[Shown]) -> str:
    values = [stop.run.results["metrics"].get(key) for stop in shown]
    if all(value is None for value in values):
        return ""
    best = -1.0 if key in NOT_A_CONTEST else max(value for value in values if value is not None)
    contracts = [stop.run.results["contracts"].get(key, {}) for stop in shown]
    cells = "".join(
        _cell(value, contract, value == best) for value, contract in zip(values, contracts, strict=True)
    )
    return f'<tr><th scope="row">{escape(words)}<small>{escape(key)}</small></th>{cells}</tr>'


def _cell(value: float | None, contract: dict[str, Any], best: bool) -> str:
    if value is None:
        return "<td>not measured</td>"
    interval = contract.get("low") is not None
    small = f"<small>{100 * contract['low']:.1f} to {100 * contract['high']:.1f}</small>" if interval else ""
    mark = ' class="best"' if best else ""
    return f"<td{mark}>{100 * value:.1f}{small}</td>"


def _world() -> str:
    """A few scenes of the embedded world, each with its shortest and its longest caption."""
    split = data.load("scenes", split="test", size=12)
    cards = []
    for row in range(len(split.image_ids)):
        captions = sorted(
            (c for c, own in zip(split.captions, split.own, strict=True) if own == row), key=len
        )
        buffer = io.BytesIO()
        split.open_image(row).save(buffer, format="PNG")
        source = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
        words = f"<b>{escape(captions[0])}</b> {escape(captions[-1])}"
        cards.append(
            f'<figure><img src="{source}" alt="{escape(captions[-1])}"><figcaption>{words}</figcaption></figure>'
        )
    return "\n".join(cards)


def _stop(shown: Shown) -> str:
    folder, ok = shown.name, not shown.result.exit_code
    book = shown.result.folder / NOTEBOOK
    thumbs = "".join(_thumbnails(shown)) if book.is_file() else ""
    error = "" if ok else f'<p class="bad">{escape(shown.result.error)}</p>'
    places = (("notebook.html", "read"), (NOTEBOOK, "notebook"), ("", "all files"))
    links = " ".join(f'<a href="{folder}/{file}">{words}</a>' for file, words in places)
    return (
        f'<section><h3>{escape(shown.name)} <span class="{"good" if ok else "bad"}">{escape(shown.result.status)}</span>'
        f"<span>{shown.result.seconds:.0f} s</span></h3><p>{escape(shown.says)} {links}</p>{error}"
        f'<div class="thumbs">{thumbs}</div></section>'
    )


def _thumbnails(shown: Shown) -> Iterator[str]:
    book = nbformat.read(shown.result.folder / NOTEBOOK, 4)
    for number, figure in enumerate(report.figures(book), 1):
        width, height = FULL
        margin = {**figure["layout"].get("margin", {}), "b": 64}
        layout = {**figure["layout"], "width": width, "height": height, "autosize": False, "margin": margin}
        drawn = report.div({"data": figure["data"], "layout": layout}, f"{shown.name}-{number}", static=True)
        title = figure["layout"].get("title", {}).get("text", f"figure {number}")
        yield f'<a class="thumb" href="{shown.name}/notebook.html#figure-{number}" aria-label="{escape(title)}">{drawn}</a>'
