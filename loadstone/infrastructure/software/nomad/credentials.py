"""The tokens and keys of a cluster that Loadstone has started, and the file at the desk that has the tokens."""

from __future__ import annotations

import base64
import os
import re
import secrets
import shlex
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.infrastructure.base import Access
from loadstone.model.errors import DeploymentError

FILE = "nomad.env"
_KEY_BYTES = 32
_EXPORT = re.compile(r"export (\w+)=(.*)")


def _token() -> str:
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def _key() -> str:
    return base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


@dataclass(frozen=True)
class Secrets:
    """Secrets of one cluster; random. None of them may be shown or written where other users read."""

    nomad: str = field(default_factory=_token, repr=False)
    """Nomad's management token."""
    consul: str = field(default_factory=_token, repr=False)
    """Consul's management token."""
    agents: str = field(default_factory=_token, repr=False)
    """The Consul token of its agents and of Nomad: it registers nodes and services, and manages nothing."""
    nomad_gossip: str = field(default_factory=_key, repr=False)
    """The key that encrypts what Nomad's servers tell each other of their membership."""
    consul_gossip: str = field(default_factory=_key, repr=False)


def save(folder: Path, nomad: str, consul: str, tokens: Secrets) -> Path:
    """Write the file that a shell can source, for its owner alone; ``nomad`` and ``consul`` are the APIs' addresses."""
    variables = {
        "NOMAD_ADDR": nomad,
        "NOMAD_TOKEN": tokens.nomad,
        "CONSUL_HTTP_ADDR": consul,
        "CONSUL_HTTP_TOKEN": tokens.consul,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    return path


def load(access: Access) -> Mapping[str, str]:
    """The variables of the file that ``access`` names; empty for a cluster that Loadstone did not start."""
    if not (path := access.extra.get("credentials")):
        return {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        message = f"the tokens of the Nomad cluster cannot be read: {path}: {error.strerror}"
        raise DeploymentError(message, "`loadstone down` removes the cluster; then start it again") from None
    return {match[1]: shlex.split(match[2])[0] for line in lines if (match := _EXPORT.fullmatch(line))}
