"""What the marks beside the methods mean, which rows compare with which, and where the papers contradict one
another.
"""

from __future__ import annotations

import pandas as pd

from workbench.metrics.published.sums import warnings
from workbench.metrics.published.values import ROW

QUOTED = "rows of other methods are quoted from their papers and read bottom-up region features; only rows of one text encoder compare"
COMPARABLE = {
    "DITM": "the baselines are the authors' own runs with CLIP's ViT and GPO pooling: the rows of one backbone compare",
    "CORA": f"{QUOTED} (the heading says which); [†] marks the mean of two models",
    "DIAS": f"{QUOTED} (the heading says which); * marks the mean of two models",
    "AAHR": f"{QUOTED}, which the table does not state; * marks the mean of two models",
    "SAM": "† marks the authors' re-run of another method; a method with + SAM compares with its own † row",
}
MARKS = {
    "DITM": {"*": "extra augmentation"},
    "CORA": {"[†]": "mean of two models", "(ensemble)": "mean of two models"},
    "DIAS": {"*": "mean of two models"},
    "AAHR": {"*": "mean of two models"},
    "SAM": {"†": "the authors' re-run"},
}
# paper, table, dataset, method -> what other tables or the text say
CONTRADICTED = {
    ("AAHR", "1", "MS-COCO 1K", "NAAF*"): "CORA and DIAS print 80.5 ... 527.2 for this row",
    ("CORA", "2", "MS-COCO 1K", "NAAF [†]"): "AAHR prints 78.1 ... 521.2 for this row",
    ("DIAS", "1", "MS-COCO 1K", "NAAF*"): "AAHR prints 78.1 ... 521.2 for this row",
    ("AAHR", "1", "MS-COCO 1K", "AAHR"): "the row of bank size 2,048; the text says 4,096 on MS-COCO",
    ("AAHR", "2", "MS-COCO 5K", "AAHR"): "the row of bank size 2,048; the text says 4,096 on MS-COCO",
}


def marked(paper: str, method: str) -> str:
    """What the mark at a method's name means in this paper; empty where there is none.

    Args:
        paper: that prints the row.
        method: as printed.

    >>> marked("DIAS", "NAAF*"), marked("DITM", "PCME++*"), marked("DITM", "DITM")
    ('mean of two models', 'extra augmentation', '')
    """
    return next((meaning for sign, meaning in MARKS[paper].items() if sign in method), "")


def remarks(rows: pd.DataFrame) -> dict[str, str]:
    """Which rows compare with one another, for each paper among the rows.

    Args:
        rows: what ``load`` gave.

    Returns:
        Paper -> one sentence, in the order of the rows.
    """
    return {str(paper): COMPARABLE[str(paper)] for paper in dict.fromkeys(rows["paper"])}


def beside(rows: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """What to say beside each row: what its mark means, where it is contradicted, and a warning where its sum
    does not add up.

    Args:
        rows: what ``load`` gave.

    Returns:
        ``(paper, table, dataset, protocol, group, method)`` -> text, empty where there is nothing to say; one
        entry a row of a paper's table, in their order. A warning begins with a warning sign.
    """
    wrong = warnings(rows)
    out = {}
    for key in dict.fromkeys(rows[list(ROW)].itertuples(index=False, name=None)):
        paper, table, dataset, _, _, method = key
        warning = f"\N{WARNING SIGN} {wrong[key]}" if key in wrong else ""
        told = (warning, CONTRADICTED.get((paper, table, dataset, method), ""), marked(paper, method))
        out[key] = "; ".join(text for text in told if text)
    return out
