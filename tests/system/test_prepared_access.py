"""``loadstone prepare`` where a firewall filters, where sudo demands a password: on hosts with roots of their own."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from loadstone.infrastructure import desk
from loadstone.infrastructure.machines import connect, ssh
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.preparation import connections
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.model.inventory import Inventory
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.infrastructure.preparation import sources
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import folders
from tests.support.daemons import Daemon
from tests.support.users import LOADSTONE, User, wait
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker, pytest.mark.long]

INSTALL = """
apt-get -q update >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends sudo ufw >/dev/null
"""
FIREWALLD = ["firewalld", "gir1.2-nm-1.0", "libnftables1", "libnm0", "python3-firewall", "python3-nftables"]
INSTALL_FIREWALLD = "DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends firewalld >/dev/null"
PASSWORD = "it's 1 secret"
TESTER = f"""
useradd --home-dir / --no-create-home --shell /bin/sh tester
echo {shlex.quote(f"tester:{PASSWORD}")} | chpasswd
echo 'tester ALL=(ALL:ALL) ALL' >/etc/sudoers.d/tester
chmod 440 /etc/sudoers.d/tester
"""
WITHOUT_TESTER = "sed -i /^tester:/d /etc/passwd /etc/shadow; rm /etc/sudoers.d/tester"
STATE = """
ufw show added
ls /etc/sudoers.d /var/lib/loadstone/preparation.json 2>/dev/null || true
"""
"""Shell line that prints what preparation may change here."""
LISTEN = """
import socket, time
servers = [socket.create_server(("", port)) for port in (2377, 20000, 9000)]
print("listens", flush=True)
time.sleep(1e6)
"""
CONNECT = """
import socket, sys
for port in (2377, 20000, 9000):
    try:
        socket.create_connection((sys.argv[1], port), 5).close()
        print(port)
    except OSError:
        pass
"""
SETTINGS = ("--for", "swarm", "--clock-bound", "100ms", "--yes")
"""The bound is wide: the machine of the tests has other work. Hosts follow the same kernel's clock."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    if SSHD is None:
        pytest.skip("needs openssh-server")
    findings = Namespaces(Cluster(), "preflight").preflight("swarm", 1)
    if lacking := [finding.message for finding in findings if finding.level == "error"]:
        pytest.skip("; ".join(lacking))
    packages = sources.fetched(
        tmp_path_factory.mktemp("packages") / "debs", ["chrony", "sudo", "ufw", *FIREWALLD], newer=["systemd-timesyncd"]
    )
    more = sources.USE.format(folder=packages) + sources.WITHOUT_CHRONY + INSTALL
    with folders(), ssh_hosts(3, own_roots=True, more=more) as made:
        yield made


@pytest.fixture
def person(three: SshHosts, user: User) -> Iterator[User]:
    """A user of the hosts, which are at the end as they were before."""
    for host in three.hosts:
        host.run(["sh", "-ec", sources.MEASURES]).check_returncode()
    before = [state(host) for host in three.hosts]
    yield user
    user.runs("prepare", str(three.inventory()), "--undo", "--yes")
    assert [state(host) for host in three.hosts] == before


def state(host: Host) -> list[str]:
    done = host.run(["sh", "-ec", STATE])
    done.check_returncode()
    return done.stdout.splitlines()


def reached(address: str, by: Host | None = None) -> set[int]:
    """The ports of an address to which a host can connect, or this machine, which is no host of the inventory."""
    command = ["python3", "-c", CONNECT, address]
    done = by.run(command) if by else subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(map(int, done.stdout.split()))


