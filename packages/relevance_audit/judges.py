"""Which judge to take: how well each agrees with people and with the exact truth, as it was recorded.

The table ``judges`` of the recorded results holds correlations of each judge with the crowd's ratings of
Flickr8k, on the half of its images that nobody looked at while parameters were fixed (``people``), and with
the share of a caption's statements that hold on the synthetic scenes (``truth``). The table ``judge_orders``
holds NCS by each judge of every run of the recorded comparison.
"""

import pandas as pd

from workbench import assets
from workbench.formatting import format_count, format_interval, format_value
from workbench.metrics import seeds
from workbench.records import MetricKey
from workbench.text.sentence import TRAINED_ON_CAPTIONS

KEY = "pearson[without own]"


def judge_agreement(key: str = KEY) -> pd.DataFrame:
    """Return recorded correlations, best with people first: one row a judge; ``levels``, ``people`` and
    ``truth`` with value and interval as they are shown.
    """
    table = assets.read_recorded("judges")
    table = table[table.key == key]
    order = table[table.data == "people"].sort_values("value", ascending=False).judge
    numbers = zip(table.value, table.low, table.high, strict=True)
    texts = [format_interval(float(at), float(low), float(high), "correlation") for at, low, high in numbers]
    return table.assign(text=texts).pivot(index="judge", columns="data", values="text").loc[order]


def judge_advice(key: str = KEY) -> str:
    """Return two sentences, computed: which judge agrees best with people and which with the truth, and so
    which to take.
    """
    table = assets.read_recorded("judges")
    table = table[(table.key == key) & ~table.judge.str.contains(",")]
    figures, best = {}, {}
    for data, rows in table.sort_values("value", ascending=False).groupby("data"):
        values = zip(rows.judge, rows.value, strict=True)
        figures[data] = ", ".join(
            f"{judge} {format_value(float(value), 'correlation')}" for judge, value in values
        )
        best[data] = rows.judge.iloc[0]
    people, truth = (
        format_count(int(table[table.data == data].pairs.iloc[0]), "pair") for data in ("people", "truth")
    )
    number = key.partition("[")[0].capitalize()
    same = best["people"] == best["truth"]
    other = "the same judge" if same else f"`{best['truth']}`"
    agreement = (
        f"Take `{best['people']}` for captions of photographs. It agrees best with people's ratings "
        f"of {people} of Flickr8k that are not annotated ({number}: {figures['people']}). "
    )
    truths = f"With the exact truth of {truth} of the synthetic scenes, "
    encoders = "No encoder was trained on captions of this world."
    sentence = f"About `sentence`: {TRAINED_ON_CAPTIONS}. "
    return f"{agreement}{sentence}{truths}{other} agrees best ({figures['truth']}). {encoders}"


def choices_by_judge(truth: str) -> pd.DataFrame:
    """Return what each judge's NCS at 10 would choose of the recorded comparison, and what the exact truth
    does.

    Args:
        truth: key of the number that is true, e.g. ``"exact:t2i/map_at_r"``; its direction is that of NCS.

    Returns:
        As ``metrics.seeds.choice_by_number``; a number of a judge is named as in ``"t2i/ncs@10 by cider"``.
    """
    judged, exact = assets.read_recorded("judge_orders"), assets.read_recorded("comparison_scenes")
    direction = MetricKey.parse(truth).direction
    judged = judged[[MetricKey.parse(key).direction == direction for key in judged.key]]
    named = judged.assign(key=judged.key + " by " + judged.judge).drop(columns="judge")
    both = pd.concat([named, exact[exact.key == truth]], ignore_index=True)
    return seeds.choice_by_number(seeds.table_over_seeds(both), truth)
