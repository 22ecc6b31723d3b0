"""The commands ``languages`` and ``lengths``: one gallery, several sets of captions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from benchmark_sets.variants import Variant
    from workbench.records import Split

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
    import workbench as wb
    from benchmark_sets import variants

    require(model, "name a model with --model")
    require_writable(root)
    splits = variants.languages_of(data, folder or None, language or ())
    wb.use_device(device, precision)
    measured = _measure(model or [], splits, rounds, mean=True)
    _report(Path(root) / "languages", data, measured, as_json=as_json)


@app.command(epilog="Example: workbench lengths docci --model ViT-B-32:openai --tokens 20 --tokens 77")
@usage()
def lengths(  # noqa: PLR0913 - typer reads the options from the signature
    data: Annotated[str, typer.Argument(help="A name of `workbench list data`, or a path.")],
    model: Models = None,
    tokens: Annotated[
        list[int] | None, typer.Option(min=3, help="CLIP's tokens that are kept; repeatable.")
    ] = None,
    words: Annotated[
        list[int] | None, typer.Option(min=1, help="Words in place of tokens; repeatable.")
    ] = None,
    folder: Folder = "",
    rounds: Rounds = None,
    device: Device = "auto",
    precision: Precision = "auto",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Measure retrieval by the beginning of each caption.

    The curve is flat after as many tokens as a model reads. Tokens are CLIP's for every model, which is
    given the whole words that they hold.
    """
    import workbench as wb
    from benchmark_sets import variants

    require(model, "name a model with --model")
    require_writable(root)
    splits = variants.lengths_of(data, folder or None, tokens or (), words or ())
    wb.use_device(device, precision)
    measured = _measure(model or [], splits, rounds, mean=False)
    _report(Path(root) / "lengths", Path(data).name, measured, as_json=as_json)


def _measure(
    models: Sequence[str], splits: "Mapping[str, Split]", rounds: int | None, *, mean: bool
) -> "dict[str, list[Variant]]":
    """Measure models on sets of captions, by the name of the model."""
    import workbench as wb
    from benchmark_sets import variants
    from benchmark_sets.written import rounds_or_usual

    measured = {}
    for name in models:
        opened = wb.open_model(name)
        measured[name] = variants.measure_variants(opened, splits, mean=mean, rounds=rounds_or_usual(rounds))
    return measured


def _report(folder: Path, data: str, measured: "Mapping[str, list[Variant]]", *, as_json: bool) -> None:
    """Write the numbers of all models below a folder, and print a table for each."""
    from benchmark_sets import variants
    from benchmark_sets.written import write_records

    records: dict[str, dict[str, Any]] = {}
    lines: list[str] = []
    for name, sets in measured.items():
        records[name] = {}
        for variant in sets:
            numbers = [number.as_dict() for number in variant.measurements]
            records[name][variant.name] = {"numbers": numbers, "note": variant.note}
        lines += [f"{data}, {name}, in percent", *variants.table_lines(sets)]
    file = write_records(folder, data, {"data": data, "results": records})
    emit(records, as_json, [*lines, str(file)])
