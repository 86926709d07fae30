"""Compose files as applications: what is carried, what is named, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.applications import catalogue
from loadstone.applications.compose_import import is_compose, reading
from loadstone.applications.compose_import.services import fitting
from loadstone.model import yaml12
from loadstone.model.document import Document
from loadstone.model.errors import InputError, grouped
from loadstone.model.software import STORE_PASSWORD
from tests.model.wrong_files import Case, cases

HERE = Path(__file__).parent
IMPORTS = cases(HERE / "compose-imports.txt")
WRONG = cases(HERE / "wrong-compose.txt")
ALWAYS = ("tiers are guessed", "none is given, so there is one", "deployed anew before each trial", "carried into")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What lies beside the compose files of the tables, and the environment that they are read in."""
    monkeypatch.setenv("SET_OUTSIDE", "outside")
    for name in ("UNSET_OUTSIDE", "VERSION", "FROM_DOTENV", "EMPTY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for name, text in {
        ".env": "# comment\nVERSION=1.25\nFROM_DOTENV='a $literal' # comment\nEMPTY=\n",
        "web.env": 'export A=file\nB="two\\nlines ${FROM_DOTENV}"\nC=x # not this\nSET_OUTSIDE\nUNSET_OUTSIDE\n',
        "web.conf": "listen 80;\n",
        "conf/a.conf": "a\n",
        "conf/sub/b.conf": "b\n",
        "mixed/a.conf": "a\n",
        "key.pem": "-----BEGIN PRIVATE KEY-----\n",
        "large.txt": "x" * 500_001,
        "keys/a.conf": "a\n",
        "keys/key.pem": "-----BEGIN PRIVATE KEY-----\n",
        "nginx.conf": "resolver 127.0.0.11;\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "mixed/image.png").write_bytes(b"\0")
    (tmp_path / "empty").mkdir()
    return tmp_path


def imported(text: str) -> catalogue.LoadedApplication:
    """A compose file in this folder, imported."""
    Path("compose.yaml").write_text(text)
    return catalogue.load("compose.yaml")


def services(loaded: catalogue.LoadedApplication) -> str:
    """The services of an application as its file has them."""
    data = loaded.application.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml12.dump(data["services"])


@pytest.mark.parametrize("case", IMPORTS, ids=lambda case: case.name.replace(" ", "-"))
def test_what_becomes_of_a_compose_file(case: Case, folder: Path) -> None:
    end = case.messages.index("--")
    loaded = imported(case.text)
    assert services(loaded).splitlines() == case.messages[:end]
    assert [str(note) for note in loaded.notes if not note.message.startswith(ALWAYS)] == case.messages[end + 1 :]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_compose_file_is_answered_with_exactly_these_messages(case: Case, folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        imported(case.text)
    assert str(caught.value).splitlines() == case.messages


def test_what_is_guessed_is_reported(folder: Path) -> None:
    loaded = imported('services:\n  web: {image: "x/web:1", ports: [80], depends_on: [db]}\n  db: {image: "mongo:5"}\n')
    assert [str(note) for note in loaded.notes] == [
        "compose.yaml:1: services: tiers are guessed from images and names (frontend: web; storage: db), and scaling:"
        " horizontal doubles frontend and logic; else write x-loadstone: {tiers: ...}",
        "compose.yaml:1: x-loadstone.workloads: none is given, so there is one: GET / (get-root)",
        "compose.yaml:3: services.db: deployed anew before each trial, to be empty;"
        " else write x-loadstone: {reset: COMMAND}",
    ]
    application = loaded.application
    assert (application.entry.service, application.entry.port, application.default_workload) == (
        "web", "port-80", "get-root",
    )  # fmt: skip
    assert application.workloads["get-root"].operations["get"].path == "/"
    assert application.name == fitting(folder.name)


def test_what_is_given_is_not_guessed(folder: Path) -> None:
    text = """\
name: Shop_1
services:
  web: {image: "x/web:1", ports: [80]}
x-loadstone:
  description: A shop.
  tiers: {web: frontend}
  workloads: {buy: {operations: {buy: {method: POST, path: /buy}}}}
  paper_resources: {frontend: {cpu: 4, memory: 4GiB}}
"""
    loaded = imported(text)
    assert loaded.notes == ()
    application = loaded.application
    assert (application.name, application.description, application.default_workload) == ("shop-1", "A shop.", "buy")
    assert application.paper_resources["frontend"].memory == 2**32


def test_workloads_enter_where_they_say_over_their_protocol(folder: Path) -> None:
    text = """\
services:
  web: {image: "x/web:1", ports: [80]}
  message_queue: {image: "x/queue:1", expose: [5556]}
x-loadstone:
  entry: web:80
  workloads:
    buy: {operations: {buy: {method: POST, path: /buy}}}
    read: {entry: "message_queue:5556", protocol: zmq, operations: {get: {body: '{"op":"get"}'}}}
  default_workload: buy
"""
    application = imported(text).application
    entered = {name: tuple(application.entry_of(name).model_dump().values()) for name in application.workloads}
    assert entered == {"buy": ("web", "port-80"), "read": ("message-queue", "port-5556")}
    assert {name: workload.protocol for name, workload in application.workloads.items()} == {"buy": None, "read": "zmq"}


@pytest.mark.parametrize(
    ("text", "compose"),
    [
        ("services: {web: {image: x}}", True),
        ("services: {web: {build: .}}", True),
        ("version: '3'\nservices: {}", True),
        ("services: {web: {image: x, tier: frontend}}\nx-loadstone: {}", True),
        ("services: {web: {tier: frontend, runs: {stone: x}}}", False),
        ("services: {web: {}}\nworkloads: {}", False),
        ("services: {web: {}}\nentry: {}", False),
        ("services: [web]", False),
        ("name: x", False),
    ],
)
def test_a_compose_file_is_recognised_by_its_content(text: str, compose: bool) -> None:
    assert is_compose(Document(text, "any.yaml")) is compose


@pytest.mark.parametrize("name", ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"])
def test_a_folder_with_a_compose_file(name: str, folder: Path) -> None:
    (folder / name).write_text('services: {web: {image: "x/web:1", ports: [80]}}\n')
    assert catalogue.load(str(folder)).application.services["web"].runs.image == "x/web:1"
    (folder / "compose.override.yml").write_text("services: {}\n")
    text = f"compose.override.yml is not read; name the folder of both, or {name}:compose.override.yml"
    assert f"{name}:1: {text}" in map(str, catalogue.load(str(folder / name)).notes)


def test_the_digest_is_of_the_content_and_of_the_mounted_files(folder: Path) -> None:
    text = 'services:\n  web: {image: "x/web:1", ports: [80], volumes: ["./web.conf:/web.conf:ro"]}\n'
    digests = [imported(text).digest, imported(f"# comment\nx-any: 1\n{text}").digest]
    (folder / "web.conf").write_text("listen 81;\n")
    digests.append(imported(text).digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_variable_of_the_shell_comes_before_that_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'services:\n  web: {image: "nginx:${VERSION}", ports: [80]}\n'
    assert imported(text).application.services["web"].runs.image == "nginx:1.25"
    monkeypatch.setenv("VERSION", "1.26")
    loaded = imported(text)
    assert loaded.application.services["web"].runs.image == "nginx:1.26"
    assert any(note.message.startswith("VERSION is taken from this shell") for note in loaded.notes)


def test_a_repeated_warning_is_reported_once(folder: Path) -> None:
    web, api = '{image: "x/web:1", ports: [80], tty: true}', '{image: "x/api:1", expose: [81], tty: true}'
    text = f"services:\n  web: {web}\n  api: {api}\n"
    message = "compose.yaml:2: services.web.tty: not carried: it changes nothing in the container; also in line 3"
    assert message in grouped(imported(text).notes)


def test_files_of_a_service_that_together_are_too_large(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_text("x" * 400_000)
    mounts = [f"./{number}.txt:/{number}.txt:ro" for number in range(3)]
    loaded = imported(f'services:\n  web: {{image: "x/web:1", ports: [80], volumes: {mounts}}}\n')
    assert list(loaded.application.services["web"].configs) == ["/0.txt", "/1.txt"]
    text = "not carried: with it the service's configuration files have 1,200,000 bytes; at most 1,000,000"
    assert text in [note.message for note in loaded.notes]


def test_a_folder_of_too_many_files(folder: Path) -> None:
    for number in range(101):
        (folder / "empty" / f"{number}.txt").write_text("x")
    loaded = imported('services:\n  web: {image: "x/web:1", ports: [80], volumes: ["./empty:/e:ro"]}\n')
    text = "not carried: empty has more than 100 files; put them into an image"
    assert text in [note.message for note in loaded.notes]


def files(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


EXTENDED = "{file: base.yml, service: any}"
WEB = 'services:\n  web: {image: "x/web:1", ports: [80], environment: {A: base}}\n'


def test_several_files_are_merged_as_compose_merges_them(folder: Path) -> None:
    files(folder, {"a.yml": WEB, "sub/b.yml": 'services:\n  web: {environment: {B: "2"}, ports: ["81"], tty: true}\n'})
    loaded = catalogue.load("a.yml:sub/b.yml")
    web = loaded.application.services["web"]
    assert (web.environment, list(web.ports.values())) == ({"A": "base", "B": "2"}, [80, 81])
    text = "sub/b.yml:2: services.web.tty: not carried: it changes nothing in the container"
    assert text in map(str, loaded.notes)


def test_a_folder_has_its_override_too(folder: Path) -> None:
    files(folder, {"compose.yaml": WEB, "compose.override.yml": "services: {web: {environment: {A: over}}}\n"})
    assert catalogue.load(str(folder)).application.services["web"].environment == {"A": "over"}
    assert catalogue.load("compose.yaml").application.services["web"].environment == {"A": "base"}


def test_files_that_are_included_and_services_that_are_extended(folder: Path) -> None:
    base = 'services:\n  any: {image: "x/any:1", environment: {A: "${IN}"}, volumes: ["./c.conf:/c.conf:ro"]}\n'
    files(
        folder,
        {
            "compose.yaml": f"include: [part/compose.yaml]\n{WEB}  api: {{extends: {EXTENDED}}}\n",
            "base.yml": base,
            "c.conf": "outer\n",
            "part/compose.yaml": base.replace("any", "cache").replace("ports", "tty: true, ports"),
            "part/.env": "IN=part\n",
            "part/c.conf": "inner\n",
        },
    )
    loaded = catalogue.load("compose.yaml").application.services
    assert set(loaded) == {"web", "api", "cache"}
    assert (loaded["cache"].environment, loaded["cache"].configs) == ({"A": "part"}, {"/c.conf": "inner\n"})
    assert (loaded["api"].environment, loaded["api"].configs) == ({"A": ""}, {"/c.conf": "outer\n"})


def test_services_of_profiles_run_where_these_are_enabled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'{WEB}  debug: {{image: "x/debug:1", profiles: [debug]}}\n'
    assert set(imported(text).application.services) == {"web"}
    assert set(imported(f"{text}x-loadstone: {{profiles: [debug]}}\n").application.services) == {"web", "debug"}
    monkeypatch.setenv("COMPOSE_PROFILES", "debug")
    assert set(imported(text).application.services) == {"web", "debug"}


def test_variables_of_the_working_directory_come_before_those_of_the_project(folder: Path) -> None:
    files(folder, {"app/compose.yaml": 'services:\n  web: {image: "nginx:${VERSION}", ports: [80]}\n'})
    files(folder, {"app/.env": "VERSION=1.24\n"})
    loaded = catalogue.load("app/compose.yaml")
    assert loaded.application.services["web"].runs.image == "nginx:1.25"
    text = f"VERSION is taken from {folder}/.env; its value stands in the results"
    assert f"app/compose.yaml:2: services.web.image: {text}" in map(str, loaded.notes)


def test_lists_that_are_reset_and_values_that_replace_others(folder: Path) -> None:
    over = "services:\n  web:\n    ports: !override [81]\n    environment: !reset null\n"
    files(folder, {"a.yml": WEB, "b.yml": over})
    web = catalogue.load("a.yml:b.yml").application.services["web"]
    assert (list(web.ports.values()), web.environment) == ([81], {})


def messages(loaded: catalogue.LoadedApplication) -> str:
    return "\n".join(str(note) for note in loaded.notes)


def test_files_outside_of_the_project_are_read_only_where_they_are_allowed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.conf").write_text("hunter2\n")
    (outside / "other.env").write_text("A=hunter2\n")
    (folder / "link.conf").symlink_to(outside / "secret.conf")
    text = (
        "services:\n  web:\n    image: nginx:1.25\n    ports: [80]\n"
        f"    volumes: ['{outside}/secret.conf:/a:ro', './link.conf:/b:ro', './web.conf:/c:ro']\n"
    )
    loaded = imported(text)
    assert loaded.application.services["web"].configs == {"/c": "listen 80;\n"}
    assert messages(loaded).count("outside of the project's folder; `loadstone --allow-path FOLDER` allows it") == 2
    assert "carried into the results: web.conf" in messages(loaded)
    with pytest.raises(InputError, match=r"other\.env is outside of the project's folder"):
        imported(text + f"    env_file: {outside}/other.env\n")
    monkeypatch.setenv("LOADSTONE_ALLOW_PATH", f"/nowhere:{outside}")
    loaded = imported(text + f"    env_file: {outside}/other.env\n")
    assert set(loaded.application.services["web"].configs) == {"/a", "/b", "/c"}
    assert loaded.application.services["web"].environment == {"A": "hunter2"}
    assert f"A of {outside}/other.env, " in messages(loaded)


def test_a_secret_of_an_env_file_is_not_carried(folder: Path) -> None:
    (folder / "db.env").write_text("DB_PASSWORD=hunter2\nNAME=x\nAPI_TOKEN=shown3\nURL=http://a:shown3@b\n")
    loaded = imported(
        "services:\n  web: {image: 'nginx:1.25', ports: [80], env_file: db.env}\n"
        "  db: {image: 'x/db:1', env_file: db.env, environment: {ROOT_PASSWORD: plain}}\n"
    )
    environment = loaded.application.services["db"].environment
    assert environment["DB_PASSWORD"] == STORE_PASSWORD == loaded.application.services["web"].environment["DB_PASSWORD"]
    assert environment["API_TOKEN"] == "shown3", "of which another variable is built"
    assert environment["ROOT_PASSWORD"] == "plain", "which the compose file shows"
    assert "hunter2" not in loaded.application.model_dump_json() + messages(loaded)
    assert "DB_PASSWORD of db.env looks like a secret" in messages(loaded)
    assert "API_TOKEN of db.env" in messages(loaded)


def test_variables_in_another_encoding_are_refused_and_not_changed(folder: Path) -> None:
    text = "services:\n  web:\n    image: nginx:1.25\n    ports: [80]\n"
    (folder / "old.env").write_bytes(b"A=1\nB=caf\xe9\n")
    with pytest.raises(InputError, match=r"old\.env:2: byte 0xe9 is no UTF-8 text; save the file as UTF-8"):
        imported(text + "    env_file: old.env\n")
    (folder / ".env").write_bytes(b"B=caf\xe9\n")
    with pytest.raises(InputError, match=r"\.env:1: byte 0xe9 is no UTF-8 text"):
        imported(text + "    environment: {A: '${B}'}\n")


def test_a_value_that_is_the_name_of_its_variable_is_not_of_this_shell(folder: Path) -> None:
    text = "services:\n  web:\n    image: nginx:1.25\n    ports: [80]\n    environment: "
    for written, count in (("{SET_OUTSIDE: SET_OUTSIDE}", 0), ("[SET_OUTSIDE]", 1), ("{SET_OUTSIDE: }", 1)):
        notes = [note for note in imported(text + written).notes if "taken from this shell" in note.message]
        assert len(notes) == count, written


@pytest.mark.parametrize(
    ("extension", "message"),
    [
        ("entry: {service: web, port: [80]}", "x-loadstone.entry: expected SERVICE:PORT, for example web:8080"),
        ("readiness: {web: {port: true}}", "x-loadstone.readiness.web.port: "),
    ],
)
def test_a_port_that_is_no_port(folder: Path, extension: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(f"services:\n  web: {{image: 'nginx:1.25', ports: [80]}}\nx-loadstone: {{{extension}}}\n")
    assert str(caught.value).startswith(f"compose.yaml:3: {message}")


def test_what_the_loader_of_compose_files_prints_may_be_in_any_encoding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "loader").write_text("#!/bin/sh\nprintf 'caf\\351\\n' >&2\nexit 1\n")
    (folder / "loader").chmod(0o755)
    monkeypatch.setattr(reading, "compose_loader", lambda: folder / "loader")
    with pytest.raises(InputError, match="compose\\.yaml:1: caf\ufffd"):
        imported("services: {web: {image: 'nginx:1.25'}}\n")
