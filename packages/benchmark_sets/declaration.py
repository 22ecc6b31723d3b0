"""What a benchmark declares: one YAML file of ``sets/`` a benchmark, which is also how it is read."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, field_validator

from workbench.io import parse_yaml, read_text, validate
from workbench.registry import require, require_known

FOLDER = Path(__file__).parent / "sets"
COMPARISON = re.compile(r"([ic]\d+) ([ic]\d+) > ([ic]\d+) ([ic](?:\d+|\*))")
# what a pair of an example is: an image and a caption, or two captions, by their places
Place = tuple[str, int]


class Pair(NamedTuple):
    """A pair of an example that a score compares: places of an image and a caption, or of two captions.

    Args:
        first: ``("i", 0)`` or ``("c", 0)``.
        second: a caption; the place -1 stands for every other caption of the example.
    """

    first: Place
    second: Place


class Strict(BaseModel):
    """A part of a declaration; a name that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Only(Strict):
    """Which rows count: those whose ``value`` is at least this, or is equal to this text."""

    value: str
    at_least: float | None = None
    equal: str | None = None


class Rows(Strict):
    """How rows of files become examples. Texts in braces are columns, see ``reading.fill``.

    Args:
        files: names below the root, ``*`` for any letters; each may also lie in a folder below the root.
        form: ``"rows"``: lists, objects and lines of rows. ``"pairs"``: two rows that follow each other are
            one, called ``first`` and ``second``. ``"objects"``: a file is a row. ``"texts"``: a text file is
            a row with ``stem``, ``text`` and its first ``line``. ``"lines"``: files whose lines belong
            together are columns; they may be packed by gzip. ``"tokens"``: lines
            ``image#number<TAB>caption``. ``"orders"``: captions with shuffled ones.
        images: file of each image of an example, below the folder of the images.
        captions: texts of an example; a column with a list gives several.
        kind: of an example; empty = all are of one kind.
        only: which rows count.
        crop: left, top, width and height of the part of the photograph that is the image.
        first: so many rows are read; 0 = all.
        id: of the image, where it has another name than its file.
    """

    files: tuple[str, ...]
    form: Literal["rows", "pairs", "objects", "texts", "lines", "tokens", "orders"] = "rows"
    images: tuple[str, ...]
    captions: tuple[str, ...]
    kind: str = ""
    only: Only | None = None
    crop: tuple[str, str, str, str] | tuple[()] = ()
    first: int = 0
    id: str = ""


class Declaration(Strict):
    """A benchmark: where its files are, what they hold, by what it is measured, and what is known of it.

    Args:
        name: by which it is loaded; it is also the name of its folder.
        title: as its paper calls it.
        task: ``"comparisons"`` of scores, or ``"retrieval"``.
        licence: of files and images, in words.
        url: where its files are.
        images_url: where its images are, if that is another place.
        citation: of its paper.
        images: folder of the images below the root.
        rows: how files are read.
        unit: what a resample draws as a whole: ``"examples"``, or ``"photographs"`` with all their examples.
        scores: by name, the comparisons that decide it: ``"i0 c0 > i0 c1"`` says that the first image scores
            higher with the first caption than with the second; ``c*`` are all others.
        chance: of each score, as it is printed, in percent.
        without_kind: kinds that the mean of kinds leaves out.
        least_of_kind: the mean of kinds leaves out kinds with fewer examples.
        languages: of the captions, where a language has to be chosen.
        long_texts: whether captions are longer than many models read.
        bias: what is known to be wrong with it, in a sentence or two.
        reading: what is read otherwise than the authors do, in a sentence; empty = nothing.
        checked: address of the reader or the file by which columns and metric were checked.
        frozen: ids and checksums of a set of one's own, see ``workbench.data.cards``; empty = none.
    """

    name: str
    title: str
    task: Literal["comparisons", "retrieval"]
    licence: str
    url: str
    images_url: str = ""
    citation: str
    images: str = "images"
    rows: Rows
    unit: Literal["examples", "photographs"] = "photographs"
    scores: dict[str, tuple[str, ...]] = {}
    chance: dict[str, float] = {}
    without_kind: tuple[str, ...] = ()
    least_of_kind: int = 0
    languages: tuple[str, ...] = ()
    long_texts: bool = False
    bias: str
    reading: str = ""
    checked: str = ""
    frozen: str = ""

    @field_validator("scores")
    @classmethod
    def _comparisons_can_be_read(cls, scores: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, comparisons in scores.items():
            for text in comparisons:
                require(COMPARISON.fullmatch(text), f"{name}: {text!r} is not like 'i0 c0 > i0 c1'")
        return scores

    @property
    def about(self) -> str:
        """What the benchmark is, in paragraphs."""
        scores = f"measured by {', '.join(self.scores)}" if self.scores else "measured by retrieval"
        reading = f" {self.reading}" if self.reading else ""
        facts = f"Licence: {self.licence}. From {self.url}. {self.citation}."
        return f"{self.title}, {scores}.\n\n{' '.join(self.bias.split())}{reading}\n\n{facts}"

    @property
    def remedy(self) -> str:
        """What to download, as a sentence."""
        files = ", ".join(self.rows.files).replace("<language>", "LANGUAGE")
        place = f", {self.images_url}" if self.images_url else ""
        return f"Get {files} from {self.url} and the images into {self.images}/{place}"

    def comparisons(self, score: str) -> list[tuple[Pair, Pair]]:
        """Return the pairs that a score compares, the higher one first."""
        pairs = []
        for text in self.scores[score]:
            match = COMPARISON.fullmatch(text)
            places = [_place(word) for word in match.groups()] if match else []
            pairs.append((Pair(*places[:2]), Pair(*places[2:])))
        return pairs


def _place(word: str) -> Place:
    return word[0], -1 if word[1:] == "*" else int(word[1:])


def names() -> list[str]:
    """List the benchmarks."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


@cache
def declaration(name: str) -> Declaration:
    """Read the declaration of a benchmark.

    Raises:
        KeyError: there is none of this name; the message lists the near ones.
        ValueError: the file is no declaration.
    """
    require_known("no benchmark", name, names())
    read = read_declaration(FOLDER / f"{name}.yaml")
    require(read.name == name, f"{name}.yaml declares {read.name!r}")
    return read


def read_declaration(file: Path) -> Declaration:
    """Read a declaration.

    Raises:
        ValueError: the file is none; the message names what is wrong.
    """
    content: Any = parse_yaml(read_text(file), file.name)
    read: Declaration = validate(content, Declaration, file.name, "is no declaration")
    return read
