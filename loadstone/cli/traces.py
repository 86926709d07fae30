"""loadstone traces: the services and calls that a trial's requests waited for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from loadstone.analysis.run import open_run
from loadstone.analysis.schema import rows
from loadstone.analysis.traced_rows import ClockOffset, PathTime, ServiceTimes
from loadstone.cli.app import Json, Results, Run, out, print_json, warn
from loadstone.experiments import runs
from loadstone.experiments.durable import writing
from loadstone.model.base import plural
from loadstone.model.errors import InputError
from loadstone.model.records.observed import SpanCounts
from loadstone.model.records.trial_row import TrialRow
from loadstone.report import format
from loadstone.report.console import titled

if TYPE_CHECKING:  # imports a compiler, which is slow
    from loadstone.analysis.traces import TraceAnalysis

EPILOG = (
    "Examples: [bold]loadstone traces[/], [bold]loadstone traces first-light --jaeger slowest.json[/], "
    "[bold]loadstone traces spans.parquet --json[/], [bold]loadstone traces from-jaeger.json[/]"
)
SLOWEST = 20
_SHOWN_PATHS = 12
_TABLES = ("services", "operations", "paths", "clocks", "heat")
_LOST = {
    "dropped": "spans that services dropped; they are missing",
    "refused": "spans that the receiver refused because its queue was full; they may be missing",
    "unreadable": "spans without valid ids or times; rejected by the receiver",
    "unread": "requests with spans that the receiver could not read",
}
_ODD = {
    "unusable": "spans without a trace id or with impossible times; left out",
    "orphans": "spans without their parent; attached to the root",
    "rootless": "traces without a root; their first span is used as the root",
    "several_roots": "traces with several roots; the first is used",
    "duplicates": "duplicate spans; the first is kept",
    "cycles": "cycles of spans; broken at one span",
    "unfinished": "spans without an end; assumed to end with their parent",
    "outliving": "spans that ended after their parent; critical only where nothing else explains the parent's time",
    "early": "spans that began before their parent",
}


@dataclass(frozen=True)
class _Chosen:
    """A file of spans. ``trial`` is the trial's row, None for a file outside a run."""

    file: Path
    trial: TrialRow | None = None
    window_ns: tuple[int | None, int | None] = (None, None)
    spans: SpanCounts | None = None


