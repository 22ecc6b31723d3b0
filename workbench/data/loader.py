"""What a data set says of itself before anything of it is read."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from workbench.records import Split
from workbench.registry import options_of

# options that draw a part of the training images
SHARE = ("share", "share_seed")


class Loader:
    """A function that loads one split, with what is known of its data set.

    Args:
        load: takes ``split`` and options, all by name; its annotations say what each may be.
        positives: judgements of the training split, for ``Config.positives``.
        unjudged: option -> value with which a split has the first of these alone.
        training: options that are about the training split alone; a run gives them to no other split.
        counts: images and captions of each split, where they are known.
        about: what the data set is, where its file does not say it, since it loads several.
        recognises: says whether a folder holds its files; a message then names the data set where the folder
            cannot be read otherwise. ``None`` = nobody knows.
    """

    def __init__(
        self,
        load: Callable[..., Split],
        *,
        positives: Sequence[str] = (),
        unjudged: Mapping[str, Any] = MappingProxyType({}),
        training: Sequence[str] = (),
        counts: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        about: str = "",
        recognises: Callable[[Path], bool] | None = None,
    ) -> None:
        self.load, self.about, self.recognises = load, about, recognises
        self.positives, self.training = tuple(positives), tuple(training)
        self.counts, self.unjudged = counts, unjudged
        update_wrapper(self, load)  # options and documentation are those of the function

    def __call__(self, *args: Any, **options: Any) -> Split:
        """Load one split; options as those of the function."""
        return self.load(*args, **options)

    def takes(self, option: str) -> bool:
        """Return whether there is such an option."""
        return option in options_of(self.load)

    def judgements_with(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the judgements of a training split that is loaded with some options."""
        few = any(options.get(name) == value for name, value in self.unjudged.items())
        return self.positives[:1] if few else self.positives

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits; none where the function's annotation does not list them."""
        return get_args(get_type_hints(self.load).get("split"))


def loader(**facts: Any) -> Callable[[Callable[..., Split]], Loader]:
    """Make a ``Loader`` of the function below.

    Args:
        facts: as those of ``Loader``.
    """

    def decorate(load: Callable[..., Split]) -> Loader:
        return Loader(load, **facts)

    return decorate
