"""What dual encoders of every library share: heads, frozen towers, adapters, groups of parameters.

``head="pooled"`` takes the model's own projected vectors. ``head="tokens"`` is the layout of PCME++ and DITM:
all output tokens of a tower, a linear map, GPO pooling, L2 norm (Chun, "Improved probabilistic image-text
representations", ICLR 2024).
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.modules.batchnorm import _BatchNorm

from workbench.encoders._lora import Lora, adapt, is_adapter, merge_adapters, name_without_adapters
from workbench.encoders._open_clip_towers import Branch, record_passes
from workbench.encoders.base import Encoder, ParameterGroup
from workbench.encoders.pooling import POOLINGS, LogVar, PoolingName
from workbench.encoders.words import augment_token_ids, drop_tokens
from workbench.records import Batch, Embedding, require

ROLES = {"image": "image_backbone", "text": "text_backbone"}
# width of the embedding of a head that maps tokens
TOKEN_DIM = 1024


class TwoTowers(Encoder):
    """A dual encoder that another library built, as one encoder for both sides.

    A subclass sets ``network`` and the fields below, calls ``add_heads``, and implements what reads its
    towers.

    Attributes:
        network: the model of the other library.
        by_tokens: whether a head of our own maps and pools all tokens.
        augments: whether tokens are dropped in training.
        mask_id: id that a masked word gets.
        text_signal: the signal with ids of texts.
        freeze_image, freeze_text: whether a tower stays as it is.
        mean, std: of pixels as shares of 255, ``(1, 3, 1, 1)``.
    """

    image_input: str | None = "pixels"
    encodes_text: ClassVar[bool] = True
    text_signal: ClassVar[str] = "tokens"
    network: Any
    by_tokens: bool
    augments: bool
    mask_id: int
    freeze_image: bool
    freeze_text: bool
    log_var: bool
    mean: Tensor
    std: Tensor
    lora: Lora | None = None

    @property
    def logits(self) -> tuple[float, float] | None:
        """Scale and shift of the scores that the model was trained with."""
        scale = getattr(self.network, "logit_scale", None)
        shift = getattr(self.network, "logit_bias", None)
        if scale is None:
            return None
        return float(scale.exp()), 0.0 if shift is None else float(shift)

    def read_images(self, pixels: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, P, W)`` tokens and their mask."""
        raise NotImplementedError

    def read_texts(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, L, W)`` tokens and their mask."""
        raise NotImplementedError

    def tower(self, side: str) -> Any:
        """Return the module of a tower, which may be the model itself."""
        raise NotImplementedError

    def side_of(self, name: str) -> str:
        """Return the tower that a weight of the model is part of, ``"image"`` or ``"text"``; empty = none."""
        raise NotImplementedError

    def is_pooling_weight(self, name: str) -> bool:
        """Return whether a weight of the model serves its own pooled vectors only, and not its tokens."""
        raise NotImplementedError

    def widths(self) -> tuple[int, int]:
        """Return widths of the tokens of images and of texts."""
        raise NotImplementedError

    def depth(self) -> Mapping[str, int]:
        """Return the depth of the weights of the model, by name."""
        raise NotImplementedError

    def add_heads(
        self, own_dim: int, embed_dim: int, pooling: PoolingName, blocks: int, lora: Mapping[str, Any] | None
    ) -> None:
        """Make heads and adapters, and choose what is trained.

        Args:
            own_dim: width of the model's own vectors.
            embed_dim: width that was asked for; 0 = none.
            pooling: of a head that maps tokens.
            blocks: so many last blocks of a tower are copied for the log variance.
            lora: fields of ``Lora``; ``None`` = no adapters.

        Raises:
            ValueError: the width is not that of the model, or adapters are on a frozen tower.
        """
        require(
            self.by_tokens or embed_dim in (0, own_dim),
            f"the model embeds to {own_dim} dimensions; for embed_dim={embed_dim} use head='tokens'",
        )
        self.embed_dim = (embed_dim or TOKEN_DIM) if self.by_tokens else own_dim
        widths = self.widths()
        if self.by_tokens:
            self.image_head, self.text_head = (TokenHead(w, self.embed_dim, pooling) for w in widths)
        self.image_log_var = LogVar(widths[0], self.embed_dim, pooling) if self.log_var else None
        self.text_log_var = LogVar(widths[1], self.embed_dim, pooling) if self.log_var else None
        copied = blocks if self.log_var and self.by_tokens else 0
        self.image_branch = Branch(self.tower("image"), copied) if copied else None
        self.text_branch = Branch(self.tower("text"), copied) if copied else None
        self._choose_parameters()
        if lora is not None:
            self._add_adapters(Lora(**{**lora, "targets": tuple(lora.get("targets", ()))}))
        self.train()

    def encode_images(self, batch: Batch) -> Embedding:
        """Embed images: pooled unit vectors; patch tokens as parts (of ``head="tokens"``: all tokens that
        were pooled).
        """
        with (
            torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze_image),
            self._watching("image", self.image_branch) as seen,
        ):
            pooled, parts, mask = self.read_images(batch.inputs["pixels"])
        if self.by_tokens and self.augments and self.training:
            mask = drop_tokens(mask)
        spread = self.image_branch(seen) if self.image_branch else parts
        log_var = self.image_log_var(spread, mask) if self.image_log_var else None
        if self.by_tokens:
            pooled, parts = self.image_head(parts, mask)
        return Embedding(normalize(pooled, dim=-1), log_var, parts, mask)

    def encode_texts(self, batch: Batch) -> Embedding:
        """Embed captions: pooled unit vectors; word tokens up to each caption's length as parts, its start
        and end included.
        """
        ids = batch.signals[self.text_signal]
        ids = augment_token_ids(ids, self.mask_id) if self.augments and self.training else ids
        with (
            torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze_text),
            self._watching("text", self.text_branch) as seen,
        ):
            pooled, parts, mask = self.read_texts(ids)
        spread = self.text_branch(seen, ids) if self.text_branch else parts
        log_var = self.text_log_var(spread, mask) if self.text_log_var else None
        if self.by_tokens:
            pooled, parts = self.text_head(parts, mask)
        return Embedding(normalize(pooled, dim=-1), log_var, parts, mask)

    def train(self, mode: bool = True) -> Self:
        """Set training mode, except for frozen towers: batch statistics and dropout stay as in evaluation.
        Next to adapters, batch statistics stay too.
        """
        super().train(mode)
        for name, part in self.network.named_children():
            side = self.side_of(f"{name}.")
            if self._is_frozen(side):
                part.eval()
            elif self._is_adapted(side):
                norms = (norm for norm in part.modules() if isinstance(norm, _BatchNorm))
                for norm in norms:
                    norm.eval()
        return self

    def groups(self) -> list[ParameterGroup]:
        """Return both towers by depth, and the heads, adapters among them; every trainable parameter occurs
        exactly once.
        """
        branches = {"image": self.image_branch, "text": self.text_branch}
        depth = self.depth()
        out = []
        for side, role in ROLES.items():
            levels: dict[int, dict[str, nn.Parameter]] = {}
            for name, parameter in self._of_side(side).items():
                if parameter.requires_grad and not is_adapter(name):
                    levels.setdefault(depth[name_without_adapters(name)], {})[f"{role}.{name}"] = parameter
            out += [ParameterGroup(role, levels[level], level) for level in sorted(levels)]
            branch = branches[side]
            out += branch.groups(role) if branch else []
        heads = {name: p for name, p in self.named_parameters() if p.requires_grad and self._is_head(name)}
        return [*out, ParameterGroup("head", heads)] if heads else out

    def normalised(self, pixels: Tensor) -> Tensor:
        """Bring uint8 pixels to the scale that the model reads."""
        return (pixels.to(self.mean.dtype) / 255 - self.mean) / self.std

    def merge_adapters(self) -> Any:
        """Return the model of the other library with its adapters added to the weights."""
        return merge_adapters(self.network)

    def _is_head(self, name: str) -> bool:
        others = ("network.", "image_branch.", "text_branch.")
        return is_adapter(name) or not name.startswith(others)

    def _is_frozen(self, side: str) -> bool:
        return {"image": self.freeze_image, "text": self.freeze_text}.get(side, False)

    def _is_adapted(self, side: str) -> bool:
        return self.lora is not None and self.lora.adapts(side)

    def _of_side(self, side: str) -> dict[str, nn.Parameter]:
        """Return weights of a tower, by their names in the model."""
        return {name: p for name, p in self.network.named_parameters() if self.side_of(name) == side}

    def _watching(self, side: str, branch: Branch | None) -> Any:
        return record_passes(branch, self.tower(side)) if branch else nullcontext([])

    def _choose_parameters(self) -> None:
        """Train only what takes part: no logit scale (an objective has its own), no decoder, no unused
        projection.
        """
        for name, parameter in self.network.named_parameters():
            side = self.side_of(name)
            takes_part = bool(side) and not self._is_frozen(side)
            unused = self.by_tokens and self.is_pooling_weight(name)
            parameter.requires_grad_(parameter.requires_grad and takes_part and not unused)

    def _add_adapters(self, lora: Lora) -> None:
        """Give towers adapters, and train nothing else of these towers."""
        for side in ROLES:
            both = lora.adapts(side) and self._is_frozen(side)
            require(
                not both,
                f"lora: freeze_{side} keeps the {side} tower as it is; leave it out, or name the other side "
                "in lora.sides",
            )
        for side in ROLES:
            for parameter in self._of_side(side).values() if lora.adapts(side) else ():
                parameter.requires_grad_(False)
        adapt(self.network, lora, self.side_of)
        self.lora = lora


class TokenHead(nn.Module):
    """Linear map and pooling.

    Args:
        width: of the tokens.
        embed_dim: of the embedding.
        pooling: ``"gpo"``, ``"mean"`` or ``"max"``.
    """

    def __init__(self, width: int, embed_dim: int, pooling: PoolingName) -> None:
        super().__init__()
        self.linear = nn.Linear(width, embed_dim)
        self.pooling = POOLINGS[pooling]()

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Map tokens ``(N, P, W)`` and mask ``(N, P)`` to the pooled ``(N, D)`` and the mapped tokens ``(N,
        P, D)``.
        """
        parts = self.linear(tokens)
        return self.pooling(parts, mask), parts
