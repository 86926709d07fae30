"""``python -m bench NAME [OPTION...]`` runs a benchmark such that what terminates it removes what it made."""

import runpy
import signal
import sys

if len(sys.argv) < 2:
    sys.exit("usage: python -m bench NAME [OPTION...]; make bench names them")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
del sys.argv[0]
runpy.run_module(f"bench.{sys.argv[0]}", run_name="__main__", alter_sys=True)
