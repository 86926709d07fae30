"""The Vagrantfile: one box for all machines, in one private network."""

from __future__ import annotations

import json
from collections.abc import Sequence

from loadstone.infrastructure.machine_files import MachineNeeds
from loadstone.model.instances import Instances

PROVIDERS = ("libvirt", "virtualbox")
IMAGE = "debian/bookworm64"
_SUBNET = "192.168.56"
"""VirtualBox allows its host-only networks nothing else by default."""
_FIRST = 10
MOST = 240
_TEMPLATE = """\
# Machines of {study}. `vagrant up --provider={provider}` makes them, `vagrant destroy -f` removes them.

MACHINES = {{
{machines}
}}

Vagrant.configure("2") do |config|
  config.vm.box = {box}
  config.vm.synced_folder ".", "/vagrant", disabled: true

  config.vm.provider "libvirt" do |machine|
    machine.default_prefix = "{prefix}-"
    machine.cpus = {cpus}
    machine.memory = {memory}
  end

  config.vm.provider "virtualbox" do |machine|
    machine.linked_clone = true
    machine.cpus = {cpus}
    machine.memory = {memory}
  end

  MACHINES.each do |name, address|
    config.vm.define name do |node|
      node.vm.hostname = name
      node.vm.network "private_network", ip: address
      node.vm.provider "virtualbox" do |machine|
        machine.name = "{prefix}-#{{name}}"
      end
    end
  end
end
"""
_README = """\
# Machines of Vagrant for {study}

    vagrant up --provider={provider}
    vagrant ssh-config > ssh_config
    loadstone run STUDY        # in the study: cluster: {{infrastructure: hosts, inventory: hosts.yaml}}
    vagrant destroy -f
"""


def address(number: int) -> str:
    """The address of the machine of that number, from 0."""
    return f"{_SUBNET}.{_FIRST + number}"


def text(names: Sequence[str], wanted: Instances, study: str, prefix: str) -> str:
    """The file; ``prefix`` is what the provider calls the machines by, beside their names."""
    width = max(map(len, names)) + 2
    quoted = [f'"{name}"'.ljust(width) for name in names]
    machines = ",\n".join(f'  {name} => "{address(number)}"' for number, name in enumerate(quoted))
    return _TEMPLATE.format(
        study=study,
        provider=wanted.site or PROVIDERS[0],
        machines=machines,
        box=json.dumps(wanted.image or IMAGE).replace("#", "\\#"),
        prefix=prefix,
        cpus=wanted.cpus,
        memory=wanted.memory // 2**20,
    )


def render(needs: MachineNeeds) -> dict[str, str]:
    """The Vagrantfile, the inventory of its machines, and what to do with them."""
    wanted = needs.cluster.instances or Instances()
    names = list(needs.machines)
    hosts = "".join(
        f"  {name}: {{address: {address(number)}, roles: [{needs.machines[name]}]}}\n"
        for number, name in enumerate(names)
    )
    return {
        "Vagrantfile": text(names, wanted, needs.study, needs.study),
        "hosts.yaml": f"ssh: {{config: ssh_config}}\nhosts:\n{hosts}",
        "README.md": _README.format(study=needs.study, provider=wanted.site or PROVIDERS[0]),
    }
