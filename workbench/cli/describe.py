"""What the members of the registries are, in the words of their own files: for ``list`` and ``explain``."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

import workbench as wb
from workbench.cli.output import align_columns
from workbench.execution import library
from workbench.records import MetricKey, require
from workbench.registry import REFERENCE, Group, did_you_mean
from workbench.runs.spellings import MEMBERS, name_of, typed_settings

KINDS = {
    "data": "data set",
    "encoders": "encoder",
    "metrics": "metric",
    "objectives": "objective",
    "text": "signal of captions",
}
# what annexes list beside the registries: name -> what it is, and what gives its rows and lines
LISTS: dict[str, tuple[str, Callable[[], tuple[list[dict[str, str]], list[str]]]]] = {}
# what is no member of a registry, and what is typed to read of it
TOLD_ELSEWHERE = {"notebook": "params {}", "grid": "list tables"}
# fields whose options are those of another
SAME_OPTIONS = {"text_encoder": "image_encoder", "reranker": "scorer"}
READS_WITH = re.compile(r"^Reads with:.*\n", re.MULTILINE)
SECTIONS = re.compile(r"\n(?:Args|Returns|Raises|Attributes|Source):\n|\n>>>")
SECTION, ENTRY = re.compile(r"\n(?=\S)"), re.compile(r"(?:^|\n) {4}(?=\S)")
BRACES, WIDTH = re.compile("[{}]"), 80
ASKED = {
    "i2t": "images ask, captions are found",
    "t2i": "captions ask, images are found",
    "i2i": "images ask, images are found",
    "t2t": "captions ask, captions are found",
}
# judgements of the data sets that are shipped, and what is relevant by them
JUDGED = {
    "own": "the pairs that the data set lists",
    "exact": "what holds in the drawn scene",
    "graded": "the share of the caption that holds in the drawn scene",
    "eccv": "ECCV Caption's positives",
    "cxc": "the ratings of Crisscrossed Captions",
    "sits": "the ratings of Crisscrossed Captions, image by caption",
    "levels": "HierarCaps' chains",
    "chains": "HierarCaps' chains",
    "expert": "the experts' ratings of Flickr8k",
    "human": "the crowd's votes on Flickr8k",
}


def member_rows(registry: str) -> list[dict[str, str]]:
    """Return the members of a registry: ``name``, ``describe_member`` it is and what it
    ``describe_needs``.
    """
    menu = import_module(f"workbench.{registry}")
    members = {name: menu.member(name) for name in menu.names()}
    return [
        {"name": name, "what": describe_member(registry, member), "needs": describe_needs(registry, member)}
        for name, member in members.items()
    ]


def member_lines(members: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """Return members from ``member_rows`` as lines that are at most so many characters wide."""
    heads = align_columns((one["name"], one["needs"]) for one in members)
    begin = max(map(len, heads)) + 2
    texts = (textwrap.shorten(one["what"], width - begin, placeholder=" ...") for one in members)
    return [f"{head:{begin}}{text}" for head, text in zip(heads, texts, strict=True)]


def all_members(width: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return all registries with the names of their members, and as lines that are at most so many characters
    wide.
    """
    registries = {registry: import_module(f"workbench.{registry}").names() for registry in KINDS}
    texts = {
        **{registry: ", ".join(names) for registry, names in registries.items()},
        **{name: about for name, (about, _) in LISTS.items()},
    }
    begin = max(map(len, texts)) + 2
    wrapped = [
        textwrap.wrap(f"{name:{begin}}{text}", width, subsequent_indent=" " * begin)
        for name, text in texts.items()
    ]
    found = [{"registry": registry, "members": names} for registry, names in registries.items()]
    return found, list(chain(*wrapped))


def describe_member(registry: str, member: Any) -> str:
    """Return what counts as a hit for a metric; else the first paragraph of the member's file: the paper, or
    what it is.
    """
    hit = BRACES.sub("", member.hit) if registry == "metrics" else ""
    return hit or next(iter(_paragraphs(_file_docstring(member) or inspect.getdoc(member) or "")), "")


