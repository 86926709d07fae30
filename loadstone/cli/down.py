"""loadstone down: remove deployments, also those left by a killed process."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.cli.app import Json, out, print_json, warn
from loadstone.infrastructure import journal, temporary
from loadstone.infrastructure.images.cache import folder as images_folder
from loadstone.infrastructure.machines import this_machine

EPILOG = "Examples: [bold]loadstone down[/] removes all, [bold]loadstone down up-hotel-reservation[/] one deployment."


def command(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Deployments; by default all.")] = None,
    json: Json = False,
) -> None:
    """Stop and remove this user's deployments on this machine, also those that a killed run left behind."""
    try:
        removed = journal.remove_all(names or None)
    finally:
        this_machine().settle()  # where nothing was removed, no channel was opened, which waits as well
        journal.sweep()
        temporary.sweep()
        temporary.sweep(images_folder())
    warn_of_others()
    if json:
        print_json({"removed": removed})
    elif removed:
        for sentence in removed:
            out.print(f"removed {sentence}", markup=False)
    else:
        out.print("nothing is running")


def warn_of_others() -> None:
    """Name what other machines that share the journal started: it is theirs to remove."""
    for name, host in journal.elsewhere().items():
        warn(f"{name} was started on {host}, which shares the journal; `loadstone down` there removes it")
