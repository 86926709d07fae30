"""A Chromium without a window, controlled through its DevTools protocol: any width, both themes, real keys."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")
_TAB = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
"""Kept when a page has been laid out, and what observes sizes has been called."""
_TROUBLE = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Chromium:
    """One browser with one page; close it. It reads commands from descriptor 3 and writes answers to 4."""

    def __init__(self, profile: Path) -> None:
        theirs, self._to = _pipe()
        self._from, other = _pipe()
        command = [str(PROGRAM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *_QUIET]
        command += [f"--user-data-dir={profile}", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{other}', "bash", *command],
            pass_fds=(theirs, other),
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (theirs, other):
            os.close(descriptor)
        self._unread, self._number, self._session = b"", 0, ""
        self.problems: list[str] = []
        """What the page logged, and what its scripts raised."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setFocusEmulationEnabled", enabled=True)
        self._call("Emulation.setScrollbarsHidden", hidden=True)  # so that a page is as wide as its window

    def close(self) -> None:
        """End it and all of its processes."""
        self._session = ""
        self._call("Browser.close")
        self._process.wait()
        for descriptor in (self._to, self._from):
            os.close(descriptor)

    def open(self, page: Path, width: int = 1280, dark: bool = False) -> None:
        """Load a page from a file, in a window so wide."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self._call("Emulation.setEmulatedMedia", features=features)
        self.problems.clear()
        self._call("Page.navigate", url=page.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass
        self.evaluate(DRAWN)

    def evaluate(self, script: str) -> Any:
        """The value of an expression, or of what it promises."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def tab(self) -> None:
        """Press the tabulator key."""
        for kind in ("rawKeyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, **_TAB)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        rest = memoryview(json.dumps(message).encode() + b"\0")
        while rest:
            rest = rest[os.write(self._to, rest) :]
        while (answer := self._read()).get("id") != self._number:
            pass
        assert "error" not in answer, (method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        """The next message; those about trouble are kept."""
        while b"\0" not in self._unread:
            part = os.read(self._from, 1 << 16)
            assert part, "Chromium has ended"
            self._unread += part
        text, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in _TROUBLE:
            self.problems.append(json.dumps(message["params"]))
        return message


def _pipe() -> tuple[int, int]:
    """Its ends, away from the descriptors that Chromium uses."""
    read, write = os.pipe()
    ends = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write))
    for end in (read, write):
        os.close(end)
    return ends[0], ends[1]
