"""An HTTP server of known, fixed capacity: ``python -m bench.paced PORT CAPACITY LOG``.

It answers first come, first served, one request each 1/CAPACITY s, whatever waits; on SIGTERM it writes the wall-clock
time of every answer to LOG, one a line.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from pathlib import Path

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def main(port: int, capacity: float, log: Path) -> None:
    loop = asyncio.get_running_loop()
    free, times = 0.0, []

    def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER)
        times.append(time.time())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal free
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                free = max(free, loop.time()) + 1 / capacity
                loop.call_at(free, answer, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    server.close()
    log.write_text("".join(f"{when:.6f}\n" for when in times))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3])))
