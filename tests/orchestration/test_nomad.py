"""Nomad's job files and limits, without a cluster; ``test_nomad_real.py`` deploys. ``pinned.py`` keeps the files."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadstone.applications import catalogue
from loadstone.infrastructure.base import Say
from loadstone.model.application import Application, Resources
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.study import Settings
from loadstone.orchestration.nomad import Nomad, capacity, hcl, templates
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import SERVICES, parse
from tests.orchestration.docker_deployments import written
from tests.orchestration.nomad_program import nomad
from tests.orchestration.pinned import compare_scaling
from tests.support import applications

SCALINGS = ("baseline", "vertical", "horizontal", "unlimited")
MIB = 2**20

IMAGES = """\
name: images
entry: {service: web, port: http}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "nginx:1.25"}
    ports: {http: 80}
    needs: [api, cache]
    entrypoint: [/bin/sh, -c]
    command: ["nginx -g 'daemon off;' # ${HOME}"]
    environment: {GREETING: "100 %{ of ${NAME}", odd.name: "two\\nlines"}
    configs:
      /etc/nginx/nginx.conf: |
        proxy_pass http://api:8080;  # {{ kept }} <0< ${as} %{it} is
      /etc/nginx/none: no newline
    volumes: [/var/cache]
  api: {tier: logic, runs: {image: "registry.example.org/api:2"}, ports: {http-alt: 8080}, needs: [cache]}
  cache: {tier: caching, runs: {software: memcached}}
  job: {tier: logic, runs: {image: "worker:1"}}
workloads:
  get: {operations: {get: {path: /}}}
