"""Ranked lists and ground truth in the forms of other tools: files of TREC, JSON, tables, and what ranx and
eccv_caption hold in memory.

===============  =========================================================================================
form             what it says
===============  =========================================================================================
run of TREC      a line ``query Q0 item rank score tag``; scores order the items, and ranks are not read
qrels of TREC    a line ``query 0 item grade``
JSON, mapping    ``{query: {item: score}}``, or ``{query: [items, best first]}``; in one file of both
                 directions by ``i2t`` and ``t2i``
table            columns ``query``, ``item`` and ``score`` (of a run also ``rank``, of qrels ``grade``) in
                 ``.csv``, ``.tsv``, ``.parquet`` or memory; maybe ``direction``
===============  =========================================================================================
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.data.columns import normalise_name
from workbench.formatting import format_count
from workbench.io import (
    parse_json,
    reading_errors,
    replacing,
    require_real_file,
    resolve_input,
    resolve_output,
    write_json,
)
from workbench.metrics.blocks import AnyScores, best_items, by_rows
from workbench.records import Rows, Split, Values, require
from workbench.registry import class_of
from workbench.runs.ways import WAYS

RUN = ("query", "Q0", "item", "rank", "value", "tag")
QRELS = ("query", "iteration", "item", "value")
# what columns are called, by what they hold
QUERY = ("query", "query_id", "q_id", "qid")
ITEM = ("item", "item_id", "corpus_id", "doc_id", "docid", "docno", "doc", "document")
VALUE = ("score", "grade", "relevance", "rel", "label", "similarity", "sim", "value")
MATRICES = (".npy", ".npz", ".pt", ".safetensors")
# lists that a result writes, where nobody says how long
DEPTH = 1000


class Form(NamedTuple):
    """What a source is to hold.

    Args:
        fields: of a line of TREC.
        what: in words.
    """

    fields: tuple[str, ...]
    what: str


LISTS = Form(RUN, "ranked lists")
GRADES = Form(QRELS, "ground truth")


class Placed(NamedTuple):
    """Values of pairs by the rows of a split.

    Args:
        way: the direction.
        query, item: ``(N,)`` rows.
        values: ``(N,)`` scores or grades.
        notes: what was not read.
    """

    way: str
    query: Rows
    item: Rows
    values: Values
    notes: tuple[str, ...]


def sources_of(given_runs: Any) -> list[tuple[str, Any]]:
    """List sources with their directions; ``""`` = their ids say it.

    Args:
        given_runs: one source, a list of them, or a mapping of directions.
    """
    if isinstance(given_runs, list | tuple):
        every: list[tuple[str, Any]] = []
        for part in given_runs:
            every += sources_of(part)
        return every
    if isinstance(given_runs, Mapping) and given_runs and set(given_runs) <= {*WAYS}:
        return list(given_runs.items())
    return [("", given_runs)]


def runs_of(files: Sequence[str]) -> list[list[Any]]:
    """Put files of ranked lists together that are the two directions of one run: a file begins another one
    where its queries are those of an earlier file.

    Args:
        files: as they were typed; ``t2i=FILE`` says the direction.

    Returns:
        The sources of each run, as ``lists.open_lists`` takes them.
    """
    groups: list[list[Any]] = []
    queries: dict[str, set[str]] = {}
    for word in files:
        way, _, file = word.partition("=")
        source: Any = {way: file} if way in WAYS else word
        own = _queries_of(source) if len(files) > 1 else {}
        if not groups or _share_a_query(queries, own):
            groups.append([])
            queries = {}
        groups[-1].append(source)
        for direction, names in own.items():
            queries[direction] = queries.get(direction, set()) | names
    return groups


def _queries_of(source: Any) -> dict[str, set[str]]:
    """Return the ids of queries by direction, ``""`` = not known."""
    queries: dict[str, set[str]] = {}
    for way, part in sources_of(source):
        for direction, table in read_pairs(part, LISTS):
            queries[way or direction] = set(table["query"].unique())
    return queries


def _share_a_query(first: Mapping[str, set[str]], second: Mapping[str, set[str]]) -> bool:
    """Return whether some query is in both, in what may be one direction."""
    for way, names in first.items():
        for other, other_names in second.items():
            if (way == other or "" in (way, other)) and names & other_names:
                return True
    return False


def name_of(source: Any, form: Form) -> str:
    """Return what messages call a source: its file, else what it holds."""
    return str(source) if isinstance(source, str | Path) else form.what


def read_pairs(source: Any, form: Form) -> list[tuple[str, pd.DataFrame]]:
    """Read pairs of a query and an item with their values.

    Args:
        source: a file, a mapping, a table, or an object of ranx.
        form: what it holds.

    Returns:
        By direction, ``""`` = it does not say so, a table with the columns ``query``, ``item`` and ``value``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError, TypeError: it holds something else, a pair twice, or a value that is not finite; the
            message names the line or the query.
    """
    name = name_of(source, form)
    content = _read_content(resolve_input(source), form) if isinstance(source, str | Path) else source
    if hasattr(content, "to_pandas"):
        content = content.to_pandas()
    elif not isinstance(content, Mapping | pd.DataFrame) and hasattr(content, "to_dict"):
        content = content.to_dict()  # of ranx
    tables: dict[str, pd.DataFrame] = {}
    if isinstance(content, Mapping):
        by_way = bool(content) and set(content) <= {*WAYS}
        for way, part in content.items() if by_way else [("", content)]:
            tables[way] = _pairs_of_mapping(part, name, form)
    elif isinstance(content, pd.DataFrame):
        table = _pairs_of_table(content, name)
        tables = {"": table}
        if "direction" in table:
            tables = {str(way): part for way, part in table.groupby("direction", observed=True)}
    else:
        raise TypeError(f"{class_of(content)} holds no {form.what}; give a file, a mapping or a table")
    return [(way, _check_pairs(table.reset_index(drop=True), name, form)) for way, table in tables.items()]


def _read_content(file: Path, form: Form) -> Any:
    """Return the content of a file: a mapping of JSON, else a table."""
    require(file.is_file(), f"there is no file {file}", FileNotFoundError)
    require(file.suffix not in MATRICES, f"{file} holds a matrix and no {form.what}; give it as scores")
    require_real_file(file, form.what)
    if file.suffix == ".json":
        content = parse_json(file.read_bytes(), file)
        require(isinstance(content, dict), f"{file} holds no mapping of queries")
        return content
    with reading_errors(file, f"holds no {form.what}", LookupError, TypeError):
        if file.suffix == ".parquet":
            return pd.read_parquet(file)
        if file.suffix in (".csv", ".tsv"):
            sign = "\t" if file.suffix == ".tsv" else ","
            return pd.read_csv(file, sep=sign, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        return _read_trec(file, form)


def _read_trec(file: Path, form: Form) -> pd.DataFrame:
    """Return the lines of a file of TREC; one field more is read, so that a blank in an id is noticed."""
    names = [*form.fields, "more"]
    text: dict[str, Any] = {"dtype": str, "keep_default_na": False, "quoting": csv.QUOTE_NONE}
    table = pd.read_csv(file, sep=r"\s+", header=None, names=names, index_col=False, **text)
    table = table.fillna("")
    short = table[form.fields[-1]] == ""
    for row in np.flatnonzero(short | (table["more"] != ""))[:1]:
        raise ValueError(
            f"{file}, line {row + 1}: expected {len(form.fields)} fields, {' '.join(form.fields)}, none of "
            "them with a blank; give ids with blanks as JSON or as a table"
        )
    read: pd.DataFrame = table[["query", "item", "value"]]
    return read


def _pairs_of_mapping(content: Any, name: str, form: Form) -> pd.DataFrame:
    """Return the pairs of ``{query: {item: value}}`` or ``{query: [items]}``, which are ranked lists, best
    first, or ground truth of grade 1.
    """
    require(isinstance(content, Mapping), f"{name} holds {class_of(content)} and no mapping of queries")
    queries: list[str] = []
    items: list[str] = []
    values: list[Any] = []
    for query, listed in content.items():
        if isinstance(listed, Mapping):
            own = list(listed)
            values += listed.values()
        else:
            require(
                isinstance(listed, list | tuple | np.ndarray),
                f"{name}: query {query!r} has {class_of(listed)}; give {{item: score}} or a list, best first",
            )
            own = list(listed)
            values += [1] * len(own) if form is GRADES else range(-1, -len(own) - 1, -1)
        queries += [str(query)] * len(own)
        items += map(str, own)
    return pd.DataFrame({"query": queries, "item": items, "value": values})


def _pairs_of_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the columns of a table that hold queries, items and values; where there are ranks alone, the
    negative rank is the score.
    """
    if {"query", "item", "value"} <= set(table):
        return table
    known = {normalise_name(column): column for column in table.columns}
    columns: dict[str, Any] = {}
    for ours, names in (("query", QUERY), ("item", ITEM), ("value", VALUE)):
        present = [known[word] for word in names if word in known]
        columns |= {ours: present[0]} if present else {}
    by_rank = "value" not in columns and "rank" in known
    columns |= {"value": known["rank"]} if by_rank else {}
    listed = ", ".join(map(str, table.columns))
    lacks = f"{name} has the columns {listed}; query, item and score are needed"
    require({"query", "item", "value"} <= set(columns), lacks)
    parts = {ours: table[column] for ours, column in columns.items()}
    parts |= {"direction": table[known["direction"]]} if "direction" in known else {}
    read = pd.DataFrame(parts)
    if by_rank:
        read["value"] = -pd.to_numeric(read["value"], errors="coerce")
    return read


