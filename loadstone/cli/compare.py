"""loadstone compare: is one treatment slower than another, by how much, how sure?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from loadstone.analysis.grouping import grouped
from loadstone.cli import gating
from loadstone.cli.app import Json, Results, Run, out, print_json, warn
from loadstone.cli.console import SafeConsole
from loadstone.experiments import runs
from loadstone.model.base import plural
from loadstone.model.comparison import given_share
from loadstone.model.errors import InputError
from loadstone.report.console import bold

if TYPE_CHECKING:  # a slow import that the help does not need
    from loadstone.analysis.comparison import Compared
    from loadstone.analysis.comparison.calibration import CalibrationRow
    from loadstone.analysis.comparison.tables import EffectRow, NoiseRow
    from loadstone.analysis.gate import Gated

EPILOG = (
    "Examples: [bold]loadstone compare[/], [bold]loadstone compare compare-delay --margin 5%[/], "
    "[bold]loadstone compare results/a/20260102-030405 results/a/20260202-030405[/], "
    "[bold]loadstone compare compare-delay --detect 2%[/], "
    "[bold]loadstone compare results/a/20260102-030405 results/a/20260202-030405 --max-regression 5%[/]"
)
_WIDE = 200


def command(
    run: Run = None,
    other: Annotated[str | None, typer.Argument(metavar="RUN2", help="A later run, compared with the first.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The baseline: a treatment's label, or a unique part of it."),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="The margin of practical equality; by default the study's, else 2%."),
    ] = None,
    detect: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Print the number of pairs that detect a difference of this size."),
    ] = None,
    max_regression: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Exit with 5 where a breaking point or latency is certainly worse by more than this."
        ),
    ] = None,
    fail_undecided: gating.FailUndecided = False,
    junit: gating.Junit = None,
    markdown: gating.Markdown = None,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="Ignore blocks: treat runs as independent.")] = False,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Compare the treatments of a run with its baseline, or two runs with each other: ratios, intervals, verdicts."""
    equal = given_share("--margin", margin)
    sought = given_share("--detect", detect)
    most = given_share("--max-regression", max_regression)
    if (junit or markdown or fail_undecided) and most is None:
        raise InputError("--junit, --markdown and --fail-undecided are about a gate; give one: --max-regression 5%")
    if other is not None and baseline is not None:
        raise InputError("--baseline selects a treatment of one run; between two runs the first is the baseline")
    from loadstone.analysis import comparison, gate
    from loadstone.analysis.run import open_run

    first = open_run(runs.locate_one(results, run))
    if other is None:
        found = comparison.within(first, baseline, equal, unpaired)
    else:
        second = runs.locate_one(results, other)
        if second.samefile(first.folder):
            raise InputError(f"{run} and {other} are the same run; give two, or one to compare its treatments")
        found = comparison.between(first, open_run(second), equal)
    plans = _plans(found, sought) if sought is not None else []
    gated = gate.regressions(found, most) if most is not None else []
    if most is not None and not gated:
        warn("the gate cannot tell: no breaking point and no latency of all requests is known of both sides")
    gating.write(gated, junit, markdown)
    if json:
        tables = {name: table.to_pylist() for name, table in found.tables.items()}
        header = {
            "baseline": found.baseline,
            "method": found.method,
            "margin": found.margin,
            "warnings": found.warnings,
        }
        extra = {
            **({"detect": [asdict(plan) for plan in plans]} if sought is not None else {}),
            **({"gates": [asdict(each) for each in gated]} if most is not None else {}),
        }
        print_json(_plain({**header, **tables, **extra}))
        _require(gated, most, fail_undecided)
        return
    for text in found.warnings:
        warn(text)
    if sought is not None:
        _print_plans(plans, sought)
    else:
        _print_comparison(found)
    gating.show(gated)
    _require(gated, most, fail_undecided)


def _require(gated: list[Gated], most: float | None, fail_undecided: bool) -> None:
    if most is not None:
        gating.require(gated, fail_undecided)


