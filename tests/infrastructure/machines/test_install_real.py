"""``cluster: {install: true}`` by the real apt-get, on a host whose layers over programs and packages are its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.infrastructure.hosts import Hosts
from loadstone.infrastructure.hosts.claims import CLAIM
from loadstone.infrastructure.machines import close_all, connect
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.cluster import Cluster
from tests.infrastructure.machines.ssh_hosts import SSHD, ssh_hosts
from tests.infrastructure.preparation import sources
from tests.support.clusters import folders

pytestmark = [pytest.mark.root, pytest.mark.docker]

PACKAGE = "docker.io"
WITHOUT = f"""
rm -f /var/lib/dpkg/info/{PACKAGE}.prerm /var/lib/dpkg/info/{PACKAGE}.postrm
dpkg --purge --force-depends {PACKAGE} >/dev/null 2>&1
"""
"""Without its scripts, which would stop the engine of this machine."""
STATE = f"""
dpkg-query -W -f '${{db:Status-Status}}\\n' {PACKAGE}
command -v dockerd || echo none
ls /usr/sbin/policy-rc.d 2>/dev/null || echo none
"""


def state(host: Host) -> list[str]:
    """What dpkg says of the package, its program, and the policy against starting services."""
    return host.run(["sh", "-c", STATE]).stdout.split()


def test_an_engine_that_is_missing_is_installed_by_apt_and_used(tmp_path: Path) -> None:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [each.message for each in Namespaces(Cluster(), "x").preflight("swarm", 1) if each.level == "error"]:
        pytest.skip("; ".join(lacking))
    debs = sources.fetched(tmp_path / "debs", [PACKAGE])
    more = sources.USE.format(folder=debs) + WITHOUT
    with folders(), ssh_hosts(1, own_roots=True, more=more) as made:
        (host,) = made.hosts
        assert state(host) == ["not-installed", "none", "none"]
        cluster = Cluster(infrastructure="hosts", inventory=str(made.inventory()), install=True)
        hosts = Hosts(cluster, "installs")
        steps: list[str] = []
        assert f"{PACKAGE} will be installed" in [each.message for each in hosts.preflight("docker", 0)]
        try:
            provision = hosts.provide("docker", 0, steps.append)
            assert f"installing {PACKAGE} on worker-1" in steps and provision.access is not None
            assert state(host) == ["installed", "/usr/sbin/dockerd", "none"]
            claim = connect(host.name, provision.nodes[-1].reach).deployment(CLAIM)
            assert claim is not None and any(process.alive for process in claim.processes), claim
            assert hosts.problems() == [], "the engine answers"
        finally:
            hosts.release()
            close_all()
        assert state(host)[0] == "installed" and made.left([]) == [], "packages stay, and nothing else"
