"""Adapts spaCy's tagger and parser to captions: ``python -m workbench.training.adaptation``.

spaCy's model has read newspapers and web pages, and takes "a dog runs" for a compound. The rules of this
package know captions, but only those that somebody thought of. So the model learns from the rules
(self-training, Scudder 1965; Yarowsky 1995): what they make of many captions is its truth, once as the model
of spaCy reads them and once as the model that learnt from that. Then it learns from captions whose reading an
annotator chose or corrected, from annotated captions that are read right, and from what a much larger model
reads in many captions, after that one has learnt all of these (``teacher.py``). No caption of a picture that
is annotated for measuring is among them.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from safetensors.numpy import save_file
from tqdm.auto import tqdm

from workbench import assets, data
from workbench.records.foreign import read_json
from workbench.records.writing import replacing
from workbench.text.scene_graph import SceneGraphs, final_trees, spelling, wording
from workbench.text.scene_graph.annotations import TEXTS, Part, annotated, texts
from workbench.text.scene_graph.tree import Tree, labels, model, plain_model, put_weights, weights
from workbench.text.scene_graph.wording import Word
from workbench.training.teacher import Reading, Teacher, teach

SEED = 20261124
# captions of each source that the first student and the second one learn from
FIRST = {"flickr8k": 9000, "coco": 8000, "hierarcaps": 1500}
SECOND = {"flickr8k": 26000, "coco": 16000, "hierarcaps": 2500}
WORLD = 3000
TEACHER = 16_000  # of them, as the second student learns them, a teacher learns first
BESIDE = 2_000  # and stand beside what was chosen and corrected when it learns that
MORE = 18_000  # as the teacher reads them, they stand beside it when the second student learns it
INSERTED = ("is", "are", "who", "a")


class Lesson(NamedTuple):
    """How many times readings are learnt, and how fast: the rate falls from ``rate`` to a fiftieth of it."""

    times: int
    rate: float
    drop: float


def as_written(tree: Tree, words: Sequence[Word]) -> Reading | None:
    """A final tree on the words of the caption, without what was put in for a second reading ("a dog [is]
    running" for "a dog runs"); None where a word cannot be found again, or where the rules made a circle.
    """
    place = dict[int, int]()
    for i, word in enumerate(tree.words):
        k = len(place)
        if k < len(words) and (word is words[k] or word.given not in INSERTED):
            place[i] = k
    if len(place) != len(words) or any(_root(tree, i) is None for i in place):
        return None
    found = Reading([word.given for word in words], [""] * len(words), [""] * len(words), [0] * len(words))
    for i, k in place.items():
        head = tree.heads[i]
        while head not in place and tree.heads[head] != head:
            head = tree.heads[head]
        if head not in place:
            return None
        who = any(tree.given(child) == "who" for child in tree.children[i] if child not in place)
        changed = tree.given(i) != words[k].given
        found.tags[k] = ("VBZ" if words[k].given.endswith("s") else "VBP") if changed else tree.tags[i]
        found.deps[k] = "acl" if who and tree.deps[i] == "relcl" else tree.deps[i]
        found.heads[k] = place[head]
    return found


def _root(tree: Tree, i: int) -> int | None:
    """The root above a word; None in a circle."""
    for _ in tree.words:
        if tree.heads[i] == i:
            return i
        i = tree.heads[i]
    return None


def taught(captions: Sequence[str]) -> Iterator[Reading]:
    """What the rules make of captions, as the model reads them now."""
    split = [wording.fold(one) for caption in captions for one in wording.sentences(spelling.words(caption))]
    long = [words for words in split if len(words) > 2]
    for tree, words in zip(final_trees(long), long, strict=True):
        if reading := as_written(tree, words):
            yield reading


def pool(root: Path, counts: dict[str, int]) -> list[str]:
    """Captions of each source, none of a picture of which a caption is annotated.

    Raises:
        FileNotFoundError: a file of captions is absent.
    """
    rows = map(json.loads, assets.path("scene_graphs/annotated.jsonl").read_text("utf-8").splitlines())
    pictures = {str(a["id"]): str(a["image_id"]) for a in read_json(root / TEXTS["coco"])["annotations"]}

    def picture(source: str, name: str) -> tuple[str, str]:
        return source, pictures[name] if source == "coco" else name.partition("#")[0]

    kept = {picture(row["source"], row["id"]) for row in rows}
    generator, found = random.Random(SEED), list[str]()
    for source, count in counts.items():
        known = texts(root / TEXTS[source], source)
        free = sorted(name for name in known if picture(source, name) not in kept)
        found += [known[name] for name in generator.sample(free, count)]
    world = sorted(
        {
            caption
            for split in ("train", "val", "test")
            for caption in data.load("scenes", split=split).captions
        }
    )
    return found + generator.sample(world, WORLD)


def chosen(root: Path, *how: str) -> list[Reading]:
    """The readings of ``assets/scene_graphs/chosen.jsonl``: ``"chosen"``, ``"corrected"``, or of captions
    ``"made up"``; without a name all of them.
    """
    known = {source: texts(root / file, source) for source, file in TEXTS.items()}
    found = list[Reading]()
    for row in map(json.loads, assets.path("scene_graphs/chosen.jsonl").read_text("utf-8").splitlines()):
        if how and row["how"] not in how:
            continue
        caption = row.get("text") or known[row["source"]][row["id"]]
        words = wording.fold(wording.sentences(spelling.words(caption))[0])
        given = [word.given for word in words]
        found.append(Reading(given, row["tags"].split(), row["deps"].split(), row["heads"]))
    return found


def right(root: Path, parts: tuple[Part, ...] = ("dev", "seen", "fresh")) -> list[Reading]:
    """Annotated captions, of the parts for writing rules, that are read as they are annotated."""
    found = list[Reading]()
    for part in parts:
        truth = annotated(root, part)
        parsed = SceneGraphs().of(truth.captions).graphs
        pairs = zip(truth.captions, parsed, truth.graphs, strict=True)
        found += taught([text for text, mine, theirs in pairs if mine.tuples() == theirs.tuples()])
    return found


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


def read_by_teacher(own: Sequence[Reading], readings: Sequence[Reading]) -> list[Reading]:
    """Readings of the same sentences by a teacher that has learnt some of them and ``own``.

    Raises:
        ImportError: transformers or the package with the teacher's encoder is not installed.
    """
    from thinc.api import fix_random_seed

    generator = random.Random(SEED)
    fix_random_seed(SEED)
    every = [*own, *readings]
    tags = sorted({tag for one in every for tag in one.tags})
    deps = sorted({dep for one in every for dep in one.deps})
    teacher = Teacher(tags, deps)
    teach(teacher, generator.sample(readings, TEACHER), 1, 1e-4, SEED, "teacher")
    teach(teacher, [*own, *generator.sample(readings, BESIDE)], 3, 1e-4, SEED, "teacher, corrected")
    return [one for one in teacher.read([one.words for one in readings]) if one]


def make(
    out: Annotated[Path, typer.Option(help="File for the weights.")],
    root: Annotated[
        Path, typer.Option(help="Folder of the captions, see WORKBENCH_DATA.", envvar="WORKBENCH_DATA")
    ],
) -> None:
    """Adapt spaCy's tagger and parser to captions."""
    from thinc.api import fix_random_seed

    pipeline, plain = model()[0], weights(plain_model()[0])
    put_weights(pipeline, plain)
    good = right(root)
    for number, counts in enumerate((FIRST, SECOND), 1):
        readings = list(taught(pool(root, counts)))
        put_weights(pipeline, plain)
        fix_random_seed(SEED)
        learn(pipeline, readings, Lesson(3, 1e-3, 0.2), f"student {number}")
    own = [*chosen(root) * 2, *good]
    read = read_by_teacher(own, readings)
    fix_random_seed(SEED)
    lessons = [*own, *chosen(root, "made up") * 2, *random.Random(SEED).sample(read, MORE)]
    learn(pipeline, lessons, Lesson(8, 1e-3, 0.3), "corrected")
    kept = {name: value.astype(np.float16) for name, value in weights(pipeline).items()}
    with replacing(out) as file:
        save_file(kept, file, {"labels": labels(pipeline)})


if __name__ == "__main__":
    typer.run(make)
