"""Tokenizers of open_clip's models: by the name of a model, or by a JSON configuration that lies anywhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.io import expand_home, hub_access, read_options, reading_errors
from workbench.registry import require, require_known

LOCAL = "local-dir:"
CONTEXT = 77
# files that a folder with a tokenizer of transformers holds
SAVED = ("tokenizer_config.json", "tokenizer.json")


def open_clip_tokenizer(model: str, context_length: int | None = None) -> Any:
    """Make the tokenizer that an open_clip model reads.

    A JSON configuration names it as open_clip's own folders do: by ``hf_tokenizer_name``, ``tokenizer_mode``,
    ``tokenizer_kwargs`` and ``context_length`` in its ``text_cfg``. A tokenizer that lies beside the file is
    the one that ``hf_tokenizer_name`` means; else that is a path from there, or a name of the hub.

    Args:
        model: an open_clip name, ``hf-hub:...``, ``local-dir:...``, or the path of a JSON file.
        context_length: the most ids of a text; ``None`` = the model's own.

    Returns:
        What makes ``(N, context_length)`` ids of ``N`` texts.

    Raises:
        FileNotFoundError: there is no such file, or the hub cannot be reached.
        ValueError: no such model, or a tokenizer that cannot be read or needs code of its own.
    """
    import open_clip  # slow to import

    if model.endswith(".json"):
        return _tokenizer_from_json(expand_home(model), context_length)
    if ":" not in model:
        require_known("tokens: no open_clip model", model, open_clip.list_models(), ValueError)
    place = model.removeprefix(LOCAL)
    with hub_access(place if ":" in model else ""):
        text = open_clip.get_model_config(model)["text_cfg"]
    _require_no_code(model, text)
    fetched = ":" in model or text.get("hf_tokenizer_name")
    what = "names no tokenizer that can be read"
    with reading_errors(place, what, TypeError, AssertionError), hub_access(place if fetched else ""):
        return open_clip.get_tokenizer(model, context_length=context_length)


def _tokenizer_from_json(file: Path, context_length: int | None) -> Any:
    from open_clip.tokenizer import HFTokenizer, SimpleTokenizer  # slow to import

    content = read_options(file)
    text = content.get("model_cfg", content)["text_cfg"]
    _require_no_code(file, text)
    length = context_length or text.get("context_length", CONTEXT)
    options = text.get("tokenizer_kwargs") or {}
    name = text.get("hf_tokenizer_name")
    if not name:
        with reading_errors(
            file, "names options that open_clip's tokenizer does not take", TypeError, AssertionError
        ):
            return SimpleTokenizer(context_length=length, **options)
    source = _tokenizer_source(file.parent, name)
    what = f"names the tokenizer {source}, which cannot be read"
    with reading_errors(file, what, TypeError, AssertionError), hub_access(source):
        return HFTokenizer(
            source, context_length=length, tokenizer_mode=text.get("tokenizer_mode"), **options
        )


def _tokenizer_source(folder: Path, name: str) -> str:
    """Return where the tokenizer of a configuration lies: beside it, on a path from there, or on the hub."""
    if any((folder / saved).is_file() for saved in SAVED):
        return str(folder)
    return str(folder / name) if (folder / name).is_dir() else name


def _require_no_code(model: str | Path, text: Mapping[str, Any]) -> None:
    """Raise if a configuration would run code of its own.

    Raises:
        ValueError: it would.
    """
    require(
        "trust_remote_code" not in (text.get("tokenizer_kwargs") or {}),
        f"{model} needs a tokenizer with code of its own (trust_remote_code), which is not executed here",
    )


def padding_id(tokenizer: Any) -> int:
    """Return the id with which a tokenizer of ``open_clip_tokenizer`` fills its rows.

    Args:
        tokenizer: that one.
    """
    inner = getattr(tokenizer, "tokenizer", None)
    return int(getattr(inner, "pad_token_id", None) or 0)
