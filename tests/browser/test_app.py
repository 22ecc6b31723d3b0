"""`workbench explore --app`: the explorer in a plain tab, by Voilà. A sentence that is typed is answered, and
Ctrl-C ends it all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import free_port, trouble_on

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the shipped encoder answers; the command must end well once it is told to."""
    pytest.importorskip("voila", reason="Voilà is not installed")
    folder = tmp_path_factory.mktemp("app")
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(folder / name.lower()) for name in names}}
    options = ["--app", "--no-browser", "--allow-root", f"--port={free_port()}"]
    command = [sys.executable, "-m", "workbench", "explore", *options]
    with subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        lines = iter(server.stderr or ())
        yield next(line.strip() for line in lines if line.startswith("http"))
        server.send_signal(signal.SIGINT)
        assert [line for line in lines if "Traceback" in line] == []
    assert server.returncode == 0


def test_a_typed_sentence_is_answered_in_a_tab_without_jupyterlab(
    browser: Any, address: str, axe: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 900}, color_scheme="dark")
    page, trouble = context.new_page(), list[str]()
    page.set_default_timeout(120_000)
    page.on("request", lambda r: None if address.split("?")[0] in r.url else trouble.append(r.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(address, wait_until="commit")
    page.locator("[data-testid=columns] img").first.wait_for()
    page.get_by_test_id("embedding-map").wait_for()
    assert page.get_by_text("Error displaying widget").count() == 0
    before = page.locator(".wbx-card").first.get_attribute("data-row")
    page.get_by_test_id("query").fill("a red bus at night")
    page.wait_for_function("row => document.querySelector('.wbx-card').dataset.row !== row", arg=before)
    images = page.locator("[data-testid=columns] img")
    assert images.evaluate_all("all => all.every(one => one.alt && one.naturalWidth > 0)")
    assert page.locator("html, #rendered_cells").evaluate_all(
        "all => all.every(one => one.scrollWidth <= 400)"
    )
    page.screenshot(path=tmp_path / "app.png", full_page=True)
    assert trouble_on(page, axe, ["#rendered_cells"]) == []
    assert [url for url in trouble if not url.startswith(("data:", "blob:", "ws:"))] == []
    context.close()


def test_nobody_is_let_in_without_the_token(address: str) -> None:
    place = address.split("?")[0]
    for asked in ("", "api/contents", "api/kernels"):
        with urllib.request.urlopen(place + asked, timeout=10) as page:
            assert "/login" in page.url
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{place}voila/files/app.png", timeout=10)
