"""What Compose and Swarm share: the same services in the same file format, and the same engines below."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from loadstone.model import yaml12
from loadstone.model.deployment import EXECUTABLE, Deployment, Replica, is_script
from loadstone.model.errors import DeploymentError
from loadstone.model.software import STORE_PASSWORD
from loadstone.model.units import format_seconds
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.discovery import PASSWORD_VARIABLE, environment, password, readiness_url
from loadstone.orchestration.docker.errors import taken_port
from loadstone.orchestration.ports import is_free

_PACE_S = 60
"""Between two checks of a replica that was ready: an engine spends 40 ms of CPU time on starting one."""
_CHECK = {"interval": "1s", "timeout": "2m", "retries": 30}
"""Often until it is ready. A replica that is so busy that it does not answer is still no reason to replace it: that
would end the trial which found out."""
_REMEMBERS = "/dev/shm/loadstone-ready"

Tree = dict[str, Any]


def fit(name: str, longest: int) -> str:
    """A deployment's name as Docker takes it: lower-case letters, digits and '-'; changed names stay different."""
    fitting = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    if fitting == name and len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{fitting[: longest - len(digest) - 1]}-{digest}".strip("-")


def labels(deployment: Deployment, service: str | None = None) -> dict[str, str]:
    """By which everything that is made is found again."""
    return {LABEL: deployment.name} | ({SERVICE_LABEL: service} if service else {})


def service(deployment: Deployment, replica: Replica) -> Tree:
    """What both kinds of file say of a service."""
    entry: Tree = {"image": deployment.images[replica.software or replica.image or "stone"]}
    if replica.stone is not None:
        entry |= {"command": ["serve", replica.stone], "environment": environment(deployment, replica)}
    elif replica.software is not None:
        container = deployment.software[replica.software].container
        entry |= {"command": container.command, "environment": container.environment}
    else:
        entry |= {
            "entrypoint": list(replica.entrypoint),
            "command": list(replica.command),
            "environment": password(deployment, replica) | replica.environment,
        }
    entry["healthcheck"] = _health_check(deployment, replica)
    entry["labels"] = labels(deployment, replica.service)
    return {key: value for key, value in entry.items() if value}


def _health_check(deployment: Deployment, replica: Replica) -> Tree:
    """Until a replica was ready for the first time, no failure counts. An image has a check of its own, or none."""
    if replica.image is not None:
        return {}
    test = ["CMD", "/stone", "ready", "--timeout", "10s", "--pace", f"{_PACE_S}s", readiness_url(replica)]
    store = deployment.software[replica.software].container if replica.software is not None else None
    if store is not None and deployment.images[replica.software or ""] == store.image:  # the official one
        ask = " ".join(map(_quoted, store.ready))
        wait = f"if [ -e {_REMEMBERS} ]; then sleep {_PACE_S}; fi"
        test = ["CMD-SHELL", f"{wait}; {ask} && touch {_REMEMBERS} || {{ rm -f {_REMEMBERS}; exit 1; }}"]
    return {"test": test, **_CHECK, "start_period": format_seconds(replica.readiness.within)}


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./:=-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def secrets(password: str) -> dict[str, str]:
    """The variables that the files refer to, for the command that reads them."""
    return {PASSWORD_VARIABLE: password}


def _escaped(value: Any) -> Any:
    """Compose files replace ``$NAME``; a dollar sign is written as two."""
    if value == STORE_PASSWORD:
        return f"${{{PASSWORD_VARIABLE}}}"
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    return value


def entrance(deployment: Deployment) -> dict[str, str]:
    """What the container needs in which a machine is read (``machines/exec.py``)."""
    return {"image": deployment.images["stone"]}


def published(deployment: Deployment, replica: Replica) -> dict[str, int | None]:
    """The ports that clients and users need, by name, each with the number on its node; None: any that is free.

    An entry keeps its own where one replica has it, unless it is beside another application; a stack always.
    """
    found: dict[str, int | None] = {}
    for name, port in replica.ports.items():
        if deployment.enters(replica, name):
            alone = len(deployment.of(replica.service)) == 1 and not deployment.beside
            found[name] = port if alone else None
        elif replica.stack:
            found[name] = port
    return found


def refuse_taken_ports(deployment: Deployment, everywhere: bool) -> None:
    """Raise DeploymentError for a port of this machine that others have, before anything is started.

    ``everywhere``: it will be bound on all addresses. Emulated hosts have ports of their own.
    """
    for service, (replica, *_) in deployment.services().items():
        node = deployment.node(replica.node)
        for number in published(deployment, replica).values():
            ours = number is not None and node.reach.local and not node.emulated
            if ours and not is_free(number or 0, "" if everywhere else node.address):
                taken = taken_port(number or 0)
                raise DeploymentError(f"{service}: {taken.message}", taken.remedy)


def config_files(replica: Replica) -> dict[str, str]:
    """Where the text of each configuration file lies beside the rendered file, by its path in the container."""
    paths = enumerate(replica.configs, start=1)
    return {path: f"configs/{replica.service}/{number}-{path.rpartition('/')[2]}" for number, path in paths}


def with_configs(deployment: Deployment, name: str, text: str) -> dict[str, str]:
    """A rendered file with the configuration files that it names."""
    files = {name: text}
    for replicas in deployment.services().values():
        files |= {file: replicas[0].configs[path] for path, file in config_files(replicas[0]).items()}
    return files


def dump(tree: Tree) -> str:
    """As a person would write it: an empty line before each section and each service but the first."""
    parts = []
    for section, content in _escaped(tree).items():
        entries = content.items() if section == "services" else ()
        texts = [yaml12.dump({section: {name: entry}}) for name, entry in entries] or [yaml12.dump({section: content})]
        parts.append("\n".join([texts[0], *(text.partition("\n")[2] for text in texts[1:])]))
    return "\n".join(parts)


def memory(limit: int) -> str:
    """A number of bytes as both versions of Compose read it."""
    return f"{limit // 2**20}M" if limit % 2**20 == 0 else f"{limit}b"


def write(files: dict[str, str], folder: Path) -> None:
    """Put rendered files where the command line of Docker's finds them."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if is_script(text):
            file.chmod(EXECUTABLE | 0o200)
