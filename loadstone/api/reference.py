"""The reference page of the Python interface, from its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from loadstone.api.plots import Plot, Plots
from loadstone.api.run import Comparison, Run, load
from loadstone.api.table import Table
from loadstone.api.trial import Trial

_INTRODUCTION = """\
`import loadstone` is all that is needed; nothing else is loaded before `loadstone.load` is used. How it is used:
[analyse in Python](../how-to/analyse-in-python.md). The functions of `loadstone.analysis`, which make these tables,
take and give Arrow tables and plain values; as their docstrings define.

"""


def markdown(note: str) -> str:
    """The text of ``docs/reference/python-api.md``; ``note`` stands under its title."""
    parts = [
        f"# Python interface\n\n{note}{_INTRODUCTION}## `loadstone.load{_signature(load)}`\n\n{_prose(load.__doc__)}\n"
    ]
    return "\n".join([*parts, *(_section(kind) for kind in (Run, Table, Trial, Comparison, Plots, Plot))])


def _section(kind: type) -> str:
    """A class with a row for each public member, in the order of the source."""
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in _members(kind))
    return f"## {kind.__name__}\n\n{_prose(kind.__doc__)}\n\n| member | what it is |\n|---|---|\n{rows}\n"


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Fields, which are described by the text under them; then properties and methods, by their own."""
    below = re.compile(r'^ +(?:self\.)?(\w+)(?:: [^=\n]+| = [^\n]+)\n +"""(.*?)"""', re.MULTILINE | re.DOTALL)
    for name, text in below.findall(inspect.getsource(kind)):
        yield name, _prose(text)
    for name, member in vars(kind).items():
        if name.startswith("_") or not (callable(member) or isinstance(member, property | cached_property)):
            continue
        yield f"{name}{_signature(member) if callable(member) else ''}", _prose(member.__doc__)


def _signature(call: Any) -> str:
    """The parameters and what comes back, without ``self``."""
    shown = inspect.signature(call)
    kept = [parameter for name, parameter in shown.parameters.items() if name != "self"]
    return str(shown.replace(parameters=kept)).replace("'", "").replace(" | ", " or ")


def _prose(text: str | None) -> str:
    """A docstring as one line of Markdown; names of pages become links."""
    line = " ".join((text or "").replace("``", "`").replace("|", "or").split())
    line = re.sub(r"docs/(explanation|how-to)/([\w-]+)\.md", r"[\2](../\1/\2.md)", line)
    return re.sub(r"docs/reference/([\w-]+)\.md", r"[\1](\1.md)", line)
