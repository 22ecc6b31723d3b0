"""The towers of an open_clip model: what they say before they are pooled, how deep their parameters lie, and
copies of their last blocks.

Each side answers two questions. *joint*: the model's own pooled vector and the tokens, brought into the joint
space by the model's own projection where it has one. *tokens*: all output tokens after the final norm, in the
tower's width, not pooled.

The depth of a parameter, for layer-wise learning rates, is ``n_blocks - block``, with blocks counted from 0
and the stem (embeddings, first convolutions) counted as block 0. The released code of PCME++ has ``12 -
block`` for every model, so that half of a 24-block tower trains *faster* than its top. From the tokens of a
copied branch a head says log sigma squared while the tower's own say the mean (its ``n_unc_layers``; Chun,
"Improved probabilistic image-text representations", ICLR 2024).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from typing import Any

import torch
from open_clip.hf_model import HFTextEncoder
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer, text_global_pool
from timm.models import group_parameters
from torch import Tensor, nn

from workbench.encoders.base import ParameterGroup
from workbench.encoders.words import lengths
from workbench.records import require

BUCKETS = 4


def read_image(visual: Any, pixels: Tensor, *, joint: bool) -> tuple[Any, Tensor]:
    """Return what an image tower says of images.

    Args:
        visual: the image tower.
        pixels: ``(N, 3, H, W)`` normalised.
        joint: in the joint space, or all tokens as they are.

    Returns:
        joint: ``(N, D)`` pooled, not yet normalised, and the patch tokens ``(N, P, D)`` (``(N, P, W)`` where
        the tower has no linear projection of tokens). The tokens of a ModifiedResNet go through the value and
        output maps of its attention pooling. Otherwise: ``None`` and ``(N, P, W)``, the class token and the
        patches; of a ModifiedResNet the inputs of its attention pooling, the mean and the grid.

    Raises:
        TypeError: a tower of an unknown kind.
    """
    pooled = None
    first = 1
    if isinstance(visual, VisionTransformer):
        # The final norm of a tower with attentional pooling belongs to the pooled vectors, whose width may
        # differ from the tokens'.
        out = visual.forward_intermediates(
            pixels,
            indices=1,
            normalize_intermediates=visual.attn_pool is None,
            intermediates_only=not joint,
            output_fmt="NLC",
            output_extra_tokens=True,
        )
        pooled = out.get("image_features")
        tokens = out["image_intermediates"][0]
        tokens = torch.cat([out["image_intermediates_prefix"][0], tokens], dim=1)
    elif isinstance(visual, ModifiedResNet):
        out = visual.forward_intermediates(pixels, indices=1, intermediates_only=True)
        grid = out["image_intermediates"][0]
        pool = visual.attnpool
        cells = grid.flatten(2).transpose(1, 2)
        tokens = torch.cat([cells.mean(1, keepdim=True), cells], dim=1) + pool.positional_embedding
        pooled = pool(grid) if joint else None
    else:
        trunk = _trunk(visual)
        features = trunk.forward_features(pixels)
        tokens = token_sequence(trunk, features)
        first = getattr(trunk, "num_prefix_tokens", 0)
        pooled = visual.head(trunk.forward_head(features)) if joint else None
    return pooled, _project(_image_projection(visual), tokens[:, first:]) if joint else tokens


def _image_projection(visual: Any) -> Any:
    """Return what brings patch tokens into the joint space: a matrix or a module, or ``None`` where nothing
    does.
    """
    if isinstance(visual, VisionTransformer):
        return visual.proj if visual.attn_pool is None else None
    if isinstance(visual, ModifiedResNet):
        return nn.Sequential(visual.attnpool.v_proj, visual.attnpool.c_proj)
    last = getattr(visual.head, "proj", None)
    return last if isinstance(last, nn.Linear) and last.in_features == _trunk(visual).num_features else None


def _text_projection(tower: Any) -> Any:
    return tower.proj if isinstance(tower, HFTextEncoder) else tower.text_projection


def image_width(visual: Any) -> int:
    """Return the width of an image tower's tokens, before they are brought into the joint space."""
    if isinstance(visual, VisionTransformer):
        return int(visual.conv1.out_channels)
    resnet = isinstance(visual, ModifiedResNet)
    return int(visual.attnpool.v_proj.in_features if resnet else _trunk(visual).num_features)


