"""What a person asks the explorer: words, images, vectors and their sums, with filters, and edits of what a
sentence says.

An edited sentence is written from its scene graph, plainly on purpose: things in their order, attributes
before the noun, relations behind it, "a" at the first mention, and a new sentence with "the" at the next.
Edited sentences are compared with the unedited one as it is written from its graph, so that only the edit
differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial, reduce
from typing import Any, Literal, get_args

import numpy as np

from workbench import text
from workbench.english import article, participle, plural
from workbench.records import SceneGraph, Split, require
from workbench.registry import Count, Natural, Share, check_options

Kind = Literal["text", "image", "caption", "picture", "embedding"]
Seeks = Literal["images", "captions", "entities"]
Part = Literal["objects", "attributes", "relations"]
Mark = Literal["own", "relevant", "not", "unknown"]
MARKS: dict[Mark, str] = {
    "own": "paired with the query in the data",
    "relevant": "another match by the judgements",
    "not": "no match by the judgements",
    "unknown": "nobody judged this pair",
}
COUNTS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "many", "several", "some",
    "few", "multiple", "plural",
)  # fmt: skip
# what stands in an article's place before one thing
BARE = ("one", "no", "another", "each", "every")
MASS = frozenset({
    "air", "beer", "bread", "coffee", "dawn", "day", "dirt", "dusk", "food", "furniture", "grass",
    "hair", "ice", "milk", "mud", "night", "rain", "rice", "sand", "smoke", "snow", "sunset", "tea",
    "traffic", "water",
})  # fmt: skip
PARTS: tuple[Part, ...] = get_args(Part)
SENTENCES = 256


@dataclass(frozen=True)
class Term:
    """One summand of a question; terms that ask the same are equal.

    Args:
        kind: ``"text"`` = loose words; ``"image"`` and ``"caption"`` = a row of the split, asked with its
            stored embedding; ``"picture"`` = a loose ``PIL.Image``; ``"embedding"`` = a vector ``(D,)``, the
            same for every run, or one a run.
        value: words, row, image or vectors.
        sign: 1 is added, -1 is taken away.
        name: how a heading calls it; a text is called by its words.

    Raises:
        ValueError: an unknown kind, or a sign that is not 1 or -1.
    """

    kind: Kind
    value: Any = field(compare=False)
    sign: Literal[1, -1] = 1
    name: str = field(default="", compare=False)
    key: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_options("a term", Term, {"kind": self.kind, "sign": self.sign})
        if self.kind == "text" and not self.name:
            object.__setattr__(self, "name", self.value)
        # neither an array nor a picture has a hash of its own
        value = np.asarray(self.value).tobytes() if self.kind == "embedding" else self.value
        object.__setattr__(self, "key", id(value) if self.kind == "picture" else value)


@dataclass(frozen=True)
class Filters:
    """What is shown; ranks stay those of the whole gallery.

    An image passes if one of its captions passes all filters of captions.

    Args:
        text: words that the caption must hold, any case.
        levels: levels of the caption; empty = all.
        low, high: least and greatest descriptiveness of the caption, on the pool's scale of 0 to 1.
        marks: what the grade may mean; empty = anything.
        images: rows of images, e.g. those that are selected; empty = all.
    """

    text: str = ""
    levels: tuple[int, ...] = ()
    low: float = 0.0
    high: float = 1.0
    marks: tuple[Mark, ...] = ()
    images: tuple[int, ...] = ()


@dataclass(frozen=True)
class Change:
    """One change to a scene graph: drop a part, or put another word in its place.

    Args:
        part: ``"objects"``, ``"attributes"`` or ``"relations"``.
        index: which of them, in the graph as the changes before have left it.
        word: the new word; ``""`` drops the part, and an object takes its attributes and relations with it.
    """

    part: Part
    index: int
    word: str = ""


@dataclass(frozen=True)
class Question:
    """One question to all runs.

    Args:
        terms: summands; a single one that is added is scored by the objective, a sum by cosine.
        seeks: ``"images"``, ``"captions"`` or ``"entities"``.
        k: items a column.
        skip: items at the head of each column that are left out, since a page has them already.
        filters: what is shown.
        walk: how far to move towards the root, in [0, 1].
        pins: rows that are answered whether or not they are among the first.
        watched: row of the item that edits and words speak of; ``None`` = the first of the first run.
        changes: edits of the scene graph of the words.
        extras: ``"graph"``, ``"way"``, ``"words"``: what else is wanted.

    Raises:
        ValueError: nothing is asked, everything is taken away, or a value is out of its range.
    """

    terms: tuple[Term, ...]
    seeks: Seeks = "images"
    k: Natural = 12
    filters: Filters = field(default_factory=Filters)
    walk: Share = 0.0
    pins: tuple[int, ...] = ()
    watched: int | None = None
    changes: tuple[Change, ...] = ()
    extras: frozenset[Literal["graph", "way", "words"]] = frozenset()
    skip: Count = 0

    def __post_init__(self) -> None:
        require(
            any(term.sign > 0 for term in self.terms),
            "the question is empty; give a text, an image, a caption or an embedding",
        )
        check_options(
            "a question", Question, {"seeks": self.seeks, "k": self.k, "walk": self.walk, "skip": self.skip}
        )

    @property
    def words(self) -> str:
        """The text of the question where it is a text alone (typed, or a caption named by ``name``); else
        ``""``.
        """
        alone = self.terms[0] if len(self.terms) == 1 else None
        return alone.name if alone and alone.kind in ("text", "caption") else ""

    @property
    def asked(self) -> tuple[Term, ...]:
        """What the models read: the terms, or the sentence of the edited graph."""
        return (Term("text", sentence(self.graph)),) if self.changes else self.terms

    @property
    def label(self) -> str:
        """The question as a heading."""
        signed = [("− " if term.sign < 0 else "+ ") + (term.name or term.kind) for term in self.terms]
        return " ".join(signed).removeprefix("+ ")

    @property
    def graph(self) -> SceneGraph:
        """The scene graph of its words, after the edits.

        Raises:
            ValueError: the question is not a text alone.
        """
        require(self.words, "only a question that is a text alone has a scene graph to edit")
        return reduce(changed, self.changes, parsed(self.words))


def asked_by(message: dict[str, Any], uploads: Sequence[Any], split: Split) -> Question:
    """The question in a message of the browser, every value checked.

    Args:
        message: the JSON that ``exchange.js`` sends.
        uploads: images and vectors that were uploaded, by their number.
        split: whose images and captions the terms name.

    Raises:
        ValueError, KeyError, IndexError, TypeError: the message is not one that ``exchange.js`` sends.
    """
    chosen, watched = message["filters"], message["watched"]
    return Question(
        tuple(_term(one, uploads, split) for one in message["terms"]),
        message["seeks"],
        int(message["k"]),
        Filters(
            str(chosen["text"]),
            tuple(int(level) for level in chosen["levels"]),
            float(chosen["low"]),
            float(chosen["high"]),
            tuple(chosen["marks"]),
            tuple(int(row) for row in chosen.get("images", ())),
        ),
        float(message["walk"]),
        tuple(int(row) for row in message["pins"]),
        None if watched is None else int(watched),
        tuple(Change(one["part"], int(one["index"]), str(one["word"])) for one in message["changes"]),
        frozenset(message["extras"]),
        int(message.get("skip", 0)),
    )


def _term(message: dict[str, Any], uploads: Sequence[Any], split: Split) -> Term:
    kind, sign, value = message["kind"], message["sign"], message["value"]
    if kind == "text":
        return Term("text", str(value), sign)
    if kind == "upload":
        given = uploads[int(value)]
        return Term("embedding" if isinstance(given, np.ndarray) else "picture", given, sign, message["name"])
    row, names = int(value), split.captions if kind == "caption" else split.image_ids
    require(0 <= row < len(names), f"there is no {kind} number {row}")
    return Term(kind, row, sign, names[row] if kind == "caption" else f"image {names[row]}")


# what is typed is read as it stands, since models read it so: a slip put right in silence is another question
parser = cache(partial(text.load, "scene_graph", plurals=True, corrects=False))


@lru_cache(SENTENCES)
def parsed(sentence: str) -> SceneGraph:
    """The scene graph of words that were typed; what is many has the attribute ``"plural"``."""
    graph: SceneGraph = parser().of([sentence]).graphs[0]
    return graph


def sentence(graph: SceneGraph) -> str:
    """The graph in words.

    >>> sentence(SceneGraph(("man", "horse"), ((1, "brown"),), ((0, "ride", 1),)))
    'a man riding a brown horse'
    """
    mentioned: set[int] = set()
    text = ""
    for node in sorted({subject for subject, _, _ in graph.relations}):
        text += (". " if node in mentioned else ", ") + _clause(graph, node, mentioned)
    alone = [_noun(graph, node, mentioned) for node in range(len(graph.objects)) if node not in mentioned]
    text += f", {' and '.join(alone)}" if alone else ""
    return text.removeprefix(", ") + ("." if ". " in text else "")


def _clause(graph: SceneGraph, subject: int, mentioned: set[int]) -> str:
    """A thing and its relations; a sentence of its own where the thing was mentioned before."""
    start = _noun(graph, subject, mentioned)
    if start.startswith("the "):
        several = any(word in COUNTS for node, word in graph.attributes if node == subject)
        start = f"{start.capitalize()} {'are' if several else 'is'}"
    relations = [(word, thing) for node, word, thing in graph.relations if node == subject]
    return f"{start} " + " and ".join(
        f"{participle(word)} {_noun(graph, thing, mentioned)}" for word, thing in relations
    )


def _noun(graph: SceneGraph, node: int, mentioned: set[int]) -> str:
    """A thing with its attributes, or "the" thing where it was mentioned before."""
    name, attributes = graph.objects[node], [word for one, word in graph.attributes if one == node]
    counts = ["some" if word == "plural" else word for word in attributes if word in COUNTS]
    name = plural(name) if counts else name
    if node in mentioned:
        return f"the {name}"
    mentioned.add(node)
    first = counts or [word for word in attributes if word in BARE]
    words = " ".join([*first, *(word for word in attributes if word not in {*COUNTS, *first}), name])
    return words if first or name in MASS else article(words)


def changed(graph: SceneGraph, change: Change) -> SceneGraph:
    """The graph with one part dropped or renamed.

    Raises:
        ValueError: there is no such part.
    """
    if change.part not in PARTS or not 0 <= change.index < len(getattr(graph, change.part)):
        raise ValueError(f"the graph has no {change.part} number {change.index}; it reads: {sentence(graph)}")
    if not change.word and change.part == "objects":
        return _without(graph, change.index)
    values = list(getattr(graph, change.part))
    old, word = values.pop(change.index), change.word
    if word:
        new = {"objects": word, "attributes": (old[0], word), "relations": (old[0], word, old[-1])}
        values.insert(change.index, new[change.part])
    return replace(graph, **{change.part: tuple(values)})


def _without(graph: SceneGraph, node: int) -> SceneGraph:
    # the objects behind the one that is dropped move up by one
    return SceneGraph(
        tuple(name for other, name in enumerate(graph.objects) if other != node),
        tuple((one - (one > node), word) for one, word in graph.attributes if one != node),
        tuple((s - (s > node), word, o - (o > node)) for s, word, o in graph.relations if node not in (s, o)),
    )


def drops(graph: SceneGraph) -> list[Change]:
    """Every part that can be dropped alone; the only object of a graph cannot, since nothing would be left to
    say.
    """
    parts = PARTS if len(graph.objects) > 1 else PARTS[1:]
    return [Change(part, index) for part in parts for index in range(len(getattr(graph, part)))]


def described(graph: SceneGraph, change: Change) -> str:
    """A change in words.

    >>> described(SceneGraph(("cup",), ((0, "red"),)), Change("attributes", 0, "blue"))
    'red cup → blue cup'
    """
    value, names = getattr(graph, change.part)[change.index], graph.objects
    if change.part == "objects":
        before, after = value, change.word
    elif change.part == "attributes":
        before, after = f"{value[1]} {names[value[0]]}", f"{change.word} {names[value[0]]}"
    else:
        before, after = (f"{names[value[0]]} {word} {names[value[2]]}" for word in (value[1], change.word))
    return f"{before} → {after}" if change.word else f"without {before}"
