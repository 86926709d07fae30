"""Frames: a line of JSON, and the raw bytes that its ``bytes`` announces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from loadstone.model.records.node.frames import MOST_LINE_BYTES, MOST_PAYLOAD_BYTES


class FrameError(Exception):
    """The other side does not keep to the protocol; the text says how."""


def read(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The next frame; None at the end of the stream, between two frames. Raises FrameError."""
    line = stream.readline(MOST_LINE_BYTES + 1)
    if not line:
        return None
    if not line.endswith(b"\n"):
        raise FrameError("a line is too long" if len(line) > MOST_LINE_BYTES else "the stream ended within a line")
    try:
        head = json.loads(line)
    except ValueError:
        raise FrameError(f"no JSON: {line[:80]!r}") from None
    length = head.get("bytes", 0) if isinstance(head, dict) else None
    if type(length) is not int or not 0 <= length <= MOST_PAYLOAD_BYTES:
        raise FrameError(f"no frame: {line[:80]!r}")
    payload = stream.read(length) if length else b""
    if len(payload) < length:
        raise FrameError(f"the stream ended within {length} bytes")
    return head, payload


def pack(head: dict[str, Any], payload: bytes = b"") -> bytes:
    """A frame as it is sent. Raises FrameError where it is longer than the other side takes."""
    line = json.dumps({**head, "bytes": len(payload)} if payload else head, separators=(",", ":")).encode() + b"\n"
    if len(line) > MOST_LINE_BYTES or len(payload) > MOST_PAYLOAD_BYTES:
        raise FrameError(f"a request of {len(line) + len(payload)} bytes")
    return line + payload


def pieces(content: bytes | Path) -> Iterator[tuple[bytes, bool]]:
    """A content in pieces that fit into a frame, and whether each is the last."""
    if isinstance(content, bytes):
        starts = range(0, max(1, len(content)), MOST_PAYLOAD_BYTES)
        yield from ((content[at : at + MOST_PAYLOAD_BYTES], at == starts[-1]) for at in starts)
        return
    with content.open("rb") as stream:
        piece = stream.read(MOST_PAYLOAD_BYTES)
        while True:
            following = stream.read(MOST_PAYLOAD_BYTES)
            yield piece, not following
            if not following:
                return
            piece = following