def _plain(value: Any) -> Any:
    """Values for JSON: null for infinity and NaN."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if not isinstance(value, float) or abs(value) < float("inf") else None


def _print_comparison(found: Compared) -> None:
    from loadstone.report import comparison_sentences as sentences
    from loadstone.report import format

    for text in sentences.sentences(found):
        out.print(bold(text))
    noise = found.noise
    if found.effects:
        out.print(
            f"\n= equal within {format.percent(found.margin)}; ~ cannot tell (+N: about N more pairs or runs would)",
            style="dim",
        )
    for (treatment, load), rows in grouped(found.effects, lambda row: (row.treatment, row.load)).items():
        floor = [row for row in noise if (row.baseline, row.load) == (rows[0].baseline, load)]
        out.print()
        pairs = "pairs" if rows[0].method == "paired" else "runs of each, unpaired"
        out.print(
            f"{treatment} against {rows[0].baseline} at {sentences.load(rows[0])}, {rows[0].runs} {pairs}",
            markup=False,
        )
        _print(_table(rows, floor))
    if found.calibration:
        out.print()
        _print(_calibration(found.calibration))


def _table(rows: list[EffectRow], noise: list[NoiseRow]) -> Table:
    """The baseline against itself first, then every endpoint; ``~`` where the verdict is open."""
    from loadstone.report import comparison_sentences as sentences
    from loadstone.report import format

    table = _grid("", "old", "new", "change", "95 % interval", "p", "")
    first = [row for row in noise if row.scope == "requests"]
    for row in [*first, *rows]:
        mark = {"cannot tell": "~", "equal": "="}.get(row.verdict, sentences.change(row.ratio))
        name = f"{'A/A' if row in first else row.name} {row.statistic.upper()}"
        style = {"slower": "red", "faster": "green"}.get(row.verdict, "")
        p_value = "" if row.p_adjusted is None else sentences.p(row.p_adjusted).removeprefix("p ").removeprefix("= ")
        old, new = format.milliseconds(row.a_ms), format.milliseconds(row.b_ms)
        cells: list[str | Text] = [old, new, Text(mark, style), Text(sentences.interval(row)), p_value]
        cells.append(Text(_verdict(row), style))
        table.add_row(Text(name, "dim" if row in first else ""), *cells)
    return table


def _verdict(row: EffectRow) -> str:
    """The verdict; for ``~`` the number of further pairs or runs that would decide."""

    if row.verdict != "cannot tell":
        return str(row.verdict)
    noun = "pair" if row.method == "paired" else "run"
    return f"+{plural(row.needed, noun)}" if row.needed else ""


def _calibration(rows: list[CalibrationRow]) -> Table:
    from loadstone.report import format

    table = _grid("injected delay", "median of", "longer by (ms)", "95 % interval", "detected", "KS", "AD")
    for row in rows:
        delay = f"{row.service} {format.milliseconds(row.delay_ms)}" if row.delay_ms else "none (A/A)"
        detected = Text("yes", "green") if row.detected else Text("no")
        moved, ends = f"{row.shift_ms:+.3f}", f"[{row.low_ms:+.3f}, {row.high_ms:+.3f}]"
        distances = [format.number(row.ks), format.number(row.ad)]
        table.add_row(Text(delay), Text(row.name), moved, Text(ends), detected, *distances)
    return table


@dataclass(frozen=True)
class _Plan:
    """The pairs that detect ``effect`` at one load, by the spread of A/A and by both ends of its 95 % interval."""

    baseline: str
    load: float
    clients: int | None
    statistic: str
    sd: float
    sd_low: float
    sd_high: float
    effect: float
    pairs: int | None
    pairs_low: int | None
    pairs_high: int | None


def _plans(found: Compared, effect: float) -> list[_Plan]:
    """By endpoint and load, from the noise of A/A."""
    from loadstone.analysis.statistics import needed_pairs

    rows = [row for row in found.noise if row.scope == "requests"]
    alpha = 0.05 / max(1, len({row.statistic for row in rows}))
    return [
        _Plan(
            **{name: getattr(row, name) for name in ("baseline", "load", "clients", "statistic")},
            **{name: getattr(row, name) for name in ("sd", "sd_low", "sd_high")},
            effect=effect,
            pairs=needed_pairs(row.sd, effect, alpha),
            pairs_low=needed_pairs(row.sd_low, effect, alpha),
            pairs_high=needed_pairs(row.sd_high, effect, alpha),
        )
        for row in rows
    ]


def _print_plans(plans: list[_Plan], effect: float) -> None:
    from loadstone.report import comparison_sentences as sentences
    from loadstone.report import format

    if not plans:
        raise InputError(
            "no A/A comparison to plan from: add `comparison: {}` to the study, or run the baseline 4 times"
        )
    table = _grid("", "spread within pairs", f"pairs for {format.percent(effect)}", "from", "to")
    several = len({row.baseline for row in plans}) > 1
    for row in plans:
        of = f" of {row.baseline}" if several else ""
        pairs = [pairs or "> 10,000" for pairs in (row.pairs, row.pairs_low, row.pairs_high)]
        name = f"{row.statistic.upper()}{of} at {sentences.load(row)}"
        table.add_row(name, format.percent(row.sd), *map(str, pairs))
    _print(table)
    out.print(
        "For 80 % power at a 5 % significance level over both endpoints; from, to: by the 95 % interval of the spread.",
        markup=False,
    )


def _print(table: Table) -> None:
    """Print without cutting columns where the output is not a terminal."""
    (out if out.is_terminal else SafeConsole(highlight=False, width=_WIDE)).print(table)


def _grid(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        last = index == len(columns) - 1 and not name
        table.add_column(name, justify="right" if index and not last else "left", no_wrap=True)
    return table
