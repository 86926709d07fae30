"""Loadstone: a testbed for microservice performance."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loadstone.api import load as load

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``loadstone.load``, imported when it is first requested for: the command line must not wait for tables."""
    if name == "load":
        from loadstone.api import load

        return load
    raise AttributeError(f"module 'loadstone' has no attribute {name!r}")
