"""Pure functions over tables and series: tables in, small frozen results out.

Only ``results`` reads files, when it opens a run. Nothing is drawn, nothing is logged: what is doubtful about a result
stands beside it as a warning. Each function's docstring names the source of its method.
"""
