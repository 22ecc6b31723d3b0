"""Several open runs on the same queries: numbers, paired tests, queries that differ, the papers' rows, what runs cost."""

from workbench.compare import speed
from workbench.compare.numbers import default_keys, measured, per_query, table
from workbench.compare.printed import beside_printed
from workbench.compare.queries import chosen, grader, noisy, ranks

__all__ = ["beside_printed", "chosen", "default_keys", "grader", "measured", "noisy", "per_query", "ranks", "speed", "table"]
