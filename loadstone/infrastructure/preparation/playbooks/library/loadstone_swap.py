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


def active() -> dict[str, int]:
    """Files and devices that are swapped to, with their priorities; those below 0 are the kernel's."""
    with open(SWAPS, encoding="utf-8") as swaps:
        lines = [line.split() for line in swaps.read().splitlines()[1:]]
    return {_unescaped(line[0]): int(line[-1]) for line in lines}


def _unescaped(name: str) -> str:
    """The kernel writes a blank in it as ``\\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), name)


def commands(switched: dict[str, int], off: bool) -> list[list[str]]:
    """What turns them off or on, the first that is swapped to first."""
    names = sorted(switched, key=lambda name: -switched[name])
    if off:
        return [["swapoff", name] for name in names]
    given = {name: ["-p", str(priority)] for name, priority in switched.items() if priority >= 0}
    return [["swapon", *given.get(name, []), name] for name in names]


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
    recorded = record.read(KEY) or {}
    there = active()
    switched = there if off else {name: priority for name, priority in recorded.items() if name not in there}
    if not module.check_mode:
        if off and switched:
            record.write(KEY, {**switched, **recorded})
        if after != before:
            write(after)
        for command in commands(switched, off):
            module.run_command(command, check_rc=True)
        if not off:
            record.write(KEY, None)
    on_off = "off" if off else "on"
    what = [f"turn {on_off} {each}" for each in switched] + ([f"swap in {TABLE}"] if after != before else [])
    diff = {"before_header": TABLE, "after_header": TABLE, "before": before, "after": after}
    module.exit_json(changed=bool(what), msg=", ".join(what), diff=diff if after != before else {})


if __name__ == "__main__":
    main()
