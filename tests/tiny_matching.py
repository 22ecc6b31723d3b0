"""Models of transformers that read an image and a text together, with random weights, saved as people save
them.
"""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.tiny_tokenizers import WORDS, bert

SIZE = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
IMAGE = SIZE | {"image_size": 32, "patch_size": 16}
TEXT = SIZE | {"vocab_size": 40, "max_position_embeddings": 12, "pad_token_id": 0}
# the template of a chat in which an image comes before words
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image> {% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def _saved(folder: Path, model: Any, processor: Any) -> Path:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _prepares(kind: Any) -> Any:
    return kind(size={"height": 32, "width": 32})


def blip(folder: Path, kind: str = "BlipForImageTextRetrieval") -> Path:
    """BLIP with its matching head, or another class of it."""
    bert(folder)
    torch.manual_seed(0)
    text = TEXT | {"encoder_hidden_size": 16, "bos_token_id": 2, "sep_token_id": 3, "eos_token_id": 3}
    config = transformers.BlipConfig(
        text_config=text, vision_config=IMAGE, projection_dim=8, image_text_hidden_size=8
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = transformers.BlipProcessor(_prepares(transformers.BlipImageProcessor), tokenizer)
    return _saved(folder, getattr(transformers, kind)(config), processor)


def blip2(folder: Path) -> Path:
    """BLIP-2 with the matching head of its Q-Former."""
    bert(folder)
    torch.manual_seed(0)
    config = transformers.Blip2Config(
        vision_config=IMAGE,
        qformer_config=TEXT | {"encoder_hidden_size": 16, "use_qformer_text_input": True},
        text_config={"model_type": "opt", "hidden_size": 16, "num_hidden_layers": 1, "vocab_size": 40},
        num_query_tokens=3,
        image_text_hidden_size=8,
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = transformers.Blip2Processor(_prepares(transformers.BlipImageProcessor), tokenizer)
    return _saved(folder, transformers.Blip2ForImageTextRetrieval(config), processor)


def words_of_chat(folder: Path, answers: tuple[str, ...] = ("yes", "no")) -> Any:
    """A tokenizer of whole words, among them an image and answers."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "<unk>", "<image>", *answers, "Does", "this", "image", "show", "?", *WORDS]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    signs = {"pad_token": "<pad>", "unk_token": "<unk>", "additional_special_tokens": ["<image>"]}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **signs)


def answering(folder: Path, *, template: str = TEMPLATE, answers: tuple[str, ...] = ("yes", "no")) -> Path:
    """A language model with vision, as LLaVA is."""
    torch.manual_seed(0)
    tokenizer = words_of_chat(folder, answers)
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**IMAGE),
        text_config=transformers.LlamaConfig(**SIZE, vocab_size=40, max_position_embeddings=64),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    processor = transformers.LlavaProcessor(
        transformers.CLIPImageProcessor(**size),
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template or None,
    )
    return _saved(folder, transformers.LlavaForConditionalGeneration(config), processor)
