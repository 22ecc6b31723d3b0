"""What is trained of ranked positives, in which order, and the numbers that a table has of it."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tools import comparison, ranked_positives
from tools.ranked_positives import Arm
from workbench import assets
from workbench.objectives import member
from workbench.records import Judgements


def test_seeds_come_outermost_and_every_arm_has_a_file_of_its_own():
    arms = list(ranked_positives.arms())
    seeds = [arm.seed for arm in arms]
    assert set(seeds[: seeds.index(2)]) == {0, 1}
    assert len({arm.name for arm in arms}) == len(arms)
    assert {arm.seed for arm in arms} == set(range(5))


@pytest.mark.parametrize(
    "arm", [arm for arm in ranked_positives.arms() if arm.seed == 0], ids=lambda arm: arm.name
)
def test_every_arm_is_a_configuration_whose_objective_takes_its_options(arm: Arm):
    config = arm.config()
    objective = member(config.objective.name)(**config.objective.options)
    assert config.threads == 1
    relevance = config.objective.options.get("ranks", {}).get("relevance")
    assert objective.relevance_sources() == ({relevance: {}} if relevance else {}) or relevance is None


def test_one_thing_differs_from_three_ranks_at_a_time():
    base = Arm("scenes", "three ranks, weight 0.6", "random", 0).config().objective.options
    assert base == {"weight": 0.6}
    for loss, changes in ranked_positives.ABLATION.items():
        options = Arm("scenes", loss, "random", 0).config().objective.options
        assert len(changes) <= 1
        assert options == base | changes


def test_agreement_with_the_crowd_is_that_of_the_judged_pairs(monkeypatch: pytest.MonkeyPatch):
    scores = np.array([[0.9, 0.1], [0.2, 0.7]], dtype=np.float32)
    pairs = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    crowd = Judgements("human", "share", (2, 2), *pairs, np.array([1.0, 0.0, 0.5, 0.8]))
    own = Judgements("own", "binary", (2, 2), np.arange(2), np.arange(2), np.ones(2))
    split = SimpleNamespace(judgements={"human": crowd, "own": own}, own=np.arange(2))
    monkeypatch.setattr(ranked_positives, "replace", lambda split, **_: split)
    monkeypatch.setattr(ranked_positives, "score_split", lambda *_: scores)
    monkeypatch.setattr(ranked_positives, "evaluate_split", lambda *_, **__: ([], {}))
    model = SimpleNamespace(embed=lambda source: (None, None))
    numbers, values = ranked_positives.measure_photographs(model, SimpleNamespace(split=split))
    assert numbers["crowd"] == pytest.approx(np.corrcoef([0.9, 0.1, 0.2, 0.7], crowd.grades)[0, 1])
    # of the two pairs that are not annotated the higher score has the higher rating
    assert numbers["crowd[without own]"] == pytest.approx(1.0)
    assert values[0].tolist() == pytest.approx([0.9, 0.1, 0.2, 0.7])


def test_the_table_has_the_epoch_with_the_best_validation_and_the_range_over_seeds(tmp_path: Path):
    for seed, best in ((0, 2.4), (1, 2.6)):
        arm = Arm("photographs", "InfoNCE", "random", seed)
        history = []
        for val, rsum in ((1.0, best), (0.5, 9.0)):
            test = {"rsum": rsum, "crowd": 0.385, "crowd[without own]": 0.349}
            history.append({"val": {"rsum": val}, "test": test, "seconds": 1.0})
        np.savez_compressed(arm.file(tmp_path), facts=json.dumps({"history": history}), values=np.zeros(1))
    (line,) = ranked_positives.table(tmp_path, "photographs")[2:]
    assert line == (
        "| random | InfoNCE | 2 | 250.0 (240.0 to 260.0) | 0.385 (0.385 to 0.385) | 0.349 (0.349 to 0.349) |"
    )


def test_what_is_there_or_trained_elsewhere_is_not_trained_again(tmp_path: Path):
    done: list[str] = []
    every = [SimpleNamespace(name=name) for name in ("a", "b")]
    comparison.train_while_open(
        lambda: [arm for arm in every if arm.name not in done],
        lambda arm: done.append(arm.name),
        lambda arm: arm.name in done,
        tmp_path,
    )
    assert done == ["a", "b"]


def test_the_cost_of_all_arms_grows_with_images_and_epochs():
    text = " ".join(ranked_positives.describe_cost().split())
    every = list(ranked_positives.arms())
    assert f"trains {len(every)} arms" in text
    # InfoNCE on 3,000 photographs for three epochs, as it is recorded, and 6,000 for six
    rows = assets.read_recorded("objectives_flickr8k").query("objective == 'infonce' and key == 'seconds'")
    photographs = [arm for arm in every if arm.part == ranked_positives.PHOTOGRAPHS]
    hours = len(photographs) * 4 * rows.value.mean() / 3600
    assert f"{len(photographs)} of them, on photographs, take about {hours:.0f} hours" in text
