"""From one command to an explorer that answers: an untrained open_clip model from a file, on photographs.

Run: ``WORKBENCH_DATA=... python -m tools.benchmarks.bench_own_model [images]``

``workbench explore --model FILE --pretrained FILE --images FOLDER`` is run as a user runs it but for the
browser: it checks the model and writes the notebook, JupyterLab is started on it, its cells are run, and the
clock stops when the first thumbnails are decoded. Beside the time of the clock stand the seconds that the
processes computed, which a busy machine changes less. The bar on two idle cores: 30 s for 1,000 images.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import open_clip
import torch
from playwright.sync_api import sync_playwright
from safetensors.torch import save_file

from tests.browser.conftest import ARGUMENTS, CHROMIUM, serving
from tools.benchmarks.bench_explorer import RUN_ALL
from tools.benchmarks.recorded import record

# of the size of a small vision transformer for thumbnails, with CLIP's own tokenizer
SMALL = {
    "embed_dim": 64,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16},
    "text_cfg": {"width": 64, "heads": 2, "layers": 2},
}
DECODED = """async () => {
  const images = [...document.querySelectorAll("[data-testid=columns] img")];
  await Promise.all(images.map(image => image.decode()));
  return images.length;
}"""


def prepare(folder: Path, images: int) -> list[str]:
    """Write the model and link the photographs; gives the words of the command."""
    (folder / "small.json").write_text(json.dumps(SMALL))
    torch.manual_seed(0)
    save_file(open_clip.CLIP(**SMALL).state_dict(), folder / "small.safetensors")
    (folder / "photographs").mkdir()
    source = Path(os.environ["WORKBENCH_DATA"]) / "flickr8k" / "images"
    for file in sorted(source.glob("*.jpg"))[:images]:
        (folder / "photographs" / file.name).symlink_to(file)
    names = ("small.json", "small.safetensors", "photographs")
    model, weights, photographs = (str(folder / name) for name in names)
    return ["explore", "--model", model, "--pretrained", weights, "--images", photographs, "--prepare"]


def main(images: int = 1000) -> None:
    """Write the seconds of each part."""
    folder = Path(tempfile.mkdtemp())
    words = prepare(folder, images)
    (folder / "private").mkdir()
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "workbench", *words], cwd=folder, check=True)
    written = time.perf_counter()
    with serving(folder / "private", folder / "runs" / "explore") as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(300_000)
        page.goto(f"{lab.url}/lab/tree/own_model.ipynb?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        opened = time.perf_counter()
        page.evaluate(RUN_ALL)
        page.locator("[data-testid=columns] img").first.wait_for()
        page.evaluate(DECODED)
        end = time.perf_counter()
        status = page.get_by_test_id("status").inner_text()
        browser.close()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    parts = {"check_s": written - began, "jupyterlab_s": opened - written, "explorer_s": end - opened}
    parts["computed_s"] = spent.ru_utime + spent.ru_stime
    record(f"own_model_{images}", {"images": images, **parts, "total_s": end - began})
    sys.stdout.write(
        f"{images:,} images: {end - began:.1f} s in all; {parts}, load {os.getloadavg()[0]:.1f}; {status}\n"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
