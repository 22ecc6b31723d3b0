"""A weighted sum of terms of several papers, ``"ditm+0.5*dias.dim"``: how it is read, and all that it needs."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor, nn

from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding
from workbench.registry import did_you_mean

ADDEND = re.compile(r"(?:(?P<weight>[^*]*)\*\s*)?(?P<paper>(?:[^\W\d][\w.]*:)?\w+)(?:\.(?P<term>\w+))?")
EXAMPLE = "write a sum as 'ditm+0.5*dias.dim'"

# Weight of each chosen term by paper and term; the term "" is the whole paper.
Addends = dict[str, dict[str, float]]
Options = dict[str, dict[str, object]]


def parse(name: str) -> Addends:
    """Read a sum.

    Args:
        name: addends joined by ``+``, each ``paper``, ``paper.term``, ``weight*paper`` or
            ``weight*paper.term``. A paper is a name of the shelf or ``my_module:MyLoss``.

    Raises:
        ValueError: an addend cannot be read, a weight is not positive, or something is named twice.

    Example:
        >>> parse("ditm+0.5*dias.dim+dias.inter")
        {'ditm': {'': 1.0}, 'dias': {'dim': 0.5, 'inter': 1.0}}
    """
    out: Addends = {}
    for text in name.split("+"):
        found = ADDEND.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"objective {name!r}: cannot read {text!r}; {EXAMPLE}")
        terms, term = out.setdefault(found["paper"], {}), found["term"] or ""
        if term in terms or (terms and "" in {term, *terms}):
            raise ValueError(
                f"objective {name!r}: {text.strip()!r} is named twice; name each term once, with its whole weight"
            )
        terms[term] = _weight(name, found["weight"])
    return out


def _weight(name: str, text: str | None) -> float:
    try:
        weight = 1.0 if text is None else float(text)
    except ValueError:
        raise ValueError(f"objective {name!r}: {text!r} is no weight; {EXAMPLE}") from None
    if not 0 < weight < math.inf:
        raise ValueError(f"objective {name!r}: the weight {text} must be greater than 0 and finite")
    return weight


def options_of(name: str, addends: Addends, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of each paper of a sum.

    Raises:
        TypeError: options of a paper that is not in the sum, or options without a paper.
    """
    example = f'{{"{next(iter(addends))}": {{...}}}}'
    for paper, given in options.items():
        if paper not in addends:
            near = did_you_mean(paper, list(addends))
            raise TypeError(
                f"objective {name!r} has no option {paper!r}; {near}. Options of a sum are given by paper, {example}"
            )
        if not isinstance(given, Mapping):
            raise TypeError(
                f"objective {name!r}: the options of {paper!r} are {given!r}; give them as {example}"
            )
    return {paper: dict(given) for paper, given in options.items()}


class Sum(Objective):
    """Terms of several objectives, each times its weight; the keys are ``paper.term``.

    A batch must hold what any of them needs. Every paper computes its terms as it does alone, on its own
    scores; the scores of evaluation are those of the first paper.

    Args:
        name: the sum as it was written, for messages.
        addends: weight of each chosen term by paper; the term ``""`` stands for all of a paper's terms.
        papers: the objectives by name, in the order of the sum.

    Raises:
        KeyError: a paper has no such term.
        ValueError: two papers need one thing in two ways.
    """

    def __init__(self, name: str, addends: Addends, papers: Mapping[str, Objective]) -> None:
        super().__init__()
        self.name = name
        self.by_name = dict(papers)
        # A module's name may not hold a dot; that of a paper from a package does.
        self.papers = nn.ModuleDict({paper.replace(".", "/"): made for paper, made in papers.items()})
        self.weights: dict[str, float] = {}
        for paper, weights in addends.items():
            for term, weight in weights.items():
                self.weights |= dict.fromkeys(_terms(paper, papers[paper], term), weight)
        self.terms = tuple(self.weights)
        self.select(self.terms)

    def _each(self) -> Iterable[tuple[str, Objective]]:
        return self.by_name.items()

    @property
    def first(self) -> Objective:
        """The paper whose scores are those of evaluation."""
        return next(iter(self.by_name.values()))

    def select(self, terms: Iterable[str]) -> None:
        """Compute these terms only, and need what they need."""
        super().select(terms)
        for name, paper in self._each():
            paper.select(term for term in paper.terms if f"{name}.{term}" in (self.selected or ()))
        of_all = [paper for _, paper in self._each()]
        reads = [field for paper in of_all for field in paper.reads] + (
            ["parts"] if self.first.scores_parts else []
        )
        self.reads = tuple(dict.fromkeys(reads))
        self.needs = tuple(dict.fromkeys(name for paper in of_all for name in paper.needs))
        self.captions_per_image = max(paper.captions_per_image for paper in of_all)
        self.soft_labels = all(paper.soft_labels for paper in of_all)
        self.scores_parts, self.calibrates = self.first.scores_parts, self.first.calibrates
        self.momentum = self._one_momentum()
        self.signals()
        self.relevances()

    def _one_momentum(self) -> float:
        given = {name: paper.momentum for name, paper in self._each() if paper.momentum}
        if len(set(given.values())) > 1:
            raise ValueError(
                f"objective {self.name!r}: there is one momentum copy, and {given} ask for different ones"
            )
        return next(iter(given.values()), 0.0)

    def signals(self) -> Options:
        """The signals of all papers."""
        return self._united("signal", {name: paper.signals() for name, paper in self._each()})

    def relevances(self) -> Options:
        """The relevances of all papers."""
        return self._united("relevance", {name: paper.relevances() for name, paper in self._each()})

    def _united(self, kind: str, asked: Mapping[str, Options]) -> Options:
        out: Options = {}
        for paper, wanted in asked.items():
            for name, options in wanted.items():
                if out.setdefault(name, options) != options:
                    raise ValueError(
                        f"objective {self.name!r}: {paper!r} reads the {kind} {name!r} with {options} and another paper "
                        f"with {out[name]}; a batch holds it once, so give both the same options"
                    )
        return out

    def fit_width(self, embed_dim: int) -> None:
        """Make what depends on the width of the embeddings, in every paper."""
        for _, paper in self._each():
            paper.fit_width(embed_dim)

    def warm_up(self, warming: bool) -> None:
        """Tell every paper whether training is in its warm-up epochs."""
        super().warm_up(warming)
        for _, paper in self._each():
            paper.warm_up(warming)

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """The scores of the first paper."""
        return self.first.scores(image, text)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """The chosen terms of all papers by ``paper.term``."""
        out: dict[str, Tensor] = {}
        for name, paper in self._each():
            if paper.selected:
                found = paper(image, text, batch)
                out |= {
                    f"{name}.{term}": self.weights[f"{name}.{term}"] * found[term]
                    for term in paper.terms
                    if paper.wants(term)
                }
        return out

    def calibrate(self, image: Embedding, text: Embedding, quality: Callable[[Tensor], float]) -> None:
        """Let the first paper choose what evaluation uses."""
        self.first.calibrate(image, text, quality)

    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Update the memory of every paper."""
        for _, paper in self._each():
            paper.after_step(image, text, batch)


def _terms(paper: str, objective: Objective, term: str) -> list[str]:
    if term and term not in objective.terms:
        raise KeyError(
            f"objective {paper!r} has no term {term!r}; {did_you_mean(term, list(objective.terms))}"
        )
    return [f"{paper}.{name}" for name in objective.terms if term in ("", name)]
