"""Ansible module: lets the hosts of a cluster reach ports of each other through ufw, where it is active.

``peers``: addresses of the hosts, ``others`` of machines that are none; ``ports``: ``2377/tcp``, ``20000:32767/tcp``.
``state: restored`` deletes the rules that it added.
"""

from __future__ import annotations

import shutil
from typing import Any

from ansible.module_utils import loadstone_record as record
from ansible.module_utils.basic import AnsibleModule

KEY = "firewall"
COMMENT = "loadstone"


def rule(peer: str, port: str) -> str:
    """As ufw takes it and shows it."""
    numbers, _, protocol = port.partition("/")
    return f"allow from {peer} to any port {numbers} proto {protocol}"


def active(module: Any) -> bool:
    """Whether ufw filters; fails where firewalld does."""
    if shutil.which("firewall-cmd") and module.run_command(["firewall-cmd", "--state"])[0] == 0:
        module.fail_json(msg="firewalld is active, and ufw is the only firewall that is set here: stop it, or open the"
                         f" ports by hand: {', '.join(module.params['ports'])}")  # fmt: skip
    return bool(shutil.which("ufw")) and "Status: active" in module.run_command(["ufw", "status"])[1]


def main() -> None:
    arguments = {
        "peers": {"type": "list", "elements": "str", "default": []},
        "others": {"type": "list", "elements": "str", "default": []},
        "ports": {"type": "list", "elements": "str", "default": []},
        "state": {"choices": ["open", "restored"], "default": "open"},
    }
    module = AnsibleModule(arguments, supports_check_mode=True)
    module.run_command_environ_update = {"LC_ALL": "C"}  # ufw translates what it prints
    recorded = record.read(KEY) or []
    if module.params["state"] == "restored":
        for each in [] if module.check_mode else recorded:
            module.run_command(["ufw", "delete", *each.split()], check_rc=True)
        if recorded and not module.check_mode:
            record.write(KEY, None)
        module.exit_json(changed=bool(recorded), msg=f"delete {len(recorded)} rules of ufw" if recorded else "")
    if not active(module):
        module.exit_json(changed=False, msg="")
    shown = module.run_command(["ufw", "show", "added"], check_rc=True)[1]
    there = {line.removeprefix("ufw ").partition(" comment ")[0] for line in shown.splitlines()}
    peers = [*module.params["peers"], *module.params["others"]]
    wanted = [rule(peer, port) for peer in peers for port in module.params["ports"]]
    missing = [each for each in wanted if each not in there]
    if missing and not module.check_mode:
        record.write(KEY, sorted({*recorded, *missing}))
        for each in missing:
            module.run_command(["ufw", *each.split(), "comment", COMMENT], check_rc=True)
    names = " and ".join(["the other hosts", *module.params["others"]])
    ports = ", ".join(module.params["ports"])
    module.exit_json(changed=bool(missing), msg=f"let {names} reach {ports}" if missing else "")


if __name__ == "__main__":
    main()
