"""Figures that put runs or objectives side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.english import listed
from workbench.formatting import (
    display_value,
    format_count,
    format_interval,
    format_number,
    format_p_value,
    format_value,
    unit_heading,
)
from workbench.metrics.comparison import ALIKE, BETTER, UNDECIDED, WORSE, stated
from workbench.records import Array, MetricKey, require
from workbench.records.measurement import unit_of
from workbench.views.plots.descriptiveness import distributions
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    SYMBOLS,
    broken,
    dots,
    each,
    entry,
    escape,
    figure,
    on_axis,
    panels,
    whiskers,
)

SECONDS = "seconds"
# the greatest value of a parameter by the least, from which its axis is logarithmic
WIDE = 8
ZERO = {"color": INK, "dash": "dot", "width": 2}
APART = {
    BETTER: (CATEGORIES[2], "triangle-up"),
    WORSE: (CATEGORIES[3], "triangle-down"),
    ALIKE: (CATEGORIES[6], "square-open"),
    UNDECIDED: (CATEGORIES[6], "circle-open"),
}


def over_seeds(
    table: pd.DataFrame, *, title: str, x: str, unit: str = "share", lines: Mapping[str, float] | None = None
) -> go.Figure:
    """A dot with its interval for every objective, against lines.

    Args:
        table: the rows of one key from ``metrics.seeds.seed_statistics``, indexed by objective. A single seed
            has no interval and shows none.
        title: what the figure shows.
        x: name of the number.
        unit: what the number is, of ``formatting.UNITS``.
        lines: name of a line -> where it stands, as stored.

    Raises:
        ValueError: the table is empty.
    """
    require(len(table), "there is no objective to draw; choose a key that the table has")
    fig = figure(title, f"{x}, {unit_heading(unit)}", height=190 + 30 * len(table)).update_layout(
        margin={"t": 90}
    )
    table = table.rename(columns={"mean": "value"}).assign(
        run=table.index.map(str),
        face=unit,
        about=[f", mean of {format_count(n, 'seed')}" for n in table["seeds"]],
    )
    dots(fig, table, CATEGORIES[0], **entry(fig, "mean and interval"))
    for name, place in (lines or {}).items():
        fig.add_vline(
            display_value(place, unit), line=ZERO, annotation_position="bottom right",
            annotation={"text": name, "font": {"color": INK}},
        )  # fmt: skip
    return fig.update_yaxes(categoryorder="array", categoryarray=[escape(run) for run in table["run"][::-1]])


def differences(table: pd.DataFrame, *, against: str) -> go.Figure:
    """One panel a number: the difference of every run from the run ``against``, with its interval and the
    verdict.

    Args:
        table: rows of ``metrics.comparison.Difference``.
        against: name of the run at the zero line.

    Raises:
        ValueError: the table is empty.
    """
    require(len(table), "there is no second run to compare with the first; name two")
    units = dict(zip(table["key"], table["face"], strict=True))
    names = list(dict.fromkeys(table["run"]))
    told = ", ".join(
        f"{(table['verdict'] == one).sum()} {one}" for one in APART if one in set(table["verdict"])
    )
    # one below the other, so that a narrow page has room for the numbers of each axis
    heads = [
        escape(f"{MetricKey.parse(key).title}, {unit_heading(unit, difference=True)}")
        for key, unit in units.items()
    ]
    fig = (
        figure(
            f"Difference from {against}, each metric on its own scale: {told}",
            height=130 + (62 + 32 * len(names)) * len(heads),
        )
        .set_subplots(len(heads), 1, subplot_titles=heads, vertical_spacing=0.5 / len(heads))
        .update_annotations(font={"size": 13, "color": INK})
        .update_layout(legend={"y": 1 + 0.2 / len(heads)}, margin={"r": 64})
    )
    table = table.assign(about=[
        f", {stated(row.verdict, against)}; sign test: p (Holm) {format_p_value(row.p_holm)}, "
        f"better on {row.wins}, worse on {row.losses} images ({row.key})" for row in each(table)
    ])  # fmt: skip
    # each panel has a scale that fits it, and zero stands in the middle of all
    farthest = table[["low", "high", "value"]].abs().max(axis=1).groupby(table["key"]).max()
    for row, (key, unit) in enumerate(units.items(), 1):
        for verdict, look in APART.items():
            part = table[(table["key"] == key) & (table["verdict"] == verdict)]
            dots(fig, part, *look, **entry(fig, verdict, 1, row))
        fig.add_vline(0, line=ZERO, row=row, col=1)
        end = 1.08 * display_value(farthest[key], unit) or 1
        fig.update_xaxes(range=[-end, end], row=row)
        _values(fig, table[table["key"] == key], row)
    return fig.update_xaxes(tickangle=0).update_yaxes(**_named(names))


def _named(names: Sequence[str]) -> dict[str, Any]:
    """A vertical axis with a name a row, the first at the top, long ones in several lines."""
    rows = [escape(name) for name in names[::-1]]
    return {
        "categoryorder": "array",
        "categoryarray": rows,
        "range": [-0.6, len(names) - 0.3],
        "tickvals": rows,
        "ticktext": [broken(name) for name in names[::-1]],
    }


def _values(fig: go.Figure, table: pd.DataFrame, row: int) -> None:
    """Write each difference at the right of its panel."""
    for one in each(table):
        # with the minus that the axis has
        shown = format_value(one.value, one.face, sign=True).replace("-", "\u2212")
        fig.add_annotation(
            x=1.01, xref="x domain", xanchor="left", y=escape(one.run), showarrow=False, row=row, col=1,
            text=shown, font={"color": INK, "size": 12},
        )  # fmt: skip


def told_apart(pairs: pd.DataFrame, key: str) -> str:
    """How many pairs of objectives differ significantly by a number, from ``metrics.seeds.pairs``."""
    return (
        f"By `{key}`, {int(pairs['apart'].sum())} of {format_count(len(pairs), 'pair')} of objectives "
        "differ significantly (Welch's t test over seeds, Holm's rule)."
    )


def chosen(choices: pd.DataFrame, truth: str, pairs: pd.DataFrame | None = None) -> str:
    """Which objective each number would choose and what that costs by the truth, in short sentences.

    Args:
        choices: from ``metrics.seeds.choices``.
        truth: the key that is true.
        pairs: from ``metrics.seeds.pairs`` of the same arms, by the truth: adds from how many the best does
            not differ.
    """
    best, others = choices.to_dict("index")[truth], choices.drop(index=truth)
    # of numbers that lose the same, those by binary labels first: they are what the field goes by
    prefixed = [":" in str(key) for key in others.index]
    by_loss = others.assign(prefixed=prefixed).sort_values(["lost", "prefixed"], ascending=[False, True])
    wrong = by_loss[by_loss["lost"] > 0]
    said = [
        f"`{key}` would choose {row['chosen']}, with {format_value(row['truth'])} percent: "
        f"a loss of {_points(row['lost'])} percentage points."
        for key, row in wrong.head(2).iterrows()
    ]
    taus = {str(key): float(tau) for key, tau in others["tau"].items()}
    like, least = max(taus, key=taus.__getitem__), min(taus, key=taus.__getitem__)
    return (
        f"The truth (`{truth}`) chooses {best['chosen']}: {format_value(best['truth'])} percent."
        f"{'' if pairs is None else not_apart(pairs, best['chosen'])} "
        f"{' '.join(said) or 'Every other number chooses the same.'} "
        f"Of all numbers, `{like}` orders the {best['among']} ways of training most like the truth "
        f"(Kendall's tau {format_value(taus[like], 'correlation')}). `{least}` orders them least like it "
        f"({format_value(taus[least], 'correlation')})."
    )


def _points(share: float) -> str:
    """Percentage points, whole where they are many, so that they agree with rounded percentages beside."""
    return format_number(100 * share, 0) if share >= 0.1 else format_value(share)


def not_apart(pairs: pd.DataFrame, best: str) -> str:
    """How many others do not differ significantly from the best, a sentence; nothing where none.

    Args:
        pairs: from ``metrics.seeds.pairs``.
        best: name of an objective.
    """
    close = pairs[((pairs["objective"] == best) | (pairs["against"] == best)) & ~pairs["apart"]]
    verb = "does" if len(close) == 1 else "do"
    return (
        f" {format_count(len(close), 'other')} {verb} not differ from it significantly." if len(close) else ""
    )


def against_same_list(values: Mapping[str, Mapping[str, float]], same: Mapping[str, float]) -> str:
    """Which models one list for all queries beats, for every number; see ``metrics.map_at_r.same_list``.

    Args:
        values: key -> name of a model -> its number, as stored.
        same: key -> that of the list; keys without ``values`` are left out.
    """
    said = []
    for key, at in same.items():
        if of := values.get(key):
            back = MetricKey.parse(key).direction == "t2i"
            items, query = ("images", "caption") if back else ("captions", "image")
            below = [name for name, value in of.items() if value < at]
            who = listed(below) if len(below) < 3 else f"{len(below)} of {format_count(len(of), 'model')}"
            said.append(
                f"One list for all {query}s, the {items} that are true most often first, has "
                f"{format_value(at)} percent mAP@R, {f'more than {who}' if who else 'less than every model'}."
            )
    return " ".join(said)


def choosing(choices: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of a table of ``metrics.seeds.choices``, for ``tables.listing``."""
    return {
        "number": list(map(str, choices.index)),
        "would choose": choices["chosen"].tolist(),
        "Kendall's tau with the truth's order": [format_value(tau, "correlation") for tau in choices["tau"]],
        "truth of the chosen, percent": choices["truth"].map(format_value).tolist(),
        "lost, percentage points": choices["lost"].map(format_value).tolist(),
    }


