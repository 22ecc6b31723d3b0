"""Adapts spaCy's tagger and parser to captions: ``python -m tools.caption_graphs.adaptation``.

spaCy's model has read newspapers and web pages, and takes "a dog runs" for a compound. Annotators have chosen
or corrected the trees of some thousand captions (``data/chosen.jsonl``). A much larger model,
the teacher (``teacher.py``), learns these and reads many captions. The small model goes on, from the weights
that the package has or anew from spaCy's own, with the annotators' trees, with annotated captions that the
teacher reads as they are annotated, with captions that proofreaders found well read, as it reads them, and
with others as the teacher reads them; and, so that a verb is not taken for a thing for being rare, with the
annotators' trees in which other verbs and things stand. No caption of an image that is annotated for
measuring is among them.
"""

import json
import random
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from caption_graphs import split
from caption_graphs.placement import place_phrases
from caption_graphs.read import read_graph
from caption_graphs.tree import (
    Tree,
    label_names,
    lemma,
    model,
    parse_trees,
    plain_model,
    put_weights,
    weights,
)
from caption_graphs.vocabulary import STAND_INS, known
from safetensors.numpy import save_file
from tqdm.auto import tqdm

from tools.caption_graphs.annotations import DATA, TEXTS, Part, annotated, image_keys, records, texts
from tools.caption_graphs.teacher import Reading, Teacher, teach
from workbench.english import add_s
from workbench.io import replacing
from workbench.training.settings import seed_everything

SEED = 20261124
# captions of each source that the teacher reads: when the small model goes on, and when it begins anew
SOME = {"flickr8k": 5_500, "coco": 4_000, "hierarcaps": 500}
MANY = {"flickr8k": 26_000, "coco": 14_000, "hierarcaps": 1_500}
WORLD = 500  # captions of the embedded world among what the teacher learns
PROOFREAD = DATA / "proofread.txt"
# what set phrases are given as, which stays
GIVEN = frozenset(STAND_INS.values()) | {"near", "red", "several", "together"}
VERBS, THINGS = ("VBD", "VBG", "VBP", "VBZ"), ("NN", "NNS")
NO_DEED = frozenset({"amod", "aux", "auxpass", "case", "compound", "prep"})
NAMED = frozenset({"compound", "conj", "dobj", "nsubj", "pobj"})
MORE = 18_000  # of many captions those that stand beside what annotators chose and corrected


class Lesson(NamedTuple):
    """How many times readings are learnt, and how fast: the rate falls from ``rate`` to a fiftieth of it."""

    times: int
    rate: float
    drop: float


@cache
def known_texts(root: Path) -> dict[str, dict[str, str]]:
    """All captions of each source by id.

    Raises:
        FileNotFoundError: a file of captions is absent.
    """
    return {source: texts(root / file, source) for source, file in TEXTS.items()}


def pool(root: Path, counts: dict[str, int]) -> list[str]:
    """Captions of each source, none of an image of which a caption is annotated, nor with the words of one.

    Raises:
        FileNotFoundError: a file of captions is absent.
    """
    rows = records()
    by_id = known_texts(root)
    told = {by_id[row["source"]][row["id"]] for row in rows}
    image_key = image_keys(root)
    kept = {image_key(row["source"], row["id"]) for row in rows}
    generator, found = random.Random(SEED), list[str]()
    for source, count in counts.items():
        free = sorted(
            name
            for name, text in by_id[source].items()
            if image_key(source, name) not in kept and text not in told
        )
        found += [by_id[source][name] for name in generator.sample(free, count)]
    return found


def chosen(root: Path, *how: str) -> list[Reading]:
    """The readings of ``data/chosen.jsonl``: ``"chosen"``, ``"corrected"``, of captions ``"made up"`` or of
    the embedded ``"world"``; without a name all of them. Those whose captions are folded into another number
    of words by now are left out.
    """
    by_id = known_texts(root)
    found = list[Reading]()
    for row in map(json.loads, (DATA / "chosen.jsonl").read_text("utf-8").splitlines()):
        if how and row["how"] not in how:
            continue
        caption = row.get("text") or by_id[row["source"]][row["id"]]
        given = [word.token for word in split(caption)[0]]
        if len(given) == len(row["heads"]):
            found.append(Reading(given, row["tags"].split(), row["deps"].split(), row["heads"]))
    return found


