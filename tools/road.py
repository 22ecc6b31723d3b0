"""Walks the whole road of a reader with 40 photographs, once into a pipe and once on a terminal.

    .venv/bin/python -m tools.road

From the tour to the clean-up, on what a base install has: vectors of two models compared, a training, a grid
of two objectives and two seeds with its table, the explorer's page, a metric of one's own. Each command is
named with its seconds and its longest silence. The exit code is 1 where a command fails, is silent for too
long, or two things have one name.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tools.readme import ROOT, lay_out, surroundings
from tools.silence import AT_MOST, measure

WIDTH, SEED = 64, 1
GRID = {
    "notebook": "03_train",
    "fixed": {"data": "photos/", "epochs": 2},
    "arms": {"infonce": {"objective": "infonce"}, "vsepp": {"objective": "vsepp"}},
    "grid": {"seed": [0, 1]},
}
WORKBENCH = str(Path(sys.prefix) / "bin" / "workbench")


@dataclass
class Walk:
    """Commands that run one after the other in one folder.

    Args:
        place: the folder.
        kind: "terminal" or "pipe".
        wrong: what went wrong so far.
    """

    place: Path
    kind: str
    wrong: list[str] = field(default_factory=list)

    def does(self, *words: str) -> None:
        """Run a command of the workbench and hold it to its bounds."""
        command = shlex.join(["workbench", *words])
        run = measure([WORKBENCH, *words], terminal=self.kind == "terminal", folder=self.place)
        print(f"{run.total:5.0f} s, silent for {run.seconds:4.1f} s  {command}", flush=True)
        if run.exit_code:
            self.fails(f"{command}: exit code {run.exit_code}\n{run.output[-2000:]}")
        if run.seconds > AT_MOST[self.kind]:
            self.fails(f"{command}: silent for {run.seconds:.1f} s on a {self.kind}, after {run.before!r}")

    def fails(self, sentence: str) -> None:
        """Note what is wrong, and say it at once."""
        self.wrong.append(sentence)
        print(f"FAILED  {sentence}", flush=True)

    def reads(self, *words: str) -> list[dict[str, object]]:
        """The rows that a command prints as JSON."""
        output = subprocess.check_output([WORKBENCH, *words, "--json"], cwd=self.place, text=True)
        rows = json.loads(output)
        return list(rows)

    def newest(self) -> str:
        """The run that was begun last."""
        return str(self.reads("ls")[-1]["folder"])

    def holds_apart(self, names: list[str], what: str) -> None:
        """Note names that stand for two things."""
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            self.fails(f"{what} of one name: {', '.join(twice)}")


def second_vectors(place: Path) -> None:
    """Write the vectors of a second model beside those that lie there, of another width."""
    drawn = np.random.default_rng(SEED)
    for name in ("images", "texts"):
        rows = len(np.load(place / f"{name}.npy"))
        np.save(place / f"other_{name}.npy", drawn.normal(size=(rows, WIDTH)).astype(np.float32))


def walk(road: Walk) -> None:
    """Go the whole road."""
    photographs = ["--data", "photos/"]
    road.does("tour")
    road.does("data", "photos/")
    road.does("evaluate", "--model", "ViT-B-32", "--pretrained", "clip.pt", *photographs)
    road.does("evaluate", "--images", "images.npy", "--texts", "texts.npy", *photographs)
    first = road.newest()
    road.does("evaluate", "--images", "other_images.npy", "--texts", "other_texts.npy", *photographs)
    second = road.newest()
    road.does("diff", first, second)
    road.does("errors", first, second, "--csv", "errors.csv")
    road.does("train", "-p", "objective=ditm", "-p", "data=photos/")
    trained = road.newest()
    road.does("show", trained)
    road.does("run", "07_compare", "-p", f"runs={json.dumps([first, second])}")
    road.does("grid", "--example")
    (road.place / "grid.json").write_text(json.dumps(GRID), encoding="utf-8")
    road.does("grid", "03_train", "grid.json", "--dry-run")
    road.does("grid", "03_train", "grid.json")
    road.does("table", "grid.json")
    guide = (ROOT / "docs" / "guides" / "metric.md").read_text(encoding="utf-8")
    (road.place / "my_metric.py").write_text(guide.split("```python\n")[1].split("```")[0], encoding="utf-8")
    road.does("evaluate", first, "--metrics", "my_metric:ReciprocalRank")
    road.does("build")
    road.holds_apart(labels(road.place / "runs" / "leaderboard.csv"), "rows of the leaderboard")
    road.does("explore", first, second, "--page", "answers.html")
    road.does("ls", "--size")
    road.does("rm", "--yes", *(str(row["folder"]) for row in road.reads("ls")))
    road.does("cache", "--clean", "all", "--yes")


def labels(table: Path) -> list[str]:
    """What tells the rows of a leaderboard apart: run, model, seed and what differs."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [" ".join(row.get(name, "") for name in ("split", "run", "seed", "options")) for row in rows]


def left(place: Path) -> dict[str, int]:
    """Bytes that lie below each entry of a folder."""
    sizes = dict[str, int]()
    for entry in sorted(place.iterdir()):
        if entry.is_symlink():
            continue
        files = [entry] if entry.is_file() else [path for path in entry.rglob("*") if path.is_file()]
        sizes[entry.name] = sum(path.lstat().st_size for path in files)
    return sizes


def main() -> int:
    """Walk on a pipe and on a terminal, or on one of them; 1 where something was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=AT_MOST)
    only = parser.parse_args().only
    wrong = list[str]()
    for kind in [only] if only else AT_MOST:
        with tempfile.TemporaryDirectory(prefix="road-") as folder:
            place = Path(folder).resolve()
            lay_out(place)
            second_vectors(place)
            os.environ.update(surroundings(place))
            road = Walk(place, kind)
            walk(road)
            wrong += road.wrong
            print(f"left behind on a {kind}:", left(place), flush=True)
    print(f"{len(wrong)} failed")
    return min(len(wrong), 1)


if __name__ == "__main__":
    raise SystemExit(main())
