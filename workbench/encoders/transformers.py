"""A dual encoder of the library transformers, CLIP, SigLIP, SigLIP 2 and their like, as one encoder for both
sides.

``head="pooled"`` takes the model's own vectors; the tokens beside them are brought into their space by the
model's own projection, where it is linear. ``head="tokens"`` is that of the encoder ``towers``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import torch
from PIL import Image
from torch import Tensor, nn

from workbench.assets import text_models
from workbench.encoders._lora import Lora, name_without_adapters
from workbench.encoders._open_clip_towers import depths_of
from workbench.encoders._two_towers import TwoTowers
from workbench.encoders.pooling import PoolingName
from workbench.io import reading_errors
from workbench.records import require
from workbench.registry import Count, Group

Options = Mapping[str, Any]
# what the names of a side's modules begin with
SIDES = {"image": ("vision", "visual", "image"), "text": ("text",)}
TOWERS = {"image": ("vision_model", "image_model"), "text": ("text_model",)}
# of a tower, what serves its pooled vector alone
POOLERS = ("head.", "pooler.")
# of a tower's embeddings, where the class token is
CLASS_TOKENS = ("class_embedding", "cls_token")


class Transformers(TwoTowers):
    """A dual encoder of transformers.

    Args:
        model: a folder with a model, its tokenizer and what prepares its images, as ``save_pretrained``
            writes them, or a name of the hub.
        pretrained: ``"model"`` = the weights that come with it, ``""`` = random ones.
        freeze_image, freeze_text: keep the weights of a tower, and its batch statistics, as they are.
        lora: low-rank adapters, as of ``towers``.
        head: ``"pooled"`` or ``"tokens"``, with ``embed_dim`` and ``pooling`` as of ``towers``.
        embed_dim: width of the embedding; 0 = the model's own for ``"pooled"``, 1024 for ``"tokens"``.
        pooling: of tokens: ``"gpo"``, ``"mean"`` or ``"max"``.
        size_augmentation: drop tokens in training; ``None`` = only with ``head="tokens"``.
        log_var: also say log sigma squared, by a head of its own that reads the same tokens.

    Raises:
        FileNotFoundError: there is no such folder; ValueError: it holds no dual encoder, or its images are
            prepared in a way that pixels of 0 to 255 do not survive.
    """

    text_signal: ClassVar[str] = "word_pieces"

    # Nine options: each is a choice of its own that a config names, and a group of them would only hide it.
    def __init__(  # noqa: PLR0913
        self,
        *,
        model: str = "",
        pretrained: Literal["model", ""] = "model",
        freeze_image: bool = False,
        freeze_text: bool = False,
        lora: Annotated[Options | None, Group(Lora)] = None,
        head: Literal["pooled", "tokens"] = "pooled",
        embed_dim: Count = 0,
        pooling: PoolingName = "gpo",
        size_augmentation: bool | None = None,
        log_var: bool = False,
    ) -> None:
        super().__init__()
        self.by_tokens = head == "tokens"
        self.augments = self.by_tokens if size_augmentation is None else size_augmentation
        self.freeze_image = freeze_image
        self.freeze_text = freeze_text
        self.log_var = log_var
        self.name = model
        self.network = _load_network(model, weights=bool(pretrained))
        source = text_models.locate_model(model, "transformers")
        with reading_errors(model, "holds nothing that prepares images and texts", Exception):
            self.processor = text_models.load_part("AutoProcessor", source)
        self.tokenizer = self.processor.tokenizer
        self.longest = longest_text(model)
        self.mask_id = _mask_id(self.tokenizer) + 1
        self.prepared = Prepared(self.processor, model)
        mean, std = self.prepared.scale()
        self.mean, self.std = nn.Buffer(mean), nn.Buffer(std)
        own, self._widths = self._measure_widths()
        self.add_heads(own, embed_dim, pooling, 0, lora)

    @property
    def transform(self) -> "Prepared":
        """The model's own preparation, up to uint8; mean and deviation are applied inside the encoder."""
        return self.prepared

    @property
    def model(self) -> Any:
        """The model of transformers."""
        return self.network

    @classmethod
    def text_features(cls, **options: Any) -> dict[str, dict[str, Any]]:
        """Return ids of the model's own tokenizer."""
        model = str(options.get("model", ""))
        longest = longest_text(model)
        return {"word_pieces": {"model": model} | ({"max_length": longest} if longest else {})}

    def read_images(self, pixels: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, P, W)`` tokens and their mask."""
        tower = self.tower("image")
        inputs = self._image_inputs(pixels)
        with _record_outputs(tower) as outputs:
            pooled = _pooled_vectors(self.network.get_image_features(**inputs))
        tokens = outputs[0].last_hidden_state
        if tokens.ndim == 4:
            tokens = tokens.flatten(2).transpose(1, 2)
        norm = getattr(tower, "post_layernorm", None)
        projection = _linear_projection(self.network, "visual_projection", tokens.shape[-1])
        # the CLIPs of transformers norm what they pool alone
        if norm is not None and projection is not None:
            tokens = norm(tokens)
        mask = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        if "pixel_attention_mask" in inputs:
            mask = inputs["pixel_attention_mask"].bool()
        if self.by_tokens:
            return pooled, tokens, mask
        first = int(any(hasattr(getattr(tower, "embeddings", None), name) for name in CLASS_TOKENS))
        tokens = tokens[:, first:] if projection is None else projection(tokens[:, first:])
        return pooled, tokens, mask[:, first:]

    def read_texts(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``(N, D)`` pooled vectors, not yet normalised, ``(N, L, W)`` tokens and their mask."""
        length = ids.shape[1]
        if "siglip" in self.network.config.model_type:  # it has seen texts of one length alone
            ids = nn.functional.pad(ids, (0, self.longest - length))
        # padding goes where the tokenizer has it
        places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        if self.tokenizer.padding_side == "left":
            places = (ids != 0).to(torch.uint8).argsort(dim=1, stable=True)
        ids = ids.gather(1, places)
        real = ids != 0
        inputs = {"input_ids": (ids - 1).masked_fill(~real, self.tokenizer.pad_token_id or 0)}
        if "attention_mask" in self.tokenizer.model_input_names:
            inputs["attention_mask"] = real.long()
        with _record_outputs(self.tower("text")) as outputs:
            pooled = _pooled_vectors(self.network.get_text_features(**inputs))
        tokens = outputs[0].last_hidden_state
        projection = _linear_projection(self.network, "text_projection", tokens.shape[-1])
        if not self.by_tokens and projection is not None:
            tokens = projection(tokens)
        back = places.argsort(dim=1)[:, :length]
        tokens = tokens.gather(1, back[:, :, None].expand(-1, -1, tokens.shape[-1]))
        return pooled, tokens, real.gather(1, back)

    def tower(self, side: str) -> Any:
        """Return the module of a tower."""
        return next(getattr(self.network, name) for name in TOWERS[side] if hasattr(self.network, name))

    def side_of(self, name: str) -> str:
        """Return the tower that a weight of the model is part of; empty = none, as a scale."""
        return next((side for side, starts in SIDES.items() if name.startswith(starts)), "")

    def is_pooling_weight(self, name: str) -> bool:
        """Return whether a weight of the model serves its own pooled vectors only, and not its tokens."""
        return "_projection." in name.split(".layers.")[0] or name.partition(".")[2].startswith(POOLERS)

    def widths(self) -> tuple[int, int]:
        """Return widths of the tokens of images and of texts."""
        return self._widths

    def depth(self) -> dict[str, int]:
        """Return the depth of the weights of the model, by name."""
        names = [name_without_adapters(name) for name, _ in self.network.named_parameters()]
        out: dict[str, int] = {}
        for side, towers in TOWERS.items():
            inner = {name.partition(".")[2]: name for name in names if name.startswith(towers)}
            out |= {inner[name]: level for name, level in depths_of(inner).items()}
            out |= {name: 0 for name in names if self.side_of(name) == side and name not in out}
        return out

    def _image_inputs(self, pixels: Tensor) -> dict[str, Tensor]:
        """Return what the model reads of images as ``transform`` made them."""
        if pixels.ndim == 4:
            return {"pixel_values": self.normalised(pixels)}
        shapes = pixels[:, -1, :2].long() + 1
        patches = pixels.shape[1] - 1
        real = torch.arange(patches, device=pixels.device) < shapes.prod(1, keepdim=True)
        # patches that pad an image are zero where they are read
        values = self.normalised(pixels[:, :-1]) * real[..., None]
        return {"pixel_values": values, "pixel_attention_mask": real.int(), "spatial_shapes": shapes}

    @torch.no_grad()
    def _measure_widths(self) -> tuple[int, tuple[int, int]]:
        """Return widths of the vectors, and of the tokens of images and of texts."""
        self.network.eval()
        _, image, _ = self.read_images(self.transform(Image.new("RGB", (64, 64)))[None])
        pooled, text, _ = self.read_texts(torch.ones(1, 2, dtype=torch.long))
        return pooled.shape[1], (image.shape[-1], text.shape[-1])


