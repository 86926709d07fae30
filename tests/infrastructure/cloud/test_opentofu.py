"""OpenTofu's modules by parsers of their language, and the life of machines by the real program without a cloud.

Providers of clouds cannot be had without their registry, so our modules are read, not planned.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hcl2
import pytest

from loadstone.infrastructure.cloud.opentofu import OpenTofu, module
from loadstone.infrastructure.cloud.opentofu.service import Module
from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError, InputError
from loadstone.model.instances import Instances

PROGRAM = shutil.which("tofu") or shutil.which("terraform")
OURS = sorted(each.name for each in module.MODULES.iterdir())
WITHOUT_A_CLOUD = """\
variable "token" { type = string }
variable "machines" { type = list(string) }
variable "public_key" { type = string }
variable "type" { type = string }

resource "terraform_data" "machine" {
  for_each = toset(var.machines)
  input    = "${var.token}-${each.key}"

  provisioner "local-exec" {
    command = "sleep SECONDS; touch CLOUD/${self.input}"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm CLOUD/${self.input}"
  }
}

output "machines" {
  value = { for name in var.machines : name => {
    address = "10.0.0.${index(var.machines, name) + 1}"
    outside = "192.0.2.${index(var.machines, name) + 1}"
    login   = terraform_data.machine[name].id != "" ? "root" : ""
  } }
}
"""
MAKE = """\
import sys
from datetime import UTC, datetime
from pathlib import Path
from loadstone.infrastructure.cloud.opentofu.service import Module
from loadstone.model.instances import Instances
site, folder = sys.argv[1:]
Module(Instances(site=site, type="x"), "loadstone-a", Path(folder)).make(["worker-1"], "key", datetime.now(UTC), print)
"""


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """A folder whose files are the machines of a module without a cloud, which is beside it."""
    if PROGRAM is None:
        pytest.skip("needs tofu or terraform")
    for folder in ("cloud", "module", "deployment"):
        (tmp_path / folder).mkdir()
    write(tmp_path, seconds=0)
    return tmp_path / "cloud"


def write(folder: Path, seconds: int) -> None:
    text = WITHOUT_A_CLOUD.replace("CLOUD", str(folder / "cloud")).replace("SECONDS", str(seconds))
    (folder / "module" / "main.tf").write_text(text)


def machines(cloud: Path) -> Module:
    return Module(Instances(site=str(cloud.parent / "module"), type="x"), "loadstone-a", cloud.parent / "deployment")


def there(cloud: Path) -> list[str]:
    return sorted(file.name for file in cloud.iterdir())


def made(provider: Module, *names: str) -> list[str]:
    found = provider.make(names, "ssh-ed25519 AAAA", datetime.now(UTC), lambda _text: None)
    return [f"{each.name} {each.address} {each.outside} {each.login}" for each in found]


def named(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Blocks of one label by that, without the quotes that the parser leaves."""
    return {name.strip('"'): block for each in blocks for name, block in each.items()}


@pytest.mark.parametrize("name", OURS)
def test_each_module_has_the_one_interface(name: str) -> None:
    (text,) = module.files(name).values()
    parsed = hcl2.loads(text)
    variables = named(parsed["variable"])
    assert {"token", "machines", "public_key", "type", "image", "network"} <= set(variables)
    without_default = {key for key, block in variables.items() if "default" not in block}
    assert without_default == {"token", "machines", "public_key", "type"}
    assert {"machines", "inventory"} == set(named(parsed["output"]))
    assert "password" not in text.lower() and "secret" not in text.lower()


@pytest.mark.parametrize("name", OURS)
def test_each_module_opens_ssh_alone_and_names_what_it_makes(name: str) -> None:
    (text,) = module.files(name).values()
    parsed = hcl2.loads(text)
    makes = {kind.strip('"'): named([block]) for each in parsed["resource"] for kind, block in each.items()}
    assert text.count("0.0.0.0/0") == 1
    server = next(block for kind, block in makes.items() if kind in ("hcloud_server", "openstack_compute_instance_v2"))
    assert "var.token" in str(server["machine"]["name"])
    assert "loadstone" in str(server["machine"].get("labels") or server["machine"].get("metadata"))


@pytest.mark.parametrize("name", OURS)
def test_each_module_is_formatted_by_the_program_itself(name: str) -> None:
    if PROGRAM is None:
        pytest.skip("needs tofu or terraform")
    command = [PROGRAM, "fmt", "-check", "-diff", str(module.MODULES / name)]
    checked = subprocess.run(command, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_rendered_files_have_the_values_of_the_study() -> None:
    wanted = Cluster(instances=Instances(site="hcloud", type="ccx23"))
    files = module.render(MachineNeeds("study", wanted, ("swarm",), managers=1, workers=2))
    assert set(files) == {"main.tf", "terraform.tfvars.json", "README.md"}
    values = json.loads(files["terraform.tfvars.json"])
    assert values["type"] == "ccx23" and len(values["machines"]) == 4 and "image" not in values


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no module 'hclout'; did you mean 'hcloud'"):
        module.files("hclout")
    cluster = Cluster(infrastructure="opentofu", instances=Instances(type="x"))
    ((path, _),) = OpenTofu.objections(cluster)
    assert path == ("instances", "site")


@pytest.mark.servers
def test_machines_are_made_grow_and_are_destroyed(cloud: Path) -> None:
    provider = machines(cloud)
    assert made(provider, "client-1", "worker-1") == [
        "client-1 10.0.0.1 192.0.2.1 root",
        "worker-1 10.0.0.2 192.0.2.2 root",
    ]
    before = {file: file.stat().st_mtime_ns for file in cloud.iterdir()}
    made(provider, "client-1", "worker-1", "worker-2")
    assert there(cloud) == ["loadstone-a-client-1", "loadstone-a-worker-1", "loadstone-a-worker-2"]
    assert {file: file.stat().st_mtime_ns for file in before} == before, "those that were there stay"
    provider.remove()
    assert there(cloud) == []
    provider.remove()


@pytest.mark.servers
def test_what_the_program_refuses_is_shown_and_removed(cloud: Path) -> None:
    write(cloud.parent, 0)
    with open(cloud.parent / "module" / "main.tf", "a") as file:
        file.write('resource "terraform_data" "bad" {\n  provisioner "local-exec" {\n    command = "false"\n  }\n}\n')
    provider = machines(cloud)
    with pytest.raises(DeploymentError, match=r"apply .* failed: (?s:.*)terraform_data.bad"):
        made(provider, "worker-1")
    provider.remove()
    assert there(cloud) == []


@pytest.mark.servers
def test_a_desk_that_is_killed_while_machines_are_made_leaves_none(cloud: Path) -> None:
    write(cloud.parent, seconds=3)
    folder = cloud.parent / "deployment"
    command = [sys.executable, "-c", MAKE, str(cloud.parent / "module"), str(folder)]
    desk = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while (
        "Provisioning with 'local-exec'" not in (folder / "program.log").read_text()
        if (folder / "program.log").exists()
        else True
    ):
        assert time.monotonic() < deadline and desk.poll() is None
        time.sleep(0.05)
    desk.kill()
    desk.wait()
    machines(cloud).remove()
    assert there(cloud) == []
