"""A run folder, opened: the one room of the analysis that reads files; all else takes the tables that it returns.

``folder`` opens a run, ``documents`` reads what it has once (plan, study, provenance, outcome), ``trial_files`` what
each trial has, ``hlog`` the latency distributions in it.
"""

from loadstone.analysis.run.folder import VERDICTS, RunFolder, find_run, open_run, read_parts

__all__ = ["VERDICTS", "RunFolder", "find_run", "open_run", "read_parts"]
