"""The arrows of the house: a layer knows the model and the layers below it, never one above.

docs/explanation/architecture.md says why. The rules are the two tables below; the rest reads the imports.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = ("infrastructure", "orchestration", "monitoring", "applications", "workloads")
BELOW = {layer: {"model", "plugins", *LAYERS[:index]} for index, layer in enumerate(LAYERS)}
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "plugins": {"model"},
    **BELOW,
    # The search takes its next load from a posterior: analysis is pure functions, so that is a value, not an effect.
    "experiments": {"model", "plugins", *LAYERS, "analysis"},
    "analysis": {"model"},
    "report": {"model", "analysis"},
    "api": {"model", "analysis", "report"},
    "cli": {"model", "plugins", *LAYERS, "experiments", "analysis", "report"},
}
CORE = ("experiments", "analysis")
NOT_IN_THE_CORE = {"matplotlib", "seaborn", "plotly", "paramiko", "asyncssh", "fabric", "docker", "kubernetes"}
LONGEST = 400
TWICE = {
    # The software of a cluster and what deploys to it have one name, the one that a study file has.
    *("Process", "Swarm", "Nomad", "Kubernetes"),
    # What a notebook has of a run is called as the model calls it.
    *("Comparison", "Trial"),
}
"""The names of classes that may stand twice in the package; others differ in their names."""


def implementations() -> set[str]:
    """The modules that are found through entry points: the core must not know any of them by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = project["entry-points"].values()
    return {target.split(":")[0] for group in groups for target in group.values()}


def imports(source: str, module: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that ``source`` imports, inside functions too; ``a.b`` and the ``c`` from it."""
    package = module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def room(name: str) -> str | None:
    """``experiments`` for ``loadstone.experiments.plan``; None for what is not ours or stands in no room."""
    parts = name.split(".")
    return parts[1] if parts[0] == "loadstone" and len(parts) > 1 and not parts[1].startswith("__") else None


def violations(module: str, source: str) -> list[str]:
    """The forbidden imports of one module, as ``module:line imports name``."""
    here = room(module)
    if here is None:
        return []
    if here not in MAY_IMPORT:
        return [f"{module}: the room {here!r} stands in no table of this test; give it its arrows"]
    concrete = implementations()
    found = []
    for line, name in imports(source, module):
        there = room(name)
        upward = there is not None and there != here and there not in MAY_IMPORT[here]
        outside = here in CORE and name.split(".")[0] in NOT_IN_THE_CORE
        by_name = here in CORE and any(name == known or name.startswith(f"{known}.") for known in concrete)
        if upward or outside or by_name:
            found.append(f"{module}:{line} imports {name}")
    return found


def modules(folder: str = "loadstone") -> Iterator[tuple[str, str]]:
    """Name and source of every module of the package, or of another folder."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts), file.read_text(encoding="utf-8")


def test_no_layer_knows_one_above_it() -> None:
    assert [found for module, source in modules() for found in violations(module, source)] == []


def test_every_room_has_its_arrows() -> None:
    folders = {file.parent.name for file in (ROOT / "loadstone").glob("*/__init__.py")}
    assert folders == set(MAY_IMPORT) - {"plugins"}


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("loadstone.model.study", "from loadstone.experiments.plan import Plan"),
        ("loadstone.model.study", "import loadstone.plugins"),
        ("loadstone.infrastructure.local", "from loadstone.orchestration import base"),
        ("loadstone.orchestration.process", "from ..monitoring.replicas import x"),
        ("loadstone.monitoring.replicas", "def f():\n    import loadstone.applications.catalogue"),
        ("loadstone.workloads.stone", "from loadstone import experiments"),
        ("loadstone.experiments.conductor", "from loadstone.orchestration.process import Process"),
        ("loadstone.experiments.conductor", "from loadstone.orchestration import process"),
        ("loadstone.experiments.conductor", "from ..infrastructure import local"),
        ("loadstone.experiments.conductor", "import paramiko"),
        ("loadstone.experiments.conductor", "from loadstone.report import page"),
        ("loadstone.experiments.conductor", "from loadstone.cli.app import out"),
        ("loadstone.analysis.latency", "import matplotlib.pyplot as plt"),
        ("loadstone.analysis.latency", "from loadstone.experiments.ledger import FinishedTrial"),
        ("loadstone.analysis.latency", "from loadstone.report import figures"),
        ("loadstone.report.page", "from loadstone.cli.app import out"),
        ("loadstone.attic.old", "import json"),
    ],
)
def test_a_forbidden_import_is_noticed(module: str, line: str) -> None:
    assert len(violations(module, f"import json\n{line}\n")) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("loadstone.model.study", "from loadstone.model.base import Model"),
        ("loadstone.orchestration.process", "from loadstone import __version__"),
        ("loadstone.orchestration.process", "from .base import Orchestrator"),
        ("loadstone.orchestration.process", "from ..infrastructure.base import Finding"),
        ("loadstone.experiments.conductor", "from loadstone.orchestration.base import Orchestrator"),
        ("loadstone.experiments.conductor", "from loadstone import plugins"),
        ("loadstone.report.page", "import matplotlib"),
        ("loadstone.cli.run", "from loadstone.report import page"),
    ],
)
def test_an_import_along_the_arrows_is_none_of_our_business(module: str, line: str) -> None:
    assert violations(module, line) == []


