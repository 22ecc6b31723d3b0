"""Kills trainings, notebook runs and grids at random moments, and looks at what is left.

Run: ``python -m tools.soak --kills 200``; the counts go to ``tests/soak.tsv`` after every command that has
ended well, and a later soak goes on with them. SIGKILL and SIGTERM go to the command or to any process that
it has started (workers, kernels); now and then the disk is full, or read-only, while it runs (where a small
file system can be mounted). A command that was stopped is given again until it ends well. Then its results
must be those of one that nobody disturbed, every arm must have run once, and no process, no unreadable file
and no temporary file may be left.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat
import psutil

from workbench.runs import store as runs
from workbench.training.checkpoint import LAST

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".tsv")
MARK = "WORKBENCH_SOAK"
CONFIG = {
    "data": "scenes", "train_images": 32, "val_images": 16, "test_images": 16, "objective": "vsepp",
    "epochs": 3, "batch_size": 8, "device": "cpu", "checkpoint_every": 1,
}  # fmt: skip
TRAINS = "from workbench import Config, train\nresult = train(Config(**config, seed=seed), folder=out)"
SLEEPS = 'import time\ntime.sleep(1)\nvalues = {"seed": seed, "metrics": {"rsum": float(seed)}}'
# seconds in which processes must be gone, and in which a command must end that was not the one killed
GONE, ENDS = 45, 600
# of all disturbances, those of the disk
DISK = 0.1
NAMES = ("train", "run", "grid")


def notebook(path: Path, cell: str, results: str) -> Path:
    """A notebook of one working cell."""
    parameters = 'seed: int = 0  # seed\nconfig: dict = {}  # fields\nout: str = ""  # run folder'
    sources = ("from workbench.runs import store as runs", parameters, cell, f"runs.publish(out, {results})")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, path)
    return path


def commands(home: Path, root: Path) -> dict[str, list[str]]:
    """What is disturbed: the words after ``workbench``, by name."""
    (home / "config.json").write_text(json.dumps(CONFIG))
    (home / "grid.yaml").write_text(json.dumps({"grid": {"seed": [1, 2, 3]}}))
    trains = notebook(home / "trains.ipynb", TRAINS, "result.as_dict(), seed=seed")
    sleeps = notebook(home / "sleeps.ipynb", SLEEPS, "values, seed=seed")
    out = root / "train" / "one"
    resume = ["--resume"] if (out / LAST).is_file() else []
    return {
        "train": ["train", str(home / "config.json"), "--out", str(out), *resume],
        "run": ["run", str(trains), "--root", str(root), "-p", f"config={json.dumps(CONFIG)}"],
        "grid": ["grid", str(sleeps), str(home / "grid.yaml"), "--jobs", "2", "--skip-existing",
                 "--root", str(root)],
    }  # fmt: skip


def start(words: Sequence[str], mark: str) -> psutil.Popen:
    """The command, in a process whose descendants can be told by their environment."""
    command = [sys.executable, "-m", "workbench", *words]
    env = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT)}
    return psutil.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def marked(mark: str) -> list[psutil.Process]:
    """All processes that a command has started and that have not ended."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def kill(process: psutil.Popen, mark: str, draw: random.Random) -> str:
    """Send a signal to the command or to one of its processes."""
    victim = draw.choice([process, *marked(mark)])
    number = draw.choice([signal.SIGKILL, signal.SIGTERM])
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        victim.send_signal(number)
    return f"{number.name} to {'the command' if victim.pid == process.pid else 'one of its processes'}"


@contextmanager
def disturbed(disk: Path, how: str) -> Iterator[None]:
    """A disk that is full or read-only."""
    ballast = disk / "ballast"
    if how == "full":
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(b"\0" * 65536):
                pass
    else:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=False, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=False, capture_output=True)
        ballast.unlink(missing_ok=True)


def wait_until_gone(mark: str) -> None:
    """Wait for all processes of a command.

    Raises:
        AssertionError: some are left.
    """
    until = time.monotonic() + GONE
    while left := marked(mark):
        assert time.monotonic() < until, f"left: {[process.cmdline() for process in left]}"
        time.sleep(0.5)


def results(root: Path) -> dict[str, object]:
    """The results of every good run, times aside, by its parameters; an arm that ran twice is refused."""
    listed = runs.list_runs(root)
    assert not [run.status for run in listed if run.status.startswith(runs.UNREADABLE)]
    good = [run for run in listed if run.status == "ok"]
    found = {json.dumps(run.params, sort_keys=True): timeless(run.results) for run in good}
    assert len(found) == len(good), "an arm has run twice"
    return found


