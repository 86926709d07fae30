"""The budget of CPU time of tests without a marker, tried with a smaller one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parent / "conftest.py"
TESTS = """
import subprocess, sys, time
import pytest

def work():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

def test_pure(): work()

def test_patient(): time.sleep(0.3)

def test_in_a_subprocess():
    subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])

@pytest.mark.slow
def test_marked(): work()
"""


def test_only_a_pure_test_that_computes_too_long_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOADSTONE_TEST_FAILURES", raising=False)  # these fail on purpose
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8").replace("BUDGET_S = 60.0", "BUDGET_S = 0.2"))
    pytester.makeini("[pytest]\nmarkers = slow")
    pytester.makepyfile(TESTS)
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2, failed=2)
    ran.stdout.fnmatch_lines(["used * s of CPU, a pure test may use 0.2: make it smaller or mark it"])
