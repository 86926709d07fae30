"""loadstone run: run a study, or resume a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.analysis.gate import parse
from loadstone.cli import gating
from loadstone.cli.app import Json, Overrides, Parts, Results, Scale
from loadstone.experiments.interruption import interruptible
from loadstone.infrastructure import temporary
from loadstone.infrastructure.measurement_lock import measuring
from loadstone.model.errors import InputError

EPILOG = (
    "Examples: [bold]loadstone run studies/first-light.yaml[/], "
    "[bold]loadstone run studies/first-light.yaml --set trial.duration=30s[/], [bold]loadstone run --resume[/], "
    "[bold]loadstone run studies/first-light.yaml --gate 'capacity >= 300'[/]"
)


def command(
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="A study file; with --resume also a run folder.")
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
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the machines that were made for the study; `status` says what they cost."),
    ] = False,
    fail_undecided: gating.FailUndecided = False,
    junit: gating.Junit = None,
    markdown: gating.Markdown = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the report in a browser while the run goes on.")] = False,
    results: Results = Path("results"),
    part: Parts = None,
    scale: Scale = None,
    json: Json = False,
) -> None:
    """Deploy, load, find the breaking point, write the report. Ctrl-C keeps finished trials; --resume continues."""
    from loadstone.cli import running  # slow imports that the help does not need
    from loadstone.experiments import sessions

    limits = [parse(text) for text in gates or []]
    if (junit or markdown or fail_undecided) and not limits:
        raise InputError(
            "--junit, --markdown and --fail-undecided are about gates; give one, for example --gate 'capacity >= 1200'"
        )
    how = running.How(emulated_ok, keep, watch, json)
    with interruptible():
        temporary.sweep()
        with measuring(shared_ok) as other:
            choose = sessions.of_run if resume else sessions.of_study
            chosen = choose(results, study, overrides or [], part or [], scale)
            running.require_searches([session.plan for session in chosen], limits)
            if keep:
                running.require_machines([session.plan for session in chosen])
            warnings = [other] if other else []
            if chosen[0].part:
                running.run_parts(chosen, how, warnings)
                return
            (session,) = chosen
            ledger = running.run(session, how, warnings)
        gated = running.gated_by(ledger, limits)
        try:
            running.print_outcome(session.plan, ledger, gated, json)
        finally:  # the report comes first, and a build server gets its files also where trials were invalid
            gating.write(gated, junit, markdown)
        if limits:
            gating.require(gated, fail_undecided)
