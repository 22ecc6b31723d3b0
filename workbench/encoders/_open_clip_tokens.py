"""What the towers of an open_clip model say before they are pooled: patch tokens and word tokens.

Each side answers two questions. *joint*: the model's own pooled vector and the tokens, brought into the joint
space by the model's own projection where it has one. *tokens*: all output tokens after the final norm, in the
tower's width, not pooled.
"""

from __future__ import annotations

from typing import Any

import torch
from open_clip.hf_model import HFTextEncoder
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer, text_global_pool
from torch import Tensor, nn

BUCKETS = 4


def image_joint(visual: Any, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Pooled vector and patch tokens in the joint space.

    Args:
        visual: the image tower.
        pixels: ``(N, 3, H, W)`` normalised.

    Returns:
        ``(N, D)`` not yet normalised, and ``(N, P, D)`` (``(N, P, W)`` where the tower has no linear
        projection of tokens). The tokens of a ModifiedResNet go through the value and output maps of its
        attention pooling.

    Raises:
        TypeError: a tower of an unknown kind.
    """
    if isinstance(visual, VisionTransformer):
        out = _vit(visual, pixels, pooled=True)
        patches = out["image_intermediates"][0]
        plain = visual.attn_pool is None and visual.proj is not None
        return out["image_features"], patches @ visual.proj if plain else patches
    if isinstance(visual, ModifiedResNet):
        grid = _resnet(visual, pixels)
        pool = visual.attnpool
        return pool(grid), pool.c_proj(pool.v_proj(_attention_inputs(pool, grid)[:, 1:]))
    trunk = _timm(visual)
    features = trunk.forward_features(pixels)
    patches = token_sequence(trunk, features)[:, getattr(trunk, "num_prefix_tokens", 0) :]
    last = getattr(visual.head, "proj", None)
    fits = isinstance(last, nn.Linear) and last.in_features == patches.shape[-1]
    return visual.head(trunk.forward_head(features)), last(patches) if last is not None and fits else patches


def image_tokens(visual: nn.Module, pixels: Tensor) -> Tensor:
    """All output tokens of the image tower, class token and patches.

    Args:
        visual: the image tower.
        pixels: ``(N, 3, H, W)`` normalised.

    Returns:
        ``(N, P, W)``; of a ModifiedResNet the inputs of its attention pooling, the mean and the grid.

    Raises:
        TypeError: a tower of an unknown kind.
    """
    if isinstance(visual, VisionTransformer):
        out = _vit(visual, pixels, pooled=False)
        return torch.cat([out["image_intermediates_prefix"][0], out["image_intermediates"][0]], dim=1)
    if isinstance(visual, ModifiedResNet):
        return _attention_inputs(visual.attnpool, _resnet(visual, pixels))
    trunk = _timm(visual)
    return token_sequence(trunk, trunk.forward_features(pixels))


def image_width(visual: nn.Module) -> int:
    """Width of ``image_tokens``."""
    if isinstance(visual, VisionTransformer):
        return int(visual.conv1.out_channels)
    return int(
        visual.attnpool.v_proj.in_features
        if isinstance(visual, ModifiedResNet)
        else _timm(visual).num_features
    )


def _vit(visual: Any, pixels: Tensor, *, pooled: bool) -> dict[str, Any]:
    # The final norm of a tower with attentional pooling belongs to the pooled vectors, whose width may differ
    # from the tokens'.
    out: dict[str, Any] = visual.forward_intermediates(
        pixels,
        indices=1,
        normalize_intermediates=visual.attn_pool is None,
        intermediates_only=not pooled,
        output_fmt="NLC",
        output_extra_tokens=True,
    )
    return out


def _resnet(visual: Any, pixels: Tensor) -> Tensor:
    out: Tensor = visual.forward_intermediates(pixels, indices=1, intermediates_only=True)[
        "image_intermediates"
    ][0]
    return out


def _attention_inputs(pool: Any, grid: Tensor) -> Tensor:
    """The mean of the grid and its cells, with their positions, as the attention pooling reads them."""
    cells = grid.flatten(2).transpose(1, 2)
    out: Tensor = torch.cat([cells.mean(1, keepdim=True), cells], dim=1) + pool.positional_embedding
    return out


def _timm(visual: nn.Module) -> Any:
    if not isinstance(visual, TimmModel):
        raise TypeError(f"towers: an image tower of kind {type(visual).__name__} is not known")
    return visual.trunk


def token_sequence(trunk: Any, features: Tensor) -> Tensor:
    """Features of a timm model as ``(N, P, W)``, whether they come as tokens or as a grid.

    Args:
        trunk: the timm model.
        features: what its ``forward_features`` gave.
    """
    if features.ndim == 3:
        return features
    return (
        features.flatten(1, 2)
        if getattr(trunk, "output_fmt", "NCHW") == "NHWC"
        else features.flatten(2).transpose(1, 2)
    )


def text_joint(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pooled vector and word tokens in the joint space.

    Args:
        tower: the text tower (``CLIP`` itself, or its ``text``).
        ids: ``(N, L)`` int64, 0 = padding.

    Returns:
        ``(N, D)`` not yet normalised, ``(N, L, D)`` and ``(N, L)`` True up to each text's length, its start
        and end included.
    """
    pooled, tokens, mask = _text(tower, ids)
    projection = tower.proj if isinstance(tower, HFTextEncoder) else tower.text_projection
    return pooled, _projected(projection, tokens), mask


def text_tokens(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """All output tokens of the text tower after the final norm: ``(N, L, W)``, and ``(N, L)`` True up to each
    text's length.
    """
    _, tokens, mask = _text(tower, ids)
    return tokens, mask


def text_width(tower: Any) -> int:
    """Width of ``text_tokens``."""
    return int(
        tower.transformer.config.hidden_size
        if isinstance(tower, HFTextEncoder)
        else tower.token_embedding.embedding_dim
    )


def lengths(ids: Tensor) -> Tensor:
    """``(N,)`` length of each text: the place of its last id that is not padding, counted from 1."""
    places = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    return (places * (ids != 0)).amax(1)


def _text(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    ids = ids[:, : int(lengths(ids).max())]
    _require_readable(tower, ids)
    mask = torch.arange(ids.shape[1], device=ids.device) < lengths(ids)[:, None]
    if isinstance(tower, HFTextEncoder):
        pooled, tokens = _pooled_and_tokens(tower, ids)
        # A pooler that reads the class token leaves it out of the tokens.
        return pooled, tokens, mask[:, mask.shape[1] - tokens.shape[1] :]
    pooled, tokens = _open_clip_text(tower, ids)
    return pooled, tokens[:, : ids.shape[1]], mask


def _open_clip_text(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Pooled and projected vector, and tokens after the final norm (at least as many as ``ids`` has columns).

    A causal tower never looks at what follows a text, so texts of like length go together and their padding
    is left out; that is exact and takes a third of the time. A tower that looks both ways, or at the end of
    the row, was trained on full rows and gets them.
    """
    pool_type = getattr(tower, "text_pool_type", None) or tower.pool_type
    class_token = getattr(tower, "cls_emb", None) is not None
    if tower.attn_mask is None or pool_type == "last" or class_token:
        return _full_rows(tower, ids, pool_type, class_token)
    size = lengths(ids)
    parts = buckets(size)
    done = [_hidden(tower, ids[rows, : int(size[rows].max())], pool_type) for rows in parts]
    pooled = torch.cat([values for values, _ in done])[torch.cat(parts).argsort()]
    return pooled, in_order([values for _, values in done], parts, ids.shape[1])


def buckets(size: Tensor) -> tuple[Tensor, ...]:
    """Rows of texts of like length ``size (N,)``, in a few groups."""
    return size.argsort(stable=True).chunk(BUCKETS)


def in_order(values: list[Tensor], rows: tuple[Tensor, ...], length: int) -> Tensor:
    """Tokens of groups of texts, padded to ``length`` and back in the order of the texts: ``(N, length, W)``."""
    padded = [nn.functional.pad(one, (0, 0, 0, length - one.shape[1])) for one in values]
    return torch.cat(padded)[torch.cat(rows).argsort()]


def _full_rows(tower: Any, ids: Tensor, pool_type: str, class_token: bool) -> tuple[Tensor, Tensor]:
    real = lengths(ids)[:, None]
    ids = nn.functional.pad(ids, (0, tower.context_length - ids.shape[1]))
    ids = ids.masked_fill(torch.arange(ids.shape[1], device=ids.device) >= real, getattr(tower, "pad_id", 0))
    if not class_token:
        return _hidden(tower, ids, pool_type)
    pooled, tokens = _pooled_and_tokens(tower, ids)
    return pooled, tower.ln_final(tokens)


def _hidden(tower: Any, ids: Tensor, pool_type: str) -> tuple[Tensor, Tensor]:
    length = ids.shape[1]
    mask = None if tower.attn_mask is None else tower.attn_mask[:length, :length]
    hidden = tower.token_embedding(ids) + tower.positional_embedding[:length]
    tokens = tower.ln_final(tower.transformer(hidden, attn_mask=mask))
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    pooled = text_global_pool(tokens, ids, pool_type, eos_token_id=end)
    return _projected(tower.text_projection, pooled), tokens


def _pooled_and_tokens(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    before, tower.output_tokens = tower.output_tokens, True
    try:
        pooled, tokens = tower(ids)
    finally:
        tower.output_tokens = before
    return pooled, tokens


def _projected(projection: Any, values: Tensor) -> Tensor:
    if projection is None:
        return values
    out: Tensor = projection(values) if isinstance(projection, nn.Module) else values @ projection
    return out


def _require_readable(tower: Any, ids: Tensor) -> None:
    if isinstance(tower, HFTextEncoder):
        if tower.config.pad_token_id != 0:
            raise ValueError(
                f"towers: this text tower pads with id {tower.config.pad_token_id}; only towers that pad "
                "with 0 are read"
            )
    elif ids.shape[1] > tower.context_length:
        raise ValueError(
            f"towers: a caption has {ids.shape[1]} tokens, the model reads {tower.context_length}; lower "
            "max_length"
        )
    if int(ids.max()) >= tower.vocab_size:
        raise ValueError(
            f"towers: token id {int(ids.max())}, but the model knows {tower.vocab_size} ids; it has "
            "another vocabulary"
        )
