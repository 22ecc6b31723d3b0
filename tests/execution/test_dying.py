"""Runs and grids of which something dies, hangs or has no room: each ends with its status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from workbench.execution import grid
from workbench.execution.notebook import NOTEBOOK, run_notebook
from workbench.runs import store as runs
from workbench.views.pages import leaderboard

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

# what the second, third, ... attempt of a run does is told by the lines of a file beside the notebook
ATTEMPT = """import os, pathlib, time
notes = pathlib.Path({notes!r})
with notes.open("a") as file:
    file.write(f"{{os.getpid()}}\\n")
attempt = notes.read_text().count("\\n")"""


def start(*words: Path | str) -> subprocess.Popen:
    """The command of these words, in a process of its own."""
    command = [sys.executable, "-m", "workbench", *map(str, words)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def started(notes: Path, attempts: int, process: subprocess.Popen) -> int:
    """Wait for the kernel of an attempt; its process number."""
    while not notes.is_file() or notes.read_text().count("\n") < attempts:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    return int(notes.read_text().split()[-1])


def gone(number: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(300):
        if not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.1)
    return False


def test_a_run_is_interrupted_killed_and_then_gone_on_with_in_its_own_folder(make_notebook, tmp_path):
    notes, root = tmp_path / "notes", tmp_path / "runs"
    path = make_notebook(ATTEMPT.format(notes=str(notes)), "time.sleep(600 if attempt < 3 else 0)")
    words = ["run", path, "--root", root]
    first = start(*words)
    kernel = started(notes, 1, first)
    first.send_signal(signal.SIGTERM)
    said = first.communicate()[1]
    assert first.returncode == 143, said
    assert "interrupted" in said
    assert "cell 1 of 6: tiny" in said
    assert gone(kernel)
    assert [run.status for run in runs.list_runs(root)] == ["interrupted"]
    second = start(*words)
    kernel = started(notes, 2, second)
    second.kill()
    second.communicate()
    assert gone(kernel)
    assert [run.status for run in runs.list_runs(root)] == ["unfinished"]
    third = start(*words)
    said = third.communicate()[1]
    assert third.returncode == 0, said
    assert [(run.status, run.results) for run in runs.list_runs(root)] == [("ok", {"seed": 0})]
    assert not [file for file in root.rglob(".*") if not file.name.endswith(".lock")]


def test_a_run_killed_between_its_results_and_its_end_is_gone_on_with_in_its_own_folder(
    make_notebook, tmp_path
):
    notes, root = tmp_path / "notes", tmp_path / "runs"
    publishes = 'runs.publish(out, {"seed": seed}, seed)'
    # the kernel notes its attempt once the results are there
    path = make_notebook(
        publishes, ATTEMPT.format(notes=str(notes)), "time.sleep(600 if attempt < 2 else 0)", publishes=False
    )
    words = ["run", path, "--root", root]
    first = start(*words)
    kernel = started(notes, 1, first)
    first.kill()
    first.communicate()
    assert gone(kernel)
    assert [run.status for run in runs.list_runs(root)] == ["unfinished"]
    second = start(*words)
    said = second.communicate()[1]
    assert second.returncode == 0, said
    assert [(run.status, run.results) for run in runs.list_runs(root)] == [("ok", {"seed": 0})]


def test_a_notebook_that_hangs_is_ended_at_its_time_limit(make_notebook, tmp_path):
    notes = tmp_path / "notes"
    path = make_notebook(ATTEMPT.format(notes=str(notes)), "time.sleep(600)")
    result = run_notebook(path, root=tmp_path / "runs", time_limit=5)
    assert (result.status, result.exit_code) == ("timeout", 124)
    assert "after the time limit of 5 seconds" in result.error
    # on a busy machine the kernel may not have come so far
    assert not notes.is_file() or gone(int(notes.read_text()))
    assert runs.read(result.folder).status == "timeout"


def test_a_full_disk_leaves_no_torn_notebook_and_is_told_in_one_line(make_notebook, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True)
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.decode().strip()}")
    try:
        result = run_notebook(make_notebook("print('x' * 2_000_000)"), root=disk)
        assert (result.status, result.exit_code) == ("failed:4", 1)
        assert "No space left on device" in result.error
        assert "\n" not in result.error
        assert not (result.folder / NOTEBOOK).exists()
        assert runs.read(result.folder).status == "failed:4"
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


ALL = ["fine", "raises", "hangs", "dies"]
# the time limit is kept by the same function under every executor
FEW = (ALL, [0, 1, 2]) if os.environ.get("WORKBENCH_LONG") else (["fine", "raises", "dies"], [1])
DOES = """import os, pathlib, time
file = pathlib.Path({folder!r}) / f"{{objective}}{{seed}}"
first = not file.exists()
file.touch()
if (objective, seed) == ("raises", 1):
    1 / 0
