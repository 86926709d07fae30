"""Which machine this is, for what machines that share a folder must tell apart."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

_FILE = Path("/etc/machine-id")
"""Written once by the system (machine-id(5)); a machine keeps it when it is renamed."""


def machine_id() -> str:
    """Eight hexadecimal digits of this machine's identity; of its name where it has none, as in some containers."""
    try:
        known = _FILE.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        known = ""
    return hashlib.sha256((known or socket.gethostname()).encode()).hexdigest()[:8]
