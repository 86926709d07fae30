"""Runs the real command line, and looks for what it leaves behind."""

from __future__ import annotations

from tests.system.conftest import user

__all__ = ["user"]
