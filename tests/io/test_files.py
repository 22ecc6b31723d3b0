"""Files that appear whole, and folders with one writer: other processes are real ones, and they die."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager, suppress

import pytest

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
            yield
        finally:
            process.kill()


def test_a_second_process_is_refused_and_a_dead_one_blocks_nobody(tmp_path):
    message = f"{tmp_path} is being written by another process; wait"
    with held(tmp_path), pytest.raises(BlockingIOError, match=message), only_writer(tmp_path):
        pass
    with only_writer(tmp_path), only_writer(tmp_path):
        pass


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path):
    file = tmp_path / "folder" / "a.json"
    with replacing(file) as mine, replacing(file) as other:
        mine.write_text("1")
        other.write_text("2")
    assert (file.read_text(), list(file.parent.iterdir())) == ("1", [file])
    with suppress(RuntimeError), replacing(file) as half:
        half.write_text("3")
        raise RuntimeError
    assert (file.read_text(), list(file.parent.iterdir())) == ("1", [file])