class Prepared:
    """Prepares images as the library does, up to uint8.

    Args:
        processor: of images and texts.
        name: of the model, for messages.
    """

    def __init__(self, processor: Any, name: str) -> None:
        self.processor = processor
        self.name = name

    def __call__(self, image: Image.Image) -> Tensor:
        """Return ``PIL.Image`` -> ``(3, H, W)`` uint8. A model that reads as many patches as an image's shape
        asks for has ``(P + 1, W)``: the patches of an image, and in the last row, less one, how many lie
        below and beside each other.
        """
        image = image if image.mode == "RGB" else image.convert("RGB")
        read = self.processor(images=[image], do_rescale=False, do_normalize=False, return_tensors="pt")
        pixels: Tensor = read["pixel_values"][0].to(torch.uint8)
        if "spatial_shapes" not in read:
            return pixels
        last = torch.zeros_like(pixels[:1])
        last[0, :2] = torch.as_tensor(read["spatial_shapes"][0]) - 1
        return torch.cat([pixels, last])

    def scale(self) -> tuple[Tensor, Tensor]:
        """Return the mean and deviation of pixels as shares of 255, from what becomes of black and of white.

        Raises:
            ValueError: pixels of 0 to 255 cannot be had.
        """
        black, white = (Image.new("RGB", (64, 64), (value,) * 3) for value in (0, 255))
        raw = [self._sample_pixel(self(image)) for image in (black, white)]
        read = [
            self._sample_pixel(self.processor(images=[image], return_tensors="pt")["pixel_values"][0])
            for image in (black, white)
        ]
        require(
            raw[0].eq(0).all() and raw[1].eq(255).all(),
            f"transformers: {self.name} prepares images in a way of its own; open it by open_model instead",
        )
        std = 1 / (read[1] - read[0])
        return (-read[0] * std)[None], std[None]

    def _sample_pixel(self, pixels: Tensor) -> Tensor:
        """Return the middle pixel ``(3, 1, 1)`` of an image, or its first patch ``(1, W)``."""
        if pixels.ndim == 2:
            return pixels[:1].float()
        height, width = pixels.shape[1:]
        return pixels[:, height // 2, width // 2, None, None].float()


@lru_cache(maxsize=8)
def longest_text(model: str) -> int:
    """Return the most ids of a text that a model reads; 0 = there is no limit.

    Args:
        model: a folder or a name of the hub.

    Raises:
        FileNotFoundError, ValueError: there is no model, or none that can be read.
    """
    source = _model_source(model)
    with reading_errors(model, "cannot be opened by transformers", Exception):
        tokenizer = text_models.load_part("AutoTokenizer", source)
        with torch.device("meta"):
            network = _from_config(source)
    return text_models.least(tokenizer.model_max_length, text_models.text_positions(network))


def _model_source(model: str) -> Any:
    require(
        model,
        "transformers: name the model, as image_encoder.model=FOLDER, a folder that save_pretrained wrote or "
        "a name of the hub",
    )
    return text_models.locate_model(model, "transformers")


def _from_config(source: Any) -> Any:
    import transformers

    kind: Any = transformers.AutoModel
    return kind.from_config(text_models.load_part("AutoConfig", source))


def _load_network(model: str, *, weights: bool) -> Any:
    """Return the model, with its weights or with random ones, in float32.

    Raises:
        ValueError: it cannot be opened, is no dual encoder, or its weights are not finite.
    """
    source = _model_source(model)
    with text_models.reading_transformers(model):
        network = text_models.load_part("AutoModel", source) if weights else _from_config(source)
    kind = type(network).__name__
    require(
        _encodes_apart(network),
        f"transformers: {model} holds a {kind}, which does not encode images and texts apart; train a dual "
        "encoder, such as CLIP or SigLIP",
    )
    text_models.require_finite(network.named_parameters(), model)
    network.random_weights = not weights
    return network.float()


def _encodes_apart(network: Any) -> bool:
    """Return whether a model has a tower for each side, and gives vectors of each."""
    for side, names in TOWERS.items():
        tower = any(hasattr(network, name) for name in names)
        if not tower or not hasattr(network, f"get_{side}_features"):
            return False
    return True


def _mask_id(tokenizer: Any) -> int:
    """Return the id that a masked word gets: of a mask, an unknown word or padding, unless it ends texts,
    else 0.
    """
    signs = {tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.sep_token_id, tokenizer.cls_token_id}
    for name in ("mask_token_id", "unk_token_id", "pad_token_id"):
        number = getattr(tokenizer, name, None)
        if number is not None and number not in signs:
            return int(number)
    return 0


@contextmanager
def _record_outputs(tower: nn.Module) -> Iterator[list[Any]]:
    """Note within the block what a tower gives."""
    outputs: list[Any] = []
    hook = tower.register_forward_hook(lambda _, __, output: outputs.append(output))
    try:
        yield outputs
    finally:
        hook.remove()


def _pooled_vectors(output: Any) -> Tensor:
    """Return the vectors, which stand in an object in newer releases."""
    vectors: Tensor = getattr(output, "pooler_output", output)
    return vectors


def _linear_projection(network: nn.Module, name: str, width: int) -> Any:
    """Return the linear projection of tokens, or ``None`` where there is no such thing."""
    layer = getattr(network, name, None)
    weight = getattr(layer, "weight", None)
    return layer if weight is not None and weight.ndim == 2 and weight.shape[1] == width else None


MEMBER = Transformers
