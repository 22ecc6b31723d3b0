"""A weighted sum of terms of several papers, ``"ditm+0.5*dias.dim"``: how it is read, and what it needs."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from torch import Tensor, nn

from workbench.objectives.base import Objective
from workbench.objectives.parts.attention import Form
from workbench.records import Batch, Embedding, require
from workbench.registry import did_you_mean

ADDEND = re.compile(r"(?:(?P<weight>[^*]*)\*\s*)?(?P<paper>(?:[^\W\d][\w.]*:)?\w+)(?:\.(?P<term>\w+))?")
EXAMPLE = "write a sum as 'ditm+0.5*dias.dim'"

# Weight of each chosen term by paper and term; the term "" is the whole paper.
Addends = dict[str, dict[str, float]]
Options = dict[str, dict[str, object]]


def parse_sum(name: str) -> Addends:
    """Read a sum.

    Args:
        name: addends joined by ``+``, each ``paper``, ``paper.term``, ``weight*paper`` or
            ``weight*paper.term``. A paper is a name of the registry or ``my_module:MyLoss``.

    Raises:
        ValueError: an addend cannot be read, a weight is not positive, or something is named twice.

    Example:
        >>> parse_sum("ditm+0.5*dias.dim+dias.inter")
        {'ditm': {'': 1.0}, 'dias': {'dim': 0.5, 'inter': 1.0}}
    """
    out: Addends = {}
    for text in name.split("+"):
        if (found := ADDEND.fullmatch(text.strip())) is None:
            raise ValueError(f"objective {name!r}: cannot read {text!r}; {EXAMPLE}")
        terms, term = out.setdefault(found["paper"], {}), found["term"] or ""
        require(
            term not in terms and not (terms and "" in {term, *terms}),
            f"objective {name!r}: {text.strip()!r} is named twice; "
            f"name each term once, with its whole weight",
        )
        terms[term] = _parse_weight(name, found["weight"])
    return out


def _parse_weight(name: str, text: str | None) -> float:
    try:
        weight = 1.0 if text is None else float(text)
    except ValueError:
        raise ValueError(f"objective {name!r}: {text!r} is no weight; {EXAMPLE}") from None
    require(0 < weight < math.inf, f"objective {name!r}: the weight {text} must be greater than 0 and finite")
    return weight


def options_of(
    name: str, options: Mapping[str, Any], takes: Callable[[str], Iterable[str]]
) -> dict[str, dict[str, Any]]:
    """Return the options of each paper of a sum.

    Args:
        name: the sum.
        options: by paper.
        takes: gives the names of the options that a paper takes.

    Raises:
        TypeError: options of a paper that is not in the sum, or options without a paper.
    """
    addends = parse_sum(name)
    for paper, values in options.items():
        if paper not in addends:
            raise TypeError(f"objective {name!r} has no option {paper!r}; {_spelling(paper, addends, takes)}")
        require(
            isinstance(values, Mapping),
            f"objective {name!r}: objective.{paper} is {values!r:.200}; write objective.{paper}.OPTION",
            TypeError,
        )
    return {paper: dict(options.get(paper, {})) for paper in addends}


def _spelling(option: str, addends: Addends, takes: Callable[[str], Iterable[str]]) -> str:
    """Describe how an option that stands by no paper of a sum is written."""
    papers = [paper for paper in addends if option in takes(paper)]
    if papers:
        paths = [f"objective.{paper}.{option}" for paper in papers]
        return f"write {' or '.join(paths)}"
    near = did_you_mean(option, list(addends), f"it is a sum of {', '.join(addends)}")
    return f"{near}; an option of a sum is written by its paper, objective.{next(iter(addends))}.OPTION"


class Sum(Objective):
    """Terms of several objectives, each times its weight; the keys are ``paper.term``.

    A batch must hold what any of them needs. Every paper computes its terms as it does alone, on its own
    scores; the scores of evaluation are those of the first paper, and so is the recipe.

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
                known = papers[paper].terms
                require(
                    term in ("", *known),
                    f"objective {paper!r} has no term {term!r}; {did_you_mean(term, list(known))}",
                    KeyError,
                )
                self.weights |= {f"{paper}.{name}": weight for name in known if term in ("", name)}
        self.terms = tuple(self.weights)
        self.select(self.terms)

    @property
    def first(self) -> Objective:
        """The paper whose scores are those of evaluation."""
        return next(iter(self.by_name.values()))

    def declare(self) -> None:
        """Compute the chosen terms of each paper, and need what they need."""
        papers = list(self.by_name.values())
        for name, paper in self.by_name.items():
            paper.select(term for term in paper.terms if self.wants(f"{name}.{term}"))
        inputs = chain.from_iterable(paper.inputs for paper in papers)
        needs = chain.from_iterable(paper.needs for paper in papers)
        self.inputs, self.needs = tuple(dict.fromkeys(inputs)), tuple(dict.fromkeys(needs))
        self.captions_per_image = max(paper.captions_per_image for paper in papers)
        wanted = max(self.captions_per_image, self.first.recipe.get("captions_per_image", 0))
        self.recipe = {**self.first.recipe, **({"captions_per_image": wanted} if wanted > 1 else {})}
        self.reads_negatives = any(paper.reads_negatives for paper in papers)
        self.soft_labels = all(paper.soft_labels for paper in papers)
        self.scores_parts, self.calibrates = self.first.scores_parts, self.first.calibrates
        shares = {name: paper.momentum for name, paper in self.by_name.items() if paper.momentum}
        require(
            len(set(shares.values())) <= 1,
            f"objective {self.name!r}: there is one momentum copy, and {shares} ask for different ones",
        )
        self.momentum = max(shares.values(), default=0.0)
        self.text_features()
        self.relevance_sources()

    def text_features(self) -> Options:
        """Return the signals of all papers."""
        return self._unite_options(
            "signal", {name: paper.text_features() for name, paper in self.by_name.items()}
        )

    def relevance_sources(self) -> Options:
        """Return the relevances of all papers."""
        return self._unite_options(
            "relevance", {name: paper.relevance_sources() for name, paper in self.by_name.items()}
        )

    def _unite_options(self, kind: str, asked: Mapping[str, Options]) -> Options:
        out: Options = {}
        for paper, wanted in asked.items():
            for name, options in wanted.items():
                require(
                    out.setdefault(name, options) == options,
                    f"objective {self.name!r}: {paper!r} reads the {kind} {name!r} with {options} "
                    f"and another paper with {out[name]}; "
                    f"a batch holds it once, so give both the same options",
                )
        return out

    def setup(self, embed_dim: int) -> None:
        """Make what depends on the width of the embeddings, in every paper."""
        for paper in self.by_name.values():
            paper.setup(embed_dim)

    def begin(self, logits: tuple[float, float] | None) -> None:
        """Let every paper begin from the scores that the weights were trained with."""
        for paper in self.by_name.values():
            paper.begin(logits)

    def warm_up(self, warming: bool) -> None:
        """Set for every paper whether training is in its warm-up epochs."""
        super().warm_up(warming)
        for paper in self.by_name.values():
            paper.warm_up(warming)

    def score_by(self, scorer: Form | Mapping[str, Any]) -> None:
        """Let the scores of every paper compare parts or entities."""
        for paper in self.by_name.values():
            paper.score_by(scorer)
        self.local_scorer = self.first.local_scorer
        self.declare()

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return the scores of the first paper."""
        return self.first.scores(image, text)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the chosen terms of all papers by ``paper.term``."""
        values: dict[str, Tensor] = {}
        for name, paper in self.by_name.items():
            if paper.selected:
                values |= {f"{name}.{term}": value for term, value in paper(image, text, batch).items()}
        return {term: weight * values[term] for term, weight in self.weights.items() if self.wants(term)}

    def calibrate(self, image: Embedding, text: Embedding, quality: Callable[[Tensor], float]) -> None:
        """Let the first paper choose what evaluation uses."""
        self.first.calibrate(image, text, quality)

    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Update the memory of every paper."""
        for paper in self.by_name.values():
            paper.after_step(image, text, batch)
