"""Loadstone: a testbed for microservice performance."""

__version__ = "0.1.0"