def _check_pairs(table: pd.DataFrame, name: str, form: Form) -> pd.DataFrame:
    """Return ids as texts and values as numbers.

    Raises:
        ValueError: nothing is listed, a value is no finite number, or a pair stands twice.
    """
    require(len(table), f"{name} lists nothing; give {form.what}")
    for side in ("query", "item"):
        for row in np.flatnonzero(table[side].isna())[:1]:
            raise ValueError(f"{name}: row {row} names no {side}; give one to each")
    values = pd.to_numeric(table["value"], errors="coerce").to_numpy(np.float64)
    read = pd.DataFrame({"query": table["query"].astype(str), "item": table["item"].astype(str)})
    read["value"] = values
    wrong = np.flatnonzero(~np.isfinite(values))[:1]
    for row in wrong:
        pair = f"query {read['query'].iloc[row]!r} and item {read['item'].iloc[row]!r}"
        raise ValueError(f"{name}: {pair} have {table['value'].iloc[row]!r}; a finite number is needed")
    twice = np.flatnonzero(read.duplicated(["query", "item"]))[:1]
    for row in twice:
        pair = f"item {read['item'].iloc[row]!r} for query {read['query'].iloc[row]!r}"
        raise ValueError(f"{name} lists {pair} twice; keep one of them")
    return read


