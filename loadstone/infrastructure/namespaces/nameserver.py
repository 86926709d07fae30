"""A name server that answers every query at once with "no such name", as a real network's would.

Without it, a query to an engine for a name that does not exist yet blocks for seconds instead of failing. It runs as
a program on the switch: ``python nameserver.py ADDRESS``, so it imports nothing of Loadstone.
"""

from __future__ import annotations

import socket
import sys

_HEADER = 12
_NO_SUCH_NAME = b"\x81\x83"
"""The flags of RFC 1035: a response, recursion desired and not available, NXDOMAIN."""


def refusal(query: bytes) -> bytes | None:
    """The answer to a query: the same question, no such name; None for what is no query."""
    if len(query) < _HEADER or query[2] & 0x80:
        return None
    end = _HEADER
    while end < len(query) and query[end]:
        end += query[end] + 1
    question = query[_HEADER : end + 5]  # the name's last, empty label, type and class
    return query[:2] + _NO_SUCH_NAME + b"\0\1\0\0\0\0\0\0" + question


def serve(address: str) -> None:
    """Answer for ever."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        query, asker = server.recvfrom(4096)
        if answer := refusal(query):
            server.sendto(answer, asker)


if __name__ == "__main__":
    serve(sys.argv[1])
