"""What a notebook shows of results: tables, curves, differences and answers, of one result or of several.

Figures are ``plotly.graph_objects.Figure``, tables and sheets ``IPython.display.HTML``.
"""

from collections.abc import Sequence
from typing import Any, Literal

import plotly.graph_objects as go
from IPython.display import HTML

from workbench.english import join_words
from workbench.records import require
from workbench.registry import check_arguments, class_of
from workbench.runs import compare
from workbench.runs.compare import Comparison
from workbench.runs.opening import require_results, share_split
from workbench.runs.result import Result
from workbench.views.plots import comparison, retrieval, tables, theme, training

# labels with their contracts
Labelled = list[tuple[str, dict[str, Any]]]


@check_arguments("numbers")
def numbers(results: Result | Comparison, *, every: bool = False, links: bool = False) -> HTML:
    """Show numbers with their intervals and contracts: queries, gallery, chance, and what counts as a hit.

    Args:
        results: one result, or what ``compare`` returns of several.
        every: all numbers of one result, and not those to look at first; of several these are the numbers
            that were compared.
        links: let each value lead to its queries in an explorer on the same page, see ``explore``.
    """
    if not isinstance(results, Comparison):
        require_results(results)
    run = results.runs[0] if isinstance(results, Comparison) else results
    return HTML(tables.numbers(_contracts(results, every), title=run.split.name, links=links))


def _contracts(results: Result | Comparison, every: bool) -> dict[str, Labelled]:
    """Return the numbers of each result as pairs of a label and a contract."""
    if isinstance(results, Result):
        contracts = {row.label: row.as_dict() for row in results.measurements}
        labels = results.text_table(every=every).index
        return {results.name: [(label, contracts[label]) for label in labels]}
    pairs: dict[str, Labelled] = {}
    rows: Any = results.numbers.to_dict("index").items()
    for (name, label), contract in rows:
        pairs.setdefault(name, []).append((label, contract))
    return pairs


@check_arguments("curves")
def curves(*results: Result) -> go.Figure:
    """Draw how training went: of one result the terms of its loss and the validation, of several the
    validation and the course of each loss. The title names those that were not trained here.

    Args:
        results: of ``train`` or ``open_runs``.
    """
    require_results(*results)
    trained = [run for run in results if run.history]
    if not trained:
        return _only_a_title("No learning curves: nothing was trained")
    if len(results) == 1:
        run = trained[0]
        return training.curves(run.history, select=run.select, kept=run.kept_epochs)
    fig = comparison.learning_curves({run.name: run.history for run in trained})
    others = [run.name for run in results if not run.history]
    if others:
        title = f"{fig.layout.title.text}; not trained here: {theme.escape(join_words(others))}"
        fig.update_layout(title={"text": title})
    return fig


@check_arguments("first_answers")
def first_answers(result: Result) -> go.Figure:
    """Draw what the first answers are: annotated, true without being annotated, or wrong.

    Args:
        result: measured on data that know the truth; of others the figure says that they do not.
    """
    require_results(result)
    own, true = training.first_answer_shares(result.measurements)
    if not (own and true):
        return _only_a_title("First answers: these data do not say which other pairs are true")
    return training.first_answers(own, true)


@check_arguments("differences")
def differences(compared: Comparison, *, links: bool = False) -> go.Figure:
    """Draw the difference of every result from the first one, a panel a number, with interval and verdict.

    Args:
        compared: of ``compare``.
        links: let the heading of each panel lead to the queries of its number, see ``numbers``.

    Raises:
        ValueError: there is no second result.
    """
    _require_comparison(compared)
    return comparison.differences(compared.differences, against=compared.runs[0].name, links=links)


@check_arguments("verdicts")
def verdicts(compared: Comparison, *, links: bool = False) -> HTML:
    """Show the same differences as a table, with the images that each is better and worse on.

    Args:
        compared: of ``compare``.
        links: let each difference lead to its queries, see ``numbers``.
    """
    _require_comparison(compared)
    title = f"Against {compared.runs[0].name}; {compared.runs[0].split.name}"
    return HTML(tables.verdicts(compared.differences, title=title, links=links))


@check_arguments("sheet")
def sheet(
    *results: Result,
    direction: Literal["i2t", "t2i"] = "t2i",
    queries: Sequence[str] = (),
    count: int = 3,
    k: int = 5,
) -> HTML:
    """Show queries with the best answers of every result, each marked as annotated, true, partly true or
    wrong, as far as the data know.

    Args:
        results: of one split.
        direction: ``"t2i"``: captions query images; ``"i2t"``: images query captions.
        queries: ids of images or captions to show first.
        count: further queries, of several results those on which they differ most; of one result they are
            those with the best, the median and the worst rank, and 0 leaves them out.
        k: answers a query.

    Raises:
        ValueError: the results are of different splits.
        KeyError: an id that is neither an image's nor a caption's.
    """
    require_results(*results)
    runs = share_split(results)
    split, alone = runs[0].split, len(runs) == 1
    ranks = compare.ranks(runs, direction)
    rows = compare.choose_queries(ranks, split, direction, queries, 0 if alone else count)
    if alone and count:
        rows += retrieval.best_median_worst(ranks[0])
    scores = {run.name: run.scores_of(direction) for run in runs}
    page = retrieval.sheet(scores, rows, split, direction=direction, grade=compare.make_grader(split), k=k)
    return HTML(page)


def _require_comparison(compared: Any) -> None:
    """Raise if something is no comparison."""
    require(
        isinstance(compared, Comparison),
        f"{class_of(compared)} is no comparison; give what compare(first, second) returns",
        TypeError,
    )


def _only_a_title(title: str) -> go.Figure:
    """Draw a figure that says why there is nothing to draw."""
    return theme.figure(title, height=70).update_xaxes(visible=False).update_yaxes(visible=False)
