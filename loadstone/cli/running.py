"""Running a study, or going on with a run, for ``loadstone run``: all of it, or part after part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from loadstone import plugins
from loadstone.analysis.gate import Gated, Limit
from loadstone.analysis.gate import limits as beside_limits
from loadstone.cli import gating
from loadstone.cli import watch as watching
from loadstone.cli.app import err, out, print_json, warn, working
from loadstone.cli.plan_summary import load_summary
from loadstone.cli.progress import Display
from loadstone.cli.restore import recover
from loadstone.experiments import preflight, runs, schedule
from loadstone.experiments.commit import commit_of
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.durable import recording
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.left_overs import left_overs
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import demands, infrastructure_of
from loadstone.experiments.sessions import Session
from loadstone.infrastructure import journal
from loadstone.infrastructure.binary import stone_version
from loadstone.model.base import plural
from loadstone.model.errors import InputError, Interrupted, LoadstoneError, TrialsInvalid
from loadstone.workloads.base import Driver


@dataclass(frozen=True)
class How:
    """The options of a run: allow emulated nodes, keep machines, show the report meanwhile, print JSON."""

    emulated_ok: bool = False
    keep: bool = False
    watch: bool = False
    json: bool = False


def run(session: Session, how: How, warnings: list[str]) -> Ledger:
    """Start a run, or go on with one, and conduct it; ``warnings`` are added to those of the preflight."""
    plan, ledger = session.plan, session.ledger
    recover(plan)
    if ledger is not None and runs.complete(plan, ledger):
        err.print(f"{ledger.folder}: the run is complete", markup=False)
        return ledger
    found, driver = preflight.require(plan, how.emulated_ok), preflight.driver_of(plan.study.load)
    warnings = [*warnings, *found.warnings]
    versions = {"stone": stone_version(), driver.name: driver.version(), **found.versions()}
    resumed = ledger is not None
    if ledger is None:
        nodes = runs.listed(found.nodes, found.hardware)
        facts = runs.provenance(versions, nodes, warnings, commit_of(session.study.absolute().parent))
        ledger = runs.ledger_of(session.create(facts), plan.study)
    with ledger.locked():
        if resumed:
            warnings += runs.update_software(ledger.folder, versions)
        if how.watch:
            watching.start(ledger.folder)
        again = ledger.folder.parent if session.part else ledger.folder  # with all parts, also those not begun
        _conduct(plan, ledger, driver, warnings, how.keep, again)
    return ledger


def run_parts(chosen: list[Session], how: How, warnings: list[str]) -> None:
    """Run one part after the other; what fails in one does not stop the next, and the first failure is raised at the
    end."""
    from loadstone.report import parts_page

    failures: list[LoadstoneError] = []
    done: list[Ledger] = []
    for session in chosen:
        err.print(f"part {session.part}", style="bold", markup=False)
        try:
            done.append(run(session, how, warnings))
            print_outcome(session.plan, done[-1], [], console=err)
        except LoadstoneError as error:
            err.print(f"part {session.part}: {error}", markup=False)
            failures.append(error)
    if done:
        folder = done[0].folder.parent
        with recording(folder), working("writing the report of all parts"):
            index = parts_page.build(folder)
        if how.json:
            reports = {ledger.folder.name: str(ledger.folder / "report" / "index.html") for ledger in done}
            print_json({"run": str(folder), "report": str(index), "parts": reports})
        else:
            out.print(f"report of all parts: {index.resolve()}", markup=False)
    if failures:
        raise failures[0]


def _conduct(plan: Plan, ledger: Ledger, driver: Driver, warnings: list[str], keep: bool, again: Path) -> None:
    """``again``: the folder to resume."""
    name = f"{plan.study.name}-{runs.name_of(ledger.folder)}"
    infrastructure = infrastructure_of(plan.study.cluster, name)
    for warning in [*warnings, *left_overs(name, infrastructure.finds_clusters)]:
        warn(warning)
    # What a killed run of this folder left behind would disturb, and holds its ports.
    left = [entry.name for entry in journal.entries() if entry.name.startswith(f"{name}-") and not entry.kept]
    if left:
        journal.remove_all(left)
    known = f", {plural(len(ledger.records), 'trial')} already finished" if ledger.records else ""
    with interruptible(), Display() as display:
        display.note(f"{plan.study.name}: {load_summary(plan)}; {plural(len(plan.treatments), 'treatment')}{known}")
        display.note(f"results: {ledger.folder}")
        try:
            Conductor(plan, ledger, infrastructure, driver, display, keep).run()
        except Interrupted as error:
            kept = plural(len(ledger.records), "finished trial")
            raise Interrupted(f"{error}; {kept} kept", f"continue with: loadstone run --resume {again}") from None
        except LoadstoneError as error:
            if ledger.records:
                display.note(f"{plural(len(ledger.records), 'finished trial')} kept; continue with --resume")
            raise error


def require_searches(plans: Sequence[Plan], limits: Sequence[Limit]) -> None:
    if limits and len(plans) > 1:
        raise InputError("--gate judges one search; choose a part with --part")
    if limits and plans[0].study.load.capacity is None:
        raise InputError(
            "--gate needs a study that searches the capacity: load: {capacity: {slo: {p99: 200ms}}};"
            " at fixed rates, `loadstone compare --max-regression 5%` compares two runs"
        )


def require_machines(plans: Sequence[Plan]) -> None:
    clusters = {cluster.infrastructure for plan in plans for cluster, _ in demands(plan)}
    if not any(plugins.find("infrastructure", name).makes_machines for name in clusters):
        raise InputError(f"--keep: infrastructure {', '.join(sorted(clusters))} makes no machines; remove the option")


def gated_by(ledger: Ledger, limits: Sequence[Limit]) -> list[Gated]:
    if not limits:
        return []
    from loadstone.analysis import summary
    from loadstone.analysis.run import open_run

    return beside_limits(summary.treatments(open_run(ledger.folder)), limits)


def print_outcome(plan: Plan, ledger: Ledger, gated: list[Gated], json: bool = False, console: Console = out) -> None:
    from loadstone.analysis.history import store  # slow imports that --help does not need
    from loadstone.report import page, terminal

    failures = runs.conclude(plan, ledger)
    with recording(ledger.folder), working("writing the report"):
        index = page.build(ledger.folder)
        store.add(ledger.folder, store.beside(ledger.folder))
    if json:
        found = {"run": str(ledger.folder), "report": str(index), "trials": len(ledger.records), "failed": failures}
        print_json({**found, **({"gates": [asdict(each) for each in gated]} if gated else {})})
    else:
        console.print(terminal.render(ledger.folder))
        console.print(f"report: {index.resolve()}", markup=False)
        gating.show(gated)
    invalid = sum(record.outcome.verdict == "invalid" for record in ledger.records)
    searches = plan.study.load.capacity is not None
    why = schedule.failures_by_invalid_trials(plan, ledger.records) if searches else failures
    if invalid and (why or not searches):
        detail = f": {why[0]}" if why else ""
        raise TrialsInvalid(f"{invalid} of {plural(len(ledger.records), 'trial')} were invalid{detail}")
