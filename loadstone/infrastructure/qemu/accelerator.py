"""Whether KVM boots a stock kernel here: tried once, and remembered until this machine is booted again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from pydantic import ValidationError

from loadstone.infrastructure.base import Say
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.qemu import image
from loadstone.infrastructure.qemu.guests import QEMU
from loadstone.model.base import Model
from loadstone.model.guest import Accelerator

_DEVICE = "/dev/kvm"
_BOOTS_WITHIN_S = 60.0
_BOOTED = "Kernel panic - not syncing: VFS"
"""What a kernel that has started ends with where it has no disk."""
_TRY = ("-m", "512M", "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio")


class Tried(Model):
    """What came of it; ``why`` KVM cannot be used is empty where it can."""

    boot: str
    why: str

    @property
    def accelerator(self) -> Accelerator:
        return "tcg" if self.why else "kvm"


def remembered() -> Tried | None:
    """What is known without a try."""
    boot = this_machine().boot
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return Tried(boot=boot, why=f"{_DEVICE} cannot be opened")
    try:
        tried = Tried.model_validate(json.loads(_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError):
        return None
    return tried if tried.boot == boot else None


def find(say: Say) -> Tried:
    """Tries where nothing is known. Raises PreflightError where the image, whose kernel it boots, cannot be made."""
    known = remembered()
    if known is None:
        kernel = image.image(say).kernel
        say("trying whether KVM boots a kernel here")
        known = Tried(boot=this_machine().boot, why=_why_not(str(kernel)))
        _file().write_text(known.model_dump_json(), encoding="utf-8")
    return known


def _why_not(kernel: str) -> str:
    command = [QEMU, "-accel", "kvm", "-cpu", "host", *_TRY, "-kernel", kernel, "-append", "console=ttyS0 panic=-1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_BOOTS_WITHIN_S)
    except subprocess.TimeoutExpired:
        return f"KVM does not boot a kernel within {_BOOTS_WITHIN_S:g} s"
    if _BOOTED in done.stdout:
        return ""
    complaint = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
    return f"KVM does not boot a kernel: {complaint}"


def _file() -> Path:
    return image.folder() / "kvm.json"
