"""A node that does little, and one thing wrong: ``fake_node.py FAULT``. It speaks frames over its standard streams.

A FAULT with a slash is a file that has the nanoseconds by which its wall clock is ahead.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from loadstone.infrastructure.machines import frames
from loadstone.model.records.node.frames import PROTOCOL

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
LINGERS_S = 1.0
"""Between the end of its input and its own, far longer than a process takes to end."""
HELLO = {
    "event": "hello",
    "protocol": PROTOCOL + 1 if FAULT == "protocol" else PROTOCOL,
    "version": "0",
    "arch": "amd64",
    "boot": "b",
    "hostname": "fake",
    "uid": os.getuid(),
    "pid": os.getpid(),
    "state": "/nowhere",
}
_lock = threading.Lock()
files: dict[str, bytes] = {}


def send(head: dict[str, Any], payload: bytes = b"") -> None:
    with _lock:
        sys.stdout.buffer.write(frames.pack(head, payload))
        sys.stdout.buffer.flush()


def run(number: int, args: dict[str, Any], payload: bytes) -> None:
    done = subprocess.run(args["argv"], input=payload, capture_output=True, check=False)
    if args.get("follow"):
        for line in done.stdout.decode().splitlines():
            send({"id": number, "event": {"stdout": line}})
    ran = {
        "code": done.returncode,
        "signal": "",
        "timed_out": False,
        "truncated": False,
        "dropped": 0,
        "stdout_bytes": len(done.stdout),
        "stderr_bytes": len(done.stderr),
    }
    send({"id": number, "ok": ran}, done.stdout + done.stderr)


def put(number: int, args: dict[str, Any], payload: bytes) -> None:
    content = files[args["path"]] = (files[args["path"]] if args.get("offset") else b"") + payload
    digest = hashlib.sha256(content).hexdigest()
    if args["last"] and (args["sha256"], args["size"]) != (digest, len(content)):
        send({"id": number, "error": {"kind": "failed", "message": "not what was sent", "remedy": ""}})
    else:
        send({"id": number, "ok": {"size": len(content), "sha256": digest if args["last"] else ""}})


def get(number: int, args: dict[str, Any]) -> None:
    if (content := files.get(args["path"])) is None:
        error = {"kind": "missing", "message": f"no file {args['path']}", "remedy": "put it there"}
        send({"id": number, "error": error})
        return
    for at in range(0, len(content), 1 << 20):
        send({"id": number, "event": {"offset": at}}, content[at : at + (1 << 20)])
    digest = "0" * 64 if FAULT == "damage" else hashlib.sha256(content).hexdigest()
    send({"id": number, "ok": {"size": len(content), "sha256": digest}})


def clock(number: int) -> None:
    if FAULT == "hangs":
        time.sleep(3600)
    if FAULT == "dies":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(7)
    if FAULT == "babbles":
        sys.stdout.write("what?\n")
        sys.stdout.flush()
        return
    ahead_ns = int(Path(FAULT).read_text()) if "/" in FAULT else 90 * 10**9
    skipped = {"monotonic_ns": "soon"} if FAULT == "release" else {}
    clocks = {"realtime_ns": time.time_ns() + ahead_ns, "monotonic_ns": time.monotonic_ns()}
    send({"id": number, "ok": clocks | skipped})


def main() -> None:
    if FAULT == "silent":
        time.sleep(3600)
    if FAULT == "no node":
        print("Welcome to this host!", flush=True)
        return
    if FAULT == "refused":
        print("sh: stone: Permission denied", file=sys.stderr)
        raise SystemExit(126)
    send(HELLO)
    while (frame := frames.read(sys.stdin.buffer)) is not None:
        head, payload = frame
        number, args = head["id"], head.get("args", {})
        if head["verb"] == "run":
            threading.Thread(target=run, args=(number, args, payload), daemon=True).start()
        elif head["verb"] == "put":
            put(number, args, payload)
        elif head["verb"] == "get":
            get(number, args)
        elif head["verb"] == "clock":
            clock(number)
    if FAULT == "lingers":
        time.sleep(LINGERS_S)


if __name__ == "__main__":
    main()
