"""Judgements that cost something to make, made when they are asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from workbench.records._checks import Array, Rows, require
from workbench.records.judgements import Judgements

Taker = Callable[[Rows, Rows], Array]


@dataclass(frozen=True)
class Computed:
    """Grades that are computed for the images and captions that are asked for, see ``Graded``."""

    name: str
    shape: tuple[int, int]
    taker: Taker
    relevant_from: float = 1.0

    def take(self, images: Rows, captions: Rows) -> Array:
        """``(n, m)`` grades of these image rows and caption rows."""
        return self.taker(images, captions)


class LazyJudgements(Mapping[str, Judgements]):
    """Judgements by name, each made at its first use and then kept.

    Args:
        shape: ``(I, T)`` of the split that is judged; checked when a judgement is made.
        makers: how to make each.
        takers: how to grade some pairs without making the whole, which a large training split has no memory
            for.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        makers: Mapping[str, Callable[[], Judgements]],
        takers: Mapping[str, Taker] | None = None,
    ) -> None:
        self.shape = shape
        self._makers, self._takers, self._made = dict(makers), dict(takers or {}), dict[str, Judgements]()

    def __getitem__(self, name: str) -> Judgements:
        if name not in self._made:
            made = self._makers[name]()
            require(
                made.shape == self.shape,
                f"judgements {name!r} have shape {made.shape}, expected {self.shape}",
            )
            self._made[name] = made
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def relevance(self, name: str) -> Judgements | Computed:
        """What grades a training batch: pair by pair where that is possible, else the whole judgements."""
        taker = self._takers.get(name)
        return self[name] if taker is None or name in self._made else Computed(name, self.shape, taker)

    def cut(self, images: int, captions: Rows) -> "LazyJudgements":
        """The judgements of the first ``images`` images and these caption rows, still lazy."""
        makers = {name: lambda name=name: self[name].cut(images, captions) for name in self}
        takers = {name: lambda i, t, take=take: take(i, captions[t]) for name, take in self._takers.items()}
        return LazyJudgements((images, len(captions)), makers, takers)
