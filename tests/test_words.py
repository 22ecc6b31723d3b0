"""Prose is short and plain: README, changelog, documentation, data cards, notebooks with the help of their
parameters, the tour, the help of the command line and page templates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean

import pytest
import spacy
import typer

from workbench.cli import app
from workbench.execution.parameters import inspect

ROOT = Path(__file__).parent.parent
# words in a sentence: of all prose on average, of one file on average, of any sentence
OVERALL, ONE_FILE, LONGEST = 15, 17, 30
# what grids wrote of their runs
RECORDED = ("docs/tables_flickr8k.md",)
# of the table "not | but" in the project's rules of style
FORBIDDEN = re.compile(
    r"\b(told apart|tells? .{1,40} apart|held (to|against)|is best with|(its )?own (caption|image)"
    r"|puts? first|stands? in the contract|asked how many|binary labels?)\b",
    re.IGNORECASE,
)
NLP = spacy.blank("en")
NLP.add_pipe("sentencizer")


def paragraphs(markdown: str) -> Iterator[str]:
    """Paragraphs and items of lists as plain text: no code, formulas, tables, headings or front matter."""
    text = re.sub(r"^---\n.*?\n---\n", "", markdown, flags=re.DOTALL)
    text = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^\s*(\||#|!\[|<).*$", "\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block.strip().lstrip("-* "))
        yield " ".join(re.sub(r"[*_>]", "", re.sub(r"`[^`]*`", "code", plain)).split())


def cells(markdown: str) -> Iterator[str]:
    """The cells of tables: they may be long, but no sentence in them is."""
    for line in re.findall(r"^\s*\|(.*)\|\s*$", markdown, flags=re.MULTILINE):
        for cell in re.sub(r"`[^`]*`", "code", line).split("|"):
            yield from (part.strip() for part in cell.split(";"))


def sentences(texts: Iterable[str]) -> list[tuple[int, str]]:
    """Every sentence with its number of words; those under three words are names."""
    found = [sentence.text for text in texts for sentence in NLP(text).sents]
    counted = [(sum(bool(re.search(r"\w", word)) for word in text.split()), text) for text in found]
    return [(words, text) for words, text in counted if words >= 3]


def markdown_of(path: Path) -> str:
    """The prose of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        prose = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return "\n\n".join([*map("".join, prose), *(parameter.help for parameter in inspect(path).values())])
    if path.suffix == ".yaml":
        return "\n\n".join(re.findall(r"^ *(?:says|title): (.*(?:\n      .*)*)", text, flags=re.MULTILINE))
    if path.suffix == ".j2":
        kept = re.sub(r"<(script|style).*?</\1>|\{[#%{].*?[#%}]\}", " ", text, flags=re.DOTALL)
        return "\n\n".join(re.findall(r">([^<>]+)<", kept))
    return text


def help_of(command: object, name: str = "workbench") -> Iterator[str]:
    """The help of a command, of its options and of all commands below it."""
    yield str(getattr(command, "help", None) or "")
    yield from (str(getattr(option, "help", None) or "") for option in getattr(command, "params", ()))
    for below in getattr(command, "commands", {}).values():
        yield from help_of(below, name)


FILES = [
    path
    for pattern in (
        "*.md", "docs/**/*.md", "data_cards/*.md", "packages/*/*.md", "notebooks/*.ipynb",
        "workbench/**/*.j2", "packages/**/*.j2", "workbench/tour/*.yaml",
    )
    for path in sorted(ROOT.glob(pattern))
    if str(path.relative_to(ROOT)) not in RECORDED
]  # fmt: skip
TEXTS = {str(path.relative_to(ROOT)): markdown_of(path) for path in FILES}
TEXTS["help"] = "\n\n".join(help_of(typer.main.get_command(app)))


@pytest.mark.parametrize("name", TEXTS)
def test_sentences_are_short_and_words_are_those_of_the_field(name: str) -> None:
    found = sentences(paragraphs(TEXTS[name]))
    every = [*found, *sentences(cells(TEXTS[name]))]
    assert [text for words, text in every if words > LONGEST] == []
    assert not found or mean(words for words, _ in found) <= ONE_FILE
    assert [text for _, text in every if FORBIDDEN.search(text)] == []


def test_a_sentence_is_short_on_average() -> None:
    assert mean(words for text in TEXTS.values() for words, _ in sentences(paragraphs(text))) <= OVERALL


def test_what_is_no_prose_is_not_counted() -> None:
    text = (
        "# A title\n\n| a | table |\n\nOne `a b` two three. Four five\nsix.\n\n- An item of [a list](x.md)."
    )
    assert [words for words, _ in sentences(paragraphs(text))] == [4, 3, 5]
    assert [*cells("| a | table; with `code` |")] == ["a", "table", "with code"]
    assert FORBIDDEN.search("DITM is not told apart from SAM")
    assert FORBIDDEN.search("`rsum` tells 36 of 55 pairs apart")
