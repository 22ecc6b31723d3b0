"""Does what the README says, in its order, as a reader with 40 photographs would: the check of a base
install.

    .venv/bin/python -m tools.readme

Commands and code run in a new folder with what the README takes for granted: ``photos/`` and its table of
captions, ``images.npy``, ``texts.npy``, ``scores.npz``, ``clip.pt`` and ``my_clip/``. Each is named with its
seconds. One that fails or shows a traceback is printed whole, and the exit code is 1. Left out are the
commands that make the environment, that download weights, and the tests.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LIMIT = 900
PHOTOGRAPHS, CAPTIONS = 40, 2
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:workbench|jupyter lab) \S")
CALL = re.compile(r"(?:wb|result|(workbench[\w.]+)\.\w+)\b.*\(")
OBJECTIVE = re.compile(r'(?:-p objective=)?("?[\w.+*]+:\w+"?)')
SAVED = re.compile(r"Save this as `(\S+)`:\s*$")
OTHERWISE = re.compile(r"(.*wb\.(?:open_model|load_data)\()[^)]*(\).*?)\s+#(?:.*;)? or (.+)")
OTHER = 'other = wb.evaluate(images="images.npy", texts="texts.npy", data="photos/")'
SERVERS = ("workbench explore", "jupyter lab")
MADE_ELSEWHERE = re.compile(r"-m venv|pip install|pytest|:openai")
ADDRESS = re.compile(r"http://(?:localhost|127\.0\.0\.1)\S+")


@dataclass(frozen=True)
class Step:
    """One thing that the README says to do.

    Args:
        kind: ``"bash"``, ``"python"``, or the name of a file to save.
        text: the command or the code.
    """

    kind: str
    text: str

    @property
    def title(self) -> str:
        """Its first line of code."""
        return self.text.strip().splitlines()[0] if self.kind in ("bash", "python") else self.kind


def read_steps(readme: str) -> list[Step]:
    """Read the commands and the code of a README, those within its sentences too, in their order."""
    steps, end, script = list[Step](), 0, ""
    for block in (*BLOCK.finditer(readme), None):
        prose = readme[end : block.start() if block else len(readme)]
        spans = [" ".join(span.split()) for span in SPAN.findall(prose)]
        calls = [span for span in spans if CALL.match(span)]
        if script:
            steps.append(Step("python", "\n".join([script, *_otherwise(script), OTHER, *calls])))
        else:
            steps += [Step("python", f"import {_module(call)}\n{call}") for call in calls]
        steps += _commands(spans, steps)
        if block is None:
            return steps
        saved, script = SAVED.search(prose), ""
        if saved:
            steps.append(Step(saved[1], block[2]))
        elif block[1] == "python":
            script = block[2]
        else:
            steps += [Step("bash", part) for line in block[2].splitlines() for part in line.split(" && ")]
        end = block.end()
    return steps


def _module(call: str) -> str:
    """The module of a call that is written with its whole name."""
    match = CALL.match(call)
    return (match and match[1]) or "workbench as wb"


def _otherwise(script: str) -> list[str]:
    """The lines of a script that comments end, with the arguments that these name: ``# or "photos/"``."""
    return [OTHERWISE.sub(r"\1\3\2", line) for line in script.splitlines() if OTHERWISE.fullmatch(line)]


def _commands(spans: list[str], steps: list[Step]) -> Iterator[Step]:
    """Commands within sentences; an objective alone is trained as the README's last command trains one."""
    trained = [step.text for step in steps if step.text.startswith("workbench train")]
    for span in spans:
        objective = OBJECTIVE.fullmatch(span)
        if COMMAND.match(span):
            yield Step("bash", span)
        elif objective and trained:
            yield Step("bash", re.sub(r"objective=\S+", f"objective={objective[1]}", trained[-1]))


