"""A large reader of captions, from which the small one learns: a sentence encoder with a biaffine parser.

A word is the mean ``h`` of its pieces' outputs. With ``d`` and ``g`` two layers on it, word ``j`` scores as
head of word ``i`` ``[d(h_i); 1]^T U [g(h_j); 1]``; each relation has a ``U`` of its own, and a tag is a
linear layer's. Every word takes its best head, the root itself. Where that gives no tree, or one whose arcs
cross, which the small parser could not build, the sentence is not taught.

The encoder is the packaged MiniLM, which was trained on captions, those of MS-COCO and of Flickr30K among
them, though on nobody's trees.

Source: Dozat, Manning, "Deep Biaffine Attention for Neural Dependency Parsing", ICLR 2017 (Section 3). That a
small model learns what a large one reads: Kim, Rush, "Sequence-Level Knowledge Distillation", EMNLP 2016.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from tqdm.auto import tqdm

from workbench.assets import text_models

BATCH = 32
ARC, RELATION = 256, 96  # widths of the layers under the two scores
FASTER = 8  # times the encoder's rate, at which the layers on it learn
NO_LABEL = -100


class Reading(NamedTuple):
    """One sentence as the parser should read it: words as given to it, tags, relations, heads."""

    words: list[str]
    tags: list[str]
    deps: list[str]
    heads: list[int]


class Biaffine(nn.Module):
    """``(B, L, L, labels)`` scores of every word with every word as its head, of ``(B, L, D)`` words."""

    def __init__(self, width: int, inner: int, labels: int) -> None:
        super().__init__()
        self.below, self.above = nn.Linear(width, inner), nn.Linear(width, inner)
        self.product = nn.Parameter(torch.randn(labels, inner + 1, inner + 1) * 0.01)
        self.drop = nn.Dropout(0.2)

    def forward(self, words: Tensor) -> Tensor:
        """Scores; each layer's output is joined by a 1, which makes the biases."""
        sides = [self.drop(functional.gelu(layer(words))) for layer in (self.below, self.above)]
        below, above = [functional.pad(side, (0, 1), value=1.0) for side in sides]
        return torch.einsum("bik,okl,bjl->bijo", below, self.product, above)


class Scores(NamedTuple):
    """Of ``B`` sentences of at most ``L`` words: tags ``(B, L, T)``, heads ``(B, L, L)``, and relations of a
    word to each other one ``(B, L, L, R)``. Heads behind the end of a sentence score ``-inf``.
    """

    tags: Tensor
    heads: Tensor
    deps: Tensor