def describe_needs(registry: str, member: Any) -> str:
    """Return what a member reads: the encoders of an objective's recipe and signals of captions, the inputs
    of an encoder, the evidence of a metric and whose judgements; empty for others.
    """
    if registry == "objectives":
        encoders = [name_of(member.recipe.get(f"{side}_encoder", "")) for side in ("image", "text")]
        return ", ".join(dict.fromkeys(filter(None, [*encoders, *member.needs])))
    if registry == "encoders":
        return ", ".join(filter(None, [member.image_input, "captions" if member.encodes_text else ""]))
    return f"{member.requires} by {', '.join(member.by)}" if registry == "metrics" else ""


def explain(name: str) -> list[str]:
    """Return a member wherever it stands: what it computes, with paper and equations, options with their
    defaults, recipe and file, as lines; a configuration with its values and where they are from.

    Args:
        name: of a member or a configuration, ``"my_module:MyLoss"``, the key of a number such as
            ``"exact:t2i/map_at_r"``, which stands for its metric, a field, or an option, ``"margin"`` or
            ``"objective.margin"``.

    Raises:
        KeyError: no registry has it; the message lists the near names.
    """
    from workbench.runs import config  # pydantic is slow to import

    require(name, "the name is empty; `workbench list` names what there is")
    wanted, near = name, name
    about = list[str]()
    metrics = import_module("workbench.metrics")
    with suppress(ValueError):
        key = MetricKey.parse(name)
        near = key.metric
        if name not in metrics.names() and near in metrics.names():
            wanted, about = near, _key_lines(key, metrics.member(near))
    pages = [_member_page(registry, wanted, member) for registry, member in _members_named(wanted)]
    with suppress(FileNotFoundError):
        pages.append(_preset_lines(library.find_file(name, "configuration")))
    if pages:
        for page in pages:
            about += [*page, ""]
        return about[:-1]
    known_fields = list(config.Config.model_fields)
    if name in known_fields:
        return list(_field_lines(name))
    if lines_of_option := list(_option_lines(name)):
        return lines_of_option
    for kind, words in TOLD_ELSEWHERE.items():
        with suppress(FileNotFoundError):
            library.find_file(name, kind)
            raise KeyError(f"{name} is a {kind}; `workbench {words.format(name)}` tells of it")
    remedy = did_you_mean(near, [*_member_names(), *known_fields], "`workbench list` names what there is")
    raise KeyError(f"no registry has {name!r}; {remedy}")


def _member_names() -> list[str]:
    """Return the names of all members."""
    names = set[str]()
    for registry in KINDS:
        names.update(import_module(f"workbench.{registry}").names())
    return sorted(names)


