"""Copies of a tower's last blocks, from whose tokens a head says log sigma squared while the tower's own say
the mean.

Source: Chun, "Improved probabilistic image-text representations", ICLR 2024, released code
(``n_unc_layers``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from open_clip.hf_model import HFTextEncoder
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer
from torch import Tensor, nn

from workbench.encoders._base import ParameterGroup
from workbench.encoders._open_clip_tokens import buckets, image_width, in_order, lengths, text_width

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
        self.norm = deepcopy(_norm(tower))
        self.batch_first = getattr(getattr(tower, "transformer", None), "batch_first", True)

    def forward(self, passes: list[Pass], ids: Tensor | None = None) -> Tensor:
        """Tokens of the branch.

        Args:
            passes: what ``watching`` saw.
            ids: ``(N, L)`` token ids, for texts.

        Returns:
            ``(N, P, W)``, in the order of images or texts and as long as the longest text.
        """
        done = [self._one(*seen) for seen in passes]
        if ids is None:
            return done[0]
        size = lengths(ids)
        rows = buckets(size) if len(done) > 1 else (size.argsort(stable=True),)
        values = done if len(done) > 1 else [done[0][rows[0]]]
        return in_order([one[:, : int(size.max())] for one in values], rows, int(size.max()))

    def _one(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        hidden, *others = inputs
        for block in self.blocks:
            hidden = block(hidden, *others, **options)
        made: Tensor = self.norm(hidden if self.batch_first else hidden.transpose(0, 1))
        return made


@contextmanager
def watching(branch: Branch | None, tower: Any) -> Iterator[list[Pass]]:
    """Inside, every pass through the tower notes what its last blocks read; without a branch nothing is
    noted.
    """
    seen: list[Pass] = []
    if branch is None:
        yield seen
        return

    def note(_: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        seen.append((inputs, options))

    handle = _blocks(tower, len(branch.blocks))[0].register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield seen
    finally:
        handle.remove()


def branch_groups(role: str, branch: Branch | None) -> list[ParameterGroup]:
    """The branch's parameters, as deep as the blocks that they were copied from."""
    if branch is None:
        return []
    out = [
        ParameterGroup(role, {f"{role}.branch.norm.{name}": p for name, p in branch.norm.named_parameters()})
    ]
    for place, block in enumerate(branch.blocks):
        named = {f"{role}.branch.{place}.{name}": p for name, p in block.named_parameters()}
        out.append(ParameterGroup(role, named, len(branch.blocks) - place))
    return out


def joint_widths(network: Any, tower: Any) -> tuple[int, int]:
    """Width of the tokens that the towers bring into the joint space: of ``image_joint`` and of
    ``text_joint``.

    Args:
        network: the open_clip model.
        tower: its text tower.
    """
    visual = network.visual
    text: Any = tower.proj if isinstance(tower, HFTextEncoder) else tower.text_projection
    return _image_joint_width(visual), _mapped_width(text, text_width(tower))


def _image_joint_width(visual: Any) -> int:
    if isinstance(visual, VisionTransformer):
        plain = visual.attn_pool is None and visual.proj is not None
        return int(visual.proj.shape[1]) if plain else image_width(visual)
    if isinstance(visual, ModifiedResNet):
        return int(visual.attnpool.c_proj.out_features)
    last = getattr(visual.head, "proj", None)
    width = image_width(visual)
    return int(last.out_features) if isinstance(last, nn.Linear) and last.in_features == width else width


def _mapped_width(projection: Any, width: int) -> int:
    if projection is None:
        return width
    if isinstance(projection, nn.Module):
        linear = [part for part in projection.modules() if isinstance(part, nn.Linear)]
        return linear[-1].out_features if linear else width
    return int(projection.shape[1])


def _blocks(tower: Any, count: int) -> list[nn.Module]:
    holder, name = (
        (tower.trunk, "blocks")
        if isinstance(tower, TimmModel)
        else (getattr(tower, "transformer", None), "resblocks")
    )
    found = list(getattr(holder, name, []))
    if not 0 < count <= len(found):
        raise ValueError(
            f"towers: log_var_blocks={count}, and {type(tower).__name__} has {len(found)} blocks that "
            "can be copied; "
            f"set log_var_blocks=0 for a head without a copy"
        )
    return found[-count:]


def _norm(tower: Any) -> nn.Module:
    if isinstance(tower, VisionTransformer):
        # The final norm of a tower with attentional pooling belongs to the pooled vectors.
        norm: nn.Module = tower.ln_post if tower.attn_pool is None else nn.Identity()
        return norm
    last: nn.Module = tower.trunk.norm if isinstance(tower, TimmModel) else tower.ln_final
    return last
