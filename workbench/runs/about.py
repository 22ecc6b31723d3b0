"""What a user says of a run: its name, tags and a note, in ``about.json`` of its folder.

None of it decides a number. It counts into no run id, and may be changed after the run has ended.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.io import parse_json, reading_errors, write_json
from workbench.records import require

ABOUT = "about.json"
# characters of a name or a tag, and what neither can begin with
LONGEST, BEGINNINGS = 80, ("-", ".", "~")
# names that stand for something else
RESERVED = ("last",)


@dataclass(frozen=True)
class About:
    """Name, tags and note of a run.

    Args:
        name: how tables call the run, and by which commands find it; empty = none.
        tags: words by which lists are filtered.
        note: any text.

    Raises:
        TypeError: a value of another type.
        ValueError: a name that no folder could have, or a tag that is not one word; the message says why.

    >>> About("clip").merge(About(tags=["thesis"]))
    About(name='clip', tags=('thesis',), note='')
    """

    name: str = ""
    tags: Sequence[str] = ()
    note: str = ""

    def __post_init__(self) -> None:
        texts = {"name": self.name, "note": self.note}
        for what, text in texts.items():
            require(isinstance(text, str), f"the {what} of a run is {text!r:.200}; give a text", TypeError)
        several = isinstance(self.tags, Sequence) and not isinstance(self.tags, str)
        require(several, f"tags are {self.tags!r:.200}; give a list of words", TypeError)
        if self.name:
            _check_text(self.name, "name")
            require(self.name not in RESERVED, f"the name {self.name!r} means the latest run; choose another")
        for tag in self.tags:
            require(isinstance(tag, str), f"the tag {tag!r:.200} is no text; give a word", TypeError)
            _check_text(tag, "tag")
            require(not {" ", ","} & set(tag), f"the tag {tag!r} is more than one word; give each by itself")
        object.__setattr__(self, "tags", tuple(dict.fromkeys(self.tags)))

    def __bool__(self) -> bool:
        """Return whether there is a name, a tag or a note."""
        return bool(self.name or self.tags or self.note)

    def merge(self, other: "About") -> "About":
        """Take the name and the note of another where it has them, and its tags as well."""
        return About(other.name or self.name, (*self.tags, *other.tags), other.note or self.note)

    def has_all_tags(self, tags: Sequence[str]) -> bool:
        """Return whether the run has all of these tags."""
        return set(tags) <= set(self.tags)

    def lines(self) -> list[str]:
        """Return what there is as texts: tags, and the note."""
        return list(filter(None, [" ".join(f"#{tag}" for tag in self.tags), self.note]))


def _check_text(text: str, what: str) -> None:
    """Raise if a text cannot be the name of a folder."""
    bad = [letter for letter in text if letter in "/\\" or not letter.isprintable()]
    require(not bad, f"the {what} {text!r:.200} holds {bad[:1]}; leave it out")
    require(
        text.strip() == text and text and not text.startswith(BEGINNINGS),
        f"the {what} {text!r:.200} is empty, begins with - . ~, or begins or ends with a blank",
    )
    require(
        len(text) <= LONGEST, f"the {what} {text!r:.40}... has {len(text)} letters; {LONGEST} are the most"
    )


def read_about(folder: Path) -> About:
    """Read what is said of a run; nothing where there is no file.

    Args:
        folder: of the run.

    Raises:
        ValueError: the file is damaged; the message names it.
    """
    file = folder / ABOUT
    if not file.is_file():
        return About()
    with reading_errors(file, "cannot be read", TypeError):
        return About(**parse_json(file.read_text(encoding="utf-8"), str(file)))


def write_about(folder: Path, about: About) -> None:
    """Write what is said of a run, in place of what was said before.

    Args:
        folder: of the run.
        about: nothing leaves no file.
    """
    if about:
        write_json(folder / ABOUT, asdict(about))
    else:
        (folder / ABOUT).unlink(missing_ok=True)


def add_about(folder: Path, about: About) -> None:
    """Write what is said of a run over what was said before, and add to its tags.

    Args:
        folder: of the run.
        about: nothing changes nothing.
    """
    if about:
        write_about(folder, read_about(folder).merge(about))
