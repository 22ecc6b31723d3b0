"""A short form of ``tests/fuzz``: whatever is wrong with a file, its reader says so in its own error."""

from __future__ import annotations

import pytest

from tools import fuzz
from tools.fuzz import damage
from tools.fuzz.readers import READERS

INPUTS = 150


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_by_name(name: str, tmp_path):
    reader = READERS[name]
    file, _ = reader.lay_out(tmp_path)
    valid = (tmp_path / file).read_bytes()
    assert fuzz.outcome(reader, tmp_path, file, valid) == (True, "")
    numbers = [*fuzz.FELL.get(name, ()), *range(INPUTS)]
    assert fuzz.run(name, numbers).fell == {}


def test_an_input_is_made_again_by_its_number():
    assert damage.damaged([b"a: 1"], 7) == damage.damaged([b"a: 1"], 7)
    assert len({damage.damaged([b"seed: 1, lr: 2"], number) for number in range(100)}) > 60


def test_the_record_has_no_undocumented_error():
    rows = fuzz.recorded()
    assert set(rows) == set(READERS)
    assert {name: row["undocumented"] for name, row in rows.items() if row["undocumented"] != "0"} == {}
