"""The house rules that a machine can check: floors, sizes, types, words that must not occur."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from statistics import median

import pytest

from workbench import objectives

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "workbench"
FILES = sorted(PACKAGE.rglob("*.py"))
ANNEXES = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
# all that a wheel holds
SHIPPED = FILES + sorted(
    path for path in (ROOT / "packages").rglob("*.py") if "tests" not in path.relative_to(ROOT).parts
)
SHELVES = ("data", "text", "encoders", "metrics")
FLOORS = {
    "cli": 6, "__main__": 6, "tour": 6, "views": 6,
    "claims": 5, "execution": 5, "runs": 5,
    "training": 4, "objectives": 3,
    "data": 2, "text": 2, "encoders": 2, "metrics": 2,
    "io": 0, "devices": 0, "progress": 0, "formatting": 0, "english": 0,
    "losses": 1, "registry": 0, "assets": 1, "records": 1, "": 6,
}  # fmt: skip
ENTRIES = 20
LONG_FILES: dict[str, str] = {}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "packages" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    """Dotted names of our own modules that a file imports, wherever in the file."""
    known = {name_of(file) for file in FILES}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "workbench")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "workbench":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def imported(files: list[Path]) -> set[tuple[str, str]]:
    """Pairs of a file's name and the top-level package that it imports."""
    return {
        (name_of(file), name.split(".")[0])
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip


def test_nothing_that_ships_imports_the_tools_or_the_tests():
    assert {pair for pair in imported(SHIPPED) if pair[1] in ("tools", "tests")} == set()


def test_the_library_imports_no_annex():
    assert {pair for pair in imported(FILES) if pair[1] in ANNEXES} == set()


def area(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


EDGES = [(name_of(file), target) for file in FILES for target in imports_of(file)]


def test_every_area_has_a_floor():
    assert {area(name_of(file)) for file in FILES} <= set(FLOORS)


def test_the_house_has_few_rooms():
    rooms = [
        path.name for path in PACKAGE.iterdir() if not path.name.startswith("__") and path.name != "py.typed"
    ]
    assert len(rooms) <= ENTRIES, sorted(rooms)


def test_imports_run_down_the_floors():
    up = [(a, b) for a, b in EDGES if FLOORS[area(a)] < FLOORS[area(b)]]
    assert up == []


def test_the_first_floor_imports_nothing_but_plumbing():
    bad = [(a, b) for a, b in EDGES if FLOORS[area(a)] <= 1 and area(a) != area(b) and FLOORS[area(b)] > 0]
    assert bad == []


def test_sibling_shelves_do_not_import_each_other():
    bad = [(a, b) for a, b in EDGES if area(a) in SHELVES and area(b) in SHELVES and area(a) != area(b)]
    assert bad == []


def private_from_outside(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Imports of a module with an underscore by a module of another folder."""
    bad = []
    for importer, target in edges:
        parts = target.split(".")
        hidden = next(
            (n for n, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None
        )
        if hidden is not None and not f"{importer}.".startswith(".".join(parts[:hidden]) + "."):
            bad.append((importer, target))
    return bad


def test_plumbing_is_imported_by_its_own_package_alone():
    assert private_from_outside(EDGES) == []
    assert private_from_outside([("a.b", "a._c"), ("a.b.d", "a._c")]) == []
    assert private_from_outside([("a.e", "a.b._c")]) == [("a.e", "a.b._c")]


def test_papers_do_not_import_each_other():
    papers = {f"workbench.objectives.{name}" for name in objectives.names()}
    assert [(a, b) for a, b in EDGES if {a, b} <= papers] == []


def test_there_is_no_import_circle():
    graph = {name_of(file): {b for a, b in EDGES if a == name_of(file)} for file in FILES}
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        assert node not in path, f"circle: {' -> '.join((*path, node))}"
        if node not in done:
            for target in sorted(graph.get(node, ())):
                visit(target, (*path, node))
            done.add(node)

    for node in graph:
        visit(node, ())


def test_files_and_functions_are_short():
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in SHIPPED}
    assert {name: n for name, n in lengths.items() if n > 500 and name not in LONG_FILES} == {}
    long = {f"{name_of(file)}.{f.name}": size(f) for file in SHIPPED for f in functions(file) if size(f) > 40}
    assert long == {}
    assert median(size(f) for file in SHIPPED for f in functions(file)) <= 10


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


def size(function: ast.FunctionDef) -> int:
    """Lines of code: from the signature to the last statement, the docstring not counted."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def public(path: Path) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from (f for f in node.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("_"))


@pytest.mark.parametrize("path", SHIPPED, ids=name_of)
def test_everything_public_is_documented_and_typed(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text())), "no module docstring"
    for node in public(path):
        assert ast.get_docstring(node), f"{node.name} has no docstring"
        if isinstance(node, ast.FunctionDef):
            arguments = [
                a
                for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if a.arg not in ("self", "cls")
            ]
            assert all(a.annotation for a in arguments), f"{node.name}: an argument has no type"
            assert node.returns, f"{node.name} has no return type"


def test_no_two_files_share_six_lines():
    """Six or more identical lines in a row are one thing written twice."""
    runs: dict[str, set[tuple[str, ...]]] = {}
    for file in SHIPPED:
        text = file.read_text()
        imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
        skipped = {row for node in imports for row in range(node.lineno, (node.end_lineno or 0) + 1)}
        lines = [line.strip() for row, line in enumerate(text.splitlines(), 1) if row not in skipped]
        lines = [line for line in lines if line and not line.startswith(("#", "import ", "from "))]
        runs[name_of(file)] = {tuple(lines[i : i + 6]) for i in range(len(lines) - 5)}
    twice = {(a, b): next(iter(runs[a] & runs[b])) for a, b in combinations(runs, 2) if runs[a] & runs[b]}
    assert twice == {}


FORBIDDEN = {
    "Image.open(": {"workbench.data.images"},
    "torch.manual_seed(": {"workbench.training.settings"},
    ".cuda()": set(),
    ".data = ": set(),
    "TODO": set(),
    "FIXME": set(),
}


@pytest.mark.parametrize("words", FORBIDDEN)
def test_words_that_must_not_occur(words: str):
    found = {name_of(file) for file in SHIPPED if words in file.read_text()}
    assert found == FORBIDDEN[words]


def test_nothing_prints_but_the_command_line():
    calls = [
        name_of(file)
        for file in SHIPPED
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert set(calls) <= {"workbench.cli"}


def test_no_tracked_file_holds_an_absolute_path_of_a_machine():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    texts = [
        ROOT / name
        for name in tracked
        if name.endswith((".py", ".md", ".ipynb", ".json", ".toml", ".yml", ".yaml", "run"))
    ]
    places = ("/" + "work/", "/" + "farm/", "/" + "root/", "/" + "home/")
    assert [
        str(path) for path in texts if path.exists() and any(place in path.read_text() for place in places)
    ] == []


@pytest.mark.parametrize(
    ("module", "heavy"), [("workbench", "numpy"), ("workbench.cli", "torch"), ("workbench.cli", "pandas")]
)
def test_importing_the_package_loads_nothing_heavy(module, heavy):
    code = f"import sys, {module}; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# br, b, i and extra are left out: plotly reads them in labels and hover boxes
ELEMENT = re.compile(
    r"</?(a|article|aside|body|button|caption|code|details|div|em|fig\w+|footer|form|h\d|head|header|html|img|"
    r"input|label|li|link|main|meta|ol|option|p|pre|q|script|section|select|small|span|strong|style|summary|svg|"
    r"table|tbody|td|th|thead|title|tr|ul)\b[^<>]*>?"
)


def test_html_is_written_in_templates_alone():
    found = []
    for file in SHIPPED:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        marked = [node for node in texts if id(node) not in prose and ELEMENT.search(node.value)]
        found += [f"{name_of(file)}:{node.lineno}: {node.value[:60]}" for node in marked]
    assert found == []


KEY = re.compile(r"\b[it]2[it]/")
FORMATTED = re.compile(r"^[+]?(,|,?[\d.]*[feg%])$")


def specs(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of every format of an f-string that is written for a number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            parts = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
            text = "".join(part.value if isinstance(part, ast.Constant) else "1" for part in parts)
            if FORMATTED.match(text):
                yield node.lineno, text


def test_a_number_is_formatted_in_one_place():
    texts = {name_of(file): file.read_text() for file in SHIPPED}
    for book in (PACKAGE.parent / "notebooks").glob("*.ipynb"):
        cells = [cell for cell in json.loads(book.read_text())["cells"] if cell["cell_type"] == "code"]
        texts |= {f"{book.stem}, cell {i}": "".join(cell["source"]) for i, cell in enumerate(cells)}
    found = [(name, *spec) for name, text in texts.items() for spec in specs(ast.parse(text))]
    assert [one for one in found if one[0] != "workbench.formatting"] == []


def test_a_key_is_written_and_read_in_one_place():
    """A text with a direction, apart from docstrings, stands in no other file than that of ``MetricKey``."""
    found = []
    for file in SHIPPED:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        composed = [node for node in texts if id(node) not in prose and KEY.search(node.value)]
        found += [f"{name_of(file)}:{node.lineno}: {node.value[:60]}" for node in composed]
    assert [one for one in found if not one.startswith("workbench.records.metric_key:")] == []
