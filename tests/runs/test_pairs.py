"""Objects that score pairs: whole, as a second stage, killed and gone on with, and what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.metrics.blocks import by_rows
from workbench.records import Split
from workbench.runs import pairs
from workbench.runs.models import open_model
from workbench.runs.rerank import Reranked

SIZE, EACH = 12, 3


def data(size: int = SIZE) -> Split:
    """Images of one grey each, with captions that name it."""
    own = np.repeat(np.arange(size), EACH)
    captions = tuple(f"{EACH * row + number}" for row in range(size) for number in range(EACH))
    names = tuple(map(str, range(size)))
    ids = tuple(f"c{number}" for number in range(len(own)))
    return Split("greys", names, captions, ids, own, lambda row: Image.new("RGB", (4, 4), (row, row, row)))


def grey(image: Image.Image) -> int:
    return int(np.asarray(image)[0, 0, 0])


def noise(image: int, text: int) -> float:
    """The score of a pair, the same whenever it is asked for."""
    return float(np.random.default_rng(1000 * image + text).standard_normal())


class Noise:
    """A first stage of two vectors, whose cosines are of random places."""

    def encode_image(self, images):
        return [self._place(grey(image)) for image in images]

    def encode_text(self, texts):
        return [self._place(500 + int(text)) for text in texts]

    def _place(self, number):
        return np.random.default_rng(number).standard_normal(8)


class Pairwise:
    """Scores pairs by their numbers, and counts what it is asked."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.asked: list[tuple[int, int]] = []
        self.stop_after = stop_after

    def score(self, images, texts):
        assert len(images) == len(texts) <= pairs.PAIRS_AT_ONCE
        self.asked += [(grey(image), int(text)) for image, text in zip(images, texts, strict=True)]
        if len(self.asked) > self.stop_after:
            raise KeyboardInterrupt
        return [noise(grey(image), int(text)) for image, text in zip(images, texts, strict=True)]


class Named(Pairwise):
    identity = "noise of pairs, version 1"


class Truth:
    """Knows which image a caption belongs to."""

    def score(self, images, texts):
        pairs_ = zip(images, texts, strict=True)
        return np.array([float(grey(image) == int(text) // EACH) for image, text in pairs_])


class Same:
    """A second stage that is the first one."""

    name = "same"

    def score(self, images, texts):
        first = Noise()
        unit = [np.array(side) for side in (first.encode_image(images), first.encode_text(texts))]
        unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in unit]
        return (unit[0] * unit[1]).sum(1)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))


def test_pairs_that_are_scored_one_by_one_make_the_matrix():
    result = wb.evaluate(Pairwise(), data(), rounds=0)
    expected = [[noise(image, text) for text in range(SIZE * EACH)] for image in range(SIZE)]
    np.testing.assert_allclose(result.scores, expected, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 3, SIZE * EACH])
def test_a_second_stage_equal_to_the_first_changes_nothing(k):
    first = wb.evaluate(Noise(), data(), rounds=0)
    again = wb.evaluate(Noise(), data(), rerank=k, reranker=Same(), rounds=0)
    assert dict(again) == pytest.approx(dict(first))
    for one, other in ((first.any_scores(), again.any_scores()),):
        rows, others = by_rows(one), by_rows(other)
        np.testing.assert_array_equal(rows.rows().argsort(1), others.rows().argsort(1))
        np.testing.assert_array_equal(rows.T.rows().argsort(1), others.T.rows().argsort(1))


@pytest.mark.parametrize("k", [1, 5, 10])
def test_a_second_stage_that_is_the_truth_reaches_the_recall_of_the_first_at_k_in_both_directions(k):
    first = wb.evaluate(Noise(), data(), rounds=0)
    again = wb.evaluate(Noise(), data(), rerank=k, reranker=Truth(), rounds=0)
    for direction in ("i2t", "t2i"):
        assert again[f"{direction}/R@1"] == first[f"{direction}/R@{k}"]


