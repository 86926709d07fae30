"""Ansible module: lets the hosts of a cluster reach ports of each other through ufw or firewalld, where one is active.

``peers``: addresses of the hosts, ``others`` of machines that are none; ``ports``: ``2377/tcp``, ``20000:32767/tcp``;
``pods``: networks that reach a few ports alone, each with its own ``ports``.
``state: restored`` deletes the rules that it added. Those of firewalld are in its default zone.
"""

from __future__ import annotations

import shutil
from typing import Any

from ansible.module_utils import loadstone_record as record
from ansible.module_utils.basic import AnsibleModule

KEY = "firewall"
COMMENT = "loadstone"
RICH = "rule "
"""How rules of firewalld begin, and no others."""
WHEN: tuple[list[str], ...] = ([], ["--permanent"])
"""Firewalld has its rules twice: of now, and of its next start."""


def rule(firewall: str, peer: str, port: str) -> str:
    """As ufw or firewalld takes it and shows it."""
    numbers, _, protocol = port.partition("/")
    if firewall == "ufw":
        return f"allow from {peer} to any port {numbers} proto {protocol}"
    to = f'port port="{numbers.replace(":", "-")}" protocol="{protocol}"'
    return f'{RICH}family="ipv4" source address="{peer}" {to} accept'


def active(module: Any) -> str:
    """``ufw`` or ``firewalld``, whichever filters; empty where none does."""
    if shutil.which("firewall-cmd") and module.run_command(["firewall-cmd", "--state"])[0] == 0:
        return "firewalld"
    filters = shutil.which("ufw") and "Status: active" in module.run_command(["ufw", "status"])[1]
    return "ufw" if filters else ""


def there(module: Any, firewall: str) -> set[str]:
    """The rules that are there."""
    if firewall == "ufw":
        shown = module.run_command(["ufw", "show", "added"], check_rc=True)[1]
        return {line.removeprefix("ufw ").partition(" comment ")[0] for line in shown.splitlines()}
    listed = [module.run_command(["firewall-cmd", *when, "--list-rich-rules"], check_rc=True)[1] for when in WHEN]
    return set(listed[0].splitlines()) & set(listed[1].splitlines())


def add(module: Any, each: str) -> None:
    if each.startswith(RICH):
        _firewalld(module, f"--add-rich-rule={each}")
    else:
        module.run_command(["ufw", *each.split(), "comment", COMMENT], check_rc=True)


def delete(module: Any, each: str) -> None:
    if each.startswith(RICH):
        _firewalld(module, f"--remove-rich-rule={each}")
    else:
        module.run_command(["ufw", "delete", *each.split()], check_rc=True)


def _firewalld(module: Any, change: str) -> None:
    for when in WHEN:
        module.run_command(["firewall-cmd", *when, change], check_rc=True)


def main() -> None:
    arguments = {
        "peers": {"type": "list", "elements": "str", "default": []},
        "others": {"type": "list", "elements": "str", "default": []},
        "ports": {"type": "list", "elements": "str", "default": []},
        "pods": {"type": "list", "elements": "dict", "default": []},
        "state": {"choices": ["open", "restored"], "default": "open"},
    }
    module = AnsibleModule(arguments, supports_check_mode=True)
    module.run_command_environ_update = {"LC_ALL": "C"}  # ufw translates what it prints
    recorded = record.read(KEY) or []
    if module.params["state"] == "restored":
        for each in [] if module.check_mode else recorded:
            delete(module, each)
        if recorded and not module.check_mode:
            record.write(KEY, None)
        module.exit_json(changed=bool(recorded), msg=f"delete {len(recorded)} rules" if recorded else "")
    firewall = active(module)
    if not firewall:
        module.exit_json(changed=False, msg="")
    rules = there(module, firewall)
    peers = [*module.params["peers"], *module.params["others"]]
    wanted = [rule(firewall, peer, port) for peer in peers for port in module.params["ports"]]
    pods = module.params["pods"]
    wanted += [rule(firewall, each["network"], port) for each in pods for port in each["ports"]]
    missing = [each for each in wanted if each not in rules]
    if missing and not module.check_mode:
        record.write(KEY, sorted({*recorded, *missing}))
        for each in missing:
            add(module, each)
    names = " and ".join(["the other hosts", *module.params["others"]])
    text = f"let {names} reach {', '.join(module.params['ports'])}"
    text += "".join(f"; pods ({each['network']}) {', '.join(each['ports'])}" for each in pods)
    module.exit_json(changed=bool(missing), msg=text if missing else "")


if __name__ == "__main__":
    main()
