"""``python -m loadstone.infrastructure.builds [NAME...]``: has binaries ready before a study needs them.

Without a name, all that clusters need.
"""

from __future__ import annotations

import shutil
import sys
import time

from loadstone.infrastructure.base import Say
from loadstone.infrastructure.builds import binary
from loadstone.infrastructure.builds.recipes import RECIPES
from loadstone.model.errors import LoadstoneError

_PLAIN_EVERY_S = 15.0


def main(names: list[str]) -> int:
    """Build what is not there, with progress; the exit code: 3 where something cannot be built."""
    for name in names or [name for name, recipe in RECIPES.items() if not recipe.optional]:
        try:
            path = binary(name, _rewritten if sys.stdout.isatty() else _now_and_then())
        except LoadstoneError as error:
            _end_line()
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            _end_line()
            print("stopped; what is compiled is kept for the next time", file=sys.stderr)
            return 130
        _end_line()
        print(f"{name}: {path}", flush=True)
    return 0


def _rewritten(text: str) -> None:
    """One line, over and over."""
    print(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)


def _end_line() -> None:
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)


def _now_and_then() -> Say:
    """For a log: a line each, but few."""
    last = -_PLAIN_EVERY_S

    def say(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= _PLAIN_EVERY_S:
            last = now
            print(text, flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
