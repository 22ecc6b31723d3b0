"""Probes of claims against the same numbers made by hand, on a small world and an encoder that is shipped."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from paper_tables import probes
from scipy.stats import norm

from workbench.metrics.semantic import recall_curves
from workbench.records import Embedding
from workbench.runs import open_runs


@pytest.fixture(scope="module")
def run():
    """The shipped encoder on thirty scenes."""
    return open_runs(images=30)[0]


def space(image: np.ndarray, text: np.ndarray, own: list[int]) -> SimpleNamespace:
    """A run that has vectors alone."""
    sides = (Embedding(torch.from_numpy(values)) for values in (image, text))
    return SimpleNamespace(**dict(zip(("image", "text"), sides)), split=SimpleNamespace(own=np.array(own)))


def test_the_numbers_of_a_space_by_hand() -> None:
    eye = np.eye(2)
    assert probes.gap(space(eye, -eye, [0, 1])) == pytest.approx(2**0.5)
    # the first dimension goes with itself, the second against itself; each is -1 or 1 with the other
    image, text = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])
    assert probes.dimensions(space(image, text, [0, 1])) == pytest.approx(0.0 - 1.0)
    rng = np.random.default_rng(0)
    # many dimensions make cosines nearly normal, one heavy tail does not
    wide = [
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in rng.normal(size=(2, 200, 400))
    ]
    assert probes.departure(space(*wide, list(range(200)))) < 0.2
    assert norm.fit(wide[0] @ wide[1].T)[1] == pytest.approx(400**-0.5, rel=0.05)


def test_steps_to_nine_tenths_lie_on_the_line_between_epochs() -> None:
    history = [{"epoch": n, "steps": 10.0 * n, "val/rsum": rsum} for n, rsum in enumerate((0.0, 0.8, 1.0))]
    run_ = SimpleNamespace(history=history)
    assert probes.steps(run_) == pytest.approx(15.0)
    assert probes.first_epoch(run_) == 0.8


def test_what_is_found_by_relevance_is_what_the_curves_say(run) -> None:
    phi = probes._cider_scores(run.split.captions, tuple(run.split.own.tolist()))
    recalls = recall_curves(run.scores, phi, (1, 30), k=5)
    both = [recalls[way][0] for way in ("i2t", "t2i")]
    assert np.nanmean(probes.share_of_sets(run)) == pytest.approx(np.mean(both), abs=1e-6)
    # thirty items cannot all be among five, yet a model that ranks by relevance has all that is possible
    perfect = SimpleNamespace(split=run.split, scores=np.asarray(phi))
    assert recall_curves(perfect.scores, phi, (30,), k=5)["i2t"][0] < 0.5
    for m in (1, 30):
        assert np.nanmean(probes.share_of_sets(perfect, m)) == pytest.approx(1.0, abs=0.01)


def test_the_slope_of_time_is_what_further_images_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_median_milliseconds", lambda run, images: 12.5 + 0.043 * images)
    assert probes.slope_of_time(None) == pytest.approx(43.0)
    image = Embedding(torch.eye(3), parts=torch.zeros(3, 2, 4), mask=torch.ones(3, 2, dtype=torch.bool))
    gallery = probes._repeated(image, 7)
    assert (len(gallery), gallery.mean[6].tolist()) == (7, [1.0, 0.0, 0.0])
    assert gallery.parts is not None
    assert gallery.parts.shape == (7, 2, 4)


def test_weights_count_on_the_things_that_a_caption_names_and_not_on_the_others(monkeypatch) -> None:
    boxes = np.array([[x, 0.0, x + 0.5, 1.0] for x in (0.0, 0.5)])
    things = [
        SimpleNamespace(noun=noun, box=(left, 0, left + 500, 1000))
        for noun, left in (("cat", 0), ("bus", 500))
    ]
    monkeypatch.setattr(
        probes, "placements", lambda split, rows: [SimpleNamespace(things=things) for _ in rows]
    )
    sheet = SimpleNamespace(regions=np.array([0.9, 0.1]), boxes=boxes)
    monkeypatch.setattr(probes.weights, "weights_of_run", lambda run, rows: [sheet for _ in rows])

    def weight_of(*captions: tuple[str, ...]) -> float:
        graphs = tuple(SimpleNamespace(objects=names) for names in captions)
        split = SimpleNamespace(
            image_ids=("a",), own=np.zeros(len(captions), dtype=int), caption_graphs=graphs
        )
        return float(probes.named_things(SimpleNamespace(split=split))[0])

    # uniform weights have 1
    assert weight_of(("cat",)) == pytest.approx(1.8)
    assert weight_of(("animal",), ("bus",)) == pytest.approx((1.8 + 0.2) / 2)
    # a caption that names all of them says nothing of which
    assert np.isnan(weight_of(("cat", "bus")))


def test_the_order_of_true_captions_by_a_double_loop(run) -> None:
    from workbench import text

    descriptiveness = (
        text.load("descriptiveness").fit(run.split.captions).transform(run.split.captions).values
    )
    row = 3
    true = np.flatnonzero(run.split.judgements["exact"].dense()[row] > 0)
    signs = []
    for a, b in combinations(true, 2):
        described = np.sign(descriptiveness[a] - descriptiveness[b])
        signs.append(described * np.sign(run.scores[row, a] - run.scores[row, b]))
    ties = sum(sign == 0 for sign in signs)
    assert probes.order(run)[row] == pytest.approx(np.mean(signs), abs=0.02 + ties / len(signs))


def test_entities_are_asked_by_the_truth_and_counterfactuals_by_their_captions(run) -> None:
    values = probes.entities(run)
    assert np.nanmean(values) > 0.2  # the shipped encoder names things; chance is a twentieth
    counterfactuals = probes.attributes(run)
    assert counterfactuals.shape == (30,)
    assert (
        (counterfactuals[~np.isnan(counterfactuals)] >= 0)
        & (counterfactuals[~np.isnan(counterfactuals)] <= 1)
    ).all()


def test_a_value_is_kept_beside_its_run_and_an_unknown_probe_is_named(tmp_path, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(probes, "_open_run", lambda folder, target: calls.append(folder) or "run")
    monkeypatch.setitem(probes.PROBES, "gap", lambda run: 0.5)
    run_ = SimpleNamespace(folder=tmp_path)
    assert [probes.probe_values(run_, "probe:gap").tolist() for _ in range(2)] == [[0.5], [0.5]]
    assert len(calls) == 1
    with pytest.raises(KeyError, match="no probe 'gab'"):
        probes.probe_values(run_, "probe:gab")
