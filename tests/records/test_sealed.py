"""Seals: what they refuse, and that a cache is made once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep

import numpy as np
import pytest

from tests.damage import KINDS, damage
from workbench.records import sealed
from workbench.records.sealed import SealError, check, checksum, made_once, renew, seal


@pytest.fixture
def kept(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(12.0).reshape(4, 3))
    seal(tmp_path / "seal.json", {"rows.npy": tmp_path / "rows.npy"}, {"lr": 0.1})
    return tmp_path / "seal.json", tmp_path / "rows.npy"


def test_a_checksum_is_of_the_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "BLOCK", 4)
    (tmp_path / "a").write_bytes(b"0123456789")
    blocks = b"".join(hashlib.sha256(one).digest() for one in (b"0123", b"4567", b"89"))
    assert checksum(tmp_path / "a") == hashlib.sha256(blocks).hexdigest()


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_by_name_with_the_remedy_in_the_file_and_in_the_seal(kept, kind):
    assert check(*kept, remedy="")["lr"] == 0.1
    for file in kept[::-1]:
        damage(file, kind)
        with pytest.raises(SealError, match=f"{file.name} .*; make it again"):
            check(*kept, remedy="make it again")


def test_what_is_missing_foreign_or_renewed(kept):
    path, rows = kept
    np.save(rows, np.zeros((4, 3)))
    with pytest.raises(SealError, match=r"rows\.npy is not what was written: it has another checksum"):
        check(*kept, remedy="")
    renew(path, rows)
    assert check(*kept, remedy="")["lr"] == 0.1
    with pytest.raises(SealError, match=r"other\.npy is not among the files of seal\.json"):
        check(path, path.with_name("other.npy"), remedy="")
    rows.unlink()
    with pytest.raises(SealError, match=r"rows\.npy is missing"):
        check(*kept, remedy="")
    path.unlink()
    with pytest.raises(SealError, match=r"seal\.json is missing, which says what its files were made from"):
        check(*kept, remedy="")


def test_a_cache_is_made_by_one_at_a_time_and_again_where_it_is_damaged(tmp_path):
    file, path, made, go = tmp_path / "a.npy", tmp_path / "a.json", [], Event()

    def make():
        made.append(go.wait(60))
        np.save(file, np.arange(4.0))
        seal(path, {file.name: file}, {})

    with ThreadPoolExecutor() as threads:
        both = [threads.submit(made_once, make, path, file) for _ in range(2)]
        go.set()
        assert [one.result() for one in both] == [None, None]
    assert made == [True]
    damage(file, "swap")
    with pytest.warns(UserWarning, match=r"a\.npy is not what was written.*; it is made again"):
        made_once(make, path, file)
    made_once(make, path, file)
    assert made == [True, True]
    assert np.load(file).tolist() == [0, 1, 2, 3]
    assert sorted(tmp_path.iterdir()) == [path, file]


def test_whoever_comes_while_a_cache_is_being_made_waits_and_warns_of_nothing(tmp_path):
    file, path, half, go = tmp_path / "a.npy", tmp_path / "a.json", Event(), Event()

    def make():
        np.save(file, np.arange(4.0))
        half.set()
        go.wait(60)
        seal(path, {file.name: file}, {})

    with ThreadPoolExecutor() as threads:
        first = threads.submit(made_once, make, path, file)
        assert half.wait(60)
        second = threads.submit(made_once, make, path, file)
        sleep(0.2)
        go.set()
        assert [first.result(), second.result()] == [None, None]
