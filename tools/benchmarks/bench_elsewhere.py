"""What it takes to evaluate scores and ranked lists of the size of MS-COCO: ``python -m
tools.benchmarks.bench_elsewhere [I T K]``.

A matrix of 5,000 images by 25,000 captions as ``.npy``, and lists of the best 100 in both directions, as run
files of TREC and as JSON. Scores are random, and those of annotated pairs a little higher. Each is evaluated
by a process of its own, with intervals.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tools.benchmarks.recorded import record
from workbench.data.images import raise_no_image
from workbench.records import Split
from workbench.runs.run_files import LISTS, best_pairs, write_pairs

MEASURE = """
import json, sys, time
from pathlib import Path
import workbench as wb
from tools.benchmarks.bench_elsewhere import split_of
split = split_of(int(sys.argv[1]), int(sys.argv[2]))
wb.evaluate
def peak():
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 2**20
before = peak()
start = time.process_time()
result = wb.evaluate(data=split, **json.loads(sys.argv[3]))
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "peak": peak(), "before": before, "r1": result["t2i/R@1"]}))
"""


def split_of(images: int, captions: int) -> Split:
    """Ids as those of MS-COCO, without images."""
    names = tuple(f"COCO_val2014_{row:012}.jpg" for row in range(images))
    texts = tuple(str(100_000 + row) for row in range(captions))
    own = np.arange(captions) * images // captions
    return Split("coco-sized", names, texts, texts, own, raise_no_image)


def main(images: int = 5_000, captions: int = 25_000, k: int = 100) -> None:
    """Write the figures: seconds of the processor, and peaks in GiB.

    Args:
        images: of the gallery.
        captions: of the gallery.
        k: items of a list.
    """
    split = split_of(images, captions)
    scores = np.random.default_rng(0).standard_normal((images, captions), dtype=np.float32)
    scores[split.own, np.arange(captions)] += 2
    figures = {"images": images, "captions": captions, "k": k}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "scores.npy", scores)
        sources: dict[str, dict[str, object]] = {"matrix": {"scores": str(folder / "scores.npy")}}
        for form, ending in (("trec", "run"), ("json", "json")):
            files = []
            for way in ("i2t", "t2i"):
                file = folder / f"{way}.{ending}"
                write_pairs(file, best_pairs(scores, split, way, k), LISTS, decimals=True)
                files.append(str(file))
            sources[form] = {"runs": files}
        del scores
        for form, source in sources.items():
            command = [sys.executable, "-c", MEASURE, str(images), str(captions), json.dumps(source)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            measured = json.loads(output.splitlines()[-1])
            sys.stdout.write(f"{form}: {measured}\n")
            sys.stdout.flush()
            figures |= {f"{form}_{name}": measured[name] for name in ("seconds", "peak", "before")}
    record("elsewhere", figures)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
