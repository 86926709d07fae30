"""Leases of bare metal by Blazar, OpenStack's reservation service, which Chameleon runs."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

from loadstone.infrastructure.base import Say
from loadstone.infrastructure.cloud.chameleon import session
from loadstone.infrastructure.cloud.pauses import Pauses
from loadstone.model.errors import DeploymentError, PreflightError

_STARTS_S = 900.0


class Leases:
    """Leases whose names begin with a token."""

    def __init__(self, connection: Any, token: str) -> None:
        self._connection = connection
        self._token = token

    def all(self) -> list[dict[str, Any]]:
        """Those of the token."""
        listed = self._call("GET", "/leases")["leases"]
        return [lease for lease in listed if str(lease["name"]).startswith(f"{self._token}-")]

    def take(self, node_type: str, count: int, until: datetime, say: Say) -> str:
        """The reservation of so many machines from now on, once it is active. Raises PreflightError where none are
        free."""
        lease = {
            "name": f"{self._token}-{len(self.all()) + 1}",
            "start_date": "now",
            "end_date": f"{until:%Y-%m-%d %H:%M}",
            "events": [],
            "reservations": [
                {
                    "resource_type": "physical:host",
                    "min": count,
                    "max": count,
                    "hypervisor_properties": "",
                    "resource_properties": json.dumps(["=", "$node_type", node_type]),
                }
            ],
        }
        say(f"leasing {count} machines {node_type} until {until:%Y-%m-%d %H:%M} UTC")
        made = self._call("POST", "/leases", lease)["lease"]
        deadline, pauses = time.monotonic() + _STARTS_S, Pauses()
        while made["status"] != "ACTIVE":
            if made["status"] in ("ERROR", "TERMINATED"):
                raise PreflightError(f"the lease of {count} {node_type} could not start", session.NO_MACHINES)
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"the lease {made['name']} is {made['status']} since {_STARTS_S:g} s", "try again"
                )
            pauses.wait()
            made = self._call("GET", f"/leases/{made['id']}")["lease"]
        return str(made["reservations"][0]["id"])

    def end(self) -> None:
        """End all of the token."""
        for lease in self.all():
            self._call("DELETE", f"/leases/{lease['id']}", missing_ok=True)

    def free(self, node_type: str) -> dict[str, Any] | None:
        """Facts of a machine of that type; None where the site has none."""
        hosts = self._call("GET", "/os-hosts")["hosts"]
        return next((host for host in hosts if host.get("node_type") == node_type), None)

    def types(self) -> list[str]:
        """The types of all machines that can be leased."""
        hosts = self._call("GET", "/os-hosts")["hosts"]
        return sorted({str(host["node_type"]) for host in hosts if host.get("node_type")})

    def _call(self, method: str, path: str, body: Any = None, missing_ok: bool = False) -> Any:
        with session.explained("the lease", self._connection):
            answer = self._connection.reservation.request(path, method, json=body, raise_exc=False)
            if answer.status_code == 404 and missing_ok:
                return None
            session.check(answer)
            return answer.json() if answer.content else None
