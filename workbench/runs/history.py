"""What a training did, in sentences computed from its history."""

from collections.abc import Iterable, Mapping, Sequence

from workbench.formatting import format_count, format_number, format_value, unit_heading
from workbench.records import Measurement
from workbench.records.measurement import chance_warning, unit_of
from workbench.training.averaging import best_epoch


def training_summary(
    history: Sequence[Mapping[str, float]],
    *,
    select: str,
    kept: Sequence[int],
    measurements: Iterable[Measurement] = (),
) -> str:
    """Describe which epoch is kept, by what it was chosen, what training cost, and which one RSUM would have
    kept.

    Args:
        history: one mapping an epoch, as ``fit`` returns it; epoch 0 is the untrained model.
        select: key of the validation number that chose the epoch.
        kept: the epochs whose weights these are, one or those of a mean.
        measurements: of the test split; a sentence follows where RSUM is not above chance.
    """
    if not history:
        return "Nothing was trained: this is the starting point."
    parts = [_describe_choice(history, select, kept), f"{_describe_cost(history[-1])}."]
    if select != "rsum":
        best = int(history[best_epoch(history, "rsum")]["epoch"])
        epoch = "the same" if [*kept] == [best] else f"epoch {best}"
        parts.append(f"Validation rsum would keep {epoch}.")
    chance = chance_warning({row.label: row.as_dict() for row in measurements})
    return " ".join([f"{parts[0]}; {parts[1]}", *parts[2:], chance]).rstrip()


def _describe_cost(last: Mapping[str, float]) -> str:
    return f"{format_count(int(last['steps']), 'step')} in {format_number(last['seconds'], 0)} s"


def _describe_choice(history: Sequence[Mapping[str, float]], select: str, kept: Sequence[int]) -> str:
    """Describe whose weights these are."""
    epochs = int(history[-1]["epoch"])
    if len(kept) > 1:
        return f"The weights are the mean of those of epochs {kept[0]} to {kept[-1]} of {epochs}"
    value = _format_value_of_epoch(history, select, kept[0])
    if kept[0] == 0:
        return (
            f"No epoch was better than the starting point by validation {select} ({value}), so the weights "
            "are those of epoch 0, the untrained model"
        )
    return (
        f"The weights are those of epoch {kept[0]} of {epochs}, the best by validation {select} "
        f"({value}; {_format_value_of_epoch(history, select, 0)} before training)"
    )


def _format_value_of_epoch(history: Sequence[Mapping[str, float]], select: str, epoch: int) -> str:
    """Return the validation number of an epoch with its unit."""
    unit = unit_of(select)
    (row,) = (row for row in history if row["epoch"] == epoch)
    return f"{format_value(row[f'val/{select}'], unit)} {unit_heading(unit)}"
