"""NGINX in front of an application: the service, and its configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.model.application import Application, Entry, Readiness, Resources, Runs, Service
from loadstone.model.errors import InputError
from loadstone.model.proxy import SERVICE, Proxy
from loadstone.model.software import SoftwareCatalogue

CONFIG = "/etc/nginx/nginx.conf"
"""Where it is in a container."""
FILE = "nginx.conf"
_SOFTWARE = "nginx"
_RESOURCES = Resources(cpu=1.0, memory=256 * 2**20)
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


ENTRY = Entry(service=SERVICE, port="http")
"""Where requests enter a proxy."""


def in_front(application: Application, entry: Entry, proxy: Proxy, catalogue: SoftwareCatalogue) -> Application:
    """The application with NGINX in front of an entry.

    Raises InputError where the application has a service of that name.
    """
    if SERVICE in application.services:
        raise InputError(f"proxy: {application.name} has a service {SERVICE!r} of its own; leave the proxy out")
    behind, port = application.services[entry.service], catalogue.software[_SOFTWARE].port
    text = configuration(proxy, str(port), servers([f"{entry.service}:{behind.ports[entry.port]}"]))
    service = Service(
        tier="frontend",
        runs=Runs(software=_SOFTWARE),
        ports={ENTRY.port: port},
        needs=[entry.service],
        resources=_RESOURCES,
        readiness=Readiness(port=ENTRY.port, within=behind.readiness.within),
        configs={CONFIG: text},
    )
    return application.model_copy(update={"services": {**application.services, SERVICE: service}})


def servers(addresses: Iterable[str]) -> str:
    """Where requests go on to: ``host:port`` of each, in turn. A name stands for all addresses that it has."""
    return "\n        ".join(f"server {address};" for address in addresses)


def configuration(proxy: Proxy, listen: str, upstream: str) -> str:
    """``nginx.conf``: ``listen`` is ``host:port`` or a port, ``upstream`` what ``servers`` makes.

    Relative paths are below NGINX's prefix. All workers share the round-robin state. Connections to
    the front end are kept open, a quarter of a worker's at most while idle. Only errors are logged; no body is too
    large.
    """
    keep = f"keepalive_requests {proxy.keepalive_requests};" if proxy.keepalive_requests is not None else ""
    folders = "\n    ".join(f"{name}_temp_path {name};" for name in _TEMPORARY)
    text = f"""\
daemon off;
pid nginx.pid;
error_log stderr warn;
worker_processes {proxy.workers};
worker_rlimit_nofile {proxy.connections + 64};

events {{
    worker_connections {proxy.connections};
}}

http {{
    access_log off;
    client_max_body_size 0;
    {folders}
    {keep}

    upstream behind {{
        zone behind 256k;
        {upstream}
        keepalive {proxy.connections // 4};
        {keep}
    }}

    server {{
        listen {listen};

        location / {{
            proxy_pass http://behind;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
        }}
    }}
}}
"""
    return "\n".join(line for line in text.split("\n") if line == "" or line.strip())
