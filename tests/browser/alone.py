"""The explorer without JupyterLab: its script in an empty page, and its Python side answering from the test.

What the page sends waits in a queue until the test lets the "kernel" answer, so that a busy or dead kernel is
one that is not let.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from workbench.views.explorer import Explorer

PAGE = """<!DOCTYPE html><html lang="en"><head><title>explorer</title><style>body { margin: 0; }</style>
<style>%s</style></head><body><main id="root"></main></body></html>"""
START = """([source, config, selected]) => {
  const heard = {}, state = { config, selected, selected_idx: [], saved: [] };
  window.sent = [];
  window.kernel = { status: "idle" };
  window.model = {
    widget_manager: { kernel: window.kernel },
    get: name => state[name],
    set: (name, value) => { state[name] = value; (heard[`change:${name}`] || []).forEach(one => one()); },
    save_changes() {},
    on: (name, one) => { (heard[name] ||= []).push(one); },
    off: (name, one) => { heard[name] = (heard[name] || []).filter(other => other !== one); },
    send: message => { window.sent.push(message); },
    trigger: (name, ...given) => (heard[name] || []).forEach(one => one(...given)),
  };
  window.hear = (message, blobs) => window.model.trigger("msg:custom", message,
    blobs.map(one => Uint8Array.from(atob(one), letter => letter.charCodeAt(0)).buffer));
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return import(url).then(module => {
    module.default.initialize({ model: window.model });
    module.default.render({ model: window.model, el: document.getElementById("root") });
  });
}"""


class Alone:
    """An explorer in a page of its own.

    Args:
        browser: of the fixture.
        explorer: whose answers are shown.
        options: of the browser's context, e.g. ``color_scheme``.
    """

    def __init__(
        self, browser: Any, explorer: Explorer, *, width: int = 1400, height: int = 1000, **options: Any
    ):
        self.explorer, self.trouble = explorer, list[str]()
        self.context = browser.new_context(
            offline=True, viewport={"width": width, "height": height}, **options
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda r: self.trouble.append(r.url) if r.url.startswith("http") else None)
        self.page.set_content(PAGE % str(explorer._css))
        self.page.evaluate(START, [str(explorer._esm), dict(explorer.config), explorer.selected])

    def answer(self) -> int:
        """Let the kernel answer what waits; how many messages there were."""
        waiting = self.page.evaluate("window.sent.splice(0)")
        for message in waiting:
            said: list[Any] = []
            self.explorer.send = lambda content, blobs=None, said=said: said.extend([content, blobs or []])
            self.explorer._on_message(self.explorer, message, [])
            blobs = [base64.b64encode(blob).decode() for blob in said[1]]
            self.page.evaluate(
                "([message, blobs]) => window.hear(message, blobs)", [json.loads(json.dumps(said[0])), blobs]
            )
        return len(waiting)

    def settle(self, rounds: int = 60) -> None:
        """Answer until the page asks nothing more and says what it found."""
        quiet = 0
        for _ in range(rounds):
            quiet = 0 if self.answer() else quiet + 1
            self.page.wait_for_timeout(40)
            if quiet > 4:
                return

    def close(self) -> None:
        """End the page; nothing may have gone wrong on it."""
        self.context.close()
        assert self.trouble == []
