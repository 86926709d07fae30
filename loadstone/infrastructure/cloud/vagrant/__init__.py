"""Virtual machines of Vagrant: on this machine by libvirt or VirtualBox."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.infrastructure.cloud import MadeMachines
from loadstone.infrastructure.cloud.vagrant import vagrantfile
from loadstone.infrastructure.cloud.vagrant.service import VagrantMachines
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.base import did_you_mean
from loadstone.model.cluster import Cluster


class Vagrant(MadeMachines):
    """Its machines share this machine's cores, as emulated hosts do."""

    name = "vagrant"
    service = VagrantMachines
    emulated = True

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        site = cluster.instances.site if cluster.instances is not None else None
        if site is not None and site not in vagrantfile.PROVIDERS:
            text = f"vagrant makes no machines by {site!r} here{did_you_mean(site, list(vagrantfile.PROVIDERS))}"
            yield ("instances", "site"), text
