"""The command line's frame: the application, the options that verbs share, and how a verb speaks and ends."""

import atexit
import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from copy import copy
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from workbench import progress
from workbench.io import signals
from workbench.runs import store
from workbench.runs.about import About

# read when torch is loaded: threads that wait asleep leave the cores to whatever else runs
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# the end of a process: what is left is not searched for circles, which takes seconds where torch is loaded
atexit.register(gc.freeze)


# of the click that typer brings along, whichever that is
UsageError: Any = typer.BadParameter.__base__


def echo(text: str, *, err: bool = False) -> None:
    """Print text, beside the progress that is shown."""
    with progress.aside():
        typer.echo(text, err=err)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End in one line for words that no command understands, as for everything else that is wrong."""
    try:
        yield
    except UsageError as error:
        message = " ".join(error.format_message().split()).rstrip(".")
        path, example = (error.ctx.command_path, error.ctx.command.epilog) if error.ctx else ("workbench", "")
        remedy = example if message.startswith("Missing") and example else f"see `{path} -h`"
        if "extra argument" in message and "=" in message:
            remedy = "write a setting as -p NAME=VALUE"
        line = "; ".join(part[:1].lower() + part[1:] for part in (message, remedy))
        echo(f"workbench: {line}", err=True)
        raise typer.Exit(2) from None


def _add_quiet(command: Any) -> None:
    """Add --quiet, which turns progress off as --json does, to the verbs that have --json."""
    for verb in getattr(command, "commands", {}).values():
        _add_quiet(verb)
    for option in [option for option in command.params if option.name == "as_json"]:
        quiet = copy(option)
        quiet.name = "quiet"
        quiet.opts = ["-q", "--quiet"]
        quiet.expose_value = False
        quiet.help = "Show no progress."
        command.params.append(quiet)


class Verbs(TyperGroup):
    """Verbs that show their progress, and that SIGTERM stops as Ctrl-C does, with the exit code that shells
    give a signal.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        _add_quiet(self)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Read the options that stand before the verb; without a word comes the help."""
        # shells leave ~ as it is behind =
        args = ["=".join(map(os.path.expanduser, word.split("="))) for word in args]
        with errors_in_one_line() if args else nullcontext():
            context = super().make_context(info_name, args, *rest, **extra)
        context.obj = next((word for word in args if not word.startswith("-")), "")
        return context

    def invoke(self, ctx: Any) -> Any:
        """Call the verb."""
        shown = progress.Task(f"workbench {ctx.obj}", background=True)
        # until something is named
        shown.detail = "opening the library"
        try:
            with signals.sigterm_raises(), errors_in_one_line(), progress.showing(), shown:
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            echo("workbench: interrupted; the same command goes on (train: with --resume)", err=True)
            raise typer.Exit(signals.exit_code(stop)) from None


ABOUT = "A notebook-first research workbench for image-text matching."
app = typer.Typer(
    cls=Verbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _silence_progress(chosen: bool) -> bool:
    """Show no progress where JSON is printed, or where nobody wants it."""
    if chosen:
        progress.turn_off()
    return chosen


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_silence_progress)]
Pairs = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Set a parameter; repeatable."),
]
Every = Annotated[bool, typer.Option("--all", help="Show every number.")]
Scores = Annotated[
    list[str] | None, typer.Option("--scores", metavar="FILE", help="Scores, a row an image; repeatable.")
]
RunFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--runs",
        metavar="FILE",
        help="Ranked lists, as TREC's, one direction a file; repeatable. t2i=FILE says which.",
    ),
]
Qrels = Annotated[
    list[str] | None, typer.Option("--qrels", metavar="FILE", help="Further ground truth, as TREC's.")
]
Out = Annotated[str, typer.Option(help="Run folder; empty makes a new one.")]
Record = Annotated[
    Path | None, typer.Option(help="Write the numbers that the grid file records to this table.")
]
TimeLimit = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="End a run after so many seconds.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say arms, steps, memory, hours and what is missing; run nothing.")
]


def _print_example(asked: bool) -> None:
    """Print the grid file to copy, and end the verb."""
    if asked:
        from workbench.execution import library

        typer.echo(library.find_file("example", "grid").read_text(encoding="utf-8"), nl=False)
        raise typer.Exit


Example = Annotated[
    bool,
    typer.Option(
        "--example", help="Print a grid file to copy, and stop.", is_eager=True, callback=_print_example
    ),
]
InPaper = Annotated[bool, typer.Option("--paper", help="Take the paper's own settings and data.")]
SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Keep good runs of the same parameters and code.")
]
Device = Annotated[str, typer.Option(help="auto (a GPU where there is one), cpu, cuda or cuda:1.")]
Precision = Annotated[str, typer.Option(help="Precision of encoding: auto, bf16 on a GPU, or float32.")]
RandomWeights = Annotated[
    bool, typer.Option("--random-weights", help="Let --model come without weights; they are random.")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Metrics beside the usual ones, or my_module:MyMetric; repeatable."),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD",
        help="Measure every slice of a field too: language, words:quartiles, has:negation; `within language` "
        "ranks each slice among itself; repeatable.",
    ),
]
GalleryOfSlices = Annotated[
    Literal["whole", "slice"],
    typer.Option("--gallery", help="Rank the queries of --by among the whole data, or their slice."),
]
Judge = Annotated[str, typer.Option(help="Grades captions for --metrics, such as cider.")]
Rounds = Annotated[
    int | None, typer.Option(help="Bootstrap rounds of the intervals; 0 makes none. [default: 1000]")
]
Models = Annotated[
    list[str] | None, typer.Option(help="An open_clip name, NAME:TAG, or a folder or hub name; repeatable.")
]
Data = Annotated[list[str] | None, typer.Option(help="A name, a path, a YAML file, or {...}; repeatable.")]
Name = Annotated[str, typer.Option(help="Name of the run, by which commands find it too.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="WORD", help="Tag of the run; repeatable.")]
Note = Annotated[str, typer.Option(help="Note that is kept with the run.")]
Tagged = Annotated[
    list[str] | None, typer.Option("--tag", metavar="WORD", help="Only runs with this tag; repeatable.")
]
Root = Annotated[str, typer.Option(help="Folder of all runs.")]

# What is wrong with words, values, files and packages.
USUAL = (ValueError, TypeError, LookupError, OSError, ImportError)


class WithPairs(TyperCommand):
    """A command whose ``-p name=value`` may also be two words, ``-p name value``, as in papermill."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words before the option is read, and read ``-p=name=value`` as ``-pname=value``."""
        short = set[str]()
        for parameter in self.params:
            short |= {option for option in parameter.opts if len(option) == 2}
        joined, words = [], iter(args)
        for word in words:
            # the parser would take the = behind a short option as the beginning of its value
            attached = word[:2] in short and word[2:3] == "="
            joined.append(word[:2] + word[3:] if attached else word)
            if word in ("-p", "--parameter"):
                name = next(words, "")
                value = "" if "=" in name else next(words, None)
                if not name or value is None:
                    typed = f"{word} {name}".rstrip()
                    echo(f"workbench: {typed} wants a name and a value", err=True)
                    raise typer.Exit(2)
                joined.append(name if "=" in name else f"{name}={value}")
        return super().parse_args(ctx, joined)


