"""A table of texts, as a page that needs nothing but itself: aligned to the left, long texts broken, no
markup of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.views.plots.theme import escape

# the class twice: a notebook page aligns all cells to the right by a rule of two classes
STYLE = """<style>
.listing { border-collapse: collapse; font: 13px system-ui, sans-serif; color: inherit; background: transparent; }
.listing caption { text-align: left; font-size: 15px; padding: 4px 0 8px; color: inherit; white-space: nowrap; }
table.listing.listing td, table.listing.listing th { border-top: 1px solid rgba(128, 128, 128, .4); padding: 5px 14px 5px 0; }
table.listing.listing td, table.listing.listing th { text-align: left; vertical-align: top; background: transparent; }
table.listing.listing td { white-space: normal; overflow-wrap: anywhere; min-width: 7em; max-width: 32em; }
</style>"""
LONGEST = 600


def listing(columns: Mapping[str, Sequence[str]], *, title: str, most: int = 40) -> str:
    """Texts in columns, one line a row.

    Args:
        columns: heading -> texts, all of the same number.
        title: what the table shows.
        most: the first so many rows are shown; the title says how many there are.

    Returns:
        HTML with all texts escaped; one of more than 600 letters is cut, with a mark.

    Raises:
        ValueError: the columns differ in length.

    >>> print(listing({"text": ["a <b>"]}, title="Texts").removeprefix(STYLE))
    <table class="listing"><caption>Texts: 1</caption><tr><th scope="col">text</th></tr><tr><td>a &lt;b&gt;</td></tr></table>
    """
    rows = list(zip(*columns.values(), strict=True))
    shown = "" if len(rows) <= most else f", the first {most} shown"
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(text)}</td>' for text in row)}</tr>" for row in rows[:most])
    return f'{STYLE}<table class="listing"><caption>{escape(title)}: {len(rows)}{shown}</caption><tr>{heads}</tr>{body}</table>'


def _cell(text: str) -> str:
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 2] + " …")
