"""loadstone restore: set back what a run that was killed had set on this host."""

from __future__ import annotations

from loadstone.cli.app import Json, out, print_json, warn
from loadstone.infrastructure import tuning
from loadstone.infrastructure.tuning import Host

EPILOG = "Example: [bold]sudo loadstone restore[/]"


def command(json: Json = False) -> None:
    """Set this host's knobs back to what they were before a study tuned it. A run that ends does so by itself."""
    restored = tuning.restore(Host())
    values = restored.values if restored is not None else {}
    if json:
        print_json({"restored": {file: {"found": found, "set": before} for file, (found, before) in values.items()}})
    elif restored is None:
        out.print("nothing is to be restored: no study has tuned this host")
    else:
        for file, (found, before) in values.items():
            out.print(f"{file}: {before} (was {found})", markup=False)
        out.print(restored.sentence, markup=False)


def recover() -> None:
    """What a run does first: set back what a killed one left. Raises PreflightError where that one still runs."""
    if (restored := tuning.restore(Host())) is not None:
        warn(restored.sentence)
