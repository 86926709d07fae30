"""Compiled functions: all ranges are worked on, and a package that cannot be written to is no obstacle."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

from loadstone.analysis.traces import compiled

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("processors", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 5, 1000])
def test_ranges_cover_everything_once(processors: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "processors", lambda: processors)
    done = compiled.over(lambda low, high: list(range(low, high)), count)
    assert [place for piece in done for place in piece] == list(range(count))


def test_what_goes_wrong_in_a_range_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "processors", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        compiled.over(lambda low, high: 1 // (low - 500), 1000)


def test_without_a_place_for_a_cache_it_compiles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Numba says it where neither the package nor the user's cache can be written."""
    requested: list[bool] = []
    real = numba.njit

    def njit(function=None, cache=False, **options):  # type: ignore[no-untyped-def]
        if function is not None or options != {"nogil": True}:  # Numba's own, of what the first compilation imports
            return real(function, cache=cache, **options)
        requested.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled.kernel(lambda n: n + 1)(2) == 3
    assert requested == [True, False]


LINES = """\
from loadstone.analysis.traces.compiled import kernel
@kernel
def twice(n):
    "n twice"
    return same(n) + same(n)
@kernel
def same(n):
    return n
"""


@pytest.fixture
def of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "of_a_file.py").write_text(LINES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("of_a_file")
    del sys.modules["of_a_file"]


def test_a_kernel_calls_another_of_its_file_that_was_called_from_elsewhere_first(of_a_file: ModuleType) -> None:
    same, twice = of_a_file.same, of_a_file.twice
    assert twice.__doc__ == "n twice"
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda call: call(3), [same, twice, same, twice])) == [3, 6, 3, 6]


def test_a_kernel_is_not_called_before_all_of_its_file_are_known_to_numba(
    of_a_file: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = numba.njit
    known, early = [], []

    def njit(function: Callable[..., Any] | None = None, **options: bool) -> Any:
        if function is None:  # Numba's own decorators pass one
            known.append(options)
            if len(known) == 2:  # the first is Numba's by now
                early.append(pool.submit(of_a_file.twice, 3))
                wait(early, timeout=1)
        return real(function, **options)

    monkeypatch.setattr(numba, "njit", njit)
    with ThreadPoolExecutor(1) as pool:
        assert of_a_file.same(3) == 3
        assert early[0].result() == 6


def test_a_kernel_of_another_file_is_called_through_its_own(
    of_a_file: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["from of_a_file import kernel, twice", "@kernel", "def more(n):", "    return n + 1"]
    lines += ["def of_both(n):", "    return more(twice(n))"]
    (tmp_path / "of_two_files.py").write_text("\n".join(lines) + "\n")
    of_two_files = importlib.import_module("of_two_files")
    monkeypatch.delitem(sys.modules, "of_two_files")
    assert of_two_files.more(1) == 2
    assert of_two_files.of_both(3) == 7


def test_a_package_that_cannot_be_written_to_is_cached_with_the_user(tmp_path: Path) -> None:
    """A file is where Numba would make its cache: what permissions do to others, that does to root too."""
    package, home = tmp_path / "package", tmp_path / "home"
    package.mkdir()
    home.mkdir()
    shutil.copy(ROOT / "loadstone/analysis/traces/compiled.py", package)
    (package / "uses.py").write_text("from compiled import kernel\n\n\n@kernel\ndef more(n):\n    return n + 1\n")
    (package / "__pycache__").write_text("in the way")
    environment = {**os.environ, "PYTHONPATH": str(package), "XDG_CACHE_HOME": str(home), "HOME": str(home)}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-B", "-c", "from uses import more; print(more(1))"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert list(home.rglob("*.nbi"))
