"""itm-workbench: one harness in which every image-text matching objective meets the same data, encoders and
metrics.

The public face::

    import workbench as wb

    clip = wb.open_model("ViT-B-32", "clip.pt")      # an open_clip name, a folder, a run, an object
    photos = wb.load_data("photos", split="test")    # a data set's name, a path, a table
    result = wb.evaluate(clip, photos)               # every number with its interval and contract
    other = wb.evaluate(images="images.npy", texts="texts.npy", data=photos)
    wb.compare(result, other)                        # one table, with paired differences
    wb.explore(result, other)                        # the retrieval explorer
    result.save("runs/mine")                         # a run like any other: ls, show, diff, build
    wb.train(wb.Config(objective="ditm"))            # train and evaluate; Config lists every setting

``Objective``, ``Encoder`` and ``Metric`` are the classes to derive from. Each name is imported when it is
first asked for, so that ``import workbench`` stays quick and without PyTorch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.data import load as load_data
    from workbench.encoders import Encoder
    from workbench.metrics import Metric
    from workbench.objectives import Objective
    from workbench.records import Judgements as Judgements
    from workbench.records import MetricKey as MetricKey
    from workbench.records import Split as Split
    from workbench.runs import Config
    from workbench.runs import load_model as load_model
    from workbench.runs import open_runs as open_runs
    from workbench.runs import run as run
    from workbench.runs.compare import compare
    from workbench.runs.evaluate import evaluate
    from workbench.runs.models import open_model
    from workbench.runs.resolve import resolve as resolve
    from workbench.runs.train import run as train
    from workbench.text import SignalMaker as SignalMaker
    from workbench.views.explorer import Explorer as Explorer
    from workbench.views.explorer import explore

__version__ = "0.1.0"
__all__ = [
    "Config", "Encoder", "Metric", "Objective", "compare", "evaluate", "explore", "load_data", "open_model",
    "train",
]  # fmt: skip

HOMES = {
    **dict.fromkeys(("Config", "run", "load_model", "open_runs"), "runs"),
    "compare": "runs.compare",
    "evaluate": "runs.evaluate",
    "explore": "views.explorer",
    "use_device": "devices:use",
    "load_data": "data:load",
    "open_model": "runs.models",
    "resolve": "runs.resolve",
    "train": "runs.train:run",
    "Explorer": "views.explorer",
    "Encoder": "encoders",
    "Metric": "metrics",
    "Objective": "objectives",
    "SignalMaker": "text",
    **dict.fromkeys(("Split", "Judgements", "MetricKey"), "records"),
    **{module: f"{module}:*" for module in ("assets", "data", "formatting", "metrics", "runs", "text")},
}


def __getattr__(name: str) -> Any:
    from workbench.registry import lazily

    return lazily(__name__, HOMES)(name)
