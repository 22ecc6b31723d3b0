"""The best pairs of a dual model scored again by a cross scorer, wherever the scores of a run are read."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.objectives.test_dias import padded
from tests.oracles import metrics as oracle
from workbench import Config, open_runs
from workbench.cli import app
from workbench.metrics.blocks import by_rows, reranked
from workbench.metrics.ranks import rank
from workbench.objectives.parts.attention import scorer_of
from workbench.records import Measurement
from workbench.runs.evaluate import evaluate
from workbench.runs.rerank import Reranking, first_stage
from workbench.runs.train import train
from workbench.views.explorer.engine import Engine
from workbench.views.explorer.questions import Question, Term

SMALL = Config(
    objective="vsepp", train_images=32, val_images=8, test_images=12, epochs=1, batch_size=16, device="cpu",
    captions_per_image=1, image_encoder={"name": "regions", "embed_dim": 16, "hidden_dim": 16},
    text_encoder={"name": "sequence", "embed_dim": 16, "word_dim": 16}, features="scenes_backbone",
)  # fmt: skip


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("block", [1, 12, 1000])
def test_both_directions_rank_as_a_double_loop_does_ties_included(monkeypatch, k, block):
    rng = np.random.default_rng(k)
    monkeypatch.setattr("workbench.metrics.blocks.COMPUTED", block)
    monkeypatch.setattr("workbench.metrics.blocks.CACHED", block)
    # few values, so that many are equal, among them the k-th best; new ones below and above the old ones
    scores, new = rng.integers(-2, 3, (2, 6, 11)).astype(np.float32)
    asked = []

    def score(images, captions):
        asked.extend(zip(images.tolist(), captions.tolist(), strict=True))
        return new[images, captions]

    found = reranked(scores, k, score)
    images = np.array(oracle.reranked(scores.tolist(), k, lambda i, t: float(new[i, t])))
    captions = np.array(oracle.reranked(scores.T.tolist(), k, lambda t, i: float(new[i, t])))
    assert asked == sorted(set(asked))
    for rows, wanted in ((found, images), (found.T, captions)):
        np.testing.assert_array_equal(
            *(np.sign(one[:, :, None] - one[:, None, :]) for one in (rows.rows(), wanted))
        )
        relevant = rng.random(wanted.shape) < 0.3
        np.testing.assert_array_equal(
            np.sort(rank(rows, relevant).rank),
            sorted(
                place
                for row, right in zip(wanted.tolist(), relevant, strict=True)
                for place in oracle.ranks(row, right)
            ),
        )
    for image, caption in asked:
        assert new[image, caption] in (found.rows()[image, caption], found.T.rows()[caption, image])


def test_scores_that_differ_in_the_last_bit_keep_their_order():
    one = np.float32(1)
    near = [one, np.nextafter(one, 0, dtype=np.float32), np.float32(0.3), np.float32(0.3) - np.float32(3e-8)]
    # of the first image the first caption alone is scored again, of the second all, which are its best
    found = reranked(np.array([near, [2] * 4], np.float32), 1, lambda images, _: np.full(len(images), -5.0))
    assert found.rows()[0, 0] == -5
    assert (np.diff(found.rows()[0]) < 0).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "one"
    train(SMALL, progress=False).save(place)
    return place


def test_a_run_that_re_ranks_has_one_order_wherever_it_is_read(folder, tmp_path):
    config = SMALL.replace(rerank=2, reranker="chan")
    made = train(config, progress=False)
    made.save(tmp_path / "run")
    (again,) = open_runs([str(tmp_path / "run")])
    np.testing.assert_allclose(again.scores, made.scores, atol=1e-5)
    image, text = again.image, again.text
    dual, local = image.mean @ text.mean.T, scorer_of("chan").scores(image, text)
    new = oracle.reranked(dual.tolist(), 2, lambda i, t: float(local[i, t]))
    np.testing.assert_array_equal(np.argsort(-again.scores, axis=1), np.argsort(-np.array(new), axis=1))
    # what is measured, the rankings, and the explorer's answers
    values = {m.label: m.value for m in made.measurements}
    assert dict(evaluate(tmp_path / "run")) == pytest.approx(values)
    plain = evaluate(folder).scores
    assert (plain.argsort(axis=1) != again.scores.argsort(axis=1)).any()
    table = again.rankings(3)
    first = table[(table["direction"] == "t2i") & (table["rank"] == 1)]["item_id"].tolist()
    by_caption = again.scores_of("t2i")
    assert first == [again.split.image_ids[row] for row in by_caption.argmax(axis=0)]
    engine = Engine([again])
    for term, seeks, expected in (
        (Term("caption", 5), "images", by_caption[:, 5]),
        (Term("image", 3), "captions", again.scores[3]),
    ):
        np.testing.assert_array_equal(engine.scores(Question((term,), seeks))[0], expected)
    # the same of a run that was trained without
    lines = []
    scoring = {"rerank": 2, "reranker": "chan"}
    found = evaluate(folder, scoring=scoring, say=lines.append)
    assert dict(found) == pytest.approx(values)
    assert len(lines) == 1
    assert lines[0].startswith("re-ranked ")
    done = CliRunner().invoke(app, ["evaluate", str(folder), "--rerank", "2", "--reranker", "chan", "--json"])
    shown = {one.label: one.value for one in map(Measurement.from_contract, json.loads(done.stdout))}
    assert shown == pytest.approx(values)
    cosines = dual.numpy()
    best = [cosines >= -np.partition(-cosines, 1, axis=axis).take([1], axis) for axis in (0, 1)]
    pairs = int((best[0] | best[1]).sum())
    assert f"re-ranked {pairs} of 720 pairs by chan in " in done.stderr


def matrix(result):
    return by_rows(result.any_scores()).rows()


def test_a_trained_model_that_re_ranks_is_opened_again_as_it_was_and_measured_on_other_data(folder, tmp_path):
    again = {"rerank": 2, "reranker": "chan", "combine": "sum", "weight": 0.5}
    result = evaluate(str(folder), rounds=0, **again)
    result.save(tmp_path / "run")
    (opened,) = open_runs([str(tmp_path / "run")])
    np.testing.assert_allclose(matrix(opened), matrix(result), atol=1e-5)
    other = evaluate(str(tmp_path / "run"), {"name": "scenes", "size": 8}, rounds=0)
    assert other.run.scoring == opened.run.scoring == again
    expected = evaluate(str(folder), other.split, rounds=0, **again)
    np.testing.assert_allclose(matrix(other), matrix(expected), atol=1e-5)


WARMER = {"rerank": 1, "reranker": {"name": "cross", "temperature": 0.5}}


@pytest.mark.parametrize("scoring", [{}, {"scorer": "scan_t2i"}, {"rerank": 1, "reranker": "chan"}, WARMER])
def test_a_run_scores_again_by_what_it_was_evaluated_with(folder, tmp_path, scoring):
    data, every = {"name": "scenes", "size": 4}, 20
    alone = evaluate(str(folder), data, scoring=scoring, rounds=0)
    alone.save(tmp_path / "second")
    staged = evaluate("scenes:scenes", data, rerank=every, reranker=str(tmp_path / "second"), rounds=0)
    local = alone.scores
    if "rerank" in scoring:
        local = scorer_of(scoring["reranker"]).scores(alone.image, alone.text)
    np.testing.assert_allclose(matrix(staged), local, atol=1e-5)
    staged.save(tmp_path / "staged")
    (opened,) = open_runs([str(tmp_path / "staged")])
    np.testing.assert_allclose(matrix(opened), local, atol=1e-5)


def test_all_candidates_are_the_scorer_itself(folder):
    (one,) = open_runs([str(folder)])
    model = first_stage(one.model, {}, Reranking(60))
    image, text = model.embed(model.source(one.split, every_signal=False))
    from workbench.runs.scoring import score_split

    expected = scorer_of("cross").scores(image, text)
    np.testing.assert_allclose(by_rows(score_split(model, image, text)).rows(), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["cross", "scan_t2i", "scan_i2t", "maxsim", "entities"])
def test_each_scorer_scores_a_pair_alone_as_among_others(form):
    image, text, scorer = padded(5, 1), padded(7, 2), scorer_of(form)
    whole = scorer.scores(image, text)
    for row in range(5):
        some = np.array([6, 1, 3])
        part = scorer.scores(image.take(np.array([row])), text.take(some))[0]
        torch.testing.assert_close(part, whole[row, some])


def test_what_cannot_be_re_ranked_is_said(folder):
    for options, said in (
        (["--rerank", "5", "--reranker", "entities"], "reads 'entities' and Sequence gives"),
        (["--rerank", "5", "--reranker", "crss"], "did you mean cross"),
        (["--rerank", "-1"], "rerank"),
    ):
        done = CliRunner().invoke(app, ["evaluate", str(folder), *options])
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
