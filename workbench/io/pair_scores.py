"""Scores of pairs that are kept on the disk while they are computed, so that what was killed goes on."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.io.cache import open_database
from workbench.io.checksums import ChecksumError

TABLE = (
    "CREATE TABLE IF NOT EXISTS pairs (image INTEGER, text INTEGER, score REAL, checksum INTEGER, "
    "PRIMARY KEY (image, text)) WITHOUT ROWID"
)
# odd numbers that spread the bits of what they are multiplied by
MIX = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))

Stamps = NDArray[np.int64]
Scores = NDArray[np.float32]


class PairScores:
    """Scores of pairs in a database, which several processes may share. A pair is known by the checksums of
    its image and of its text, so that other data with the same pairs, or more of them, find it.

    Args:
        file: of the database; it belongs to one model.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self, images: Stamps, texts: Stamps) -> Scores:
        """Return the scores ``(N,)`` of pairs, NaN where one is not known.

        Args:
            images: ``(N,)`` checksum of the image of each pair.
            texts: ``(N,)`` of its text.

        Raises:
            ChecksumError: the database is damaged.
        """
        out = np.full(len(images), np.nan, np.float32)
        if not self.file.is_file():
            return out
        names, which = np.unique(images, return_inverse=True)
        order = np.argsort(which, kind="stable")
        parts = np.split(order, np.searchsorted(which[order], np.arange(1, len(names))))
        with open_database(self.file, TABLE) as opened:
            for name, part in zip(names.tolist(), parts, strict=True):
                question = "SELECT text, score, checksum FROM pairs WHERE image = ? ORDER BY text"
                rows = opened.execute(question, [name]).fetchall()
                if rows:
                    self._fill_scores(out, part, name, rows, texts)
        return out

    def _fill_scores(
        self, out: Scores, part: NDArray[Any], image: int, rows: list[Any], texts: Stamps
    ) -> None:
        """Write the scores of one image to where they belong."""
        known = np.array([row[0] for row in rows], np.int64)
        scores = np.array([row[1] for row in rows], np.float32)
        sums = np.array([row[2] for row in rows], np.int64)
        if (sums != _row_checksums(np.full_like(known, image), known, scores)).any():
            raise ChecksumError(f"{self.file} is damaged; delete it, its scores are computed again")
        place = np.searchsorted(known, texts[part]).clip(max=len(known) - 1)
        hits = known[place] == texts[part]
        out[part[hits]] = scores[place[hits]]

    def add(self, images: Stamps, texts: Stamps, scores: Scores) -> None:
        """Keep scores ``(N,)`` of pairs; NaN is not kept.

        Args:
            images: ``(N,)`` checksum of the image of each pair.
            texts: ``(N,)`` of its text.
            scores: ``(N,)``.

        Raises:
            ChecksumError: the database is damaged or cannot be written.
        """
        fine = ~np.isnan(scores)
        columns = images[fine], texts[fine], scores[fine].astype(np.float32)
        rows = zip(*(column.tolist() for column in (*columns, _row_checksums(*columns))), strict=True)
        with open_database(self.file, TABLE) as opened:
            opened.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?)", rows)


def _row_checksums(images: Stamps, texts: Stamps, scores: Scores) -> Stamps:
    """Return ``(N,)`` a number of 31 bits that depends on every bit of a row."""
    bits = np.ascontiguousarray(scores, np.float32).view(np.uint32).astype(np.uint64)
    mixed = images.view(np.uint64) * MIX[0] ^ texts.view(np.uint64) * MIX[1] ^ bits * MIX[2]
    sums: Stamps = (mixed >> np.uint64(33)).astype(np.int64)
    return sums
