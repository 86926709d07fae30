"""loadstone run: run a study, or resume a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from loadstone.analysis.gate import Gated, Limit, parse
from loadstone.analysis.gate import limits as beside_limits
from loadstone.cli import gating
from loadstone.cli.app import Json, Overrides, Results, err, out, print_json
from loadstone.cli.plan_summary import load_summary
from loadstone.cli.progress import Display
from loadstone.cli.restore import recover
from loadstone.experiments import preflight, runs, schedule
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.ledger import Ledger, writing
from loadstone.experiments.left_overs import left_overs
from loadstone.experiments.plan import Plan, read_plan
from loadstone.experiments.provisioning import infrastructure_of
from loadstone.experiments.resume import reopen, resumed
from loadstone.infrastructure import journal, temporary
from loadstone.infrastructure.binary import stone_version
from loadstone.infrastructure.measurement_lock import measuring
from loadstone.model.errors import InputError, Interrupted, LoadstoneError, TrialsInvalid
from loadstone.report.format import plural
from loadstone.workloads.base import Driver

EPILOG = (
    "Examples: [bold]loadstone run studies/first-light.yaml[/], "
    "[bold]loadstone run studies/first-light.yaml --set trial.duration=30s[/], [bold]loadstone run --resume[/], "
    "[bold]loadstone run studies/first-light.yaml --gate 'capacity >= 300'[/]"
)


def command(
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="A study file; with --resume also a run folder.")
    ] = None,
    overrides: Overrides = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the newest run of the study.")] = False,
    emulated_ok: Annotated[
        bool,
        typer.Option(
            "--emulated-ok",
            help="Allow different numbers of emulated nodes, which share one machine's cores, and emulated processors.",
        ),
    ] = False,
    shared_ok: Annotated[
        bool,
        typer.Option(
            "--shared-ok", envvar="LOADSTONE_SHARED_OK", help="Allow another measurement on this machine at this time."
        ),
    ] = False,
    gates: Annotated[
        list[str] | None,
        typer.Option(
            "--gate", metavar="LIMIT", help="Exit with 5 where this certainly fails: 'capacity >= 1200'; repeatable."
        ),
    ] = None,
    junit: gating.Junit = None,
    markdown: gating.Markdown = None,
    results: Results = Path("results"),
    json: Json = False,
) -> None:
    """Deploy, load, find the breaking point, write the report. Ctrl-C keeps finished trials; --resume continues."""
    limits = [parse(text) for text in gates or []]
    if (junit or markdown) and not limits:
        raise InputError(
            "--junit and --markdown write what gates found; give one, for example --gate 'capacity >= 1200'"
        )
    temporary.sweep()
    with measuring(shared_ok) as other:
        plan, ledger = _run(study, overrides or [], resume, emulated_ok, results, [other] if other else [], limits)
    gated = _gated(ledger, limits)
    try:
        _print_outcome(plan, ledger, gated, json)
    finally:  # the report comes first, and a build server gets its files also where trials were invalid
        gating.write(gated, junit, markdown)
    gating.require(gated)


def _run(
    study: str | None,
    overrides: list[str],
    resume: bool,
    emulated_ok: bool,
    results: Path,
    warnings: list[str],
    limits: Sequence[Limit],
) -> tuple[Plan, Ledger]:
    """Start a run, or resume one, and conduct it; ``warnings`` are added to those of the preflight."""
    if resume:
        folder, plan, ledger = _old_run(results, study, overrides)
        _must_search(plan, limits)
        recover(plan)
        if runs.complete(plan, ledger):
            err.print(f"{folder}: the run is complete", markup=False)
            return plan, ledger
        warnings = [*warnings, *preflight.require(plan, emulated_ok).warnings]
    else:
        if study is None:
            raise InputError("no study given; for example: loadstone run studies/first-light.yaml")
        document, plan = read_plan(study, overrides)
        _must_search(plan, limits)
        recover(plan)
        found, driver = preflight.require(plan, emulated_ok), preflight.driver_of(plan)
        versions = {"stone": stone_version(), driver.name: driver.version(), **found.versions()}
        nodes, warnings = [node.model_dump(mode="json") for node in found.nodes], [*warnings, *found.warnings]
        facts = runs.provenance(versions, nodes, warnings)
        folder = runs.create(results, document, plan, overrides, facts)
        ledger = runs.ledger_of(folder, plan)
    with ledger.locked():
        _conduct(plan, ledger, preflight.driver_of(plan), warnings)
    return plan, ledger


def _old_run(results: Path, given: str | None, overrides: list[str]) -> tuple[Path, Plan, Ledger]:
    if given is None or (Path(given) / "plan.json").exists():
        if overrides:
            raise InputError(
                "--set cannot be combined with resuming a run folder: the run keeps the study that it was started with"
            )
        folder = runs.locate(results, given)
        return folder, *reopen(folder)
    _, plan = read_plan(given, overrides)
    found = runs.newest(results, plan.study.name)
    if found is None:
        raise InputError(f"no run of {plan.study.name} in {results}/ to resume; leave --resume out to start one")
    return found, *resumed(found, plan)


def _conduct(plan: Plan, ledger: Ledger, driver: Driver, warnings: list[str]) -> None:
    name = f"{plan.study.name}-{ledger.folder.name}"
    for warning in [*warnings, *left_overs(name, plan.study.cluster.infrastructure)]:
        err.print("[yellow]warning:[/] ", end="")
        err.print(warning, markup=False)
    # What a killed run of this folder left behind would disturb, and holds its ports.
    left = [entry.name for entry in journal.entries() if entry.name.startswith(f"{name}-")]
    if left:
        journal.remove_all(left)
    known = f", {plural(len(ledger.records), 'trial')} already finished" if ledger.records else ""
    with interruptible(), Display(schedule.trial_seconds(plan)) as display:
        display.note(f"{plan.study.name}: {load_summary(plan)}; {plural(len(plan.treatments), 'treatment')}{known}")
        display.note(f"results: {ledger.folder}")
        try:
            Conductor(plan, ledger, infrastructure_of(plan.study.cluster, name), driver, display).run()
        except Interrupted as error:
            kept = plural(len(ledger.records), "finished trial")
            raise Interrupted(
                f"{error}; {kept} kept", f"continue with: loadstone run --resume {ledger.folder}"
            ) from None
        except LoadstoneError as error:
            if ledger.records:
                display.note(f"{plural(len(ledger.records), 'finished trial')} kept; continue with --resume")
            raise error


def _must_search(plan: Plan, limits: Sequence[Limit]) -> None:
    if limits and plan.study.load.capacity is None:
        raise InputError(
            "--gate needs a study that searches the capacity: load: {capacity: {slo: {p99: 200ms}}};"
            " at fixed rates, `loadstone compare --max-regression 5%` compares two runs"
        )


def _gated(ledger: Ledger, limits: Sequence[Limit]) -> list[Gated]:
    if not limits:
        return []
    from loadstone.analysis import summary
    from loadstone.analysis.run import open_run

    return beside_limits(summary.treatments(open_run(ledger.folder)), limits)


def _print_outcome(plan: Plan, ledger: Ledger, gated: list[Gated], json: bool) -> None:
    from loadstone.report import page, terminal  # a slow import that --help does not need

    failures = runs.conclude(plan, ledger)
    with writing(ledger.folder):
        index = page.build(ledger.folder)
    if json:
        found = {"run": str(ledger.folder), "report": str(index), "trials": len(ledger.records), "failed": failures}
        print_json({**found, **({"gates": [asdict(each) for each in gated]} if gated else {})})
    else:
        out.print(terminal.render(ledger.folder))
        out.print(f"report: {index.resolve()}", markup=False)
        gating.show(gated)
    invalid = sum(record.outcome.verdict == "invalid" for record in ledger.records)
    if invalid and (failures or plan.study.load.capacity is None):
        detail = f": {failures[0]}" if failures else ""
        raise TrialsInvalid(f"{invalid} of {plural(len(ledger.records), 'trial')} were invalid{detail}")
