"""A grid ends in the table of its paper: rows, columns, seeds, printed values, what is missing."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from paper_tables import layout as layouts
from paper_tables import pages as tables
from paper_tables import published, table
from typer.testing import CliRunner

from workbench.cli import app
from workbench.execution import grid, parameters
from workbench.execution.parameters import ParameterError
from workbench.formatting import format_interval
from workbench.io import write_json
from workbench.records import Split
from workbench.runs import store as runs
from workbench.runs.by_query import ByQuery

PRINTED = {"dataset": "Flickr30K", "protocol": "losses", "measured": ["Flickr30K", "1K test"]}
TABLE = {
    "paper": "CORA",
    "number": 3,
    "columns": {"R@1": ["i2t/R@1", "t2i/R@1"], "RSUM": "rsum"},
    "printed": [PRINTED | {"metrics": {"R@1": "i2t_r1"}}],
    "rows": {"mine": None},
}
GRID = {
    "notebook": "03_train",
    "fixed": {"objective": "cora"},
    "table": TABLE,
    "arms": {
        "HARD": {"objective": {"contrastive": 0.0}},
        "mine": {},
        "CON": {"objective": {"hard": 0.0}},
    },
}


def written(tmp_path: Path, **changes) -> Path:
    path = tmp_path / "losses.yaml"
    path.write_text(yaml.safe_dump(GRID | changes, sort_keys=False))
    return path


def finished(path: Path, root: Path, values: dict[str, float], status: str = "ok", **changes) -> None:
    """Runs of the labelled arms with this RSUM each, and R@1 of a tenth and two tenths."""
    described = layouts.over_seeds(grid.read_grid(path), changes)
    for label, params in grid.plan("03_train", described, changes).items():
        if label in values:
            folder = runs.new_run("03_train", params, root)
            metrics = {"rsum": values[label], "i2t/R@1": 0.1, "t2i/R@1": 0.2}
            split = {"name": "x", "images": 1000, "captions": 5000}
            runs.write_results(folder, {"dataset": "flickr30k", "split": split, "metrics": metrics})
            runs.add_arms(folder, {path.stem: label})
            runs.write_status(folder, status)


def test_the_seeds_of_a_row_are_its_mean_and_interval_and_the_paper_stands_beside(tmp_path):
    path = written(tmp_path)
    values = {f"HARD, seed={seed}": 4 + seed for seed in range(3)}
    finished(path, tmp_path / "runs", values | {"mine, seed=0": 1})
    filled = table.make(path, root=tmp_path / "runs")
    # the paper's order, an arm that it does not print after the one before it, and what no arm makes
    assert [row.name for row in filled.rows] == ["HARD", "mine", "CON", "HARD+CON", "HARD+CON+SPEC"]
    assert [row.seeds for row in filled.rows] == [3, 1, 0, 0, 0]
    assert [row.ours for row in filled.rows] == [True, True, True, False, False]
    assert filled.columns == {"R@1": "share", "RSUM": "sum"}
    hard, mine = (row.values for row in filled.rows[:2])
    assert hard["R@1"][0] == pytest.approx(0.15)
    # 5 -+ 4.302653 * 1 / sqrt(3), of which 7.484138 is beyond the 600 that there are
    assert hard["RSUM"] == pytest.approx((5.0, 2.515862, 6.0), abs=1e-5)
    assert mine["RSUM"] == (1.0, None, None)
    (part,) = filled.parts
    assert (part.heading, part.word) == ("Flickr30K", table.SAME)
    assert part.values["HARD"] == {"R@1": "71.6", "RSUM": "486.9"}
    lacking = ("mine, seed=1", "mine, seed=2", *(f"CON, seed={seed}" for seed in range(3)))
    assert filled.missing == dict.fromkeys(lacking, "no run")


def test_a_failed_run_and_one_with_other_parameters_are_no_row(tmp_path):
    path = written(tmp_path)
    finished(path, tmp_path / "runs", {"HARD, seed=0": 5}, status="failed:4")
    finished(path, tmp_path / "runs", {"HARD, seed=0": 5}, train_images=7)
    with pytest.raises(FileNotFoundError, match=r"no finished run of losses .*workbench grid 03_train"):
        table.make(path, root=tmp_path / "runs")
    finished(path, tmp_path / "runs", {"CON, seed=0": 5})
    assert table.make(path, root=tmp_path / "runs").missing["HARD, seed=0"] == "failed:4"
    written_table = table.make(path, {"train_images": "7", "seed": "0"}, root=tmp_path / "runs")
    assert (written_table.rows[0].seeds, list(written_table.missing)) == (1, ["mine", "CON"])


def test_other_test_sets_are_named(tmp_path):
    other = PRINTED | {"measured": ["MS-COCO 5K", "full"], "metrics": {"R@1": "i2t_r1"}}
    path = written(
        tmp_path, table=TABLE | {"printed": [other], "columns": {"RSUM": "rsum", "mAP": "i2t/map_at_r"}}
    )
    with pytest.raises(ParameterError, match="no column 'R@1'"):
        table.make(path)
    del other["metrics"]
    path = written(
        tmp_path, table=TABLE | {"printed": [other], "columns": {"RSUM": "rsum", "mAP": "i2t/map_at_r"}}
    )
    finished(path, tmp_path / "runs", {"HARD, seed=0": 5})
    filled = table.make(path, root=tmp_path / "runs")
    assert (filled.parts[0].heading, filled.parts[0].word) == ("MS-COCO 5K", table.OTHER)
    notes = " ".join(filled.notes)
    assert "the printed rows are measured on coco, 5,000 test images" in notes
    assert "Not measured on these data: mAP." in notes


def test_further_groups_stand_below_under_their_name_and_a_part_may_have_a_heading():
    entry = {"dataset": "Flickr30K", "group": "BUTD+BiGRU", "further": ["BUTD+BERT"], "heading": "at home"}
    section = {"paper": "DIAS", "number": 1, "columns": {"RSUM": "rsum"}, "printed": [entry]}
    layout = layouts.read({"arms": {"DIAS": {}, "GPO": {}}, "table": section})
    (part,) = layout.parts
    filters = {"paper": "DIAS", "table": "1", "dataset": "Flickr30K", "method": "DIAS", "metric": "rsum"}
    groups = ("BUTD+BiGRU", "BUTD+BERT")
    first, second = (published.load(**filters, group=group)["printed"].item() for group in groups)
    assert (part.heading, part.values["DIAS"]["RSUM"], part.values["DIAS, BUTD+BERT"]["RSUM"]) == (
        "at home",
        first,
        second,
    )
    with pytest.raises(KeyError, match="no group 'BUTD\\+BERTS'"):
        layouts.read(
            {"arms": {"DIAS": {}}, "table": section | {"printed": [entry | {"further": ["BUTD+BERTS"]}]}}
        )


def test_the_files_of_a_table_are_named_by_its_changes(tmp_path):
    path, root = written(tmp_path), tmp_path / "runs"
    finished(path, root, {"HARD": 5}, train_images=7, seed=0)
    assert table.make(path, {"train_images": "7", "seed": "0"}, root=root).name == (
        "losses_flickr30k_seed-0_train_images-7"
    )
    changes = {"seed": 0, "objective": {"margin": 0.1}}
    finished(path, root, {"HARD": 5}, **changes)
    assert re.fullmatch("losses_flickr30k_[0-9a-f]{8}", table.make(path, changes, root=root).name)
    changes = {"seed": "1", "objective": '{"margin": 0.1}'}
    command = r"""workbench grid 03_train .* -p objective '\{"margin": 0.1\}' -p seed 1`"""
    with pytest.raises(FileNotFoundError, match=command):
        table.make(path, changes, root=root)


def test_data_that_are_not_there_do_not_cost_the_table(tmp_path, monkeypatch):
    folder = write_json(tmp_path / "one" / runs.RESULTS, {"dataset": "flickr8k"}).parent
    tried = []

    def measured(place, target):
        tried.append(target.data.name)
        raise FileNotFoundError(f"{tmp_path}/{target.data.name} is not there; get it from elsewhere")

    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    monkeypatch.setattr("workbench.runs.evaluate.evaluate", measured)
    described = {"table": {"evaluate": {"others": [{"data": "cxc"}, {"data": "hierarcaps"}]}}}
    lines = [
        f"Not measured on {name}: WORKBENCH_DATA/{name} is not there; get it from elsewhere"
        for name in ("cxc", "hierarcaps")
    ]
    assert table.measure_missing(described, [folder, folder]) == lines
    assert tried == ["cxc", "hierarcaps"]
    with pytest.raises(KeyError, match="did you mean cxc"):
        table.measure_missing({"table": {"evaluate": {"others": [{"data": "cxcc"}]}}}, [folder])


def test_a_number_that_was_found_elsewhere_is_one_column(tmp_path):
    printed = {"dataset": "ablation", "measured": ["CxC", ""], "metrics": {"CxC RSUM": "cxc_rsum"}}
    section = {"paper": "DITM", "number": "IV", "columns": {"RSUM": "rsum", "CxC RSUM": "cxc:rsum"}}
    name = "(i) Conventional triplet loss"
    path = written(
        tmp_path, table={**section, "printed": [printed]}, arms={name: {}}, fixed={"objective": "ditm"}
    )
    finished(path, tmp_path / "runs", {f"{name}, seed=0": 5})
    (run,) = runs.list_runs(tmp_path / "runs")
    results = {"dataset": "cxc", "training": "flickr30k", "metrics": {"rsum": 4.0, "cxc:rsum": 7.0}}
    write_json(run.folder / runs.EVALUATIONS / "cxc-test" / runs.RESULTS, results)
    filled = table.make(path, root=tmp_path / "runs")
    assert list(filled.columns) == ["RSUM", "CxC RSUM", "RSUM, cxc"]
    assert filled.rows[0].values["CxC RSUM"][0] == 7
    assert filled.parts[0].values[name] == {"CxC RSUM": "520.7"}


def test_a_table_of_settings_is_read_by_its_protocols_or_metrics():
    arms = {"tau5": {}, "tau6": {}}
    by_metric = {
        "paper": "DITM",
        "number": "V",
        "row": "metric",
        "columns": {"RSUM": "rsum"},
        "printed": [{"dataset": "COCO 5K"}],
    }
    (part,) = layouts.read({"arms": arms, "table": by_metric}).parts
    assert part.values["tau5"].keys() == {"RSUM"}
    by_metric["columns"]["CxC RSUM"] = "cxc:rsum"
    by_metric["printed"] = [{"dataset": "CxC", "column": "CxC RSUM"}]
    (part,) = layouts.read({"arms": arms, "table": by_metric}).parts
    assert part.values["tau5"] == {"CxC RSUM": "523.3"}
    by_protocol = {
        "paper": "SAM",
        "number": "4",
        "row": "protocol",
        "columns": {"RSUM": "rsum"},
        "printed": [{"dataset": "tau/sampling", "metrics": {"RSUM": "f30k_rsum"}}],
    }
    (part,) = layouts.read({"arms": {"tau=3 SN triplet=kept": {}}, "table": by_protocol}).parts
    assert part.values["tau=3 SN triplet=kept"] == {"RSUM": "479.1"}


@pytest.mark.parametrize(
    ("section", "kind", "message"),
    [
        ({"colums": {}}, ParameterError, "table has no key 'colums'; did you mean columns"),
        ({"paper": "CORRA"}, ParameterError, "no paper 'CORRA'"),
        ({"rows": {"HARDD": None}}, ParameterError, "no row 'HARDD'; did you mean HARD"),
        (
            {"rows": {}},
            ParameterError,
            r"no printed row 'mine'.*in table.rows give its printed name, or null",
        ),
        (
            {"rows": {"mine": "HARD+CONN"}},
            ParameterError,
            "no printed row 'HARD.CONN'; did you mean HARD.CON",
        ),
        ({"columns": {"RSUM": "i2t/"}}, ValueError, "not the name of a number"),
        ({"from": {"both": {"mean": "HARDD"}}}, ParameterError, "no arm 'HARDD'; did you mean HARD"),
        ({"from": {"HARD": {"mean": "CON"}}}, ParameterError, r"write \{mean: ARM\}.* that no arm has"),
        ({"row": "methods"}, ParameterError, "did you mean method"),
        ({"printed": [{"datset": "Flickr30K"}]}, ParameterError, "no key 'datset'; did you mean dataset"),
        ({"printed": [{"dataset": "Flickr30"}]}, KeyError, "no dataset 'Flickr30'; did you mean Flickr30K"),
        ({"printed": [PRINTED | {"measured": ["a", "b"]}]}, ParameterError, "choose one of .*Flickr30K"),
        (
            {"printed": [PRINTED | {"metrics": {"RSUM": "rsu"}}]},
            KeyError,
            "prints no metric 'rsu'; did you mean rsum",
        ),
    ],
)
def test_a_table_that_says_something_else_is_refused(section, kind, message):
    with pytest.raises(kind, match=message):
        layouts.read(GRID | {"table": TABLE | section})


def test_a_grid_of_ones_own_makes_a_plain_table(tmp_path):
    own = {"arms": {"one": {"objective": "infonce"}, "two": {"objective": "vsepp"}}, "grid": {"seed": [0, 1]}}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(own, sort_keys=False))
    values = {f"{row}, seed={seed}": 3 + seed for row, seed in product(("one", "two"), (0, 1))}
    finished(path, tmp_path / "runs", values)
    result = CliRunner().invoke(app, ["table", str(path), "--root", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert "# mine" in result.output
    # 350 and the interval over two seeds, 12.706 x 70.7 / sqrt(2)
    assert re.search(r"\| one \| 2 \| .*350\.0 \(0\.0 to 600\.0\) \|", result.output)
    with pytest.raises(ParameterError, match="no paper"):
        layouts.read(own | {"table": {"number": 3}})


def test_a_value_that_is_printed_twice_must_be_told_apart():
    section = {
        "paper": "DIAS",
        "number": "3",
        "columns": {"R@1": "i2t/R@1"},
        "rows": {"a": None},
        "printed": [{"dataset": "ablation", "metrics": {"R@1": "f30k_i2t_r1"}}],
    }
    with pytest.raises(
        ValueError, match=r"prints 'w/o DIA', R@1 twice .* name its dataset, protocol and group"
    ):
        layouts.read({"arms": {"a": {}}, "table": section})


def test_the_same_rows_stand_in_page_markdown_latex_and_csv(tmp_path):
    path = written(tmp_path)
    finished(path, tmp_path / "runs", {f"HARD, seed={seed}": 4 + seed for seed in range(3)})
    filled = table.make(path, root=tmp_path / "runs")
    files = tables.write(filled, tmp_path / "out")
    assert sorted(file.name for file in files.values()) == [
        f"losses_flickr30k.{end}" for end in ("csv", "html", "md", "tex")
    ]
    page, md, tex = (files[end].read_text() for end in ("html", "md", "tex"))
    for text in (page, md, tex):
        assert "500.0 (251.6 to 600.0)" in text
        assert tables.ONLY_PRINTED in text or text is tex
        assert "Missing: mine, seed=0 (no run)" in text
    assert r"486.9" in tex
    assert r"\toprule" in tex
    # what is measured here, and below it what is printed
    first, second = tex.split(r"\begin{tabular}")[1:]
    assert "HARD & 3 &" in first
    assert "HARD+CON+SPEC &" not in first
    assert "HARD+CON+SPEC &" in second
    rows = list(csv.DictReader(files["csv"].read_text().splitlines()))
    assert [row["row"] for row in rows] == [row.name for row in filled.rows]
    ends = [float(rows[0][f"RSUM{end}, of 600"]) for end in ("", " low", " high")]
    assert ends == pytest.approx([500, 251.5862, 600], abs=1e-3)
    assert rows[0]["printed RSUM, Flickr30K"] == "486.9"


def test_rows_that_came_out_the_same_are_named(tmp_path):
    path = written(tmp_path)
    finished(path, tmp_path / "runs", {"HARD, seed=0": 5, "mine, seed=0": 5, "CON, seed=0": 4})
    (equal,) = (note for note in table.make(path, root=tmp_path / "runs").notes if "The same" in note)
    assert equal.endswith("in this training: HARD; mine.")


def test_rows_that_lack_a_number_are_named_and_are_not_called_the_same(tmp_path):
    path = written(tmp_path)
    finished(path, tmp_path / "runs", {"HARD, seed=0": 5, "mine, seed=0": 5, "CON, seed=0": 4})
    for run in runs.list_runs(tmp_path / "runs"):
        if run.results["metrics"]["rsum"] == 5:
            runs.write_results(run.folder, {**run.results, "metrics": {}})
    notes = table.make(path, root=tmp_path / "runs").notes
    (lacking,) = (note for note in notes if note.startswith("Not measured of"))
    assert lacking.startswith("Not measured of HARD; mine: ")
    assert not [note for note in notes if "The same in every number" in note]


def test_a_column_is_the_sum_of_its_numbers_where_the_grid_says_so():
    section = {
        "paper": "CORA",
        "number": "3",
        "columns": {"Sum": {"sum": ["i2t/R@1", "t2i/R@1"]}, "R": "i2t/R@1"},
    }
    layout = layouts.read({"arms": {"a": {}}, "table": section})
    assert layout.columns == {"Sum": ["i2t/R@1", "t2i/R@1"], "R": ["i2t/R@1"]}
    assert layout.sums == {"Sum"}
    section["columns"] = {"Sum": {"mean": ["rsum"]}}
    with pytest.raises(ParameterError, match=r"write \{sum: \[key, ...\]\}"):
        layouts.read({"arms": {"a": {}}, "table": section})


def test_the_budget_says_shares_and_no_more_epochs_of_warming_than_there_were():
    configs = [
        {"train_images": 0, "epochs": 1, "warmup_epochs": warm, "data": {"share": share}}
        for warm, share in ((2, 0.1), (0, 0.25))
    ]
    assert table._describe_budget(configs) == (
        "Trained here on 10.0 percent or 25.0 percent of the images for 1 epoch; up to 1 epoch with hinges "
        "over all negatives."
    )
    assert table._describe_budget([{"train_images": 200, "epochs": 4, "data": {"share": 0.1}}]) == (
        "Trained here on 200 images, taken from 10.0 percent of all for 4 epochs."
    )


def test_correlations_are_printed_times_a_hundred_and_the_heading_says_it():
    part = layouts.Part("HierarCaps", ("HierarCaps", ""), {"a": {"d": "76.0", "P": "22.2"}}, {}, table.SAME)
    filled = table.Table("t", "T", {"d": "correlation", "P": "share"}, [], [part], {}, [])
    heads, _ = tables.texts(filled)
    assert heads[4:] == ["d, printed x 100, HierarCaps", "P, printed, HierarCaps"]
    assert (
        tables.comma_separated(filled)
        .strip()
        .endswith('"printed x 100 d, HierarCaps","printed P, HierarCaps"')
    )


def test_what_is_printed_of_another_test_set_stands_in_a_table_of_its_own():
    part = layouts.Part("MS-COCO 5K", ("MS-COCO 5K", "full"), {"a": {"R@1": "41.3"}}, {"a": "a remark"})
    rows = [table.Row("ours", "a", 1, {"R@1": (0.5, None, None)}), table.Row("theirs", "a", ours=False)]
    for word, apart in ((table.SAME, False), (table.OTHER, True), (table.UNSAID, True)):
        filled = table.Table("t", "T", {"R@1": "share"}, rows, [replace(part, word=word)], {}, [])
        heads, lines = tables.texts(filled)
        assert any("41.3" in line for line in lines) != apart
        assert len(lines) == 1 if apart else 2
        assert any("printed" in head for head in heads) != apart
        blocks = tables.tables_of_other_sets(filled)
        assert len(blocks) == int(apart)
        if apart:
            heading, names, printed = blocks[0]
            assert word in heading
            assert (names, printed[0]) == (["row", "R@1, printed", "beside"], ["a", "41.3", "a remark"])
        assert "41.3" in tables.markdown(filled)
        assert ("41.3" in tables.comma_separated(filled)) != apart


def test_latex_has_no_sign_that_it_would_read():
    assert tables._escape_latex("50 % of A_1 & VSE∞†") == r"50 \% of A\_1 \& VSE$\infty$\dag{}"


def test_the_verb_makes_the_table_again_and_says_what_is_missing(tmp_path):
    path, root = written(tmp_path), tmp_path / "runs"
    finished(path, root, {"HARD, seed=0": 5})
    call = CliRunner().invoke(app, ["table", str(path), "--root", str(root)])
    assert call.exit_code == 3
    assert "| HARD | 1 | 15.0 | 500.0 | 71.6 | 486.9 |  |" in call.output
    assert "HARD, seed=1 (no run)" in call.output
    assert str(root / "tables" / "losses_flickr30k.html") in call.output
    as_json = CliRunner().invoke(app, ["table", str(path), "--root", str(root), "--json", "-p", "seed", "0"])
    assert json.loads(as_json.output)["missing"] == {"mine": "no run", "CON": "no run"}
    assert CliRunner().invoke(app, ["table", "losses_of_nobody"]).exit_code == 2


def with_values(path: Path, root: Path, hits: dict[str, list[float]]) -> None:
    """Give the runs of labelled arms values by query: whether each image finds its caption first."""
    for run in runs.list_runs(root):
        values = np.array(hits[run.arms[path.stem]])
        ids = tuple(f"{n}" for n in range(len(values)))
        split = Split("x", ids, ids, ids, np.arange(len(ids)), lambda row: None)
        ByQuery.from_split(split, {"i2t/R@1": values, "i2t/R@5": values}).write(run.folder)


def test_rows_are_compared_with_the_first_by_what_their_runs_keep(tmp_path):
    own = {"arms": {"one": {"objective": "infonce"}, "two": {"objective": "vsepp"}}, "grid": {"seed": [0, 1]}}
    path, root = tmp_path / "mine.yaml", tmp_path / "runs"
    path.write_text(yaml.safe_dump(own, sort_keys=False))
    bad, good = [0.0, 0.0, 0.0, 1.0] * 10, [1.0, 1.0, 1.0, 0.0] * 10
    hits = {"one, seed=0": bad, "one, seed=1": bad, "two, seed=0": good, "two, seed=1": good}
    finished(path, root, dict.fromkeys(hits, 3))
    with_values(path, root, hits)
    filled = table.make(path, root=root)
    (difference,) = filled.differences
    assert (difference.label, difference.run, difference.against) == ("i2t/R@1", "two", "one")
    assert (difference.value, difference.verdict) == (0.5, "better")
    assert any("other images and other seeds" in note for note in filled.notes)
    files = tables.write(filled, tmp_path / "out")
    shown = f"{format_interval(difference.value, difference.low, difference.high, sign=True)} ▲ better"
    assert "## Difference from one" in files["md"].read_text()
    for end in ("md", "html"):
        assert shown in files[end].read_text()
    assert r"$\uparrow$ better" in files["tex"].read_text()
    rows = list(csv.DictReader(files["csv"].read_text().splitlines()))
    assert [row["i2t/R@1 from one verdict"] for row in rows] == ["", "better"]


def test_a_row_of_other_images_is_named_and_not_compared(tmp_path):
    own = {"arms": {name: {"seed": n} for n, name in enumerate(("a", "b", "c"))}}
    path, root = tmp_path / "mine.yaml", tmp_path / "runs"
    path.write_text(yaml.safe_dump(own, sort_keys=False))
    finished(path, root, dict.fromkeys("abc", 3))
    with_values(path, root, {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [1.0, 1.0, 0.0]})
    made = table.make(path, root=root)
    assert made.differences == []


def test_the_table_of_a_grid_takes_what_was_typed_for_the_grid(tmp_path):
    path, root = written(tmp_path), tmp_path / "runs"
    finished(path, root, {"HARD": 5}, train_images=7, seed=0)
    call = CliRunner().invoke(app, ["table", str(path), "--root", str(root)])
    assert call.exit_code == 2
    assert "1 run of it with other -p" in call.output
    parameters.save_typed_words(root, "losses", {"train_images": "7", "seed": "0"}, paper=False)
    call = CliRunner().invoke(app, ["table", str(path), "--root", str(root)])
    assert call.exit_code == 3
    assert "As the grid was run last: -p seed=0 -p train_images=7." in call.output


def test_a_seed_that_is_given_is_the_only_one():
    seeded = layouts.over_seeds(GRID)
    assert list(grid.expand(seeded))[:4] == ["HARD, seed=0", "HARD, seed=1", "HARD, seed=2", "mine, seed=0"]
    assert set(grid.row_labels(seeded).values()) == {"HARD", "mine", "CON"}
    assert list(grid.expand(layouts.over_seeds(GRID, {"seed": 7}), {"seed": 7})) == ["HARD", "mine", "CON"]
    assert layouts.over_seeds({"arms": {"a": {}}}) == {"arms": {"a": {}}}


def test_a_part_from_another_data_set_is_read_from_what_a_run_was_measured_on_there(tmp_path):
    """COCO -> Flickr30K: the printed rows were trained on MS-COCO and measured on Flickr30K."""
    section = {
        "paper": "DIAS",
        "number": 5,
        "columns": {"RSUM": "rsum", "P": "chains:hierarcaps_traversal_P"},
        "printed": [{"dataset": "COCO->Flickr30K", "group": "BUTD+BiGRU"}],
    }
    path = written(tmp_path, table=section, arms={"DIAS": {}, "Baseline": {}}, fixed={"objective": "dias"})
    finished(path, tmp_path / "runs", {"DIAS, seed=0": 5})
    (run,) = runs.list_runs(tmp_path / "runs")
    split = {"name": "x", "images": 1000, "captions": 5000}
    other = {"training": "flickr30k", "split": split}
    write_json(run.folder / runs.RESULTS, run.results | {"dataset": "coco", "training": "coco"})
    filled = table.make(path, root=tmp_path / "runs")
    assert (list(filled.columns), filled.parts[0].word) == (["RSUM"], table.OTHER)
    results = other | {"dataset": "flickr30k", "training": "coco", "metrics": {"rsum": 4.0}}
    write_json(run.folder / runs.EVALUATIONS / "flickr30k" / runs.RESULTS, results)
    results = other | {"dataset": "hierarcaps", "metrics": {"chains:hierarcaps_traversal_P": 0.25}}
    write_json(run.folder / runs.EVALUATIONS / "hierarcaps" / runs.RESULTS, results)
    filled = table.make(path, root=tmp_path / "runs")
    assert filled.parts[0].word == table.SAME
    (row,) = (row for row in filled.rows if row.name == "DIAS")
    assert {name: value[0] for name, value in row.values.items()} == {
        "RSUM": 5,
        "P": 0.25,
        "RSUM, flickr30k": 4,
    }


@pytest.mark.parametrize("number", [3, 4])
def test_ditms_tables_hold_d_corr_beside_its_control_and_say_where_it_is_at_the_ceiling(tmp_path, number):
    file = Path(table.__file__).parent / "grids" / f"ditm_table{number}.yaml"
    labels = list(grid.plan("03_train", grid.read_grid(file), {"seed": 0}))
    finished(file, tmp_path, dict.fromkeys(labels, 4), seed=0)
    controls = {"image": 0.97, "other": 0.96, "gain": -0.01}
    for n, run in enumerate(runs.list_runs(tmp_path)):
        metrics = {f"chains:d_corr_{name}": value + n / 1000 for name, value in controls.items()}
        write_json(run.folder / runs.RESULTS, run.results | {"metrics": metrics})
    filled = table.make(file, {"seed": 0}, root=tmp_path)
    heads = [head for head in filled.columns if "d_corr" in head]
    assert [head.split("d_corr")[1] for head in heads] == [
        "",
        ", images of other chains",
        ", own minus other",
    ]
    first = next(row for row in filled.rows if row.values and row.values[heads[0]][0] == 0.97)
    assert [first.values[head][0] for head in heads] == [0.97, 0.96, -0.01]
    (note,) = [note for note in filled.notes if "ceiling" in note]
    assert note.startswith(f"{heads[0]} is at the ceiling in every row, 0.970 or more")
    (run, *_) = runs.list_runs(tmp_path)
    write_json(run.folder / runs.RESULTS, run.results | {"metrics": {"chains:d_corr_image": 0.94}})
    assert not [note for note in table.make(file, {"seed": 0}, root=tmp_path).notes if "ceiling" in note]


def test_a_run_is_measured_once_on_the_data_that_a_table_asks_for(tmp_path, monkeypatch):
    folder = write_json(tmp_path / "one" / runs.RESULTS, {"dataset": "scenes"}).parent
    began = []

    def measured(place, target):
        began.append(target.model_dump())
        results = {"dataset": target.data.name}
        return SimpleNamespace(save=lambda folder: write_json(folder / runs.RESULTS, results))

    monkeypatch.setattr("workbench.runs.evaluate.evaluate", measured)
    evaluated = {"scenes": [{"data": "scenes", "split": "val"}], "others": [{"data": "hierarcaps"}]}
    for _ in range(2):
        table.measure_missing({"table": {"evaluate": evaluated}}, [folder])
    assert [target["split"] for target in began] == ["val"]
    write_json(folder / runs.RESULTS, {"dataset": "flickr8k"})
    table.measure_missing({"table": {"evaluate": evaluated}}, [folder])
    assert [target["data"]["name"] for target in began] == ["scenes", "hierarcaps"]
    table.measure_missing({"table": {}}, [folder])
    # images are read as the run read its own, where the other data can be read so
    write_json(folder / runs.PARAMS, {"data": {"source": "precomp", "root": "mine"}})
    table.measure_missing(
        {"table": {"evaluate": {"others": [{"data": "flickr30k"}, {"data": "hierarcaps"}]}}}, [folder]
    )
    assert [target["data"] for target in began[2:]] == [{"name": "flickr30k", "source": "precomp"}]


def test_rows_that_set_a_parameter_become_a_curve_with_intervals(tmp_path):
    set_to = {"optimum": {"x": 1, "y": 3}, "x 10": {"x": 10}, "y 4": {"y": 4.5}, "x 2": {"x": 2}, "none": {}}
    arms = {name: {"objective": values} for name, values in set_to.items()}
    section = {
        "paper": "DIAS",
        "number": "Fig. 7",
        "columns": {"mAP": "i2t/map_at_r", "RSUM": "rsum"},
        "curves": {"x": "objective.x", "<y>": "objective.y"},
    }
    layout = layouts.read({"arms": arms, "table": section})
    assert layout.curves == {"x": {"optimum": 1, "x 10": 10, "x 2": 2}, "<y>": {"optimum": 3, "y 4": 4.5}}
    values = {"optimum": (5.0, 4.5, 5.5), "x 10": (4.0, None, None), "none": (1.0, 1.0, 1.0)}
    rows = [
        table.Row(name, None, 3, {"RSUM": value, "mAP": (0.5, 0.4, 0.6)}) for name, value in values.items()
    ]
    filled = table.Table("t", "T", {"mAP": "share", "RSUM": "sum"}, rows, [], {}, [], layout.curves)
    x, y = tables.curves(filled)["data"]
    # RSUM of 600, by the parameter; what has no run is no point
    assert (x["x"], x["y"]) == ([1, 10], [500.0, 400.0])
    assert (x["error_y"]["array"], x["error_y"]["arrayminus"]) == ([50.0, 0.0], [50.0, 0.0])
    assert (y["x"], y["y"]) == ([3], [500.0])
    layout = tables.curves(filled)["layout"]
    assert (layout["xaxis"]["type"], layout["xaxis2"]["type"]) == ("log", "linear")
    assert [note["text"] for note in layout["annotations"]] == ["x", "&lt;y&gt;"]
    assert "mean of 3 seeds and 95 % interval" in layout["title"]["text"]
    page = tables.write(filled, tmp_path)["html"].read_text()
    assert 'id="curves"' in page
    plain = table.Table("t", "T", {"RSUM": "sum"}, rows, [], {}, [])
    assert "plotly" not in tables.write(plain, tmp_path)["html"].read_text()


@pytest.mark.parametrize("path", ["objective.z", "objective.x", "objective"])
def test_a_curve_over_nothing_or_twice_the_same_is_refused(path):
    arms = {"a": {"objective": {"x": 1}}, "b": {"objective": {"x": 1}}}
    section = {"paper": "DIAS", "number": "Fig. 7", "curves": {"c": path}}
    with pytest.raises(ParameterError, match=r"table.curves: .* needs several rows that set it to different"):
        layouts.read({"arms": arms, "table": section})
