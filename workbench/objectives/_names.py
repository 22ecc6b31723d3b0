"""How a sum of several papers is written: ``"ditm+0.5*dias.dim"``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from workbench.registry import did_you_mean

ADDEND = re.compile(r"(?:(?P<weight>[^*]*)\*\s*)?(?P<paper>(?:[^\W\d][\w.]*:)?\w+)(?:\.(?P<term>\w+))?")
EXAMPLE = "write a sum as 'ditm+0.5*dias.dim'"

# Weight of each chosen term by paper and term; the term "" is the whole paper.
Addends = dict[str, dict[str, float]]


def is_sum(name: str) -> bool:
    """Whether a name is more than the name of one objective."""
    return "+" in name or "*" in name or "." in name.rpartition(":")[2]


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
