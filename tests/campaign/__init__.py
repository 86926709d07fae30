"""Faults on purpose, one row of docs/explanation/reliability.md a file; each prints its counts (`pytest -s`)."""
