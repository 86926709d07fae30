"""Generated compose files: imported without loss, rendered and imported again; nonsense is refused in words."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.applications.compose_import import schema
from loadstone.model import yaml12
from loadstone.model.application import Application, Service
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import InputError
from tests.orchestration.conftest import deployed

FOREIGN = sorted(set(plugins.names("orchestrators")) - {"process"})
NAMES = ("web", "api", "cache-1", "db", "q")
NODES = [
    Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**36),
    Node(name="worker-1", role="worker", address="127.0.0.1", cpus=tuple(range(1, 65)), memory=2**36),
]
# No control characters besides the end of a line, no half of a surrogate pair.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.just("\n"), max_size=12)
ARGUMENTS = st.lists(TEXT.filter(bool), min_size=1, max_size=3)
VARIABLES = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True), TEXT, max_size=3)
PATHS = st.sampled_from(["/a", "/etc/b.conf", "/srv/c d/e", "/f/g"])


@st.composite
def services(draw: st.DrawFn, others: list[str], first: bool) -> dict[str, Any]:
    """A service as an application file has it; what a compose file can say."""
    files = draw(st.dictionaries(PATHS, TEXT, max_size=2))
    found: dict[str, Any] = {
        "runs": {"image": draw(st.sampled_from(["nginx:1.25", "x.org:5000/y/z:2", f"a@sha256:{'0' * 64}"]))},
        "ports": {f"port-{n}": n for n in draw(st.lists(st.integers(1, 65535), min_size=1, max_size=3, unique=True))},
        "needs": draw(st.lists(st.sampled_from(others), unique=True)) if others else [],
        "replicas": draw(st.integers(1, 3)) if not first else 1,
        "command": draw(st.just([]) | ARGUMENTS),
        "entrypoint": draw(st.just([]) | ARGUMENTS),
        "environment": draw(VARIABLES),
        "configs": files,
        "volumes": [path for path in draw(st.lists(PATHS, max_size=2, unique=True)) if path not in files],
    }
    resources = {
        "cpu": draw(st.none() | st.integers(1, 6400).map(lambda hundredths: hundredths / 100)),
        "memory": draw(st.none() | st.integers(4, 4096).map(lambda mebibytes: f"{mebibytes}MiB")),
    }
    return found | {"resources": {key: value for key, value in resources.items() if value}}


@st.composite
def applications(draw: st.DrawFn) -> dict[str, Any]:
    """Services by name, the first of which publishes its first port; each needs only later ones."""
    names = list(NAMES[: draw(st.integers(1, len(NAMES)))])
    return {name: draw(services(names[at + 1 :], at == 0)) for at, name in enumerate(names)}


def compose_file(wanted: dict[str, Any], folder: Path, long: bool) -> str:
    """A compose file that says this, in its long or short forms, with the files that it mounts."""
    message = {}
    for at, (name, service) in enumerate(wanted.items()):
        ports = [number if long else str(number) for number in service["ports"].values()]
        mounts: list[Any] = list(service["volumes"])
        for number, (path, text) in enumerate(service["configs"].items()):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / str(number)).write_bytes(text.encode())
            source = f"./{name}/{number}"
            bound = {"type": "bind", "source": source, "target": path, "read_only": True}
            mounts.append(bound if long else f"{source}:{path}:ro")
        resources = service["resources"]
        named = {"cpus": resources.get("cpu"), "memory": resources.get("memory")}
        limits = {name: value for name, value in named.items() if value is not None}
        message[name] = {
            "image": service["runs"]["image"],
            "entrypoint": escaped(service["entrypoint"]),
            "command": escaped(service["command"]),
            "environment": variables(service["environment"], long),
            "depends_on": {need: {"condition": "service_started"} for need in service["needs"]}
            if long
            else service["needs"],
            "volumes": mounts,
            "deploy": {"replicas": service["replicas"], "resources": {"limits": limits}},
            **({"ports": ports[:1], "expose": ports[1:]} if at == 0 else {"expose": ports}),
        }
    return yaml12.dump({"services": message})


def escaped(expected: list[str]) -> list[str]:
    return [word.replace("$", "$$") for word in expected]


def variables(given: dict[str, str], long: bool) -> Any:
    values = {name: value.replace("$", "$$") for name, value in given.items()}
    return values if long else [f"{name}={value}" for name, value in values.items()]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """One of its own for each example."""
    made = Path(tempfile.mkdtemp(prefix="loadstone-test-"))
    yield made
    shutil.rmtree(made)


def same(service: Service, wanted: dict[str, Any]) -> None:
    """What a service has is what was written; texts may speak of addresses, which are needs too."""
    expected = Service.model_validate({**wanted, "tier": service.tier})
    assert set(expected.needs) <= set(service.needs)
    assert service.model_copy(update={"needs": expected.needs}) == expected


@given(applications(), st.booleans())
def test_a_generated_compose_file_is_imported_without_loss(wanted: dict[str, Any], long: bool) -> None:
    with folder() as place:
        (place / "compose.yaml").write_text(compose_file(wanted, place, long), encoding="utf-8")
        application = catalogue.load(str(place)).application
    assert list(application.services) == list(wanted)
    assert (application.entry.service, application.entry.port) == ("web", next(iter(wanted["web"]["ports"])))
    for name, service in wanted.items():
        same(application.services[name], service)
    deployment = deployed(application, NODES)
    for name, service in wanted.items():
        replicas = deployment.of(name)
        assert [replica.name for replica in replicas] == [f"{name}-{n + 1}" for n in range(service["replicas"])]
        for replica in replicas:
            assert (replica.image, replica.configs, replica.environment) == (
                service["runs"]["image"], service["configs"], service["environment"],
            )  # fmt: skip
            assert (list(replica.entrypoint), list(replica.command)) == (service["entrypoint"], service["command"])
            assert list(replica.volumes) == service["volumes"]


def rendered(application: Application, orchestrator: str, place: Path) -> Path:
    """The main file of an application, rendered; its entry is given, as other ports may be published too."""
    deployment: Deployment = deployed(application, NODES, orchestrator=orchestrator)
    files = plugins.find("orchestrators", orchestrator)(deployment, place).render()
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text.encode())
    main = place / next(iter(files))
    way_in = f"web:{application.services['web'].ports[application.entry.port]}"
    main.write_text(f"{main.read_text(encoding='utf-8')}\nx-loadstone: {{entry: '{way_in}'}}\n", encoding="utf-8")
    return main


@pytest.mark.slow
@pytest.mark.parametrize("orchestrator", ["compose", "swarm"])
@given(applications())
def test_what_is_rendered_as_a_compose_file_is_imported_again_as_it_was(
    orchestrator: str, wanted: dict[str, Any]
) -> None:
    """All but what such a file has no need to say: needs, tiers, and ports that are not published."""
    with folder() as place:
        (place / "compose.yaml").write_text(compose_file(wanted, place, long=True), encoding="utf-8")
        first = catalogue.load(str(place)).application
        (place / "rendered").mkdir()
        again = catalogue.load(str(rendered(first, orchestrator, place / "rendered"))).application
    assert set(again.services) == set(first.services)
    assert again.services[again.entry.service].ports[again.entry.port] == first.services["web"].ports[first.entry.port]
    for name, service in again.services.items():
        unsaid = first.services[name].model_copy(
            update={"needs": service.needs, "ports": service.ports, "tier": service.tier}
        )
        assert service == unsaid


PARTS = (
    schema.ComposeFile,
    schema.ComposeService,
    schema.Deploy,
    schema.ComposeLimits,
    schema.ComposeMount,
    schema.HealthCheck,
)
KEYS = st.sampled_from(
    [
        *dict.fromkeys(key for part in (*PARTS, schema.Extension) for key in part.model_fields),
        "x-loadstone",
        "web",
        "<<",
    ]
)
PLAIN = st.sampled_from(
    ["web", "80", "a:/b", "./c:/d:ro", "${A", "$$", "1g", "", "NONE", "node.role == worker", "web:80"]
)
NONSENSE = st.recursive(
    PLAIN | st.none() | st.booleans() | st.integers(-1, 70000) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, NONSENSE, max_size=4), st.dictionaries(KEYS, NONSENSE, max_size=3))
@example({}, {"x-loadstone": "web"})
@example({}, {"x-loadstone": {"without": [["web"]]}})
def test_nonsense_is_refused_in_words(service: dict[str, Any], top: dict[str, Any]) -> None:
    good = {"image": "nginx:1.25", "ports": ["80"]}
    with folder() as place:
        file = place / "compose.yaml"
        file.write_text(yaml.safe_dump({"services": {"web": good | service, "other": good}} | top))
        try:
            catalogue.load(str(file))
        except InputError as error:
            assert error.problems
            assert all(str(place) in str(problem.file) and problem.message for problem in error.problems)
