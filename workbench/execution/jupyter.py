"""Notebooks of the explorer, on the runs or the model that somebody chose."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat

from workbench import assets
from workbench.data.images import images_below
from workbench.execution import library
from workbench.formatting import format_path
from workbench.io import read_options, write_text
from workbench.records import require
from workbench.registry import require_known
from workbench.runs import same_data
from workbench.runs import store as runs
from workbench.runs.spellings import name_of
from workbench.runs.weights import lacks_weights, name_with_note, require_weights

EXPLORER = "06_retrieval_explorer"
FIRST_IMAGES = 500  # of the test split, as in the notebook
# in a tab that shows no code
ERRORS = "from workbench.execution.cell_errors import show_in_one_line\n\nshow_in_one_line({log!r})"
MAP = (
    "from workbench.views.maps import EmbeddingMap, map_runs\n\n"
    "live = EmbeddingMap(map_runs(explorer.runs))\nexplorer.link(live)\nlive"
)
LASSO = "Draw a lasso on the map: the explorer can show its images alone."
CHECKPOINTS = (".safetensors", ".pt", ".pth", ".bin")


def write_explorer(names: Sequence[str], *, root: str, on: tuple[str, str], select: str = "") -> Path:
    """Return a copy of the explorer's notebook that opens these runs, below ``<root>/explore/``.

    Args:
        names: run folders, or run ids below ``root``; none = the shipped encoder.
        root: where runs lie.
        on: device and precision, see ``devices``.
        select: queries that are selected at first, see ``runs.selection``; they are looked for in all images.

    Raises:
        FileNotFoundError: no such run, or one without a model; ValueError: runs of several data sets.
    """
    import papermill  # slow to import

    opened = _open_with_models(names, root)
    target = Path(root) / "explore" / f"{EXPLORER}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    chosen: dict[str, Any] = {
        "runs": [str(run.folder.resolve()) for run in opened],
        "device": on[0],
        "precision": on[1],
    }
    limit = 0 if select else _image_limit(opened)
    if limit != FIRST_IMAGES:
        chosen["images"] = limit
    if select:
        chosen["select"] = select
    papermill.execute_notebook(
        library.find_file(EXPLORER),
        target,
        chosen,
        prepare_only=True,
        kernel_name="python3",
        language="python",
    )
    return target


def _open_with_models(names: Sequence[str], root: str) -> list[runs.Run]:
    """Return the runs, each with a model, all of one data set."""
    opened = [runs.find(name, root) for name in names]
    for run in opened:
        require(
            run.kind,
            f"{format_path(run.folder)} keeps no model; name the folder of a finished training run",
            FileNotFoundError,
        )
    named = (str(run.results.get("dataset") or name_of(run.params.get("data", ""))) for run in opened)
    # one data set may be named by several paths; whether the images are the same comes next
    data = sorted({Path(name).name for name in named})
    require(len(data) <= 1, f"the runs are of several data sets ({', '.join(data)}); choose those of one")
    _require_one_split(opened)
    return opened


def _require_one_split(opened: Sequence[runs.Run]) -> None:
    """Raise if runs say that they were measured on other images, which the notebook would say late. Vectors
    without ids have the numbers of their rows.
    """
    known = [run.results for run in opened if same_data.name_of(run.results.get("split")) != runs.BARE]
    other = [
        one
        for one in known[1:]
        if "ids" in same_data.differing_facts(known[0].get("split"), one.get("split"))
    ]
    measured = dict.fromkeys(same_data.describe_data(results) for results in [*known[:1], *other])
    require(
        not other,
        f"the runs were measured on different images: {' and '.join(measured)}; evaluate one of them again "
        "on the data and split of the other",
    )


def _image_limit(opened: Sequence[runs.Run]) -> int:
    """Return how many images of the test split are shown; 0, all of them, where a run was measured on
    fewer.
    """
    few = (0 < _count_measured_images(run) < FIRST_IMAGES for run in opened)
    return 0 if any(few) else FIRST_IMAGES


def _count_measured_images(run: runs.Run) -> int:
    """Return how many images a run was measured on; 0 = it does not say."""
    split = run.results.get("split")
    images = split.get("images") if isinstance(split, dict) else run.params.get("test_images")
    return int(images or 0)


def write_model_explorer(
    model: str,
    images: str,
    pretrained: str,
    random_weights: bool,
    *,
    root: str,
    on: tuple[str, str],
    in_tab: bool = False,
) -> Path:
    """Write a notebook that opens the explorer on any model, ``<root>/explore/own_model.ipynb``.

    Args:
        model: whatever ``open_model`` opens by name.
        images: a folder of images.
        pretrained: a tag or the path of a checkpoint.
        random_weights: see ``open_model``.
        root: where runs lie.
        on: device and precision.
        in_tab: it is shown in a tab without its code.
    """
    model, pretrained, images = map(_absolute_path, (model, pretrained, images))
    name = Path(model).stem
    if random_weights and lacks_weights(model, pretrained):
        name = name_with_note(name)
    title = f"{name} on {Path(images).name}"
    prose = (
        "Run the cells (Shift+Enter): the images are embedded, the explorer opens, and below it a map of the "
        "same images."
    )
    if in_tab:
        prose = LASSO
    prose = f"{prose} Where images have no captions, these are the names of the files."
    more = ", random_weights=True" if random_weights else ""
    opened = f"wb.open_model({model!r}, {pretrained!r}{more})"
    code = (
        f"import workbench as wb\n\nwb.use_device{on}\nmodel = {opened}\n"
        f"explorer = wb.explore(model, images={images!r})\nexplorer.show()"
    )
    return _write_notebook(Path(root) / "explore" / "own_model.ipynb", title, prose, code, in_tab=in_tab)


def _absolute_path(name: str) -> str:
    """Return a path that is there in full, from whichever folder it is opened; a name as it is."""
    return str(Path(name).resolve()) if name and Path(name).exists() else name


def write_run_explorer(names: Sequence[str], *, root: str, on: tuple[str, str], select: str = "") -> Path:
    """Write a short notebook with nothing but the explorer on these runs and their map,
    ``<root>/explore/app.ipynb``.

    Args:
        names: as for ``write_explorer``.
        root: where runs lie.
        on: device and precision.
        select: as for ``write_explorer``.

    Raises:
        FileNotFoundError, ValueError: as ``write_explorer``.
    """
    opened = _open_with_models(names, root)
    folders = [str(run.folder.resolve()) for run in opened]
    title = " and ".join(run.name for run in opened) or "The shipped encoder"
    limit = 0 if select else _image_limit(opened)
    selected = f", select={select!r}" if select else ""
    code = (
        f"import workbench as wb\n\nwb.use_device{on}\n"
        f"explorer = wb.explore(*wb.open_runs({folders!r}, images={limit}){selected})\nexplorer.show()"
    )
    return _write_notebook(Path(root) / "explore" / "app.ipynb", title, LASSO, code, in_tab=True)


def _write_notebook(path: Path, title: str, prose: str, code: str, *, in_tab: bool) -> Path:
    """Return a notebook of three parts: what it shows, the explorer, the map."""
    log = str(path.with_suffix(".log").absolute())
    sources = [*[ERRORS.format(log=log)] * in_tab, code, MAP]
    cells = [
        nbformat.v4.new_markdown_cell(f"# {title}\n\n{prose}"),
        *map(nbformat.v4.new_code_cell, sources),
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.metadata.title = title
    return write_text(path, nbformat.writes(book))


def require_model(model: str, images: str, pretrained: str, random_weights: bool) -> None:
    """Raise if names stand for nothing; open_clip is looked into and not loaded, which would take seconds.

    Args:
        model: as for ``write_model_explorer``.
        images: likewise.
        pretrained: likewise.
        random_weights: likewise.

    Raises:
        KeyError: no such model; FileNotFoundError: no such file.
        ValueError: no images, no weights, or the JSON file cannot be read.
    """
    require(images, f"--model {model} needs --images, a folder of images")
    images_below(images)
    bare = ":" not in model and "/" not in model and not Path(model).is_dir()
    if model.endswith(".json"):
        read_options(Path(model))
    elif bare:
        (place,) = getattr(find_spec("open_clip"), "submodule_search_locations", None) or [""]
        known = [file.stem for file in Path(place, "model_configs").glob("*.json")]
        require_known("no open_clip model", model.replace("/", "-"), [*known, *assets.model_names()])
    if not random_weights and (bare or model.endswith(".json")):
        require_weights(model, pretrained)
    require(
        Path(pretrained).suffix not in CHECKPOINTS or Path(pretrained).is_file(),
        f"no checkpoint at {pretrained}; give the path of a file that exists, or a tag",
        FileNotFoundError,
    )
