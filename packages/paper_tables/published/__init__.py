"""The numbers that the five papers print, as data: 2,940 values with their protocol, their errors, and what
compares with what.

``load`` filters them, ``wide_table`` puts one row of a paper's table on one line, ``printed_sums`` holds
every printed sum against its parts (six numbers and their sum, each rounded to one decimal, may differ by 7
x 0.05, no more), ``remarks_by_row`` says what is to be known about each row, and ``explain_mismatch``
whether a number of one's own was measured as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd

from workbench.formatting import format_count, format_number
from workbench.records import MetricKey, require
from workbench.registry import require_known

ROW = ("paper", "table", "dataset", "protocol", "group", "method")
COLUMNS = (*ROW, "metric", "printed", "value")
FILE = Path(__file__).parent / "values.tsv"
# the papers' numbers under the labels of our measurements; theirs are in percent
BOTH = ("i2t", "t2i")
LABELS = {f"{d}_r{k}": str(MetricKey("R", d, k=k)) for d, k in product(BOTH, (1, 5, 10))}
LABELS["rsum"] = "rsum"
LABELS |= {f"{d}_r{k}": str(MetricKey("R", d, k=k)) for d, k in product(("i2i", "t2t"), (1, 5))}
LABELS |= {f"{d}_mAPR": str(MetricKey("map_at_r", d)) for d in BOTH}
LABELS |= {f"{d}_RP": str(MetricKey("r_precision", d)) for d in BOTH}
LABELS |= {f"{part}": str(MetricKey(f"hierarcaps_traversal_{part}", "", "chains")) for part in "PR"}
LABELS["d_corr"] = str(MetricKey("d_corr_image", "", "chains"))
Filter = str | Sequence[str] | None


@cache
def _read_all() -> pd.DataFrame:
    """Return all rows in the order of the file; a dash, where a paper prints no number, is NaN."""
    rows = pd.read_csv(FILE, sep="\t", dtype=str, keep_default_na=False)
    return rows.assign(value=rows["printed"].replace("-", "nan").astype(float))


def load(
    *,
    paper: Filter = None,
    table: Filter = None,
    dataset: Filter = None,
    protocol: Filter = None,
    group: Filter = None,
    method: Filter = None,
    metric: Filter = None,
) -> pd.DataFrame:
    """Return printed values, filtered by their columns; each filter is a value, several values, or ``None``
    for all.

    Args:
        paper: ``DITM``, ``CORA``, ``DIAS``, ``SAM`` or ``AAHR``: where it is printed.
        table: number of the table as the paper writes it, e.g. ``"II"`` or ``"2"``.
        dataset: e.g. ``"MS-COCO 1K"``.
        protocol: how it was measured, e.g. ``"5-fold mean"``.
        group: heading above the rows, e.g. the backbone or the text encoder; may be empty.
        method: as printed, with its marks, e.g. ``"NAAF*"``.
        metric: e.g. ``"i2t_r1"``, ``"rsum"``.

    Returns:
        One row a value: these seven columns, ``printed`` (the text) and ``value`` (percent; NaN where the
        paper prints a dash).

    Raises:
        KeyError: a value that does not occur, with the near ones.
        ValueError: no row has all of them.

    >>> asked = {"paper": "DITM", "dataset": "MS-COCO 1K", "group": "ViT-B/32 (151M)"}
    >>> load(**asked, method="DITM", metric="rsum")["printed"].tolist()
    ['540.3']
    """
    filters = (paper, table, dataset, protocol, group, method, metric)
    wanted = {
        name: _chosen_values(name, choice) for name, choice in zip(COLUMNS, filters) if choice is not None
    }
    rows = _read_all()
    for name, values in wanted.items():
        rows = rows[rows[name].isin(values)]
    require(not rows.empty, f"no printed value has all of {wanted}; leave one out to see what there is")
    return rows.reset_index(drop=True)


def _chosen_values(name: str, choice: str | Sequence[str]) -> list[str]:
    values = [choice] if isinstance(choice, str) else list(choice)
    for value in values:
        require_known(f"published: no {name}", value, sorted(set(_read_all()[name])))
    return values


def wide_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one line for each row of a paper's table, one column a metric, in the order of the papers.

    Args:
        rows: what ``load`` gave.

    Returns:
        The values in percent, indexed by paper, table, dataset, protocol, group and method; NaN where nothing
        is printed.
    """
    table = rows.pivot(index=list(ROW), columns="metric", values="value")
    order = pd.MultiIndex.from_frame(rows[list(ROW)].drop_duplicates())
    return table.loc[order, list(dict.fromkeys(rows["metric"]))].rename_axis(columns=None)


