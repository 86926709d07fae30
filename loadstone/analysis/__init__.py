"""Pure functions over tables and series: tables in, small frozen results out.

No file is read (but by ``results``, which opens a run), nothing is drawn, nothing is logged: what is doubtful about a result stands beside it as a warning.
Each function's docstring names the source of its method.
"""
