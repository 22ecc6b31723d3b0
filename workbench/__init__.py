"""itm-workbench: one harness in which every image-text matching objective meets the same data, encoders and
metrics.

The names below are the public face. Each is imported when it is first asked for, so that ``import workbench``
stays quick and without PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.encoders import Encoder as Encoder
    from workbench.metrics import Metric as Metric
    from workbench.objectives import Objective as Objective
    from workbench.records import Judgements as Judgements
    from workbench.records import Split as Split
    from workbench.runs import Config as Config
    from workbench.runs import load_model as load_model
    from workbench.runs import open_runs as open_runs
    from workbench.runs import run as run
    from workbench.text import SignalMaker as SignalMaker
    from workbench.views.explorer import Explorer as Explorer

__version__ = "0.1.0"
FACE = {
    **dict.fromkeys(("Config", "run", "load_model", "open_runs"), "runs"),
    "Explorer": "views.explorer",
    "Encoder": "encoders",
    "Metric": "metrics",
    "Objective": "objectives",
    "SignalMaker": "text",
    **dict.fromkeys(("Split", "Judgements"), "records"),
}


def __getattr__(name: str) -> Any:
    if name not in FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{FACE[name]}"), name)
