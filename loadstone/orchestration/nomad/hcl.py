"""Values as HCL 2 writes them, laid out as ``nomad fmt`` would. Its texts are in Unicode's normal form C. Pure."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_WIDTH = 100


def hcl(value: Any) -> str:
    """A value as HCL 2 writes it."""
    if isinstance(value, list):
        return _list(list(map(hcl, value)))
    if not isinstance(value, str):
        return json.dumps(value)
    return '"' + re.sub(r'[\x00-\x1f"\\]', _escape, literal(value)) + '"'


def heredoc(text: str) -> str:
    """A text as HCL 2 writes it, whole lines below each other where they can be read so."""
    if not text.endswith("\n") or re.search(r"[^\n\t -\U0010ffff]", text):
        return hcl(text)
    marker = next(word for word in _markers() if word not in text)
    return f"<<{marker}\n{literal(text)}{marker}"


def lines(values: Mapping[str, Any], indent: int) -> str:
    """Attributes, one a line; values of neighbours that fit on theirs begin in one column."""
    keys = {key: key if re.fullmatch(r"[A-Za-z_][\w-]*", key) else hcl(key) for key in values}
    written = {key: hcl(value) for key, value in values.items()}
    found = []
    for long, group in itertools.groupby(written, key=lambda key: "\n" in written[key]):
        some = list(group)
        width = 0 if long else max(len(keys[key]) for key in some)
        found += [f"{keys[key]:{width}} = {written[key]}" for key in some]
    return "\n".join(found).replace("\n", "\n" + " " * indent)


def literal(text: str) -> str:
    """The text as one in which expressions would be replaced, where nothing in it is to be."""
    return re.sub(r"[$%](?=\{)", r"\g<0>\g<0>", text)


def _list(values: list[str]) -> str:
    """On one line, or filled lines."""
    whole = f"[{', '.join(values)}]"
    if len(whole) <= _WIDTH:
        return whole
    filled = [""]
    for value in values:
        if len(filled[-1]) + len(value) > _WIDTH:
            filled.append("")
        filled[-1] += f"{value}, "
    return "[\n" + "".join(f"  {line.rstrip()}\n" for line in filled) + "]"


def _markers() -> Iterator[str]:
    return itertools.chain(["EOT"], map("EOT{}".format, itertools.count(1)))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return {"\n": "\\n", '"': '\\"', "\\": "\\\\"}.get(character, f"\\u{ord(character):04x}")
