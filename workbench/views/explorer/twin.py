"""The explorer as a page that needs nothing but itself: answers made beforehand, linked with each other by
plain script.

It reads without kernel, network or trust. With script one chooses a question, pins an item, walks towards the
root and reads the edits; without it the first question stands there as plain HTML.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.experiment import runs
from workbench.views.explorer.answers import MARKS, Answer, Item
from workbench.views.plots.theme import escape

HERE = Path(__file__).parent
TITLE = "What each run retrieves"
# a notebook page reads $...$ as mathematics; both names, since MathJax changed its own
QUIET = "tex2jax_ignore mathjax_ignore"


def html(answers: Sequence[Answer], *, title: str = TITLE) -> str:
    """The answers as a piece of a page, for the output of a notebook's cell.

    Args:
        answers: questions and what the runs answer, with their thumbnails in them; the first one is shown
            first.
        title: heading; escaped, as is every string of the answers.

    Returns:
        HTML with style, script and pictures inside it; each picture once.

    Raises:
        ValueError: no answer, a picture that an answer names is missing, or one key names two pictures.
    """
    pictures = _pictures(answers)
    first = [key for key in answers[0].keys if key in pictures]
    shown = {key: pictures.pop(key) for key in first}
    data = {"marks": MARKS, "answers": [_data(answer) for answer in answers], "pictures": pictures}
    # "<" would let a caption end the script element
    told = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f"<style>{_file('twin.css')}</style>"
        f'<section class="wbt {QUIET}" aria-label="{escape(title)}" data-lm-suppress-shortcuts="true" data-testid="twin">'
        f'<h2 class="wbt-title">{escape(title)}</h2><div class="wbt-view">{_plain(answers[0], shown)}</div>'
        f'<script type="application/json" class="wbt-data">{told}</script></section><script>{_file("twin.js")}</script>'
    )


def page(answers: Sequence[Answer], *, title: str = TITLE) -> str:
    """The answers as a whole page, light or dark as the reader's system is; for the arguments see ``html``."""
    screen = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    return (
        f'<!DOCTYPE html><html lang="en" class="wbt-page"><head><meta charset="utf-8">{screen}'
        f"<title>{escape(title)}</title></head>"
        f"<body><main>{html(answers, title=title)}</main></body></html>\n"
    )


def write(path: Path | str, answers: Sequence[Answer], *, title: str = TITLE) -> Path:
    """Write ``page`` to a file, which appears whole or not at all.

    Returns:
        The path.
    """
    return runs.write_text(Path(path), page(answers, title=title))


def _file(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _pictures(answers: Sequence[Answer]) -> dict[str, str]:
    if not answers:
        raise ValueError("a page needs at least one answer")
    pictures: dict[str, str] = {}
    for answer in answers:
        missing = [key for key in answer.keys if key not in answer.thumbnails]
        if missing:
            raise ValueError(
                f"{answer.query.label!r} shows picture {missing[0]!r}, which is not among its thumbnails"
            )
        for key in answer.keys:
            if pictures.setdefault(key, answer.thumbnails[key]) != answer.thumbnails[key]:
                raise ValueError(
                    f"two answers call different pictures {key!r}; put answers of one split on a page"
                )
    return pictures


def _data(answer: Answer) -> dict[str, Any]:
    told = answer.as_dict()
    del told["thumbnails"], told["graph"]
    return told


def _plain(answer: Answer, pictures: dict[str, str]) -> str:
    """One answer without any script, as a table with each picture once; the script takes the pictures from
    here.
    """
    left = dict(pictures)
    asked = _picture(answer.query.image, left, "the image that was asked")
    lines = "".join(_line(item, left) for item in sorted(answer.items, key=_best))
    heads = "".join(
        f'<th scope="col" dir="auto">{escape(name)}</th>' for name in ("picture", "item", *answer.runs)
    )
    rest = "".join(_picture(key, left, "") for key in list(left))
    about = (
        f"Rank and score in {answer.gallery} {escape(answer.query.seeks)}, by {escape(answer.query.measure)}."
    )
    return (
        f'<h3 dir="auto">{escape(answer.query.label)}</h3>{asked}<p dir="auto">{about} {escape(answer.note)}</p>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table><div hidden>{rest}</div>"
    )


def _best(item: Item) -> int:
    return min((rank for rank in item.ranks if rank is not None), default=0)


def _line(item: Item, left: dict[str, str]) -> str:
    caption = item.captions[0] if item.captions else item.id
    cells = "".join(
        f"<td>{'not known' if rank is None else rank}{'' if score is None else f' ({score:.3f})'}</td>"
        for rank, score in zip(item.ranks, item.scores, strict=True)
    )
    told = f'<th scope="row"><span dir="auto">{escape(caption)}</span><br>{escape(MARKS[item.mark])}</th>'
    return f"<tr><td>{_picture(item.thumbnail, left, caption)}</td>{told}{cells}</tr>"


def _picture(key: str, left: dict[str, str], alt: str) -> str:
    """The picture, the first time that it is asked for."""
    url = left.pop(key, "")
    if not url:
        return ""
    if not url.startswith("data:image/"):
        raise ValueError(
            f"picture {key!r} is no data URL of an image, so that the page would ask another place for it"
        )
    return f'<img data-key="{escape(key)}" src="{escape(url)}" alt="{escape(alt)}">'