class WithFields(WithPairs):
    """A command whose ``-p`` sets fields of the configuration, which its help lists."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options and then the fields."""
        from workbench.runs.config import Config  # pydantic is slow to import

        super().format_options(ctx, formatter)
        with formatter.section("Fields of -p and of the file; `workbench explain FIELD` tells of one"):
            formatter.write_text(", ".join(Config.model_fields))


@contextmanager
def usage(kinds: tuple[type[Exception], ...] = USUAL, *, code: int = 2) -> Iterator[None]:
    """End the command with exit code 2 and the message of an error that a wrong word causes.

    Args:
        kinds: the errors that say so.
        code: another exit code, for what is not a wrong word.
    """
    try:
        yield
    except BrokenPipeError:  # whoever read the lines has enough of them: `workbench list metrics | head -3`
        raise
    except kinds as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        echo(f"workbench: {message}", err=True)
        raise typer.Exit(code) from None


def require_writable(folder: Path | str) -> None:
    """Raise if a folder cannot be written, without making it.

    Raises:
        OSError: it or the nearest folder above it cannot be written.
    """
    place = Path(folder).absolute()
    try:
        TemporaryFile(dir=next(one for one in (place, *place.parents) if one.exists())).close()
    except OSError as error:
        raise OSError(f"cannot write to {folder} ({error.strerror}); choose another folder") from None


def about_run(
    name: str, tags: list[str] | None, note: str, root: Path | str = "runs", folder: Path | str = ""
) -> About:
    """Read name, tags and note of a run as they were typed.

    Args:
        name: of the run; empty = none.
        tags: likewise.
        note: likewise.
        root: where no other run may have the name.
        folder: of the run, where it is there already.

    Raises:
        ValueError: a name or a tag that cannot be one; FileExistsError: another run has the name.
    """
    about = About(name, tags or (), note)
    store.check_name(name, root, folder)
    return about


def emit(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print the value as JSON, or the lines."""
    echo(json.dumps(value, indent=2, default=str) if as_json else "\n".join(lines))


def progress_callback() -> Callable[[str], None]:
    """Return what takes a line of progress."""
    return lambda line: echo(line, err=True) if progress.is_shown() else None


def parse_pairs(parameter: list[str] | None) -> dict[str, str]:
    """Read ``["a=1"]`` as ``{"a": "1"}``.

    Raises:
        ValueError: a name stands twice, with unlike values.
    """
    words: dict[str, str] = {}
    for pair in parameter or []:
        name, _, text = pair.partition("=")
        first = words.setdefault(name, text)
        if first != text:
            raise ValueError(f"-p {name} is {first!r:.200} and {text!r:.200}; give it once")
    return words


@app.callback(invoke_without_command=True, help=ABOUT)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Print the version, or the help where no command is given."""
    if version:
        from workbench import __version__

        echo(f"itm-workbench {__version__}")
        raise typer.Exit
