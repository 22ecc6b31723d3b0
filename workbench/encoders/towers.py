"""The two towers of any open_clip model, as one encoder for both sides.

``head="pooled"`` takes the model's own projected vectors. ``head="tokens"`` is the layout of PCME++ and DITM:
all output tokens of a tower, a linear map, GPO pooling, L2 norm (Chun, "Improved probabilistic image-text
representations", ICLR 2024).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from workbench.assets.tokenizers import CONTEXT
from workbench.encoders._lora import Lora, name_without_adapters
from workbench.encoders._open_clip import (
    CONFIG,
    WEIGHTS,
    build,
    find_description,
    fitting_model,
    reads_words,
    set_padding,
)
from workbench.encoders._open_clip_towers import (
    depths,
    is_projection,
    read_image,
    read_text,
    text_tower,
    token_widths,
)
from workbench.encoders._two_towers import TwoTowers
from workbench.encoders.backbones import INTERPOLATIONS, RESIZES, Preparation
from workbench.encoders.pooling import PoolingName
from workbench.encoders.words import UNKNOWN
from workbench.registry import Count, Group

Options = Mapping[str, Any]
CLIP = "ViT-B-32"


class Towers(TwoTowers):
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
        lora: low-rank adapters that train in place of a tower's weights, at the rate of a head: ``rank``,
            ``alpha``, ``targets``, ``sides``, see ``Lora``; ``None`` = none.

    Raises:
        KeyError: an unknown model; FileNotFoundError: a missing file; ValueError: an option outside its
            range.

    Departures: CLIP's vocabulary has no mask token, so a masked word gets the padding id, or the id of an
    unknown word where the model has one.
    """

    # Eleven options: each is a choice of its own that a config names, and a group of them would only hide it.
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
        lora: Annotated[Options | None, Group(Lora)] = None,
    ) -> None:
        super().__init__()
        self.description = description = find_description(fitting_model(model, pretrained))
        self.by_tokens = head == "tokens"
        self.augments = self.by_tokens if size_augmentation is None else size_augmentation
        self.mask_id = UNKNOWN if reads_words(description) else 0
        self.network = build(description, pretrained)
        self.notes = self.network.notes
        set_padding(self.network, description)
        # Convolutions with few channels run 1.3 to 1.8 times as fast on a CPU when the channels lie together.
        self.network.visual.to(memory_format=torch.channels_last)
        self.freeze_image = freeze_image
        self.freeze_text = freeze_text
        self.log_var = log_var
        own = int(description.architecture["embed_dim"])
        self.add_heads(own, embed_dim, pooling, log_var_blocks, lora)
        self._save_recipe(self.network.visual.preprocess_cfg)

    @classmethod
    def text_features(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Return token ids: of words for a model that reads words, of open_clip's tokenizer for the
        others.
        """
        description = find_description(str(options.get("model", "scenes")))
        if not reads_words(description):
            return {"tokens": {"tokenizer": f"open_clip:{description.name}"}}
        longest = description.architecture["text_cfg"].get("context_length", CONTEXT)
        tokens: dict[str, Any] = {"tokenizer": "words", "max_length": longest}
        return {"tokens": tokens | ({"vocabulary": description.vocabulary} if description.vocabulary else {})}

    @classmethod
    def complete(cls, options: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
        """Name the model with the activation that its weights need, since the tag is not kept."""
        model, tag = (str(options.get(name, "scenes")) for name in ("model", "pretrained"))
        form = fitting_model(model, tag)
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

    def read_images(self, pixels: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, P, W)`` tokens and their mask."""
        values = self.normalised(pixels).contiguous(memory_format=torch.channels_last)
        pooled, tokens = read_image(self.network.visual, values, joint=not self.by_tokens)
        return pooled, tokens, torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)

    def read_texts(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, L, W)`` tokens and their mask."""
        return read_text(text_tower(self.network), ids, joint=not self.by_tokens)

    def tower(self, side: str) -> Any:
        """Return the module of a tower; of texts it may be the model itself."""
        return self.network.visual if side == "image" else text_tower(self.network)

    def side_of(self, name: str) -> str:
        """Return the tower that a weight of the model is part of; empty = none, as a scale or a decoder."""
        if name.startswith("visual."):
            return "image"
        text = name.startswith("text.") if hasattr(self.network, "text") else not name.startswith("logit_")
        return "text" if text else ""

    def is_pooling_weight(self, name: str) -> bool:
        """Return whether a weight of the model serves its own pooled vectors only, and not its tokens."""
        side = self.side_of(name)
        return bool(side) and is_projection(self.tower(side), name.removeprefix(self._start(side)))

    def widths(self) -> tuple[int, int]:
        """Return widths of the tokens of images and of texts."""
        return token_widths(self.network, joint=not self.by_tokens)

    def depth(self) -> dict[str, int]:
        """Return the depth of the weights of the model, by name."""
        out: dict[str, int] = {}
        for side in ("image", "text"):
            start = self._start(side)
            out |= {
                f"{start}{name_without_adapters(name)}": level
                for name, level in depths(self.tower(side)).items()
            }
        return out

    def _start(self, side: str) -> str:
        """Return what the names of a tower's weights begin with in the model."""
        if side == "image":
            return "visual."
        return "text." if hasattr(self.network, "text") else ""

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
        for name, value in self.merge_adapters().state_dict().items():
            stored = value.to(dtype) if value.is_floating_point() else value
            weights[name] = stored.detach().cpu().clone().contiguous()
        save_file(weights, place / WEIGHTS)
        return place / WEIGHTS

    def _save_recipe(self, preprocess: dict[str, Any]) -> None:
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


MEMBER = Towers
