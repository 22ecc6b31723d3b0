"""Vision-language models that are asked whether an image and a text match: the logit of "yes" against that of
"no" (as VQAScore asks, Lin et al. 2024, arXiv:2404.01291).
"""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from workbench.records import require
from workbench.registry import options_of
from workbench.runs.adapters.matching import identity
from workbench.runs.adapters.shared import open_in_transformers
from workbench.runs.own import Adapter

PROMPT = 'Does this image show "{text}"? Answer yes or no.'
# pairs that are read at a time
AT_ONCE = 8


class YesNo(Adapter):
    """Any model of transformers that reads images and answers in text.

    Args:
        name: a folder or a name of the hub.
        prompt: the question, with ``{text}`` where the text stands.
        answers: of a pair that matches and of one that does not; the first token of each counts.

    Raises:
        ValueError: it cannot be opened or asked; the message says why.
    """

    def __init__(self, name: str, prompt: str = PROMPT, answers: tuple[str, str] = ("yes", "no")) -> None:
        super().__init__()
        self.model, self.processor = open_in_transformers("AutoModelForImageTextToText", name)
        kind = type(self.model).__name__
        require(
            getattr(self.processor, "chat_template", None),
            f"{name} holds a {kind}, which takes no questions: its processor has no chat template; give a "
            "vision-language model that is instructed, such as SmolVLM or Qwen-VL",
        )
        self.name = Path(name).name
        self.source, self.answers = name, answers
        self._set_prompt(prompt)
        # positions of a text that is not as long as others are then those that it has alone
        self.processor.tokenizer.padding_side = "right"
        self.tokens = self._first_tokens()

    def with_question(self, prompt: str) -> "YesNo":
        """Return the same model with another question.

        Args:
            prompt: with ``{text}`` where the text stands.

        Raises:
            ValueError: it has no place for the text.
        """
        changed = copy(self)
        changed._set_prompt(prompt)
        return changed

    def _set_prompt(self, prompt: str) -> None:
        require("{text}" in prompt, f"the prompt {prompt!r} has no {{text}}, where the text of a pair stands")
        self.prompt = prompt
        self.identity = identity(self.source, self.model, prompt, *self.answers)

    def score(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Tensor:
        """Return ``(N,)`` logit of the first answer less that of the second."""
        scores = []
        for first in range(0, len(texts), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            scores.append(self._differences(images[part], texts[part]))
        return torch.cat(scores)

    def _differences(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Tensor:
        questions = list(map(self._question, images, texts))
        inputs = self.processor.apply_chat_template(
            questions,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self.model.device)
        mask = inputs["attention_mask"]
        from_end = mask.shape[1] - mask.sum(dim=1)
        least = int(from_end.max()) + 1
        # the logits of all tokens of all words would take gigabytes
        limited = {"logits_to_keep": least} if "logits_to_keep" in options_of(self.model.forward) else {}
        logits = self.model(**inputs, **limited).logits
        last: Tensor = logits[torch.arange(len(texts)), logits.shape[1] - 1 - from_end].float()
        yes, no = self.tokens
        return last[:, yes] - last[:, no]

    def _question(self, image: Image.Image, text: str) -> list[dict[str, Any]]:
        asked = {"type": "text", "text": self.prompt.replace("{text}", text)}
        return [{"role": "user", "content": [{"type": "image", "image": image}, asked]}]

    def _first_tokens(self) -> tuple[int, int]:
        """Return the ids by which the two answers begin.

        Raises:
            ValueError: both begin with the same, or the tokenizer does not know one.
        """
        tokenizer = self.processor.tokenizer
        ids = [tokenizer(answer, add_special_tokens=False)["input_ids"][:1] for answer in self.answers]
        known = all(ids) and tokenizer.unk_token_id not in ids[0] + ids[1]
        require(
            known and ids[0] != ids[1],
            f"the tokenizer of {self.name} cannot tell {' and '.join(self.answers)} apart by their first "
            "token; give others as answers=",
        )
        return ids[0][0], ids[1][0]
