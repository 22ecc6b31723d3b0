"""Tokenizers of transformers with a handful of words, saved as people save them."""

from pathlib import Path

WORDS = ["a", "red", "dog", "runs", "two", "blue", "cats", "sleep", "and", "again"]


def bert(folder: Path) -> None:
    """Words and BERT's signs; padding is 0."""
    import transformers

    signs = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate([*signs, *WORDS])}
    transformers.BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)
    transformers.BertConfig().save_pretrained(folder)


def ending_as_padding(folder: Path) -> None:
    """As that of SigLIP: what ends a text also pads it, and an unknown word is 0."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: number for number, word in enumerate(["<unk>", "</s>", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    signs = {"pad_token": "</s>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, **signs).save_pretrained(folder)