def read_by(teacher: Teacher, captions: Sequence[str]) -> list[Reading]:
    """What a teacher makes of the sentences of captions that have more than a word and a stop."""
    words = [[word.token for word in sentence] for caption in captions for sentence in split(caption)]
    return [reading for reading in teacher.read([one for one in words if len(one) > 2]) if reading]


def right(
    root: Path, teacher: Teacher, parts: tuple[Part, ...] = ("dev", "seen", "fresh", "late")
) -> list[Reading]:
    """Annotated captions, of the parts for writing rules, that a teacher reads as they are annotated."""
    found = list[Reading]()
    for part in parts:
        truth = annotated(root, part)
        pairs = zip(map(split, truth.captions), truth.graphs, strict=True)
        single = [(sentences[0], graph) for sentences, graph in pairs if len(sentences) == 1]
        readings = teacher.read([[word.token for word in words] for words, _ in single])
        for (words, graph), one in zip(single, readings, strict=True):
            if one and len(words) > 2:
                parsed = read_graph(
                    [place_phrases(Tree(words, one.tags.copy(), one.deps.copy(), one.heads.copy()))]
                )
                found += [one] if parsed and parsed.tuples() == graph.tuples() else []
    return found


def proofread(root: Path) -> list[Reading]:
    """The captions of ``data/proofread.txt``, in whose graphs proofreaders found nothing
    wrong, as the parser reads them now.

    Raises:
        FileNotFoundError: a file of captions is absent.
    """
    by_id = known_texts(root)
    lines = PROOFREAD.read_text("utf-8").splitlines()
    captions = [by_id[source][name] for source, name in (line.split() for line in lines)]
    sentences = [sentence for caption in captions for sentence in split(caption) if len(sentence) > 2]
    read = zip(sentences, parse_trees(sentences), strict=True)
    return [Reading([word.token for word in words], one.tags, one.deps, one.heads) for words, one in read]


def varied(own: Sequence[Reading], readings: Sequence[Reading]) -> list[Reading]:
    """Readings in which another verb stands for one, and in every second also another thing for a thing, in
    the same form: what is rare is learnt by its place.

    Args:
        own: what is varied.
        readings: where the other words are from; one that they have often is taken more often.
    """
    others = _others(readings)
    kinds = ((others.keys() & VERBS, None), (others.keys() & THINGS, NAMED))
    generator, made = random.Random(SEED), list[Reading]()
    for one in own:
        places = [[i for i in range(len(one.words)) if _may_vary(one, i, tags, deps)] for tags, deps in kinds]
        several = generator.random() < 0.5
        changed = [generator.choice(some) for some in places[: 1 + several] if some]
        put = {i: generator.choices(*others[one.tags[i]])[0] for i in changed}
        if put:
            made.append(one._replace(words=[put.get(i, word) for i, word in enumerate(one.words)]))
    return made


def _others(readings: Sequence[Reading]) -> dict[str, tuple[list[str], list[float]]]:
    """The verbs and things of readings by their tags, with weights; verbs in the forms of the present too in
    which they were not met.
    """
    words = {tag: Counter[str]() for tag in VERBS + THINGS}
    for one in readings:
        for word, tag in zip(one.words, one.tags, strict=True):
            if tag in words and word.isalpha() and word not in GIVEN:
                words[tag][word] += 1
    roots = Counter[str]()
    for tag in ("VBG", "VBP", "VBZ"):
        for word, count in words[tag].items():
            roots[lemma(word, "VERB")] += count
    words["VBP"] |= roots
    words["VBZ"] |= Counter({add_s(root): count for root, count in roots.items()})
    return {
        tag: (list(found), [count**0.5 for count in found.values()]) for tag, found in words.items() if found
    }


