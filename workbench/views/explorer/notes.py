"""The sentences of an answer: of how many images the question is true, which words nobody knows, what a
reader must know. ``Engine`` answers with facts, and all that the page says of them is written here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.formatting import format_count

SUM = "A sum is true of an image if every added sentence is true of it and no subtracted one is."
FOLDED = (
    "Captions that read the same are shown once, with their number (×3) and the best of their ranks; the "
    "next rank counts them all."
)
FILTERED = "Ranks are places in the whole gallery; filters hide items and move no rank."
NOT_JUDGED = "This question is not one of the data, and nobody judged its answers."
PANELS = "The open panels need the model of every run."


@dataclass(frozen=True)
class Truths:
    """Of how many images a question is true.

    Args:
        images: how many there are.
        true: of how many it is true.
        unknown: of how many that is not known.
        pinned: how many are pinned.
        pinned_true: of how many of the pinned ones it is true.
        meaningless: words that the data have no meaning for.
        unclear: words by which it may say something else than what was checked.
    """

    images: int
    true: int
    unknown: int
    pinned: int = 0
    pinned_true: int = 0
    meaningless: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a reader must know of an answer.

    Args:
        truths: of how many images the question is true; ``None`` = the data do not know.
        reading: a typed sentence as it was read; ``""`` = it was not read.
        unread: its words that the reading leaves out.
        unseen: words that a model has not met in training, by the name of the model; models that read pieces
            of words are left out.
        silent: names of the runs that cannot answer, since they came without a model.
        without_vectors: names of those that cannot, since they have no vectors.
        by_means: names of those that have several vectors an item, of which a mean is compared here.
        filtered: whether filters hide items.
        folded: whether captions that read the same are shown once.
        judged: whether anybody judged the answers.
        summed: whether it is a sum that is true of some images.
        panels_silent: whether an open panel needs models that a run lacks.
    """

    truths: Truths | None = None
    reading: str = ""
    unread: tuple[str, ...] = ()
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    without_vectors: tuple[str, ...] = ()
    by_means: tuple[str, ...] = ()
    filtered: bool = False
    folded: bool = False
    judged: bool = True
    summed: bool = False
    panels_silent: bool = False


def truth_sentences(facts: Facts) -> str:
    """Describe what is true of the images, how a typed sentence was read, and which words nobody knows
    here.
    """
    truths = "" if facts.truths is None else truth_line(facts.truths)
    return " ".join(filter(None, [truths, _reading_note(facts), unseen_note(facts.unseen)]))


def note_sentences(facts: Facts) -> str:
    """Describe what a reader must know of an answer."""
    silent = " and ".join(facts.silent)
    unanswered = (
        f"No answer from {silent}, which came without a model: ask about an image or caption of the data."
    )
    pairs = (
        f"No answer from {' and '.join(facts.without_vectors)}, which scores pairs and has no vectors: ask "
        "for images by one text, or for captions by one image."
    )
    means = (
        f"{' and '.join(facts.by_means)}: several vectors an item; this question is answered by the cosine "
        "of one, their mean or pooled vector."
    )
    sentences = {
        FILTERED: facts.filtered,
        FOLDED: facts.folded,
        NOT_JUDGED: not facts.judged,
        SUM: facts.summed,
        unanswered: bool(silent),
        pairs: bool(facts.without_vectors),
        means: bool(facts.by_means),
        PANELS: facts.panels_silent,
    }
    return " ".join(sentence for sentence, holds in sentences.items() if holds)


def truth_line(truths: Truths) -> str:
    """Describe of how many images a question is true, whether of the pinned ones, and what words mean
    nothing.
    """
    line = _grade_note(truths)
    if truths.meaningless:
        line += f". The world has no word for: {_quote(truths.meaningless)}"
    if truths.unclear:
        says = "says" if len(truths.unclear) == 1 else "say"
        line += f". Not checked here: what {_quote(truths.unclear)} {says}"
    return f"{line}."


def _grade_note(truths: Truths) -> str:
    if truths.unknown == truths.images:
        return "Not graded" if truths.meaningless else "Not graded: the data would not say it like this"
    line = f"True of {format_count(truths.true)} of the {format_count(truths.images, 'image')}"
    if truths.unknown:
        line += f", not known of {format_count(truths.unknown)}"
    if truths.pinned == 1:
        among = "among" if truths.pinned_true else "not among"
        line += f"; the pinned one is {among} them"
    elif truths.pinned:
        pinned = format_count(truths.pinned)
        line += f"; {format_count(truths.pinned_true)} of the {pinned} pinned ones are among them"
    return line


def _reading_note(facts: Facts) -> str:
    if not facts.reading:
        return ""
    line = f"Read as: {facts.reading.rstrip('.')}."
    return f"{line} The reading leaves out: {_quote(facts.unread)}." if facts.unread else line


def unseen_note(words: Mapping[str, tuple[str, ...]]) -> str:
    """Describe which words a model has not met in training, in a sentence for each set of models.

    Args:
        words: by the name of the model; none = it has met all, or nothing is known of it.
    """
    models: dict[tuple[str, ...], list[str]] = {}
    for name, missing in words.items():
        models.setdefault(missing, []).append(name)
    lines = []
    for missing, names in models.items():
        if missing:
            has = "has" if len(names) == 1 else "have"
            lines.append(f"{_model_names(names, len(words))} {has} never seen: {_quote(missing)}.")
    return " ".join(lines)


def _model_names(names: list[str], count: int) -> str:
    if len(names) < count:
        return " and ".join(names)
    return "The model" if count == 1 else "The models"


def _quote(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in words)
