"""The sentences below an answer: of how many images the question is true, and which words nobody knows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.formatting import format_count
from workbench.records import Truth
from workbench.text.words import words
from workbench.views.explorer.questions import Question, Term, parser, sentence

SUM = "A sum is true of an image if every added sentence is true of it and no subtracted one is."
FOLDED = (
    "Captions that read the same are shown once, with their number (×3) and the best of their ranks; the "
    "next rank counts them all."
)
# signals that read whole words, by a vocabulary that was fitted on the training captions
READERS = ("tokens", "graph_tokens")


def truth_line(truth: Truth, pins: Sequence[int] = ()) -> str:
    """Of how many images a question is true, whether of the pinned ones, and what words mean nothing here."""
    holds = truth.holds == 1
    images, unknown = format_count(len(holds), "image"), int(np.isnan(truth.holds).sum())
    line = f"True of {format_count(int(holds.sum()))} of the {images}"
    line += f", not known of {format_count(unknown)}" if unknown else ""
    among = int(holds[list(pins)].sum())
    if len(pins) == 1:
        line += f"; the pinned one is {'' if among else 'not '}among them"
    elif pins:
        line += f"; {format_count(among)} of the {format_count(len(pins))} pinned ones are among them"
    if unknown == len(holds):
        line = "Not graded" if truth.unknown else "Not graded: the data would not say it like this"
    line += f". The world has no word for: {_quoted(truth.unknown)}" if truth.unknown else ""
    says = "says" if len(truth.unclear) == 1 else "say"
    line += f". Not checked here: what {_quoted(truth.unclear)} {says}" if truth.unclear else ""
    return f"{line}."


def reading(question: Question) -> str:
    """How a typed sentence was read, and which of its words the reading leaves out."""
    line = f"Read as: {sentence(question.graph).rstrip('.')}."
    left = () if question.changes else parser().unread(question.words)
    return f"{line} The reading leaves out: {_quoted(left)}." if left else line


def unseen(terms: Iterable[Term], models: Mapping[str, Any]) -> str:
    """The words that a model has not met in training, in a sentence for each set of models; '' = none.

    Args:
        terms: of the question.
        models: by name; of one that reads pieces of words, or vectors of another model, nothing is said.
    """
    asked = dict.fromkeys(w for term in terms if term.kind in ("text", "caption") for w in words(term.name))
    missing: dict[tuple[str, ...], list[str]] = {}
    for name, model in models.items():
        makers = [maker for signal, maker in model.makers.items() if signal in READERS]
        vocabulary = {word for maker in makers for word in getattr(maker, "vocabulary", ())}
        new = tuple(word for word in asked if word not in vocabulary) if vocabulary else ()
        missing.setdefault(new, []).append(name)
    lines = []
    for new, names in missing.items():
        every = "The model" if len(models) == 1 else "The models"
        who = every if len(names) == len(models) else " and ".join(names)
        lines += [f"{who} {'has' if len(names) == 1 else 'have'} never seen: {_quoted(new)}."] if new else []
    return " ".join(lines)


def _quoted(these: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in these)
