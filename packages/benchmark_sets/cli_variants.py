"""The commands ``languages`` and ``lengths``: one gallery, several sets of captions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.base import (
    AsJson,
    Device,
    Models,
    Precision,
    Root,
    Rounds,
    app,
    emit,
    require_writable,
    usage,
)
from workbench.records import require

Folder = Annotated[str, typer.Option(help="Of the data; empty looks below WORKBENCH_DATA.")]


@app.command(epilog="Example: workbench languages xm3600 --model ViT-B-32:openai --language de --language ja")
@usage()
def languages(  # noqa: PLR0913 - typer reads the options from the signature
    data: Annotated[str, typer.Argument(help="xm3600, xtd10 or multi30k.")],
    model: Models = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Of the captions; repeatable. All by default.")
    ] = None,
    folder: Folder = "",
    rounds: Rounds = None,
    device: Device = "auto",
    precision: Precision = "auto",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Measure retrieval in each language, and their mean.

    Images are encoded once. A caption finds images, and an image the captions of one language.
    """
    from benchmark_sets import variants

    require(model, "name a model with --model")
    require_writable(root)
    splits = variants.languages_of(data, folder or None, language or ())
    _measure((data, "languages"), model or [], splits, (device, precision, rounds), (root, as_json))


@app.command(epilog="Example: workbench lengths docci --model ViT-B-32:openai --words 16 --words 64")
@usage()
def lengths(  # noqa: PLR0913 - typer reads the options from the signature
    data: Annotated[str, typer.Argument(help="A name of `workbench list data`, or a path.")],
    model: Models = None,
    words: Annotated[list[int] | None, typer.Option(min=1, help="Words that are kept; repeatable.")] = None,
    folder: Folder = "",
    rounds: Rounds = None,
    device: Device = "auto",
    precision: Precision = "auto",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Measure retrieval by the first words of each caption.

    The curve is flat after as many words as a model reads.
    """
    import workbench as wb
    from benchmark_sets import variants

    require(model, "name a model with --model")
    require_writable(root)
    options = {"root": folder} if folder else {}
    split = wb.load_data(data, **options)
    splits = variants.cut_captions(split, words or variants.LENGTHS)
    _measure((Path(data).name, "lengths"), model or [], splits, (device, precision, rounds), (root, as_json))


def _measure(
    named: tuple[str, str],
    models: list[str],
    splits: Mapping[str, Any],
    how: tuple[str, str, int | None],
    written: tuple[str, bool],
) -> None:
    """Measure models on sets of captions, print a table for each, and write all numbers."""
    import workbench as wb
    from benchmark_sets import variants
    from benchmark_sets.written import rounds_or_usual, write_records

    device, precision, rounds = how
    (data, what), (root, as_json) = named, written
    wb.use_device(device, precision)
    records: dict[str, Any] = {}
    lines: list[str] = []
    for name in models:
        mean, drawn = what == "languages", rounds_or_usual(rounds)
        measured = variants.measure_variants(wb.open_model(name), splits, mean=mean, rounds=drawn)
        for variant in measured:
            numbers = [number.as_dict() for number in variant.measurements]
            records.setdefault(name, {})[variant.name] = {"numbers": numbers, "note": variant.note}
        lines += [f"{data}, {name}, in percent", *variants.table_lines(measured)]
    file = write_records(Path(root) / what, data, {"data": data, "results": records})
    emit(records, as_json, [*lines, str(file)])
