"""Why a host could not be prepared, in one message with the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from loadstone.infrastructure.machines.ssh import Ssh

_NO_SUDO = re.compile(r"sudo: |[Mm]issing sudo password|not in the sudoers file|become password")
_WRONG_PASSWORD = "Incorrect sudo password"
_NO_PYTHON = re.compile(r"python3?: (?:command )?not found|python3?: No such file")
_REMEDIES = (
    (
        "Debian or Ubuntu",
        "use hosts of these, or install by hand what docs/how-to/prepare-hosts.md lists; where an image has it, write "
        "cluster: {instances: {prepare: false}}",
    ),
    ("no package source", "see that `apt-get update` works there: its network, /etc/apt/sources.list, a proxy"),
    (
        "its clock is not",
        "see `chronyc sources` there: UDP port 123 between the hosts; or allow more: --clock-bound, and in a study "
        "cluster: {instances: {clock_bound: 10ms}}",
    ),
    ("remove it first", "or leave the packages installed"),
)


class Trouble(NamedTuple):
    """A message that names the host, and what to do."""

    message: str
    remedy: str


def explain(host: str, login: str, result: Mapping[str, Any]) -> Trouble:
    """From what Ansible reports of a task that failed, or of a host that it could not reach."""
    parts = [result, *result.get("failed_modules", {}).values()]  # those that gather facts
    texts = [str(part.get(key, "")) for part in parts for key in ("msg", "module_stderr", "module_stdout", "stderr")]
    text = "\n".join(texts)
    if result.get("unreachable"):
        message, remedy = Ssh(login).explain(text)
        return Trouble(f"{host}: {message}", remedy)
    if _WRONG_PASSWORD in text:
        return Trouble(f"{host}: sudo refuses the password", "give the one by which the login may use sudo there")
    if _NO_SUDO.search(text):
        return Trouble(
            f"{host}: root is needed, and the login may not become it without a password",
            "log in as root, let it use sudo without a password, or give its password once: --ask-password",
        )
    if _NO_PYTHON.search(text):
        return Trouble(f"{host}: it has no Python, which Ansible needs there", "apt-get install python3 on it")
    message = next((each.strip() for each in texts if each.strip()), "a task failed without a reason")
    return Trouble(f"{host}: {message}", next((remedy for part, remedy in _REMEDIES if part in message), ""))