def place_rows(table: pd.DataFrame, split: Split, name: str, way: str = "") -> Placed:
    """Find the rows of queries and items in a split, and the direction, which their ids tell.

    Args:
        table: from ``read_pairs``.
        split: with the ids of images and captions.
        name: of the source, for messages.
        way: the direction; ``""`` = the one whose ids these are.

    Raises:
        ValueError: the ids are not those of the split, or may be those of either direction.
    """
    sides = {"i2t": (split.image_ids, split.caption_ids), "t2i": (split.caption_ids, split.image_ids)}
    codes, names = zip(*(pd.factorize(table[side]) for side in ("query", "item")), strict=True)
    fits: dict[str, tuple[list[Rows], int]] = {}
    for direction in (way,) if way else WAYS:
        read = [_rows_of(side, known) for side, known in zip(names, sides[direction], strict=True)]
        if all((side >= 0).any() for side, _ in read):
            fits[direction] = [side for side, _ in read], sum(form for _, form in read)
    if not fits:
        raise ValueError(
            f"{name}: query {names[0][0]!r} with item {names[1][0]!r} is no image with a caption of "
            f"{split.name}, whose ids are {split.image_ids[0]!r} and {split.caption_ids[0]!r}, ..."
        )
    way = way or _direction_of_ids(fits, name)
    rows = fits[way][0]
    query, item = (side[code] for side, code in zip(rows, codes, strict=True))
    inside = (query >= 0) & (item >= 0)
    require(inside.any(), f"{name}: no query is listed with an item that {split.name} has")
    notes = []
    for what, side in zip(("queries", "items"), rows, strict=True):
        left = int((side < 0).sum())
        lead = f"{short_name(name)}: {format_count(left)} {what} that {split.name} does not have are not read"
        notes += [lead] if left else []
    values = table["value"].to_numpy()
    return Placed(way, query[inside], item[inside], values[inside], tuple(notes))


