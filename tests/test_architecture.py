"""Rules that neither ruff nor mypy checks: imports (by import-linter), sizes, each format in one place."""

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

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "workbench"
FILES = sorted(PACKAGE.rglob("*.py"))
ANNEXES = sorted(path.name for path in (ROOT / "packages").iterdir() if path.is_dir())
# all that a wheel holds
SHIPPED = FILES + sorted(
    path for path in (ROOT / "packages").rglob("*.py") if "tests" not in path.relative_to(ROOT).parts
)
ENTRIES = 20
LONG_FILES: dict[str, str] = {}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "packages" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_imports_keep_the_contracts_of_pyproject():
    """Floors, registries of one floor, private modules, circles, packages reached by entry points alone."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_house_has_few_rooms():
    rooms = [
        path.name for path in PACKAGE.iterdir() if not path.name.startswith("__") and path.name != "py.typed"
    ]
    assert len(rooms) <= ENTRIES, sorted(rooms)


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


@pytest.mark.parametrize("words", [".cuda()", ".data = "])
def test_tensors_are_moved_by_their_device_and_changed_under_no_grad(words: str):
    assert [name_of(file) for file in SHIPPED if words in file.read_text()] == []


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


POINTER = re.compile(r"``(?:\w+\.)*(\w+)\.(\w+)(?:\(\))?``")


def top_names(path: Path) -> set[str]:
    """Names that a file binds at its top, and modules beside it where it is a package."""
    tree, names = ast.parse(path.read_text()), {file.stem for file in path.parent.iterdir()}
    for node in tree.body:
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.ClassDef):
                names.add(part.name)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names.add(part.id)
            elif isinstance(part, ast.alias):
                names.add(part.asname or part.name)
    return names


def test_what_a_docstring_points_to_in_another_file_is_there():
    """``file.name``: a stranger who follows it finds the name in the file."""
    known: dict[str, set[str]] = {}
    for file in SHIPPED:
        stem = file.parent.name if file.stem == "__init__" else file.stem
        known.setdefault(stem, set()).update(top_names(file))
    endings = {"css", "csv", "html", "js", "json", "npy", "npz", "onnx", "py", "toml", "tsv", "yaml"}
    lost = []
    for file in SHIPPED:
        for stem, name in POINTER.findall(file.read_text()):
            if stem in known and name not in known[stem] | endings:
                lost.append(f"{name_of(file)}: {stem}.{name}")
    # groups of entry points, and options as they are typed
    plain = (
        "workbench.cards",
        "workbench.grids",
        "workbench.panels",
        "data.name",
        "data.size",
        "files.train",
    )
    assert [pointer for pointer in lost if pointer.split(": ")[1] not in plain] == []