def _may_vary(one: Reading, i: int, tags: Collection[str], deps: Collection[str] | None) -> bool:
    """Whether another word of a kind may stand at a place of a reading."""
    fits = one.deps[i] not in NO_DEED if deps is None else one.deps[i] in deps
    return fits and one.tags[i] in tags and one.words[i] not in GIVEN | known.be | known.have


def learn(pipeline: Any, readings: Sequence[Reading], lesson: Lesson, name: str) -> None:
    """Train tagger and parser, and the layers that both share, on readings in batches of 32."""
    from spacy.tokens import Doc
    from spacy.training import Example
    from thinc.api import Adam

    def example(one: Reading) -> Example:
        roots = sum(i == head for i, head in enumerate(one.heads))
        starts: list[bool | int | None] = [i == 0 for i in range(len(one.words))]
        kept = starts if roots == 1 else None
        truth = Doc(
            pipeline.vocab, one.words, tags=one.tags, deps=one.deps, heads=one.heads, sent_starts=kept
        )
        return Example(Doc(pipeline.vocab, one.words), truth)

    generator, order = random.Random(SEED), list(readings)
    optimiser = Adam(lesson.rate, L2=1e-2, grad_clip=1.0, use_averages=False, L2_is_weight_decay=True)
    total = lesson.times * len(order)
    with tqdm(total=total, desc=name, unit=" sentences", mininterval=10) as bar:
        for _ in range(lesson.times):
            generator.shuffle(order)
            for start in range(0, len(order), 32):
                some = order[start : start + 32]
                optimiser.learn_rate = lesson.rate * max(0.02, 1 - bar.n / total)
                pipeline.update([example(one) for one in some], sgd=optimiser, drop=lesson.drop)
                bar.update(len(some))


def taught(root: Path) -> Teacher:
    """A teacher that has learnt the readings of ``chosen.jsonl``.

    Raises:
        ImportError: transformers or the package with the teacher's encoder is not installed.
    """
    world = random.Random(SEED).sample(chosen(root, "world"), WORLD)
    own = [*chosen(root, "chosen", "corrected", "made up"), *world]
    tags = sorted({tag for one in own for tag in one.tags})
    deps = sorted({dep for one in own for dep in one.deps})
    seed_everything(SEED)
    teacher = Teacher(tags, deps)
    teach(teacher, own, 6, 1.5e-4, SEED, "teacher")
    return teacher


def make(
    out: Annotated[Path, typer.Option(help="File for the weights.")],
    root: Annotated[
        Path, typer.Option(help="Folder of the captions, see WORKBENCH_DATA.", envvar="WORKBENCH_DATA")
    ],
    anew: Annotated[bool, typer.Option(help="Begin with spaCy's own weights.")] = False,
) -> None:
    """Adapt spaCy's tagger and parser to captions."""
    from thinc.api import fix_random_seed

    pipeline, teacher = model()[0], taught(root)
    readings = [*read_by(teacher, pool(root, MANY if anew else SOME)), *proofread(root)]
    world = chosen(root, "world")
    if anew:
        put_weights(pipeline, weights(plain_model()[0]))
        fix_random_seed(SEED)
        learn(pipeline, [*readings, *world], Lesson(3, 1e-3, 0.2), "student")
        readings = random.Random(SEED).sample(readings, MORE)
    picked, taught_right = chosen(root, "chosen", "corrected"), right(root, teacher)
    own = [*picked * 2, *taught_right, *chosen(root, "made up") * 4]
    own += varied([*picked, *taught_right], [*picked, *readings])
    fix_random_seed(SEED)
    lesson = Lesson(8, 1e-3, 0.3) if anew else Lesson(3, 5e-4, 0.2)
    learn(pipeline, [*own, *world, *readings], lesson, "corrected")
    kept = {name: value.astype(np.float16) for name, value in weights(pipeline).items()}
    with replacing(out) as file:
        save_file(kept, file, {"labels": label_names(pipeline)})


if __name__ == "__main__":
    typer.run(make)
