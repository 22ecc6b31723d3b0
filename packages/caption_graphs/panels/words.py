"""How far the score of the watched image falls when a word of the question is left out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.views.explorer import Panel, Question


class Words(Panel):
    """Shows the effect of each word of a text that asks for images."""

    name = "words"
    title = "Words: how much each one matters"
    encodes = True

    def answer(self, question: Question, settings: Any, watched: int | None) -> Mapping[str, Any]:
        """Return each word with its effect in every run."""
        question = self.engine.reword(question)
        words = question.words.split()
        if watched is None or question.seeks != "images" or len(words) < 2 or not self.engine.encodes:
            return {"words": []}
        sentences = [" ".join(words)]
        for place in range(len(words)):
            sentences.append(" ".join([*words[:place], *words[place + 1 :]]))
        scores = [answerer.score_sentences(sentences, watched)[0] for answerer in self.engine.answerers]
        effects = np.stack([of_run[0] - of_run[1:] for of_run in scores], axis=1).tolist()
        return {"words": [{"text": word, "effects": of_word} for word, of_word in zip(words, effects)]}
