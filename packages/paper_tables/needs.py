"""What a table needs beside the data of its arms: pre-trained weights, and data that it is measured on.

Weights are looked for where the run would find them, a file or the cache of the hub; nothing is fetched.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import open_clip
from huggingface_hub import try_to_load_from_cache

from workbench import assets, data
from workbench.assets.text_models import PACKAGE
from workbench.encoders.words import PACKAGE as VECTORS
from workbench.execution.grid import PAPER
from workbench.io import expand_home
from workbench.runs.spellings import fields, mapping_of, name_of, options_of

# files of a model on the hub, any of which holds its weights
WEIGHTS = (
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.bin",
    "model.safetensors",
    "pytorch_model.bin",
)
GLOVE = "glove.6B.zip of https://nlp.stanford.edu/projects/glove/ holds it"


def missing_weights(arms: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return weights that encoders of these arms start from and this machine lacks, a line a file.

    Args:
        arms: parameters of the notebook.
    """
    places: dict[str, list[str]] = {}
    for arm, side in product(arms, ("image_encoder", "text_encoder")):
        for place, group in _groups(options_of(fields(arm).get(side)), side):
            for line, option in _missing_options(group):
                places.setdefault(line, []).append(f"{place}.{option}")
    return [f"{line} in the arms, as {', '.join(dict.fromkeys(names))}" for line, names in places.items()]


def _groups(options: Mapping[str, Any], place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield options of an encoder, and those of the parts that it is made of, each with where it stands."""
    yield place, options
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _groups(value, f"{place}.{name}")


def _missing_options(group: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the options of an encoder name and this machine lacks, each with the option that names
    it.
    """
    model, start = str(group.get("model", "")), str(group.get("pretrained", ""))
    words = str(group.get("features") or group.get("name") or "")
    there = start in ("", VECTORS, *assets.model_names()) or expand_home(start).is_file()
    if model and not there:
        known = open_clip.get_pretrained_cfg(model, start) or {}
        hub = str(known.get("hf_hub", "")).rpartition("/")[0]
        fetched = f"not in the hub's cache; `hf download {hub}` puts them there" if hub else "no such file"
        if not (hub and _is_cached(hub)):
            yield f"weights {start} of {model}: {fetched}, or name their file", "pretrained"
    elif not there:
        yield f"word vectors {start}: no such file; {GLOVE}; put it here, or name the file", "pretrained"
    read = "features" in group or group.get("kind") == "features"
    if read and words not in ("", PACKAGE) and not expand_home(words).is_dir() and not _is_cached(words):
        yield (
            f"text encoder {words}: not in the hub's cache; `hf download {words}` puts it there, or name its "
            "folder",
            "features" if "features" in group else "name",
        )


def _is_cached(repository: str) -> bool:
    """Return whether the hub's cache on this machine holds weights of a repository."""
    return any(isinstance(try_to_load_from_cache(repository, name), str) for name in WEIGHTS)


def measured_on(grid: Mapping[str, Any], arms: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return data that a table in its paper's settings is measured on beside those of its arms, and that are
    not there; in the small form a table is made without them.

    Args:
        grid: from ``grid.prepare_grid``.
        arms: parameters of the notebook.

    Raises:
        KeyError, TypeError: data or options that are not known.
    """
    lacking = []
    by_data = {str(arm["data"]): arm for arm in arms} if PAPER in grid else {}
    for arm in by_data.values():
        for target in targets(grid, name_of(arm["data"]), arm):
            try:
                data.load(target.data.name, split=target.split, **target.data.options)
            except (FileNotFoundError, ModuleNotFoundError) as error:
                lacking.append(str(error))
    return lacking


def targets(grid: Mapping[str, Any], dataset: str, params: Mapping[str, Any]) -> list[Any]:
    """Return what a table is measured on beside the test split of its runs, each a ``runs.Target``.

    Args:
        grid: from ``grid.read_grid``.
        dataset: that the runs were trained on.
        params: of a run; where its images come from, those of the target do.

    Raises:
        KeyError, TypeError: data or options that are not known.
    """
    from workbench.runs import Target

    section, needed = grid["table"].get("evaluate") or {}, []
    source = options_of(params.get("data")).get("source")
    for entry in section.get(dataset, section.get("others", [])):
        chosen = mapping_of(entry["data"])
        if source and data.member(chosen["name"]).takes("source"):
            chosen = {"source": source, **chosen}
        needed.append(Target(**{**entry, "data": chosen}))
    return needed