def _trunk(visual: nn.Module) -> Any:
    if not isinstance(visual, TimmModel):
        raise TypeError(f"towers: an image tower of kind {type(visual).__name__} is not known")
    return visual.trunk


def token_sequence(trunk: Any, features: Tensor) -> Tensor:
    """Return features of a timm model as ``(N, P, W)``, whether they come as tokens or as a grid.

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


def read_text(tower: Any, ids: Tensor, *, joint: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a text tower says of texts.

    Args:
        tower: the text tower (``CLIP`` itself, or its ``text``).
        ids: ``(N, L)`` int64, 0 = padding.
        joint: tokens in the joint space, or all of them as they are after the final norm.

    Returns:
        ``(N, D)`` pooled, not yet normalised; ``(N, L, D)`` tokens, ``(N, L, W)`` where not joint; and ``(N,
        L)`` True up to each text's length, its start and end included.
    """
    ids = ids[:, : int(lengths(ids).max())]
    _require_readable(tower, ids)
    mask = torch.arange(ids.shape[1], device=ids.device) < lengths(ids)[:, None]
    if isinstance(tower, HFTextEncoder):
        pooled, tokens = _call_tower(tower, ids)
        # A pooler that reads the class token leaves it out of the tokens.
        mask = mask[:, mask.shape[1] - tokens.shape[1] :]
    else:
        pooled, tokens = _open_clip_text(tower, ids)
        tokens = tokens[:, : ids.shape[1]]
    return pooled, _project(_text_projection(tower), tokens) if joint else tokens, mask


