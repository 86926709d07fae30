"""Templates with the words and numbers of a report, and the links to the files beside its pages."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from loadstone.report import format


def environment(written: Mapping[str, Sequence[str]]) -> Environment:
    """Where templates are rendered; ``written`` are the files of each table, by what follows its name."""
    made = Environment(
        loader=PackageLoader("loadstone.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": format.number,
        "count": format.count,
        "cores": format.cores,
        "rate": format.rate,
        "load": format.load,
        "ms": format.milliseconds,
        "percent": format.percent,
        "duration": format.duration,
        "size": format.size,
        "plural": format.plural,
        "digest": format.digest,
        "bold": bold,
    }
    made.globals |= {"interval": format.interval, "written": written}
    return made


def bold(text: str) -> Markup:
    """``**word**`` in bold, the rest escaped."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def download(file: Path) -> str:
    """A table's file inside the page, so that its link works wherever the page is."""
    return "data:text/csv;base64," + base64.b64encode(file.read_bytes()).decode()
