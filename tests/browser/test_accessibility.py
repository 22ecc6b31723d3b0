"""axe finds nothing serious in what notebooks show, and no string of the data is executed there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import numpy as np
import pytest
from PIL import Image

from tests.browser.conftest import in_themes, run_in_lab, trouble_on
from tests.views.explorer.toy_answers import HOSTILE, answer, hostile
from workbench.execution.report import to_html
from workbench.records import Judgements, Split
from workbench.tour import STOPS, TourResult
from workbench.views.explorer import static
from workbench.views.plots.retrieval import sheet
from workbench.views.plots.tables import listing

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# Every string is an attack or a nuisance; the model is a stand-in, since what it finds does not matter here.
LIVE = f"""
import json, numpy as np, torch
from PIL import Image
from IPython.display import HTML
import relevance_audit as audit
from workbench.views.explorer import static
from workbench.views.explorer.explorer import Explorer
from workbench.views.maps import EmbeddingMap, Settings, map_runs
from workbench.records import Embedding, Judgements, Split
from workbench.runs.model import Model
from workbench.runs.result import Result
hostile = json.loads({json.dumps(json.dumps([text.encode(errors="ignore").decode() for text in HOSTILE]))})
rng = np.random.default_rng(0)
def unit(rows):
    made = rng.normal(size=(rows, 8)).astype(np.float32)
    return Embedding(torch.from_numpy(made / np.linalg.norm(made, axis=1, keepdims=True)))
class Toy(Model):
    makers = {{}}
    def embed_texts(self, texts, parts=None): return unit(len(texts))
captions = tuple(f"{{hostile[row % len(hostile)]}} {{row}}" for row in range(60))
ids = tuple(f"{{hostile[row % len(hostile)]}} {{row}}" for row in range(30))
own = np.repeat(np.arange(30), 2)
paint = lambda row: Image.new("RGB", (40, 30), (row * 8, 90, 40))
split = Split("<b>toy</b>", ids, captions, tuple(f"c {{one}}" for one in captions), own, paint)
embedded = [(Toy(), unit(30), unit(60)) for run in range(2)]
spaces = [Result(f"{{hostile[0]}} {{run}}", split, lambda run=run: embedded[run]) for run in range(2)]
live = Explorer(spaces, k=4)
chart = EmbeddingMap(map_runs(spaces[:1], Settings(steps=300)))
truth = Judgements("exact", "binary", (30, 60), np.arange(30), np.arange(30), np.ones(30, dtype=np.float32))
table = audit.candidates(spaces[0].scores, split, {{"exact": truth}}, k=3)
"""
CELLS = (
    LIVE,
    "live",
    "chart",
    "audit.Labeller(split, table, audit.Labels('owned.json', 'ann'))",
    "live.query(text=hostile[1]); HTML(static.html(live.static()))",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_static_page_has_no_serious_violation(
    browser: Any, axe: str, tmp_path: Path, scheme: str
) -> None:
    path = static.write(tmp_path / "static.html", [answer("a red dog"), answer("a dog", (2, 1, 5))])
    context = browser.new_context(offline=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator("[data-row='2']").first.click()
    for width in (1280, 620):
        page.set_viewport_size({"width": width, "height": 900})
        assert trouble_on(page, axe, ["html"]) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_widgets_with_hostile_data_have_no_serious_violation_and_run_nothing(
    browser: Any, lab: Lab, axe: str
) -> None:
    page, _, trouble = run_in_lab(browser, lab, "hostile", CELLS, height=6000)
    page.locator("[data-testid=explorer] [data-testid=columns] img").first.wait_for()
    page.locator("[data-testid=audit]").wait_for()
    page.locator("[data-testid=static-columns] button").first.click()
    for _ in in_themes(page, page, lab.folder / "hostile"):
        assert trouble_on(page, axe, [".jp-OutputArea-output"]) == []
    assert page.evaluate("window.owned") is None
    assert (
        page.locator(".jp-OutputArea-output :is(mjx-container, [onerror], [onload], [onfocus])").count() == 0
    )
    assert trouble == []
    page.close()


def _report() -> str:
    """A report whose every output is made of hostile strings."""
    scores, own = np.random.default_rng(0).random((7, 7)), np.arange(7)
    split = Split(
        HOSTILE[0],
        HOSTILE,
        HOSTILE,
        tuple(map(str, own)),
        own,
        lambda row: Image.new("RGB", (30, 30), (row * 30, 0, 0)),
        judgements={"own": Judgements.from_own(own, 7)},
    )
    runs, queries = {HOSTILE[1]: scores}, [(HOSTILE[0], row) for row in range(7)]
    found, back = sheet(runs, queries, split), sheet(runs, queries, split, direction="i2t")
    table = listing({HOSTILE[2]: HOSTILE, "other": HOSTILE}, title=HOSTILE[0])
    shown = [
        nbformat.v4.new_output("display_data", {"text/html": one})
        for one in (found, back, table, static.html(hostile()))
    ]
    said = [
        nbformat.v4.new_output("stream", text="\n".join(HOSTILE[:6])),
        nbformat.v4.new_output("display_data", {"text/plain": HOSTILE[1]}),
    ]
    red = "\x1b[31mKeyError\x1b[39m Traceback \x1b[32m<b>line</b>\x1b[38;5;167m 1\x1b[39m"
    failed = nbformat.v4.new_output("error", ename="KeyError", evalue=HOSTILE[1], traceback=[red, HOSTILE[1]])
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("pass", outputs=[*shown, *said, failed])]
    )
    return to_html(book, HOSTILE[1])


def test_a_report_shows_hostile_strings_as_text(browser: Any, axe: str, tmp_path: Path) -> None:
    (tmp_path / "notebook.html").write_text(_report(), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 2000})
    page, trouble = context.new_page(), list[str]()
    page.on("request", lambda r: trouble.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    page.on("requestfailed", lambda r: trouble.append(r.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto((tmp_path / "notebook.html").as_uri())
    text = page.locator("body").inner_text()
    assert text.count(HOSTILE[0]) >= 4
    assert page.locator(":is([onerror], [onload], [onfocus], img[src=x])").count() == 0
    assert page.evaluate("window.owned") is None
    assert page.title() == HOSTILE[1]
    assert trouble_on(page, axe, [".jp-OutputArea-output"]) == []
    assert trouble == []
    context.close()


# The notebook that trains is looked at once, whatever the objective.
@pytest.mark.parametrize("stop", ["", *{stop.notebook: stop.name for stop in STOPS}.values()])
def test_the_tour_and_its_reports_have_no_violation_and_no_sideways_scrolling(
    browser: Any, axe: str, real_tour: TourResult, stop: str
) -> None:
    path = real_tour.index.parent / stop / ("notebook.html" if stop else "index.html")
    for scheme, width in (("light", 1400), ("dark", 400)):
        context = browser.new_context(
            offline=True, color_scheme=scheme, viewport={"width": width, "height": 1400}
        )
        page = context.new_page()
        page.set_default_timeout(180_000)
        page.goto(path.as_uri())
        page.locator(".plotly-graph-div .main-svg, [data-testid='static'] img").first.wait_for()
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.setAttribute('open', ''))")
        assert trouble_on(page, axe, ["html"]) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        words = page.locator(".plotly-graph-div").evaluate_all(
            "all => all.map(one => one.textContent).join()"
        )
        assert re.search(r"[it]2[it]/|map_at_r|r_precision", words) is None
        context.close()