def command(
    run: Run = None,
    trial: Annotated[
        str | None,
        typer.Option(metavar="ID", help="A trial's id, or its beginning; by default the highest load that held."),
    ] = None,
    jaeger: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Write the {SLOWEST} slowest traces as JSON for Jaeger's UI.")
    ] = None,
    folded: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write critical time by call path as folded stacks.")
    ] = None,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Show which services and call paths the requests of a trial waited for.

    RUN may also be a file of spans: spans.parquet, or JSON of Jaeger or OTLP, optionally compressed with gzip.
    """
    chosen = _choose(results, run, trial)
    from loadstone.analysis import traces

    found = traces.analyse(traces.read(chosen.file, *chosen.window_ns))
    if jaeger is not None:
        slowest = traces.slowest(found.spans, SLOWEST)
        _write(jaeger, traces.jaeger(found.spans, slowest))
    if folded is not None:
        _write(folded, [traces.folded(found)])
    if json:
        print_json(_data(chosen, found))
        return
    _show(chosen, found)
    for file in filter(None, (jaeger, folded)):
        out.print(f"written: {file}", markup=False)


def _choose(folder: Path, run: str | None, trial: str | None) -> _Chosen:
    if run is not None and Path(run).is_file():
        if trial is not None:
            raise InputError(f"{run} is a file of spans and has no trials; leave --trial out")
        return _Chosen(Path(run))
    opened = open_run(runs.locate_one(folder, run))
    spans = {row.trial_id: opened.folder / "trials" / row.trial_id / "spans.parquet" for row in opened.trials}
    traced = [row for row in opened.trials if spans[row.trial_id].exists()]
    if not traced:
        raise InputError(f"{opened.folder} has no spans: its study records none; add `traces: {{sample: 100%}}`")
    row = _trial_row(traced, trial, opened.folder) if trial is not None else _best(traced)
    observed = opened.observed(row.trial_id)
    counts = observed.traces if observed is not None else None
    return _Chosen(spans[row.trial_id], row, opened.window_ns(row.trial_id), counts)


def _trial_row(rows: list[TrialRow], trial: str, folder: Path) -> TrialRow:
    fitting = [row for row in rows if row.trial_id.startswith(trial)]
    if len(fitting) != 1:
        ids = ", ".join(row.trial_id for row in (fitting or rows)[:5])
        what = f"{len(fitting)} trials with spans begin with {trial!r}" if fitting else f"no trial {trial!r} with spans"
        raise InputError(f"{what} in {folder}; give one of: {ids}")
    return fitting[0]


def _best(rows: list[TrialRow]) -> TrialRow:
    """The highest load that held, of full duration where there is one; else the last trial."""
    good = [row for row in rows if row.verdict in ("held", "measured")]
    return max(good, key=lambda row: (row.phase != "bracket", row.load), default=rows[-1])


def _write(file: Path, pieces: Iterable[str]) -> None:
    try:
        with writing(file), file.open("w", encoding="utf-8") as text:
            text.writelines(pieces)
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}; choose another place") from None


def _data(chosen: _Chosen, found: TraceAnalysis) -> dict[str, Any]:
    tables = {name: getattr(found, name).to_pylist() for name in _TABLES}
    trial = chosen.trial.trial_id if chosen.trial is not None else None
    return {
        "file": str(chosen.file),
        "trial": trial,
        "health": asdict(found.health),
        "errors": found.spans.errors,
        **tables,
    }


def _show(chosen: _Chosen, found: TraceAnalysis) -> None:
    health = found.health
    what = f"{plural(health.traces, 'trace')}, {plural(health.spans, 'span')}"
    if (row := chosen.trial) is not None:
        load = format.load_of(row.rate, row.clients)
        what = f"{row.treatment}, {load}, {row.verdict}: {what} (trial {row.trial_id})"
    out.print(what, style="bold", markup=False)
    for doubt in _doubts(chosen, found):
        warn(doubt)
    if not health.traces:
        return
    out.print(_services(found))
    out.print(_paths(found))


def _doubts(chosen: _Chosen, found: TraceAnalysis) -> list[str]:
    counted = chosen.spans or SpanCounts()
    lost = {meaning: getattr(counted, name) for name, meaning in _LOST.items()}
    doubts = [f"the file has an error of Jaeger: {error}" for error in found.spans.errors]
    doubts += [f"{meaning}: {count:,}" for meaning, count in lost.items() if count]
    for name, meaning in _ODD.items():
        if count := getattr(found.health, name):
            doubts.append(f"{meaning}: {count:,}")
    for row in rows(ClockOffset, found.clocks):
        if row.offset_ms:
            doubts.append(f"the clock of {row.host} was {row.offset_ms:+.3g} ms off; times are corrected")
    if not found.health.traces:
        outside = f"no trace starts in the measured window, and {found.health.outside:,} outside of it"
        doubts.append(outside if chosen.trial is not None else f"{chosen.file} has no traces")
    return doubts


def _services(found: TraceAnalysis) -> Table:
    names = ("service", "of latency", "a request", "of it calling", "waited for", "spans")
    table = titled("Services, by time on the critical path", *names)
    for row in rows(ServiceTimes, found.services):
        calling, waited = (1000 * time / found.health.traces or None for time in (row.network_s, row.waited_s))
        times = (format.milliseconds(time) for time in (row.per_request_ms, calling, waited))
        table.add_row(Text(row.service), format.percent(row.critical_share), *times, format.count(row.spans))
    return table


def _paths(found: TraceAnalysis) -> Table:
    found_paths = rows(PathTime, found.paths)
    more = f"; {len(found_paths) - _SHOWN_PATHS} more" if len(found_paths) > _SHOWN_PATHS else ""
    table = titled(f"Slowest call paths{more}", "path", "of latency", "a span", "spans")
    for row in found_paths[:_SHOWN_PATHS]:
        cells = (format.percent(row.share), format.milliseconds(1000 * row.critical_s / row.count))
        table.add_row(Text(row.path), *cells, format.count(row.count))
    return table
