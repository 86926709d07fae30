"""The way in, with nothing imported yet: Ctrl-C while Python still loads is no error to explain."""

import gc
import io
import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGINT, lambda number, frame: sys.exit(130))
    gc.set_threshold(50_000)  # what Python makes as it loads is no garbage: looking through it is slow
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would search every installed package for some
    if isinstance(sys.stdout, io.TextIOWrapper):  # it is None where it was closed
        sys.stdout.reconfigure(errors="replace")  # a terminal's character set may lack signs that results have
    from loadstone.cli.console import drop_unwritten
    from loadstone.cli.main import run_command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run_command(sys.argv[1:])
    drop_unwritten()
    gc.freeze()  # the process ends: looking through all that was loaded once more would free nothing
    sys.exit(code)
