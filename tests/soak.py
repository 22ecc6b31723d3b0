"""Kills trainings, notebook runs and grids at random moments, and looks at what is left.

Run: ``python -m tests.soak --kills 200``. SIGKILL and SIGTERM go to the command or to any process that it has
started (workers, kernels); now and then the disk is full, or read-only, while it runs (where a small file
system can be mounted). A command that was stopped is given again until it ends well. Then its results must be
those of one that nobody disturbed, every arm must have run once, and no process, no unreadable file and no
temporary file may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import psutil

from workbench.experiment import runs
from workbench.training.checkpoint import LAST

ROOT = Path(__file__).parents[1]
MARK = "WORKBENCH_SOAK"
CONFIG = {
    "data": "scenes", "train_images": 32, "val_images": 16, "test_images": 16, "objective": "vsepp",
    "epochs": 3, "batch_size": 8, "device": "cpu", "checkpoint_every": 1,
}  # fmt: skip
TRAINS = (
    "from workbench.experiment import Config, run\nresult = run(Config(**settings, seed=seed), folder=out)"
)
SLEEPS = 'import time\ntime.sleep(1)\nvalues = {"seed": seed, "metrics": {"rsum": float(seed)}}'
# seconds in which processes must be gone, and in which a command must end that was not the one killed
GONE, ENDS = 45, 600
# of all disturbances, those of the disk
DISK = 0.1


def notebook(path: Path, cell: str, results: str) -> Path:
    """A notebook of one working cell."""
    parameters = 'seed: int = 0  # seed\nsettings: dict = {}  # fields\nout: str = ""  # run folder'
    sources = ("from workbench.experiment import runs", parameters, cell, f"runs.publish(out, {results})")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, path)
    return path


def commands(home: Path, root: Path) -> dict[str, list[str]]:
    """What is disturbed: the words after ``workbench``, by name."""
    (home / "config.json").write_text(json.dumps(CONFIG))
    (home / "grid.yaml").write_text(json.dumps({"grid": {"seed": [1, 2, 3, 4]}}))
    trains = notebook(home / "trains.ipynb", TRAINS, "result.as_dict(), seed=seed")
    sleeps = notebook(home / "sleeps.ipynb", SLEEPS, "values, seed=seed")
    out = root / "train" / "one"
    resume = ["--resume"] if (out / LAST).is_file() else []
    return {
        "train": ["train", str(home / "config.json"), "--out", str(out), *resume],
        "run": ["run", str(trains), "--root", str(root), "-p", f"settings={json.dumps(CONFIG)}"],
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
    """The results of every good run, by its parameters; an arm that ran twice is refused."""
    listed = runs.list_runs(root)
    assert not [run.status for run in listed if run.status.startswith(runs.UNREADABLE)]
    good = [(json.dumps(run.params, sort_keys=True), run.results) for run in listed if run.status == "ok"]
    assert max(Counter(key for key, _ in good).values(), default=1) == 1, "an arm has run twice"
    return dict(good)


class Soak:
    """One soak.

    Args:
        home: a folder for everything.
        kills: how many signals are sent.
        seed: of the moments and of the processes.
    """

    def __init__(self, home: Path, kills: int, seed: int) -> None:
        self.home, self.kills, self.draw = home, kills, random.Random(seed)
        self.done: Counter[str] = Counter()
        self.disk = home / "disk"
        self.disk.mkdir(parents=True)
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk], capture_output=True, check=False
        )
        self.mounted = made.returncode == 0

    def run(self) -> Counter[str]:
        """Disturb all commands in turn; what was done, counted."""
        expected, seconds = {}, {}
        for name in commands(self.home, self.home):
            root, began = self.home / "undisturbed" / name, time.monotonic()
            ended = start(commands(self.home, root)[name], name)
            said = ended.communicate()[0]
            assert ended.returncode == 0, said.decode()
            expected[name], seconds[name] = results(root), time.monotonic() - began
        rounds = 0
        try:
            while self.signals() < self.kills:
                rounds += 1
                for name in expected:
                    self.disturb(name, self.disk / f"{rounds}" / name, expected[name], seconds[name])
        finally:
            if self.mounted:
                subprocess.run(["umount", "-l", self.disk], check=False)
        return self.done

    def signals(self) -> int:
        """How many signals were sent."""
        return sum(times for what, times in self.done.items() if what.startswith("SIG"))

    def disturb(self, name: str, root: Path, expected: dict[str, object], seconds: float) -> None:
        """Stop a command and give it again until it ends well, and look at what it leaves."""
        for number in range(1000):
            mark = f"{os.getpid()}-{root.parent.name}-{name}-{number}"
            words = commands(self.home, root)[name]
            if self.mounted and self.draw.random() < DISK:
                how = self.draw.choice(["full", "read-only"])
                with disturbed(self.disk, how):
                    said = start(words, mark).communicate()[0].decode()
                assert "Bus error" not in said
                self.done[f"disk {how}"] += 1
            else:
                process = start(words, mark)
                with suppress(psutil.TimeoutExpired):
                    process.wait(self.draw.uniform(0, seconds) if self.signals() < self.kills else ENDS)
                if process.is_running() and process.poll() is None:
                    self.done[kill(process, mark, self.draw)] += 1
                process.communicate(timeout=ENDS)
                if process.returncode == 0:
                    break
            wait_until_gone(mark)
            results(root)
        wait_until_gone(mark)
        assert results(root) == expected, f"{name}: other results than undisturbed"
        left = [str(file) for file in root.rglob(".*-*-*.*") if not file.name.endswith(".lock")]
        assert not left, f"temporary files are left: {left}"
        self.done[f"{name} ended well"] += 1


def main() -> None:
    """Soak, and print what was survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="signals to send")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        print(json.dumps(Soak(Path(folder) / "soak", given.kills, given.seed).run(), indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
