"""Ranked lists and ground truth of other tools: read, measured as far as they reach, and written."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import workbench as wb
from tests.runs.test_scores import CAPTIONS, IMAGES, OWN, SPLIT
from workbench.cli import app
from workbench.data.images import raise_no_image
from workbench.records import Judgements, Split
from workbench.runs.lists import SavedLists

SCORES = np.random.default_rng(5).standard_normal((IMAGES, CAPTIONS))
IDS = {"i2t": (SPLIT.image_ids, SPLIT.caption_ids), "t2i": (SPLIT.caption_ids, SPLIT.image_ids)}


def _lists(way: str, k: int = 99, scores: np.ndarray = SCORES) -> dict[str, dict[str, float]]:
    """The best items of every query with their scores."""
    queries, items = IDS[way]
    table = pd.DataFrame(scores if way == "i2t" else scores.T, queries, items)
    return {str(query): row.nlargest(k).to_dict() for query, row in table.iterrows()}


def _trec(lists: dict[str, dict[str, float]]) -> str:
    lines = []
    for query, items in lists.items():
        lines += [f"{query} Q0 {item} {n} {score!r} mine" for n, (item, score) in enumerate(items.items(), 1)]
    return "\n".join(lines) + "\n"


def _values(result: object) -> dict[str, bytes]:
    return {label: values.tobytes() for label, values in result.values.items()}


@pytest.fixture(scope="module")
def whole() -> wb.runs.result.Result:
    return wb.evaluate(scores=SCORES, data=SPLIT, rounds=20)


class Ranx:
    """Stands for a run of ranx, which gives a mapping alone."""

    def __init__(self, lists: dict[str, dict[str, float]]) -> None:
        self.lists = lists

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self.lists


def _table(way: str) -> pd.DataFrame:
    rows = [(query, item, score) for query, items in _lists(way).items() for item, score in items.items()]
    return pd.DataFrame(rows, columns=["q_id", "doc_id", "score"])


@pytest.mark.parametrize("form", ["trec", "json", "one json", "csv", "parquet", "mapping", "ranx", "table"])
def test_lists_of_all_items_give_the_numbers_of_their_scores(form, whole, tmp_path):
    sources: list[object] = []
    for way in ("i2t", "t2i"):
        file = tmp_path / f"{way}.{'run' if form == 'trec' else form}"
        if form == "trec":
            file.write_text(_trec(_lists(way)))
        elif form == "json":
            file.write_text(json.dumps(_lists(way)))
        elif form == "csv":
            _table(way).to_csv(file, index=False)
        elif form == "parquet":
            _table(way).to_parquet(file)
        memory = {"mapping": _lists(way), "ranx": Ranx(_lists(way)), "table": _table(way)}
        sources.append(memory.get(form, file))
    source: object = sources
    if form == "one json":
        source = tmp_path / "both.json"
        source.write_text(json.dumps({way: _lists(way) for way in IDS}))
    result = wb.evaluate(runs=source, data=SPLIT, rounds=20)
    assert result.measurements == whole.measurements
    assert _values(result) == _values(whole)


def test_lists_without_scores_are_ranks(whole, tmp_path):
    file = tmp_path / "lists.json"
    file.write_text(
        json.dumps({way: {query: list(items) for query, items in _lists(way).items()} for way in IDS})
    )
    result = wb.evaluate(runs=file, data=SPLIT, rounds=0)
    for label in ("rsum", "i2t/R@1", "t2i/medr", "graded:t2i/ndcg", "graded:i2t/map_at_r"):
        assert result[label] == whole[label]
    # ranks of different queries are no scores of pairs
    with pytest.raises(ValueError, match="score pairs differently"):
        _ = result.scores
    assert wb.evaluate(runs=file, data=SPLIT, rounds=0, metrics=["auroc"]).keys() == result.keys()


def test_cut_lists_give_what_their_depth_determines_and_name_the_rest(whole):
    result = wb.evaluate(runs=[_lists("i2t", 5), _lists("t2i", 5)], data=SPLIT, rounds=20)
    for label in ("i2t/R@1", "t2i/R@5", "t2i/recall@5", "i2t/recall@5"):
        assert result[label] == whole[label]
        assert result.values[label].tobytes() == whole.values[label].tobytes()
    (note,) = (note for note in result.split.notes if note.startswith("not determined"))
    for label in ("rsum", "i2t/R@10", "graded:i2t/ndcg", "graded:i2t/map_at_r"):
        assert label not in result
        assert f" {label}" in note
    # six images, of which ten are the whole gallery
    assert result["t2i/R@10"] == 1.0
    assert "lists from image to text name 5 of 15 items" in " ".join(result.split.notes)


def test_r_precision_needs_lists_as_deep_as_r():
    image, caption = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 3])
    judged = Judgements("human", "x", (IMAGES, CAPTIONS), image, caption, np.ones(4, np.float32))
    split = _with(judged)
    deep = wb.evaluate(runs=_lists("i2t", 3), data=split, rounds=0)
    assert {"human:i2t/map_at_r", "human:i2t/r_precision"} <= set(deep)
    shallow = wb.evaluate(runs=_lists("i2t", 2), data=split, rounds=0)
    assert not {"human:i2t/map_at_r", "human:i2t/r_precision"} & set(shallow)
    assert "human:i2t/R@1" in shallow


def _with(judged: Judgements) -> Split:
    texts = tuple(f"a caption {row}" for row in range(CAPTIONS))
    ids = {"image_ids": SPLIT.image_ids, "captions": texts, "caption_ids": SPLIT.caption_ids}
    return Split("toy", **ids, own=OWN, open_image=raise_no_image, judgements={judged.name: judged})


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8))
def test_no_order_of_what_is_not_listed_changes_a_number_that_stays(seed, k):
    rng = np.random.default_rng(seed)
    scores = rng.permuted(np.arange(IMAGES * CAPTIONS)).reshape(IMAGES, CAPTIONS).astype(float)
    lists = [_lists(way, k, scores) for way in IDS]
    result = wb.evaluate(runs=lists, data=SPLIT, rounds=0)
    # any matrix with these best items
    for way in IDS:
        side = scores if way == "i2t" else scores.T
        least = np.sort(side, axis=1)[:, -min(k, side.shape[1])][:, None]
        other = np.where(side >= least, side, rng.uniform(-2, -1, side.shape))
        other = other if way == "i2t" else other.T
        filled = wb.evaluate(scores=other, data=SPLIT, rounds=0)
        for label in result:
            if wb.MetricKey.parse(label).direction == way and "skew" not in label:
                assert result[label] == filled[label], label


def test_one_direction_alone_gives_its_numbers(whole):
    result = wb.evaluate(runs=_lists("t2i"), data=SPLIT, rounds=20)
    assert {wb.MetricKey.parse(label).direction for label in result} == {"t2i"}
    assert _values(result).items() <= _values(whole).items()
    assert "no lists from image to text" in " ".join(result.split.notes)
    assert set(wb.errors(result)["direction"]) == {"t2i"}
    np.testing.assert_array_equal(result.scores_of("t2i"), SCORES)
    with pytest.raises(ValueError, match="none of i2t"):
        result.scores_of("i2t")
    answers = wb.explore(result).query(text=SPLIT.captions[4], k=2)
    assert answers[0]["id"] == SPLIT.image_ids[int(SCORES[:, 4].argmax())]


def test_the_best_of_a_query_is_what_equal_scores_put_last():
    """Ties of listed items count against, as everywhere."""
    lists = {query: dict.fromkeys(SPLIT.image_ids, 1.0) for query in SPLIT.caption_ids}
    assert wb.evaluate(runs=lists, data=SPLIT, rounds=0)["t2i/R@5"] == 0.0


def test_cut_lists_are_saved_opened_and_compared(whole, tmp_path):
    (tmp_path / "a.run").write_text(_trec(_lists("t2i", 3)))
    result = wb.evaluate(runs=tmp_path / "a.run", data=SPLIT, rounds=20)
    result.save(tmp_path / "kept")
    (tmp_path / "a.run").unlink()
    (opened,) = wb.open_runs(tmp_path / "kept")
    assert isinstance(opened.model, SavedLists)
    assert dict(opened) == dict(result)
    assert len(pd.read_parquet(tmp_path / "kept" / "rankings.parquet")) == 3 * CAPTIONS
    table = wb.compare(opened, whole)
    assert list(table.text_table().index) == ["t2i/R@1"]
    assert "no difference" in table.text_table().iloc[0, -1]
    again = wb.evaluate(tmp_path / "kept", rounds=0)
    # the toy has no name by which its judgements are read again
    assert again["t2i/R@1"] == result["t2i/R@1"]
    with pytest.raises(KeyError, match="do not determine i2t/R@1"):
        wb.compare(opened, whole, keys=["i2t/R@1"])


def test_written_runs_and_ground_truth_read_back_the_same(whole, tmp_path):
    for ending in ("txt", "json"):
        files = [whole.write_run(tmp_path / f"{way}.{ending}", way) for way in IDS]
        assert _values(wb.evaluate(runs=files, data=SPLIT, rounds=20)) == _values(whole)
        truth = whole.write_qrels(tmp_path / f"q.{ending}", "t2i", judgements="graded", graded=True)
        judged = wb.evaluate(scores=SCORES, data=SPLIT, qrels=truth, rounds=0)
        for number in ("R@1", "map_at_r", "ndcg", "ndcg@10"):
            assert judged[f"qrels:t2i/{number}"] == whole[f"graded:t2i/{number}"]
        assert not [label for label in judged if label.startswith("qrels:i2t")]


def test_ground_truth_is_kept_with_a_run(whole, tmp_path):
    truth = {"i2t": {SPLIT.image_ids[0]: {SPLIT.caption_ids[3]: 2, SPLIT.caption_ids[4]: -1}}}
    result = wb.evaluate(scores=SCORES, data=SPLIT, qrels=truth, rounds=0)
    assert result["qrels:i2t/R@1"] == float(SCORES[0].argmax() == 3)
    result.save(tmp_path / "run")
    (opened,) = wb.open_runs(tmp_path / "run")
    np.testing.assert_array_equal(
        opened.split.judgements["qrels"].dense(), result.split.judgements["qrels"].dense()
    )
    assert wb.compare(opened, opened, keys=["qrels:i2t/r_precision"]).differences["value"].tolist() == [0.0]


# a measure of trec_eval, the name that its values have, and our number
OWN_PAIRS = [(f"success.{k}", f"success_{k}", f"R@{k}") for k in (1, 5, 10)]
OWN_PAIRS += [(f"recall.{k}", f"recall_{k}", f"recall@{k}") for k in (1, 5, 10)]
GRADED = [
    ("ndcg", "ndcg", "ndcg"),
    ("ndcg_cut.10", "ndcg_cut_10", "ndcg@10"),
    ("Rprec", "Rprec", "r_precision"),
]


@pytest.mark.parametrize("way", IDS)
def test_trec_eval_agrees(way, whole, tmp_path):
    """Ties apart, of which there are none here."""
    run = json.loads(whole.write_run(tmp_path / "run.json", way).read_text())
    own = whole.write_qrels(tmp_path / "own.json", way)
    graded = whole.write_qrels(tmp_path / "graded.json", way, judgements="graded", graded=True)
    for file, measures, judgements in ((own, OWN_PAIRS, ""), (graded, GRADED, "graded:")):
        asked = {measure for measure, _, _ in measures}
        evaluator = pytrec_eval.RelevanceEvaluator(json.loads(file.read_text()), asked)
        by_query = evaluator.evaluate(run)
        for _, theirs, ours in measures:
            expected = [by_query[query][theirs] for query in IDS[way][0]]
            own_values = whole.values[f"{judgements}{way}/{ours}"]
            np.testing.assert_allclose(own_values, expected, rtol=0, atol=1e-12, err_msg=ours)


BAD = {
    "fields": ("a.run", "c0 Q0 0.png 1 0.5\n", r"line 1: expected 6 fields, query Q0 item rank value tag"),
    "blank": ("a.run", "c0 Q0 0.png 1 .5 x\nc0 Q0 my photo.png 1 0.5 x\n", "line 2: expected 6.*blank"),
    "number": ("a.run", "c0 Q0 0.png 1 nan x\n", "query 'c0' and item '0.png' have 'nan'"),
    "twice": ("a.run", "c0 Q0 0.png 1 2 x\nc0 Q0 0.png 2 1 x\n", "item '0.png' for query 'c0' twice"),
    "others": ("a.run", "q Q0 d 1 2 x\n", "query 'q' with item 'd' is no image with a caption of toy"),
    "empty": ("a.json", "{}", "lists nothing"),
    "no mapping": ("a.json", '{"c0": 3}', "query 'c0' has int"),
    "list": ("a.json", "[1]", "no mapping of queries"),
    "columns": ("a.csv", "query,item\nc0,0.png\n", "query, item and score are needed"),
    "matrix": ("a.npy", "x", "give it as scores"),
}  # fmt: skip


def test_ground_truth_lists_what_is_relevant_in_any_order(whole):
    graded = {"c0": {"0.png": 1, "1.png": 1}, "c3": {"2.png": 1}}
    listed = {query: list(items)[::-1] for query, items in graded.items()}
    results = [
        wb.evaluate(scores=whole.scores, data=SPLIT, qrels=truth, rounds=0) for truth in (graded, listed)
    ]
    assert dict(results[0]) == dict(results[1])
    assert "qrels:t2i/R@1" in results[0]
    with pytest.raises(ValueError, match="none is relevant"):
        wb.evaluate(scores=whole.scores, data=SPLIT, qrels={"c0": {"0.png": 0}})


def test_a_row_without_an_id_is_named():
    table = pd.DataFrame({"query": ["c0", None], "item": ["0.png", "1.png"], "score": 1.0})
    with pytest.raises(ValueError, match="row 1 names no query"):
        wb.evaluate(runs=table, data=SPLIT)


@pytest.mark.parametrize("case", BAD)
def test_lists_that_cannot_be_read_are_refused_in_one_line(case, tmp_path):
    name, content, message = BAD[case]
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        wb.evaluate(runs=tmp_path / name, data=SPLIT)
    assert "\n" not in str(caught.value)


def test_two_runs_of_one_direction_and_lists_without_data_are_refused():
    with pytest.raises(ValueError, match="lists from text to image already"):
        wb.evaluate(runs=[_lists("t2i"), _lists("t2i", 3)], data=SPLIT)
    with pytest.raises(ValueError, match="runs need data"):
        wb.evaluate(runs=_lists("t2i"))
    with pytest.raises(ValueError, match=r"the lists determine no number.*5 of 6 queries"):
        wb.evaluate(runs={"0.png": {"c0": 1.0}}, data=SPLIT)


def test_ids_that_may_be_of_either_side_ask_for_the_direction():
    ids = tuple(map(str, range(IMAGES)))
    split = Split("rows", ids, tuple(f"text {name}" for name in ids), ids, np.arange(IMAGES), raise_no_image)
    lists = {
        query: {item: float(row == column) for column, item in enumerate(ids)}
        for row, query in enumerate(ids)
    }
    with pytest.raises(ValueError, match="say the direction"):
        wb.evaluate(runs=lists, data=split)
    assert wb.evaluate(runs={"t2i": lists}, data=split, rounds=0)["t2i/R@1"] == 1.0


def test_numbers_of_coco_name_its_files():
    """The dictionaries of eccv_caption have numbers for the names of files."""
    names = tuple(f"COCO_val2014_{row + 7:012d}.jpg" for row in range(IMAGES))
    captions = tuple(str(100 + row) for row in range(CAPTIONS))
    texts = tuple(f"text {name}" for name in captions)
    split = Split("coco", names, texts, captions, OWN, raise_no_image)
    lists = {100 + row: [7 + int(OWN[row]), 7 + (int(OWN[row]) + 1) % IMAGES] for row in range(CAPTIONS)}
    result = wb.evaluate(runs=lists, data=split, rounds=0)
    assert result["t2i/R@1"] == 1.0
    assert (
        wb.evaluate(scores=SCORES, data=split, qrels={"t2i": {100: {7: 1}}}, rounds=0)
        .split.judgements["qrels"]
        .grades.size
        == 1
    )


def test_an_id_with_a_blank_is_written_as_json_alone(tmp_path):
    names = ("my photo.png", *SPLIT.image_ids[1:])
    texts = tuple(f"text {name}" for name in SPLIT.caption_ids)
    split = Split("toy", names, texts, SPLIT.caption_ids, OWN, raise_no_image)
    result = wb.evaluate(scores=SCORES, data=split, rounds=0)
    with pytest.raises(ValueError, match=r"'my photo\.png' has a blank"):
        result.write_run(tmp_path / "a.run")
    assert not (tmp_path / "a.run").exists()
    assert (
        wb.evaluate(runs=result.write_run(tmp_path / "a.json"), data=split, rounds=0)["t2i/R@1"]
        == result["t2i/R@1"]
    )


def test_the_command_reads_two_directions_as_one_run_and_a_second_run_beside_it(tmp_path):
    data = wb.load_data("scenes", split="test", size=6)
    scores = np.random.default_rng(0).standard_normal((6, len(data.captions)))
    result = wb.evaluate(scores=scores, data=data, rounds=0)
    words = ["evaluate", "--data", "scenes", "-p", "data.size=6", "--rounds", "20", "--root", str(tmp_path)]
    for way in IDS:
        result.write_run(tmp_path / f"{way}.run", way, k=10)
        words += ["--runs", str(tmp_path / f"{way}.run")]
    result.write_run(tmp_path / "b.run", "t2i", k=5)
    truth = result.write_qrels(tmp_path / "q.txt", "t2i")
    both = CliRunner().invoke(
        app, [*words, "--runs", f"t2i={tmp_path / 'b.run'}", "--qrels", str(truth), "--json"]
    )
    assert both.exit_code == 0, both.output
    first, second = json.loads(both.stdout)["results"]
    assert first["metrics"]["rsum"] == result["rsum"]
    assert "rsum" not in second["metrics"]
    assert second["metrics"]["qrels:t2i/R@1"] == result["t2i/R@1"]


@pytest.mark.parametrize("form", ["trec", "json"])
def test_a_run_is_exported_as_lists_and_ground_truth_that_give_its_numbers(tmp_path, form):
    data = wb.load_data("scenes", split="test", size=8)
    result = wb.evaluate("scenes:scenes", data={"name": "scenes", "size": 8}, rounds=0)
    result.save(tmp_path / "run")
    ended = CliRunner().invoke(
        app, ["export", str(tmp_path / "run"), "--to", form, "--out", str(tmp_path / form)]
    )
    assert ended.exit_code == 0, ended.output
    run, qrels = {"trec": (".run", ".qrels"), "json": (".run.json", ".qrels.json")}[form]
    lists = {way: tmp_path / form / f"{way}{run}" for way in ("i2t", "t2i")}
    truth = {way: tmp_path / form / f"{way}-exact{qrels}" for way in ("i2t", "t2i")}
    again = wb.evaluate(runs=lists, data=data, qrels=truth, rounds=0)
    for way in ("i2t", "t2i"):
        assert again[f"{way}/R@1"] == result[f"{way}/R@1"]
        assert again[f"qrels:{way}/map_at_r"] == pytest.approx(result[f"exact:{way}/map_at_r"])


def test_noise_makes_scores_and_lists_worse_and_none_changes_nothing(tmp_path):
    good = np.full((IMAGES, CAPTIONS), 0.0)
    good[OWN, np.arange(CAPTIONS)] = 1
    good += np.random.default_rng(0).random(good.shape) / 2
    result = wb.evaluate(scores=good, data=SPLIT, rounds=0)
    lists = [result.write_run(tmp_path / f"{way}.run", way, k=2) for way in ("i2t", "t2i")]
    for one in (result, wb.evaluate(runs=lists, data=SPLIT, rounds=0)):
        same, worse = (one.with_noise(amount) for amount in (0.0, 5.0))
        np.testing.assert_allclose(same.scores_of("t2i"), one.scores_of("t2i"), atol=1e-6)
        assert np.mean(worse.ranks("t2i") == 1) < np.mean(one.ranks("t2i") == 1)
