"""Fills, empties and checks the carts of the shop through its edge router: carts.py fill|empty|check."""

from __future__ import annotations

import json
import os
import sys
import urllib.request

CARTS = f"http://{os.environ['LOADSTONE_ENTRY']}/carts"
FILLED = 10


def call(method: str, body: str | None = None) -> dict[str, object]:
    """One request; the answer."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(CARTS, body.encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, object] = json.load(answer)
        return found


if __name__ == "__main__":
    match sys.argv[1]:
        case "fill":
            call("PUT")
            for number in range(FILLED):
                call("POST", json.dumps({"item": number}))
        case "empty":
            call("DELETE")
        case "check":
            sys.exit(call("GET")["doc_count"] != FILLED)
