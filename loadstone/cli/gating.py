"""Gates on the terminal and for build servers: what they found, as text, JUnit XML and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

import typer

from loadstone.cli.app import out
from loadstone.experiments.durable import writing
from loadstone.model.base import plural
from loadstone.model.errors import NotHeld, Undecided
from loadstone.report import format

if TYPE_CHECKING:  # slow imports that the help does not need
    from loadstone.analysis.gate import Gated

Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write what the gates found as JUnit XML.")]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write what the gates found as a Markdown table.")
]
FailUndecided = Annotated[
    bool, typer.Option("--fail-undecided", help="Exit with 6 where a gate cannot tell; by default that passes.")
]
_STYLES = {"passed": "green", "failed": "red", "cannot tell": "yellow"}


_REMEDY = "ask for more: load.capacity.precision of a search, trial.repetitions at fixed rates"


def write(results: Sequence[Gated], junit: Path | None, markdown: Path | None) -> None:
    """Write the files that are wanted."""
    for file, text in ((junit, _junit), (markdown, _markdown)):
        if file is not None:
            with writing(file):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text(results), encoding="utf-8")


def show(results: Sequence[Gated]) -> None:
    """A line for each gate, on standard output."""
    for result in results:
        out.print(f"gate {result.answer}: ", style=_STYLES[result.answer], end="")
        out.print(f"{_what(result)}: {_found(result)}; {_limit(result)}", markup=False)


def require(results: Sequence[Gated], fail_undecided: bool) -> None:
    """Raise NotHeld where a gate failed; with ``fail_undecided`` Undecided where one cannot tell, or there is none."""
    failed = sum(result.answer == "failed" for result in results)
    if failed:
        raise NotHeld(f"{failed} of {plural(len(results), 'gate')} failed")
    undecided = sum(result.answer == "cannot tell" for result in results)
    if fail_undecided and (undecided or not results):
        raise Undecided(f"{undecided} of {plural(len(results), 'gate')} cannot tell", _REMEDY)


def _what(result: Gated) -> str:
    quantity = result.quantity.upper() if result.load is not None else result.quantity
    at = f" at {format.rate(result.load)}" if result.load else ""
    return f"{quantity} of {result.treatment}{at}"


def _found(result: Gated) -> str:
    if result.value is None and result.load is not None:
        return "not observed, as trials lost requests or broke"
    if result.value is None:
        return "no trial held" if result.answer == "failed" else "no estimate"
    return f"{_value(result, result.value)} [{_value(result, result.low)}, {_value(result, result.high)}]"


def _limit(result: Gated) -> str:
    return f"{'at least' if result.is_least else 'at most'} {_value(result, result.limit)}"


def _value(result: Gated, value: float | None) -> str:
    """Requests/s; of a regression the change against the baseline."""
    return f"{100 * (value - 1):+.1f} %" if result.relative and value is not None else format.rate(value)


def _junit(results: Sequence[Gated]) -> str:
    counts = {answer: sum(result.answer == answer for result in results) for answer in _STYLES}
    suite = ElementTree.Element(
        "testsuite",
        name="loadstone",
        tests=str(len(results)),
        failures=str(counts["failed"]),
        skipped=str(counts["cannot tell"]),
    )
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="loadstone.gate", name=_what(result))
        if result.answer != "passed":
            kind = "failure" if result.answer == "failed" else "skipped"
            ElementTree.SubElement(case, kind, message=f"{result.answer}: {_found(result)}; {_limit(result)}")
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _markdown(results: Sequence[Gated]) -> str:
    lines = ["| gate | found, 95 % interval | limit | answer |", "|---|---|---|---|"]
    lines += [f"| {_what(each)} | {_found(each)} | {_limit(each)} | {_mark(each)} |" for each in results]
    return "\n".join(lines) + "\n"


def _mark(result: Gated) -> str:
    return f"**{result.answer}**" if result.answer == "failed" else result.answer
