"""Files that appear whole, and folders with one writer: other processes are real ones, and they die."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from workbench import io as writing
from workbench.io import only_writer, replacing

HOLD = """
import sys, time
from workbench.io import only_writer
with only_writer(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held(folder):
    """Another process writes into the folder while the block runs, and is killed."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            yield process.pid
        finally:
            process.kill()


def test_a_second_process_is_refused_with_the_name_of_the_first_and_a_dead_one_blocks_nobody(tmp_path):
    with (
        held(tmp_path) as first,
        pytest.raises(BlockingIOError, match=f"being written by process {first} on .* since 20.*; wait"),
        only_writer(tmp_path),
    ):
        pass
    with only_writer(tmp_path), only_writer(tmp_path):
        assert str(os.getpid()) in (tmp_path / writing.WRITER).read_text()
    assert not (tmp_path / writing.WRITER).exists()
    with held(tmp_path):
        pass


def test_what_a_killed_process_left_half_written_is_removed_by_the_next_and_what_a_live_one_writes_is_not(
    tmp_path,
):
    file = tmp_path / "a.json"
    kill = (
        "import os, sys; from workbench.io import replacing\n"
        "with replacing(sys.argv[1]) as half: half.write_text('1'); os.kill(os.getpid(), 9)"
    )
    died = subprocess.run([sys.executable, "-c", kill, str(file)], check=False)
    assert died.returncode == -9
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.[0-9a-f]{8}-\d+-[0-9a-f]{8}\.a\.json", left.name)
    with replacing(file) as mine, replacing(file) as other:
        assert mine != other
        mine.write_text("1")
        other.write_text("2")
        assert not left.exists()
    assert (file.read_text(), list(tmp_path.iterdir())) == ("1", [file])
