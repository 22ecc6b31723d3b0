"""ColPali and ColQwen2 of transformers give their library's own scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers

import workbench as wb
from tests.tiny_tokenizers import WORDS
from workbench.records import Split

SIDE = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
SIGNS = ["<pad>", "<unk>", "<bos>", "<eos>", "<|image_pad|>", "<|vision_start|>", "<|vision_end|>"]
TEXTS = ("a red dog", "two blue cats sleep and a dog runs again")


def tokenizer():
    """Words and the signs that both processors use."""
    vocabulary = {word: number for number, word in enumerate([*SIGNS, *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    signs = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<bos>", "eos_token": "<eos>"}
    kept = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **signs)
    kept.add_special_tokens({"additional_special_tokens": SIGNS[4:]})
    return kept


def colpali(folder):
    size = {"height": 28, "width": 28}
    images = transformers.SiglipImageProcessor(size=size, image_seq_length=4)
    processor = transformers.ColPaliProcessor(images, tokenizer())
    text = {**SIDE, "model_type": "gemma", "vocab_size": len(processor.tokenizer), "head_dim": 16}
    text |= {"num_key_value_heads": 1, "pad_token_id": 0}
    vision = {**SIDE, "model_type": "siglip_vision_model", "image_size": 28, "patch_size": 14}
    whole = {"model_type": "paligemma", "text_config": text, "vision_config": vision}
    whole |= {"projection_dim": 32, "hidden_size": 32, "image_token_index": processor.image_token_id}
    config = transformers.ColPaliConfig(vlm_config=whole, embedding_dim=8)
    return save(folder, transformers.ColPaliForRetrieval(config), processor)


def colqwen2(folder):
    images = transformers.Qwen2VLImageProcessor(min_pixels=28 * 28, max_pixels=56 * 56)
    processor = transformers.ColQwen2Processor(images, tokenizer())
    text = {**SIDE, "vocab_size": 64, "num_key_value_heads": 1, "max_position_embeddings": 128}
    text |= {"rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}}
    vision = {
        "depth": 1,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 1,
        "patch_size": 14,
    }
    whole = {"model_type": "qwen2_vl", "text_config": text, "vision_config": vision}
    whole |= {"image_token_id": processor.image_token_id}
    config = transformers.ColQwen2Config(vlm_config=whole, embedding_dim=8)
    return save(folder, transformers.ColQwen2ForRetrieval(config), processor)


def save(folder, model, processor):
    torch.manual_seed(0)
    for value in model.parameters():
        torch.nn.init.normal_(value, std=0.1)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[colpali, colqwen2], ids=lambda make: make.__name__)
def folder(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp(request.param.__name__))


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    images = [
        Image.fromarray(rng.integers(0, 256, (40, 30 + 25 * row, 3), dtype=np.uint8)) for row in range(5)
    ]
    ids = tuple(map(str, range(5)))
    texts = [TEXTS[row % 2] + " dog" * row for row in range(5)]
    return Split("noise", ids, tuple(texts), ids, np.arange(5), lambda row: images[row])


def test_scores_are_those_of_the_library(folder, split):
    result = wb.evaluate(folder, split, rounds=0)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    (kind,) = transformers.AutoConfig.from_pretrained(folder).architectures
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    with torch.no_grad():
        pages = [
            model(**processor.process_images(images=[split.open_image(row)])).embeddings[0]
            for row in range(5)
        ]
        queries = [model(**processor.process_queries(text=[text])).embeddings[0] for text in split.captions]
    theirs = torch.stack(
        [processor.score_retrieval([query], [page])[0, 0] for page in pages for query in queries]
    )
    np.testing.assert_allclose(result.scores, theirs.view(5, 5), atol=1e-5)
    assert result.config["scoring"]["scorer"] == {"name": "maxsim", "query": "text", "reduction": "sum"}
    assert result.scores.std() > 0


def test_a_run_is_opened_again_with_its_vectors(folder, split, tmp_path):
    result = wb.evaluate(folder, split, rounds=0)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs([str(tmp_path / "run")])
    np.testing.assert_array_equal(opened.scores, result.scores)
    assert opened.model.embed_texts(["a dog"]).parts.shape[2] == 8


def test_weights_that_are_not_finite_are_refused(tmp_path):
    folder = colpali(tmp_path)
    model = transformers.ColPaliForRetrieval.from_pretrained(folder)
    with torch.no_grad():
        model.embedding_proj_layer.bias[0] = torch.nan
    model.save_pretrained(folder)
    with pytest.raises(ValueError, match=r"embedding_proj_layer\.bias holds numbers that are not finite"):
        wb.open_model(folder)
