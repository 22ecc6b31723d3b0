"""Where a model fails: a search for slices that are worse than the rest, or on which two models differ most,
and errors by what the answer lacks.

``find_slices`` searches the fields of a data set, its words and what its images show; ``error_kinds`` counts
wrong first answers by the kind of statement that they lack. ``search_slices`` and ``contrast`` do the same on
plain arrays.
"""

from typing import TYPE_CHECKING

from workbench.registry import lazy_getattr

if TYPE_CHECKING:
    from slice_search.candidates import Candidates, Condition, candidates_of, combine
    from slice_search.contrasts import Contrasts, adjust, contrast
    from slice_search.kinds import ErrorKinds, error_kinds
    from slice_search.report import SliceReport, find_slices
    from slice_search.search import Findings, Slice, search_slices

__all__ = [
    "Candidates",
    "Condition",
    "Contrasts",
    "ErrorKinds",
    "Findings",
    "Slice",
    "SliceReport",
    "adjust",
    "candidates_of",
    "combine",
    "contrast",
    "error_kinds",
    "find_slices",
    "search_slices",
]

MODULES = {
    **dict.fromkeys(("Candidates", "Condition", "candidates_of", "combine"), "candidates"),
    **dict.fromkeys(("Contrasts", "adjust", "contrast"), "contrasts"),
    **dict.fromkeys(("ErrorKinds", "error_kinds"), "kinds"),
    **dict.fromkeys(("SliceReport", "find_slices"), "report"),
    **dict.fromkeys(("Findings", "Slice", "search_slices"), "search"),
}
__getattr__ = lazy_getattr(__name__, MODULES)
