"""The explorer as a page that needs nothing but itself: answers made beforehand, linked with each other by
plain script.

It reads without kernel, network or trust. With script one chooses a question, pins an item, walks towards the
root and reads the edits; without it the first question stands there as plain HTML.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.io import write_text
from workbench.views.explorer.answers import Answer, Item
from workbench.views.explorer.panels import Panel, installed_panels, panel_scripts, panel_styles
from workbench.views.explorer.questions import MARKS
from workbench.views.pages import fill_template, join_scripts

HERE = Path(__file__).parent
PARTS = ("parts.js",)
SCRIPTS = ("query_table.js", "selection.js", "query_list.js", "static_queries.js", "static.js")
TITLE = "What each run retrieves"


def html(
    answers: Sequence[Answer],
    *,
    title: str = TITLE,
    panels: Sequence[type[Panel]] | None = None,
    queries: Mapping[str, Any] | None = None,
) -> str:
    """Return the answers as a piece of a page, for the output of a notebook's cell.

    Args:
        answers: questions and what the runs answer, with their thumbnails in them; the first one is shown
            first.
        title: heading; escaped, as is every string of the answers.
        panels: whose part of the answers is shown; ``None`` = those of installed packages.
        queries: all queries of the data by direction, see ``queries.Queries.for_page``; ``None`` = none.

    Returns:
        HTML with style, script and thumbnails inside it; each thumbnail once.

    Raises:
        ValueError: no answer.
    """
    if not answers:
        raise ValueError("a page needs at least one answer")
    panels = installed_panels() if panels is None else panels
    thumbnails: dict[str, str] = {}
    for answer in answers:
        thumbnails |= answer.thumbnails
    shown = {key: thumbnails.pop(key) for key in answers[0].keys}
    records = [{**answer.as_dict(), "thumbnails": {}} for answer in answers]
    script = "\n".join([join_scripts(HERE, PARTS), panel_scripts(panels), join_scripts(HERE, SCRIPTS)])
    return fill_template(
        "views/explorer/static.html.j2",
        title=title,
        answer=answers[0],
        first=sorted(answers[0].items, key=_best_rank),
        marks=MARKS,
        thumbnails=shown,
        panel_style=Markup(panel_styles(panels)),
        script=Markup(script),
        data={"marks": MARKS, "answers": records, "thumbnails": thumbnails, "queries": queries or {}},
    )


def write(
    path: Path | str,
    answers: Sequence[Answer],
    *,
    title: str = TITLE,
    panels: Sequence[type[Panel]] | None = None,
    queries: Mapping[str, Any] | None = None,
) -> Path:
    """Write the answers as a page of their own, light or dark as the reader's system is; the file appears
    whole or not at all.

    Args:
        path: of the page.
        answers: see ``html``.
        title: see there.
        panels: see there.
        queries: see there.

    Returns:
        The path.
    """
    from workbench.execution.report import pages_near  # slow to import

    names = answers[0].runs if answers else ()
    body = html(answers, title=", ".join(names), panels=panels, queries=queries)
    return write_text(
        Path(path),
        fill_template(
            "views/explorer/static_page.html.j2", title=title, body=body, links=pages_near(Path(path))
        ),
    )


def _best_rank(item: Item) -> int:
    return min((rank for rank in item.ranks if rank is not None), default=0)
