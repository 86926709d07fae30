"""Machines of a module, by the program ``tofu``, or ``terraform``, which takes the same files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.cloud import program
from loadstone.infrastructure.cloud.opentofu import module
from loadstone.infrastructure.cloud.service import CloudService, Made
from loadstone.model.errors import DeploymentError

_PROGRAMS = ("tofu", "terraform")
_INSTALL = "install OpenTofu: https://opentofu.org/docs/intro/install/"
_INIT_S = 900.0
_APPLY_S = 3600.0
_QUICK_S = 300.0


class Module(CloudService):
    """The state lies in the deployment's folder; all that is made carries the token in its name."""

    usual_login = "root"

    def where(self) -> str:
        program.find(_PROGRAMS, _INSTALL)
        return f"module {self.wanted.site}"

    def check(self, count: int) -> list[Finding]:
        module.files(str(self.wanted.site))
        return []

    def make(self, names: Sequence[str], public_key: str, until: datetime, say: Say) -> list[Made]:
        tofu = program.find(_PROGRAMS, _INSTALL)
        for name, text in module.files(str(self.wanted.site)).items():
            (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / module.VALUES).write_text(
            module.values(names, self.wanted, self.token, public_key), encoding="utf-8"
        )
        say("tofu init")
        program.run([tofu, "init", "-input=false", "-no-color"], self.folder, _INIT_S)
        say(f"tofu apply: {len(names)} machines")
        program.run([tofu, "apply", "-auto-approve", "-input=false", "-no-color"], self.folder, _APPLY_S)
        printed = program.output([tofu, "output", "-json", "machines"], self.folder, _QUICK_S)
        made = json.loads(printed)
        if lacking := [name for name in names if name not in made]:
            raise DeploymentError(
                f"module {self.wanted.site} made no {', '.join(lacking)}", "see its output `machines`"
            )
        return [
            Made(name, made[name]["address"], made[name].get("outside") or "", made[name].get("login") or "")
            for name in names
        ]

    def remove(self) -> None:
        state = self.folder / "terraform.tfstate"
        if not (self.folder / ".terraform").exists() and not state.exists():
            return
        tofu = program.find(_PROGRAMS, _INSTALL)
        program.run([tofu, "destroy", "-auto-approve", "-input=false", "-no-color"], self.folder, _APPLY_S)
        left = program.output([tofu, "state", "list"], self.folder, _QUICK_S).split() if state.exists() else []
        if left:
            raise DeploymentError(f"{', '.join(left)} are still there", "see the cloud's web interface, or try again")
