"""Panels come from packages: with none the explorer works, and each is closed in itself."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from tests.views.explorer.toys import toy_spaces
from workbench import text
from workbench.views.explorer import Explorer, Panel, Question, Term, panels

PYTHON = """
from dataclasses import dataclass, replace
from workbench.views.explorer import Panel, Term

@dataclass(frozen=True)
class Loud:
    loud: bool = False

class {name}(Panel):
    name = "{name}"
    title = "A panel"
    Settings = Loud

    def reword(self, question, settings):
        terms = (Term("text", question.words.upper()),)
        return replace(question, terms=terms) if settings.loud else question

    def answer(self, question, settings, watched):
        return {{"watched": watched, "thumbnails": ["7"]}}
"""
TYPED = (Term("text", "a red bus"),)


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a panel to a file with a script, and import it."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(name="shout", script="export default class Own {}"):
        module = f"panel_{name}"
        (tmp_path / f"{module}.py").write_text(PYTHON.format(name=name))
        if script:
            (tmp_path / f"{module}.js").write_text(script)
        monkeypatch.delitem(sys.modules, module, raising=False)
        return getattr(importlib.import_module(module), name)

    return made


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch):
    """As where no package with a panel or a parser is installed."""
    panels.installed_panels.cache_clear()
    monkeypatch.setattr(panels, "find_spec", lambda name: None)
    monkeypatch.setattr(text, "names", lambda: ["tokens"])
    yield
    panels.installed_panels.cache_clear()


def test_without_packages_the_explorer_answers_and_has_no_panel(no_packages, tmp_path: Path):
    explorer = Explorer(toy_spaces(12), k=4)
    assert explorer.config["panels"] == []
    answer = explorer.ask(Question((Term("text", "a gren elefant"),), k=4))
    assert len(answer.columns[0]) == 4
    assert answer.unusual == {}
    assert "Read as" not in answer.truth
    with pytest.raises(ValueError, match="no panel 'graph'"):
        explorer.ask(Question(TYPED, shown=frozenset({"graph"})))
    assert "a cat" in explorer.to_html(tmp_path / "page.html", questions=["a cat"]).read_text("utf-8")


def test_the_panels_of_the_package_of_scene_graphs_are_found():
    assert [panel.name for panel in panels.installed_panels()] == ["graph", "slices", "way", "words"]


def test_a_panel_rewords_a_question_and_adds_to_its_answer(make):
    explorer = Explorer(toy_spaces(12), k=4, panels=[make()])
    asked = Question(TYPED, settings={"shout": {"loud": True}}, shown=frozenset({"shout"}))
    answer = explorer.ask(asked)
    assert answer.query.text == "A RED BUS"
    assert answer.panels["shout"]["watched"] == answer.watched
    assert "7" in answer.keys
    assert json.loads(json.dumps(answer.as_dict()))["panels"]["shout"]["thumbnails"] == ["7"]
    assert explorer.ask(Question(TYPED, settings={"shout": {}})).query.text == "a red bus"


@pytest.mark.parametrize("settings", [{"loud": "very"}, {"loud": {}}, 3])
def test_what_a_page_has_set_is_checked_by_the_panel(make, settings):
    explorer = Explorer(toy_spaces(12), panels=[make()])
    with pytest.raises(ValueError, match="shout"):
        explorer.ask(Question(TYPED, settings={"shout": settings}))


def test_scripts_of_panels_are_closed_in_themselves(make):
    script = 'import { h } from "workbench";\nconst LOCAL = 1;\nexport default class Own {}\n'
    joined = panels.panel_scripts([make("one", script), make("two", script)])
    assert joined.count("(() => {") == 2
    assert "import" not in joined
    assert "PANELS.one = class Own {}" in joined


def test_a_panel_that_cannot_be_shown_is_refused(make):
    runs = toy_spaces(12)
    with pytest.raises(ValueError, match=r"panel_lost\.js"):
        Explorer(runs, panels=[make("lost", "")])
    with pytest.raises(ValueError, match="no default export"):
        Explorer(runs, panels=[make("mute", "class Own {}")])
    with pytest.raises(TypeError, match="Panel"):
        Explorer(runs, panels=[dict])
    with pytest.raises(ValueError, match="words"):
        Explorer(runs, panels=[make("words")])
    nameless = type("Nameless", (Panel,), {"name": "a b"})
    with pytest.raises(ValueError, match="Nameless"):
        Explorer(runs, panels=[nameless])
