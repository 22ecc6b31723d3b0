"""Damage to a file: bits, ends, blocks, words, lines, encodings, and the types of values in JSON."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

WORDS = [
    *b"NaN|-1|0|1e999|-1e-999|99999999999999999999999|null|true|[]|{}|\"\"|''|../|*a|&a x".split(b"|"),
    *b"<<: {}|? |- |: |,|\"|'|#|%|=>|\\ud800|\\u0000|2001-99-99|.nan|.inf|0x|1_0|%PDF|PK\x03\x04".split(b"|"),
    b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\r", b"\n", b"\t", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\xc3",
    b"=", b"~", b"!!bool x", b"!!binary", b"[" * 400, b"{\"a\":" * 300, b"(" * 300, b"-" * 300, b"9" * 5000,
    b"a" * 300, b"x" * 140_000,
]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 0, 2**70, 1e308, float("nan"), float("inf"), "", "\ud800", "\0", "x" * 300, [], {}, [[]],
    [None], {"a": None}, {"": 1}, ["a", "a"], "own", "../a",
]  # fmt: skip


def damaged(valid: Sequence[bytes], number: int) -> bytes:
    """The input of this number."""
    rng = random.Random(number)
    content = rng.choice(valid)
    if rng.random() < 0.3 and content[:1] in (b"{", b"["):
        content = retyped(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        content = rng.choice(DAMAGES)(content, rng)
    return content


def _place(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 16, 64)))


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _drop(content: bytes, rng: random.Random) -> bytes:
    start, end = _place(content, rng)
    return content[:start] + content[end:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = _place(content, rng)
    return content[:end] + content[start:end] * rng.choice((1, 1, 5)) + content[end:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    start, end = _place(content, rng)
    return content[:start] + rng.choice(WORDS) + content[rng.choice((start, end)) :]


def _reword(content: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"[\w.+-]+|\"[^\"]*\"", content[:4000]))
    if not found:
        return content
    word = rng.choice(found)
    return content[: word.start()] + rng.choice(WORDS) + content[word.end() :]


def _twice(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    line = rng.randrange(len(lines))
    return b"\n".join([*lines[: line + 1], lines[line], *lines[line + 1 :]])


def _swap(content: bytes, rng: random.Random) -> bytes:
    (a, b), (c, d) = sorted((_place(content, rng), _place(content, rng)))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:] if b <= c else content


def _recoded(content: bytes, rng: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(
        rng.choice(("utf-16", "utf-32-be", "utf-8-sig", "utf-7"))
    )


DAMAGES = (_flip, _flip, _cut, _drop, _repeat, _insert, _insert, _reword, _reword, _twice, _swap, _recoded)


def retyped(content: bytes, rng: random.Random) -> bytes:
    """JSON with one value replaced by an odd one, or one name written twice."""
    try:
        whole = json.loads(content)
    except ValueError:
        return content
    node, places = whole, []
    while isinstance(node, dict | list) and node:
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        places.append((node, key))
        node = node[key]
    if not places:
        return content
    holder, key = rng.choice(places)
    if isinstance(holder, dict) and rng.random() < 0.2:
        holder[rng.choice(("extra", "", str(key).upper()))] = holder.pop(key)
    elif rng.random() < 0.1:
        del holder[key]
    else:
        holder[key] = rng.choice(ODD)
    return json.dumps(whole).encode()