def test_scores_are_replaced_or_added_with_a_weight():
    split = data()
    first = wb.evaluate(Noise(), split, rounds=0).scores
    second = wb.evaluate(Pairwise(), split, rounds=0).scores
    k = SIZE * EACH
    how = {"rerank": k, "reranker": Pairwise(), "rounds": 0}
    replaced = wb.evaluate(Noise(), split, **how)
    np.testing.assert_allclose(replaced.scores, second, rtol=1e-6)
    summed = wb.evaluate(Noise(), split, combine="sum", weight=0.5, **how)
    np.testing.assert_allclose(summed.scores, first + 0.5 * second, rtol=1e-5)
    assert summed.config["scoring"] == {"rerank": k, "reranker": "", "combine": "sum", "weight": 0.5}
    assert "added with weight 0.5" in " ".join(summed.split.notes)


@pytest.mark.parametrize("kind", ["vectors", "scores", "several", "pairs"])
def test_any_first_stage_is_re_ranked(kind):
    split, first = data(), wb.evaluate(Noise(), data(), rounds=0)
    image, text = first.image.mean.numpy(), first.text.mean.numpy()
    how = {"data": split, "rerank": 5, "reranker": Truth(), "rounds": 0}
    if kind == "vectors":
        again = wb.evaluate(images=image, texts=text, **how)
    elif kind == "scores":
        again = wb.evaluate(scores=first.scores, **how)
    else:
        again = wb.evaluate([Noise(), Noise()] if kind == "several" else Same(), **how)
    expected = wb.evaluate(Noise(), **how)
    assert dict(again)["rsum"] == pytest.approx(expected["rsum"])


def test_a_killed_evaluation_goes_on_and_ends_equal(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "WRITE_SECONDS", 0)
    split, whole = data(), wb.evaluate(Pairwise(), data(), rounds=0)
    for model, where in ((Named, ""), (Pairwise, tmp_path / "run")):
        with pytest.raises(KeyboardInterrupt):
            wb.evaluate(model(stop_after=250), split, pairs_in=where, rounds=0)
        after = model()
        again = wb.evaluate(after, split, pairs_in=where, rounds=0)
        np.testing.assert_array_equal(again.scores, whole.scores)
        assert dict(again) == dict(whole)
        assert len(set(after.asked)) < SIZE * SIZE * EACH
        third = model()
        wb.evaluate(third, split, pairs_in=where, rounds=0)
        assert third.asked == []


KILLED = """
import os
import workbench as wb
from tests.runs.test_pairs import Pairwise, data
from workbench.runs import pairs

pairs.WRITE_SECONDS = 0

class Dies(Pairwise):
    identity = "pairs of a process that dies"

    def score(self, images, texts):
        scores = super().score(images, texts)
        if len(self.asked) > LIMIT:
            os._exit(9)
        return scores

result = wb.evaluate(Dies(), data(), rounds=0)
print(len(result.model.subject.asked), *result.scores.ravel())
"""


@pytest.mark.slow
def test_a_process_that_dies_leaves_scores_with_which_the_next_one_goes_on(tmp_path):
    environment = os.environ | {"WORKBENCH_CACHE": str(tmp_path)}

    def run(limit: int) -> subprocess.CompletedProcess[str]:
        program = KILLED.replace("LIMIT", str(limit))
        words = [sys.executable, "-c", program]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    assert run(300).returncode == 9
    asked, *scores = run(10**9).stdout.split()
    assert int(asked) < SIZE * SIZE * EACH
    whole = wb.evaluate(Pairwise(), data(), rounds=0).scores
    np.testing.assert_array_equal(np.array(scores, np.float32), whole.ravel())


def test_scores_of_pairs_serve_other_depths_and_other_parts_of_the_data():
    wb.evaluate(Noise(), data(), rerank=4, reranker=Named(), rounds=0)
    deeper = Named()
    wb.evaluate(Noise(), data(), rerank=4, reranker=deeper, rounds=0)
    assert deeper.asked == []
    wb.evaluate(Named(), data(), rounds=0)
    part = Named()
    wb.evaluate(part, data(6), rounds=0)
    assert part.asked == []