def _direction_of_ids(fits: Mapping[str, tuple[Sequence[Rows], int]], name: str) -> str:
    """Return the direction whose ids fit: all of them, where those of both fit in part, and as they are
    written, where all of both do.

    Raises:
        ValueError: neither says it.
    """
    whole = [way for way, (rows, _) in fits.items() if np.concatenate(rows).min() >= 0]
    ways = whole or list(fits)
    least = min(fits[way][1] for way in ways)
    ways = [way for way in ways if fits[way][1] == least]
    require(
        len(ways) == 1,
        f"{name}: its ids may be those of images or of captions; say the direction, runs={{'t2i': ...}}, "
        "--runs t2i=FILE",
    )
    return ways[0]


def short_name(name: str) -> str:
    """Return what notes call a source: the name of its file."""
    return Path(name).name


def _trailing_number(name: str) -> str:
    """Return the number at the end of a name, as ids of MS-COCO are written: 391895 of
    ``COCO_val2014_000000391895.jpg``.
    """
    digits = re.search(r"(\d+)\D*$", name)
    return str(int(digits[1])) if digits else name


def _with_slashes(name: str) -> str:
    return str(PurePosixPath(name.replace("\\", "/")))


def _stem(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).stem


# ways to write an id: as it is, as a path, without folder and ending, as a number
FORMS: tuple[Callable[[str], str], ...] = (str, _with_slashes, _stem, _trailing_number)


def _rows_of(names: Sequence[str], known: Sequence[str]) -> tuple[Rows, int]:
    """Return rows of names among known ids, -1 where there is none, in the way of writing that fits most of
    them, and the number of that way.
    """
    most, level = np.full(len(names), -1, np.int64), 0
    for number, form in enumerate(FORMS):
        index, forms = pd.Index(list(map(form, known))), pd.Index(list(map(form, names)))
        rows = index.get_indexer(forms) if index.is_unique and forms.is_unique else most
        if (rows >= 0).sum() > (most >= 0).sum():
            most, level = rows, number
        if (most >= 0).all():
            break
    return most, level


def best_pairs(scores: AnyScores, split: Split, way: str, k: int) -> pd.DataFrame:
    """List the best items of every query, as ``query``, ``item``, ``value`` and ``rank``.

    Args:
        scores: ``(I, T)``.
        split: whose images and captions are scored.
        way: the direction.
        k: items of a query.
    """
    rows, ids = by_rows(scores), (split.image_ids, split.caption_ids)
    if way == "t2i":
        rows, ids = rows.T, ids[::-1]
    values, items = best_items(rows, min(k, rows.shape[1]))
    query, rank = np.indices(values.shape)
    table = pd.DataFrame({"query": np.array(ids[0], dtype=object)[query.ravel()]})
    table["item"] = np.array(ids[1], dtype=object)[items.ravel()]
    table["value"] = values.ravel().astype(np.float64)
    table["rank"] = rank.ravel() + 1
    return table


def write_pairs(
    file: str | Path, pairs: pd.DataFrame, form: Form, *, tag: str = "", decimals: bool = False
) -> Path:
    """Write pairs of a query and an item as TREC has them, or as JSON.

    Args:
        file: ending in ``.json``, else in the form of TREC.
        pairs: ``query``, ``item``, ``value`` and, of lists, ``rank``.
        form: what they are.
        tag: name of what made the lists.
        decimals: whether values have digits after the point.

    Returns:
        The file.

    Raises:
        ValueError: an id has a blank, which TREC takes for the end of it.
    """
    path = resolve_output(file)
    texts = pairs["value"].map(float if decimals else int)
    if path.suffix == ".json":
        by_query: dict[str, dict[str, Any]] = {}
        for query, item, value in zip(pairs["query"], pairs["item"], texts, strict=True):
            by_query.setdefault(query, {})[item] = value
        return write_json(path, by_query)
    for side in ("query", "item"):
        blank = pairs[side][pairs[side].str.contains(r"\s", regex=True)]
        for name in blank[:1]:
            raise ValueError(f"the id {name!r} has a blank, which a file of TREC cannot hold; write a .json")
    columns = {"query": pairs["query"], "Q0": "Q0", "iteration": 0, "item": pairs["item"]}
    columns |= {"rank": pairs.get("rank"), "value": texts.map(repr), "tag": re.sub(r"\s+", "_", tag) or "run"}
    lines = pd.DataFrame({name: columns[name] for name in form.fields})
    with replacing(path) as temporary:
        lines.to_csv(temporary, sep=" ", header=False, index=False, quoting=csv.QUOTE_NONE)
    return path
