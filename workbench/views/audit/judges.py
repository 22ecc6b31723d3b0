"""Which judge to take: how well each agrees with people and with the exact truth, as it was recorded.

The table ``judges`` of the recorded results holds correlations of each judge with the crowd's ratings of
Flickr8k, on the half of its images that nobody looked at while parameters were fixed (``people``), and with
the share of a caption's statements that hold in the embedded world (``truth``).
"""

import pandas as pd

from workbench import assets
from workbench.records.shown import count, shown, with_interval
from workbench.text.sentence import TRAINED_ON_CAPTIONS

KEY = "pearson[without own]"


def judge_agreement(key: str = KEY) -> pd.DataFrame:
    """Recorded correlations, best with people first.

    Args:
        key: which number: ``"pearson"`` or ``"spearman"``, also ``"[without own]"``.

    Returns:
        One row a judge; the columns ``people`` and ``truth`` with value and interval as they are shown.
    """
    table = assets.recorded("judges")
    table = table[table.key == key]
    order = table[table.data == "people"].sort_values("value", ascending=False).judge
    numbers = zip(table.value, table.low, table.high, strict=True)
    told = [with_interval(float(at), float(low), float(high), "correlation") for at, low, high in numbers]
    return table.assign(told=told).pivot(index="judge", columns="data", values="told").loc[order]


def judge_advice(key: str = KEY) -> str:
    """Two sentences, computed: which judge agrees best with people and which with the truth, and so which to
    take.
    """
    table = assets.recorded("judges")
    table = table[(table.key == key) & ~table.judge.str.contains(",")]
    said, best = {}, {}
    for data, rows in table.sort_values("value", ascending=False).groupby("data"):
        told = zip(rows.judge, rows.value, strict=True)
        said[data] = ", ".join(f"{judge} {shown(float(value), 'correlation')}" for judge, value in told)
        best[data] = rows.judge.iloc[0]
    people, truth = (
        count(int(table[table.data == data].pairs.iloc[0]), "pair") for data in ("people", "truth")
    )
    same = best["people"] == best["truth"]
    other = "the same judge" if same else f"`{best['truth']}`"
    return (
        f"Take `{best['people']}` for captions of photographs: with people's ratings of {people} of Flickr8k "
        f"that are not own, no judge agrees better (Pearson: {said['people']}); for `sentence`, "
        f"{TRAINED_ON_CAPTIONS}. With the exact truth of {truth} of the embedded world, whose captions no "
        f"encoder was trained on, {other} agrees best ({said['truth']})."
    )