if (objective, seed) == ("hangs", 1):
    time.sleep(600)
if (objective, seed) == ("dies", 1) and first:
    os.kill({victim}, 9)"""
PUBLISHES = 'runs.publish(out, {"objective": objective, "seed": seed, "metrics": {"rsum": 1.0}}, seed)'


@pytest.mark.parametrize(
    ("name", "options", "names", "seeds"),
    [
        ("local", {"jobs": 2}, ALL, [0, 1, 2]),
        # with twelve runs where WORKBENCH_LONG is set
        ("submitit", {"timeout_min": 30}, *FEW),
        ("dask", {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}, *FEW),
    ],
)
# what these libraries leave to the garbage collector is not ours
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_all_runs_of_a_grid_end_of_which_one_raises_one_hangs_and_ones_worker_is_killed(
    make_notebook, tmp_path, name, options, names, seeds
):
    parameters = 'objective: str = ""  # objective\nseed: int = 0  # seed\nout: str = ""  # run folder'
    # a run on this machine has a kernel that may die, on a cluster also a worker that watches it
    victim = "os.getpid()" if name == "local" else "os.getppid()"
    does = DOES.format(folder=str(tmp_path), victim=victim)
    path = make_notebook(does, PUBLISHES, parameters=parameters, publishes=False)
    described = {"grid": {"objective": names, "seed": seeds}}
    arms, root, said = grid.plan(path, described), tmp_path / "runs", []
    options = {**options, "time_limit": 30}
    done = grid.run_grid(
        path, arms, root=root, name="twelve", executor=name, options=options, say=said.append
    )
    found = {one.label: one for one in done}
    bad = {label: one.status for label, one in found.items() if one.exit_code}
    ends = {"objective=raises, seed=1": "failed:4", "objective=hangs, seed=1": "timeout"}
    assert bad == {label: status for label, status in ends.items() if label in found}, said
    traceback = found["objective=raises, seed=1"].traceback
    assert "ZeroDivisionError: division by zero" in traceback
    assert "1 / 0" in traceback
    assert sum("try 2 of 3" in line for line in said) == 1
    assert len(runs.list_runs(root)) == len(arms) == len(names) * len(seeds)
    assert leaderboard.build(root).runs == len(arms) - len(bad)
    assert not [
        child for child in psutil.Process().children(recursive=True) if "ipykernel" in child.cmdline()
    ]


def test_a_killed_grid_leaves_no_process_and_repeats_no_arm_when_started_again(make_notebook, tmp_path):
    notes, root = tmp_path / "notes", tmp_path / "runs"
    path = make_notebook(ATTEMPT.format(notes=str(notes)), "time.sleep(3)")
    (tmp_path / "grid.yaml").write_text(json.dumps({"grid": {"seed": [1, 2, 3, 4]}}))
    words = ["grid", path, tmp_path / "grid.yaml", "--jobs", "2", "--skip-existing", "--root", root]
    first = start(*words)
    started(notes, 3, first)
    children = psutil.Process(first.pid).children(recursive=True)
    first.kill()
    first.communicate()
    assert children
    assert all(gone(child.pid) for child in children)
    again = start(*words)
    said = again.communicate()[1]
    assert again.returncode == 0, said
    found = runs.list_runs(root)
    assert sorted(run.params["seed"] for run in found) == [1, 2, 3, 4]
    assert {run.status for run in found} == {"ok"}


def test_a_grid_that_is_asked_to_end_ends_its_kernels_and_its_arms_can_be_resumed(make_notebook, tmp_path):
    notes, root = tmp_path / "notes", tmp_path / "runs"
    path = make_notebook(ATTEMPT.format(notes=str(notes)), "time.sleep(600)")
    (tmp_path / "grid.yaml").write_text(json.dumps({"grid": {"seed": [1, 2, 3]}}))
    process = start("grid", path, tmp_path / "grid.yaml", "--jobs", "2", "--root", root)
    started(notes, 2, process)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 143, said
    assert all(gone(int(line)) for line in notes.read_text().split())
    assert [run.status for run in runs.list_runs(root)] == ["killed", "killed"]