def test_a_firewall_lets_the_other_hosts_reach_what_runs_and_nothing_else(three: SshHosts, person: User) -> None:
    first, second, third = three.hosts
    inventory = str(three.inventory())
    servers = Daemon(first, "servers", ["python3", "-c", LISTEN])
    try:
        servers.awaits("listens")
        assert reached(first.address, second) == {2377, 20000, 9000}
        for host in (first, second):
            host.run(["sh", "-ec", "ufw allow 22/tcp && ufw --force enable"]).check_returncode()
        assert reached(first.address, second) == set()
        done = person.runs("prepare", inventory, *SETTINGS)
        shared = connections.prefix(Document.read(Path(inventory)).parse(Inventory))
        assert list(ssh.sockets().glob(f"{shared}*")) == [], "Ansible's connections end with its run"
        for name in ("worker-1", "worker-2"):
            assert f"{name}: firewall: let the other hosts reach 123/udp, 2377/tcp, " in done.stdout
        assert "worker-3: firewall" not in done.stdout, "no firewall is active there"
        # The clock of the first is followed through its firewall.
        assert sum(line.endswith(f" us from {first.address}") for line in done.stdout.splitlines()) == 2, done.stdout
        assert reached(first.address, second) == reached(first.address, third) == {2377, 20000}
        assert reached(first.address) == set()
        assert "nothing to change" in person.runs("prepare", inventory, *SETTINGS).stdout
        person.runs("prepare", inventory, "--undo", "--yes")
        assert reached(first.address, second) == set()
    finally:
        servers.end()
        for host in (first, second):
            host.run(["sh", "-ec", "ufw --force disable && ufw --force delete allow 22/tcp"]).check_returncode()


@contextlib.contextmanager
def firewalld(host: Host) -> Iterator[None]:
    """Filters there meanwhile."""
    Daemon(host, "bus", ["dbus-daemon", "--system", "--nofork", "--nopidfile"], mounts="mkdir -p /run/dbus")
    wait(lambda: host.run(["test", "-S", "/run/dbus/system_bus_socket"]).returncode == 0)
    Daemon(host, "firewalld", ["firewalld", "--nofork", "--nopid"])
    wait(lambda: host.run(["firewall-cmd", "--state"]).returncode == 0)
    try:
        yield
    finally:
        machine = connect(host.name, host.reach)
        for name in ("firewalld", "bus"):
            machine.stop(name, [name], "TERM", 20)
            machine.end(name)


def test_firewalld_lets_the_other_hosts_reach_what_runs_and_nothing_else(three: SshHosts, person: User) -> None:
    first, _, third = three.hosts
    inventory = str(three.inventory())
    if third.run(["sh", "-ec", INSTALL_FIREWALLD]).returncode:
        pytest.skip("firewalld needs packages that are not installed here")
    servers = Daemon(third, "servers", ["python3", "-c", LISTEN])
    try:
        servers.awaits("listens")
        assert reached(third.address, first) == {2377, 20000, 9000}
        with firewalld(third):
            assert reached(third.address, first) == set()
            done = person.runs("prepare", inventory, *SETTINGS)
            assert "worker-3: firewall: let the other hosts reach 123/udp, 2377/tcp, " in done.stdout
            assert reached(third.address, first) == {2377, 20000} and reached(third.address) == set()
            assert "nothing to change" in person.runs("prepare", inventory, *SETTINGS).stdout
            third.run(["firewall-cmd", "--reload"]).check_returncode()
            assert reached(third.address, first) == {2377, 20000}
            person.runs("prepare", inventory, "--undo", "--yes")
            assert reached(third.address, first) == set()
    finally:
        servers.end()


FILTERS = r"for each in iptables ip6tables; do $each-save | sed -n '/ ACCEPT \[/d; s/^\([-:][^[]*\).*/\1/p'; done"
"""Shell line that prints the rules and chains in force, without counters, and chains of tables without a rule."""


