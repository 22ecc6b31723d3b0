"""A user's own objective or metric is a file outside the package: named by module and class, an objective
alone or in a sum, or by an entry point of an installed distribution."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from workbench import metrics, objectives, registry

LOSS = '''
"""Each caption chooses among the images of the batch."""

from torch import Tensor, inf

from workbench import Objective
from workbench.records import Batch, Embedding
from workbench.registry import Positive


class Choice(Objective):
    """Softmax over images."""

    terms = ("choice",)

    def __init__(self, *, temperature: Positive = 0.05) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        scores = self.scores(image, text) / self.temperature
        own = scores.masked_fill(~batch.positives, -inf)
        return {"choice": (scores.logsumexp(0) - own.logsumexp(0)).mean()}


class NoObjective:
    """Derives from nothing."""
'''

METRIC = '''
"""How early the first relevant item stands."""

from workbench import Metric


class ReciprocalRank(Metric):
    """One over the rank of the best relevant item."""

    name, hit = "mrr", "1 / rank of the best relevant item"

    def per_query(self, ranks, k=None):
        return 1 / ranks.first
'''


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the working directory, which is not on the path of Python."""
    (tmp_path / "my_choice.py").write_text(LOSS, encoding="utf-8")
    (tmp_path / "my_metric.py").write_text(METRIC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    for name in ("my_choice", "my_metric"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_file_in_the_working_directory_is_found_by_module_and_class(own_file: Path) -> None:
    assert objectives.load("my_choice:Choice", temperature=0.1).temperature == 0.1


def test_it_stands_in_a_sum_with_its_terms_and_options(own_file: Path) -> None:
    name = "vsepp+0.5*my_choice:Choice.choice"
    made = objectives.load(name, **{"my_choice:Choice": {"temperature": 1}})
    assert made.terms == ("vsepp.i2t", "vsepp.t2i", "my_choice:Choice.choice")
    assert made.weights["my_choice:Choice.choice"] == 0.5
    assert made.by_name["my_choice:Choice"].temperature == 1


def test_a_module_in_a_package_may_stand_in_a_sum(own_file: Path) -> None:
    (own_file / "my_package").mkdir()
    (own_file / "my_choice.py").rename(own_file / "my_package" / "choice.py")
    assert objectives.load("my_package.choice:Choice").terms == ("choice",)
    made = objectives.load("2*my_package.choice:Choice+vsepp")
    assert made.terms[0] == "my_package.choice:Choice.choice"


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("my_chioce:Choice", {}, KeyError, "no module 'my_chioce' in .*PYTHONPATH; did you mean my_choice?"),
        ("my_choice:Chioce", {}, KeyError, "the module 'my_choice' has no 'Chioce'; did you mean Choice?"),
        ("my_choice:NoObjective", {}, TypeError, "derive it from workbench.objectives.Objective"),
        ("my choice:Choice", {}, KeyError, "write 'my_module:MyClass'"),
        ("my_choice:Choice", {"temprature": 1}, TypeError, "did you mean temperature?"),
        ("my_choice:Choice", {"temperature": 0}, ValueError, "temperature is 0; it should be greater than 0"),
        ("vsepp+my_choice:Chioce", {}, KeyError, "did you mean Choice?"),
    ],
)
def test_a_mistake_in_a_name_or_an_option_is_refused_with_the_remedy(
    own_file: Path, name: str, options: dict[str, float], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message.replace("?", r"\?")):
        objectives.load(name, **options)


def test_a_metric_is_found_by_module_and_class(own_file: Path) -> None:
    assert metrics.load("my_metric:ReciprocalRank").name == "mrr"
    with pytest.raises(KeyError, match="has no 'Reciprocal'; did you mean ReciprocalRank"):
        metrics.member("my_metric:Reciprocal")
    with pytest.raises(TypeError, match=r"derive it from workbench\.metrics\.Metric"):
        metrics.member("my_choice:NoObjective")


def test_an_error_inside_the_file_is_shown_as_it_is(own_file: Path) -> None:
    (own_file / "my_broken.py").write_text("import a_module_that_is_not_there\n", encoding="utf-8")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        objectives.member("my_broken:Loss")


def test_an_installed_distribution_offers_a_member_by_an_entry_point(
    own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = EntryPoint("choice", "my_choice:Choice", "workbench.objectives")
    monkeypatch.setattr(registry, "entry_points", lambda group: [offered] if group == offered.group else [])
    monkeypatch.syspath_prepend(str(own_file))
    assert "choice" in objectives.names()
    assert objectives.load("choice", temperature=2).temperature == 2
    assert objectives.load("vsepp+choice").terms[-1] == "choice.choice"


def test_it_stands_in_the_results_in_the_tables_and_on_the_leaderboard(own_file: Path) -> None:
    from tests.runs.test_experiment import SMALL, TINY
    from workbench.runs import Config, load_model
    from workbench.runs import store as runs
    from workbench.runs.train import train
    from workbench.views.pages import leaderboard

    (own_file / "tiny.json").write_text(json.dumps(TINY), encoding="utf-8")
    image = {"name": "towers", "model": str(own_file / "tiny.json"), "pretrained": ""}
    own = {"objective": "my_choice:Choice", "metrics": ["my_metric:ReciprocalRank"]}
    own |= {"image_encoder": image, "text_encoder": "towers"}
    config = Config(**own, **SMALL)
    folder = own_file / "runs" / "own" / "1"
    train(config, folder=folder, progress=False)
    assert runs.read(folder).status == "ok"
    assert json.loads((folder / "config.json").read_text())["objective"] == {"name": "my_choice:Choice"}
    results = (folder / runs.RESULTS).read_text()
    assert all(key in results for key in ("rsum", "i2t/mrr", "t2i/mrr"))
    assert load_model(folder).objective.temperature == 0.05
    made = leaderboard.build(own_file / "runs")
    for text in (made.csv.read_text(), made.html.read_text()):
        assert all(name in text for name in ("my_choice:Choice", "i2t/mrr", "t2i/mrr"))
