"""The request of an experiment (RSpec version 3): machines of bare metal in one network of their own."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from loadstone.infrastructure.machine_files import MachineNeeds

_IMAGE = "urn:publicid:IDN+emulab.net+image+emulab-ops//UBUNTU24-64-STD"
_README = """\
# Machines of CloudLab for {study}

1. On CloudLab, *Experiments > Create Experiment Profile*: upload `request.rspec`, then instantiate it.
2. Once it is ready, save its *Manifest* as `manifest.xml`.
3. In the study: `cluster: {{infrastructure: cloudlab, inventory: manifest.xml}}`.
4. `loadstone run STUDY`. When you are done, terminate the experiment there.

Machines are new each time, with host keys that your ssh does not know. In `~/.ssh/config`:

    Host *.cloudlab.us *.emulab.net
      StrictHostKeyChecking accept-new
"""


def render(needs: MachineNeeds) -> dict[str, str]:
    """The request, and what to do with it."""
    wanted = needs.cluster.instances
    image = (wanted.image if wanted is not None else None) or _IMAGE
    hardware = wanted.type if wanted is not None else None
    nodes = [
        _node(name, f"10.10.{number // 250}.{number % 250 + 1}", image, hardware)
        for number, name in enumerate(needs.machines)
    ]
    ends = "".join(f"    <interface_ref client_id={quoteattr(f'{name}:if1')}/>\n" for name in needs.machines)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rspec xmlns="http://www.geni.net/resources/rspec/3"\n'
        '       xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"\n'
        '       xsi:schemaLocation="http://www.geni.net/resources/rspec/3'
        ' http://www.geni.net/resources/rspec/3/request.xsd"\n'
        '       type="request">\n'
        f"{''.join(nodes)}"
        f'  <link client_id="lan">\n{ends}    <link_type name="lan"/>\n  </link>\n</rspec>\n'
    )
    return {"request.rspec": text, "README.md": _README.format(study=needs.study)}


def _node(name: str, address: str, image: str, hardware: str | None) -> str:
    kind = f"    <hardware_type name={quoteattr(hardware)}/>\n" if hardware else ""
    return (
        f'  <node client_id={quoteattr(name)} exclusive="true">\n'
        f'    <sliver_type name="raw-pc">\n      <disk_image name={quoteattr(image)}/>\n    </sliver_type>\n'
        f"{kind}"
        f"    <interface client_id={quoteattr(f'{name}:if1')}>\n"
        f'      <ip address="{address}" netmask="255.255.0.0" type="ipv4"/>\n'
        f"    </interface>\n"
        f"  </node>\n"
    )
