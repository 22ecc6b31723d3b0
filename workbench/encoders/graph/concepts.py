"""Concept encoders: from the words of a phrase ("brown", "hot dog", "stand on") to one vector.

Four of them: word vectors and a GRU, one for objects, one for attributes, one for relations; the vectors of
a frozen text encoder, which the signal brings; a text encoder such as BERT that trains with the rest; and the
text tower of an open_clip model.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
section 3.3.1, and the released code, whose GRU reads in one direction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders._open_clip import build, find_description, fitting_model, set_padding
from workbench.encoders._open_clip_towers import depths, read_text, text_tower
from workbench.encoders.packed import PackedIndex, gru
from workbench.encoders.words import FIRST_WORD, UNKNOWN, TextBackbone, close_gaps, word_table
from workbench.records import require
from workbench.registry import Natural, Share

KINDS = ("objects", "attributes", "relations")
IRREGULAR = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "foot": "feet",
    "mouse": "mice",
}


@dataclass(frozen=True)
class Concepts:
    """How a phrase becomes a vector.

    Args:
        kind: ``"gru"`` (word vectors, learned here or from ``pretrained``), ``"features"`` (a text encoder
            such as BERT) or ``"towers"`` (the text tower of an open_clip model, with the weights
            ``pretrained``).
        name: the text encoder, by the names of the signal ``word_features``; or the open_clip model, as for
            ``towers``.
        backbone: of kind ``"features"``: ``"frozen"``, ``"trained"`` with what stands above it, or
            ``"random"``, trained from random weights.
        word_dim: width of the word vectors, or of the frozen features.
        bidirectional: the GRU reads both ways, as the paper has it; the released code reads one way.
        whole: of kind ``"towers"``: what the tower makes of the whole caption, and of an entity's phrases, is
            kept, and the graph adds to it. Not in the paper: training starts where the pre-trained tower is,
            instead of from nothing.
    """

    kind: Literal["gru", "features", "towers"] = "gru"
    name: str = ""
    word_dim: Natural = 300
    bidirectional: bool = False
    whole: bool = False
    backbone: Literal["frozen", "trained", "random"] = "frozen"

    def __post_init__(self) -> None:
        of_kind = f"graph: concepts of kind {self.kind!r}"
        named = self.kind != "gru"
        rule = "need a name" if named else "take no name"
        require(bool(self.name) == named, f"{of_kind} {rule}")
        require(
            not self.whole or self.kind == "towers",
            f"{of_kind} do not read whole captions; choose 'towers' or whole=False",
        )
        require(
            self.backbone == "frozen" or self.kind == "features",
            f"{of_kind} have no backbone={self.backbone!r}; it is for kind 'features'",
        )


@dataclass(frozen=True)
class Augmentation:
    """Probabilities, in training alone.

    Args:
        objects, attributes, relations: to leave one out of the graph.
        mask, delete: to mask or delete a word of a phrase; for word vectors.
        singularise, pluralise: to change the number of an object's name; for word vectors.
        draw_attributes: where an object has more than four attributes, training reads four at random of those
            that it leaves in, and evaluation the first four; ``False`` = always the first four.
        mask_relations: words of relations are masked alone, be it all of one, and never deleted.
    """

    objects: Share = 0.05
    attributes: Share = 0.15
    relations: Share = 0.15
    mask: Share = 0.10
    delete: Share = 0.05
    singularise: Share = 0.0
    pluralise: Share = 0.0
    draw_attributes: bool = False
    mask_relations: bool = False


class Reader(nn.Module):
    """Vectors of phrases, as a frozen text encoder gave them; the base of what reads the phrases itself.

    Args:
        width: of the vectors.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return vectors of all phrases that occur; each distinct one is read once.

        Args:
            words: ``(U, L)`` token ids of the distinct phrases, or their vectors ``(U, width)``.
            rows: for each of ``KINDS`` the ``(n,)`` rows of the phrases that occur there.

        Returns:
            ``(n, width)`` for each kind.
        """
        vectors = self.read(words)
        return {kind: vectors[at] for kind, at in rows.items()}

    def read(self, words: Tensor) -> Tensor:
        """Return ``(n, width)`` of phrases, or of captions.

        Raises:
            ValueError: vectors that are given have another width.
        """
        width = words.shape[1]
        require(width == self.width, f"graph: the features have width {width}; set concepts.word_dim={width}")
        return words

    def depths(self) -> dict[str, int]:
        """Return blocks between each pre-trained parameter and the top, for rates that fall with it."""
        return {}


class WordGru(Reader):
    """Word vectors and a GRU for each kind; the last hidden state, or the mean of both directions' last
    states.

    Args:
        vocabulary: words of the fitted signal.
        pretrained: word vectors to start from, see ``word_table``.
        concepts: whose ``word_dim`` is the width of a word vector and of the hidden state.
        augmentation: of phrases, for training.
    """

    def __init__(
        self,
        vocabulary: Sequence[str] | None,
        pretrained: str,
        concepts: Concepts,
        augmentation: Augmentation,
    ) -> None:
        width = concepts.word_dim
        both_ways = concepts.bidirectional
        super().__init__(width)
        self.augmentation = augmentation
        self.warm_start = bool(pretrained)
        self.words = word_table("graph", vocabulary, width, pretrained)
        grus = {kind: nn.GRU(width, width, batch_first=True, bidirectional=both_ways) for kind in KINDS}
        self.readers = nn.ModuleDict(grus)
        plurals = plural_ids(vocabulary or ())
        singulars = {plural: singular for singular, plural in plurals.items()}
        self.plural = _id_map(plurals, self.words.num_embeddings)
        self.singular = _id_map(singulars, self.words.num_embeddings)

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return each kind by a GRU of its own; in training every occurrence is augmented by itself."""
        return {kind: self._read(kind, words, at) for kind, at in rows.items()}

    def _read(self, kind: str, words: Tensor, at: Tensor) -> Tensor:
        if len(at) == 0:
            return self.words.weight.new_zeros(0, self.width)
        ids = words[at]
        p = self.augmentation
        if self.training and any((p.mask, p.delete, p.singularise, p.pluralise)):
            ids = self._augment(kind, ids)
        distinct, which = torch.unique(ids, dim=0, return_inverse=True)
        return self._last_states(kind, distinct)[which]

    def _last_states(self, kind: str, ids: Tensor) -> Tensor:
        index = PackedIndex(ids != 0)
        hidden = gru(cast(nn.GRU, self.readers[kind]), self.words(index.rows(ids)), index.sizes)
        ends = index.sizes.cumsum(0) - 1
        last = zip(hidden, (ends, ends - index.sizes + 1), strict=False)
        return torch.stack([states[place] for states, place in last]).mean(0)

    def _augment(self, kind: str, ids: Tensor) -> Tensor:
        p = self.augmentation
        if kind == "objects":
            ids = inflect(ids, self.singular, self.plural, singularise=p.singularise, pluralise=p.pluralise)
        alone = kind == "relations" and p.mask_relations
        return mask_and_delete(ids, mask=p.mask, delete=0 if alone else p.delete, whole=alone)

    def depths(self) -> dict[str, int]:
        """Return the depth of word vectors that are pre-trained."""
        return {"words.weight": 0} if self.warm_start else {}


