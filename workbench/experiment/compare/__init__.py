"""Several open runs on the same queries: numbers, paired tests, queries that differ, the papers' rows, what
runs cost.
"""

from workbench.experiment.compare import speed
from workbench.experiment.compare.numbers import default_keys, measured, per_query, table
from workbench.experiment.compare.printed import beside_printed
from workbench.experiment.compare.queries import chosen, grader, noisy, ranks

__all__ = [
    "beside_printed",
    "chosen",
    "default_keys",
    "grader",
    "measured",
    "noisy",
    "per_query",
    "ranks",
    "speed",
    "table",
]
