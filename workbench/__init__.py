"""itm-workbench: one harness in which every image-text matching objective meets the same data, encoders and
metrics.

The public face::

    import workbench as wb

    clip = wb.open_model("ViT-B-32", "clip.pt")      # an open_clip name, a folder, a run, an object
    photos = wb.load_data("photos", split="test")    # a data set's name, a path, a table
    result = wb.evaluate(clip, photos)               # every number with its interval and contract
    other = wb.evaluate(images="images.npy", texts="texts.npy", data=photos)
    wb.compare(result, other)                        # one table, with paired differences
    wb.errors(result, other)                         # queries that one answers rightly, the other wrongly
    wb.explore(result, other)                        # the retrieval explorer
    wb.sheet(result, other)                          # queries on which they differ, with their answers
    result.save("runs/mine")                         # a run like any other: ls, show, diff, build
    wb.train(wb.Config(objective="ditm"))            # train and evaluate; with folder="runs/mine", into a run

``Objective``, ``Encoder`` and ``Metric`` are the classes to derive from, and ``ModelProtocol`` says what a
model offers. Each name is imported when it is first asked for, so that ``import workbench`` stays quick and
without PyTorch.

For whoever changes it: a folder imports from lines below it, never from above. A registry is a folder whose
files are its menu; a file is a member where it says ``MEMBER = TheClassOrFunction``, and contract tests run
for each of them::

    cli/ tour/ views/               verbs; the guided first run; figures, the explorer, maps and pages
    runs/ execution/                one run, from its configuration to its folder; notebooks and grids of runs
    training/                       the loop
    objectives/                     registry: one paper, one file
    data/ text/ encoders/ metrics/  registries; text/ holds what captions alone can tell
    records/ losses/ registry.py    shared: Split, Batch, Embedding, Judgements, MetricKey, Measurement
    io/ formatting.py english.py    plumbing

    to change                 see
    an objective              a file like objectives/vsepp.py; objectives/base.py lists what it may say,
                              objectives/contract.py tests it
    an option, e.g. margin    an argument of __init__ of its class, with default and range. runs/config.py
                              reads it as objective.margin, make_objective in runs/resolve.py hands it to
                              registry.py: make, which checks it there, once
    a metric                  a function of ranks and a depth, and MEMBER = Metric.from_function(...), as in
                              metrics/kendall_tau.py; with parts or baselines a class, as
                              metrics/recall.py; metrics/registry.py lists its attributes, runs/measure.py
                              the judgements that it is measured by
    a data set                a function with @loader in a file like data/flickr30k.py, which returns a Split,
                              and a card in data_cards/; data/reading.py makes a Split of rows. A folder or a
                              table needs none: data=its path
    a layout of data          data/opening.py: LAYOUTS, SEARCH_ORDER, and _candidates_in_folders for files
                              that one layout alone claims; a reader in data/layouts.py
    how equal scores count    the rule is at the head of metrics/ranks.py. Ranks: _count_not_below there,
                              _count_reached in metrics/compiled.py. Lists of grades: metrics/grades.py.
                              Lists for people: blocks.best_items. Pairs: AUROC in calibration.py and
                              counterfactual_accuracy.py (half each), correlation.py (average ranks).
                              In words: records/measurement.py: TIES
    an interval               metrics/intervals.py: percentile_interval, Draws; of a difference
                              metrics/comparison.py: _adjust; over seeds metrics/seeds.py: t_interval
    a model                   none is needed for an object: open_model takes one with encode_image and
                              encode_text (runs/own.py: Encodes), or with score(images, texts), which scores
                              pairs (runs/pairs.py: PairScorer). A library's models: runs/adapters/. A new
                              kind: runs/model.py: Model, as runs/encoder_model.py derives from it
    what a run folder holds   the list at the head of runs/store.py; Result.save in runs/result.py writes it
    how captions are parsed   packages/caption_graphs, by its entry point scene_graph in workbench.text; what
                              a parser offers: text/graph_tokens.py: cached_graphs
    how the explorer asks     views/explorer/__init__.py: the path from the page to the scores and back
    a panel of the explorer   views/explorer/panels.py: Panel; packages/caption_graphs/panels has three

A run is one training or evaluation and its folder. A row is the place of an image or a caption in its split.
"Own" names the annotated pairs: caption ``t`` was written for image ``own[t]``.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.data import load as load_data
    from workbench.encoders import Encoder
    from workbench.metrics import Metric
    from workbench.objectives import Objective
    from workbench.records import Judgements as Judgements
    from workbench.records import MetricKey as MetricKey
    from workbench.records import Split as Split
    from workbench.runs import Config, open_runs, prepare
    from workbench.runs import load_model as load_model
    from workbench.runs.compare import compare
    from workbench.runs.errors import errors
    from workbench.runs.evaluate import evaluate
    from workbench.runs.models import open_model
    from workbench.runs.protocol import ModelProtocol
    from workbench.runs.resolve import resolve as resolve
    from workbench.runs.store import publish, run_folder
    from workbench.runs.train import train
    from workbench.text import SignalMaker as SignalMaker
    from workbench.views.explorer import Explorer as Explorer
    from workbench.views.explorer import explore
    from workbench.views.results import curves, differences, first_answers, numbers, sheet, verdicts

__version__ = "0.1.0"
__all__ = [
    "Config",
    "Encoder",
    "Metric",
    "ModelProtocol",
    "Objective",
    "compare",
    "curves",
    "differences",
    "errors",
    "evaluate",
    "explore",
    "first_answers",
    "load_data",
    "numbers",
    "open_model",
    "open_runs",
    "prepare",
    "publish",
    "run_folder",
    "sheet",
    "train",
    "verdicts",
]

# PyTorch reads it at its first allocation: blocks of scores then lie on huge pages, where Linux gives them on
# request, and a pass over all pairs takes two thirds of its time
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

VIEWS = ("curves", "differences", "first_answers", "numbers", "sheet", "verdicts")
HOMES = {
    **dict.fromkeys(("Config", "load_model", "open_runs", "prepare"), "runs"),
    "publish": "runs.store",
    "run_folder": "runs.store",
    "compare": "runs.compare",
    "errors": "runs.errors",
    "evaluate": "runs.evaluate",
    "explore": "views.explorer",
    "use_device": "devices:use",
    "load_data": "data:load",
    "ModelProtocol": "runs.protocol",
    "open_model": "runs.models",
    "resolve": "runs.resolve",
    "train": "runs.train",
    "Explorer": "views.explorer",
    **dict.fromkeys(VIEWS, "views.results"),
    "Encoder": "encoders",
    "Metric": "metrics",
    "Objective": "objectives",
    "SignalMaker": "text",
    **dict.fromkeys(("Split", "Judgements", "MetricKey"), "records"),
    **{module: f"{module}:*" for module in ("assets", "data", "formatting", "metrics", "runs", "text")},
}


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})


def __getattr__(name: str) -> Any:
    from workbench.registry import lazy_getattr

    return lazy_getattr(__name__, HOMES)(name)
