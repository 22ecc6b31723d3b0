"""Pages: every piece of HTML is written in a template (``*.html.j2``) and filled here.

A template lies beside the code that fills it and is named by its path below ``workbench/``; one of another
package is named by its whole path. Every text that
it prints passes through ``escape``; it may call the formatters of ``formatting``, ``data_uri``, and
``file``, which gives a style or script of the package as it stands. ``base.html.j2`` is the frame of a whole
page with its style, ``table.html.j2`` a page of tables, and ``parts.html.j2`` holds the macros that pages
share.
"""

import base64
import html
import io
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench import formatting

if TYPE_CHECKING:
    from jinja2 import Environment
    from PIL import Image

# explicit embeddings, overrides and isolates: signs that turn the direction of writing
TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than a text.

    Args:
        text: as shown.
        note: a smaller line below it.
        link: where the text leads.
        order: what its column is sorted by; empty takes the text.
        best: whether it is shaded.
        hover: what the pointer shows, e.g. the key of a number.
    """

    text: str
    note: str = ""
    link: str = ""
    order: float | str = ""
    best: bool = False
    hover: str = ""


def fill_template(template: str | Path, **values: Any) -> Markup:
    """Return a template filled with values: a whole page, or a piece of one.

    Args:
        template: path below ``workbench/``, e.g. ``"views/explorer/static.html.j2"``, or a file elsewhere.
        values: what the template names; texts are escaped, what ``fill_template`` has returned is taken as
            it is.

    Raises:
        jinja2.TemplateNotFound: there is no such template.
        jinja2.UndefinedError: the template names a value that was not given.
    """
    environment = _template_environment()
    if isinstance(template, Path):
        loaded = environment.from_string(template.read_text(encoding="utf-8"))
    else:
        loaded = environment.get_template(template)
    return Markup(loaded.render(values))


def escape(text: str) -> str:
    r"""Return text for a figure or a page: no markup, no ``$`` that a notebook would read as mathematics, no
    sign that controls.

    Blanks of every kind become a blank; control characters, lone surrogates and the signs that turn the
    direction of writing become a mark. Texts written from right to left stay as they are.

    >>> escape("a <b> & $x$")
    'a &lt;b&gt; &amp; &#36;x&#36;'
    >>> escape("one\ntwo\x00") == "one two\ufffd"
    True
    """
    plain = "".join(map(_printable_sign, text))
    # plotly reads numeric entities but not "&quot;".
    return html.escape(plain).replace("&quot;", "&#34;").replace("$", "&#36;")


def join_lines(texts: Sequence[str]) -> str:
    """Return texts one below the other for a label or the hover box of a figure, each escaped.

    >>> join_lines(["a", "<b>"])
    'a<br>&lt;b&gt;'
    """
    return "<br>".join(map(escape, texts))


def scale(image: "Image.Image", side: int) -> "Image.Image":
    """Return an image in RGB of at most ``side`` pixels, never enlarged."""
    small = image.convert("RGB")
    small.thumbnail((side, side))
    return small


def encode(image: "Image.Image", side: int, kind: str, **options: Any) -> bytes:
    """Return an image of at most so many pixels a side, as the bytes of a ``"PNG"``, ``"JPEG"`` or ``"WEBP"``
    file; the options are those of Pillow.
    """
    file = io.BytesIO()
    scale(image, side).save(file, format=kind, **options)
    return file.getvalue()


def data_uri(image: "Image.Image", side: int = 112) -> str:
    """Return a thumbnail inside the page: a PNG of at most ``side`` pixels as a data URI."""
    return "data:image/png;base64," + base64.b64encode(encode(image, side, "PNG", optimize=True)).decode()


def join_scripts(folder: Path, names: Sequence[str]) -> str:
    """Return the scripts of a folder as one module, in this order, without what they import from one
    another.
    """
    scripts = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"(?m)^import [^;]*;\n|^/\*\* @import .*\n|^export (?!default)", "", scripts)


@cache
def data_tables() -> dict[str, str]:
    """Return DataTables, which sorts and searches the tables of a page offline: its style, and its script as
    a data URI.
    """
    bundle = files("itables") / "html"
    script = base64.b64encode((bundle / "dt_bundle.js").read_bytes()).decode()
    style = (bundle / "dt_bundle.css").read_text(encoding="utf-8")
    return {"style": style, "script": f"data:text/javascript;base64,{script}"}


@cache
def _template_environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("workbench", ".")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_print_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (
        formatting.format_value,
        formatting.format_interval,
        formatting.format_number,
        formatting.format_count,
        formatting.unit_heading,
        data_uri,
        data_tables,
    )
    environment.globals |= {function.__name__: function for function in functions}
    environment.globals["file"] = lambda name: Markup(loader.get_source(environment, name)[0])
    # a number that is not finite is an error here, not a script that no browser reads
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def _print_value(value: Any) -> Any:
    """Return what a template prints: markup of ours as it is, everything else by the rules of ``escape``."""
    return value if hasattr(value, "__html__") else Markup(escape(str(value)))


def _printable_sign(sign: str) -> str:
    if sign.isspace():
        return " "
    return "\ufffd" if _is_control(sign) else sign


def _is_control(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs") or unicodedata.bidirectional(sign) in TURNING
