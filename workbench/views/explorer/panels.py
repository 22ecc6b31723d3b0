"""Panels: what packages add to the explorer next to its answers.

A panel is a class of Python and a script of the same name, with a stylesheet if it needs one. It is found by
an entry point of the group ``workbench.panels``, or named in ``Explorer(runs, panels=[MyPanel])``. The
script's default export is a class: ``new MyPanel(view)`` has the element ``box``, and ``draw(data, answer)``
fills it with what ``Panel.answer`` returned. ``PanelScript`` in ``types.d.ts`` is all that it may have.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from workbench.io import validate
from workbench.records import require
from workbench.registry import require_known
from workbench.views.explorer.questions import Question
from workbench.views.pages import join_scripts

GROUP = "workbench.panels"


class Panel:
    """A part of the explorer that a package adds.

    Args:
        engine: the explorer's ``Engine``, which answers for its runs; a panel that needs scores, vectors or
            the data asks it.

    Attributes:
        name: by which questions and answers name it: letters, digits and ``_``.
        title: what the page writes above it.
        encodes: whether it embeds texts of its own, so that vectors without their model have no part in it.
        reads: whether it shows how typed words are read, which is then said with the answer.
        Settings: the type of what its script sends along with a question; pydantic reads it.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    encodes: ClassVar[bool] = False
    reads: ClassVar[bool] = False
    Settings: ClassVar[Any] = dict[str, Any]

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def reword(self, question: Question, settings: Any) -> Question:
        """Return the question that is asked and graded in the place of this one."""
        return question

    def move(self, question: Question, settings: Any) -> Question:
        """Return the question whose vectors are scored in the place of this one; its grades stay."""
        return question

    def answer(self, question: Question, settings: Any, watched: int | None) -> Mapping[str, Any]:
        """Return what the script draws, as JSON values; asked for while the panel is open.

        Args:
            question: as it came from the page, not reworded.
            settings: what the script sent along; ``None`` = nothing.
            watched: row of the item that the page speaks of; ``None`` = none.

        Returns:
            Anything by name. Under ``thumbnails`` stand rows of images, as texts, whose thumbnails the script
            shows.
        """
        return {}

    @classmethod
    def read(cls, settings: Any) -> Any:
        """Return the settings that a page sent, as ``Settings`` has them.

        Raises:
            ValueError: they are of another form.
        """
        return validate(settings, cls.Settings, f"panel {cls.name}", "has other settings")

    @classmethod
    def file(cls, ending: str) -> Path:
        """Return where the script (``.js``) or stylesheet (``.css``) is: next to the file of the class.

        Raises:
            ValueError: the class is in no file, e.g. since it was defined in a cell of a notebook.
        """
        home = getattr(sys.modules.get(cls.__module__), "__file__", None)
        require(home, f"panel {cls.name} is not defined in a file, next to which its script would be")
        return Path(str(home)).with_suffix(ending)


@cache
def installed_panels() -> tuple[type[Panel], ...]:
    """Return the panels of installed packages, by name."""
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(entry.load() for entry in entries if find_spec(entry.module.partition(".")[0]))


def panels_by_name(panels: Iterable[type[Panel]] = ()) -> dict[str, type[Panel]]:
    """Return the panels of installed packages and these, by name.

    Raises:
        TypeError: one is no ``Panel``.
        ValueError: one has no usable name, two have the same one, or a script is missing.
    """
    named: dict[str, type[Panel]] = {}
    for panel in (*installed_panels(), *panels):
        is_panel = isinstance(panel, type) and issubclass(panel, Panel)
        require(is_panel, f"{panel!r} is no class derived from Panel", TypeError)
        require(panel.name.isidentifier(), f"{panel.__name__} needs a name of letters, digits and _")
        same = named.get(panel.name, panel)
        require(same is panel, f"two panels are called {panel.name}: {same.__name__} and {panel.__name__}")
        script = panel.file(".js")
        require(script.is_file(), f"panel {panel.name} lacks its script {script.name}, next to its class")
        named[panel.name] = panel
    return named


def require_panels(names: Iterable[str], panels: Mapping[str, object]) -> None:
    """Raise if a question names a panel that is not there."""
    for name in names:
        require_known("no panel", name, panels, ValueError, "; its package may not be installed")


def panel_scripts(panels: Iterable[type[Panel]]) -> str:
    """Return the scripts of panels, each closed in itself, as entries of ``PANELS``."""
    return "\n".join(map(_script, panels))


def _script(panel: type[Panel]) -> str:
    file = panel.file(".js")
    text = join_scripts(file.parent, [file.name])
    require("export default " in text, f"panel {panel.name}: {file.name} has no default export")
    return f"(() => {{\n{text.replace('export default ', f'PANELS.{panel.name} = ')}\n}})();"


def panel_styles(panels: Iterable[type[Panel]]) -> str:
    """Return the stylesheets of the panels that have one."""
    files = [panel.file(".css") for panel in panels]
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.is_file())


def thumbnail_keys(answers: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    """Return the keys of the thumbnails that panels show."""
    keys: list[str] = []
    for data in answers.values():
        keys += data.get("thumbnails", ())
    return keys
