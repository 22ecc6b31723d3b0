"""How quick the live map is with many points: ``python -m tools.benchmarks.bench_map [points]
[neighbours]``.

Two maps side by side in a Chromium without a graphics card, with the widget's own script and random places.
Prints how long the script needs to take the arrays, to draw a frame while a map is moved and zoomed, to find
the point under the mouse and draw its lines, to choose a colour, and to catch half of all points with a
lasso. A frame of 33 ms is 30 a second.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tools.benchmarks.recorded import record
from workbench.views.maps.widget import SCRIPTS

MAPS = Path(__file__).parents[2] / "workbench" / "views" / "maps"
START = """async ([source, config]) => {
  const bytes = text => new DataView(Uint8Array.from(atob(text), sign => sign.charCodeAt(0)).buffer);
  const opened = (_, value) => value && value.base64 ? bytes(value.base64) : value;
  const state = { config: JSON.parse(config, opened), selected_rows: [] };
  const model = { get: name => state[name], set() {}, save_changes() {}, on() {}, off() {}, send() {} };
  const { MapView } = await import(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
  const began = performance.now();
  window.view = new MapView(model, document.querySelector('#map'));
  const made = performance.now() - began;
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return made;
}"""
MEASURE = """async () => {
  const { view } = window, [panel] = view.panels, box = panel.over.getBoundingClientRect();
  const time = (act, i) => { const from = performance.now(); act(i); return performance.now() - from; };
  const times = (count, act) => Array.from({ length: count }, (_, i) => time(act, i));
  const at = (x, y) => ({ clientX: box.left + box.width * x, clientY: box.top + box.height * y });
  const turn = i => [0.3 * Math.sin(i / 9), 0.3 * Math.cos(i / 9)];
  const move = times(60, i => { panel.middle = turn(i); panel.draw(); });
  const zoom = times(40, i => { panel.zoom = 1 + i / 8; panel.draw(); });
  panel.middle = [0, 0]; panel.zoom = 1; panel.draw();
  const hover = times(200, i => panel.move(at(0.2 + 0.003 * i, 0.3 + 0.002 * i)));
  const colour = times(2, i => view.paint(1 - i));
  const square = [[-1, -1], [0, -1], [0, 1], [-1, 1]];
  const lasso = times(5, () => view.select(panel.within(square)));
  const arrow = times(30, () => panel.go(panel.beside(1, 0)));
  view.select([]);
  const frames = [];
  await new Promise(done => {
    let last = performance.now(), left = 60;
    const next = now => {
      frames.push(now - last);
      last = now;
      panel.zoomBy(left % 2 ? 1.05 : 1 / 1.05);
      left -= 1;
      if (left) requestAnimationFrame(next); else done();
    };
    requestAnimationFrame(next);
  });
  return { 'draw, map moved': move, 'draw, map zoomed': zoom, 'mouse moved: point found, lines drawn': hover,
    'colour chosen, both maps': colour,
    'lasso of half of all, both maps': lasso, 'arrow key': arrow,
    'from frame to frame while zooming': frames.slice(5) };
}"""


def config(points: int, k: int) -> dict[str, Any]:
    """Random maps in the form that the widget sends; arrays are packed for JSON."""
    rng = np.random.default_rng(0)
    images = points // 6
    own = np.concatenate([np.arange(images), rng.integers(0, images, points - images)])
    centres = rng.normal(size=(40, 2))

    def places() -> np.ndarray[Any, Any]:
        return centres[own % 40] + rng.normal(size=(points, 2)) * 0.12

    def one(name: str) -> dict[str, Any]:
        near = _packed(rng.integers(0, points, (points, k)), np.int32)
        return {"name": name, "about": "random", "points": _packed(places(), np.float32), "near": near}

    kind = {"labels": ["image", "caption"], "looks": [["#0072B2", "circle"], ["#E69F00", "square"]]}
    codes = _packed(np.arange(points) >= images, np.uint8)
    values = _packed(rng.random(points), np.float32)
    colours = [
        {"name": "kind", **kind, "data": [codes] * 2},
        {"name": "descriptiveness", "ends": [0, 1], "data": [values] * 2},
    ]
    captions = [f"caption {row} of a dog beside a house on a road" for row in range(points - images)]
    sent = {
        "size": points,
        "images": images,
        "own": _packed(own, np.int32),
        "captions": captions,
        "k": k,
        "require_images": False,
    }
    return {
        **sent,
        "colours": colours,
        "maps": [one("one"), one("two")],
        "ramp": ["#E6A817", "#7B4F9E"],
        "unknown": "#767676",
    }


def _packed(values: np.ndarray[Any, Any], kind: Any) -> dict[str, str]:
    return {"base64": base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()}


def main(points: int, k: int) -> None:
    """Print median and 95th percentile of each action.

    Args:
        points: on each of the two maps.
        k: neighbours of a point.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_content(f"<style>{(MAPS / 'map.css').read_text()}</style><div id='map'></div>")
        script = "\n".join((MAPS / name).read_text() for name in SCRIPTS)
        made = page.evaluate(START, [script, json.dumps(config(points, k))])
        found = page.evaluate(MEASURE)
        browser.close()
    medians = {name: float(np.median(times)) for name, times in found.items()}
    record(f"map_{points}", {"points": points, "neighbours": k, "take and draw": float(made), **medians})
    lines = [
        f"{points:,} points on each of two maps, {k} neighbours each",
        f"{made:8.1f} ms  to take the arrays and draw both maps",
    ]
    for name, times in found.items():
        lines.append(
            f"{np.median(times):8.1f} ms  {name}; "
            f"95 % under {np.quantile(times, 0.95):.1f} ms, n = {len(times)}"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*(int(given) for given in [*sys.argv[1:], *("50000", "10")[len(sys.argv) - 1 :]]))
