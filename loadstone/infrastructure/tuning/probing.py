"""What a host can be asked for, before anything is changed."""

from __future__ import annotations

from typing import Any

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.tuning.base import Host, Knob, Refused
from loadstone.infrastructure.tuning.knobs import KNOBS, asked
from loadstone.model.tuning import Tuning


def inventory(host: Host) -> Finding:
    """The knobs that this host has, with what they can be set to."""
    known = [f"{knob.key} ({knob.offers(host)})" for knob in KNOBS if not knob.lacking(host)]
    return Finding("tuning", "ok", "; ".join(known) or "this machine has no knobs that a study could set")


def preflight(tuning: Tuning, host: Host) -> list[Finding]:
    """What of a tuning this host lacks or does not take; changes nothing."""
    found = [_looked_at(knob, value, host) for knob, value in asked(tuning)]
    wrong = [finding for finding in found if finding is not None]
    return wrong or [Finding("tuning", "ok", f"{tuning} can be set here, and is undone")]


def _looked_at(knob: Knob, value: Any, host: Host) -> Finding | None:
    what = f"tuning.{knob.key}"
    if knob.lacking(host):
        has = ", ".join(other.key for other in KNOBS if not other.lacking(host)) or "none"
        return Finding(what, "error", f"this machine has no {knob.needs}", f"leave it out; knobs that it has: {has}")
    try:
        files = list(knob.wanted(host, value))
    except Refused as refused:
        return Finding(what, "error", refused.message, refused.remedy)
    closed = [file for file in files if not knob.may_write(host, file)]
    if closed and host.root:
        message = f"{closed[0]} cannot be written, not even by root: it is mounted read-only, as in containers"
        return Finding(what, "error", message, "run it on the machine itself, or leave it out")
    if closed:
        return Finding(what, "error", f"only root may write {closed[0]}", "use sudo, or leave it out")
    return None
