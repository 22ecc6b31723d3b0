"""What one result answers rightly and another does not, by hand and against a slow loop."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.metrics.blocks import by_rows
from workbench.records import Field
from workbench.runs.errors import first_answers
from workbench.runs.result import Result

OWN = np.array([0, 0, 1, 2])


def result(scores: list[list[float]], name: str) -> Result:
    """A result whose scores are these: images are unit vectors, captions the columns."""
    texts = np.array(scores, dtype=np.float32).T
    # a last number makes all captions equally long, so that cosines have the order of the scores
    rest = np.sqrt(4 - (texts**2).sum(1, keepdims=True))
    images = np.eye(len(scores), len(scores) + 1, dtype=np.float32)
    return wb.evaluate(images=images, texts=np.hstack([texts, rest]), own=OWN, name=name, rounds=0)


@pytest.fixture
def both() -> tuple[Result, Result]:
    first = result([[0.9, 0.8, 0.1, 0.0], [0.2, 0.9, 0.6, 0.1], [0.0, 0.1, 0.2, 0.7]], "a")
    second = result([[0.9, 0.8, 0.1, 0.0], [0.2, 0.1, 0.6, 0.9], [0.0, 0.1, 0.7, 0.3]], "b")
    return first, second


def test_two_results_list_what_one_has_right_and_the_other_wrong(both):
    table = wb.errors(*both)
    rows = [tuple(row) for row in table[["direction", "query_id", "right", "wrong", "rank"]].to_numpy()]
    # a: image 1 puts caption 1 first, as b puts caption 3; image 2 is right in a and wrong in b
    assert rows == [
        ("i2t", "2", "a", "b", 2),
        ("t2i", "1", "b", "a", 2),
        ("t2i", "2", "a", "b", 2),
        ("t2i", "3", "a", "b", 2),
    ]
    wrong = table.iloc[1]
    assert (wrong["answer_id"], wrong["truth_id"], wrong["query"]) == ("1", "0", "caption 1")
    assert (wrong["answer_score"], wrong["truth_score"]) == pytest.approx((0.45, 0.4), abs=1e-6)
    assert table.attrs["queries"]["t2i"] == {"queries": 4, "right": {"a": 3, "b": 2}, "both": 1, "none": 0}
    # a is right about caption 2: image 1 (0.6) before image 2 (0.2), halved as all captions have length 2
    right = table.iloc[2][["right_rank", "right_truth_id", "right_answer_id"]]
    assert right.tolist() == [1, "1", "2"]
    assert table.iloc[2][["right_truth_score", "right_answer_score"]].tolist() == pytest.approx(
        [0.3, 0.1], abs=1e-6
    )


def test_a_slice_leaves_its_own_queries(both):
    table = wb.errors(*both, where="word=caption, words>=2")
    assert len(table) == len(wb.errors(*both))
    split = both[0].split
    split.fields["language"] = Field.from_cells("language", ["de", "en", "en", "de"])
    german = wb.errors(*both, where="language=de")
    assert german["query_id"].tolist() == ["2", "3"]  # image 2 has caption 3 alone
    assert german.attrs["queries"]["t2i"] == {"queries": 2, "right": {"a": 2, "b": 1}, "both": 1, "none": 0}
    with pytest.raises(ValueError, match=r"language=fr.*de \(2\), en \(2\)"):
        wb.errors(*both, where="language=fr")


def test_one_result_lists_all_its_wrong_answers_and_their_share_is_what_recall_leaves():
    split = wb.load_data("scenes", split="test", size=32)
    run = wb.evaluate("scenes:scenes", split, rounds=0)
    table = wb.errors(run)
    for way, queries in (("i2t", len(split.image_ids)), ("t2i", len(split.captions))):
        listed = table[table["direction"] == way]
        assert 1 - len(listed) / queries == pytest.approx(run[f"{way}/R@1"])
        assert sorted(listed["rank"], reverse=True) == listed["rank"].tolist()
        ranks = run.ranks(way)
        assert sorted(listed["rank"]) == sorted(ranks[ranks > 1])
    exact = wb.errors(run, judgements="exact")
    assert len(exact) < len(table)


def test_equal_scores_are_an_error_as_recall_counts_them():
    flat = result([[0.5] * 4] * 3, "flat")
    table = wb.errors(flat)
    assert len(table) == 7
    assert (table["answer_id"] != table["truth_id"]).all()


@pytest.mark.parametrize("way", ["i2t", "t2i"])
def test_the_first_answers_of_some_queries_are_those_of_all(both, way):
    flat = result([[0.5] * 4] * 3, "flat")
    rows = np.array([2, 0])
    for run in (*both, flat):
        every, some = first_answers(run, way), first_answers(run, way, queries=rows)
        for name in ("rank", "answer", "answer_score", "truth", "truth_score", "first"):
            assert getattr(some, name).tolist() == getattr(every, name)[rows].tolist(), name
        scores = by_rows(run.any_scores()) if way == "i2t" else by_rows(run.any_scores()).T
        if run is not flat:
            assert every.first.tolist() == np.asarray(scores.rows()).argmax(axis=1).tolist()


def test_results_of_other_images_are_refused(both):
    other = wb.evaluate(images=np.eye(2), texts=np.eye(2), own=[0, 1], rounds=0)
    with pytest.raises(ValueError, match="different images or captions"):
        wb.errors(both[0], other)
    with pytest.raises(KeyError, match="no judgements 'owm'"):
        wb.errors(both[0], judgements="owm")


def test_the_command_writes_a_table_a_file_a_page_and_json(both, tmp_path: Path):
    folders = [str(one.save(tmp_path / one.name).parent) for one in both]
    csv, page = tmp_path / "errors.csv", tmp_path / "errors.html"
    ended = CliRunner().invoke(app, ["errors", *folders, "--out", str(csv), "--page", str(page)])
    assert ended.exit_code == 0, ended.output
    assert "caption to image, 4 captions, right in a: 3; in b: 2; in both: 1; in none: 0" in ended.output
    written = pd.read_csv(csv, dtype=str)
    assert written["direction"].tolist() == ["i2t", "t2i", "t2i", "t2i"]
    assert written["rank"].tolist() == ["2"] * 4, "a rank is a whole number"
    assert "caption 1" in page.read_text(encoding="utf-8")
    told = json.loads(CliRunner().invoke(app, ["errors", folders[0], "--json"]).output)
    assert [row["query_id"] for row in told["errors"]] == ["1", "1"]
    few = CliRunner().invoke(app, ["errors", *folders, "--limit", "1"]).output
    assert "and 1 more" in few
    parquet = tmp_path / "errors.parquet"
    CliRunner().invoke(app, ["errors", *folders, "--where", "words<=2", "--out", str(parquet)])
    assert pd.read_parquet(parquet)["right_rank"].tolist() == [1, 1, 1, 1]
    wrong = CliRunner().invoke(app, ["errors", *folders, folders[0]])
    assert (wrong.exit_code, wrong.stderr) == (2, "workbench: give one run, or two\n")
