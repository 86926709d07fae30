"""Runs a benchmark: ``python -m bench NAME [OPTION...]``. SIGTERM ends it like an exception, so that it cleans up."""

import runpy
import signal
import sys
from pathlib import Path

if len(sys.argv) < 2 or not Path(__file__).with_name(f"{sys.argv[1]}.py").exists():
    sys.exit("usage: python -m bench NAME [OPTION...]; NAME is one of those that make bench runs")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
del sys.argv[0]
runpy.run_module(f"bench.{sys.argv[0]}", run_name="__main__", alter_sys=True)
