"""Copies standard input and output to and from ``HOST:PORT``, each byte SECONDS late, as over a long way.

relay.py SECONDS HOST PORT, as a ProxyCommand.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable


def main() -> None:
    late, host, port = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    connection = socket.create_connection((host, port))
    delayed(late, lambda: os.read(0, 65536), connection.sendall)
    delayed(late, lambda: connection.recv(65536), write).join()
    os._exit(0)  # also where what is sent there has no end


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def delayed(late: float, read: Callable[[], bytes], send: Callable[[bytes], None]) -> threading.Thread:
    """Start to pass on what is read, so many seconds late; the thread ends with what it reads."""
    pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def receive() -> None:
        while True:
            data = read()
            pieces.put((time.monotonic() + late, data))
            if not data:
                return

    def pass_on() -> None:
        while True:
            at, data = pieces.get()
            time.sleep(max(0.0, at - time.monotonic()))
            if not data:
                return
            send(data)

    threading.Thread(target=receive, daemon=True).start()
    sender = threading.Thread(target=pass_on, daemon=True)
    sender.start()
    return sender


if __name__ == "__main__":
    main()
