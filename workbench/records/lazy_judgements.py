"""Judgements that cost something to make, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.records._checks import Rows, require
from workbench.records.judgements import Judgements


class LazyJudgements(Mapping[str, Judgements]):
    """Judgements by name, each made at its first use and then kept.

    Args:
        shape: ``(I, T)`` of the split that is judged; checked when a judgement is made.
        makers: how to make each.
    """

    def __init__(self, shape: tuple[int, int], makers: Mapping[str, Callable[[], Judgements]]) -> None:
        self.shape = shape
        self._makers, self._made = dict(makers), dict[str, Judgements]()

    def __getitem__(self, name: str) -> Judgements:
        if name not in self._made:
            made = self._makers[name]()
            require(made.shape == self.shape, f"judgements {name!r} have shape {made.shape}, expected {self.shape}")
            self._made[name] = made
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def cut(self, images: int, captions: Rows) -> LazyJudgements:
        """The judgements of the first ``images`` images and these caption rows, still lazy."""
        makers = {name: lambda name=name: self[name].cut(images, captions) for name in self}
        return LazyJudgements((images, len(captions)), makers)