def _open_clip_text(tower: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return pooled and projected vector, and tokens after the final norm (at least as many as columns of
    ``ids``).

    A causal tower never looks at what follows a text, so texts of like length go together and their padding
    is left out; that is exact and takes a third of the time. A tower that looks both ways, or at the end of
    the row, was trained on full rows and gets them.
    """
    pool_type = getattr(tower, "text_pool_type", None) or tower.pool_type
    class_token = getattr(tower, "cls_emb", None) is not None
    size = lengths(ids)
    fill = getattr(tower, "tokenizer_padding", 0)
    if tower.attn_mask is not None and pool_type != "last" and not class_token and fill == 0:
        parts = group_by_length(size)
        done = [_hidden_states(tower, ids[rows, : int(size[rows].max())], pool_type) for rows in parts]
        pooled = torch.cat([values for values, _ in done])[torch.cat(parts).argsort()]
        return pooled, restore_order([values for _, values in done], parts, ids.shape[1])
    ids = nn.functional.pad(ids, (0, tower.context_length - ids.shape[1]))
    after = torch.arange(ids.shape[1], device=ids.device) >= size[:, None]
    ids = ids.masked_fill(after, fill)
    if not class_token:
        return _hidden_states(tower, ids, pool_type)
    pooled, tokens = _call_tower(tower, ids)
    return pooled, tower.ln_final(tokens)


def group_by_length(size: Tensor) -> tuple[Tensor, ...]:
    """Return rows of texts of like length ``size (N,)``, in a few groups.

    On a GPU all are one group: to start a group's layers takes longer than to compute the padding that it
    saves.
    """
    if size.is_cuda:
        return (torch.arange(len(size), device=size.device),)
    return size.argsort(stable=True).tensor_split(min(BUCKETS, len(size)))


def restore_order(values: list[Tensor], rows: tuple[Tensor, ...], length: int) -> Tensor:
    """Return ``(N, length, W)`` tokens of groups of texts, padded to ``length``, in the order of the
    texts.
    """
    padded = [nn.functional.pad(tokens, (0, 0, 0, length - tokens.shape[1])) for tokens in values]
    return torch.cat(padded)[torch.cat(rows).argsort()]


def _hidden_states(tower: Any, ids: Tensor, pool_type: str) -> tuple[Tensor, Tensor]:
    length = ids.shape[1]
    mask = None if tower.attn_mask is None else tower.attn_mask[:length, :length]
    hidden = tower.token_embedding(ids) + tower.positional_embedding[:length]
    tokens = tower.ln_final(tower.transformer(hidden, attn_mask=mask))
    end = getattr(tower, "text_eos_id", None) or getattr(tower, "eos_id", None)
    pooled = text_global_pool(tokens, ids, pool_type, eos_token_id=end)
    return _project(tower.text_projection, pooled), tokens


def _call_tower(tower: Any, ids: Tensor) -> Any:
    before = tower.output_tokens
    tower.output_tokens = True
    try:
        return tower(ids)
    finally:
        tower.output_tokens = before


def _project(projection: Any, values: Tensor) -> Any:
    if projection is None:
        return values
    return projection(values) if isinstance(projection, nn.Module) else values @ projection


def _require_readable(tower: Any, ids: Tensor) -> None:
    hugging_face = isinstance(tower, HFTextEncoder)
    length = ids.shape[1]
    largest = int(ids.max())
    padding = tower.config.pad_token_id if hugging_face else 0
    most = length if hugging_face else tower.context_length
    require(
        padding == 0,
        f"towers: this text tower pads with id {padding}; only towers that pad with 0 are read",
    )
    require(
        length <= most, f"towers: a caption has {length} tokens, the model reads {most}; lower max_length"
    )
    require(
        largest < tower.vocab_size,
        f"towers: token id {largest}, but the model knows {tower.vocab_size} ids; it has another vocabulary",
    )


# The number of a block, or of a ResNet's stage, which counts from 1.
_BLOCK = re.compile(r"(?:^|\.)(?:resblocks|blocks|layers?|block|h)\.(\d+)\.")
_STAGE = re.compile(r"^layer(\d+)\.")
_STEM = (
    "class_embedding", "positional_embedding", "conv1", "conv2", "conv3", "bn1", "bn2", "bn3", "ln_pre",
    "token_embedding", "cls_emb", "embeddings", "pre_layrnorm", "transformer.embeddings",
    "transformer.shared", "transformer.embed_tokens",
)  # fmt: skip


def text_tower(network: Any) -> Any:
    """Return the module that encodes text: a part of the model, or, in the class ``CLIP``, the model
    itself.
    """
    return getattr(network, "text", network)


def tower_parameters(tower: nn.Module) -> dict[str, nn.Parameter]:
    """Return parameters of an image or text tower, by name."""
    other = ("visual.", "logit_") if hasattr(tower, "visual") else ()
    return {name: parameter for name, parameter in tower.named_parameters() if not name.startswith(other)}


def is_projection(tower: nn.Module, name: str) -> bool:
    """Return whether a parameter serves the model's own pooled vector only, and not its tokens."""
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
    """Return the depth of every parameter of an image or text tower, by name; 0 = after the last block."""
    if not isinstance(tower, TimmModel):
        return depths_of(tower_parameters(tower))
    matcher = tower.trunk.group_matcher(coarse=True)
    groups: Mapping[str, int] = group_parameters(tower.trunk, matcher, reverse=True)
    count = max(groups.values())
    # timm counts the stem as group 0, the blocks from 1, and what follows the last block as part of it.
    trunk = {f"trunk.{name}": min(count, count + 1 - group) for name, group in groups.items()}
    return {name: trunk.get(name, 0) for name, _ in tower.named_parameters()}


def depths_of(names: Iterable[str]) -> dict[str, int]:
    """Return depths by parameter name alone.

    Args:
        names: parameter names of one tower, e.g. ``"transformer.resblocks.3.ln_1.weight"``; the stages of a
            ResNet (``"layer2.0.conv1.weight"``) count as blocks.

    Returns:
        Depth by name.

    >>> depths_of(["conv1.weight", "x.resblocks.0.ln_1.bias", "x.resblocks.1.ln_1.bias", "ln_post.bias"])
    {'conv1.weight': 2, 'x.resblocks.0.ln_1.bias': 2, 'x.resblocks.1.ln_1.bias': 1, 'ln_post.bias': 0}
    """
    names = list(names)
    stages = {name: int(stage[1]) - 1 for name in names if (stage := _STAGE.search(name))}
    blocks = {name: int(block[1]) for name in names if (block := _BLOCK.search(name))} | stages
    count = 1 + max(blocks.values(), default=-1)
    stem = [name for name in names if name.startswith(_STEM)]
    depth = dict.fromkeys(names, 0) | dict.fromkeys(stem, count)
    return depth | {name: count - block for name, block in blocks.items()}


Pass = tuple[tuple[Any, ...], dict[str, Any]]


class Branch(nn.Module):
    """Copies of the last blocks of a tower and of its final norm, which read what the originals read.

    Args:
        tower: an image or text tower of open_clip.
        count: of blocks.

    Raises:
        ValueError: the tower has no such blocks.
    """

    def __init__(self, tower: Any, count: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(deepcopy(block) for block in _blocks(tower, count))
        self.norm = deepcopy(_final_norm(tower))
        self.batch_first = getattr(getattr(tower, "transformer", None), "batch_first", True)

    def forward(self, passes: list[Pass], ids: Tensor | None = None) -> Tensor:
        """Return tokens of the branch.

        Args:
            passes: what ``record_passes`` saw.
            ids: ``(N, L)`` token ids, for texts.

        Returns:
            ``(N, P, W)``, in the order of images or texts and as long as the longest text.
        """
        done = [self._repeat_pass(*seen) for seen in passes]
        if ids is None:
            return done[0]
        size = lengths(ids)
        longest = int(size.max())
        return done[0][:, :longest] if len(done) == 1 else restore_order(done, group_by_length(size), longest)

    def _repeat_pass(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        hidden, *others = inputs
        for block in self.blocks:
            hidden = block(hidden, *others, **options)
        tokens: Tensor = self.norm(hidden if self.batch_first else hidden.transpose(0, 1))
        return tokens

    def groups(self, role: str) -> list[ParameterGroup]:
        """Return the parameters, as deep as the blocks that they were copied from."""
        depth = {"norm": 0} | {str(place): len(self.blocks) - place for place in range(len(self.blocks))}
        parts = {"norm": self.norm, **dict(self.blocks.named_children())}
        groups = []
        for place, part in parts.items():
            parameters = {f"{role}.branch.{place}.{name}": p for name, p in part.named_parameters()}
            groups.append(ParameterGroup(role, parameters, depth[place]))
        return groups


@contextmanager
def record_passes(branch: Branch | None, tower: Any) -> Iterator[list[Pass]]:
    """Note within the block what the last blocks of the tower read in every pass; without a branch nothing is
    noted.
    """
    seen: list[Pass] = []

    def note(_: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        seen.append((inputs, options))

    block = _blocks(tower, len(branch.blocks))[0] if branch else None
    with block.register_forward_pre_hook(note, with_kwargs=True) if block else nullcontext():
        yield seen


def token_widths(network: Any, *, joint: bool) -> tuple[int, int]:
    """Return the width of the tokens of images and of texts, as ``read_image`` and ``read_text`` give them.

    Args:
        network: the open_clip model.
        joint: after they are brought into the joint space.
    """
    visual = network.visual
    tower = text_tower(network)
    hugging_face = isinstance(tower, HFTextEncoder)
    text = tower.transformer.config.hidden_size if hugging_face else tower.token_embedding.embedding_dim
    image = image_width(visual)
    if joint:
        sides = (_image_projection(visual), image), (_text_projection(tower), text)
        image, text = (_project(projection, torch.zeros(width)).shape[0] for projection, width in sides)
    return image, text


def _blocks(tower: Any, count: int) -> list[nn.Module]:
    timm = isinstance(tower, TimmModel)
    holder = getattr(tower, "trunk" if timm else "transformer", None)
    blocks = list(getattr(holder, "blocks" if timm else "resblocks", []))
    require(
        0 < count <= len(blocks),
        f"towers: log_var_blocks={count}, and {type(tower).__name__} has {len(blocks)} blocks that can be "
        "copied; set log_var_blocks=0 for a head without a copy",
    )
    return blocks[-count:]


def _final_norm(tower: Any) -> Any:
    if isinstance(tower, VisionTransformer):
        # The final norm of a tower with attentional pooling belongs to the pooled vectors.
        return tower.ln_post if tower.attn_pool is None else nn.Identity()
    return tower.trunk.norm if isinstance(tower, TimmModel) else tower.ln_final