def test_without_an_identity_or_a_folder_nothing_is_kept(tmp_path):
    wb.evaluate(Pairwise(), data(), rounds=0)
    assert not list((tmp_path / "cache").glob("pairs-*"))


def test_a_damaged_file_of_scores_is_named(tmp_path):
    wb.evaluate(Named(), data(), rounds=0)
    (file,) = (tmp_path / "cache").glob("pairs-*.sqlite")
    file.write_bytes(b"no database" * 100)
    with pytest.raises(ValueError, match="delete it"):
        wb.evaluate(Named(), data(), rounds=0)


class Slow(Pairwise):
    """Takes time by a clock that the test holds: so much to begin, so much a call, so much a pair."""

    def __init__(self, clock, *costs: float) -> None:
        super().__init__()
        self.clock, self.costs = clock, list(costs)

    def score(self, images, texts):
        first, call, pair = self.costs
        self.clock.seconds += first + call + pair * len(images)
        self.costs[0] = 0.0
        return super().score(images, texts)


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize("costs", [(0, 0, 0.02), (5, 0.2, 0.004), (1, 0, 2.0), (0, 1.5, 0.001)])
def test_the_cost_is_told_within_a_third_before_it_begins(costs, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(pairs, "clock", clock)
    told = []

    def say(line):
        told.append((line, clock.seconds))

    model = pairs.PairModel(Slow(clock, *costs), "slow")
    split = data(40)
    image, text = model.embed(model.source(split))
    model.scores_of_split(image, text, say=say)
    ((line, began),) = told
    assert line.startswith("scoring 4,800 pairs with slow: about ")
    amount, unit = line.rsplit("about ", 1)[1].split()
    estimate = float(amount) * {"s": 1, "min": 60, "h": 3600}[unit]
    assert estimate == pytest.approx(clock.seconds - began, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("call", [0.0, 0.02])
def test_the_cost_is_told_within_a_third_by_a_clock_that_nobody_holds(call):
    told = []

    class Sleeps(Pairwise):
        def score(self, images, texts):
            time.sleep(call + 0.001 * len(images))
            return super().score(images, texts)

    model = pairs.PairModel(Sleeps(), "sleeps")
    split = data(40)
    image, text = model.embed(model.source(split))
    model.scores_of_split(image, text, say=lambda line: told.append((line, time.perf_counter())))
    ended = time.perf_counter()
    ((line, began),) = told
    assert float(line.split()[-2]) == pytest.approx(ended - began, rel=0.3)


def test_the_cost_of_a_second_stage_counts_the_images_that_it_prepares(monkeypatch):
    """One image of a few texts costs more a pair than one image of all texts."""
    clock = Clock()
    monkeypatch.setattr(pairs, "clock", clock)
    told = []

    class Prepares(Pairwise):
        def score(self, images, texts):
            clock.seconds += 0.5 * len({id(image) for image in images}) + 0.001 * len(images)
            return super().score(images, texts)

    model = pairs.PairModel(Prepares(), "slow")
    split = data(40)
    image, text = model.embed(model.source(split))
    rows = np.repeat(np.arange(40), 4)
    items = np.tile([0, 30, 60, 90], 40)
    model.pair_scores(image, text, rows, items, say=lambda line: told.append((line, clock.seconds)))
    (line, began), (_, ended) = told
    assert line.startswith("scoring 160 pairs with slow: about ")
    assert float(line.split()[-2]) == pytest.approx(ended - began, rel=0.3)


def test_what_would_take_days_is_refused_with_its_cost_and_the_remedy(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(pairs, "clock", clock)
    slow = Slow(clock, 0, 0, 120.0)
    with pytest.raises(ValueError, match=r"432 pairs with Slow: about 14\.\d h.*rerank=16") as refused:
        wb.evaluate(slow, data(), rounds=0)
    assert "max_hours" in str(refused.value)
    assert len(slow.asked) < 20
    wb.evaluate(slow, data(), max_hours=24, rounds=0)


def test_one_object_may_be_both_stages():
    class Both(Noise, Pairwise):
        pass

    both = open_model(Both(), device="cpu", precision="float32")
    again = wb.evaluate(both, data(), rerank=5, rounds=0)
    expected = wb.evaluate(Noise(), data(), rerank=5, reranker=Pairwise(), rounds=0)
    assert dict(again) == pytest.approx(dict(expected))
    assert (again.model.first.precision, again.model.second.precision) == ("float32", "float32")


def test_a_named_second_stage_is_saved_opened_and_asked_live(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_stages.py").write_text("from tests.runs.test_pairs import Noise, Truth\n")
    command = ["evaluate", "--model", "my_stages:Noise", "--data", "scenes", "-p", "data.size=8"]
    words = ["--reranker", "my_stages:Truth", "--rerank", "4", "--combine", "sum", "--weight", "2"]
    monkeypatch.setattr("tests.runs.test_pairs.Noise.encode_text", _of_length)
    monkeypatch.setattr("tests.runs.test_pairs.Truth.score", _brightest)
    done = CliRunner().invoke(app, [*command, *words, "--out", "run"])
    assert done.exit_code == 0, done.output
    (opened,) = wb.open_runs(["run"])
    assert isinstance(opened.model, Reranked)
    assert opened.name == "Noise, re-ranked by Truth"
    assert opened.config["scoring"] == {
        "rerank": 4, "reranker": "my_stages:Truth", "combine": "sum", "weight": 2.0,
    }  # fmt: skip
    same = wb.evaluate("my_stages:Noise", opened.split, rerank=4, reranker="my_stages:Truth",
                       combine="sum", weight=2.0, rounds=0)  # fmt: skip
    np.testing.assert_allclose(opened.scores, same.scores, rtol=1e-6)
    # a sentence of one's own is re-ranked as a caption is
    row, explorer = 7, wb.explore(opened)
    live = [answer["id"] for answer in explorer.query(text=opened.split.captions[row])]
    order = np.argsort(-opened.scores_of("t2i")[:, row], kind="stable")
    assert live == [opened.split.image_ids[number] for number in order][: len(live)]


def _of_length(self, texts):
    return [[len(text), text.count("a"), 1, 1, 1, 1, 1, 1] for text in texts]


def _brightest(self, images, texts):
    return [float(np.asarray(image).mean()) for image in images]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rerank": 4}, "nothing says what re-ranks"),
        ({"reranker": Truth()}, "reranker belongs to rerank"),
        ({"rerank": 4, "reranker": Truth(), "weight": 2.0}, "weight belongs to combine='sum'"),
        ({"rerank": 4, "reranker": Truth(), "combine": "add"}, "combine is one of"),
        ({"rerank": -1, "reranker": Truth()}, "rerank is -1"),
        ({"rerank": 4, "reranker": "cross"}, "compares parts"),
        ({"rerank": 4, "reranker": "crss"}, "did you mean cross"),
    ],
)
def test_a_second_stage_that_cannot_be_is_refused(how, message):
    with pytest.raises((ValueError, KeyError), match=message):
        wb.evaluate(Noise(), data(), rounds=0, **how)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (lambda n: np.zeros((n, 2)), r"score\(\) of \d+ pairs gave shape"),
        (lambda n: np.zeros(n - 1 or 2), "a number a pair"),
        (lambda n: "good", "one a pair"),
        (lambda n: [np.nan] * n, "image 0 and '0' the score nan"),
    ],
)
def test_an_object_that_gives_something_else_is_refused(output, message):
    class Wrong:
        def score(self, images, texts):
            return output(len(images))

    with pytest.raises((ValueError, TypeError), match=message):
        wb.evaluate(Wrong(), data(), rounds=0)


def test_an_object_that_scores_pairs_is_opened_as_any_model():
    model = open_model(Pairwise())
    images = model.embed_images([Image.new("RGB", (4, 4), (row, row, row)) for row in (1, 2)])
    assert model.scores(images, model.embed_texts(["3", "4", "5"])).shape == (2, 3)
