"""What Nomad renders for a replica before it starts, and again when something moves: files of consul-template. Pure."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from dataclasses import dataclass

from loadstone.model.deployment import EXECUTABLE, Deployment, Replica, is_script
from loadstone.orchestration import discovery, proxy
from loadstone.orchestration.docker import fit

_LONGEST_DEPLOYMENT = 40
_LONGEST_NAME = 63
"""Most characters in the name of a service in Consul: a label of DNS."""

# Lists every address: stone's client checks health itself, so it need not wait for Consul's check.
_REPLICAS = '{{ range $i, $one := service "NAME|any" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}'
_STORES = '{{ range $i, $one := service "NAME" }}{{ if $i }},{{ end }}{{ .Address }}:{{ .Port }}{{ end }}'
_ONE_STORE = '{{ with service "NAME" }}{{ with index . WHICH }}URL{{ end }}{{ end }}'
# A mounted /etc/hosts stays the file that it was when the container started. So that waits for all of them: asking for
# a key that is not there holds a template back.
_HOSTS = (
    '{{ if lt (len (service "NAME|any")) COUNT }}{{ key "loadstone/waits-for/NAME" }}{{ end }}'
    '{{ range service "NAME|any" }}{{ .Address }} HOST\n{{ end }}'
)
_BEHIND = (
    '{{ if lt (len (service "NAME|any")) COUNT }}{{ key "loadstone/waits-for/NAME" }}{{ end }}'
    '{{ range service "NAME|any" }}server {{ .Address }}:{{ .Port }}; {{ end }}'
)
_PROXY_FILE = f"local/{proxy.FILE}"


@dataclass(frozen=True)
class Template:
    """One file; ``destination`` is below the task's folder."""

    destination: str
    on_change: str
    """``noop``: its reader reloads it; or ``restart``."""
    text: str
    variables: bool = False
    """Its lines are environment variables."""
    delimiters: tuple[str, str] | None = None
    """Instead of double braces."""

    @property
    def permissions(self) -> str:
        """Octal; nothing where they are the usual ones."""
        return f"{EXECUTABLE:o}" if is_script(self.text) else ""


@dataclass(frozen=True)
class Mount:
    """A rendered file at a path of the container; ``source`` is below the task's folder."""

    target: str
    source: str
    readonly: bool = False


def job_prefix(deployment: str) -> str:
    """What the jobs of a deployment of that name begin with; no other deployment's do."""
    return fit(deployment, _LONGEST_DEPLOYMENT) + "-"


def job_name(deployment: str, service: str) -> str:
    """What Nomad calls a service of a deployment."""
    return job_prefix(deployment) + service


def catalogue_name(deployment: str, service: str) -> str:
    """What Consul calls it."""
    return fit(job_name(deployment, service), _LONGEST_NAME)


def tag(deployment: str) -> str:
    """What the services of a deployment are tagged with in Consul."""
    return f"loadstone.deployment={deployment}"


def environment(deployment: Deployment, replica: Replica) -> dict[str, str]:
    """The variables of a replica that are known before anything runs: all but where others are."""
    if replica.software is not None:
        return deployment.software[replica.software].container.environment
    password = discovery.password(deployment, replica)
    if replica.image is not None:
        literal = _literal(replica)
        return password | {name: value for name, value in replica.environment.items() if name not in literal}
    files = {discovery.variable(deployment, need): f"file:/{_file(need)}" for need in _ours(deployment, replica)}
    return discovery.listening(replica) | files | discovery.settings(deployment) | password | replica.environment


def templates(deployment: Deployment, replica: Replica) -> list[Template]:
    """The files of a replica: lists of services, variables of stores; of an image names and configurations."""
    if replica.image is not None:
        hosts = [Template("local/hosts", "restart", _hosts(deployment, replica))] if replica.needs else []
        lines = "".join(f"{name}={json.dumps(value)}\n" for name, value in _literal(replica).items())
        variables = [_as_it_is("local/variables.env", lines, variables=True)] if lines else []
        return hosts + variables + [_config(path, text) for path, text in replica.configs.items()]
    if replica.stack:
        return [_config(path, text) for path, text in replica.configs.items()]
    if replica.in_front:
        return [_proxy(deployment, replica)]
    ours = _ours(deployment, replica)
    lists = [Template(_file(need), "noop", _named(deployment, need, _REPLICAS) + "\n") for need in ours]
    stores = [need for need in replica.needs if need not in ours]
    lines = "".join(f"{discovery.variable(deployment, need)}={_store(deployment, need)}\n" for need in stores)
    return [*lists, Template("local/stores.env", "restart", lines, variables=True)] if stores else lists


