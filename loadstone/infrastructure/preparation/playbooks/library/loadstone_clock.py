"""Ansible module: waits until chrony keeps the clock within a bound, and reports the offset that it measured.

``bound_us``: in microseconds; ``within_s``: how long to wait for it. Fails where the bound is not reached. Changes
nothing; in check mode it reports what is there and waits for nothing.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

_LOCAL = "7F7F0101"
"""The reference of a chrony that serves its own clock."""


def tracking(module: Any) -> dict[str, Any]:
    """What chrony follows, and the greatest of the offsets that it reports; or why there is none."""
    try:
        code, text, why = module.run_command(["chronyc", "-n", "-c", "tracking"], handle_exceptions=False)
    except OSError:
        return {"trouble": "chrony is not installed"}
    if code:
        return {"trouble": (why or text).strip() or "chrony does not answer"}
    fields = text.strip().split(",")
    if fields[-1] == "Not synchronised":
        return {"trouble": "it is not synchronised yet"}
    now, last, usual = (abs(float(fields[at])) * 1e6 for at in (4, 5, 6))
    source = "its own clock" if fields[0] == _LOCAL else fields[1]
    return {"source": source, "offset_us": round(max(now, last, usual), 1)}


def main() -> None:
    numbers = {"bound_us": {"type": "float", "required": True}, "within_s": {"type": "float", "default": 60.0}}
    module = AnsibleModule(numbers, supports_check_mode=True)
    bound, deadline = module.params["bound_us"], time.monotonic() + module.params["within_s"]
    while True:
        found = tracking(module)
        held = "trouble" not in found and found["offset_us"] <= bound
        if held or module.check_mode or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    if not held and not module.check_mode:
        now = found.get("trouble") or f"it is {found['offset_us']:g} us from {found['source']}"
        module.fail_json(
            msg=f"its clock is not within {bound:g} us after {module.params['within_s']:g} s: {now}", **found
        )
    module.exit_json(changed=False, clock=found)


if __name__ == "__main__":
    main()
