"""Packages of the distribution for hosts that lack programs. They stay; their services are not left running."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.infrastructure.base import Say
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.infrastructure.software import preflight
from loadstone.infrastructure.software.base import Software
from loadstone.model.errors import DeploymentError

_WITHIN_S = 900.0
POLICY = "/usr/sbin/policy-rc.d"
_MARK = "# Loadstone installs packages: no service is started"
"""As the roles of ``loadstone prepare`` mark theirs."""
_OURS = f"grep -qsxF '{_MARK}' {POLICY}"
_INSTALL = rf"""
if [ ! -e {POLICY} ] || {_OURS}; then
  trap 'rm -f {POLICY}' EXIT
  printf '#!/bin/sh\n%s\nexit 101\n' '{_MARK}' >{POLICY}
  chmod 755 {POLICY}
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends "$@"
command -v systemctl >/dev/null || exit 0
for unit in $(dpkg -L "$@" | sed -nE 's,.*/systemd/system/([^/@]+\.(service|socket))$,\1,p'); do
  systemctl disable -q "$unit"
done
"""
"""``policy-rc.d`` keeps the services of new packages from being started, as Debian's policy describes it."""


def let_services_start(machine: Machine) -> None:
    """Remove the policy of an installation that was killed; another's stays."""
    machine.run(["sh", "-c", f"! {_OURS} || rm -f {POLICY}"])


def install(software: Software, machines: Sequence[Machine], say: Say) -> None:
    """Install the packages of the programs that machines lack. Raises DeploymentError with the complaint of apt-get."""
    missing = preflight.missing_tools(software, machines)

    def on(machine: Machine) -> None:
        packages = sorted(set(missing[machine.name].values()))
        say(f"installing {', '.join(packages)} on {machine.name}")
        done = machine.run(["sh", "-ec", _INSTALL, "install", *packages], within_s=_WITHIN_S)
        if done.code or done.timed_out:
            last = "\n  ".join(done.complaint.splitlines()[-5:])
            raise DeploymentError(
                f"{machine.name}: {', '.join(packages)} cannot be installed: {last}",
                f"install them by hand on {machine.name}, then run again",
            )

    in_parallel(on, [machine for machine in machines if machine.name in missing])
