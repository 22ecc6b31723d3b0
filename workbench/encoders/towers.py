"""The two towers of any open_clip model, as one encoder for both sides.

``head="pooled"`` takes the model's own projected vectors. ``head="tokens"`` is the layout of PCME++ and DITM:
all output tokens of a tower, a linear map, GPO pooling, L2 norm (Chun, "Improved probabilistic image-text
representations", ICLR 2024).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.assets.tokenizers import CONTEXT
from workbench.encoders._open_clip import (
    CONFIG,
    WEIGHTS,
    build,
    describe,
    fitting,
    pad_as_its_tokenizer,
    reads_words,
)
from workbench.encoders._open_clip_towers import (
    Branch,
    depths,
    is_projection,
    read_image,
    read_text,
    text_tower,
    token_widths,
    tower_parameters,
    watching,
)
from workbench.encoders.backbones import INTERPOLATIONS, RESIZES, Preparation
from workbench.encoders.base import Encoder, ParameterGroup
from workbench.encoders.pooling import POOLINGS, LogVar, PoolingName
from workbench.encoders.words import UNKNOWN, drop_tokens, touch_words
from workbench.records import Batch, Embedding, require
from workbench.registry import Count

CLIP = "ViT-B-32"


class Towers(Encoder):
    """An open_clip dual encoder.

    Args:
        model: an open_clip name, the path of a JSON configuration, or the small model that is
            shipped, ``"scenes"``.
        pretrained: an open_clip tag, the path of a checkpoint (safetensors, or a PyTorch file of plain
            tensors), the name of a shipped model for its weights, or ``""`` for random ones. A tag whose
            weights need QuickGELU, as ``"openai"``, takes open_clip's ``"...-quickgelu"`` form of the model;
            for a file name that form yourself.
        head: ``"pooled"`` or ``"tokens"``.
        embed_dim: width of the embedding; 0 = the model's own for ``"pooled"``, 1024 for ``"tokens"``.
        pooling: of ``head="tokens"``: ``"gpo"``, ``"mean"`` or ``"max"``.
        freeze_image, freeze_text: keep the weights of a tower, and its batch statistics, as they are.
        size_augmentation: drop tokens in training; ``None`` = only with ``head="tokens"``.
        log_var: also say log sigma squared, by a head of its own.
        log_var_blocks: with ``head="tokens"``, that head reads a copy of so many last blocks of the tower,
            which trains as they do and is not frozen with the tower; 0 = the same tokens as the mean.

    Raises:
        KeyError: an unknown model; FileNotFoundError: a missing file; ValueError: an option outside its
            range.

    Departures: CLIP's vocabulary has no mask token, so a masked word gets the padding id, or the id of an
    unknown word where the model has one.
    """

    image_input: str | None = "pixels"
    encodes_text: ClassVar[bool] = True

    # Ten options: each is a choice of its own that a config names, and a group of them would only hide it.
    def __init__(  # noqa: PLR0913
        self,
        *,
        model: str = "scenes",
        pretrained: str = "scenes",
        head: Literal["pooled", "tokens"] = "pooled",
        embed_dim: Count = 0,
        pooling: PoolingName = "gpo",
        freeze_image: bool = False,
        freeze_text: bool = False,
        size_augmentation: bool | None = None,
        log_var: bool = False,
        log_var_blocks: Count = 1,
    ) -> None:
        super().__init__()
        self.description = description = describe(fitting(model, pretrained))
        own = int(description.architecture["embed_dim"])
        self.by_tokens = head == "tokens"
        require(
            self.by_tokens or embed_dim in (0, own),
            f"towers: {model!r} embeds to {own} dimensions; for embed_dim={embed_dim} use head='tokens'",
        )
        self.embed_dim = (embed_dim or 1024) if self.by_tokens else own
        self.augments = self.by_tokens if size_augmentation is None else size_augmentation
        self.mask_id = UNKNOWN if reads_words(description) else 0
        self.network: Any = build(description, pretrained)
        self.notes = self.network.notes
        pad_as_its_tokenizer(self.network, description)
        # Convolutions with few channels run 1.3 to 1.8 times as fast on a CPU when the channels lie together.
        self.network.visual.to(memory_format=torch.channels_last)
        self.freeze_image = freeze_image
        self.freeze_text = freeze_text
        self.log_var = log_var
        if self.by_tokens:
            self.image_head, self.text_head = (
                TokenHead(width, self.embed_dim, pooling) for width in token_widths(self.network, joint=False)
            )
        self._add_log_var(pooling, log_var_blocks if log_var and self.by_tokens else 0)
        self._choose_parameters()
        self._keep_recipe(self.network.visual.preprocess_cfg)

    @classmethod
    def text_features(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Token ids: of words for a model that reads words, of open_clip's tokenizer for the others."""
        description = describe(str(options.get("model", "scenes")))
        if not reads_words(description):
            return {"tokens": {"tokenizer": f"open_clip:{description.name}"}}
        longest = description.architecture["text_cfg"].get("context_length", CONTEXT)
        tokens: dict[str, Any] = {"tokenizer": "words", "max_length": longest}
        return {"tokens": tokens | ({"vocabulary": description.vocabulary} if description.vocabulary else {})}

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Without its tag a model would no longer say which activation its weights need."""
        model, tag = (str(options.get(name, "scenes")) for name in ("model", "pretrained"))
        form = fitting(model, tag)
        return super().complete(options, facts) | ({"model": form} if form != model else {})

    @property
    def transform(self) -> Preparation:
        """The model's own resizing and cropping, up to uint8; mean and deviation are applied inside the
        encoder.
        """
        resize, interpolation, *fill = self.recipe.tolist()
        size = tuple(self.size.tolist())
        fill = fill or [0]
        return Preparation(size, RESIZES[resize], list(INTERPOLATIONS)[interpolation], *fill)

    def images(self, batch: Batch) -> Embedding:
        """Embed images: pooled unit vectors; patch tokens as parts (of ``head="tokens"``: all tokens that
        were pooled).
        """
        pixels = (batch.inputs["pixels"].to(self.mean.dtype) / 255 - self.mean) / self.std
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        visual = self.network.visual
        with (
            torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze_image),
            watching(self.image_branch, visual) as seen,
        ):
            pooled, parts = read_image(visual, pixels, joint=not self.by_tokens)
        mask = torch.ones(parts.shape[:2], dtype=torch.bool, device=parts.device)
        if self.by_tokens and self.augments and self.training:
            mask = drop_tokens(mask)
        spread = self.image_branch(seen) if self.image_branch else parts
        log_var = self.image_log_var(spread, mask) if self.image_log_var else None
        if self.by_tokens:
            pooled, parts = self.image_head(parts, mask)
        return Embedding(normalize(pooled, dim=-1), log_var, parts, mask)

    def texts(self, batch: Batch) -> Embedding:
        """Embed captions: pooled unit vectors; word tokens up to each caption's length as parts, its start
        and end included.
        """
        ids = batch.signals["tokens"]
        tower = text_tower(self.network)
        ids = touch_words(ids, self.mask_id) if self.augments and self.training else ids
        with (
            torch.set_grad_enabled(torch.is_grad_enabled() and not self.freeze_text),
            watching(self.text_branch, tower) as seen,
        ):
            pooled, parts, mask = read_text(tower, ids, joint=not self.by_tokens)
        spread = self.text_branch(seen, ids) if self.text_branch else parts
        log_var = self.text_log_var(spread, mask) if self.text_log_var else None
        if self.by_tokens:
            pooled, parts = self.text_head(parts, mask)
        return Embedding(normalize(pooled, dim=-1), log_var, parts, mask)

    def train(self, mode: bool = True) -> Self:
        """Training mode, except for frozen towers: batch statistics and dropout stay as in evaluation."""
        super().train(mode)
        if self.freeze_image:
            self.network.visual.eval()
        if self.freeze_text:
            (self.network.text if hasattr(self.network, "text") else self.network.transformer).eval()
        return self

    def groups(self) -> list[ParameterGroup]:
        """Both towers by depth, and the heads; every trainable parameter occurs exactly once."""
        sides = (
            ("image_backbone", self.network.visual, self.image_branch),
            ("text_backbone", text_tower(self.network), self.text_branch),
        )
        out = []
        for role, tower, branch in sides:
            trainable = {name: p for name, p in tower_parameters(tower).items() if p.requires_grad}
            depth = depths(tower)
            for level in sorted({depth[name] for name in trainable}):
                chosen = {f"{role}.{name}": p for name, p in trainable.items() if depth[name] == level}
                out.append(ParameterGroup(role, chosen, level))
            out += branch.groups(role) if branch else []
        others = ("network.", "image_branch.", "text_branch.")
        heads = {name: p for name, p in self.named_parameters() if not name.startswith(others)}
        return [*out, ParameterGroup("head", heads)] if heads else out

    def export(self, folder: str | Path, dtype: torch.dtype = torch.float16) -> Path:
        """Write the open_clip model as ``open_clip_config.json`` and ``open_clip_model.safetensors``.

        Args:
            folder: is made where it does not exist; open_clip reads it as ``local-dir:<folder>``.
            dtype: of the stored weights.

        Returns:
            The path of the weights.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        preprocess = {name: getattr(self, name).flatten().tolist() for name in ("size", "mean", "std")}
        preprocess["interpolation"] = list(INTERPOLATIONS)[int(self.recipe[1])]
        preprocess["resize_mode"] = RESIZES[int(self.recipe[0])]
        preprocess["fill_color"] = self.transform.fill
        content = {
            "model_cfg": dict(self.description.architecture),
            "preprocess_cfg": preprocess,
            "vocabulary": list(self.description.vocabulary),
        }
        (place / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        weights = {}
        for name, value in self.network.state_dict().items():
            stored = value.to(dtype) if value.is_floating_point() else value
            weights[name] = stored.detach().cpu().clone().contiguous()
        save_file(weights, place / WEIGHTS)
        return place / WEIGHTS

    def _add_log_var(self, pooling: PoolingName, blocks: int) -> None:
        """The heads that say log sigma squared, and the branches that they read; ``None`` where unasked."""
        widths = token_widths(self.network, joint=not self.by_tokens) if self.log_var else None
        self.image_log_var = LogVar(widths[0], self.embed_dim, pooling) if widths else None
        self.text_log_var = LogVar(widths[1], self.embed_dim, pooling) if widths else None
        self.image_branch = Branch(self.network.visual, blocks) if blocks else None
        self.text_branch = Branch(text_tower(self.network), blocks) if blocks else None

    def _choose_parameters(self) -> None:
        """Only what takes part trains: no logit scale (an objective has its own), no decoder, no unused
        projection.
        """
        towers = {self.network.visual: self.freeze_image, text_tower(self.network): self.freeze_text}
        takes_part: set[nn.Parameter] = set()
        for tower in [tower for tower, frozen in towers.items() if not frozen]:
            for name, parameter in tower_parameters(tower).items():
                if not (self.by_tokens and is_projection(tower, name)):
                    takes_part.add(parameter)
        for parameter in self.network.parameters():
            parameter.requires_grad_(parameter.requires_grad and parameter in takes_part)
        self.train()

    def _keep_recipe(self, preprocess: dict[str, Any]) -> None:
        """Keep the preparation of images beside the weights, since a checkpoint is read without asking where
        they came from.
        """
        self.mean, self.std = (
            nn.Buffer(torch.tensor(preprocess[name], dtype=torch.float32).view(1, 3, 1, 1))
            for name in ("mean", "std")
        )
        size = preprocess["size"]
        self.size = nn.Buffer(torch.tensor([size, size] if isinstance(size, int) else list(size)))
        interpolation = list(INTERPOLATIONS).index(preprocess["interpolation"])
        recipe = [RESIZES.index(preprocess["resize_mode"]), interpolation]
        # a third number where padding is not black, so that weights of before are read as they were written
        fill = [preprocess["fill_color"]] if preprocess["fill_color"] else []
        self.recipe = nn.Buffer(torch.tensor([*recipe, *fill]))


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
        """Tokens ``(N, P, W)`` and mask ``(N, P)`` to the pooled ``(N, D)`` and the mapped tokens ``(N, P,
        D)``.
        """
        parts = self.linear(tokens)
        return self.pooling(parts, mask), parts


MEMBER = Towers
