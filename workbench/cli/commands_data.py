"""The command that describes a data set: its size, its fields, and what is doubtful there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

import workbench as wb
from workbench.cli.base import AsJson, Pairs, WithPairs, app, emit, parse_pairs, require_writable, usage
from workbench.cli.output import align_columns
from workbench.execution import parameters
from workbench.formatting import format_count
from workbench.io import require_table_name, write_table

if TYPE_CHECKING:
    from workbench.records import Field, Split

# what has a line, or a table, of its own below the others
BELOW = ("fields", "computed")


@app.command(cls=WithPairs, epilog="Example: workbench data photos/ --split train")
@usage()
def data(
    name: str,
    parameter: Pairs = None,
    split: str = "",
    out: Annotated[str, typer.Option(help="Write captions and fields here: .csv, .json or .parquet.")] = "",
    card: Annotated[
        bool, typer.Option("--card", help="Write card.yaml beside the data, by which others measure.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a data set by name or path: size, fields and notes.

    Without --split it takes the test split of a name, or all that lies at a path. It also lists what is
    doubtful there, such as one image under two names. Fields are columns that no reader needs, and what is
    computed when it is asked for; `evaluate --by FIELD` measures their slices. The card declares how the data
    are read and freezes ids and checksums; `evaluate --data card.yaml` then says what differs.
    """
    from workbench.data.cards import OF_OWNER
    from workbench.runs.caption_tables import caption_table
    from workbench.runs.data_card import write_card

    if out:
        require_table_name(out)
        require_writable(out)
    options = parameters.read_data_options(parse_pairs(parameter))
    path = wb.data.path_of(name)
    whole = path and not card and wb.data.member(name).takes("layout")
    loaded = _load(name, split or ("all" if whole else ""), options)
    about = _describe(loaded, at_path=path is not None)
    said = {name.replace("_", " "): _plain_value(value) for name, value in about.items() if name not in BELOW}
    said["fields on demand"] = _plain_value(about["computed"])
    lines = [*align_columns(said.items()), *_field_lines(list(loaded.fields.values()))]
    if out:
        about["table"] = str(write_table(out, caption_table(loaded)))
        lines.append(about["table"])
    if card:
        written = write_card(name, loaded, **options)
        about["card"] = str(written)
        lines.append(f"{written}: fill in {', '.join(OF_OWNER)}; then `workbench evaluate --data {written}`")
    emit(about, as_json, lines)


def _load(name: str, split: str, options: dict[str, Any]) -> "Split":
    """Load what a name or a path stands for; of a path, images are not read now."""
    if not wb.data.path_of(name):
        return wb.load_data(name, split=split or "test", **options)
    if wb.data.member(name).takes("check_images"):
        options = {"check_images": False, **options}
    return wb.load_data(name, split=split, **options)


def _describe(loaded: "Split", *, at_path: bool) -> dict[str, Any]:
    """Return what is known of a split; of data at a path also what is doubtful."""
    from workbench.data.opening import find_doubts
    from workbench.runs.fields import AllFields

    doubtful = {"doubtful": find_doubts(loaded)} if at_path else {}
    return {
        "name": loaded.name,
        **loaded.fingerprint(),
        "judgements": sorted(loaded.judgements),
        "notes": list(loaded.notes),
        **doubtful,
        "fields": [field.row() for field in loaded.fields.values()],
        "computed": [field for field in AllFields(loaded) if field not in loaded.fields],
    }


def _field_lines(fields: "Sequence[Field]") -> list[str]:
    """Return the fields of a data set as a table."""
    if not fields:
        return []
    heads = ("name", "owner", "kind", "missing", "values")
    table = [["field", *heads[1:]]]
    for row in (field.row() for field in fields):
        table.append([str(row[head]) for head in heads])
    return ["", *align_columns(table)]


def _plain_value(value: Any) -> str:
    """Return a value of a data set's description as a reader would write it."""
    if isinstance(value, dict):
        return ", ".join(f"{key} ({format_count(number, 'image')})" for key, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return format_count(value) if isinstance(value, int) else str(value)
