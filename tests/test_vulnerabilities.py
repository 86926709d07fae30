"""The check for known vulnerabilities says so where it could not be made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_database_that_cannot_be_reached_is_no_pass() -> None:
    nowhere = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "no_proxy": "", "NO_PROXY": ""}
    command = [ROOT / "scripts" / "vulnerabilities.sh"]
    done = subprocess.run(command, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "Go was not checked: https://vuln.go.dev/index/modules.json cannot be reached" in done.stderr
    assert "Python was not checked: https://pypi.org/pypi/jinja2/2.10/json cannot be reached" in done.stderr