def by_objective(measured: pd.DataFrame, keys: Sequence[str]) -> dict[str, list[str]]:
    """The columns of a table for ``tables.listing``: a mean with its interval for every objective and number.

    Args:
        measured: from ``metrics.seeds.seed_statistics``, under one more level of the index: which labels were
            positive.
        keys: the numbers, in the order of the columns.
    """
    found: dict[Any, Any] = measured.to_dict("index")
    rows = [(labels, name) for labels, number, name in found if number == keys[0]]
    out = {"positives": [labels for labels, _ in rows], "objective": [name for _, name in rows]}
    for key in keys:
        of = [found[labels, key, name] for labels, name in rows]
        if key == SECONDS:
            out[key] = [format_number(row["mean"], 0) for row in of]
        else:
            unit = unit_of(key)
            out[f"{key}, {unit_heading(unit)}"] = [
                format_interval(row["mean"], row["low"], row["high"], unit) for row in of
            ]
    return out


def recipe_rows(around: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of a table of ``execution.search.around``, for ``tables.listing``."""
    ways = [*around][[*around].index("value") + 1 :]
    return {
        "objective": around.index.tolist(),
        "learning rate": [format_number(rate, 3) for rate in around["lr"]],
        **{
            said: [format_number(number, 0) for number in around[field]]
            for said, field in (("warm-up epochs", "warmup_epochs"), ("epochs", "epochs"), ("steps", "steps"))
        },
        "percent": around["value"].map(format_value).tolist(),
        **{way: [format_value(change, sign=True) for change in around[way]] for way in ways},
        "seeds scatter by": around["scatter"].map(format_value).tolist(),
    }


def component_rows(components: pd.DataFrame) -> dict[str, list[str]]:
    """The columns of a table of ``metrics.seeds.components``, for ``tables.listing``."""
    return {
        "objective": components["objective"].tolist(),
        "component": components["component"].tolist(),
        "with it": components["with"].map(format_value).tolist(),
        "without": components["without"].map(format_value).tolist(),
        "difference": [
            format_interval(row.difference, row.low, row.high, sign=True) for row in each(components)
        ],
        "verdict": components["verdict"].tolist(),
    }


def helped(components: pd.DataFrame, key: str) -> str:
    """Which components help and which harm by a number, in a sentence, from ``metrics.seeds.components``."""
    parts = {
        verdict: [
            f"{row.objective}'s {row.component} ({format_value(row.difference, sign=True)})"
            for row in each(of)
        ]
        for verdict, of in components.groupby("verdict")
    }
    said = [
        f"{' and '.join(parts[verdict])} {verdict if len(parts[verdict]) == 1 else verdict[:-1]}"
        for verdict in ("helps", "harms")
        if verdict in parts
    ]
    undecided = len(parts.get("undecided", ()))
    return (
        f"By `{key}`, in percentage points: "
        f"{'. '.join(said) or 'no component makes a significant difference'}. "
        f"{undecided} of {format_count(len(components), 'component')} "
        f"{'is' if undecided == 1 else 'are'} undecided."
    )


def without(what: str, by_run: Mapping[str, object], reason: str) -> str:
    """Name the runs that lack something, in a sentence; empty where none does.

    Args:
        what: they lack.
        by_run: name -> what a run has of it, which is false where it has nothing.
        reason: why a run may lack it.

    >>> without("learning curve", {"a": [1.0], "b": []}, "not trained here")
    'No learning curve of b: not trained here.'
    """
    names = [name for name, there in by_run.items() if not there]
    return f"No {what} of {listed(names)}: {reason}." if names else ""


def learning_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> go.Figure:
    """Validation RSUM of all runs by epoch, and each loss as a share of its first epoch's, where a run has
    two or more of them. Losses of different objectives have different units; only their course compares.

    Args:
        histories: name -> one mapping an epoch with ``epoch``, ``val/rsum`` (in [0, 6]), and after training
            ``loss``.

    Raises:
        ValueError: no run has an epoch.
    """
    if not (trained := {name: history for name, history in histories.items() if history}):
        raise ValueError("none of the runs has been trained, so that there are no curves")
    losses = {name: pd.DataFrame(of).dropna(subset="loss") for name, of in trained.items()}
    columns = 2 if max(map(len, losses.values())) > 1 else 1
    best = max(trained, key=lambda name: max(row["val/rsum"] for row in trained[name]))
    fig = figure(f"Learning curves: {best} reaches the highest validation RSUM").set_subplots(
        1, columns, horizontal_spacing=0.12
    )
    for number, (name, history) in enumerate(trained.items()):
        table, loss = pd.DataFrame(history), losses[name]
        share = loss["loss"] / (loss["loss"].iloc[0] or 1.0)
        drawn = ((table["epoch"], on_axis(table["val/rsum"], "sum")), (loss["epoch"], share))
        for col, (x, y) in enumerate(drawn[:columns], 1):
            fig.add_scatter(
                x=x, y=y, mode="lines+markers", line={"width": 2.5}, marker_size=9,
                showlegend=col == 1, row=1, col=col, **_style(number, name),
            )  # fmt: skip
    return (
        fig.update_xaxes(title="epoch", dtick=max(1, max(map(len, trained.values())) // 10))
        .update_yaxes(title="loss, share of its first epoch", col=columns)
        .update_yaxes(title=f"validation RSUM, {unit_heading('sum')}", col=1)
    )


def _style(number: int, name: str) -> dict[str, Any]:
    """Colour and symbol of the run with this number, and its name in the legend."""
    colour = CATEGORIES[number % 7]
    return {"line_color": colour, "marker_color": colour, "marker_symbol": SYMBOLS[number % 7],
            "name": escape(name), "legendgroup": name}  # fmt: skip


def over_parameter(
    by_parameter: Mapping[str, Mapping[float, tuple[float | None, float | None, float | None]]],
    *,
    title: str,
    y: str,
    unit: str,
) -> go.Figure:
    """One panel a parameter: a number over it, with intervals; a wide range is drawn by its logarithm.

    Args:
        by_parameter: name of the parameter -> its value -> mean and the ends of its interval, ``None`` = not
            known.
        title: what the figure shows.
        y: name of the number.
        unit: what the number is, of ``formatting.UNITS``.
    """
    fig = panels(list(by_parameter), title, "", f"{y}, {unit_heading(unit)}", spacing=0.05)
    for column, by_value in enumerate(by_parameter.values(), 1):
        x = sorted(by_value)
        value, low, high = zip(*map(by_value.__getitem__, x), strict=True)
        wide = x[0] > 0 and x[-1] / x[0] >= WIDE
        fig.add_scatter(
            x=x, y=on_axis(value, unit), mode="lines+markers", marker={"color": CATEGORIES[0], "size": 9},
            line={"color": CATEGORIES[0], "width": 2.5}, showlegend=False, row=1, col=column,
            error_y=whiskers(value, low, high, CATEGORIES[0], unit, width=5), hoverinfo="text",
            hovertext=[f"{one}: {format_interval(*by_value[one], unit)}" for one in x],
        )  # fmt: skip
        fig.update_xaxes(
            tickvals=x, ticktext=list(map(str, x)), type="log" if wide else "linear", row=1, col=column,
            title="value, log scale" if wide else "value",
        )  # fmt: skip
    return fig.update_layout(height=360)


def distances(by_run: Mapping[str, Mapping[str, Array]], *, images: int) -> go.Figure:
    """One panel a run: how far apart images and captions are, within a modality and between the two (DIAS,
    Fig. 4). ``by_run``: run -> kind of pair -> distances, from ``runs.compare.distances``.
    """
    return distributions(
        by_run, of="pairs", x="Euclidean distance of unit vectors", bins=np.linspace(0, 2, 81),
        title=f"Distances within and between modalities, {format_count(images, 'image')} with a caption each",
    )  # fmt: skip


def speed(table: pd.DataFrame, times: Mapping[str, str], *, y: str) -> go.Figure:
    """Accuracy against what it costs, one panel a cost; a run whose cost is not known is left out of that
    panel.

    Args:
        table: indexed by run: ``value``, ``low``, ``high``, and one column a cost.
        times: column of the cost -> heading of its panel.
        y: key of the accuracy.

    Raises:
        ValueError: nobody's cost is known.
    """
    known = {column: heading for column, heading in times.items() if table[column].notna().any()}
    require(known, "no cost is known: the runs kept no checkpoint, and nothing was measured here")
    unit, title = unit_of(y), f"Accuracy against speed: {table['value'].idxmax()} is the most accurate"
    # four stand two a row, so that a narrow page has room for the numbers of each axis
    columns = len(known) if len(known) < 4 else 2
    rows = -(-len(known) // columns)
    fig = figure(title, height=120 + 290 * rows).set_subplots(
        rows, columns, subplot_titles=[escape(name) for name in known.values()], shared_yaxes=True,
        horizontal_spacing=0.06, vertical_spacing=0.44 / rows,
    )  # fmt: skip
    for number, (name, row) in enumerate(table.iterrows()):
        style = _style(number, str(name))
        for place, column in enumerate(known):
            fig.add_scatter(
                x=[row[column]], y=on_axis(row["value"], unit), mode="markers", marker_size=12,
                error_y=whiskers(row["value"], row["low"], row["high"], style["line_color"], unit),
                showlegend=not place, row=place // columns + 1, col=place % columns + 1, **style,
            )  # fmt: skip
    return (
        fig.update_annotations(font={"size": 13, "color": INK})
        .update_layout(margin={"b": 110}, legend={"y": -0.3 / rows, "yanchor": "top"})
        .update_xaxes(rangemode="tozero", title="milliseconds")
        .update_yaxes(title=f"{MetricKey.parse(y).title}, {unit_heading(unit)}", col=1)
    )