def registered(*layers: str) -> set[str]:
    """The names of implementations, by entry points."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    return {name for layer in layers for name in groups[f"loadstone.{layer}"]}


def compared_names(module: str, source: str) -> list[str]:
    """Where a module compares anything with the name of an orchestrator, an infrastructure or a software."""
    names = registered("orchestrators", "infrastructure", "software")
    sides: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides += [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides.append(node.value)
    return [
        f"{module}:{value.lineno} compares with {value.value!r}"
        for side in sides
        for value in getattr(side, "elts", [side])
        if isinstance(value, ast.Constant) and value.value in names
    ]


def test_classes_declare_what_they_can_do_and_nothing_compares_their_names() -> None:
    assert [found for module, source in modules() for found in compared_names(module, source)] == []


@pytest.mark.parametrize(
    "line",
    [
        "fast = orchestrator == 'process'",
        "far = infrastructure in ('hosts', 'existing')",
        "match software:\n    case 'docker':\n        pass",
    ],
)
def test_a_compared_name_is_noticed(line: str) -> None:
    assert compared_names("loadstone.cli.run", f"name = 'process'\n{line}\n") != []


def test_the_core_loads_no_implementation_and_no_plotting_at_second_hand() -> None:
    core = [module for module, _ in modules() if room(module) in CORE]
    script = f"import importlib, sys\nfor m in {core!r}: importlib.import_module(m)\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(run.stdout.split())
    assert core[-1] in loaded
    assert loaded & (implementations() | NOT_IN_THE_CORE) == set()


def test_no_test_imports_another_one() -> None:
    tests = dict(modules("tests"))
    assert len(tests) > 300
    found = [
        f"{module}:{line} imports {name}"
        for module, source in tests.items()
        for line, name in imports(source, module)
        if name.startswith("tests.") and ".test_" in name
    ]
    assert found == [], "what tests share is in tests/support or beside them"


def test_no_two_classes_have_one_name() -> None:
    nodes = (node for _, source in modules() for node in ast.walk(ast.parse(source)))
    times = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert len(times) > 500
    assert {name for name, count in times.items() if count > 1} == TWICE


def test_no_file_is_several_rooms() -> None:
    files = [
        file
        for folder in ("loadstone", "stone", "tests", "scripts", "bench")
        for kind in ("*.py", "*.go")
        for file in (ROOT / folder).rglob(kind)
        if not file.name.endswith(".pb.go") and "idl" not in file.parts
    ]
    lengths = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert len(lengths) > 50
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