class PieceReader(Reader):
    """A text encoder that trains reads each phrase: the mean of its last vectors.

    Args:
        model, width, weights: as for ``TextBackbone``.
    """

    def __init__(self, model: str, width: int, *, weights: bool) -> None:
        super().__init__(width)
        self.backbone = TextBackbone(model, width, weights=weights)

    def read(self, words: Tensor) -> Tensor:
        """Return ``(n, width)`` means of the word pieces ``(n, L)``."""
        real = (words != 0)[..., None]
        means: Tensor = (self.backbone(words) * real).sum(1) / real.sum(1)
        return means

    def depths(self) -> dict[str, int]:
        """Return the depths of the encoder's parameters."""
        return {f"backbone.{name}": depth for name, depth in self.backbone.depths().items()}


class TextTower(Reader):
    """The text tower of an open_clip model reads each phrase as it would read a caption.

    Args:
        model: as for the encoder ``towers``.
        pretrained: its weights; ``""`` = random.
    """

    def __init__(self, model: str, pretrained: str) -> None:
        description = find_description(fitting_model(model, pretrained))
        super().__init__(int(description.architecture["embed_dim"]))
        network: Any = build(description, pretrained)
        set_padding(network, description)
        self.tower = text_tower(network)
        if hasattr(self.tower, "visual"):
            # In the class CLIP the text tower is the model itself, and its image side serves nobody here.
            del self.tower.visual
        for name, parameter in self.tower.named_parameters():
            parameter.requires_grad_(not name.startswith("logit_"))

    def read(self, words: Tensor) -> Tensor:
        """Return ``(n, width)`` unit vectors of phrases or captions, ``(n, L)`` token ids."""
        return normalize(read_text(self.tower, words, joint=True)[0], dim=-1)

    def depths(self) -> dict[str, int]:
        """Return the depths of the tower's parameters."""
        return {f"tower.{name}": depth for name, depth in depths(self.tower).items()}


