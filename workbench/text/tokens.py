"""Token ids: of whole words with a vocabulary fitted on the pool, or of the tokenizer that an open_clip model
reads.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Annotated, Any, Self

import numpy as np
import torch
from annotated_types import Ge

from workbench.assets.tokenizers import open_clip_tokenizer, padding_id
from workbench.records import Rows, require
from workbench.registry import Natural
from workbench.text.signal import Ragged, SignalMaker
from workbench.text.words import words

PADDING, UNKNOWN, START, END, FIRST_WORD = range(5)
SPECIAL = ("[padding]", "[unknown]", "[start]", "[end]")
OPEN_CLIP = "open_clip:"
CHUNK = 4096


class TokenSignal(Ragged):
    """Token ids of ``N`` captions."""

    def take(self, rows: Rows) -> torch.Tensor:
        """Return ``(n, L)`` int64 ids of these captions, padded with 0 to the longest of them."""
        return torch.from_numpy(self.pad(rows)[0].astype(np.int64))

    def token_texts(self, name: Callable[[int], str]) -> list[list[str]]:
        """Return the captions as lists of the names of their ids."""
        return [list(map(name, ids.tolist())) for ids in np.split(self.flat, self.starts[1:-1])]


class Tokens(SignalMaker):
    """Makes token ids.

    Ids of the word tokenizer: 0 padding, 1 unknown word, 2 start, 3 end, and 4 + n for ``vocabulary[n]``.

    Args:
        tokenizer: ``"words"``, or ``"open_clip:<model>"`` for an open_clip name, ``hf-hub:...`` or
            ``local-dir:...``, or the path of a JSON configuration.
        vocabulary: fixed words, without the four special ids; ``None`` = all words of the pool, the most
            frequent first.
        max_length: the most ids of a caption, start and end included, so at least 3; ``None`` = all words, or
            the model's context length.
        min_count: a word enters the vocabulary when it occurs this often in the pool.

    Raises:
        ValueError: an unknown tokenizer or model.
    """

    name = "tokens"
    learnt = ("vocabulary",)

    def __init__(
        self,
        *,
        tokenizer: str = "words",
        vocabulary: Sequence[str] | None = None,
        max_length: Annotated[int, Ge(3)] | None = None,
        min_count: Natural = 1,
    ) -> None:
        require(
            tokenizer == "words" or tokenizer.startswith(OPEN_CLIP),
            f"tokens: tokenizer is {tokenizer!r}; choose 'words' or 'open_clip:<model name>'",
        )
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.min_count = min_count
        self.fixed = vocabulary is not None
        self.vocabulary = list(vocabulary or ())
        self._open_clip: Any = (
            None
            if tokenizer == "words"
            else open_clip_tokenizer(tokenizer.removeprefix(OPEN_CLIP), max_length)
        )

    def fit(self, captions: Sequence[str]) -> Self:
        """Take the vocabulary from the pool, unless it is fixed or open_clip's."""
        if self.tokenizer == "words" and not self.fixed:
            # the most frequent first; of equally frequent words the first in the alphabet
            counts = Counter(sorted(chain.from_iterable(map(words, captions))))
            self.vocabulary = [word for word, n in counts.most_common() if n >= self.min_count]
        return self

    def transform(self, captions: Sequence[str]) -> TokenSignal:
        """Return token ids of the captions; the empty string is a start and an end.

        Raises:
            ValueError: the word tokenizer has no vocabulary yet.
        """
        require(
            self._open_clip is not None or self.vocabulary,
            "tokens: there is no vocabulary yet; call fit(captions), or give vocabulary=(...)",
        )
        if self._open_clip is not None:
            rows = _token_ids(self._open_clip, captions)
        else:
            number = {word: FIRST_WORD + n for n, word in enumerate(self.vocabulary)}
            most = None if self.max_length is None else self.max_length - 2
            rows = []
            for caption in captions:
                ids = [number.get(word, UNKNOWN) for word in words(caption)[:most]]
                rows.append([START, *ids, END])
        return TokenSignal.from_rows(rows, np.int32)

    @property
    def context_length(self) -> int:
        """The most ids of a caption: as asked for, or the model's context length."""
        return self.max_length or int(getattr(self._open_clip, "context_length", 0))

    def count_truncated(self, captions: Sequence[str], signal: Any) -> int:
        """Count the captions that are longer than ``context_length`` ids."""
        if not self.context_length:
            return 0
        # one less, since the end of a text may be the id of the padding
        doubtful = [captions[row] for row in signal.rows_at_least(self.context_length - 1)]
        if self._open_clip is None:
            return sum(len(words(caption)) + 2 > self.context_length for caption in doubtful)
        return _count_longer(self._open_clip, doubtful, self.context_length)

    def token_texts(self, captions: Sequence[str]) -> list[list[str]]:
        """Return what each id of the captions stands for; special ids in brackets."""
        if self._open_clip is None:
            return self.transform(captions).token_texts((*SPECIAL, *self.vocabulary).__getitem__)
        decode = getattr(self._open_clip, "tokenizer", self._open_clip).decode
        return self.transform(captions).token_texts(lambda token: str(decode([token])).strip())


def _token_ids(tokenizer: Any, captions: Sequence[str]) -> list[list[int]]:
    """Return ids up to the last one that is not padding, which is 0 for CLIP and may be another id
    elsewhere.
    """
    fill = padding_id(tokenizer)
    rows: list[list[int]] = []
    for start in range(0, len(captions), CHUNK):
        ids = tokenizer(list(captions[start : start + CHUNK])).numpy()
        lengths = ids.shape[1] - (ids != fill)[:, ::-1].argmax(axis=1)
        rows += [_strip_padding(row, length) for row, length in zip(ids, lengths, strict=True)]
    return rows


def _count_longer(tokenizer: Any, captions: Sequence[str], context_length: int) -> int:
    """Return how many captions have more ids where there is room for one more."""
    fill = padding_id(tokenizer)
    grown = 0
    for start in range(0, len(captions), CHUNK):
        some = list(captions[start : start + CHUNK])
        sizes = [(tokenizer(some, context_length=context_length + more) != fill).sum(1) for more in (0, 1)]
        grown += int((sizes[1] > sizes[0]).sum())
    return grown


def _strip_padding(row: Rows, length: int) -> list[int]:
    """Return the ids of a text. One id of padding stays behind a last id 0, which would look like padding
    itself.
    """
    ids: list[int] = row[:length].tolist()
    behind = ids[-1] == 0 and length < len(row)
    return row[: length + 1].tolist() if behind else ids


MEMBER = Tokens
