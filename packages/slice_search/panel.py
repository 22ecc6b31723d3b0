"""The slices on which the first run is worse, or on which the first two differ most, with captions to ask."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from slice_search.report import TYPICAL, SliceReport, find_slices
from workbench.views.explorer import Panel, Question


class Slices(Panel):
    """Lists slices with typical captions; one that is chosen is asked."""

    name = "slices"
    title = "Slices: where a run is worse, or two differ"

    def answer(self, question: Question, settings: Any, watched: int | None) -> Mapping[str, Any]:
        """Return the slices of the first run, or of the first two; they are searched once."""
        return self._searched

    @cached_property
    def _searched(self) -> Mapping[str, Any]:
        runs = [answerer.run for answerer in self.engine.answerers[:2]]
        try:
            report = find_slices(*runs)
        except ValueError as error:
            return {"title": "", "summary": str(error), "slices": [], "thumbnails": []}
        slices = _slices(report)
        images: dict[str, None] = {}
        for part in slices:
            images |= dict.fromkeys(query["thumbnail"] for query in part["queries"])
        about = {"title": report.title, "summary": report.summary()}
        return about | {"slices": slices, "thumbnails": list(images)}


def _slices(report: SliceReport) -> list[dict[str, Any]]:
    """Return the slices as the script draws them."""
    slices = []
    for part, texts in zip(report.findings.slices, report.rows(), strict=True):
        queries = []
        for row in report.typical_queries(part, TYPICAL).tolist():
            own = str(int(report.split.own[row]))
            queries.append({"row": row, "text": report.split.captions[row], "thumbnail": own})
        label, effect, _, _, count, *_ = texts
        address = report.selection(part).fragment
        slices.append(
            {"label": label, "effect": effect, "count": count, "queries": queries, "address": address}
        )
    return slices
