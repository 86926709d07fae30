"""A study's results over runs, versions and commits: what a run leaves (``rows``), where all of it is kept (``store``),
and what changed (``changes``, ``series``)."""