@dataclass(frozen=True)
class Protocol:
    """What was measured on.

    Args:
        data: name in the registry of data.
        images, captions: of the test split.
        folds: 1 = one gallery of all; 5 = five galleries of consecutive images, and their mean.
        training: name in the registry of data of what the rows were trained on; empty = ``data``.
    """

    data: str
    images: int
    captions: int
    folds: int = 1
    training: str = ""

    def __str__(self) -> str:
        each = format_count(self.images // self.folds, "image")
        folds = f", the mean of {self.folds} galleries of {each}" if self.folds > 1 else ""
        training = f", trained on {self.training}" if self.training else ""
        sizes = f"{format_count(self.images, 'test image')} with {format_count(self.captions, 'caption')}"
        return f"{self.data}, {sizes}{folds}{training}"


FLICKR = Protocol("flickr30k", 1000, 5000)
WHOLE, FOLDED = Protocol("coco", 5000, 25000), Protocol("coco", 5000, 25000, 5)
# Karpathy's splits, five captions an image. What is not listed here (ablations, correlations, reduced
# training sets) is stated by its paper in too few words to be checked by counting.
PROTOCOLS = {
    ("Flickr30K", "1K test"): FLICKR,
    ("Flickr30K", "full data"): FLICKR,
    ("MS-COCO 5K", "full"): WHOLE,
    ("MS-COCO 5K", "full data"): WHOLE,
    ("MS-COCO 1K", "5-fold mean"): FOLDED,
    ("COCO->Flickr30K", "zero-shot"): Protocol("flickr30k", 1000, 5000, training="coco"),
    ("ECCV Caption", ""): Protocol("eccv_caption", 5000, 25000, training="coco"),
    ("CxC", ""): Protocol("cxc", 5000, 25000, training="coco"),
}


def folds_of(dataset: str, protocol: str, images: int) -> int:
    """Return in how many galleries to measure one's own numbers, so that they stand beside these rows.

    Args:
        dataset: of the printed rows.
        protocol: of the printed rows.
        images: of one's own test split.

    Returns:
        The protocol's number of folds where the images can be cut into so many equal parts, else 1.

    >>> folds_of("MS-COCO 1K", "5-fold mean", 5000), folds_of("MS-COCO 5K", "full", 5000)
    (5, 1)
    """
    printed_on = PROTOCOLS.get((dataset, protocol))
    return printed_on.folds if printed_on and images % printed_on.folds == 0 else 1


def explain_mismatch(
    dataset: str,
    protocol: str,
    *,
    data: str,
    images: int,
    captions: int,
    folds: int = 1,
    training: str = "",
) -> str:
    """Return why a number of one's own does not compare with the rows of a data set and protocol.

    Args:
        dataset: of the printed rows, e.g. ``"MS-COCO 1K"``.
        protocol: of the printed rows, e.g. ``"5-fold mean"``.
        data: name of one's own data set in the registry of data.
        images: images of one's own test split.
        captions: captions of one's own test split.
        folds: as one's own number was measured.
        training: name of the data set that one's own run was trained on; empty = ``data``.

    Returns:
        One sentence; empty where split, counts, folds and what was trained on agree.

    Raises:
        KeyError: nothing is printed for this data set; ValueError: nothing for it under this protocol.

    >>> explain_mismatch("MS-COCO 5K", "full", data="coco", images=5000, captions=25000)
    ''
    """
    load(dataset=dataset, protocol=protocol)  # refuses what nobody prints
    printed_on = PROTOCOLS.get((dataset, protocol))
    if printed_on is None:
        rule = protocol or "no protocol named"
        return f"the papers do not say enough about {dataset} ({rule}) to tell what compares with it"
    own = Protocol(data, images, captions, folds, "" if training == data else training)
    return "" if own == printed_on else f"the printed rows are measured on {printed_on}; yours on {own}"


TOLERANCE = 0.35
PARTS = {
    "rsum": tuple(f"{d}_r{k}" for d, k in product(BOTH, (1, 5, 10))),
    "nsum": tuple(f"{d}_n{k}" for d, k in product(BOTH, (1, 5, 10))),
    "sum": tuple(f"{d}_{part}" for d, part in product(BOTH, ("mAPR", "RP", "r1"))),
}
# paper, table, dataset, method of a sum that does not add up -> the likely reason
REASONS = {
    ("SAM", "3", "Flickr30K", "CVSE + SAM"): "a typing error: the paper's Table 4 shows about 370",
    ("AAHR", "2", "MS-COCO 5K", "VSE++"): "copied from the Flickr30K cell",
    ("DIAS", "1", "Flickr30K", "NUIF-d"): "the whole row but one cell equals SDE's row in CORA's Table 1",
    ("CORA", "1", "Flickr30K", "CORA"): "AAHR quotes 520.6",
    ("CORA", "1", "Flickr30K", "MV-VSE [†]"): "DIAS prints the same",
    ("DIAS", "1", "Flickr30K", "MV"): "CORA prints the same",
    ("AAHR", "1", "MS-COCO 1K", "VSRN++"): "text-to-image R@5 is printed as 90.4, other sources have 91.0",
}


def printed_sums(rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return every printed sum beside the sum of its printed parts.

    Args:
        rows: what ``load`` gave; ``None`` = all. A row whose sum or whose parts are not all there is left
            out.

    Returns:
        One line a sum: the row's columns, ``metric``, ``printed``, ``parts`` (their sum), ``adds_up`` (within
        0.35, what the rounding of seven numbers can do) and ``reason``, the likely one where it does not.
    """
    table = wide_table(load() if rows is None else rows)
    parts_of_sums = [pd.DataFrame(columns=["metric", "printed", "parts"], index=table.index[:0])]
    for metric, parts in PARTS.items():
        if {metric, *parts} <= set(table.columns):
            total = table[list(parts)].sum(axis=1, skipna=False)
            parts_of_sums.append(
                pd.DataFrame({"metric": metric, "printed": table[metric], "parts": total}).dropna()
            )
    out = pd.concat(parts_of_sums).reset_index()
    # 0.35 itself has no exact binary form
    adds_up = (out["printed"].astype(float) - out["parts"].astype(float)).abs() <= TOLERANCE + 1e-6
    keys = out[["paper", "table", "dataset", "method"]].itertuples(index=False, name=None)
    reasons = pd.Series([REASONS.get(key, "") for key in keys], index=out.index, dtype=object)
    return out.assign(adds_up=adds_up, reason=reasons.mask(adds_up, ""))


def sum_warnings(rows: pd.DataFrame | None = None) -> dict[tuple[str, ...], str]:
    """Return what to say beside a row whose printed sum does not add up.

    Args:
        rows: what ``load`` gave; ``None`` = all.

    Returns:
        ``(paper, table, dataset, protocol, group, method)`` -> one sentence.

    >>> list(sum_warnings(load(paper="AAHR", table="2")).values())
    ['prints rsum 409.8, its parts add up to 355.7: copied from the Flickr30K cell']
    """
    checked, out = printed_sums(rows), {}
    for line in checked[~checked["adds_up"].astype(bool)].to_dict("records"):
        printed, parts = (format_number(line[name], 1) for name in ("printed", "parts"))
        reason = f": {line['reason']}" if line["reason"] else ""
        out[tuple(line[name] for name in ROW)] = (
            f"prints {line['metric']} {printed}, its parts add up to {parts}{reason}"
        )
    return out


QUOTED = (
    "rows of other methods are quoted from their papers and read bottom-up region features; "
    "only rows of one text encoder compare"
)
# paper -> which of its rows compare with one another
COMPARABLE = {
    "DITM": "the baselines are the authors' own runs with CLIP's ViT and GPO pooling: "
    "the rows of one backbone compare",
    "CORA": f"{QUOTED} (the heading says which); [†] marks the mean of two models",
    "DIAS": f"{QUOTED} (the heading says which); * marks the mean of two models",
    "AAHR": f"{QUOTED}, which the table does not state; * marks the mean of two models",
    "SAM": "† marks the authors' re-run of another method; a method with + SAM compares with its own † row; "
    "the printed NCS (N@K, NSUM) is by SPICE, which compares with none by CIDEr-D",
}
MARKS = {
    "DITM": {"*": "extra augmentation"},
    "CORA": {"[†]": "mean of two models", "(ensemble)": "mean of two models"},
    "DIAS": {"*": "mean of two models"},
    "AAHR": {"*": "mean of two models"},
    "SAM": {"†": "the authors' re-run"},
}
# how AAHR's released code keeps the epoch of the rows that its paper prints
ON_TEST = "the epoch was chosen on the test split"
# paper, table, dataset, method -> what other tables or the text say
CONTRADICTED = {
    ("AAHR", "1", "MS-COCO 1K", "NAAF*"): "CORA and DIAS print 80.5 ... 527.2 for this row",
    ("CORA", "2", "MS-COCO 1K", "NAAF [†]"): "AAHR prints 78.1 ... 521.2 for this row",
    ("DIAS", "1", "MS-COCO 1K", "NAAF*"): "AAHR prints 78.1 ... 521.2 for this row",
    ("AAHR", "1", "MS-COCO 1K", "AAHR"): "the row of bank size 2,048; the text says 4,096 on MS-COCO",
    ("AAHR", "2", "MS-COCO 5K", "AAHR"): "the row of bank size 2,048; the text says 4,096 on MS-COCO",
    (
        "DIAS",
        "1",
        "Flickr30K",
        "DIAS",
    ): "the abstract says 4.3 to 10.2 percent of RSUM; over the best rival of "
    "each block of Tables 1 and 2 it is 0.2 to 5.4 points",
    (
        "SAM",
        "2",
        "F30K 10%",
        "CVSE+SAM",
    ): "the text says almost three times the row before; RSUM is 2.2 times it",
    ("SAM", "3", "Flickr30K", "VSRN+SAM"): "the text says better by every metric; i2t N@1 falls from 60.3 to "
    "60.2, i2t N@5 falls from 62.9 to 62.7",
    (
        "SAM",
        "3",
        "Flickr30K",
        "SGR+SAM",
    ): "the text says better by every metric; i2t R@5 falls from 92.9 to 92.4",
    (
        "SAM",
        "3",
        "Flickr30K",
        "CVSE + SAM",
    ): "the text says better by every metric; t2i N@10 falls from 55.5 to 55.3",
    (
        "SAM",
        "3",
        "MS-COCO 1K",
        "CVSE+SAM",
    ): "the text says a greater gain on Flickr30K; RSUM gains 10.1 here, 7.3 there",
    (
        "AAHR",
        "4",
        "Flickr30K",
        "3 Local+MDM+PGA",
    ): "the text says that PGA helps most metrics; t2i R@1 falls from "
    "63.0 to 62.1, t2i R@5 falls from 86.7 to 86.2, t2i R@10 falls from 92.0 to 91.8",
    (
        "AAHR",
        "4",
        "Flickr30K",
        "4 Local+MDM+PGA+NSI",
    ): "the text says that NSI helps R@10; i2t R@10 falls from 98.4 to 97.8",
    (
        "AAHR",
        "4",
        "Flickr30K",
        "8 Global+MDM+PGA+NSI",
    ): "the text says that NSI helps R@10; i2t R@10 falls from 98.3 to 98.2",
    (
        "AAHR",
        "4",
        "Flickr30K",
        "10 all, with GGLA",
    ): "the text says that GGLA helps throughout; t2i R@1 falls from "
    "73.1 to 72.9, i2t R@10 falls from 99.6 to 99.4",
    (
        "AAHR",
        "6",
        "COCO->Flickr30K",
        "AAHR",
    ): "t2i R@5 and R@10 exceed those of the row trained on Flickr30K, 92.4 and 95.7",
}


def mark_meaning(paper: str, method: str) -> str:
    """Return what the mark at a method's name means in this paper; empty where there is none.

    Args:
        paper: that prints the row.
        method: as printed.

    >>> mark_meaning("DIAS", "NAAF*"), mark_meaning("DITM", "PCME++*"), mark_meaning("DITM", "DITM")
    ('mean of two models', 'extra augmentation', '')
    """
    return next((meaning for sign, meaning in MARKS[paper].items() if sign in method), "")


def remarks_by_row(rows: pd.DataFrame) -> dict[tuple[str, ...], str]:
    """Return what to say beside each row: what its mark means, where it is contradicted, and a warning where
    its sum does not add up.

    Args:
        rows: what ``load`` gave.

    Returns:
        ``(paper, table, dataset, protocol, group, method)`` -> text, empty where there is nothing to say; one
        entry a row of a paper's table, in their order. A warning begins with a warning sign.
    """
    wrong, out = sum_warnings(rows), {}
    for key in dict.fromkeys(rows[list(ROW)].itertuples(index=False, name=None)):
        paper, table, dataset, _, _, method = key
        warning = f"\N{WARNING SIGN} {wrong[key]}" if key in wrong else ""
        chosen = ON_TEST if (paper, "AAHR" in method) == ("AAHR", True) else ""
        remarks = (
            warning,
            CONTRADICTED.get((paper, table, dataset, method), ""),
            mark_meaning(paper, method),
            chosen,
        )
        out[key] = "; ".join(filter(None, remarks))
    return out
