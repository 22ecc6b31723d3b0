"""What all verbs share: the application, the options, and how lines and JSON are printed."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

app = typer.Typer(
    help="A notebook-first research workbench for image-text matching.",
    rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=True,
)  # fmt: skip

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Pairs = Annotated[
    list[str] | None, typer.Option("-p", "--parameter", metavar="NAME VALUE", help="Set one; repeatable.")
]
FromFile = Annotated[Path | None, typer.Option("-f", "--file", help="YAML or JSON file of parameters.")]
Every = Annotated[bool, typer.Option("--all", help="Not only the numbers to look at first.")]
Out = Annotated[str, typer.Option(help="Run folder; empty makes a new one.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")]
Root = Annotated[str, typer.Option(help="Folder of all runs.")]
Executor = Annotated[str, typer.Option(help="local, submitit or dask.")]
Jobs = Annotated[int, typer.Option(help="Runs at a time, with the local executor.")]
Record = Annotated[
    Path | None, typer.Option(help="Write the numbers that the grid file records to this table.")
]
SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Keep good runs of the same parameters and code.")
]


# What is wrong with words, values, files and packages.
USUAL = (ValueError, TypeError, LookupError, OSError, ModuleNotFoundError)


class WithPairs(TyperCommand):
    """A command whose ``-p name value`` takes two words, as papermill's does, or one, ``name=value``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words before the option is read."""
        joined, words = [], iter(args)
        for word in words:
            joined.append(word)
            if word in ("-p", "--parameter"):
                name = next(words, "")
                joined.append(name if "=" in name else f"{name}={next(words, '')}")
        return super().parse_args(ctx, joined)


@contextmanager
def usage(*kinds: type[Exception]) -> Iterator[None]:
    """A wrong word ends the verb with its message and exit code 2.

    Args:
        kinds: errors that are the caller's; without, those of words, values, files and packages.
    """
    try:
        yield
    except kinds or USUAL as error:  # noqa: B030 - a tuple of classes in either case
        message = error.args[0] if isinstance(error, KeyError) else error
        typer.echo(f"workbench: {message}", err=True)
        raise typer.Exit(2) from None


def writable(folder: Path | str) -> None:
    """Refuse a folder that cannot be written, without making it.

    Raises:
        OSError: it or the nearest folder above it cannot be written.
    """
    place = Path(folder).absolute()
    try:
        TemporaryFile(dir=next(one for one in (place, *place.parents) if one.exists())).close()
    except OSError as error:
        raise OSError(f"cannot write to {folder} ({error.strerror}); choose another folder") from None


def emit(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print the value as JSON, or the lines."""
    print(json.dumps(value, indent=2, default=str) if as_json else "\n".join(lines))


def columns(rows: Iterable[Iterable[object]]) -> list[str]:
    """Rows as lines whose cells stand below one another."""
    table = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def pairs(given: list[str] | None) -> dict[str, str]:
    """``["a=1"]`` as ``{"a": "1"}``."""
    return {name: value for name, _, value in (pair.partition("=") for pair in given or [])}


def numbers(found: Iterable[Any], *, every: bool = True) -> list[str]:
    """Measured numbers with their intervals and how many queries they are over, one a line.

    Args:
        found: of type ``Measurement``, or pairs of a label and a contract that holds the value.
        every: all of them; else those to look at first, and a last line that counts the others.
    """
    from workbench.records import readable

    rows = {row["number"]: row for row in readable.rows(found)}
    shown = list(rows) if every else readable.headline(rows)
    heads = ("number", "value", "in", "queries")
    lines = columns([heads, *([rows[label][head] for head in heads] for label in shown)]) if rows else []
    left = len(rows) - len(shown)
    return [*lines, f"and {left} more; --all shows them"] if left else lines


def headline(results: Mapping[str, Any], *, every: bool = False) -> list[str]:
    """The numbers of ``results.json`` to look at first, or all of them, one a line."""
    from workbench.records import readable

    return numbers(readable.of_results(results), every=every)


def facts(run: Any) -> dict[str, Any]:
    """A run as JSON values."""
    return {**asdict(run), "folder": str(run.folder)}
