"""Variables as compose files have them: ``${VAR:-default}`` in values, and files like ``.env``. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

Lookup = Callable[[str], str | None]
"""The value of a variable; None where it is not set."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INSIDE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:?)([-+?])(.*))?", re.DOTALL)
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*(?:=\s*(.*))?")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "$": "$$"}


def substitute(text: str, lookup: Lookup, unset: Callable[[str], object] = id) -> str:
    """``text`` with its variables replaced; ``$$`` is a dollar sign.

    ``${V:-word}`` is ``word`` where ``V`` is unset or empty, ``${V-word}`` where it is unset; ``:+`` and ``+`` are the
    opposite, ``:?`` and ``?`` raise an error. A word may have variables too. ``unset`` receives the names of variables
    without a value. Raises ValueError with the mistake.
    """
    done = []
    while "$" in text:
        before, _, after = text.partition("$")
        done.append(before)
        if after.startswith("$"):
            done.append("$")
            text = after[1:]
        elif after.startswith("{"):
            inside, text = _braces(after)
            done.append(_value(inside, lookup, unset))
        elif name := _NAME.match(after):
            done.append(_value(name.group(), lookup, unset))
            text = after[name.end() :]
        else:
            raise ValueError(f"a '$' in {before + '$' + after!r} begins no variable; write '$$' for a dollar sign")
    return "".join(done) + text


def _braces(text: str) -> tuple[str, str]:
    """The content of the braces at the beginning of ``text``, and the rest."""
    depth = 0
    for found in re.finditer(r"\$\$|\$\{|\}", text):
        depth += {"${": 1, "}": -1}.get(found.group(), 0)
        if depth < 0:
            return text[1 : found.start()], text[found.end() :]
    raise ValueError(f"{'$' + text!r} has a brace that is not closed; write '${{NAME}}'")


def _value(inside: str, lookup: Lookup, unset: Callable[[str], object]) -> str:
    found = _INSIDE.fullmatch(inside)
    if found is None:
        raise ValueError(f"'${{{inside}}}' is no variable; write '${{NAME}}' or '${{NAME:-default}}'")
    name, colon, sign, word = found.groups()
    value = lookup(name)
    given = bool(value) if colon else value is not None
    if sign is None:
        if value is None:
            unset(name)
        return value or ""
    if sign == "+":
        return substitute(word, lookup, unset) if given else ""
    if given:
        return value or ""
    if sign == "?":
        message = substitute(word, lookup, unset)
        raise ValueError(f"{name} must be set, in the environment or in .env" + (f": {message}" if message else ""))
    return substitute(word, lookup, unset)


def assignments(text: str, lookup: Lookup) -> dict[str, str | None]:
    """The variables of a file of ``NAME=value`` lines; None for a name alone, which is to be taken from outside.

    Values may refer to ``lookup`` and to earlier lines, not within single quotes. Raises ValueError, line first.
    """
    found: dict[str, str | None] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = _ASSIGNMENT.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"{number}: {line.strip()!r} is no variable; write NAME=value")
        name, value = parts.groups()
        try:
            found[name] = None if value is None else _assigned(value, lambda name: lookup(name) or found.get(name))
        except ValueError as error:
            raise ValueError(f"{number}: {error}") from None
    return found


def _assigned(value: str, lookup: Lookup) -> str:
    if not value.startswith(("'", '"')):
        return substitute(re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip(), lookup)
    quoted = _QUOTED.fullmatch(value)
    if quoted is None:
        raise ValueError(f"the quotes of {value!r} do not close at its end; values of several lines are not read")
    single, double = quoted.groups()
    if single is not None:
        return str(single)
    return substitute(re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape.group(1), escape.group()), double), lookup)
