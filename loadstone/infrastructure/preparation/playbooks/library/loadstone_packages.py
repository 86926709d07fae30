"""Ansible module: the distribution's packages with their services left off; what it installed can be removed again.

``names``: packages that must be installed. ``state: present`` installs those that are missing, after it has recorded
what apt will install and remove for them; ``state: restored`` takes that back, and no other package. What was removed
comes back in its version where a package source still has it, else in the newest. Settings that a package had left
when it was removed, before it was installed here, stay.
"""

from __future__ import annotations

import os
import re
from typing import Any

from ansible.module_utils import loadstone_record as record
from ansible.module_utils.basic import AnsibleModule

# Settings that are there stay; those of a package that was removed before, and are gone, are put there again.
SETTINGS = ["--force-confold", "--force-confmiss"]
APT = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", *(f"-oDpkg::Options::={each}" for each in SETTINGS)]
KEY = "packages"
POLICY = "/usr/sbin/policy-rc.d"
MARK = "# Loadstone installs packages: no service is started\n"


class AptFailed(Exception):
    """A message for the user, with apt's own."""


class Packages:
    def __init__(self, module: Any) -> None:
        self._module = module
        self.recorded = record.read(KEY) or {"installed": [], "removed": {}, "settings": []}

    def missing(self, names: list[str]) -> list[str]:
        return sorted(set(names) - self._in_state("installed"))

    def _in_state(self, state: str) -> set[str]:
        """The packages that dpkg has in a state."""
        _, text, _ = self._module.run_command(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n"])
        return {package for found, package in map(str.split, text.splitlines()) if found == state}

    def repair(self) -> None:
        """Finish what an interrupted run of dpkg left half done."""
        _, half, _ = self._module.run_command(["dpkg", "--audit"])
        if half.strip():
            self._quietly(["dpkg", "--configure", "-a", *SETTINGS], "packages that are half installed remain so")

    def install(self, missing: list[str]) -> None:
        _, updated, complaint = self._apt("update")
        arguments = ["install", "--no-install-recommends", "--no-upgrade", *missing]
        code, planned, why = self._apt("-s", *arguments)
        if code:
            broken = [line for line in (updated + complaint).splitlines() if line[:2] in ("E:", "W:")]
            raise AptFailed(f"no package source has {', '.join(missing)}: {_last(why)}\n" + "\n".join(broken[:3]))
        self._remember(planned)
        self._quietly([*APT, *arguments], f"{', '.join(missing)} cannot be installed")

    def restore(self) -> None:
        there = set(self.recorded["installed"]) - set(self.missing(self.recorded["installed"]))
        gone = {name: f"{name}={version}" for name, version in self.recorded["removed"].items() if self.missing([name])}
        if gone:
            self._apt("update")
        for again in (gone.values(), gone.keys()):
            arguments = ["install", *again, *(f"{name}-" for name in sorted(there))]
            code, planned, why = self._apt("-s", *arguments)
            if not code:
                break
        else:
            raise AptFailed(f"the packages cannot be removed: {_last(why)}")
        others = set(re.findall(r"^(?:Remv|Purg) (\S+)", planned, re.MULTILINE)) - there
        if others:
            raise AptFailed(f"{', '.join(sorted(others))} needs packages that were installed here: remove it first")
        self._run([*APT, *arguments], "the packages cannot be removed")
        ours = set(self.recorded["installed"]) - set(self.recorded["settings"])
        if left := sorted(ours & self._in_state("config-files")):
            self._run([*APT, "purge", *left], "the packages' settings cannot be removed")
        record.write(KEY, None)

    def disable(self, before: list[str], serving: list[str]) -> None:
        """Services of new packages are not to start at the next boot."""
        if not os.path.isdir("/run/systemd/system"):
            return
        for package in set(self.recorded["installed"]) - set(before) - set(serving):
            _, files, _ = self._module.run_command(["dpkg", "-L", package])
            for unit in re.findall(r"/systemd/system/([^/@]+\.(?:service|socket))$", files, re.MULTILINE):
                self._module.run_command(["systemctl", "--quiet", "disable", unit])

    def _remember(self, planned: str) -> None:
        new = re.findall(r"^Inst (\S+) \(", planned, re.MULTILINE)
        removed = dict(re.findall(r"^Remv (\S+) \[(\S+)\]", planned, re.MULTILINE))
        settings = (set(new) & self._in_state("config-files")) - set(self.recorded["installed"])
        self.recorded["settings"] = sorted({*self.recorded["settings"], *settings})
        self.recorded["installed"] = sorted({*self.recorded["installed"], *new})
        self.recorded["removed"] = {**removed, **self.recorded["removed"]}
        record.write(KEY, self.recorded)

    def _apt(self, *arguments: str) -> Any:
        return self._module.run_command([*APT, *arguments], environ_update={"DEBIAN_FRONTEND": "noninteractive"})

    def _quietly(self, command: list[str], trouble: str) -> None:
        """With services kept from starting, as Debian's policy describes it; a policy that is there stays."""
        ours = _is_ours()
        if ours:
            with open(POLICY, "w", encoding="utf-8") as policy:
                policy.write(f"#!/bin/sh\n{MARK}exit 101\n")
            os.chmod(POLICY, 0o755)
        try:
            self._run(command, trouble)
        finally:
            if ours:
                os.unlink(POLICY)

    def _run(self, command: list[str], trouble: str) -> None:
        code, text, why = self._module.run_command(command, environ_update={"DEBIAN_FRONTEND": "noninteractive"})
        if code and "Unable to fetch" in why:
            trouble = f"no package source answers: {trouble}"
        if code:
            raise AptFailed(f"{trouble}: {_last(why or text)}")


def let_services_start() -> None:
    """Remove the policy that a run which was killed has left; another's stays."""
    if os.path.exists(POLICY) and _is_ours():
        os.unlink(POLICY)


def _is_ours() -> bool:
    """Whether the policy is missing, or a run that was killed has left it."""
    if not os.path.exists(POLICY):
        return True
    with open(POLICY, encoding="utf-8", errors="replace") as policy:
        return MARK in policy.read()


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E:")]
    return (errors or lines or ["no reason was given"])[-1]


def main() -> None:
    arguments = {
        "names": {"type": "list", "elements": "str", "default": []},
        "serving": {"type": "list", "elements": "str", "default": []},
        "state": {"choices": ["present", "restored"], "default": "present"},
    }
    module = AnsibleModule(arguments, supports_check_mode=True)
    packages = Packages(module)
    before = packages.recorded["installed"]
    try:
        if module.params["state"] == "present":
            missing = packages.missing(module.params["names"])
            if missing and not module.check_mode:
                packages.repair()
                packages.install(missing)
                packages.disable(before, module.params["serving"])
            module.exit_json(changed=bool(missing), msg=f"install {', '.join(missing)}" if missing else "")
        removed, changed = packages.recorded["removed"], bool(before or packages.recorded["removed"])
        if changed and not module.check_mode:
            packages.repair()
            packages.restore()
            let_services_start()
        again = f"; install {', '.join(removed)} again" if removed else ""
        module.exit_json(changed=changed, msg=f"remove {', '.join(before)}{again}" if changed else "")
    except AptFailed as failed:
        module.fail_json(msg=str(failed))


if __name__ == "__main__":
    main()
