"""What Go prints while it works, put into words for a person who waits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from loadstone.infrastructure.base import Say

_EVERY_S = 1.0
_SOON_S = 5.0
"""Before this, the time left is not guessed."""
_DOWNLOADING = re.compile(r"go: downloading \S+ \S+")
_PACKAGE = re.compile(r"[^\s:]+")


class Progress:
    """Counts modules and packages and says so, about once a second; ``title`` names what is built."""

    def __init__(self, title: str, modules: int, say: Say, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._modules = modules
        self._say = say
        self._clock = clock
        self._printed_at: float | None = None
        self._began = clock()
        self._fetched = 0
        self._waiting: set[str] = set()
        self._total = 0

    def listed(self, line: str) -> None:
        """A line of ``go list``: a module that is fetched for it, or a package that is not compiled yet."""
        if _DOWNLOADING.fullmatch(line):
            self._fetched += 1
            self._tell(f"fetching modules, {self._fetched} of at most {self._modules}")
        elif _PACKAGE.fullmatch(line):
            self._waiting.add(line)

    def compiling(self) -> None:
        """All packages were listed; from now on they are compiled."""
        self._total = len(self._waiting)
        self._began = self._clock()
        self._printed_at = None

    def built(self, line: str) -> None:
        """A line of ``go build -v``, which prints a package as it begins with it, and nothing while it links."""
        if line not in self._waiting:
            return
        self._waiting.remove(line)
        if not self._waiting:
            self._printed_at = None  # no further line follows
            self._tell(f"{self._total} of {self._total} packages, linking")
        else:
            self._tell(f"{self._total - len(self._waiting)} of {self._total} packages{self._left()}")

    def _left(self) -> str:
        """The time left if the packages to come take as long as those behind us; they differ, hence "about"."""
        elapsed = self._clock() - self._began
        if elapsed < _SOON_S:
            return ""
        seconds = elapsed * len(self._waiting) / (self._total - len(self._waiting))
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {max(1, round(seconds))} s left"

    def _tell(self, text: str) -> None:
        now = self._clock()
        if self._printed_at is None or now - self._printed_at >= _EVERY_S:
            self._printed_at = now
            self._say(f"{self._title}: {text}")
