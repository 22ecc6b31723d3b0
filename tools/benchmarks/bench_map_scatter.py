"""The live map beside jupyter-scatter in one run: ``python -m tools.benchmarks.bench_map_scatter [points]``.

Both draw the same number of points in the same Chromium without a graphics card, in turns: how long until the
points are drawn, until the point under a moved mouse is known, and until a lasso around the left half has
caught its points. jupyter-scatter (``pip install jupyter-scatter``, only needed here) draws one map by WebGL;
ours draws two, each with lines to neighbours. Its widget gets the state that its own Python side sends.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tools.benchmarks.bench_map import MAPS, MEASURE, START, config
from tools.benchmarks.recorded import record
from workbench.views.maps.widget import SCRIPTS

ROUNDS = 5
OURS = {"hover": "mouse moved: point found, lines drawn", "lasso": "lasso of half of all, both maps"}
THEIRS = """async ([source, state]) => {
  const bytes = text => new DataView(Uint8Array.from(atob(text), sign => sign.charCodeAt(0)).buffer);
  const kept = JSON.parse(state, (_, value) => value && value.base64 ? bytes(value.base64) : value);
  const heard = {};
  const tell = name => (heard[name] || []).splice(0).forEach(done => done());
  const changed = name => new Promise(done => { (heard[name] ||= []).push(done); });
  const model = { get: name => kept[name], set(name, value) { kept[name] = value; tell(name); },
    save_changes() {}, on() {}, off() {}, send() {} };
  const script = source.replace(/view\\.render\\(\\);(?=\\s+return)/, 'view.render(); window.theirs = view;');
  const widget = (await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })))).default;
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const box = document.querySelector('#scatter'), began = performance.now();
  await widget.render({ model, el: box });
  while (!window.theirs.scatterplot?.get('isPointsDrawn')) await frame();
  await frame();
  const found = { drawn: performance.now() - began, hover: [], lasso: [] };
  const canvas = box.querySelector('canvas'), at = canvas.getBoundingClientRect();
  const mouse = (kind, x, y) => canvas.dispatchEvent(new MouseEvent(kind, { bubbles: true,
    clientX: at.left + at.width * x, clientY: at.top + at.height * y }));
  mouse('mouseenter', .5, .5);
  for (let i = 0; i < 60; i += 1) {
    const told = changed('hovering'), from = performance.now();
    mouse('mousemove', .2 + .009 * i, .3 + .006 * i);
    const known = await Promise.race([told.then(() => true), new Promise(done => setTimeout(done, 300))]);
    if (known) found.hover.push(performance.now() - from);
  }
  for (let i = 0; i < 5; i += 1) {
    const emptied = changed('selection');
    window.theirs.scatterplot.deselect();
    await Promise.race([emptied, new Promise(done => setTimeout(done, 200))]);
    heard.selection = [];
    const told = changed('selection'), from = performance.now();
    window.theirs.scatterplot.lassoSelect([[-1, -1], [0, -1], [0, 1], [-1, 1]]);
    await told;
    found.lasso.push(performance.now() - from);
    found.caught = kept.selection.shape[0];
  }
  return found;
}"""


def state(points: int) -> str:
    """What jupyter-scatter's Python side sends to its widget, as JSON."""
    try:
        import jscatter
    except ImportError as e:
        raise SystemExit("this benchmark needs jupyter-scatter: pip install jupyter-scatter") from e
    places = config(points, 1)["maps"][0]["points"]["base64"]
    x, y = np.frombuffer(base64.b64decode(places), np.float32).reshape(-1, 2).T
    kept = jscatter.Scatter(data=pd.DataFrame({"x": x, "y": y}), x="x", y="y", height=500).widget.get_state()

    def packed(value: Any) -> Any:
        return (
            {"base64": base64.b64encode(bytes(value)).decode()}
            if isinstance(value, memoryview)
            else str(value)
        )

    return json.dumps(kept, default=packed)


def main(points: int = 100_000) -> None:
    """Measure both in turns; print and record the medians."""
    import jscatter
    from playwright.sync_api import sync_playwright

    theirs, ours = state(points), json.dumps(config(points, 10))
    bundle = (Path(jscatter.__file__).parent / "bundle.js").read_text(encoding="utf-8")
    script = "\n".join((MAPS / name).read_text() for name in SCRIPTS)
    times: dict[str, dict[str, list[float]]] = {name: {} for name in ("ours", "jupyter-scatter")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_content(f"<style>{(MAPS / 'map.css').read_text()}</style><div id='map'></div>")
            drawn = page.evaluate(START, [script, ours])
            found = page.evaluate(MEASURE)
            _keep(times["ours"], drawn, {name: found[said] for name, said in OURS.items()})
            page.close()
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.set_content("<div id='scatter' style='width: 700px'></div>")
            found = page.evaluate(THEIRS, [bundle, theirs])
            if found["caught"] < points / 5:
                raise SystemExit(f"jupyter-scatter's lasso caught {found['caught']} of {points} points")
            _keep(times["jupyter-scatter"], found["drawn"], {name: found[name] for name in OURS})
            page.close()
        browser.close()
    medians = {
        f"{side}: {name}": float(np.median(all_of))
        for side, kept in times.items()
        for name, all_of in kept.items()
    }
    record(f"map_scatter_{points}", {"points": points, "rounds": ROUNDS, **medians})
    sys.stdout.write("".join(f"{value:8.1f} ms  {name}\n" for name, value in medians.items()))


def _keep(times: dict[str, list[float]], drawn: float, found: dict[str, list[float]]) -> None:
    for name, more in {"drawn": [drawn], **found}.items():
        times.setdefault(name, []).extend(more)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
