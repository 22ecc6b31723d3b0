"""PCME++ (Chun, ICLR 2024, arXiv 2305.18171) as its authors publish it: a CLIP, and on each side a branch of
blocks and a projection that give log sigma squared.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.assets import text_models
from workbench.io import hub_access, read_options, reading_errors
from workbench.losses import similarity
from workbench.records import Embedding, require
from workbench.runs.own import Adapter

# what ``config.json`` holds, which names no class
FIELDS = {"embed_dim", "vision_cfg", "text_cfg"}
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
# fields of a tower that open_clip takes too
TOWER = (
    *("layers", "width", "heads", "head_width", "mlp_ratio", "ls_init_value"),
    *("patch_size", "image_size", "context_length", "vocab_size"),
)
# weights of the objective
OF_LOSS = ("logit_scale", "shift", "negative_scale")


class PCMEPP(Adapter):
    """PCME++ with two towers of CLIP; pairs are scored by the negative closed-form sampled distance.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or its weights do not fit.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        import open_clip  # slow to import

        with reading_errors(name, "cannot be opened as PCME++", Exception), hub_access(name):
            config = read_options(_find_file(name, "config.json"))
            towers = config["vision_cfg"], config["text_cfg"]
            sides = [{field: side[field] for field in TOWER if field in side} for side in towers]
            quick = bool(config.get("quick_gelu", False))
            self.network = open_clip.CLIP(config["embed_dim"], *sides, quick_gelu=quick)
            width = config["embed_dim"]
            self.images = Branch(self.network.visual.transformer, towers[0]["unc_layers"], width)
            self.texts = Branch(self.network.transformer, towers[1]["unc_layers"], width)
            self._load(name)
            size, length = self.network.visual.image_size, self.network.context_length
            self.prepare = open_clip.image_transform(size, is_train=False)
            self.tokenizer = open_clip.SimpleTokenizer(context_length=length)
        text_models.require_finite(self.named_parameters(), name)
        self.name, self.longest = Path(name).name, length

    def encode_image(self, images: Sequence[Image.Image]) -> Embedding:
        """Return the mean ``(N, D)`` and log sigma squared ``(N, D)``."""
        pixels = torch.stack([self.prepare(image) for image in images]).to(self.images.projection.device)
        return self.images.embedding(
            lambda: self.network.encode_image(pixels), lambda tokens: tokens[:, 0], None
        )

    def encode_text(self, texts: Sequence[str]) -> Embedding:
        """Return the mean ``(N, D)`` and log sigma squared ``(N, D)``."""
        ids = self.tokenizer(list(texts)).to(self.texts.projection.device)
        rows, ends = torch.arange(len(ids)), ids.argmax(dim=-1)
        mask = self.network.attn_mask
        return self.texts.embedding(
            lambda: self.network.encode_text(ids), lambda tokens: tokens[rows, ends], mask
        )

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` negative closed-form sampled distances."""
        assert image.log_var is not None
        assert text.log_var is not None
        return similarity.closed_form(image.mean, image.log_var, text.mean, text.log_var)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens, start and end included."""
        return sum(len(self.tokenizer.encode(text)) + 2 > self.longest for text in texts)

    def _load(self, name: str) -> None:
        """Take over the weights of a file.

        Raises:
            ValueError: some are missing, or have no place.
        """
        file = Path(_find_file(name, *WEIGHTS))
        safe = file.suffix == ".safetensors"
        weights = load_file(file) if safe else torch.load(file, map_location="cpu", weights_only=True)
        state: dict[str, Tensor] = {}
        for key, values in weights.items():
            if key not in OF_LOSS:
                state[_weight_name(key)] = values
        absent, unknown = self.load_state_dict(state, strict=False)
        absent = [key for key in absent if not key.endswith(OF_LOSS)]
        require(not absent, f"{name} lacks {min(absent, default='')}")
        require(not unknown, f"{name} holds {min(unknown, default='')}, which PCME++ does not have")


class Branch(nn.Module):
    """The blocks that end beside the last ones of a tower, and say how uncertain an item is.

    Args:
        tower: whose state before its last blocks they read.
        blocks: how many.
        width: of what they give.
    """

    def __init__(self, tower: Any, blocks: int, width: int) -> None:
        super().__init__()
        from open_clip.transformer import Transformer

        heads, hidden = tower.resblocks[0].attn.num_heads, tower.resblocks[0].mlp.c_fc.out_features
        gelu = type(tower.resblocks[0].mlp.gelu)
        require(0 < blocks < len(tower.resblocks), f"{blocks} of {len(tower.resblocks)} blocks branch off")
        self.transformer = Transformer(tower.width, blocks, heads, hidden / tower.width, act_layer=gelu)
        self.projection = nn.Parameter(torch.empty(tower.width, width))
        # a list, so that the weights of the tower stay its own
        self.before = [tower.resblocks[-blocks - 1]]

    def embedding(
        self, encode: Callable[[], Tensor], pooled: Callable[[Tensor], Tensor], mask: Tensor | None
    ) -> Embedding:
        """Return what the tower and the branch give.

        Args:
            encode: gives ``(N, D)`` of the tower.
            pooled: takes ``(N, W)`` out of tokens ``(N, L, W)``.
            mask: of attention; ``None`` = none.
        """
        states: list[Tensor] = []
        hook = self.before[0].register_forward_hook(lambda _, __, output: states.append(output))
        try:
            mean = encode()
        finally:
            hook.remove()
        log_var = pooled(self.transformer(states[0], attn_mask=mask)) @ self.projection
        return Embedding(normalize(mean, dim=-1), log_var=log_var)


def _find_file(name: str, *files: str) -> Any:
    """Return the first of some files that a folder or the hub has."""
    from transformers.utils.hub import cached_file  # slow to import

    for file in files[:-1]:
        with suppress(OSError):
            return cached_file(name, file)
    return cached_file(name, files[-1])


def _weight_name(key: str) -> str:
    """Return where a weight of the authors' stands here."""
    for theirs, ours in (
        ("visual.uncertainty_transformer.", "images.transformer."),
        ("visual.uncertainty_proj", "images.projection"),
        ("uncertainty_transformer.", "texts.transformer."),
        ("uncertainty_text_projection", "texts.projection"),
    ):
        if key.startswith(theirs):
            return ours + key.removeprefix(theirs)
    return f"network.{key}"
