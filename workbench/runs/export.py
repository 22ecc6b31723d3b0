"""A run's model in the form of another library: a folder of open_clip or of transformers, or two ONNX files,
each with a model card. Its ranked lists go out as files of TREC or JSON.

Two towers that open_clip pools go out in all three forms, to transformers where its CLIP computes them alike,
which is tried before anything is written. A model that transformers built goes there again, or to ONNX.
Pooling heads of this library's own, and encoders of frozen features, stay here.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import open_clip
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders.backbones import INTERPOLATIONS, RESIZES
from workbench.encoders.towers import Towers
from workbench.encoders.transformers import Transformers
from workbench.formatting import format_number
from workbench.io import import_optional, reading_errors, write_text
from workbench.progress import during
from workbench.records import require
from workbench.records.measurement import contracts_of, headline, measurement_rows
from workbench.registry import require_known
from workbench.runs import store as runs
from workbench.runs.adapters.dual_encoders import HuggingFace, vectors_in
from workbench.runs.export_lists import ENDINGS, export_lists
from workbench.runs.model import Model
from workbench.runs.models import open_model

# how far a vector of another library may be from the run's own, in any entry
ALIKE = 1e-4
# fields of text_cfg by which a model reads other tokens than CLIP
OWN_TOKENS = ("hf_model_name", "hf_tokenizer_name", "tokenizer_mode", "tokenizer_kwargs")
# of CLIP, the last two of them a text's start and end
TOKENS = 49408
# names of open_clip's CLIP and of that of transformers, the first that fits
RENAMED = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1.": "vision_model.embeddings.patch_embedding.",
    "visual.ln_pre.": "vision_model.pre_layrnorm.",
    "visual.ln_post.": "vision_model.post_layernorm.",
    "visual.proj": "visual_projection.weight",
    "visual.transformer.": "vision_model.encoder.",
    "token_embedding.": "text_model.embeddings.token_embedding.",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "text_projection": "text_projection.weight",
    "ln_final.": "text_model.final_layer_norm.",
    "transformer.": "text_model.encoder.",
}
INSIDE = {
    ".resblocks.": ".layers.",
    ".ln_1.": ".layer_norm1.",
    ".ln_2.": ".layer_norm2.",
    ".c_fc.": ".fc1.",
    ".c_proj.": ".fc2.",
    ".attn.": ".self_attn.",
}
CAN = (
    "open_clip and onnx take two open_clip towers with head='pooled' and no log_var, transformers those "
    "of them that are CLIPs; transformers and onnx take models that transformers built"
)
READ = {
    "open_clip": "`open_clip.create_model_and_transforms('local-dir:FOLDER')` reads it; a `vocabulary` in "
    "the configuration lists the words of ids from 4 on.",
    "transformers": "`AutoModel` and `AutoProcessor` of transformers read it with `from_pretrained`.",
    "onnx": "`image.onnx` maps prepared images to unit vectors and `text.onnx` token ids, padded to the "
    "full length; the configuration beside them says how both are made.",
}
CARD = """---
library_name: {library}
tags: [image-text-retrieval]
license: {licence}
datasets: [{data}]
---

# {name}

{made}

{read}

| number | value | in | chance | queries | gallery |
|---|---|---|---|---|---|
{rows}

Each value with its 95% interval, by a bootstrap over images with all their captions. An equally scored
item that is not relevant ranks above. Measured on {data}.

Licence of the weights: {licence}. Those of the data and of the weights that training began from hold too.
"""


class Side(nn.Module):
    """One side of a model as a module from tensors to ``(N, D)`` unit vectors."""

    def __init__(self, owner: nn.Module, encode: Callable[..., Any]) -> None:
        super().__init__()
        self.owner, self.encode = owner, encode

    def forward(self, *inputs: Tensor) -> Tensor:
        """Encode and normalise."""
        return normalize(vectors_in(self.encode(*inputs)), dim=-1)


@during("exporting the model")
def export(run: str | Path, to: str, folder: str | Path, *, licence: str = "unknown") -> Path:
    """Write the model of a run for another library, with a model card, or its ranked lists.

    Args:
        run: the folder of a run, or whatever else ``open_model`` opens; the latter has no numbers.
        to: the library; ``onnx`` gives ``image.onnx`` and ``text.onnx``. Lists go to ``trec`` or ``json``,
            see ``export_lists``.
        folder: is made; it must not exist, or be empty.
        licence: of the weights, as the card names it.

    Returns:
        The folder.

    Raises:
        KeyError: no such form; FileExistsError: the folder holds something.
        ValueError: the model cannot take that form; the message says which can.
        ModuleNotFoundError: a library is not installed.
    """
    require_known("no form", to, [*READ, *ENDINGS])
    place = Path(folder)
    require(
        not (place.exists() and any(place.iterdir())),
        f"{place} is there already; name another folder",
        FileExistsError,
    )
    if to in ENDINGS:
        return _write_whole_folder(place, partial(export_lists, run, to))
    model = open_model(run, device="cpu")
    source = _exported_model(model)
    forms = _FORMS.get(type(source), {})
    require(to in forms, f"{run} cannot go to {to}: {CAN}")
    if isinstance(source, Towers | Transformers):
        source.network = source.merge_adapters()

    def write(unfinished: Path) -> None:
        forms[to](source, unfinished)
        write_text(unfinished / "README.md", model_card(Path(run), model, to, licence))

    return _write_whole_folder(place, write)


def _write_whole_folder(place: Path, write: Callable[[Path], None]) -> Path:
    """Make a folder appear only when all that is written into it is there."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".") as temporary, torch.no_grad():
        unfinished = Path(temporary) / place.name
        unfinished.mkdir()
        write(unfinished)
        unfinished.replace(place)
    return place


