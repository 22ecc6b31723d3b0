"""Which parameters make up a tower, and how far each is from the tower's top, for layer-wise learning rates.

The depth is ``n_blocks - block``, with blocks counted from 0 and the stem (embeddings, first convolutions)
counted as block 0. The released code of PCME++ has ``12 - block`` for every model, so that half of a 24-block
tower trains *faster* than its top.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer
from timm.models import group_parameters
from torch import nn

_BLOCK = re.compile(r"(?:^|\.)(?:resblocks|blocks|layers?|block|h)\.(\d+)\.")
_STAGE = re.compile(r"^layer(\d+)\.")
_STEM = (
    "class_embedding", "positional_embedding", "conv1", "conv2", "conv3", "bn1", "bn2", "bn3", "ln_pre", "token_embedding",
    "cls_emb", "transformer.embeddings", "transformer.shared", "transformer.embed_tokens",
)  # fmt: skip


def text_tower(network: Any) -> Any:
    """The module that encodes text: a part of the model, or, in the class ``CLIP``, the model itself."""
    return getattr(network, "text", network)


def tower_parameters(tower: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters of an image or text tower, by name."""
    other = ("visual.", "logit_") if hasattr(tower, "visual") else ()
    return {name: parameter for name, parameter in tower.named_parameters() if not name.startswith(other)}


def is_projection(tower: nn.Module, name: str) -> bool:
    """Whether a parameter serves the model's own pooled vector only, and not its tokens."""
    if isinstance(tower, VisionTransformer):
        return name.startswith(("proj", "attn_pool")) or (
            tower.attn_pool is not None and name.startswith("ln_post")
        )
    if isinstance(tower, ModifiedResNet):
        return name.startswith("attnpool.") and "_proj." in name
    if isinstance(tower, TimmModel):
        return name.startswith(("head.", "trunk.head", "trunk.fc_norm", "trunk.attn_pool"))
    return name.startswith(("text_projection", "proj.", "transformer.pooler"))


def depths(tower: nn.Module) -> dict[str, int]:
    """Depth of every parameter of an image or text tower, by name; 0 = after the last block."""
    return _timm_depths(tower) if isinstance(tower, TimmModel) else depths_of(tower_parameters(tower))


def depths_of(names: Iterable[str]) -> dict[str, int]:
    """Depths by parameter name alone.

    Args:
        names: parameter names of one tower, e.g. ``"transformer.resblocks.3.ln_1.weight"``; the stages of a
            ResNet (``"layer2.0.conv1.weight"``) count as blocks.

    Returns:
        Depth by name.

    >>> depths_of(["conv1.weight", "x.resblocks.0.ln_1.bias", "x.resblocks.1.ln_1.bias", "ln_post.bias"])
    {'conv1.weight': 2, 'x.resblocks.0.ln_1.bias': 2, 'x.resblocks.1.ln_1.bias': 1, 'ln_post.bias': 0}
    """
    names = list(names)
    blocks = {name: _block(name) for name in names}
    count = 1 + max((block for block in blocks.values() if block is not None), default=-1)
    after = {name: count if name.startswith(_STEM) else 0 for name in names}
    return {name: after[name] if (block := blocks[name]) is None else count - block for name in names}


def _block(name: str) -> int | None:
    stage = _STAGE.search(name)
    if stage:
        return int(stage[1]) - 1
    block = _BLOCK.search(name)
    return int(block[1]) if block else None


def _timm_depths(tower: TimmModel) -> dict[str, int]:
    groups: Mapping[str, int] = group_parameters(
        tower.trunk, tower.trunk.group_matcher(coarse=True), reverse=True
    )
    count = max(groups.values())
    # timm counts the stem as group 0, the blocks from 1, and what follows the last block as part of it.
    trunk = {f"trunk.{name}": min(count, count + 1 - group) for name, group in groups.items()}
    return {name: trunk.get(name, 0) for name, _ in tower.named_parameters()}
