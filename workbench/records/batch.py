"""What passes between data, encoders and objectives in one step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.records._arrays import Rows
from workbench.registry import require

if TYPE_CHECKING:
    import torch


# the fields of an embedding that have a row for each entity
OF_ENTITIES = {"entities", "owner", "labels"}


class Signal(Protocol):
    """What captions alone can tell, computed once."""

    def take(self, rows: Rows) -> Any:
        """Return the signal of these caption rows, as a tensor or a mapping of tensors, ready for a batch."""


@dataclass(frozen=True)
class Embedding:
    """What an encoder makes of ``N`` images or ``N`` captions; one record serves every objective.

    Args:
        mean: ``(N, D)`` unit vectors; the released form of AAHR alone compares vectors of any length.
        log_var: ``(N, D)`` log sigma squared, for probabilistic objectives.
        parts: ``(N, P, D')`` regions, patch tokens or words.
        mask: ``(N, P)`` True where a part is real.
        entities: ``(E, D)`` unit vectors of the captions' entities.
        owner: ``(E,)`` row of the caption that an entity belongs to.
        labels: ``(E, W)`` what an entity says, as numbers of the signal that it was made from: its object,
            then its attributes, 0 = none.
        local: ``(N, D)`` unit vectors of the local features alone, before a global vector is mixed in.
    """

    mean: "torch.Tensor"
    log_var: "torch.Tensor | None" = None
    parts: "torch.Tensor | None" = None
    mask: "torch.Tensor | None" = None
    entities: "torch.Tensor | None" = None
    owner: "torch.Tensor | None" = None
    labels: "torch.Tensor | None" = None
    local: "torch.Tensor | None" = None

    def __post_init__(self) -> None:
        require(self.mean.ndim == 2, f"embedding: mean must be (N, D), got {tuple(self.mean.shape)}")
        n = self.mean.shape[0]
        require(
            self.log_var is None or self.log_var.shape == self.mean.shape,
            "embedding: log_var must have the shape of mean",
        )
        require((self.parts is None) == (self.mask is None), "embedding: parts and mask come together")
        if self.parts is not None and self.mask is not None:
            require(self.parts.ndim == 3 and len(self.parts) == n, f"embedding: parts must be ({n}, P, D)")
            require(self.mask.shape == self.parts.shape[:2], "embedding: mask must be (N, P)")
        require(
            (self.entities is None) == (self.owner is None), "embedding: entities and owner come together"
        )

    def __len__(self) -> int:
        return int(self.mean.shape[0])

    @classmethod
    def from_parts(cls, parts: "torch.Tensor", mask: "torch.Tensor | None" = None) -> "Embedding":
        """Make an embedding of several vectors an item; ``mean`` is their mean direction.

        Args:
            parts: ``(N, P, D)``, of any length.
            mask: ``(N, P)`` True where a part is real; ``None`` = all are.
        """
        import torch

        normalize = torch.nn.functional.normalize
        mask = torch.ones(parts.shape[:2], dtype=torch.bool, device=parts.device) if mask is None else mask
        unit = normalize(parts, dim=-1).masked_fill(~mask[..., None], 0)
        return cls(normalize(unit.sum(dim=1), dim=-1), parts=parts, mask=mask)

    def present_fields(self) -> "dict[str, torch.Tensor]":
        """Return the fields that are not ``None``, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def take(self, rows: "Rows | torch.Tensor | slice") -> "Embedding":
        """Return some rows ``(n,)``, with the entities that belong to them; each once, where there are
        entities.
        """
        import torch

        if isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
            if len(rows) == len(self):
                return self
        picked = torch.as_tensor(rows, device=self.mean.device)
        fields = self.present_fields()
        values = {name: value[picked] for name, value in fields.items() if name not in OF_ENTITIES}
        if "owner" not in fields:
            return Embedding(**values)
        place = torch.full((len(self),), -1, device=fields["owner"].device)
        place[picked] = torch.arange(len(rows), device=place.device)
        owner = place[fields["owner"]]
        picked_entities = owner >= 0
        fields["owner"] = owner
        for name in OF_ENTITIES & fields.keys():
            values[name] = fields[name][picked_entities]
        return Embedding(**values)

    @classmethod
    def join(cls, chunks: "Sequence[Embedding]") -> "Embedding":
        """Return one embedding of all chunks; parts are padded to the longest, owners are counted on."""
        import torch
        from torch.nn.functional import pad

        columns: dict[str, list[torch.Tensor]] = {}
        for name in chunks[0].present_fields():
            columns[name] = [getattr(chunk, name) for chunk in chunks]
        for name in {"parts", "mask"} & columns.keys():
            longest = max(value.shape[1] for value in columns[name])
            columns[name] = [pad(v, (0, 0) * (v.ndim - 2) + (0, longest - v.shape[1])) for v in columns[name]]
        if "owner" in columns:
            starts = accumulate(map(len, chunks), initial=0)
            columns["owner"] = [value + start for value, start in zip(columns["owner"], starts)]
        return cls(**{name: torch.cat(values) for name, values in columns.items()})

    def in_float32(self, device: "torch.device") -> "Embedding":
        """Return the embedding on a device with floating-point values in float32; gradients pass."""
        fields = self.present_fields()
        for name, value in fields.items():
            precise = value.float() if value.is_floating_point() else value
            fields[name] = precise.to(device)
        return Embedding(**fields)


@dataclass(frozen=True)
class Batch:
    """One rectangular training batch: ``I`` images, ``T`` captions, and what the encoders and objectives
    asked for.

    Args:
        image_ids: ``(I,)`` ids; ``caption_ids``: ``(T,)`` ids.
        own: ``(T,)`` row *in this batch* of each caption's image.
        inputs: model inputs by name (``"pixels"``, ``"regions"``).
        signals: taken signals by name (``"tokens"``, ``"descriptiveness"``).
        relevance: ``(I, T)`` graded relevance of every pair of the batch, by name (``"cider"``, ``"exact"``);
            no gradient.
        momentum: what the momentum copies of the encoders make of the same images and captions; no gradient.
        labels: ``(I, T)`` share of each caption in what each image shows, where images were mixed; ``None`` =
            the positives.
        negatives: what the text encoder makes of ``N`` further texts, none of which is right for an image of
            the batch; ``None`` = there are none.
        also: ``(I, T)`` bool, pairs that judgements call right beside those that belong together; ``None`` =
            none.
    """

    image_ids: Sequence[str]
    caption_ids: Sequence[str]
    own: "torch.Tensor"
    inputs: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Any] = field(default_factory=dict)
    relevance: "Mapping[str, torch.Tensor]" = field(default_factory=dict)
    momentum: tuple[Embedding, Embedding] | None = None
    labels: "torch.Tensor | None" = None
    also: "torch.Tensor | None" = None
    negatives: Embedding | None = None

    def __post_init__(self) -> None:
        expected = len(self.image_ids), len(self.caption_ids)
        require(
            len(self.own) == expected[1], f"batch: own has {len(self.own)} rows for {expected[1]} captions"
        )
        graded = {f"relevance {name!r}": grades for name, grades in self.relevance.items()}
        for name, pairs in {**graded, "labels": self.labels, "also": self.also}.items():
            shape = expected if pairs is None else tuple(pairs.shape)
            require(shape == expected, f"batch: {name} of shape {shape}, expected {expected}")

    @property
    def belongs(self) -> "torch.Tensor":
        """``(I, T)`` bool: the caption was written for the image, by id and never by position."""
        import torch

        number = np.unique(self.image_ids, return_inverse=True)[1]
        of_image = torch.as_tensor(number, device=self.own.device)
        return of_image[:, None] == of_image[self.own][None, :]

    @property
    def positives(self) -> "torch.Tensor":
        """``(I, T)`` bool: the caption belongs to the image, or judgements call the pair right."""
        return self.belongs if self.also is None else self.belongs | self.also

    @property
    def targets(self) -> "torch.Tensor":
        """``(I, T)`` floating-point labels: those of mixed images, or 1 at the positives and 0 elsewhere."""
        return self.positives.float() if self.labels is None else self.labels
