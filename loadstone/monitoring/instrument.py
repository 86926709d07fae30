"""An instrument of ``stone`` that runs beside a deployment on this machine and is asked over HTTP."""

from __future__ import annotations

import itertools
import re
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

import requests

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.children import start, stop
from loadstone.model.errors import DeploymentError

_LISTENING = re.compile(r"listening on (\S+:\d+)\b")
_STARTED_WITHIN_S = 30.0


class InstrumentError(Exception):
    """It does not answer, or not as asked; the text says why."""


class Instrument:
    """A child whose first lines say where it listens: ``listening on HOST:PORT``. The last is where it is asked.

    It dies with us.
    """

    def __init__(self, arguments: Sequence[str], cpus: Sequence[int], lines: int = 1) -> None:
        self._name = arguments[0]
        self._words: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the instrument
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy for the web does not lead here
        command = [str(stone_binary()), *arguments]
        self._process = start(command, cpus, stdout=subprocess.PIPE, stderr=self._words)
        try:
            self.addresses = self._listens(lines)
        except BaseException:
            self.stop()
            raise

    def _listens(self, lines: int) -> list[str]:
        assert self._process.stdout is not None
        late = threading.Timer(_STARTED_WITHIN_S, self._process.kill)
        late.start()
        try:
            said = list(itertools.islice(self._process.stdout, lines))
        finally:
            late.cancel()
        found = [match.group(1) for line in said if (match := _LISTENING.match(line))]
        if len(found) < lines:
            raise DeploymentError(f"stone {self._name} did not start: {self._last_words()}")
        return found

    def ask(self, method: str, path: str, body: Any = None, within_s: float = 30.0) -> requests.Response:
        """Its answer; raises InstrumentError where there is none, or another status than 200."""
        return ask(self._session, method, f"http://{self.addresses[-1]}{path}", body, within_s)

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it. May be called twice."""
        if self.alive():
            stop(self._process)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._session.close()
        self._words.close()

    def _last_words(self) -> str:
        self._words.seek(0)
        return self._words.read().strip()[-300:] or "it said nothing"


def ask(session: requests.Session, method: str, url: str, body: Any, within_s: float) -> requests.Response:
    """An answer over HTTP; raises InstrumentError where there is none, or another status than 200."""
    try:
        response = session.request(method, url, json=body, timeout=(3.05, within_s))
    except requests.RequestException as error:
        raise InstrumentError(f"{url} does not answer: {type(error).__name__}") from None
    if response.status_code != requests.codes.ok:
        raise InstrumentError(f"{url} answers {response.status_code}: {response.text.strip()[:200]}")
    return response
