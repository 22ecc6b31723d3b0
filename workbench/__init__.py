"""itm-workbench: one harness in which every image-text matching objective meets the same data, encoders and
metrics.

The names below are the public face. Each is imported when it is first asked for, so that ``import workbench``
stays quick and without PyTorch.
"""

from typing import TYPE_CHECKING

from workbench.registry import lazily

if TYPE_CHECKING:
    from workbench.data import load as load_data  # noqa: F401
    from workbench.devices import use as use_device  # noqa: F401
    from workbench.encoders import Encoder as Encoder
    from workbench.metrics import Metric as Metric
    from workbench.objectives import Objective as Objective
    from workbench.records import Judgements as Judgements
    from workbench.records import MetricKey as MetricKey
    from workbench.records import Split as Split
    from workbench.runs import Config as Config
    from workbench.runs import load_model as load_model
    from workbench.runs import open_runs as open_runs
    from workbench.runs import run as run
    from workbench.runs.compare import table as compare  # noqa: F401
    from workbench.runs.resolve import resolve as resolve
    from workbench.runs.result import open_model as open_model
    from workbench.text import SignalMaker as SignalMaker
    from workbench.views.explorer import Explorer as Explorer

__version__ = "0.1.0"

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Config", "run", "load_model", "open_runs"), "runs"),
        "resolve": "runs.resolve",
        "use_device": "devices:use",
        "open_model": "runs.result",
        "compare": "runs.compare:table",
        "load_data": "data:load",
        "Explorer": "views.explorer",
        "Encoder": "encoders",
        "Metric": "metrics",
        "Objective": "objectives",
        "SignalMaker": "text",
        **dict.fromkeys(("Split", "Judgements", "MetricKey"), "records"),
        **{module: f"{module}:*" for module in ("assets", "data", "formatting", "metrics", "runs", "text")},
    },
)
