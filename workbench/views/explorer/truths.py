"""What is true of the images that a question asks for, where the data know: words that are typed, graphs that
are edited and sums of sentences are graded as the captions of the data are.

A sum is true of an image where every sentence that is added is true of it and no sentence that is taken away.
Where the data have no meaning for a word, the images that hold all the rest are not judged.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from workbench import text
from workbench.formatting import format_count
from workbench.records import SceneGraph, Split, Truth
from workbench.text.words import words
from workbench.views.explorer import questions
from workbench.views.explorer.questions import Question, Term

SUM = "A sum is true of an image if every added sentence is true of it and no subtracted one is."
# signals that read whole words, by a vocabulary that was fitted on the training captions
READERS = ("tokens", "graph_tokens")
# a scene graph says that all of its parts are there, and none of these: what was asked is not what is graded
BEYOND = frozenset(
    {
        "0", "absence", "absent", "all", "almost", "another", "any", "apart", "away", "barely", "besides",
        "both", "but", "cannot", "devoid", "each", "either", "every", "except", "excluding", "fewer",
        "free", "from", "half", "hardly", "if", "instead", "lack", "lacking", "lacks", "least", "less",
        "missing", "more", "most", "nearly", "neither", "never", "no", "nobody", "none", "nor", "not",
        "nothing", "only", "or", "other", "rarely", "rather", "scarcely", "than", "unless", "up",
        "without", "zero",
    }
)  # fmt: skip
DENIAL = re.compile(r"\w+n't|(is|are|was|were|do|does|did|has|have|had|ca|wo|could|would|should)nt")
SIDE = re.compile(r"\b(?:on|to|at) the (left|right)\b")
# what may be said without a word of the graph for it
FREE = frozenset(
    {
        "a", "an", "and", "are", "be", "being", "can", "displays", "features", "find", "has", "have", "here",
        "i", "image", "is", "it", "its", "look", "of", "one", "photo", "photograph", "picture",
        "pictured", "scene", "see", "seen", "show", "shown", "shows", "some", "that", "the", "there", "these",
        "they", "this", "to", "was", "we", "were", "which", "you",
    }
)  # fmt: skip

# signs that deny, and a minus before a word
SIGN = re.compile(r"[~¬≠]|!(?=\s*\w)|(?<!\w)[-−](?=\s*\w)")
COPULA = re.compile(r"\b(?:is|are|was|were|being)\b")
# before these a verb has no thing of its own: "there is a dog", "in the box is a cat"
EMPTY = re.compile(
    r"(?:.*[.;:?!]\s*)?(?:(?:there|here|it|this|that|these|those|they|what|which|where|who|and|we|i|you|can|"
    r"(?:\w+ )?one|the (?:photo|picture|image|scene))\s*)*$"
    r"|(?:.*[.,;:]\s*)?(?:and )?(?:in|on|at|inside|behind|next|beside|to|left|right|above|over|below|under|"
    r"beneath|near)\b.*$"
)
RELATIVE = re.compile(r"\band\b[^.]*\b(which|that|who)\b(?! (?:are|were)\b)")
LISTED = re.compile(r"\w\s*(:)\s*(?:an?|some|two|three)\b|^\W*an? [\w ]+(,) an? [\w ]+\W*$")
MANY, PLACES = ("two", "three", "plural"), ("in", "on", "at", "inside")
ARTICLES = frozenset({"a", "an", "the", "some"})
# words of which the names of relations are made
PLACING = frozenset(
    {
        "above", "at", "behind", "below", "beside", "by", "front", "in", "inside", "left", "next", "of", "on",
        "over", "right", "top", "under",
    }
)  # fmt: skip
# shorter words have no ending
SHORT = 4


@cache
def _parser() -> Any:
    return text.load("scene_graph", plurals=True)


def parsed(sentence: str) -> SceneGraph:
    """The scene graph of words that were typed; what is many has the attribute ``"plural"``."""
    graph: SceneGraph = _parser().of([sentence]).graphs[0]
    return graph


def truth_of(question: Question, split: Split, rows: Mapping[str, int]) -> Truth | None:
    """What the data say of a question that asks for images.

    Args:
        question: texts and captions, added and taken away; a text alone may be edited.
        split: whose images are asked for.
        rows: captions of the split and their rows, whose graphs are known and need not be parsed.

    Returns:
        The truth; ``None`` where the data do not know it, or where the question is not made of words alone.
    """
    graphs, check = split.image_graphs, split.grade
    spoken = all(term.kind in ("text", "caption") for term in question.terms)
    if check is None or graphs is None or not spoken or question.seeks != "images":
        return None
    found = []
    for term in question.terms:
        row = rows.get(term.value) if term.kind == "text" else term.value
        if row is not None and split.caption_graphs and not question.changes:
            found.append(check(split.caption_graphs[row], graphs))
            continue
        graph = reduce(questions.changed, question.changes, parsed(term.name))
        if question.changes:  # the graph speaks for itself
            found.append(_checked(graph, "", (), (), split))
            continue
        more = _left_out(term.name, graph), _misread(term.name, graph)
        found.append(_checked(graph, term.name, *more, split))
    signed = np.stack(
        [one.holds if t.sign > 0 else 1 - one.holds for t, one in zip(question.terms, found, strict=True)]
    )
    # one false part makes the whole false, whatever is not known of the others
    holds = np.where((signed == 0).any(axis=0), np.float32(0), signed.min(axis=0))
    unknown = dict.fromkeys(word for one in found for word in one.unknown)
    unclear = dict.fromkeys(word for one in found for word in one.unclear)
    return Truth(holds, found[0].share if len(found) == 1 else holds, tuple(unknown), tuple(unclear))


def _left_out(sentence: str, graph: SceneGraph) -> list[str]:
    """The words of a sentence that its graph does not hold, or cannot mean: what they say is not graded."""
    things = [
        *graph.objects,
        *(one for _, one in graph.attributes),
        *(name for _, name, _ in graph.relations),
    ]
    # of a place alone ("at night") its preposition says nothing
    free = FREE if len(graph.objects) > 1 else FREE | {"at", "in", "on"}
    held = free.union(*(words(thing) for thing in things))
    # "on the left of" is one relation, which is held as "left of"
    asked = dict.fromkeys(words(SIDE.sub(r"\1", sentence.lower())))
    return [w for w in asked if w in BEYOND or DENIAL.fullmatch(w) or held.isdisjoint(_forms(w))]


def _misread(sentence: str, graph: SceneGraph) -> list[str]:
    """The words and signs by which a sentence says something else than its graph, which holds each word."""
    said = sentence.lower()
    found: list[str] = SIGN.findall(said)
    looks = {word for _, look in graph.attributes for word in words(look)}
    things = {word for name in graph.objects for word in words(name)}
    # "an animal that is a dog" is one thing and not two
    for verb in COPULA.finditer(said):
        after = (word for word in words(said[verb.end() :]) if word not in ARTICLES | looks)
        subject = said[: verb.start()].strip()
        if subject and not EMPTY.fullmatch(subject) and not things.isdisjoint(_forms(next(after, ""))):
            found.append(verb[0])
    # "a car and a plant which is red": of one of them
    relative = RELATIVE.search(said)
    statements = [look for _, look in graph.attributes] + [f"{tie} {to}" for _, tie, to in graph.relations]
    if relative and len(set(statements)) < len(statements):
        found.append(relative[1])
    # "two animals, a dog and a cat" may be two things or four
    placed = {node for _, _, node in graph.relations}
    counted = {node for node, look in graph.attributes if look in MANY} - placed
    for node in counted if len(graph.objects) > 1 else ():
        ends = "|".join(map(re.escape, _plurals(graph.objects[node])))
        if listed := re.search(rf"\b(?:{ends})\s*([,:])(?! and\b)", said):
            found.append(listed[1])
    # "an animal: a dog", "an animal, a dog" are one thing
    found += [sign for pair in LISTED.findall(said) for sign in pair if sign]
    # "a dog left of a cat left of a bird" is a chain
    ties = [(subject, tie) for subject, tie, _ in graph.relations if tie.split(" ")[-1] not in PLACES]
    if len(set(ties)) < len(ties) and "and" not in words(said) and "." not in said.rstrip(". "):
        found += [tie.split(" ")[0] for subject, tie in ties if ties.count((subject, tie)) > 1][:1]
    # "a cat in a box and a dog": what stands after "and" may be in the box, or beside the cat
    spread = Counter((subject, tie) for subject, tie, _ in graph.relations)
    if any(times > min(map(words(said).count, words(tie))) > 0 for (_, tie), times in spread.items()):
        found.append("and")
    # "a red one" is the dog before
    found += [one for word, one in re.findall(r"(\w+) (ones?)\b", said) if word in looks]
    found += _mentioned_again(said, graph)
    return list(dict.fromkeys(found))


def _mentioned_again(said: str, graph: SceneGraph) -> list[str]:
    """The article before what was named: "a cat and a box, the cat in the box", "an apple. The fruit"."""
    names = [one for name in graph.objects for one in words(name)[-1:]]
    twice = {name for name in names if names.count(name) > 1}
    later = (word for pair in re.findall(r"\bthe (\w+)(?: (\w+))?", said) for word in pair)
    again = any(not twice.isdisjoint(_forms(word)) for word in later)
    first, *rest = re.split(r"[.;]\s+", said)
    told = words(first)
    for sentence in rest:
        for subject in re.findall(r"^the (\w+) (?:is|are)\b", sentence):
            again |= not any(_forms(subject) & _forms(word) for word in told)
        told += words(sentence)
    return ["the"] if again else []


def _plurals(noun: str) -> tuple[str, ...]:
    """A noun and what its plural may be."""
    return (noun, f"{noun}s", f"{noun}es", f"{noun[:-1]}ies", f"{noun[:-2]}i", f"{noun[:-1]}ves")


def _forms(word: str) -> set[str]:
    """A word and what it may be a form of: flies -> fly, sitting -> sit, riding -> ride, cacti -> cactus."""
    if len(word) < SHORT:
        return {word}
    cut = {word.removesuffix(ending) for ending in ("s", "es", "ing", "ed", "d")}
    return {
        word,
        *cut,
        *(f"{one}e" for one in cut),
        *(one[:-1] for one in cut),
        f"{word[:-3]}y",
        f"{word[:-4]}ie",
        f"{word[:-1]}us",
    }


def _checked(
    graph: SceneGraph, sentence: str, left_out: Sequence[str], misread: Sequence[str], split: Split
) -> Truth:
    """The truth of a graph, known of no image where its sentence says more, or something else."""
    nothing = np.full(len(split.image_ids), np.nan, dtype=np.float32)
    try:
        found = split.grade(graph, split.image_graphs or ()) if split.grade else Truth(nothing, nothing)
    except ValueError:  # more things than are checked
        return Truth(nothing, nothing)
    asked = words(sentence)
    unknown = [_as_typed(word, asked) for word in found.unknown]
    named = {word for one in (*unknown, *found.unclear) for word in words(one)}
    new, other = (
        [word for word in dict.fromkeys(more) if word and named.isdisjoint(_forms(word))]
        for more in (left_out, misread)
    )
    unclear = [_as_typed(word, asked) for word in found.unclear]
    # a word of the world that no graph holds here is not unknown
    known = [word for word in new if _says_something(word, split)]
    unknown += [word for word in new if word not in known]
    holds, share = (nothing, nothing) if left_out or misread else (found.holds, found.share)
    return Truth(
        holds, share, tuple(dict.fromkeys(unknown)), tuple(dict.fromkeys((*unclear, *known, *other)))
    )


def _says_something(word: str, split: Split) -> bool:
    """Whether the data have a meaning for a word by itself, or it is one by which sentences are built."""
    if word in BEYOND | FREE | PLACING or DENIAL.fullmatch(word) or not word.isalpha():
        return True
    check, graph = split.grade, SceneGraph((word,), (), ())
    return check is not None and not check(graph, (split.image_graphs or ())[:1]).unknown


def _as_typed(word: str, asked: Sequence[str]) -> str:
    """A word of a graph as the sentence has it: "stripe" -> "stripes"."""
    typed = {form: one for one in asked for form in _forms(one)}
    return word if word in asked or " " in word else typed.get(word, word)


def told(truth: Truth, question: Question) -> str:
    """The truth in a sentence or two: of how many images, whether of the pinned ones, and which words have no
    meaning here.
    """
    true, open_ = truth.holds == 1, np.isnan(truth.holds)
    images = format_count(len(true), "image")
    if open_.all() and not truth.unknown + truth.unclear:
        return "Not graded: so many things at once are not checked; split the sentence."
    line = f"True of {format_count(int(true.sum()))} of the {images}"
    if open_.any():
        line = f"{line}, not known of {format_count(int(open_.sum()))}"
    if open_.all():
        line = f"Not known of any of the {images}"
    among, pins = int(true[list(question.pins)].sum()), len(question.pins)
    if pins == 1 and not open_.all():
        line += f"; the pinned one is {'' if among else 'not '}among them"
    elif pins and not open_.all():
        line += f"; {format_count(among)} of the {format_count(pins)} pinned ones are among them"
    line += f". The world has no word for: {_quoted(truth.unknown)}" if truth.unknown else ""
    says = "says" if len(truth.unclear) == 1 else "say"
    line += f". Not checked here: what {_quoted(truth.unclear)} {says}" if truth.unclear else ""
    return f"{line}."


def read_as(question: Question, rows: Mapping[str, int]) -> str:
    """What the parser made of a sentence that was typed, so that a reader sees what was graded."""
    if not question.words or (question.words in rows and not question.changes):
        return ""
    graph = reduce(questions.changed, question.changes, parsed(question.words))
    return f"Read as: {questions.sentence(graph).rstrip('.')}."


def unseen(terms: Sequence[Term], models: Mapping[str, Any]) -> str:
    """The words that a model has not met in training, in a sentence for each set of models; '' = none.

    Args:
        terms: of the question.
        models: by name; of one that reads pieces of words, or vectors of another model, nothing is said.
    """
    asked = list(dict.fromkeys(w for t in terms if t.kind in ("text", "caption") for w in words(t.name)))
    missing: dict[tuple[str, ...], list[str]] = {}
    for name, model in models.items():
        makers = [maker for signal, maker in model.makers.items() if signal in READERS]
        known = {word for maker in makers for word in getattr(maker, "vocabulary", ())}
        new = tuple(word for word in asked if known and word not in known)
        missing.setdefault(new, []).append(name)
    lines = []
    for new, names in missing.items():
        every = len(names) == len(models)
        who = ("The model" if len(models) == 1 else "The models") if every else " and ".join(names)
        if new:
            lines.append(f"{who} {'has' if len(names) == 1 else 'have'} never seen: {_quoted(new)}.")
    return " ".join(lines)


def _quoted(these: Sequence[str]) -> str:
    return ", ".join(f"“{word}”" for word in these)
