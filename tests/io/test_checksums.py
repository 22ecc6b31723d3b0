"""Checksums: what they refuse, and that a cache is made once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep

import numpy as np
import pytest

from tests.damage import KINDS, damage
from workbench.io import (
    ChecksumError,
    cached_file,
    checksum,
    checksums,
    update_checksums,
    verify_checksums,
    write_checksums,
)


@pytest.fixture
def kept(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(4, 3))
    write_checksums(tmp_path / "sums.json", [tmp_path / "rows.npy"], {"lr": 0.1})
    return tmp_path / "sums.json", tmp_path / "rows.npy"


def test_a_checksum_is_of_the_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(checksums, "BLOCK", 4)
    (tmp_path / "a").write_bytes(b"0123456789")
    blocks = b"".join(hashlib.sha256(block).digest() for block in (b"0123", b"4567", b"89"))
    assert checksum(tmp_path / "a") == hashlib.sha256(blocks).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_by_name_with_the_remedy(kept, kind):
    assert verify_checksums(*kept, remedy="")["lr"] == 0.1
    for file in kept[::-1]:
        damage(file, kind)
        with pytest.raises(ChecksumError, match=f"{file.name} .*; make it again"):
            verify_checksums(*kept, remedy="make it again")


def test_what_is_missing_foreign_or_written_anew(kept):
    path, rows = kept
    np.save(rows, np.zeros((4, 3)))
    with pytest.raises(ChecksumError, match=r"rows\.npy is not what was written: it has another checksum"):
        verify_checksums(*kept, remedy="")
    update_checksums(path, rows)
    assert verify_checksums(*kept, remedy="")["lr"] == 0.1
    with pytest.raises(ChecksumError, match=r"other\.npy is not among the files of sums\.json"):
        verify_checksums(path, path.with_name("other.npy"), remedy="")
    rows.unlink()
    with pytest.raises(ChecksumError, match=r"rows\.npy is missing"):
        verify_checksums(*kept, remedy="")
    path.unlink()
    with pytest.raises(
        ChecksumError, match=r"sums\.json is missing, which says what its files were made from"
    ):
        verify_checksums(*kept, remedy="")


def test_a_cache_is_made_by_one_process_at_a_time_and_again_where_it_is_damaged(tmp_path):
    file, made, half, go = tmp_path / "a.npy", [], Event(), Event()

    def write(temporary):
        made.append(temporary.name)
        np.save(temporary, np.arange(4.0))
        half.set()
        go.wait(60)
        return {"rows": 4}

    with ThreadPoolExecutor() as threads:
        first = threads.submit(cached_file, file, write)
        assert half.wait(60)
        second = threads.submit(cached_file, file, write)
        sleep(0.2)
        assert not file.exists()
        go.set()
        assert first.result() == {"rows": 4}
        assert second.result()["rows"] == 4
    assert len(made) == 1
    damage(file, "swap")
    with pytest.warns(UserWarning, match=r"a\.npy is not what was written.*; it is made again"):
        cached_file(file, write)
    assert cached_file(file, write)["rows"] == len(made) * 2 == 4
    assert np.load(file).tolist() == [0, 1, 2, 3]
    assert {path.name for path in tmp_path.iterdir()} <= {"a.npy", "a.json", ".a.npy.lock"}
