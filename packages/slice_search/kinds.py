"""Errors by kind: what the wrong first answer of a query lacks of the caption.

"Of the queries whose first answer is wrong, the share whose answer lacks a thing, an attribute, a count, a
relation or the scene that the caption states. An answer can lack several. *Binding* is an answer that has
every statement, and not of the same things: a red dog and a big dog, where the caption has a big red dog.
*Nothing* is an answer of which the whole caption is true, though it is not annotated."

Where the data know the truth (the synthetic scenes), it decides. Elsewhere the image's own captions do, read
by the caption parser: then *binding* is not known and counts as *nothing*, and what no caption mentions
counts as lacking. ``judge_accuracy`` says how often that is right, by the truth of scenes and by a reader of
photographs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from slice_search.statements import (
    KINDS,
    GroundTruth,
    Judge,
    StatedByCaptions,
    has_truth,
    lacking,
    statements_of,
)
from workbench.metrics.intervals import Draws, percentile_interval, wilson
from workbench.records import Mask, Rows, Split, Values, require
from workbench.registry import require_known
from workbench.runs.errors import first_answers
from workbench.runs.result import Result
from workbench.runs.ways import WAYS, Way

BINDING, NOTHING = "binding", "nothing"
ALL_KINDS = (*KINDS, BINDING, NOTHING)
TRUTH, CAPTIONS = "ground truth", "captions"
ASSETS = Path(__file__).parent / "assets"
ACCURACY = ASSETS / "error_kinds.tsv"
PHOTOGRAPHS, PHOTOGRAPHS_LABELS = ASSETS / "error_kinds_photographs.tsv", ASSETS / "photograph_labels.tsv"


@dataclass(frozen=True)
class ErrorKinds:
    """Errors of models by kind.

    Args:
        table: a row a kind and model: ``kind``, ``model``, ``share`` of its errors with interval ``low`` to
            ``high``, ``errors`` of this kind, ``of`` all errors, ``queries``.
        errors: a row an error: ``model``, ``query``, ``answer`` (ids), the kinds as numbers of statements.
        judged_by: ``"ground truth"`` or ``"captions"``.
        direction: of the queries.
    """

    table: pd.DataFrame
    errors: pd.DataFrame
    judged_by: str
    direction: Way


def error_kinds(
    runs: Sequence[Result], direction: Way = "t2i", *, judgements: str = "own", judged_by: str = ""
) -> ErrorKinds:
    """Count the wrong first answers of models by what they lack.

    Args:
        runs: of one split.
        direction: whether captions or images are the queries; of an image, the caption that comes first is
            the one whose statements the image lacks.
        judgements: name of those that say which first answers are wrong.
        judged_by: ``"ground truth"`` or ``"captions"``; empty = the truth where the data know it.

    Raises:
        ValueError: no run, or no ground truth of statements.
        KeyError: no such direction or judgements.
    """
    require(runs, "no run is given; name one")
    split = runs[0].split
    require_known("errors are counted in no direction", direction, WAYS)
    require_known(f"{split.name} has no judgements", judgements, split.judgements)
    judge, name = make_judge(split, judged_by)
    rows, errors = [], []
    for run in runs:
        answers = first_answers(run, direction, judgements)
        queries = np.flatnonzero(~np.isnan(answers.rank))
        # a ranked list may name no item but ground truths
        wrong = (answers.rank > 1)[queries] & (answers.answer >= 0)[queries]
        missed = queries[wrong]
        items = answers.answer[missed]
        images, captions = (items, missed) if direction == "t2i" else (missed, items)
        numbers = kinds_of_pairs(judge, split, images, captions)
        errors.append(_as_table(run.name, split, direction, missed, items, numbers))
        rows += _rows(run.name, split, direction, queries, wrong, numbers)
    return ErrorKinds(pd.DataFrame(rows), pd.concat(errors, ignore_index=True), name, direction)


def make_judge(split: Split, judged_by: str = "") -> tuple[Judge, str]:
    """Return the judge of a split, and its name."""
    name = judged_by or (TRUTH if has_truth(split) else CAPTIONS)
    require_known("errors are judged by no", name, (TRUTH, CAPTIONS), ValueError)
    if name == TRUTH:
        return GroundTruth(split), name
    return StatedByCaptions(split.captions, split.own), name


def kinds_of_pairs(judge: Judge, split: Split, images: Rows, captions: Rows) -> Values:
    """Return ``(N, 7)`` what each image lacks of a caption, by ``ALL_KINDS``; 1 for binding and nothing. A
    row is NaN where something of it is not known.
    """
    numbers = np.zeros((len(images), len(ALL_KINDS)))
    numbers[:, : len(KINDS)] = lacking(judge, images, captions)
    for row in np.flatnonzero(numbers.sum(axis=1) == 0).tolist():
        whole = judge.graphs[int(captions[row])]
        bound = isinstance(judge, GroundTruth) and judge.holds(whole, int(images[row])) is False
        numbers[row, ALL_KINDS.index(BINDING if bound else NOTHING)] = 1
    return numbers


def _as_table(
    name: str, split: Split, direction: Way, queries: Rows, answers: Rows, numbers: Values
) -> pd.DataFrame:
    """Return a row an error."""
    ids = (split.image_ids, split.caption_ids)
    query_ids, answer_ids = ids if direction == "i2t" else ids[::-1]
    table = pd.DataFrame({"model": name, "query": [query_ids[row] for row in queries.tolist()]})
    table["answer"] = [answer_ids[row] for row in answers.tolist()]
    return table.assign(**dict(zip(ALL_KINDS, numbers.T, strict=True)))


def _rows(
    name: str, split: Split, direction: Way, queries: Rows, wrong: Mask, numbers: Values
) -> list[dict[str, object]]:
    """Return a row a kind, with the share of the errors and its interval over images."""
    draws = Draws(split.own, len(split.image_ids))
    image_rows = queries if direction == "i2t" else split.own[queries]
    known = ~np.isnan(numbers).any(axis=1)
    rows: list[dict[str, object]] = []
    for column, kind in enumerate(ALL_KINDS):
        lacks = (numbers[known, column] > 0).astype(np.float64)
        of_errors = image_rows[wrong][known]
        value = draws.value(lacks, of_errors)
        low, high = percentile_interval(draws.resample(lacks, of_errors))
        if low == high and len(lacks):
            low, high = draws.wilson(lacks, of_errors, 1.0)
        count = {"errors": int(lacks.sum()), "of": len(lacks), "queries": len(queries)}
        rows.append({"kind": kind, "model": name, "share": value, "low": low, "high": high, **count})
    return rows


def agreement(split: Split, images: Rows, captions: Rows) -> pd.DataFrame:
    """Compare the judge by captions with the truth, on pairs of data that know it.

    Args:
        split: with ground truth of statements.
        images: ``(N,)`` image of each pair.
        captions: ``(N,)`` its caption.

    Returns:
        A row a kind: ``pairs`` whose caption states something of it, ``agreement`` = share on which both say
        alike that something of it lacks or does not, ``precision`` = share truly lacking of those that the
        judge calls lacking, ``recall`` = share that it calls lacking of those truly lacking.
    """
    truth = lacking(GroundTruth(split), images, captions) > 0
    judged = lacking(StatedByCaptions(split.captions, split.own), images, captions) > 0
    stated = _stated_kinds(split, captions)
    rows = []
    for column, kind in enumerate(KINDS):
        real, called = (side[stated[:, column], column] for side in (truth, judged))
        rows.append(_agreement_row(kind, real, called))
    return pd.DataFrame(rows)


def _agreement_row(kind: str, real: Mask, called: Mask) -> dict[str, object]:
    """Return how a judge agrees with what is real about one kind."""
    precision = float(real[called].mean()) if called.any() else np.nan
    recall = float(called[real].mean()) if real.any() else np.nan
    row = {"kind": kind, "pairs": len(real), "agreement": float((real == called).mean())}
    return row | {"precision": precision, "recall": recall}


def reader_agreement(judge: Judge, images: Rows, captions: Rows, labels: Sequence[str]) -> pd.DataFrame:
    """Hold a judge against a reader who looked at images.

    Args:
        judge: of the images and captions.
        images: ``(N,)`` image of each pair.
        captions: ``(N,)`` its caption.
        labels: ``(N,)`` kinds that the reader found lacking, between spaces; ``"nothing"`` for none.

    Returns:
        A row a kind, and one for whether anything lacks (``any``): ``pairs``, ``lacking`` = those that lack
        it by the reader, ``agreement`` with Wilson's interval ``low`` to ``high``, ``precision`` and
        ``recall`` of the judge.
    """
    judged: Mask = np.asarray(lacking(judge, images, captions) > 0)
    named = [set(label.split()) for label in labels]
    rows = []
    for column, kind in enumerate(KINDS):
        real = np.array([kind in kinds for kinds in named])
        rows.append(_agreement_row(kind, real, judged[:, column]) | {"lacking": int(real.sum())})
    real = np.array([NOTHING not in kinds for kinds in named])
    rows.append(_agreement_row("any", real, np.asarray(judged.any(axis=1))) | {"lacking": int(real.sum())})
    table = pd.DataFrame(rows)
    ends = [wilson(share, len(labels)) for share in table["agreement"]]
    table["low"], table["high"] = zip(*ends, strict=True)
    return table[["kind", "pairs", "lacking", "agreement", "low", "high", "precision", "recall"]]


def _stated_kinds(split: Split, captions: Rows) -> Values:
    """Return ``(N, 5)`` whether captions state something of each kind, by the graphs of the data."""
    stated = np.zeros((len(captions), len(KINDS)), dtype=bool)
    for row, caption in enumerate(captions.tolist()):
        for statement in statements_of((split.caption_graphs or ())[caption]):
            stated[row, KINDS.index(statement.kind)] = True
    return stated


def judge_accuracy(file: Path = ACCURACY) -> Mapping[str, tuple[float, float, float]]:
    """Return kind -> agreement, precision and recall of the judge by captions, as recorded.

    Args:
        file: ``ACCURACY``, against the truth of the scenes, or ``PHOTOGRAPHS``, against a reader.
    """
    table = pd.read_csv(file, sep="\t", comment="#")
    numbers = table[["agreement", "precision", "recall"]].to_numpy().tolist()
    return {kind: (*row,) for kind, row in zip(table["kind"], numbers, strict=True)}