"""

FAR = Reach(transport="exec", options={"software": "nomad", "node": "worker", "address": "http://lab:4646"})


def nodes(workers: int = 2, cores: int = 2, **more: Any) -> list[Node]:
    names = [f"worker-{number + 1}" for number in range(workers)]
    place = {"address": "198.18.0.9", "cpus": tuple(range(cores)), "memory": 2**34, **more}
    return [Node(name="client", role="client", **place), *(Node(name=name, role="worker", **place) for name in names)]


def deployment(application: Application, where: list[Node] | None = None, **chosen: Any) -> Deployment:
    resources = chosen.pop("resources", {})
    settings = Settings.model_validate(chosen)
    return resolve(application, settings, where or nodes(), resources, catalogue.software(), chosen.get("name", "test"))


def hotel(**chosen: Any) -> Deployment:
    return deployment(applications.load("hotel-reservation").application, **chosen)


def rendered(wanted: Deployment) -> dict[str, str]:
    return Nomad(wanted, Path("nowhere")).render()


def jobs(files: dict[str, str], folder: Path) -> dict[str, dict[str, Any]]:
    """What Nomad reads in the files: the job of each service."""
    found = {}
    for name, text in files.items():
        (folder / name).write_text(text)
        found[name.split(".")[0]] = json.loads(nomad("job", "run", "-output", name, folder=folder))["Job"]
    return found


def task(job: dict[str, Any]) -> dict[str, Any]:
    ((only,),) = (group["Tasks"] for group in job["TaskGroups"])
    return dict(only)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_hotel_reservation(scaling: str) -> None:
    compare_scaling("nomad", scaling, rendered(hotel(scaling=scaling)))


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.nomad
def test_nomad_takes_the_files_and_would_not_lay_them_out_otherwise(scaling: str, tmp_path: Path) -> None:
    folder = written(tmp_path, rendered(hotel(scaling=scaling)))
    nomad("fmt", "-check", "-recursive", ".", folder=folder)
    for file in folder.iterdir():
        assert "Job validation successful" in nomad("job", "validate", file.name, folder=folder)


@pytest.mark.nomad
def test_what_nomad_reads_in_them(tmp_path: Path) -> None:
    read = jobs(rendered(hotel(scaling="horizontal", placement={"services": {"geo": ["worker-2"]}})), tmp_path)
    geo, frontend = read["geo"], read["frontend"]
    assert [group["Count"] for group in geo["TaskGroups"]] == [2] and read["documents-geo"]["TaskGroups"][0][
        "Count"
    ] == 1
    assert geo["Constraints"][0]["RTarget"] == "worker-2"
    assert frontend["Constraints"][0]["RTarget"] == "worker-1,worker-2"
    assert geo["Meta"] == {"loadstone.deployment": "test", "loadstone.service": "geo"}
    config = task(geo)["Config"]
    assert (config["cpu_hard_limit"], config["memory_hard_limit"]) == (True, 256)
    assert task(geo)["Resources"]["CPU"] == 1000 and task(geo)["Resources"]["MemoryMB"] == 10
    (service,) = geo["TaskGroups"][0]["Services"]
    (check,) = service["Checks"]
    assert (service["Provider"], service["PortLabel"], check["PortLabel"], check["Path"]) == (
        "consul", "grpc", "admin", "/readyz"
    )  # fmt: skip
    (stores,) = task(geo)["Templates"]
    assert (stores["Envvars"], stores["ChangeMode"]) == (True, "restart")
    assert {template["ChangeMode"] for template in task(frontend)["Templates"]} == {"noop"}
    assert task(frontend)["Env"]["STONE_NEED_SEARCH"] == "file:/local/need-search"


@pytest.mark.nomad
def test_the_entry_keeps_its_port_while_one_replica_has_it(tmp_path: Path) -> None:
    def reserved(scaling: str) -> list[str]:
        read = jobs({"a.hcl": rendered(hotel(scaling=scaling))["frontend.nomad.hcl"]}, tmp_path)["a"]
        return [port["Label"] for port in read["TaskGroups"][0]["Networks"][0]["ReservedPorts"] or []]

    assert reserved("baseline") == ["http"] and reserved("horizontal") == []


@pytest.mark.nomad
def test_images_find_each_other_by_name_and_their_files_are_as_they_were(tmp_path: Path) -> None:
    read = jobs(rendered(deployment(parse(IMAGES))), tmp_path)
    web = task(read["web"])
    assert web["Env"] == {"odd.name": "two\nlines"}
    assert web["Config"]["entrypoint"] == ["/bin/sh", "-c"]
    assert web["Config"]["args"] == ["nginx -g 'daemon off;' # $${HOME}"]
    hosts, variables, config, other = web["Templates"]
    assert variables["EmbeddedTmpl"] == 'GREETING="100 %{ of ${NAME}"\n'  # in Env a node would replace the name
    assert variables["Envvars"] and variables["LeftDelim"] == "<0<"
    assert 'service "test-api|any"' in hosts["EmbeddedTmpl"] and "}} api\n" in hosts["EmbeddedTmpl"]
    assert 'if lt (len (service "test-api|any")) 1' in hosts["EmbeddedTmpl"]  # it starts when they are known
    assert hosts["ChangeMode"] == "restart"  # it would not see the file's next version
    assert config["EmbeddedTmpl"] == "proxy_pass http://api:8080;  # {{ kept }} <0< ${as} %{it} is\n"
    assert config["LeftDelim"] not in config["EmbeddedTmpl"]
    assert other["EmbeddedTmpl"] == "no newline"
    mounted = {mount["target"]: (mount["type"], mount.get("source")) for mount in web["Config"]["mount"]}
    assert mounted == {
        "/etc/hosts": ("bind", "local/hosts"),
        "/etc/nginx/nginx.conf": ("bind", config["DestPath"]),
        "/etc/nginx/none": ("bind", other["DestPath"]),
    }
    api = read["api"]["TaskGroups"][0]["Networks"][0]["ReservedPorts"]
    assert [(port["Label"], port["Value"]) for port in api] == [("http_alt", 8080)]  # known to who needs it
    assert "Networks" not in read["job"]["TaskGroups"][0] or not read["job"]["TaskGroups"][0]["Networks"]
    assert not read["job"]["TaskGroups"][0]["Services"]


class Starting(Nomad):
    """Without a cluster: a replica starts once Consul knows all that its files list, which are those created."""

    groups: list[list[str]]

    def prepare(self, say: Say) -> None:
        self.groups = []

    def _create(self, services: list[str]) -> None:
        self.groups.append(services)

    def _await(self, wanted: list[Replica], started: float) -> None:
        for replica in wanted:
            texts = "".join(template.text for template in templates.templates(self.deployment, replica))
            waits_for = re.findall(r'waits-for/test-([\w-]+)"', texts)
            assert set(waits_for) <= set(self.groups[-1]), f"{replica.name} waits for what is not created yet"


def test_images_that_call_each_other_are_created_together() -> None:
    text = IMAGES.replace('api:2"}, ports: {http-alt: 8080},', 'api:2"}, ports: {http-alt: 8080}, calls: [web, tail],')
    tail = '  tail: {tier: logic, runs: {image: "tail:1"}, ports: {http: 81}, needs: [web]}\n'
    for images, groups in (
        (IMAGES, [["cache", "job"], ["cache", "job", "api"], ["cache", "job", "api", "web"]]),
        (
            text.replace("workloads:", f"{tail}workloads:"),
            [["cache", "job"], ["cache", "job", "api", "web", "tail"]],
        ),
    ):
        starting = Starting(deployment(parse(images)), Path("nowhere"))
        starting.apply()
        assert starting.groups == groups


def evaluated(text: str) -> str:
    """What is left of a text that is a template of HCL: an expression is replaced, a doubled sign stands for one."""
    return re.sub(r"([$%])\1\{|[$%]\{", lambda found: f"{found[1]}{{" if found[1] else "replaced", text)


def test_arguments_are_as_they_were_after_a_node_has_evaluated_them_again() -> None:
    arguments = ("echo ${PORT:-80}", "curl -w '%{http_code}'", "$${X} $5")
    wanted = deployment(parse(IMAGES))
    (web,) = wanted.of("web")
    others = tuple(replica for replica in wanted.replicas if replica.service != "web")
    changed = web.model_copy(update={"command": arguments, "entrypoint": arguments})
    text = rendered(wanted.model_copy(update={"replicas": (*others, changed)}))["web.nomad.hcl"]
    read_by_the_server = evaluated(text)
    read_by_the_node = evaluated(read_by_the_server)  # client/allocrunner/taskrunner/task_runner.go, ParseHclInterface
    for argument in arguments:
        assert read_by_the_node.count(f'"{argument}"') == 2


@pytest.mark.nomad
def test_a_container_waits_where_nodes_are_reached_through_the_cluster(tmp_path: Path) -> None:
    here, elsewhere = deployment(parse(SERVICES)), deployment(parse(SERVICES), nodes(reach=FAR))
    assert set(rendered(elsewhere)) - set(rendered(here)) == {"loadstone-agent.nomad.hcl"}
    text = rendered(elsewhere)["loadstone-agent.nomad.hcl"]
    assert "Job validation successful" in nomad_says(text, tmp_path, "validate")
    read = jobs({"loadstone-agent.hcl": text}, tmp_path)["loadstone-agent"]
    assert read["Type"] == "system" and task(read)["Config"]["network_mode"] == "host"
    assert task(read)["Config"]["volumes"] == ["/proc:/host/proc:ro", "/sys:/host/sys:ro", "local:/tmp"]
    assert task(read)["Config"]["args"] == ["wait"] and "ports" not in task(read)["Config"]
    assert task(read)["Config"]["readonly_rootfs"] and task(read)["Config"]["cap_drop"] == ["all"]
    assert task(read)["Config"]["memory_hard_limit"] > 2**40
    assert read["Constraints"][0]["RTarget"] == "client,worker-1,worker-2"


def nomad_says(text: str, folder: Path, verb: str) -> str:
    (folder / "one.nomad.hcl").write_text(text)
    return nomad("job", verb, "one.nomad.hcl", folder=folder)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30).map(
    lambda text: unicodedata.normalize("NFC", text)  # HCL knows no other
)
TRICKY = st.lists(st.sampled_from(["$", "{", "%", "}", "\n", "\\", '"', "EOT", "\t", "é", "\x07", "\r", " "])).map(
    "".join
)


@settings(max_examples=8)
@given(st.lists(TEXTS | TRICKY, min_size=1, max_size=60))
@pytest.mark.nomad
def test_any_text_is_read_as_it_was(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    env = {f"T{number}": text for number, text in enumerate(texts)}
    blocks = "".join(
        f"template {{\ndestination = {hcl.hcl(str(n))}\ndata = {hcl.heredoc(text)}\n}}\n"
        for n, text in enumerate(texts)
    )
    body = f'driver = "docker"\nenv = {{\n{hcl.lines(env, 2)}\n}}\n{blocks}'
    job = f'job "j" {{\ngroup "g" {{\ntask "t" {{\n{body}}}\n}}\n}}\n'
    read = task(jobs({"j.hcl": job}, folder)["j"])
    assert read["Env"] == env
    assert [template["EmbeddedTmpl"] for template in read["Templates"]] == texts


CORES = [*range(1, 14), 16, 18, 20, 24, 28, 32, 36, 40, 48, 52, 56, 64, 72, 96, 104, 112, 128, 192]


@given(st.integers(5, 800), st.sampled_from([1000, 2000, 2300, 3400]), st.sampled_from(CORES))
@example(313, 1000, 192)  # at no round period
def test_a_period_gives_exactly_the_wanted_limit(hundredths: int, mhz: int, cores: int) -> None:
    replica = hotel(resources={"geo": Resources(cpu=hundredths / 100)}).of("geo")[0]
    period = capacity.period(replica, mhz, {cores})
    assert 0 < period <= 100_000
    quota = int(capacity.shares(replica, mhz) / (mhz * cores) * period) * cores
    assert quota >= 1000 and quota / period == pytest.approx(hundredths / 100, rel=1e-5)


def test_the_usual_period_is_kept_where_it_will_do() -> None:
    geo = hotel().of("geo")[0]
    assert capacity.period(geo, 1000, {1, 2, 4, 8, 16}) == 100_000
    assert capacity.period(geo, 1000, {3}) == 99_900  # a third of 100,000 three times is 99,999
    assert capacity.period(hotel(scaling="unlimited").of("geo")[0], 1000, {3}) == 0


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True),
    st.from_regex(r"[a-z][a-z0-9-]{0,62}", fullmatch=True),
)
def test_names_are_what_consul_takes(name: str, service: str) -> None:
    found = templates.catalogue_name(name, service)
    assert len(found) <= 63 and set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert templates.job_name(name, service).endswith(f"-{service}")


def errors(wanted: Deployment) -> list[tuple[str, str]]:
    return [
        (finding.message, finding.remedy) for finding in capacity.findings(wanted, 1000) if finding.level == "error"
    ]


def test_more_than_the_nodes_have_is_refused_with_numbers() -> None:
    (found,) = errors(hotel())
    assert found[0] == (
        "the limits of 22 replicas add up to 22 CPUs, but worker-1, worker-2 have 4; Nomad reserves what it limits"
    )
    assert "smaller limits" in found[1]
    assert errors(hotel(where=nodes(3, 8))) == [] and errors(hotel(scaling="unlimited")) == []


def test_agents_of_nodes_elsewhere_want_a_little_too() -> None:
    assert errors(hotel(where=nodes(2, 11))) == []
    (found,) = errors(hotel(where=nodes(2, 11, reach=FAR)))
    assert found[0].startswith("the limits of 22 replicas add up to 22 CPUs and their agents want 0.004, but worker-1,")


def test_what_is_bound_to_a_node_must_fit_there() -> None:
    bound = {"tiers": {"storage": ["worker-1"]}}
    (found,) = errors(hotel(where=nodes(4, 6), placement=bound))
    assert found[0].startswith("the limits of 8 replicas add up to 8 CPUs, but worker-1 has 6;")


def test_limits_that_nomad_cannot_count_are_refused() -> None:
    small = {"geo": Resources(cpu=0.0125, memory=100_000_000), "rate": Resources(cpu=0.0125, memory=4 * MIB)}
    assert errors(hotel(where=nodes(4, 8), resources=small)) == [
        (
            "geo, rate: Nomad cannot limit a replica to exactly 0.0125 CPUs",
            "choose limits of whole hundredths, 0.05 or more (`resources`)",
        ),
        (
            "geo: Nomad cannot limit a replica to exactly 95.367431641MiB",
            "choose limits of whole MiB, 10MiB or more (`resources`)",
        ),
        (
            "rate: Nomad cannot limit a replica to exactly 4MiB",
            "choose limits of whole MiB, 10MiB or more (`resources`)",
        ),
    ]
