"""Questions that are stated before they are answered.

A question is a claim with its arms, its smallest effect, its number of seeds and its budget, by a hash. It is
stated in a file that is committed before the runs: ``claims run`` answers no other, and a line of the ledger
holds the hash. A question that is asked otherwise has another hash, and its old answers count no longer.
"""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from paper_tables import claims
from paper_tables.claims import Claim
from workbench.formatting import format_count

FILE = Path(__file__).parent / "assets" / "asked.tsv"
COLUMNS = ("day", "claim", "data", "contrast", "smallest", "seeds", "hash")
Row = dict[str, Any]


def questions(chosen: Iterable[Claim], where: str) -> list[Row]:
    """Return the questions of some claims on some data, a row each, without the day."""
    rows: list[Row] = []
    for claim in chosen:
        for arms in claim.contrasts if where in claim.data else ():
            row: Row = {"claim": claim.id, "data": where, "contrast": claims.contrast_name(arms)}
            row |= {"smallest": claim.smallest, "seeds": claims.planned_seeds(claim, where)}
            rows.append(row | {"hash": claims.question_hash(claim, where, arms)})
    return rows


def stated(path: Path = FILE) -> pd.DataFrame:
    """Return every question that was ever stated, the oldest first."""
    if not path.is_file():
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.read_csv(path, sep="\t", dtype={"hash": str})


def untried(chosen: Iterable[Claim], lines: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the questions of some claims, on all their data, that no line answers.

    Args:
        chosen: claims.
        lines: of the ledger that count.
    """
    answered = {line["asked"] for line in lines if claims.is_stated(line)}
    rows: list[Row] = []
    for claim, where in product(chosen, claims.PLACES):
        rows += [row for row in questions([claim], where) if row["hash"] not in answered]
    return rows


def describe_untried(claim: Claim, lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return which questions of a claim wait, by the data that they ask."""
    left, known = untried([claim], lines), set(stated()["hash"])
    texts = {}
    for where in dict.fromkeys(row["data"] for row in left):
        rows = [row for row in left if row["data"] == where]
        status = "stated" if {row["hash"] for row in rows} <= known else "not stated"
        every = len(claim.contrasts)
        part = f"{len(rows)} of {every} contrasts " if len(rows) < every else ""
        seeds = format_count(rows[0]["seeds"], "seed")
        texts[where] = f"{part}{status}, not yet tried ({seeds})"
    return texts


def state(rows: Sequence[Row], day: str, path: Path = FILE) -> int:
    """Append questions that were not stated yet.

    Returns:
        Rows added.
    """
    known = set(stated(path)["hash"])
    new = [{"day": day} | row for row in rows if row["hash"] not in known]
    text = pd.DataFrame(new, columns=list(COLUMNS)).to_csv(
        sep="\t", index=False, header=not path.is_file(), lineterminator="\n"
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
    return len(new)


def committed(path: Path = FILE) -> set[str]:
    """Return the hashes that are stated in the last commit; outside a clone, those of the file as it is."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        shown = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        inside = subprocess.run(["git", "rev-parse"], cwd=path.parent, capture_output=True, check=False)
        return set() if inside.returncode == 0 else set(stated(path)["hash"])
    return {line.rpartition("\t")[2] for line in shown.splitlines()[1:]}


def explain_unstated(chosen: Sequence[Claim], where: str, known: set[str]) -> str:
    """Explain which claims have a question that is not stated, and how to state it; empty where all are."""
    rows = questions(chosen, where)
    names = dict.fromkeys(row["claim"] for row in rows if row["hash"] not in known)
    if not names:
        return ""
    place = claims.PLACES[where]
    return (
        f"not stated before its results: {', '.join(names)}. Run `workbench claims state {' '.join(names)} "
        f"--data {place}` and commit {FILE.name}; then run again"
    )


def has_its_seeds(line: Mapping[str, Any]) -> bool:
    """Return whether a line has as many seeds as its question was stated with."""
    claim = claims.find_claim(line["claim"])
    return len(line["seeds"]) >= claims.planned_seeds(claim, line["data"])