def _exported_model(model: Model) -> Any:
    """Return what goes out: two towers without a head of our own, or a model that another library opened."""
    pair = getattr(model, "pair", None)
    if pair is None:
        return getattr(model, "subject", None)
    towers = pair.image if pair.image is pair.text else None
    if not isinstance(towers, Towers | Transformers):
        return None
    own_head = towers.by_tokens or towers.image_log_var is not None
    return None if own_head else towers


def model_card(run: Path, model: Model, to: str, licence: str) -> str:
    """Return the model card: data, objective, numbers with their intervals, licence.

    Args:
        run: its folder.
        model: that it holds.
        to: the library.
        licence: of the weights.
    """
    results = runs.read(run).results if run.is_dir() else {}
    contracts, config = dict(contracts_of(results)), model.config
    rows = measurement_rows((label, contracts[label]) for label in headline(contracts))
    heads = ("number", "value", "in", "chance", "queries", "gallery")
    lines = []
    for row in rows:
        cells = " | ".join(row[head] for head in heads)
        lines.append(f"| {cells} |")
    data, origin = results.get("dataset", ""), "trained elsewhere"
    if config is not None:
        data = data or config.data.name
        origin = f"trained on {config.data.name} with the objective {config.objective.name}"
    origin_line = f"Exported by itm-workbench from {run.name}, {origin}."
    return CARD.format(
        library=to.replace("onnx", "onnxruntime"),
        licence=licence,
        data=Path(data).name,
        name=model.name,
        made=origin_line,
        read=READ[to],
        rows="\n".join(lines),
    )


def _save_encoder(encoder: HuggingFace | Transformers, folder: Path) -> None:
    encoder.model.save_pretrained(folder)
    encoder.processor.save_pretrained(folder)


def _export_clip(towers: Towers, folder: Path) -> None:
    """Write the CLIP of transformers, with its processor."""
    transformers, name = import_module("transformers"), towers.description.name
    text, size = towers.description.architecture["text_cfg"], towers.size.tolist()
    tokens = towers.mask_id or any(field in text for field in OWN_TOKENS)
    require(not tokens, f"{name} has another tokenizer than CLIP, which transformers needs; {CAN}")
    resize = RESIZES[int(towers.recipe[0])]
    require(resize != "longest", f"{name} pads its images, which transformers does not; {CAN}")
    pixels, ids = torch.rand(2, 3, *size), torch.randint(1, 999, (2, text.get("context_length", 77)))
    ids[:, -1] = TOKENS - 1
    with reading_errors(name, f"is no CLIP as transformers has it; {CAN}", KeyError, RuntimeError, TypeError):
        clip = transformers.CLIPModel(transformers.CLIPConfig(**_clip_config(towers))).eval()
        clip.load_state_dict(_clip_weights(towers.network.state_dict()))
    ours = towers.network.encode_image(pixels), towers.network.encode_text(ids)
    theirs = Side(clip, clip.get_image_features)(pixels), Side(clip, clip.get_text_features)(ids)
    far = max(float((normalize(a, dim=-1) - b).abs().max()) for a, b in zip(ours, theirs, strict=True))
    require(
        far < ALIKE,
        f"{name} is no CLIP as transformers has it: vectors differ by {format_number(far, 4)}; {CAN}",
    )
    clip.save_pretrained(folder)
    original = open_clip.tokenizer.SimpleTokenizer()
    named = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
    words = {named.get(word, word): number for word, number in original.encoder.items()}
    tokenizer = transformers.CLIPTokenizer(
        words, list(original.bpe_ranks), model_max_length=text.get("context_length", 77)
    )
    height, width = size
    square = {"height": height, "width": width}
    scaled = square if resize == "squash" else {"shortest_edge": min(size)}
    images = transformers.CLIPImageProcessor(
        size=scaled,
        crop_size=square,
        resample=list(INTERPOLATIONS.values())[int(towers.recipe[1])],
        image_mean=towers.mean.flatten().tolist(),
        image_std=towers.std.flatten().tolist(),
    )
    transformers.CLIPProcessor(images, tokenizer).save_pretrained(folder)


