"""Concept encoders: from the words of a phrase ("brown", "hot dog", "stand on") to one vector.

Four of them: word vectors and a GRU, one for objects, one for attributes, one for relations; the vectors of
a frozen text encoder, which the signal brings; a text encoder such as BERT that trains with the rest; and the
text tower of an open_clip model.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
section 3.3.1, and the released code, whose GRU reads in one direction.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders._open_clip import build, describe, fitting
from workbench.encoders._open_clip_towers import depths, read_text, text_tower
from workbench.encoders.packed import PackedIndex, gru
from workbench.encoders.words import FIRST_WORD, UNKNOWN, TextBackbone, close_up, word_table
from workbench.records import require

KINDS = ("objects", "attributes", "relations")
IRREGULAR = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "foot": "feet",
    "mouse": "mice",
}


class WordGru(nn.Module):
    """Word vectors and a GRU for each kind; the last hidden state, or the mean of both directions' last
    states.

    Args:
        vocabulary: words of the fitted signal.
        pretrained: word vectors to start from, see ``word_table``.
        word_dim: width of a word vector and of the hidden state.
        bidirectional: read both ways.
        augmentation: probabilities ``mask``, ``delete``, ``singularise`` and ``pluralise``, for training.
        masks_relations: words of relations are masked alone, be it all of one.
    """

    plural: Tensor
    singular: Tensor

    def __init__(
        self,
        vocabulary: Sequence[str] | None,
        pretrained: str,
        *,
        word_dim: int = 300,
        bidirectional: bool = False,
        augmentation: Mapping[str, float],
        masks_relations: bool = False,
    ) -> None:
        super().__init__()
        self.width, self.augmentation = word_dim, dict(augmentation)
        self.masks_relations = masks_relations
        self.words = word_table("graph", vocabulary, word_dim, pretrained)
        grus = {
            kind: nn.GRU(word_dim, word_dim, batch_first=True, bidirectional=bidirectional) for kind in KINDS
        }
        self.readers = nn.ModuleDict(grus)
        other = numbers_of(vocabulary or ())
        for name, table in (("plural", other), ("singular", {many: one for one, many in other.items()})):
            ids = torch.arange(FIRST_WORD + len(vocabulary or ()))
            ids[list(table)] = torch.tensor(list(table.values()), dtype=torch.long)
            self.register_buffer(name, ids, persistent=False)

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Vectors of all phrases that occur; each distinct one is read once.

        Args:
            words: ``(U, L)`` token ids of the distinct phrases; of the other concept encoders ids or vectors.
            rows: for each of ``KINDS`` the ``(n,)`` rows of the phrases that occur there.

        Returns:
            ``(n, width)`` for each kind.
        """
        return {kind: self._read(kind, words, at) for kind, at in rows.items()}

    def _read(self, kind: str, words: Tensor, at: Tensor) -> Tensor:
        if len(at) == 0:
            return self.words.weight.new_zeros(0, self.width)
        ids = words[at]
        if self.training and any(self.augmentation.values()):
            ids = self._touch(kind, ids)
        distinct, which = torch.unique(ids, dim=0, return_inverse=True)
        return self._last(kind, distinct)[which]

    def _last(self, kind: str, ids: Tensor) -> Tensor:
        index = PackedIndex(ids != 0)
        hidden = gru(cast(nn.GRU, self.readers[kind]), self.words(index.rows(ids)), index.sizes)
        ends = index.sizes.cumsum(0) - 1
        last = zip(hidden, (ends, ends - index.sizes + 1), strict=False)
        return torch.stack([states[place] for states, place in last]).mean(0)

    def _touch(self, kind: str, ids: Tensor) -> Tensor:
        p = self.augmentation
        if kind == "objects":
            ids = inflect(
                ids, self.singular, self.plural, singularise=p["singularise"], pluralise=p["pluralise"]
            )
        alone = kind == "relations" and self.masks_relations
        return mask_and_delete(ids, mask=p["mask"], delete=0 if alone else p["delete"], whole=alone)