def filters(host: Host) -> set[str]:
    done = host.run(["sh", "-ec", FILTERS])
    done.check_returncode()
    return set(done.stdout.splitlines())


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "orchestrators",
    [
        ["swarm", "process"],
        pytest.param(["nomad"], marks=pytest.mark.nomad),
        pytest.param(["kubernetes"], marks=pytest.mark.kubernetes),
    ],
    ids="-".join,
)
def test_a_study_runs_behind_firewalls_that_were_opened_for_it(
    three: SshHosts, person: User, orchestrators: list[str]
) -> None:
    manager, shop = three.hosts[0], applications.shop()
    hosts = three.inventory(worker_1=f"{{address: {manager.address}, roles: [manager, worker]}}")
    settings = {"application": "application.yaml", "resources": applications.limits(shop, cpu=0.08)}
    cluster = {"infrastructure": "hosts", "inventory": str(hosts), "workers": 2}
    study = docker_clusters.study("behind", orchestrators[0], cluster=cluster, **settings)
    del study["orchestrator"]
    study["factors"] = {"orchestrator": orchestrators}
    (person.home / "study.yaml").write_text(yaml.safe_dump(study))
    (person.home / "application.yaml").write_text(yaml.safe_dump(shop))
    prepare = ("prepare", str(hosts), "--for", "study.yaml", "--clock-bound", "100ms", "--yes")
    try:
        for host in three.hosts:
            host.run(["sh", "-ec", "ufw allow 22/tcp && ufw --force enable"]).check_returncode()
        before = [filters(host) for host in three.hosts]
        done = person.runs(*prepare)
        here = desk.address_towards(manager.address)
        lines = done.stdout.splitlines()
        opened = [line for line in lines if f": firewall: let the other hosts and {here} reach " in line]
        assert len(opened) == 3 and all("123/udp, " in line and "20000:32767/tcp" in line for line in opened)
        assert "nothing to change" in person.runs(*prepare).stdout
        ran = person.runs("run", "study.yaml")
        rows = person.rows()
        assert len(rows) == len(orchestrators), ran.stdout + ran.stderr
        assert_answered(*rows)
        person.runs("down")
        assert three.left(()) == []
        person.runs("prepare", str(hosts), "--undo", "--yes")
        assert [filters(host) ^ rules for host, rules in zip(three.hosts, before, strict=True)] == [set()] * 3
    finally:
        for host in three.hosts:
            host.run(["sh", "-ec", "ufw --force disable && ufw --force delete allow 22/tcp"]).check_returncode()


def may_use_sudo(three: SshHosts, login: str) -> bool:
    """Whether a login may without a password."""
    command = ["ssh", "-F", str(three.config), "-o", "BatchMode=yes", login, "sudo", "-n", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def prepares(person: User, inventory: Path, password: str, expect: int = 0) -> str:
    """Prepare with a password, which is read from the standard input where there is no terminal; all that it prints."""
    done = subprocess.run(
        [LOADSTONE, "prepare", str(inventory), *SETTINGS, "--ask-password"],
        cwd=person.home, env=person.environment, input=f"{password}\n", start_new_session=True,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_login_gives_its_password_once(three: SshHosts, person: User) -> None:
    host = three.hosts[2]
    host.run(["sh", "-ec", TESTER]).check_returncode()
    login = f"tester@{host.address}"
    inventory = three.inventory(worker_3=f"{{login: {login}, address: {host.address}}}")
    try:
        refused = person.runs("prepare", str(inventory), *SETTINGS, expect=3)
        assert "error: worker-3: root is needed, and the login may not become it without a password" in refused.stderr
        assert "error: worker-3: sudo refuses the password" in prepares(person, inventory, "not it", expect=3)
        assert not may_use_sudo(three, login)
        printed = prepares(person, inventory, PASSWORD)
        assert "+tester ALL=(ALL:ALL) NOPASSWD: ALL" in printed and "changed 3 of 3 hosts" in printed
        assert PASSWORD not in printed
        assert not any(PASSWORD.encode() in file.read_bytes() for file in person.home.rglob("*") if file.is_file())
        assert may_use_sudo(three, login)
        assert "nothing to change" in person.runs("prepare", str(inventory), *SETTINGS).stdout
        person.runs("prepare", str(inventory), "--undo", "--yes")
        assert not may_use_sudo(three, login)
    finally:
        host.run(["sh", "-ec", WITHOUT_TESTER]).check_returncode()
