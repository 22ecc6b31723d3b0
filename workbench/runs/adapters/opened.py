"""Which adapter opens a folder or a name of the hub."""

from pathlib import Path

from workbench.io import read_options
from workbench.runs.adapters.blip import Blip
from workbench.runs.adapters.blip2 import Blip2
from workbench.runs.adapters.cross_encoder import CrossEncoder
from workbench.runs.adapters.dual_encoders import HuggingFace
from workbench.runs.adapters.late_interaction import LateInteraction, retriever_class
from workbench.runs.adapters.matching import Matching
from workbench.runs.adapters.pcmepp import FIELDS, PCMEPP
from workbench.runs.adapters.sentences import SENTENCES, Sentences
from workbench.runs.adapters.shared import saved_config
from workbench.runs.adapters.yes_no import YesNo
from workbench.runs.own import Adapter

MATCHING: dict[str, type[Matching]] = {kind.kind: kind for kind in (Blip, Blip2)}
# the file in which sentence-transformers says what kind of model a folder holds
ABOUT = "config_sentence_transformers.json"


def open_adapter(library: str, name: str) -> Adapter:
    """Open a model of another library as an object that encodes, or that scores pairs.

    Args:
        library: transformers or sentence-transformers.
        name: a folder or a name of the hub.

    Raises:
        ValueError: it cannot be opened, or is none of these; the message says what it is.
        ModuleNotFoundError: the library is not installed.
    """
    if library == SENTENCES:
        about = Path(name) / ABOUT
        kind = read_options(about).get("model_type") if about.is_file() else ""
        return CrossEncoder(name) if kind == CrossEncoder.__name__ else Sentences(name)
    config = saved_config(name)
    classes = config.get("architectures") or ()
    if not classes and config.keys() >= FIELDS:
        return PCMEPP(name)
    saved = next(iter(classes), "")
    if saved in MATCHING:
        return MATCHING[saved](name)
    if retriever := retriever_class(classes):
        return LateInteraction(name, retriever)
    return YesNo(name) if saved in _answering_classes() else HuggingFace(name)


def _answering_classes() -> set[str]:
    """Return classes of transformers that read images and write texts."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    return {*MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()}