def reader_of(
    concepts: Concepts, vocabulary: Sequence[str] | None, pretrained: str, augmentation: Augmentation
) -> Reader:
    """Make the concept encoder of a kind."""
    if concepts.kind == "towers":
        return TextTower(concepts.name, pretrained)
    if concepts.kind == "gru":
        return WordGru(vocabulary, pretrained, concepts, augmentation)
    if concepts.backbone == "frozen":
        return Reader(concepts.word_dim)
    return PieceReader(concepts.name, concepts.word_dim, weights=concepts.backbone == "trained")


def plural_ids(vocabulary: Sequence[str]) -> dict[int, int]:
    """Return the id of a noun's plural by id of its singular, where a vocabulary holds both; by spelling, and
    a few by heart.
    """
    place = {word: FIRST_WORD + row for row, word in enumerate(vocabulary)}
    plurals: dict[int, int] = {}
    for word, number in place.items():
        ies = f"{word[:-1]}ies" if word.endswith("y") else ""
        forms = (IRREGULAR.get(word, ""), f"{word}s", f"{word}es", ies)
        known = [place[form] for form in forms if form in place]
        if known:
            plurals[number] = known[0]
    return plurals


def _id_map(numbers: Mapping[int, int], count: int) -> nn.Buffer:
    """Return ``(count,)`` another id for each id, itself where there is none; not part of the state."""
    return nn.Buffer(torch.tensor([numbers.get(word, word) for word in range(count)]), persistent=False)


def inflect(ids: Tensor, singular: Tensor, plural: Tensor, *, singularise: float, pluralise: float) -> Tensor:
    """Turn the last word of some phrases into its singular, and of some others into its plural.

    Args:
        ids: ``(n, L)`` token ids, with an end sign after the last word and 0 after it.
        singular: ``(V,)`` id of each word's singular, itself where it has none.
        plural: ``(V,)`` id of its plural.
        singularise: probability.
        pluralise: probability for a phrase that is not singularised.
    """
    last = ((ids != 0).sum(1, keepdim=True) - 2).clamp(min=0)
    word = ids.gather(1, last)
    draw = torch.rand(2, len(ids), 1, device=ids.device)
    many = torch.where(draw[1] < pluralise, plural[word], word)
    return ids.scatter(1, last, torch.where(draw[0] < singularise, singular[word], many))


def mask_and_delete(ids: Tensor, *, mask: float, delete: float, whole: bool = False) -> Tensor:
    """Augment words in training: some become the unknown word, some are gone; one word of a phrase
    always stays as it is, unless whole phrases may go.

    Args:
        ids: ``(n, L)`` token ids; start, end and padding are never changed.
        mask: probability.
        delete: probability.
        whole: all words of a phrase may be changed.
    """
    is_word = (ids == UNKNOWN) | (ids >= FIRST_WORD)
    draw = torch.rand(ids.shape, device=ids.device).masked_fill(~is_word, -1)
    changed = is_word & (whole | (draw != draw.amax(1, keepdim=True)))
    ids = ids.masked_fill(changed & (draw < mask), UNKNOWN)
    return close_gaps(ids, (ids != 0) & ~(changed & (draw >= mask) & (draw < mask + delete)))[0]