def lay_out(place: Path) -> None:
    """Write what a reader brings into a folder: photographs with captions, vectors, scores, and a CLIP's
    weights.
    """
    import numpy as np
    import open_clip
    import torch

    (place / "photos").mkdir()
    with (place / "photos" / "captions.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "caption"])
        for number, (image, captions) in enumerate(_photographs()):
            image.save(place / "photos" / f"{number:02}.jpg")
            table.writerows([f"{number:02}.jpg", caption] for caption in captions)
    drawn = np.random.default_rng(0)
    for name, rows in {"images": PHOTOGRAPHS, "texts": PHOTOGRAPHS * CAPTIONS}.items():
        np.save(place / f"{name}.npy", drawn.normal(size=(rows, 512)).astype(np.float32))
    scores = drawn.normal(size=(PHOTOGRAPHS, PHOTOGRAPHS * CAPTIONS)).astype(np.float32)
    np.savez(place / "scores.npz", scores=scores)
    torch.manual_seed(0)
    torch.save(open_clip.create_model("ViT-B-32").half().state_dict(), place / "clip.pt")
    _save_clip(place / "my_clip")
    (place / "notebooks").symlink_to(ROOT / "notebooks")
    (place / ".venv").symlink_to(sys.prefix)


def _save_clip(folder: Path) -> None:
    """Save a small CLIP, with a word for each letter, as transformers does."""
    import transformers

    folder.mkdir()
    letters = [letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", "</w>")]
    words = {word: number for number, word in enumerate(["<|startoftext|>", "<|endoftext|>", *letters])}
    (folder / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    side = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = side | {"vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 1}
    vision = side | {"image_size": 32, "patch_size": 16}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    size = {"shortest_edge": 32}
    images = transformers.CLIPImageProcessor(size=size, crop_size={"height": 32, "width": 32})
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)


def _photographs() -> Iterator[tuple[Any, list[str]]]:
    """Photographs with captions: of Flickr8k where it is, else parts of the two that scikit-learn brings."""
    from PIL import Image

    flickr8k = Path(os.environ.get("WORKBENCH_DATA", "")) / "flickr8k"
    if (table := flickr8k / "Flickr8k.token.txt").is_file():
        rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
        for number in range(0, 5 * PHOTOGRAPHS, 5):
            name = rows[number][0].partition("#")[0]
            captions = [caption for _, caption in rows[number : number + CAPTIONS]]
            yield Image.open(flickr8k / "images" / name), captions
        return
    from sklearn.datasets import load_sample_image

    for name in ("china", "flower"):
        whole = Image.fromarray(load_sample_image(f"{name}.jpg"))
        for number in range(PHOTOGRAPHS // 2):
            left, top = 100 * (number % 5), 80 * (number // 5)
            about = f"part {number} of the photograph {name}"
            yield whole.crop((left, top, left + 200, top + 160)), [about, f"{about}, seen from {left}, {top}"]


def surroundings(place: Path) -> dict[str, str]:
    """The environment of a reader who has just installed: no data, no cache, and a server that opens no
    window.
    """
    home = place / "home"
    (home / ".jupyter").mkdir(parents=True)
    server = {"ServerApp": {"allow_root": True, "open_browser": False}}
    (home / ".jupyter" / "jupyter_server_config.json").write_text(json.dumps(server), encoding="utf-8")
    ours = ("WORKBENCH_", "XDG_", "JUPYTER", "PYTHON", "HF_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"HOME": str(home), "PATH": f"{place / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@dataclass
class Reader:
    """Does steps in a folder.

    Args:
        place: the folder.
        environment: of the commands.
        runs: folders of runs that commands have named.
    """

    place: Path
    environment: Mapping[str, str]
    runs: list[str] = field(default_factory=list)

    def does(self, step: Step) -> str:
        """Do one step; what went wrong, and nothing where all went well."""
        if step.kind not in ("bash", "python"):
            (self.place / step.kind).write_text(step.text, encoding="utf-8")
            return ""
        text = step.text
        for run in self.runs:
            text = re.sub(r"\bRUN\b", run, text, count=1)
        if text.startswith(SERVERS):
            return self.serves(text)
        words = [sys.executable, "-c", text] if step.kind == "python" else ["bash", "-c", text]
        return self.runs_to_its_end(words)

    def runs_to_its_end(self, words: list[str]) -> str:
        """Run a command; its output where it fails or shows a traceback."""
        with self._started(words) as (process, log), suppress(subprocess.TimeoutExpired):
            process.wait(LIMIT)
        output = log.read_text(encoding="utf-8", errors="replace")
        for line in output.splitlines():
            folder = Path(line.rpartition("  ")[2])
            if folder.is_absolute() and (folder / "run.json").is_file():  # a model, or numbers of one
                self.runs.append(str(folder))
        good = process.returncode == 0 and "Traceback (most recent call last)" not in output
        return (
            ""
            if good
            else f"{output}\nexit code {process.returncode}; below 0 it was stopped after {LIMIT} s"
        )

    def serves(self, command: str) -> str:
        """Start a server, ask for its page and stop it; a notebook that it was opened on is run."""
        with self._started(["bash", "-c", command]) as (server, log):
            wrong = _asked(server, log)
        notebook = log.read_text(encoding="utf-8").partition("\n")[0]
        if wrong or not notebook.endswith(".ipynb"):
            return wrong
        return self.runs_to_its_end(["jupyter", "execute", notebook])

    @contextmanager
    def _started(self, words: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A command with the file of its output; whatever it has started ends with the block."""
        log = self.place / "output.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                words, cwd=self.place, env=self.environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            yield process, log
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _asked(server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the address of a server in its log and fetch the page; what went wrong."""
    for _ in range(LIMIT):
        time.sleep(1)
        said = log.read_text(encoding="utf-8")
        if server.poll() is not None:
            return f"{said}\nit ended with exit code {server.returncode}"
        if address := ADDRESS.search(said):
            with urllib.request.urlopen(address[0], timeout=60) as page:
                return "" if page.status == 200 else f"{address[0]} answered {page.status}"
    return f"{said}\nafter {LIMIT} s it had named no address"


def main() -> int:
    """Do every step; the number of those that failed."""
    failed, begun = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="readme-") as folder:
        place = Path(folder).resolve()
        lay_out(place)
        reader = Reader(place, surroundings(place))
        for step in read_steps((ROOT / "README.md").read_text(encoding="utf-8")):
            if step.kind == "bash" and MADE_ELSEWHERE.search(step.text):
                continue
            start = time.monotonic()
            wrong = reader.does(step)
            print(
                f"{time.monotonic() - start:5.0f} s  {'FAILED' if wrong else 'ok    '}  {step.title}",
                flush=True,
            )
            if wrong:
                failed += 1
                print(wrong, flush=True)
    print(f"{time.monotonic() - begun:5.0f} s  {failed} failed")
    return failed


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
