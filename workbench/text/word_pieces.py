"""Word pieces: what the tokenizer of a pre-trained text encoder makes of a caption, for an encoder that is
trained with the rest. Where it is frozen, ``word_features`` has what it says.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from workbench.assets import text_models
from workbench.registry import Natural
from workbench.text.signal import SignalMaker
from workbench.text.tokens import TokenSignal


class WordPieces(SignalMaker):
    """Makes ids, start and end signs included.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"``.
        revision: of a Hugging Face name; ``None`` = the newest.
        max_length: the most ids of a caption; longer captions are cut.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
    """

    name = "word_pieces"
    # Nothing is learnt; the state says which vocabulary the ids are of.
    bound = ("fingerprint",)

    def __init__(
        self, *, model: str = text_models.PACKAGE, revision: str | None = None, max_length: Natural = 64
    ) -> None:
        self.source = text_models.locate_model(model, self.name)
        self.revision = revision
        self.max_length = max_length

    @cached_property
    def _tokenizer(self) -> Any:
        return text_models.load_part("AutoTokenizer", self.source, self.revision)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the vocabulary."""
        known = json.dumps(sorted(self._tokenizer.get_vocab().items()))
        return hashlib.sha256(known.encode()).hexdigest()

    def transform(self, captions: Sequence[str]) -> TokenSignal:
        """Return ids of the captions: those of the tokenizer plus 1, so that 0 is padding in every
        vocabulary.
        """
        ids = self._tokenizer(list(captions), truncation=True, max_length=self.max_length)["input_ids"]
        signal = TokenSignal.from_rows(ids, np.int32)
        return TokenSignal(signal.flat + 1, signal.starts)

    def count_truncated(self, captions: Sequence[str], signal: Any) -> int:
        """Count the captions that are longer than ``context_length`` ids."""
        full = [captions[row] for row in signal.rows_at_least(self.context_length)]
        return text_models.count_longer(self._tokenizer, full, self.context_length) if full else 0

    def token_texts(self, captions: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each caption, as the tokenizer writes them."""
        return self.transform(captions).token_texts(
            lambda number: str(self._tokenizer.convert_ids_to_tokens(number - 1))
        )


MEMBER = WordPieces
