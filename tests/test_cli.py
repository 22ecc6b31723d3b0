"""Every verb calls one function, prints lines or JSON, and says by its exit code how it went."""

from __future__ import annotations

import html
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
import typer
from paper_tables import table
from PIL import Image
from typer.testing import CliRunner, Result

import workbench
from workbench import objectives
from workbench.cli import app, describe
from workbench.io import write_json
from workbench.runs import Config
from workbench.runs import store as runs
from workbench.training import Settings

FIELDS = list(Config.model_fields)
VERBS = [command.name or command.callback.__name__ for command in app.registered_commands]
LATER = ("claims",)


ROOT = Path(__file__).parent.parent


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs."""
    for name, objective, rsum in (
        ("20260101-000000-0000aaaa", "vsepp", 2.5),
        ("20260102-000000-0000bbbb", "ditm", 3.0),
    ):
        folder = tmp_path / "runs" / "03_train" / name
        write_json(folder / runs.PARAMS, {"objective": objective, "epochs": 1})
        runs.write_results(
            folder,
            {
                "objective": objective,
                "metrics": {"rsum": rsum},
                "contracts": {"rsum": {"low": rsum, "high": 4}},
            },
        )
        runs.write_status(folder, "ok")
    return tmp_path / "runs"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    book = nbformat.v4.new_notebook()
    cells = ("from workbench.runs import store as runs", 'seed: int = 0  # seed\nout: str = ""  # run folder')
    book.cells = [
        nbformat.v4.new_code_cell(source)
        for source in (*cells, "1 / seed", "runs.publish(out, {'seed': seed})")
    ]
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "tiny.ipynb")
    return tmp_path / "tiny.ipynb"


def test_help_loads_no_library_of_arrays() -> None:
    code = (
        "import sys, workbench; from workbench.cli import app; app(['--help'], standalone_mode=False); "
        "assert not {'torch', 'numpy', 'pandas', 'pydantic', 'PIL', 'psutil'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tour" in done.stdout


def test_verbs_that_are_not_built_yet_are_not_there() -> None:
    assert not set(LATER) & set(VERBS)
    assert all(call(verb).exit_code == 2 for verb in LATER)


def test_every_verb_speaks_json() -> None:
    assert all(
        "--json" in call(command.name or command.callback.__name__, "--help").output
        for command in app.registered_commands
    )


def test_python_m_workbench_is_workbench() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "list", "objectives", "--json"], capture_output=True, check=True
    )
    assert "ditm" in [row["name"] for row in json.loads(done.stdout)]


@pytest.mark.parametrize("registry", describe.KINDS)
def test_list_prints_a_line_for_every_member_and_explain_a_page(registry: str, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = json.loads(call("list", registry, "--json").output)
    lines = call("list", registry).output.splitlines()
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]
    assert all(len(line) <= 80 for line in lines)
    assert [row["name"] for row in rows if not row["what"]] == []
    for row in rows:
        page = describe.explain(row["name"])
        assert max(map(len, page)) <= 82, row
        assert f"{row['name']}: {describe.KINDS[registry]}" in page
        file = page[-1].removeprefix("File: ")
        assert (ROOT / file).is_file() or (ROOT / "packages" / file).is_file()


def test_list_without_a_registry_names_every_member(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown, said = call("list").output, json.loads(call("list", "--json").output)
    assert {one["registry"] for one in said} == set(describe.KINDS)
    names = [*describe.KINDS, "tables", *(name for one in said for name in one["members"])]
    assert [name for name in names if not re.search(rf"\b{name}\b", shown)] == []
    assert max(map(len, shown.splitlines())) <= 80


def test_fields_of_the_configuration_are_listed_and_explained() -> None:
    page = call("explain", "precision").output
    assert "precision: field of the configuration" in page
    assert "Default: 'auto'" in page
    assert "bf16 autocast on a GPU" in page
    assert "did you mean precision" in call("explain", "precison").output
    listed = call("train", "--help").output
    assert [name for name in FIELDS if name not in listed] == []
    texts = [describe.arg_entries(inspect.getdoc(kind) or "") for kind in (Config, Settings)]
    assert [name for name in FIELDS if not any(text.get(name) for text in texts)] == []


def test_options_are_explained_by_name_and_by_path() -> None:
    page = call("explain", "objective.margin").output
    assert page.startswith("objective.margin: option\n  margin = ")
    assert "vsepp" in page
    assert call("explain", "margin").output == page
    pooling = call("explain", "pooling").output
    assert pooling == call("explain", "text_encoder.pooling").output
    assert "image_encoder.pooling: option" in pooling
    assert "no registry has" in call("explain", "data.margin").output


@pytest.mark.parametrize(
    "words", [("train", "objective=vsepp"), ("train", "vsepp", "lr=1"), ("run", "03_train", "seed=1")]
)
def test_a_setting_without_its_option_is_told_how_it_is_written(words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert "write a setting as -p" in result.output


def test_configurations_and_grids_are_listed() -> None:
    assert "ditm " in call("list", "configs").output
    assert {"comparison_scenes", "ditm_table4"} <= {
        one["name"] for one in json.loads(call("list", "grids", "--json").output)
    }


def test_list_says_what_an_objective_an_encoder_and_a_metric_read() -> None:
    def needs(registry: str) -> dict[str, str]:
        return {row["name"]: row["needs"] for row in describe.member_rows(registry)}

    assert needs("objectives")["aahr"] == "multigrain"
    assert needs("encoders") | {"graph": ""} == needs("encoders") | {"regions": "regions", "graph": ""}
    assert needs("metrics")["map_at_r"] == "ranks by others"


@pytest.mark.parametrize("name", objectives.names())
def test_explain_gives_every_option_of_an_objective_with_default_and_text(name: str) -> None:
    page = call("explain", name).output
    options = inspect.signature(objectives.member(name)).parameters.items()
    for option, parameter in options:
        line = f"  {option} = {parameter.default!r}"
        assert line in page
        assert page.partition(f"{line}\n")[2].startswith("      "), f"{option} has no text"
    assert "Recipe on the synthetic scenes: " in page


def test_explain_reads_the_key_of_a_number_and_a_group_of_options() -> None:
    said, _, page = call("explain", "exact:t2i/map_at_r").output.partition("\n\n")
    assert page == call("explain", "map_at_r").output
    assert said.startswith("exact:t2i/map_at_r: captions ask, images are found; relevant by 'exact'")
    assert "did you mean exact" in call("explain", "exat:t2i/map_at_r").output
    assert "  graph.alpha = " in call("explain", "aahr").output
    assert [line for line in describe.explain("cxc") if line.startswith("cxc: ")] == [
        "cxc: data set", "cxc: metric",
    ]  # fmt: skip


def test_every_help_is_whole_at_80_columns_and_has_an_example_that_can_be_read() -> None:
    whole = call("-h").output
    assert "..." not in whole.partition("Commands:")[2]
    assert call("--version").output == f"itm-workbench {workbench.__version__}\n"
    group = typer.main.get_command(app)
    for verb in VERBS:
        page = call(verb, "-h").output
        assert max(map(len, page.splitlines())) <= 80, verb
        _, _, examples = " ".join(page.split()).partition("Example: workbench ")
        name, *words = examples.split()
        assert name == verb
        group.commands[verb].make_context(verb, words)


def test_list_tables_says_how_each_table_is_made_and_what_it_lacks() -> None:
    lines = call("list", "tables").output.splitlines()
    at = lines.index("DITM Table IV: the parts of the objective")
    assert lines[at + 1] == "    workbench grid 03_train ditm_table4"
    at = lines.index("AAHR Fig. 8: weights of regions and words")
    assert lines[at + 1] == "    workbench figure aahr_figure8 RUN RUN"
    assert lines[at + 2].startswith("    RUN: of AAHR")
    assert len(json.loads(call("list", "tables", "--json").output)) == len(table.list_tables())


def test_params_shows_name_type_default_and_help(notebook: Path) -> None:
    assert call("params", notebook).output.splitlines()[0].split() == ["seed", "int", "0", "seed"]
    assert json.loads(call("params", notebook, "--json").output)[0] == {
        "name": "seed",
        "type": "int",
        "default": 0,
        "help": "seed",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "sed", "1"], "no parameter 'sed'; did you mean seed"),
        (["-p", "seed", "x"], "parameter seed is int, got 'x'"),
        (["-p", "seed=1.5"], "parameter seed is int, got 1.5"),
        (["-f", "none.yaml"], "none.yaml"),
    ],
)
def test_run_refuses_wrong_parameters_as_usage(
    notebook: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    result = call("run", notebook, "--root", tmp_path / "runs", *words)
    assert (result.exit_code, message in result.output) == (2, True)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "words", [["-pseed=x"], ["-p=seed=x"], ["--parameter=seed=x"], ["--parameter", "seed", "x"]]
)
def test_a_parameter_is_read_however_it_is_attached_to_its_option(notebook: Path, words: list[str]) -> None:
    assert "parameter seed is int, got 'x'" in call("run", notebook, *words).output


def test_run_names_a_notebook_that_is_not_there() -> None:
    result = call("run", "99_none")
    assert result.exit_code == 2
    assert "no notebook '99_none', neither as a path nor by name; known: 01_descriptiveness" in result.output


@pytest.mark.slow
def test_run_ends_with_the_code_of_the_notebook(notebook: Path, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("seed: -7\n")
    from_file = call("run", notebook, "--root", tmp_path / "runs", "-f", tmp_path / "params.yaml", "--json")
    assert from_file.exit_code == 0
    assert runs.read(json.loads(from_file.stdout)["folder"]).results == {"seed": -7}
    negative = call("run", notebook, "--root", tmp_path / "runs", "-p", "seed", "-2")
    assert (negative.exit_code, negative.stdout.split()[0]) == (0, "ok")
    failed = call("run", notebook, "--root", tmp_path / "runs")
    assert failed.exit_code == 1
    assert "ZeroDivisionError" in failed.output


def test_ls_lists_runs_oldest_first_with_their_first_number(root: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split() for line in call("ls", "--root", root).output.splitlines()]
    assert lines[0] == [
        "when",
        "took",
        "run",
        "notebook",
        "status",
        "data",
        "objective",
        "seed",
        "queries",
        "headline",
    ]
    assert [line[:2] for line in lines[1:]] == [["2026-01-01", "00:00"], ["2026-01-02", "00:00"]]
    assert [line[4:6] for line in lines[1:]] == [["ok", "vsepp"], ["ok", "ditm"]]
    assert [line[-7:] for line in lines[1:]] == [
        ["rsum", "250.0", "(250.0", "to", "400.0)", "of", "600"],
        ["rsum", "300.0", "(300.0", "to", "400.0)", "of", "600"],
    ]
    assert [
        run["results"]["metrics"]["rsum"] for run in json.loads(call("ls", "--root", root, "--json").output)
    ] == [2.5, 3.0]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("results.json", b'{"metrics": {"rsum": 2.', "results.json cannot be read: "),
        ("results.json", b"[1, 2]", "results.json cannot be read: it holds list"),
        (
            "results.json",
            b'{"metrics": {"rsum": "high"}}',
            "results.json cannot be read: metrics: rsum is no",
        ),
        ("results.json", b'{"metrics": [1]}', "results.json cannot be read: metrics holds list"),
        ("params.json", b"\xff\xfe", "params.json cannot be read: 'utf-8'"),
        ("STATUS", b"\xff\xfe", "STATUS cannot be read: 'utf-8'"),
        ("STATUS", b"<html>", "STATUS cannot be read: it says '<html>'"),
        ("evaluations/cxc/results.json", b"", "cxc/results.json cannot be read: Expecting value"),
        ("config.json", b"{", "config.json cannot be read: "),
        ("values.npz", b"PK", "values.npz cannot be read: "),
    ],
)
def test_one_bad_file_costs_its_own_run_alone(root: Path, name: str, content: bytes, reason: str) -> None:
    bad = root / "03_train" / "20260103-000000-0000cccc"
    shutil.copytree(root / "03_train" / "20260102-000000-0000bbbb", bad)
    (bad / name).parent.mkdir(parents=True, exist_ok=True)
    (bad / name).write_bytes(content)
    listed, built = call("ls", "--root", root), call("build", "--root", root)
    shown = [call("show", part, "--root", root) for part in ("aaaa", "cccc")]
    assert (listed.exit_code, built.exit_code, shown[0].exit_code) == (0, 0, 0)
    assert all(part in listed.output for part in ("aaaa", "bbbb", "cccc"))
    assert built.output.startswith("2 runs")
    page = " ".join(html.unescape((root / "leaderboard.html").read_text()).split())
    assert "0000cccc" in page
    assert reason in page
    if name not in ("config.json", "values.npz"):  # of which the list knows nothing
        assert (reason in listed.output, shown[1].exit_code, reason in shown[1].output) == (True, 2, True)


def test_show_prints_parameters_and_the_first_numbers_with_intervals(root: Path) -> None:
    shown = call("show", "bbbb", "--root", root).output
    assert "objective  ditm" in shown
    assert "rsum    300.0 (300.0 to 400.0)  of 600" in shown
    assert json.loads(call("show", "last", "--root", root, "--json").output)["params"]["objective"] == "ditm"
    assert call("show", "cccc", "--root", root).exit_code == 2


def test_diff_prints_only_what_differs(root: Path) -> None:
    lines = call("diff", "aaaa", "bbbb", "--root", root).output.splitlines()
    assert lines[0].split() == ["params:", "objective", "vsepp", "ditm"]
    assert lines[-1].split() == ["rsum", "250.0", "300.0", "+50.0", "of", "600"]
    assert not any("epochs" in line for line in lines)
    assert call("diff", "aaaa", "aaaa", "--root", root).output == "no difference\n"


def test_doctor_finds_what_the_tests_run_on() -> None:
    result = call("doctor", "--json")
    assert result.exit_code == 0
    states = {finding["name"]: finding["state"] for finding in json.loads(result.output)}
    assert (
        states["kernel python3"]
        == states["torch"]
        == states["spaCy model"]
        == states["figures in JupyterLab"]
        == "ok"
    )


def test_data_prints_a_fingerprint() -> None:
    facts = json.loads(call("data", "scenes", "-p", "data.size", "8", "--json").output)
    assert (facts["images"], facts["captions_per_image"]) == (8, {"5": 8})
    assert "exact" in facts["judgements"]


def test_a_loss_that_becomes_nan_ends_training_in_one_line_that_names_the_step(tmp_path: Path) -> None:
    images = ("train_images=16", "val_images=4", "test_images=4", "batch_size=8", "captions_per_image=1")
    steps = ("epochs=1", "lr=1e30", "lr_warmup_steps=0", "objective=vsepp", "device=cpu")
    pairs = [word for pair in images + steps for word in ("-p", pair)]
    done = call("train", *pairs, "--out", tmp_path / "run")
    assert done.exit_code == 1, done.output
    (line,) = [line for line in done.output.splitlines() if "NaN" in line]
    assert re.search(r"NaN (at|by) step \d+ .*lower lr=1e\+30 or clip_norm=2", line)
    assert "Traceback" not in done.output
    assert runs.read(tmp_path / "run").status == "failed:train"


@pytest.mark.slow
def test_train_evaluate_and_resume_speak_of_the_same_run(tmp_path: Path) -> None:
    sizes = {"train_images": 32, "val_images": 16, "test_images": 16}
    small = {**sizes, "data": "scenes", "epochs": 1, "batch_size": 16, "device": "cpu"}
    config, out = tmp_path / "config.json", tmp_path / "run"
    config.write_text(json.dumps(small))
    trained = call("train", config, "-p", "objective", "vsepp", "--out", out, "--json")
    assert trained.exit_code == 0, trained.output
    metrics = json.loads(trained.stdout)["results"]["metrics"]
    again = {
        row["key"]: row["value"]
        for row in json.loads(call("evaluate", out, "--json").stdout)
        if row["judgements"] == "own"
    }
    assert again == {key: value for key, value in metrics.items() if ":" not in key}
    # An ensemble of a run with itself is the run.
    copy = shutil.copytree(out, tmp_path / "copy")
    twice, once = (json.loads(call("evaluate", *places, "--json").stdout) for places in ((out, copy), (out,)))
    assert [row for row in twice if row not in once] == []
    # two models have no space in common
    of_space = {row["key"] for row in once if row not in twice}
    assert of_space == {"modality_gap", "t2i/alignment", "i2i/uniformity", "t2t/uniformity"}
    twice, wrong = call("evaluate", out, out), call("evaluate", out, "--split", "tset")
    assert (twice.exit_code, wrong.exit_code) == (2, 2)
    assert "a run is named twice" in twice.output
    assert "split is 'tset'; did you mean test?" in wrong.output
    assert runs.read(out).status == "ok"
    assert "say --resume" in call("train", config, "-p", "objective", "vsepp", "--out", out).output
    assert call("train", config, "-p", "objective", "vsepp", "--out", out, "--resume").exit_code == 0
    assert runs.read(out).results["metrics"] == metrics


MISTAKES = [
    ("train none.json", "no configuration 'none.json'"),
    ("train config.yaml -p objective ditmm", "did you mean ditm"),
    ("show pixels", "pixels holds no run"),
    ("explain 07_compare", "07_compare is a notebook; `workbench params 07_compare` tells of it"),
    ("explain RSUM", "no registry has 'RSUM'; did you mean rsum"),
    ("explain whatever", "no registry has 'whatever'; `workbench list` names what there is"),
    ("explain ", "the name is empty; `workbench list` names what there is"),
    ("ls --root nowhere", "there is no folder 'nowhere'"),
    ("ls --root words.yaml", "there is no folder 'words.yaml'"),
    ("show words.yaml", "words.yaml is a file; name the folder of a run"),
    ("show lasst", "no run 'lasst' below runs; did you mean last?"),
    ('run 07_compare -p runs ["none"]', "no run 'none' below runs"),
    ("run 03_train -p config {bad", 'write for example {"name": 3}'),
    ("data folder -p data.root=nowhere", "there is no folder nowhere"),
    ("explain ditm_table4", "ditm_table4 is a grid; `workbench list tables` tells of it"),
    ("show ", "the name of a run is empty"),
    ("shw", "Did you mean 'show'?; see `"),
    ("show", "missing argument 'run'; example: workbench show runs/mine --all"),
    ("show one two", "unexpected extra argument"),
    ("--vers", "no such option: --vers"),
    ("ls --rooot runs", "no such option: --rooot"),
    ("build --root", "requires an argument"),
    ("run 03_train --time-limit soon", "invalid value for '--time-limit'"),
    ("train list.json", "list.json holds [1, 2]; write names with their values"),
    ("train broken.json", "broken.json cannot be read: Expecting"),
    ("train config.json -p epoch 3", "no field 'epoch'; did you mean epochs"),
    ("train config.json -p epochs x", "config.epochs is 'x'; it should be a valid integer"),
    ("train config.json -p objective ditmm", "did you mean ditm"),
    ("train config.json -p objective vsepp -p objective.margin -1", "objective.margin is -1"),
    ("train config.json -p data flickr8k -p data.root nowhere", "nowhere"),
    ("train config.json -p positives exactt -p train_images 8", "names judgements"),
    ("train config.json --resume", "nothing to resume"),
    ("train config.json -p image_encoder regions", "set features="),
    ("run 03_trian", "did you mean 03_train"),
    ("run 03_train -p objective ditmm", "did you mean ditm"),
    ("run 03_train -p epochs -3", "config.epochs is -3; it should be greater than or equal to 0"),
    ("run 03_train -p batch_siz 16", "no field 'batch_siz'; did you mean batch_size"),
    ("run 03_train -p config {a", "parameter config is dict, got '{a'"),
    ("run 03_train -f list.json", "list.json holds [1, 2]"),
    ("run 01_descriptiveness -p data scene", "did you mean scenes"),
    ("grid 03_train ditm_table44", "did you mean ditm_table4"),
    (
        "grid 03_train ditm_table4 -p epochs -3",
        "arm '(i) Conventional triplet loss, seed=0': config.epochs is -3",
    ),
    ('grid 03_train ditm_table4 -p config {"batch_siz":1}', "no field 'batch_siz'"),
    ("grid 03_train ditm_table4 --executor slurm", "no executor 'slurm'"),
    ("grid 03_train ditm_table4 --jobs 0", "executor.jobs is 0"),
    ("grid 03_train ditm_table4 --record out.tsv", "does not say what to record"),
    ("grid 03_train ditm_table4 --root words.yaml", "cannot write to words.yaml (Not a directory)"),
    ("run 03_train --root words.yaml", "cannot write to words.yaml (Not a directory); choose another"),
    ("train config.json --out words.yaml/run", "cannot write to words.yaml/run"),
    ("tour --root words.yaml", "cannot write to words.yaml"),
    ("grid 03_train broken.yaml", "broken.yaml cannot be read"),
    ("grid 03_train words.yaml", "words.yaml: a must be a mapping of names, got 3"),
    ("train notebooks.yaml", "notebooks.yaml is a grid and no configuration; `workbench grid 03_train"),
    ("train pixels/a.png", "pixels/a.png is no configuration, whose name ends with .json or .yaml"),
    ("grid 03_train ditm_table4 -p data cxc", "cxc has no training split: train on other data"),
    ("grid 03_train ditm_table4 -p data folder -p data.root nowhere", "nowhere"),
    (
        "run 03_train -p data folder -p data.root nowhere",
        "data.root: there is no folder nowhere",
    ),
    ("list losses", "no registry 'losses'; known: data, encoders"),
    ("list objective", "no registry 'objective'; did you mean objectives"),
    ("notebooks words.yaml", "words.yaml is a file; name a folder"),
    ("build --out words.yaml", "cannot write to words.yaml"),
    ("run pixels", "pixels is a folder; name a notebook in it"),
    ("run 03_train -p seed", "-p seed wants a name and a value"),
    ("run 03_train -f broken.yaml", "broken.yaml cannot be read: expected the node content"),
    (
        "explain i2t/map_at_r",
        "not measured by the annotated pairs; name the judgements, as in exact:i2t/map_at_r",
    ),
    ("explain exact:rsum", "rsum is measured by the annotated pairs alone; ask for rsum"),
    ("explain ditmm", "no registry has 'ditmm'; did you mean ditm"),
    ("explain exact:t2i/map_at", "did you mean map_at_r"),
    ("explain nowhere:Loss", "no module 'nowhere'"),
    ("params 03_trian", "did you mean 03_train"),
    ("data scenez", "did you mean scenes"),
    ("data scenes --split trian", "trian"),
    ("data scenes -p data.siz 8", "did you mean size"),
    ("data scenes -p data.size x", "size is 'x'"),
    ("show nothing_here --root .", "nothing_here"),
    ("diff nothing_here other --root .", "nothing_here"),
    ("build --root .", "no run"),
    ("train config.json -p text_encoder sequenc", "did you mean sequence"),
    ("train config.json -p objective nowhere:Loss", "no module 'nowhere'"),
    ("train config.json -p objective ditm+dias.dimm", "dimm"),
    ("train config.json -p lr fast", "config.lr is 'fast'"),
    ("train config.json -p device cudaa", "device"),
    ("run 03_train -p seed 1.5", "seed"),
    ("run 03_train -p objectiv ditm", "did you mean objective"),
    ("evaluate nothing_here --root .", "nothing_here"),
    ("explore nothing_here --prepare --root .", "nothing_here"),
    ("explore --ask bus", "--ask gives the questions of a page; name its file with --page"),
    ("explore --app --page page.html", "give --app or --page, not both"),
    ("explore --page pixels", "pixels is a folder; name a file, such as pixels/answers.html"),
    ("explore some_run --model ViT-B-32", "give runs, or --model with --images, not both"),
    ("explore --images photos", "--random-weights and --images belong to --model; name one"),
    ("explore some_run --images photos --root .", "some_run"),
    ("explore --model ViT-B-32", "--model ViT-B-32 needs --images"),
    ("explore --model ViT-B-32 --images photos", "there is no folder photos"),
    ("explore --model ViT-B-32 --images empty", "empty holds no image"),
    ("explore --model ViT-B-31 --images pixels", "no open_clip model 'ViT-B-31'; did you mean"),
    ("explore --model none.json --images pixels", "none.json"),
    ("explore --model ViT-B-32 --pretrained mine.pt --images pixels", "no checkpoint at mine.pt"),
    ("doctor --model ViT-B-31", "did you mean ViT-B-32"),
    ("doctor --model ViT-B-32 --pretrained mine.pt", "no checkpoint at mine.pt"),
    ("doctor --model broken.json", "broken.json"),
    ("train -p data={1:", "the value '{1:' cannot be read: expected"),
    ("train -p lr=0", "nothing is left to train (lr is 0)"),
    ("run 03_train -p lr=0", "nothing is left to train (lr is 0)"),
    ("train -p device=cuda", "PyTorch sees no such GPU; use device='auto' or 'cpu'"),
    ("run 03_train -p device=cuda", "PyTorch sees no such GPU; use device='auto' or 'cpu'"),
    ("doctor --pretrained mine.pt", "--random-weights and --images belong to --model; name one"),
]


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_ends_in_one_helpful_line(command: str, message: str, tmp_path: Path, monkeypatch) -> None:
    if "cuda" in command and torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    monkeypatch.chdir(tmp_path)
    files = {
        "config.json": "{}",
        "config.yaml": "{}",
        "list.json": "[1, 2]",
        "broken.json": "{",
        "broken.yaml": "a: [",
    }
    files["notebooks.yaml"] = "notebook: 03_train"
    files["words.yaml"] = "arms: {a: 3}"
    Path("pixels").mkdir()
    Path("pixels/a.png").touch()
    Path("empty").mkdir()
    for name, content in files.items():
        Path(name).write_text(content)
    result = call(*command.split(" "))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert not Path("runs").exists()


def test_the_home_folder_is_meant_wherever_a_path_is_given(root: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    assert call("ls", "--root=~/runs").output == call("ls", "--root", root).output
    assert "vsepp" in call("show", "~/runs/03_train/20260101-000000-0000aaaa").output
    assert runs.find("aaaa", "~/runs").folder == runs.read("~/runs/03_train/20260101-000000-0000aaaa").folder
    assert runs.run_folder("03_train", "~/mine", {}) == root.parent / "mine"
    Image.new("RGB", (4, 4)).save(root.parent / "a.png")
    (root.parent / "captions.csv").write_text("image,caption,split\na.png,a thing,test\n")
    assert call("data", "folder", "-p", "data.root=~").exit_code == 0
    assert workbench.load_data("folder", split="test", root="~").captions == ("a thing",)
    assert list(root.parent.glob("~*")) == []


def test_explore_writes_answers_as_a_page_without_runs_and_without_jupyterlab(tmp_path: Path) -> None:
    file = tmp_path / "answers.html"
    result = call("explore", "--page", file, "--ask", "a red bus", "--ask", "two cats")
    assert result.exit_code == 0, result.output
    text = file.read_text()
    assert "a red bus" in text
    assert "two cats" in text
    assert "<script src=" not in text


def test_explore_refuses_runs_of_several_data_sets(root: Path) -> None:
    for folder, data in zip(sorted(root.glob("*/*")), ("scenes", "flickr8k"), strict=True):
        write_json(folder / runs.PARAMS, {"data": data})
        write_json(folder / runs.KIND, {"kind": "training"})
    result = call("explore", "aaaa", "bbbb", "--prepare", "--root", root)
    assert result.exit_code == 2
    assert "the runs are of several data sets (flickr8k, scenes); choose those of one" in result.output


def test_explore_knows_a_folder_of_data_by_any_spelling(root: Path) -> None:
    for folder, data in zip(sorted(root.glob("*/*")), ("photos/", "./photos"), strict=True):
        write_json(folder / runs.PARAMS, {"data": data})
        write_json(folder / runs.KIND, {"kind": "training"})
    assert call("explore", "aaaa", "bbbb", "--prepare", "--root", root).exit_code == 0


@pytest.mark.parametrize("words", [["train"], ["run", "03_train"], ["run", "01_descriptiveness"]])
def test_a_path_that_leads_nowhere_is_said_before_a_name_that_is_misspelt(words: list[str]) -> None:
    done = call(*words, "-p", "epohcs=1", "-p", "data=./nowhere")
    assert done.exit_code == 2
    assert "there is no file or folder nowhere" in done.output
    assert "'epohcs'" in call(*words, "-p", "epohcs=1", "-p", "data=scenes").output


def test_explore_prepares_a_notebook_that_opens_the_runs(root: Path) -> None:
    refused = call("explore", "aaaa", "--root", root, "--prepare")
    assert refused.exit_code == 2
    assert "keeps no model; name the folder of a finished training run" in refused.output
    write_json(root / "03_train" / "20260101-000000-0000aaaa" / runs.KIND, {"kind": "training"})
    done = call("explore", "20260101-000000-0000aaaa", "--root", root, "--prepare", "--json")
    book = nbformat.read(json.loads(done.output)["notebook"], 4)
    (cell,) = [cell for cell in book.cells if cell.metadata.get("tags") == ["injected-parameters"]]
    place = f"{root}/03_train/20260101-000000-0000aaaa"
    chosen = 'device = "auto"\nprecision = "auto"\n'
    assert cell.source == f'# Parameters\nruns = ["{place}"]\n{chosen}'
    alone = call("explore", "20260101-000000-0000aaaa", "--root", root, "--app", "--prepare", "--json")
    explorer, chart = nbformat.read(json.loads(alone.output)["notebook"], 4).cells[-2:]
    assert f"wb.open_runs(['{place}'], images=500)" in explorer.source
    write_json(root / "03_train" / "20260101-000000-0000aaaa" / runs.PARAMS, {"test_images": 200})
    alone = call("explore", "20260101-000000-0000aaaa", "--root", root, "--app", "--prepare", "--json")
    errors, explorer, _ = nbformat.read(json.loads(alone.output)["notebook"], 4).cells[1:]
    assert f"show_in_one_line('{root}/explore/app.log')" in errors.source
    assert f"wb.open_runs(['{place}'], images=0)" in explorer.source, "more than it was measured on"
    assert "explorer.link" in chart.source
    assert call("explore", "nothing_here", "--root", root, "--prepare").exit_code == 2
    (root / "photos").mkdir()
    Image.new("RGB", (8, 8)).save(root / "photos" / "a.png")
    asked = ["explore", "20260101-000000-0000aaaa", "--images", root / "photos", "--root", root, "--prepare"]
    book = nbformat.read(json.loads(call(*asked, "--json").output)["notebook"], 4)
    assert (
        f"wb.open_model('{place}', '')\nexplorer = wb.explore(model, images='{root}/photos')"
        in book.cells[1].source
    )


def test_build_writes_a_page_and_a_table(root: Path) -> None:
    made = json.loads(call("build", "--root", root, "--json").output)
    assert made["runs"] == 2
    assert Path(made["html"]).is_file()
    assert "ditm" in Path(made["csv"]).read_text(encoding="utf-8")
    assert call("build", "--root", root / "none").exit_code == 2


@pytest.mark.parametrize(
    ("kept", "low", "lines"),
    [
        ([2], 0.7, ["kept: epoch 2, the best by validation rsum; 3 were trained"]),
        ([2, 3], 0.7, ["kept: the mean of epochs 2 to 3; 3 were trained"]),
        ([0], 0.3, ["kept: epoch 0, the untrained model, since none was better by validation rsum; "
                    "3 were trained",
                    "Not above chance: rsum is 80.0 (30.0 to 90.0) of 600, and a random order has 62.3."]),
    ],
)  # fmt: skip
def test_show_names_the_epoch_that_is_kept_and_says_where_nothing_was_learnt(kept, low, lines, tmp_path):
    rsum = {"key": "rsum", "low": low, "high": 0.9, "chance": 0.623, "face": "sum", "queries": 9}
    results = {"objective": "infonce", "metrics": {"rsum": 0.8}, "contracts": {"rsum": rsum}}
    results |= {"kept": kept, "select": "rsum", "history": [{}] * 4}
    write_json(tmp_path / "03_train" / "a" / runs.PARAMS, {"objective": "infonce"})
    write_json(tmp_path / "03_train" / "a" / runs.RESULTS, results)
    said = CliRunner().invoke(app, ["show", str(tmp_path / "03_train" / "a")]).output.splitlines()
    assert [line for line in said if line.startswith(("kept", "Not above"))] == lines
    assert [line.split() for line in said if line.startswith("number")] == [
        ["number", "value", "in", "chance", "queries"]
    ]
