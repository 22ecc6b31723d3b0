"""A suite for others to read: mteb's results, the hub's model cards, CSV, LaTeX and trackers."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark_sets.cells import TABS, leading_numbers
from benchmark_sets.suites import Cell, Suite
from workbench.formatting import display_value
from workbench.io import write_json, write_text
from workbench.records import MetricKey
from workbench.records.measurement import contracts_of, measurement_row, unit_of
from workbench.training.processes import check_machine

CSV, LATEX = "suite.csv", "suite.tex"
MTEB, CARDS = "mteb", "model-index"
# how mteb writes the folder of a model without a revision
NO_REVISION = "no_revision_available"
# of mteb, ISO 639-3 and the script
LANGUAGE_CODES = (
    "ar:ara-Arab bn:ben-Beng cs:ces-Latn da:dan-Latn de:deu-Latn el:ell-Grek en:eng-Latn "
    "es:spa-Latn fa:fas-Arab fi:fin-Latn fil:fil-Latn fr:fra-Latn he:heb-Hebr hi:hin-Deva "
    "hr:hrv-Latn hu:hun-Latn id:ind-Latn it:ita-Latn ja:jpn-Jpan jp:jpn-Jpan ko:kor-Hang "
    "mi:mri-Latn nl:nld-Latn no:nob-Latn pl:pol-Latn pt:por-Latn quz:quz-Latn ro:ron-Latn "
    "ru:rus-Cyrl sv:swe-Latn sw:swa-Latn te:tel-Telu th:tha-Thai tr:tur-Latn uk:ukr-Cyrl "
    "vi:vie-Latn zh:zho-Hans "
)
LANGUAGES = dict(pair.split(":") for pair in LANGUAGE_CODES.split())
# undetermined; mteb counts no score that has no language
ANY_LANGUAGE = "und-Zyyy"
# of the hub, by the tab of the page
TASKS = {"classification": "zero-shot-image-classification"}
RETRIEVAL = "image-text-retrieval"


def write_all(suite: Suite) -> list[Path]:
    """Write every file into the folder of a suite.

    Args:
        suite: with one cell at least.
    """
    folder = suite.folder
    files = [write_text(folder / CSV, suite.table().to_csv(index=False))]
    files.append(write_text(folder / LATEX, "\n".join(latex_tables(suite))))
    for cell in _measured(suite):
        place = folder / MTEB / _file_name(cell.model) / NO_REVISION
        place.mkdir(parents=True, exist_ok=True)
        files.append(write_json(place / f"{_file_name(cell.benchmark)}.json", mteb_result(cell)))
    (folder / CARDS).mkdir(exist_ok=True)
    for model in suite.models:
        if card := model_card(suite, model):
            files.append(write_text(folder / CARDS / f"{_file_name(model)}.md", card))
    return files


def _measured(suite: Suite) -> list[Cell]:
    return [cell for cell in suite.cells if cell.status == "ok"]


def _file_name(name: str) -> str:
    """Return a name as mteb writes it in a path."""
    return re.sub(r"[^\w.-]+", "_", name.replace("/", "__"))


def mteb_result(cell: Cell) -> dict[str, Any]:
    """Return the numbers of a cell as mteb's ``TaskResult`` reads them.

    The task has the name that it has here, since the numbers are not those of mteb's own tasks. Sets of
    captions in a language are subsets; ``main_score`` is the first leading number, and
    ``main_score_name`` names it.

    Args:
        cell: that was measured.
    """
    contracts = dict(contracts_of(cell.results()))
    keys = {label: MetricKey.parse(label) for label in contracts}
    subsets: dict[str, dict[str, float]] = {}
    for label in sorted(contracts, key=lambda label: keys[label].k or 0):
        subset = keys[label].subset if keys[label].subset in LANGUAGES else "default"
        subsets.setdefault(subset, {})[label] = contracts[label]["value"]
    leading = leading_numbers(list(contracts), cell.tab)
    scores = []
    for subset, values in subsets.items():
        main = next((label for label in leading if label in values), next(iter(values)))
        about = {"main_score": values[main], "main_score_name": main, "hf_subset": subset}
        scores.append({**values, **about, "languages": _languages_of(subset, len(subsets))})
    return {
        "dataset_revision": str(cell.made_from.get("data", "")),
        "task_name": cell.benchmark,
        "mteb_version": None,
        "scores": {"test": scores},
        "evaluation_time": cell.seconds or None,
        "kg_co2_emissions": None,
    }


def _languages_of(subset: str, subsets: int) -> list[str]:
    """Return the languages of a subset; the mean of several has none, so that mteb counts it once."""
    if subset in LANGUAGES:
        return [LANGUAGES[subset]]
    return [ANY_LANGUAGE] if subsets == 1 else []


def model_card(suite: Suite, model: str) -> str:
    """Return the front matter of the hub's model card, with ``model-index``; empty = nothing was measured.

    Args:
        suite: its numbers are those of the page, in percent where the page has percent.
        model: name of one of its models.
    """
    from huggingface_hub import EvalResult, ModelCardData

    results = []
    for cell in _measured(suite):
        if cell.model != model:
            continue
        contracts = dict(contracts_of(cell.results()))
        for label in leading_numbers(list(contracts), cell.tab):
            results.append(EvalResult(**_card_fields(cell, label, contracts[label])))
    if not results:
        return ""
    return f"---\n{ModelCardData(model_name=model, eval_results=results).to_yaml()}\n---\n"


def _card_fields(cell: Cell, label: str, contract: Mapping[str, Any]) -> dict[str, Any]:
    """Return a number as the hub's ``EvalResult`` takes it."""
    unit = unit_of(label, contract)
    arguments = {}
    for name in ("low", "high", "chance"):
        if contract.get(name) is not None:
            arguments[name] = display_value(contract[name], unit)
    fields = {"task_type": TASKS.get(cell.tab, RETRIEVAL), "task_name": cell.tab}
    fields |= {"dataset_type": _file_name(cell.benchmark), "dataset_name": cell.benchmark}
    fields |= {"dataset_split": "test", "metric_type": label, "metric_name": MetricKey.parse(label).title}
    return {
        **fields,
        "metric_value": display_value(contract["value"], unit),
        "metric_args": arguments or None,
    }


