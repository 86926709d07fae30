"""Ansible module: swap off, now and at the next boot; ``state: restored`` turns on again what it turned off."""

from __future__ import annotations

import os
import re
import stat

from ansible.module_utils import loadstone_record as record
from ansible.module_utils.basic import AnsibleModule

SWAPS, TABLE = "/proc/swaps", "/etc/fstab"
KEY = "swap"
MARK = "# loadstone: "


def active() -> list[str]:
    """Files and devices that are swapped to."""
    with open(SWAPS, encoding="utf-8") as swaps:
        return [line.split()[0] for line in swaps.read().splitlines()[1:]]


def table() -> str:
    """``/etc/fstab``; empty where there is none."""
    if not os.path.exists(TABLE):
        return ""
    with open(TABLE, encoding="utf-8", errors="surrogateescape") as content:
        return content.read()


def write(text: str) -> None:
    """A new table, for the same readers and by the same owner: it may have passwords of network file systems."""
    facts, new = os.stat(TABLE), TABLE + ".loadstone"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as opened:
        os.fchown(descriptor, facts.st_uid, facts.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))
        opened.write(text)
    os.replace(new, TABLE)


def without_swap(text: str) -> str:
    """The table with its lines of swap as marked comments."""
    return re.sub(r"^(?=[^#\s]\S*\s+\S+\s+swap\s)", MARK, text, flags=re.MULTILINE)


def with_swap(text: str) -> str:
    """The table with marked lines as they were."""
    return re.sub(f"^{MARK}", "", text, flags=re.MULTILINE)


def main() -> None:
    states = {"state": {"choices": ["off", "restored"], "default": "off"}}
    module = AnsibleModule(states, supports_check_mode=True)
    off, before = module.params["state"] == "off", table()
    after = without_swap(before) if off else with_swap(before)
    recorded = record.read(KEY) or []
    switched = active() if off else [each for each in recorded if each not in active()]
    if not module.check_mode:
        if off and switched:
            record.write(KEY, sorted({*recorded, *switched}))
        if after != before:
            write(after)
        for each in switched:
            module.run_command(["swapoff" if off else "swapon", each], check_rc=True)
        if not off:
            record.write(KEY, None)
    on_off = "off" if off else "on"
    what = [f"turn {on_off} {each}" for each in switched] + ([f"swap in {TABLE}"] if after != before else [])
    diff = {"before_header": TABLE, "after_header": TABLE, "before": before, "after": after}
    module.exit_json(changed=bool(what), msg=", ".join(what), diff=diff if after != before else {})


if __name__ == "__main__":
    main()