class FrozenVectors(nn.Module):
    """What a frozen text encoder says of a phrase.

    Args:
        width: of its vectors.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The vectors, kind by kind.

        Raises:
            ValueError: they have another width.
        """
        if words.shape[1] != self.width:
            raise ValueError(
                f"graph: the features have width {words.shape[1]}; set concepts.word_dim={words.shape[1]}"
            )
        return {kind: words[at] for kind, at in rows.items()}


class PieceReader(nn.Module):
    """A text encoder that trains reads each phrase: the mean of its last vectors.

    Args:
        model: as for ``TextBackbone``.
        width: of its vectors.
        weights: start from its own.

    Raises:
        ValueError: its vectors have another width.
    """

    def __init__(self, model: str, width: int, *, weights: bool) -> None:
        super().__init__()
        self.backbone = TextBackbone(model, weights=weights)
        self.width = self.backbone.width
        require(
            self.width == width,
            f"graph: {model!r} gives vectors of width {self.width}; set concepts.word_dim={self.width}",
        )

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Read every distinct phrase once."""
        real = (words != 0)[..., None]
        vectors = (self.backbone(words) * real).sum(1) / real.sum(1)
        return {kind: vectors[at] for kind, at in rows.items()}


class TextTower(nn.Module):
    """The text tower of an open_clip model reads each phrase as it would read a caption.

    Args:
        model: as for the encoder ``towers``.
        pretrained: its weights; ``""`` = random.
    """

    def __init__(self, model: str, pretrained: str) -> None:
        super().__init__()
        description = describe(fitting(model, pretrained))
        network: Any = build(description, pretrained)
        self.tower = text_tower(network)
        if hasattr(self.tower, "visual"):
            # In the class CLIP the text tower is the model itself, and its image side serves nobody here.
            del self.tower.visual
        for name, parameter in self.tower.named_parameters():
            parameter.requires_grad_(not name.startswith("logit_"))
        self.width = int(description.architecture["embed_dim"])

    def forward(self, words: Tensor, rows: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Encode every distinct phrase once."""
        vectors = self.read(words)
        return {kind: vectors[at] for kind, at in rows.items()}

    def read(self, ids: Tensor) -> Tensor:
        """``(n, width)`` unit vectors of phrases or captions, ``(n, L)`` token ids."""
        return normalize(read_text(self.tower, ids, joint=True)[0], dim=-1)

    def depths(self) -> dict[str, int]:
        """The tower's parameters by depth, for rates that fall with it."""
        return depths(self.tower)


def numbers_of(vocabulary: Sequence[str]) -> dict[int, int]:
    """Id of a noun's plural by id of its singular, where a vocabulary holds both; by spelling, and a few by
    heart.
    """
    place = {word: FIRST_WORD + row for row, word in enumerate(vocabulary)}
    found: dict[int, int] = {}
    for word, number in place.items():
        ies = f"{word[:-1]}ies" if word.endswith("y") else ""
        spelt = [
            place[form] for form in (IRREGULAR.get(word, ""), f"{word}s", f"{word}es", ies) if form in place
        ]
        found |= {number: spelt[0]} if spelt else {}
    return found


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
    word, draw = ids.gather(1, last), torch.rand(2, len(ids), 1, device=ids.device)
    many = torch.where(draw[1] < pluralise, plural[word], word)
    return ids.scatter(1, last, torch.where(draw[0] < singularise, singular[word], many))


def mask_and_delete(ids: Tensor, *, mask: float, delete: float, whole: bool = False) -> Tensor:
    """Words touched in training: some become the unknown word, some are gone; one word of a phrase always
    stays as it is, unless whole phrases may go.

    Args:
        ids: ``(n, L)`` token ids; start, end and padding are never touched.
        mask: probability.
        delete: probability.
        whole: all words of a phrase may be touched.
    """
    is_word = (ids == UNKNOWN) | (ids >= FIRST_WORD)
    draw = torch.rand(ids.shape, device=ids.device).masked_fill(~is_word, -1)
    touched = is_word & (whole | (draw != draw.amax(1, keepdim=True)))
    ids = ids.masked_fill(touched & (draw < mask), UNKNOWN)
    return close_up(ids, (ids != 0) & ~(touched & (draw >= mask) & (draw < mask + delete)))[0]