def _clip_config(towers: Towers) -> dict[str, Any]:
    """Return what CLIP of transformers is built from."""
    architecture, size = towers.description.architecture, towers.size.tolist()
    vision, text = architecture["vision_cfg"], architecture["text_cfg"]
    shared = {
        "hidden_act": "quick_gelu" if architecture.get("quick_gelu") else "gelu",
        "layer_norm_eps": 1e-5,
    }

    def side(cfg: dict[str, Any], heads: int) -> dict[str, Any]:
        hidden = {
            "hidden_size": cfg["width"],
            "intermediate_size": int(cfg["width"] * cfg.get("mlp_ratio", 4)),
        }
        return shared | hidden | {"num_hidden_layers": cfg["layers"], "num_attention_heads": heads}

    of_text = {"vocab_size": TOKENS, "max_position_embeddings": text.get("context_length", 77)}
    of_text |= {"bos_token_id": TOKENS - 2, "eos_token_id": TOKENS - 1, "pad_token_id": TOKENS - 1}
    of_image = {"image_size": size[0], "patch_size": vision["patch_size"]}
    heads = vision["width"] // vision.get("head_width", 64)
    return {
        "projection_dim": architecture["embed_dim"],
        "text_config": side(text, text["heads"]) | of_text,
        "vision_config": side(vision, heads) | of_image,
    }


def _clip_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under the names of transformers; a linear map of open_clip stands transposed
    there.
    """
    renamed: dict[str, Tensor] = {}
    for name, value in weights.items():
        name = name.removeprefix("text.")
        start = next((old for old in RENAMED if name.startswith(old)), "")
        to = RENAMED.get(start, "") + name.removeprefix(start)
        for old, new in INSIDE.items():
            to = to.replace(old, new)
        if "in_proj_" in to:
            before, kind = to.split("in_proj_")
            renamed |= {f"{before}{side}_proj.{kind}": part for side, part in zip("qkv", value.chunk(3))}
        else:
            linear = name.endswith(("visual.proj", "text_projection"))
            renamed[to] = (value.T if linear else value).contiguous()
    return renamed


def _export_onnx(towers: Towers, folder: Path) -> None:
    """Write two files, and open_clip's configuration, which says how images are made and words are
    counted.
    """

    def image(pixels: Tensor) -> Any:
        return towers.network.encode_image((pixels / 255 - towers.mean) / towers.std)

    longest = towers.description.architecture["text_cfg"].get("context_length", 77)
    _write_side(
        towers, image, {"pixels": 255 * torch.rand(2, 3, *towers.size.tolist())}, folder / "image.onnx"
    )
    ids = torch.ones(2, longest, dtype=torch.long)
    _write_side(towers, towers.network.encode_text, {"ids": ids}, folder / "text.onnx")
    towers.export(folder).unlink()


def _export_hugging_face_onnx(encoder: HuggingFace | Transformers, folder: Path) -> None:
    """Write two files, and the processor that makes what they read."""
    model, processor = encoder.model.eval(), encoder.processor
    with reading_errors(encoder.name, "cannot be exported", KeyError):
        inputs = dict(processor(images=[Image.new("RGB", (64, 64))] * 2, return_tensors="pt"))
    _write_side(
        model, model.get_image_features, {"pixel_values": inputs["pixel_values"]}, folder / "image.onnx"
    )
    ids = torch.ones(2, encoder.longest, dtype=torch.long)
    real = ids.tril(encoder.longest // 2)  # of all ones the exporter would take for granted that they are
    _write_side(
        model, model.get_text_features, {"input_ids": ids, "attention_mask": real}, folder / "text.onnx"
    )
    processor.save_pretrained(folder)


def _write_side(owner: nn.Module, encode: Callable[..., Any], inputs: dict[str, Tensor], file: Path) -> None:
    """Write one side as an ONNX file; the number of items is free."""
    import_optional("onnxscript", "onnx")
    side, free = Side(owner, encode).eval(), torch.export.Dim("items")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            side,
            tuple(inputs.values()),
            file,
            input_names=list(inputs),
            output_names=["vectors"],
            dynamo=True,
            dynamic_shapes=(tuple({0: free} for _ in inputs),),
            external_data=False,
            verbose=False,
        )


_OF_TOWERS: dict[str, Callable[[Any, Path], Any]] = {
    "open_clip": partial(Towers.export, dtype=torch.float32),
    "transformers": _export_clip,
    "onnx": _export_onnx,
}
_OF_TRANSFORMERS: dict[str, Callable[[Any, Path], Any]] = {
    "transformers": _save_encoder,
    "onnx": _export_hugging_face_onnx,
}
_FORMS = {Towers: _OF_TOWERS, Transformers: _OF_TRANSFORMERS, HuggingFace: _OF_TRANSFORMERS}