def timeless(found: Any) -> Any:
    """JSON values without the seconds that they took."""
    if isinstance(found, dict):
        return {name: timeless(value) for name, value in found.items() if name != "seconds"}
    return [timeless(value) for value in found] if isinstance(found, list) else found


class Soak:
    """One soak.

    Args:
        home: a folder for everything.
        seed: of the moments and of the processes.
        names: of the commands.
        done: what was done before.
    """

    def __init__(
        self, home: Path, seed: int, names: Sequence[str] = NAMES, done: Mapping[str, int] | None = None
    ) -> None:
        self.home, self.names, self.draw = home, names, random.Random(seed)
        self.done = Counter(done or {})
        self.disk = home / "disk"
        self.disk.mkdir(parents=True)
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk], capture_output=True, check=False
        )
        self.mounted = made.returncode == 0

    def run(self, kills: int, minutes: float = 600, say: Callable[[Counter[str]], None] = len) -> None:
        """Disturb all commands in turn.

        Args:
            kills: signals to send.
            minutes: after which no new command is begun.
            say: is told what was done so far, after every command that ended well.
        """
        until, expected, seconds = time.monotonic() + 60 * minutes, {}, {}
        for name in self.names:
            root, began = self.home / "undisturbed" / name, time.monotonic()
            ended = start(commands(self.home, root)[name], name)
            said = ended.communicate()[0]
            assert ended.returncode == 0, said.decode()
            expected[name], seconds[name] = results(root), time.monotonic() - began
        try:
            for number in itertools.count():
                for name in self.names:
                    if self.signals() >= kills or time.monotonic() > until:
                        return
                    root = self.disk / f"{number}" / name
                    self.disturb(name, root, expected[name], seconds[name])
                    shutil.rmtree(root)
                    say(self.done)
        finally:
            if self.mounted:
                subprocess.run(["umount", "-l", self.disk], check=False)

    def signals(self) -> int:
        """How many signals were sent."""
        return sum(times for what, times in self.done.items() if what.startswith("SIG"))

    def disturb(self, name: str, root: Path, expected: dict[str, object], seconds: float) -> None:
        """Stop a command and give it again until it has ended well, and look at what it leaves."""
        for number in itertools.count():
            mark = f"{os.getpid()}-{root.parent.name}-{name}-{number}"
            if self.mounted and self.draw.random() < DISK:
                self.spoil(commands(self.home, root)[name], mark)
            else:
                self.interrupt(commands(self.home, root)[name], mark, seconds)
            wait_until_gone(mark)
            # one that was killed after it had written everything has ended well too
            if (found := results(root)).keys() == expected.keys():
                break
        assert found == expected, f"{name}: other results than undisturbed"
        left = [str(file) for file in root.rglob(".*-*-*.*") if not file.name.endswith(".lock")]
        assert not left, f"temporary files are left: {left}"
        self.done[f"{name} ended well"] += 1

    def spoil(self, words: Sequence[str], mark: str) -> None:
        """Give a command while the disk is full or read-only."""
        how = self.draw.choice(["full", "read-only"])
        with disturbed(self.disk, how):
            said = start(words, mark).communicate(timeout=ENDS)[0].decode()
            wait_until_gone(mark)
        assert "Bus error" not in said
        assert "Traceback" not in said, said
        self.done[f"disk {how}"] += 1

    def interrupt(self, words: Sequence[str], mark: str, seconds: float) -> None:
        """Give a command and send it a signal at some moment, unless it has ended by then."""
        process = start(words, mark)
        with suppress(psutil.TimeoutExpired):
            process.wait(self.draw.uniform(0, seconds))
        if process.poll() is None:
            self.done[kill(process, mark, self.draw)] += 1
        said = process.communicate(timeout=ENDS)[0].decode()
        assert process.returncode is not None, said


def recorded(path: Path = TABLE) -> dict[str, int]:
    """What the table says."""
    lines = path.read_text(encoding="utf-8").splitlines()[2:] if path.is_file() else []
    return {what: int(times) for what, times in (line.split("\t") for line in lines)}


def write(done: Mapping[str, int], path: Path = TABLE) -> None:
    """Write what was done, and print it."""
    rows = [f"{what}\t{times}" for what, times in sorted(done.items())]
    path.write_text("\n".join(["# python -m tools.soak", "what\ttimes", *rows]) + "\n", encoding="utf-8")
    print(time.strftime("%H:%M:%S"), dict(done), flush=True)


def main() -> None:
    """Soak, and record what was survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="signals to send, those recorded counted")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--minutes", type=float, default=600, help="after which no new command is begun")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        soak = Soak(Path(folder) / "soak", given.seed, done=recorded())
        soak.run(given.kills, given.minutes, write)


if __name__ == "__main__":
    main()
