"""A study on hosts over SSH: what it records, what it does when one of them vanishes and comes back, and what it leaves
there, whatever ends it."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.infrastructure.namespaces import checks
from loadstone.model.cluster import Link
from tests.infrastructure.machines.ssh_hosts import SSHD, SshHosts, ssh_hosts
from tests.support.users import User, end, wait
from tests.support.verdicts import assert_answered
from tests.system.over_ssh import STUDY, recorded, write_shop

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.clusters]

GOVERNOR = "cpufreq/policy0/scaling_governor"
A_KERNEL_OF_ITS_OWN = f"""
own=/var/lib/loadstone/kernel
mkdir -p $own/cpu/{Path(GOVERNOR).parent} $own/work
echo powersave >$own/cpu/{GOVERNOR}
echo performance powersave >$own/cpu/{Path(GOVERNOR).parent}/scaling_available_governors
mount -t overlay -o lowerdir=/sys/devices/system/cpu,upperdir=$own/cpu,workdir=$own/work overlay /sys/devices/system/cpu
cat /proc/sys/kernel/random/uuid >$own/boot
set -- unshare --mount sh -ec 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"' $own/boot "$@"
"""
"""Shell lines that give a host a governor and, in its logins, a boot of its own: else three hosts would count as one
kernel."""


@contextlib.contextmanager
def hosts(user: User, study: str, count: int, clients: int = 0, more: str = "") -> Iterator[SshHosts]:
    """Hosts, of which the last ones are clients, and the study on them; ``more`` as of ``ssh_hosts``."""
    if SSHD is None:
        pytest.skip("needs openssh-server")
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    write_shop(user)
    with ssh_hosts(count, more=more) as made:
        roles = {
            host.name.replace("-", "_"): f"{{address: {host.address}, roles: [client]}}"
            for host in made.hosts[count - clients :]
        }
        (user.home / "study.yaml").write_text(study.replace("INVENTORY", str(made.inventory(**roles))))
        yield made
        user.runs("down")
        assert made.left([]) == []


@pytest.fixture
def three(user: User) -> Iterator[SshHosts]:
    with hosts(user, STUDY, 3) as made:
        yield made


def programs(made: SshHosts, name: str) -> set[str]:
    """The names of programs that run on a host, but for its logins."""
    return {trace for trace in made.traces(name) if trace.startswith("runs ") and trace != "runs sshd"}


def rate(trial: Path) -> float:
    return float(json.loads((trial / "trial.json").read_text())["trial"]["rate"])


@pytest.mark.long
def test_a_host_that_vanishes_costs_a_trial_and_not_the_study(user: User, three: SshHosts) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    three.cut("worker-3")
    try:
        wait(lambda: sum(user.trials().values()) >= 2 or process.poll() is not None)
    finally:
        three.cut("worker-3", "up")
    printed = "".join(process.communicate(timeout=600))
    assert process.returncode == 4 and "Traceback" not in printed, printed
    before, during, after = user.rows()
    subjects = list(dict.fromkeys(reason.partition(": ")[0] for reason in during["reasons"]))
    assert (during["verdict"], subjects) == ("invalid", ["worker-3", "documents are lost or out of reach"]), printed
    assert "invalid" not in (before["verdict"], after["verdict"]), printed
    first, second, third = sorted(user.home.glob("results/*/*/trials/*"), key=rate)
    assert recorded(first) == recorded(third) == {"worker-1", "worker-2", "worker-3"}
    assert recorded(second) >= {"worker-1", "worker-2"}
    (problem,) = json.loads((second / "observed.json").read_text())["problems"]
    assert problem.startswith("worker-3 was not recorded"), problem
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == [], "what was lost was removed later"


def test_what_hosts_lack_is_one_message_each_and_exit_code_3(user: User, three: SshHosts) -> None:
    second, known = three.hosts[1], three.folder / "known_hosts"
    right = known.read_text()
    changed = " ".join((three.folder / "login.pub").read_text().split()[:2])
    others = [line for line in right.splitlines() if not line.startswith(f"{second.address} ")]
    faults = {
        "it cannot be reached: ": ("login: root@198.51.100.1, address: 198.51.100.1", right),
        "the login is refused: ": (f"login: no-such-user@{second.address}, address: {second.address}", right),
        "it has no address 198.51.100.1": (f"login: {second.name}, address: 198.51.100.1", right),
        "its host key has changed": (
            f"address: {second.address}",
            "\n".join([*others, f"{second.address} {changed}"]) + "\n",
        ),
    }
    try:
        for message, (line, keys) in faults.items():
            known.write_text(keys)
            three.inventory(worker_2=f"{{{line}, owner: Ada}}")
            printed = user.runs("run", "study.yaml", expect=3)
            lines = (printed.stdout + printed.stderr).splitlines()
            (complaint,) = [line for line in lines if message in line]
            assert complaint.startswith("error: worker-2: ") and complaint.count("worker-2: ") == 1, lines
            assert user.trials() == {} and three.groups() == set()
        three.inventory(
            worker_2=f"{{login: no-such-user@{second.address}, address: 10.0.0.1}}", worker_3="{address: 10.0.0.2}"
        )
        known.write_text(right)
        listed = user.runs("doctor", "study.yaml", expect=3).stdout
        assert "the login is refused: " in listed and "worker-3: it has no address 10.0.0.2" in listed
    finally:
        known.write_text(right)
        three.inventory()
    user.runs("run", "study.yaml", "--set", "load.rates=[10]", "--set", "trial.duration=1s")


def test_a_desk_that_is_killed_leaves_nothing_on_hosts_which_restore_their_tuning(user: User) -> None:
    study = STUDY.replace("workers: 3}", "workers: 2}\ntuning: {governor: performance}").replace("[10, 15, 20]", "[20]")
    with hosts(user, study, 3, clients=1, more=A_KERNEL_OF_ITS_OWN) as made:
        names = [host.name for host in made.hosts]
        files = [made.own(name) / "kernel/cpu" / GOVERNOR for name in names]
        before = {name: programs(made, name) for name in names}

        def governors() -> set[str]:
            return {file.read_text().strip() for file in files}

        process = user.starts("run", "study.yaml")
        user.waits_until_a_trial_is_loaded(process, finished=0)
        groups = made.groups()
        assert governors() == {"performance"} and made.left(groups)
        end(process, signal.SIGKILL)
        wait(lambda: governors() == {"powersave"})  # each by its own journal: nothing of this machine tells it to
        user.runs("down")
        assert made.left(groups) == []
        assert {name: programs(made, name) - before[name] for name in names} == {name: set() for name in names}
        user.runs("run", "study.yaml", "--set", "trial.duration=1s")
        assert_answered(*user.rows())
        run = max(user.home.glob("results/*/*/provenance.json"))
        (tuned,) = json.loads(run.read_text())["tuning"].values()
        changes = {where.partition(":")[0]: change for where, change in tuned.items()}
        assert changes == {name: {"before": "powersave", "set": "performance"} for name in names}
        assert governors() == {"powersave"}


def test_two_hosts_generate_the_load_of_two_others_which_the_desk_reaches_by_ssh_alone(user: User) -> None:
    study = STUDY.replace("workers: 3", "workers: 2").replace("[10, 15, 20]", "[20]")
    study = study.replace("metrics: {}", "traces: {receivers: 3}")
    with hosts(user, study, 5, clients=2) as made:
        for host in made.hosts[:2]:
            only_ssh = f"-s {made.emulated.network.client} -p tcp --syn ! --dport 22 -j REJECT"
            host.run(["iptables", "-A", "INPUT", *only_ssh.split()]).check_returncode()
        user.runs("run", "study.yaml", "--set", "load.workers=3", "--set", "trial.duration=2s")
        assert_answered(*user.rows())
        (trial,) = user.home.glob("results/*/*/trials/*")
        nodes = {row["node"] for row in json.loads((trial / "audit.json").read_text())}
        assert nodes == {"worker-1", "worker-2"}, "the first two of three that may be workers"
        generators = json.loads((trial / "summary.json").read_text())["generator"]["workers"]
        assert [generator["name"] for generator in generators] == ["worker-4/1", "worker-4/2", "worker-5"]
        assert all(generator["sent"] > 0 and generator["clock_offset_us"] is not None for generator in generators), (
            generators
        )
        observed = json.loads((trial / "observed.json").read_text())
        counts, spans = observed["traces"], pq.read_table(trial / "spans.parquet")
        assert observed["problems"] == [] and counts["produced"] == counts["received"] == counts["written"] > 0, counts
        assert counts["roots"] == counts["traces"] == counts["requests"], "every request is one whole trace"
        assert spans.num_rows == counts["written"]
        chosen = {int.from_bytes(trace[8:]) % 3 for trace in spans["trace_id"].to_pylist()}
        assert chosen == {0, 1, 2} and not list(trial.glob("spans-*")), "each receiver had some, in one file now"
        (files,) = user.home.glob("results/*/*/deployments")
        sent_to = {
            address.rpartition(":")[0]
            for file in files.rglob("*")
            if file.is_file()
            for addresses in re.findall(r"STONE_TRACES[=: '\"]+([\d.:,]+)", file.read_text())
            for address in addresses.split(",")
        }
        assert sent_to == {made.hosts[3].address, made.hosts[4].address}


def test_processes_on_emulated_hosts(user: User) -> None:
    if lacking := [finding for finding in checks.machine(Link()) if finding.level == "error"]:
        pytest.skip("; ".join(finding.message for finding in lacking))
    write_shop(user)
    study = STUDY.replace("infrastructure: hosts, inventory: INVENTORY", "infrastructure: namespaces")
    (user.home / "study.yaml").write_text(study.replace("[10, 15, 20]", "[20]"))
    user.runs("run", "study.yaml", "--set", "trial.duration=2s")
    assert_answered(*user.rows())
    (trial,) = user.home.glob("results/*/*/trials/*")
    workers = {"worker-1", "worker-2", "worker-3"}
    for file in ("audit.json", "usage.json"):
        assert {row["node"] for row in json.loads((trial / file).read_text())} == workers
    observed = json.loads((trial / "observed.json").read_text())
    assert observed["problems"] == [] and observed["nodes"]["worker-1"]["recorded"]
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []
