"""The numbers that the five papers print, as data: 2,940 values with their protocol, their errors, and what
compares with what.

``load`` filters them, ``wide`` puts one row of a paper's table on one line, ``sums`` holds every printed sum
against its parts, and ``why_not`` says whether a number of one's own was measured as they were.
"""

from workbench.metrics.published.protocols import PROTOCOLS, Protocol, folds_of, why_not
from workbench.metrics.published.remarks import CONTRADICTED, beside, marked, remarks
from workbench.metrics.published.sums import sums, warnings
from workbench.metrics.published.values import COLUMNS, LABELS, load, wide

__all__ = [
    "COLUMNS", "CONTRADICTED", "LABELS", "PROTOCOLS", "Protocol", "beside", "folds_of", "load", "marked", "remarks", "sums",
    "warnings", "why_not", "wide",
]  # fmt: skip