class Teacher(nn.Module):
    """Reads the words of sentences: their tags, heads and relations.

    Args:
        tags: labels of words.
        deps: labels of relations.
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"``.

    Raises:
        ImportError: transformers or the package that carries the model is not installed.
        FileNotFoundError: the folder holds no model.
    """

    def __init__(self, tags: Sequence[str], deps: Sequence[str], model: str = text_models.PACKAGE) -> None:
        super().__init__()
        source = text_models.locate_model(model, "teacher")
        self.tokenizer = text_models.load_part("AutoTokenizer", source)
        self.encoder = text_models.load_part("AutoModel", source)
        self.tags, self.deps = list(tags), list(deps)
        width = self.encoder.config.hidden_size
        self.drop = nn.Dropout(0.2)
        self.tag = nn.Linear(width, len(tags))
        self.arc, self.relation = Biaffine(width, ARC, 1), Biaffine(width, RELATION, len(deps))

    def forward(self, sentences: Sequence[Sequence[str]]) -> Scores:
        """Scores of some sentences, given as words."""
        split = self.tokenizer(
            [list(words) for words in sentences],
            is_split_into_words=True,
            truncation=True,
            padding=True,
            return_tensors="pt",
        )
        pieces = self._pieces(split, sentences)
        words = self.drop(pieces @ self.encoder(**split).last_hidden_state)
        absent = pieces.sum(dim=2) == 0
        heads = self.arc(words)[..., 0].masked_fill(absent[:, None, :], -torch.inf)
        return Scores(self.tag(words), heads, self.relation(words))

    def _pieces(self, split: Any, sentences: Sequence[Sequence[str]]) -> Tensor:
        """``(B, L, P)`` share of every piece in every word; the shares of a word sum to 1."""
        longest = max(map(len, sentences))
        found = torch.zeros(len(sentences), longest, split["input_ids"].shape[1])
        for b in range(len(sentences)):
            for p, word in enumerate(split.word_ids(b)):
                if word is not None:
                    found[b, word, p] = 1
        return found / found.sum(dim=2, keepdim=True).clamp(min=1)

    def loss(self, readings: Sequence[Reading]) -> Tensor:
        """Sum of the cross entropies of tags, heads and relations; the relation is that to the true head. A
        label that the teacher does not know is not counted.
        """
        scores = self([one.words for one in readings])
        tags, heads, deps = (torch.full(scores.heads.shape[:2], NO_LABEL) for _ in range(3))
        of_tag, of_dep = ({name: i for i, name in enumerate(names)} for names in (self.tags, self.deps))
        for b, one in enumerate(readings):
            ends = slice(len(one.words))
            tags[b, ends] = torch.tensor([of_tag.get(tag, NO_LABEL) for tag in one.tags])
            deps[b, ends] = torch.tensor([of_dep.get(dep, NO_LABEL) for dep in one.deps])
            heads[b, ends] = torch.tensor(one.heads)
        real = heads != NO_LABEL
        relations = scores.deps[real].take_along_dim(heads[real][:, None, None], dim=1)[:, 0]
        return (
            functional.cross_entropy(scores.tags[real], tags[real])
            + functional.cross_entropy(scores.heads[real], heads[real])
            + functional.cross_entropy(relations, deps[real])
        )

    @torch.inference_mode()
    def read(self, sentences: Sequence[Sequence[str]]) -> list[Reading | None]:
        """What the teacher reads; None where its heads are no tree, or one whose arcs cross."""
        self.eval()
        found: list[Reading | None] = [None] * len(sentences)
        for rows in _alike(range(len(sentences)), [len(words) for words in sentences]):
            scores = self([sentences[row] for row in rows])
            best = scores.heads.argmax(dim=2)
            tags = scores.tags.argmax(dim=2).tolist()
            of_head = scores.deps.take_along_dim(best[..., None, None], dim=2)[:, :, 0]
            deps = of_head.argmax(dim=2).tolist()
            for b, row in enumerate(rows):
                words, heads = list(sentences[row]), best[b, : len(sentences[row])].tolist()
                if is_tree(heads):
                    named = [self.deps[dep] for dep in deps[b][: len(words)]]
                    named = ["ROOT" if i == head else named[i] for i, head in enumerate(heads)]
                    found[row] = Reading(words, [self.tags[t] for t in tags[b][: len(words)]], named, heads)
        return found


def is_tree(heads: Sequence[int]) -> bool:
    """Whether there is one root, its own head, which every word hangs on in the end, and no arcs cross."""
    roots = [i for i, head in enumerate(heads) if i == head]
    if len(roots) != 1:
        return False
    reached = list(heads)
    for _ in heads:
        reached = [heads[i] for i in reached]
    arcs = [(min(i, head), max(i, head)) for i, head in enumerate(heads)]
    crossed = any(a < c < b < d for a, b in arcs for c, d in arcs)
    return set(reached) == set(roots) and not crossed


def teach(
    teacher: Teacher, readings: Sequence[Reading], times: int, rate: float, seed: int, name: str
) -> None:
    """Train a teacher on readings in batches of 32 sentences of like length. The rate rises over the first
    twentieth to ``rate`` and falls to a fiftieth of it; the layers on the encoder learn eight times as fast.
    """
    teacher.train()
    inner = list(teacher.encoder.parameters())
    others = [value for key, value in teacher.named_parameters() if not key.startswith("encoder.")]
    optimiser = torch.optim.AdamW([{"params": inner}, {"params": others}], weight_decay=0.01)
    generator, total = random.Random(seed), times * len(readings)
    with tqdm(total=total, desc=name, unit=" sentences", mininterval=10) as bar:
        for _ in range(times):
            order = generator.sample(range(len(readings)), len(readings))
            for rows in _alike(order, [len(one.words) for one in readings], generator):
                now = rate * min(1, 20 * (bar.n + 1) / total) * max(0.02, 1 - bar.n / total)
                for group, factor in zip(optimiser.param_groups, (1, FASTER), strict=True):
                    group["lr"] = now * factor
                optimiser.zero_grad()
                torch.autograd.backward(teacher.loss([readings[row] for row in rows]))
                nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
                optimiser.step()
                bar.update(len(rows))


def _alike(
    rows: Sequence[int], lengths: Sequence[int], generator: random.Random | None = None
) -> Iterator[list[int]]:
    """Batches of rows of like length: 32 batches' rows at a time are sorted, and the batches shuffled."""
    for start in range(0, len(rows), BATCH * BATCH):
        near = sorted(rows[start : start + BATCH * BATCH], key=lambda row: lengths[row])
        batches = [near[first : first + BATCH] for first in range(0, len(near), BATCH)]
        if generator:
            generator.shuffle(batches)
        yield from batches