def latex_tables(suite: Suite) -> Iterator[str]:
    """Yield a ``tabular`` for each tab, with booktabs: a row a model, a column a number with its interval.

    Args:
        suite: its leading numbers.
    """
    for tab in TABS:
        rows: dict[str, dict[tuple[str, str], str]] = {}
        columns: dict[tuple[str, str], None] = {}
        for cell in _measured(suite):
            if cell.tab != tab:
                continue
            contracts = dict(contracts_of(cell.results()))
            for label in leading_numbers(list(contracts), tab):
                column = cell.benchmark, MetricKey.parse(label).title
                columns[column] = None
                rows.setdefault(cell.model, {})[column] = measurement_row(label, contracts[label])["value"]
        if rows:
            texts = []
            for of_model in rows.values():
                texts.append([of_model.get(column, "") for column in columns])
            heads = pd.MultiIndex.from_tuples(list(columns))
            table = pd.DataFrame(texts, index=list(rows), columns=heads)
            yield f"% {tab}\n{table.to_latex(escape=True, multicolumn_format='c')}"


def log_to(tracker: str, suite: Suite, say: Callable[[str], None] = lambda line: None) -> None:
    """Log the numbers to a tracker of experiments, a run for each model.

    Args:
        tracker: ``"tensorboard"``, ``"wandb"`` or ``"mlflow"``.
        suite: whose numbers are logged, by benchmark.
        say: is told what was logged.

    Raises:
        ImportError: the tracker is not installed.
    """
    from accelerate import Accelerator

    check_machine("cpu", tracker)
    for model in suite.models:
        values: dict[str, float] = {}
        for cell in _measured(suite):
            if cell.model == model:
                values |= _named_for_trackers(cell, [label for label, _ in contracts_of(cell.results())])
        if not values:
            continue
        accelerator = Accelerator(cpu=True, log_with=tracker, project_dir=str(suite.folder))
        named = {"wandb": {"name": model}, "mlflow": {"run_name": model}}
        about = {name: value for name, value in suite.models[model].items() if isinstance(value, int | float)}
        project = f"suite-{_file_name(model)}" if tracker == "tensorboard" else "itm-workbench"
        accelerator.init_trackers(project, config={"model": model, **about}, init_kwargs=named)
        accelerator.log(values, step=0)
        accelerator.end_training()
        say(f"{tracker}: {len(values)} numbers of {model}")


def _named_for_trackers(cell: Cell, labels: Sequence[str]) -> dict[str, float]:
    """Return the numbers of a cell under names that all trackers take."""
    metrics = cell.results()["metrics"]
    names = {label: f"{cell.benchmark}/{label}".replace("@", "_at_") for label in labels}
    return {re.sub(r"[^\w./ -]+", "_", name).rstrip("_"): metrics[label] for label, name in names.items()}