def _option_lines(name: str) -> Iterator[str]:
    """Yield an option, line by line: how it is written, and by default and text the members that take it."""
    from workbench.runs import config

    place, _, option = name.rpartition(".")
    place = SAME_OPTIONS.get(place, place)
    for path, members in config.members_with_option(option).items():
        if place not in ("", path.rpartition(".")[0]):
            continue
        yield f"{path}: option"
        alike: dict[tuple[str, str], list[str]] = {}
        for member, kind in members.items():
            for own, default, text in _option_texts(kind):
                if own == option:
                    alike.setdefault((_option_with_default(own, default), text), []).append(member)
        for (assigned, text), names in alike.items():
            yield from textwrap.wrap(f"  {assigned} of {', '.join(names)}", WIDTH, subsequent_indent="  ")
            yield from textwrap.wrap(text, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _option_with_default(option: str, default: Any) -> str:
    """Return an option with its default, alone where it has none."""
    return option if default is inspect.Parameter.empty else f"{option} = {default!r}"


def _field_lines(name: str) -> Iterator[str]:
    """Yield a field of the configuration, line by line: its type, default and text."""
    from workbench.runs import config

    about = config.Config.model_fields[name]
    kind = about.annotation
    texts: dict[str, str] = {}
    for owner in reversed(inspect.getmro(config.Config)):
        texts |= arg_entries(inspect.getdoc(owner) or "")
    is_member = inspect.isclass(kind) and issubclass(kind, config.Member)
    default = about.get_default(call_default_factory=True)
    type_name = kind.__name__ if inspect.isclass(kind) else str(kind).replace("typing.", "")
    yield f"{name}: field of the configuration"
    yield f"Type: {type_name}"
    yield f"Default: {default.name}" if is_member else f"Default: {default!r}"
    yield from textwrap.wrap(texts.get(name, ""), WIDTH)
    if is_member:
        about_kind = _paragraphs(inspect.getdoc(kind) or "")[0]
        yield from textwrap.wrap(about_kind.replace("``", "`"), WIDTH)


def configuration_rows(kind: str) -> tuple[list[dict[str, str]], list[str]]:
    """Return the configurations or grids that there are, each with the first line of its comment, and as
    lines.
    """
    rows = [{"name": path.stem, "what": _first_comment(path)} for path in library.list_files(kind)]
    return rows, member_lines([{**row, "needs": ""} for row in rows], 110)


def value_sources(path: Path) -> dict[str, str]:
    """Return where the values of a configuration are from: of each field, ``""`` where its file does not say.

    A comment before the values says it: ``# From the paper, section 3: lr, objective``. What it says of a
    member holds for its name and its options of which nothing else is said, ``data.name``.
    """
    source_of = dict[str, str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# From "):
            source, _, fields = line.removeprefix("# From ").partition(": ")
            source_of |= dict.fromkeys(fields.split(", "), source)
    out = {}
    for field in typed_settings(wb.Config.read(path).given_fields()):
        full = f"{field}.name." if field in MEMBERS else f"{field}."
        names = [name for name in source_of if full.startswith(f"{name}.")]
        out[field] = source_of[max(names, key=len)] if names else ""
    return out


def _preset_lines(path: Path) -> Iterator[str]:
    """Yield a configuration, line by line: what it is, and its values by where they are from."""
    yield f"{path.stem}: configuration"
    yield from ("", *textwrap.wrap(_first_comment(path), WIDTH))
    values, origins = typed_settings(wb.Config.read(path).given_fields()), value_sources(path)
    for source in dict.fromkeys(origins.values()):
        yield from ("", f"From {source}:" if source else "Its file does not say from where:")
        yield from (f"  {name} = {values[name]!r}" for name in values if origins[name] == source)
    yield from (
        "",
        f"File: notebooks/configs/{path.name}" if path.parent.name == "configs" else f"File: {path}",
    )


def _first_comment(path: Path) -> str:
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.lstrip("# ") if first.startswith("#") else ""


LISTS |= {
    f"{short}s": (f"{kind}s that come along", partial(configuration_rows, kind))
    for short, kind in (("config", "configuration"), ("grid", "grid"))
}


# what a metric may be measured by, so that the key of its number names no judgements
BY_PAIRS = {"own", "any", "densest", "densest pairs"}


def _key_lines(key: MetricKey, metric: Any) -> list[str]:
    """Return what a key says beside the metric: who asks, who judges, of which queries and galleries.

    Raises:
        KeyError: the metric is not measured so.
    """
    by = metric.by
    if key.judgements == "own" and not BY_PAIRS & set(by):
        example = replace(key, judgements="exact" if "others" in by else by[0])
        raise KeyError(
            f"{key.metric} is not measured by the annotated pairs; name the judgements, as in {example}"
        )
    require(
        by != ("own",) or key.judgements == "own",
        f"{key.metric} is measured by the annotated pairs alone; ask for {replace(key, judgements='own')}",
        KeyError,
    )
    near = did_you_mean(key.judgements, list(JUDGED))
    signals = import_module("workbench.text").names()
    judged = JUDGED | {signal: f"the grades that {signal} gives to pairs" for signal in signals}
    rule = judged.get(key.judgements, f"no data set here calls its judgements so, yours may; {near}")
    parts = [ASKED.get(key.direction), f"relevant by {key.judgements!r}: {rule}"]
    if key.k:
        parts.append(f"among the first {key.k}")
    if key.subset:
        parts.append(f"queries: {key.subset}")
    if key.folds > 1:
        parts.append(f"the mean of {key.folds} galleries")
    return [*textwrap.wrap(f"{key}: {'; '.join(filter(None, parts))}", WIDTH, subsequent_indent="  "), ""]


def _members_named(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the registries that have a name, with what it stands for there."""
    for registry in KINDS:
        menu = import_module(f"workbench.{registry}")
        if name in menu.names():
            yield registry, menu.member(name)
        elif REFERENCE.fullmatch(name) and registry != "data":
            with suppress(TypeError):
                yield registry, menu.member(name)


def _member_page(registry: str, name: str, member: Any) -> Iterator[str]:
    """Yield one member, line by line."""
    yield f"{name}: {KINDS[registry]}"
    text = "\n\n".join([_file_docstring(member), SECTIONS.split(inspect.getdoc(member) or "")[0]])
    for paragraph in _paragraphs(text.replace("``", "`")):
        item = paragraph.startswith("- ")
        yield from [] if item else [""]
        yield from textwrap.wrap(paragraph, WIDTH, subsequent_indent="  " * item)
    options = list(_option_texts(member))
    yield from ("", "Options:") if options else ("",)
    for option, default, about in options:
        yield f"  {_option_with_default(option, default)}"
        yield from textwrap.wrap(about, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    recipe = ", ".join(
        f"{field}={value}" for field, value in typed_settings(getattr(member, "recipe", {})).items()
    )
    end = {
        "Recipe on the synthetic scenes": recipe,
        "Reads": describe_needs(registry, member),
        "File": _file_of_member(member),
    }
    for title, content in end.items():
        text = f"{title}: {content}" if content else ""
        yield from textwrap.wrap(text, WIDTH, subsequent_indent="  ")


def _option_texts(kind: Callable[..., Any], prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield name, default and text of every option, those of a group of options after it."""
    owners = inspect.getmro(kind) if inspect.isclass(kind) else (kind,)
    texts = [arg_entries(inspect.getdoc(owner) or "") for owner in owners]
    hints = get_type_hints(kind.__init__ if inspect.isclass(kind) else kind, include_extras=True)
    for option, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            about = next((text[option] for text in texts if option in text), "")
            yield f"{prefix}{option}", parameter.default, about
            for mark in getattr(hints.get(option), "__metadata__", ()):
                if isinstance(mark, Group):
                    yield from _option_texts(mark.kind, f"{prefix}{option}.")


def arg_entries(doc: str) -> dict[str, str]:
    r"""Return the entries of the section ``Args`` of a docstring, each as one line.

    >>> arg_entries("Add.\n\nArgs:\n    a: one\n        number.\n    b, c: others.\n\nReturns:\n    d: e")
    {'a': 'one number.', 'b': 'others.', 'c': 'others.'}
    """
    section = SECTION.split(doc.partition("\nArgs:\n")[2])[0]
    texts = {}
    for entry in filter(None, ENTRY.split(section)):
        names, _, text = entry.partition(": ")
        for name in names.split(", "):
            texts[name.lstrip("*")] = " ".join(text.replace("``", "`").split())
    return texts


def _module_of_member(member: Any) -> Any:
    """Return the file that makes a member; a metric that is one of several stands where its function does."""
    function = getattr(member, "values_of", None)
    is_own = inspect.isfunction(function) and function.__name__ != "values_of"
    return inspect.getmodule(function if is_own else member)


def _file_of_member(member: Any) -> str:
    module = _module_of_member(member)
    inside = "/__init__" if hasattr(module, "__path__") else ""
    return f"{module.__name__.replace('.', '/')}{inside}.py"


def _file_docstring(member: Any) -> str:
    about = getattr(member, "about", "") or inspect.getdoc(_module_of_member(member)) or ""
    return READS_WITH.sub("", about)


def _paragraphs(text: str) -> list[str]:
    """Return paragraphs and entries of lists, each as one line."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text)
    return [" ".join(block.split()) for block in blocks if block.strip()]
