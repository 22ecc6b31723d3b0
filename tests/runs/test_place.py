"""Runs are below the folder in which the user stands, in a terminal and in a kernel alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

from workbench.io import SERVER, format_from_user, user_folder
from workbench.runs import place
from workbench.runs import store as runs


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the user stands, with a notebooks folder below it."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kernel(user: Path) -> Iterator[BlockingKernelClient]:
    """A kernel as JupyterLab starts it: in the folder of its notebook."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(user / "notebooks"))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_in_a_terminal_runs_are_below_the_working_folder(user: Path):
    assert user_folder() == Path.cwd() == user
    assert place.runs_folder() == Path("runs")
    assert runs.new_run("nb", {}).parent == user / "runs" / "nb"
    assert format_from_user(user / "runs" / "nb") == "runs/nb"


def test_a_kernel_writes_to_the_runs_of_the_folder_where_its_server_was_started(
    user: Path, kernel: BlockingKernelClient
):
    code = (
        "from workbench.runs import store\n"
        "folder = store.run_folder('nb', '', {'a': 1})\n"
        "assert store.find(f'runs/nb/{folder.name}').folder == store.find('last').folder == folder\n"
        "store.publish(folder, {'value': 1})\n"
        "import workbench as wb\n"
        "wb.evaluate(images=[[1, 0], [0, 1]], texts=[[1, 0], [0, 1]], own=[0, 1], rounds=0).save('runs/mine')"
    )
    shown = []

    def hook(message: dict) -> None:
        if message["msg_type"] == "display_data":
            shown.append(message["content"]["data"]["text/plain"])

    reply = kernel.execute_interactive(code, timeout=60, output_hook=hook)
    assert reply["content"]["status"] == "ok", reply["content"]
    run = runs.find("last", "runs/nb")
    assert (user / "runs" / "mine" / runs.RESULTS).is_file()
    assert run.results == {"value": 1}
    assert not (user / "notebooks" / "runs").exists()
    assert f"results: runs/nb/{run.id}/results.json" in shown[0]
    assert f"in {user}" in shown[0]


def test_a_kernel_reads_paths_from_the_folder_where_its_server_was_started_and_then_from_its_own(
    user: Path, kernel: BlockingKernelClient
):
    for folder, caption in (("photos", "a cat"), ("notebooks/photos", "a dog"), ("notebooks/more", "a cow")):
        (user / folder).mkdir()
        (user / folder / "captions.csv").write_text(f"image,caption\n1.png,{caption}\n")
    code = (
        "from workbench import data\n"
        "captions = [data.load(name, require_images=False).captions for name in ('photos', './more')]\n"
        "assert captions == [('a cat',), ('a cow',)], captions\n"
        "data.require_existing('flickr8k', {'root': 'photos'})"
    )
    reply = kernel.execute_interactive(code, timeout=60)
    assert reply["content"]["status"] == "ok", reply["content"]


def test_a_command_says_the_folder_of_all_runs_to_the_kernels_of_the_server_that_it_starts(
    user: Path, monkeypatch: pytest.MonkeyPatch
):
    with place.serving("mine"):
        assert place.runs_folder() == Path("runs"), "a command has its own words for it"
        monkeypatch.setenv(SERVER, str(os.getppid()))
        assert place.runs_folder() == user / "mine"
    assert place.VARIABLE not in os.environ


def test_a_process_that_did_not_start_this_one_is_no_server(user: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SERVER, "999999999")
    assert user_folder() == user
