"""Renders templates with a report's texts and numbers, and links to the files beside its pages."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from loadstone.model.base import plural
from loadstone.report import format, sentences


def render(name: str, written: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> str:
    """The template with these values; ``written`` are the files of each table, by what follows its name."""
    environment = _environment()
    _written.clear()
    _written.update(written)
    return environment.get_template(name).render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Made once: a template takes longer to compile than to fill in."""
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
        "times": format.times,
        "load": format.load,
        "broke": format.broke,
        "confirmed": sentences.confirmed,
        "why": format.why,
        "ms": format.milliseconds,
        "latency": format.latency,
        "percent": format.percent,
        "duration": format.duration,
        "size": format.size,
        "plural": plural,
        "digest": format.digest,
        "bold": bold,
        "sorting": _sorting,
    }
    # Macros keep what they found when they were first used: the same mapping is filled anew for each report.
    made.globals |= {"interval": format.interval, "written": _written}
    return made


def _sorting(value: Any) -> str:
    """What a cell is sorted by: with no more digits than order takes."""
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


_written: dict[str, Sequence[str]] = {}


def bold(text: str) -> Markup:
    """``**word**`` in bold, the rest escaped."""
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def download(file: Path) -> str:
    """A table's file inside the page, so that its link works wherever the page is."""
    return "data:text/csv;base64," + base64.b64encode(file.read_bytes()).decode()