def mounts(replica: Replica) -> list[Mount]:
    """Where an image finds its files.

    Its volumes are in the container's own layer: the docker driver mounts some only where it may mount any folder of
    the host.
    """
    if replica.in_front:
        return [Mount(proxy.CONFIG, _PROXY_FILE, readonly=True)]
    hosts = [Mount("/etc/hosts", "local/hosts")] if replica.image is not None and replica.needs else []
    configs = [Mount(path, _config(path, text).destination, readonly=True) for path, text in replica.configs.items()]
    return [*hosts, *configs]


def _ours(deployment: Deployment, replica: Replica) -> list[str]:
    """The needs that are services of stone: their replicas come and go without a restart."""
    return [need for need in replica.needs if deployment.of(need)[0].stone is not None]


def _file(need: str) -> str:
    return f"local/need-{need}"


def _named(deployment: Deployment, service: str, text: str) -> str:
    return text.replace("NAME", catalogue_name(deployment.name, service))


def _store(deployment: Deployment, need: str) -> str:
    """The address of a store; of several document stores, which know nothing of each other, a replica keeps to one."""
    if not discovery.holds_documents(deployment, need):
        return _named(deployment, need, _STORES)
    replicas = deployment.of(need)
    which = '(env "NOMAD_ALLOC_INDEX" | parseInt | modulo (len .))' if len(replicas) > 1 else "0"
    url = discovery.url(deployment, replicas[0], "{{ .Address }}", "{{ .Port }}")
    return _named(deployment, need, _ONE_STORE).replace("WHICH", which).replace("URL", url)


def _hosts(deployment: Deployment, replica: Replica) -> str:
    """An /etc/hosts: an image finds those that it needs at the names of their services."""
    reached = [need for need in replica.needs if deployment.of(need)[0].ports]
    return "127.0.0.1 localhost\n" + "".join(
        _named(deployment, need, _HOSTS).replace("HOST", need).replace("COUNT", str(len(deployment.of(need))))
        for need in reached
    )


def _proxy(deployment: Deployment, replica: Replica) -> Template:
    """The configuration of what is in front, with all replicas behind it: their ports are known to Consul alone."""
    assert deployment.proxy is not None and deployment.behind is not None
    behind = deployment.behind.service
    upstream = _named(deployment, behind, _BEHIND).replace("COUNT", str(len(deployment.of(behind))))
    text = proxy.configuration(deployment.proxy, str(replica.ports[replica.main_port]), upstream)
    return Template(_PROXY_FILE, "noop", text)


def _literal(replica: Replica) -> dict[str, str]:
    """The variables of an image that Nomad would change: in those of a job it replaces ``${NAME}`` by another variable,
    or not, as it happens to know that one by then. In those of a file it replaces nothing."""
    named = {name: value for name, value in replica.environment.items() if re.fullmatch(r"[A-Za-z_][\w.]*", name, re.A)}
    return {name: value for name, value in named.items() if re.search(r"\$\{[\w.-]+\}", value, re.A)}


def _config(path: str, text: str) -> Template:
    """A configuration file of an image."""
    name = f"{hashlib.sha256(path.encode()).hexdigest()[:6]}-{path.rpartition('/')[2]}"
    return _as_it_is(f"local/configs/{name}", text)


def _as_it_is(destination: str, text: str, variables: bool = False) -> Template:
    """A file that is there as it is: with delimiters that are not in it, nothing in it is a template."""
    signs = next(sign for sign in map("<{}<".format, itertools.count()) if sign not in text)
    return Template(destination, "noop", text, variables, (signs, signs.replace("<", ">")))
