"""Machines that are made for a study, and given back when it ends."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from loadstone.model.base import Matches, Model
from loadstone.model.units import Duration, Memory

Price = Annotated[str, Matches(r"\d+(\.\d+)? [A-Za-z]{2,3}", "an amount and its currency, such as 0.38 EUR")]


class Instances(Model):
    """What is requested of a provider of machines. Credentials are never here: each provider's own tool has them."""

    site: Annotated[str | None, Field(examples=["chi-uc"])] = None
    """Where machines are made. ``chameleon``: the name of a cloud in clouds.yaml, by default ``$OS_CLOUD``.
    ``opentofu``: a module, ``openstack`` or ``hcloud``, or the folder of your own. ``vagrant``: ``libvirt`` or
    ``virtualbox``."""
    type: Annotated[str | None, Field(examples=["compute_cascadelake_r"])] = None
    """The kind of machine: a flavour or server type of a cloud, or a node type of bare metal, which is leased."""
    image: Annotated[str | None, Field(examples=["CC-Ubuntu24.04"])] = None
    """What is installed on them; by default Ubuntu 24.04 as the provider names it, with ``vagrant`` Debian 12."""
    network: Annotated[str | None, Field(examples=["sharednet1"])] = None
    """The network that they share, where the site has several."""
    login: Annotated[str | None, Field(examples=["cc"])] = None
    """The user that the image has for SSH, who may use sudo without a password; by default the provider's usual."""
    clients: Annotated[int | None, Field(ge=0, le=100)] = None
    """Machines that generate load, beside managers and workers; by default as many as the study's highest rate needs,
    one at least. With 0 the machine that starts the study does."""
    hold: Duration = 8 * 3600.0
    """How long machines are reserved where the provider leases them. They are given back when the study ends."""
    prepare: bool = True
    """Whether what studies need is installed and set on them, as ``loadstone prepare`` does; false for an image that
    has it, or that is neither Debian nor Ubuntu."""
    clock_bound: Duration = 1e-3
    """How far the clock of each may be from the first one's, once they are prepared."""
    price: Price | None = None
    """What a machine costs in an hour, where the provider does not tell it: for ``plan --cost`` and ``status``."""
    cpus: Annotated[int, Field(ge=1, le=1024)] = 2
    """Processors of each virtual machine of ``vagrant``."""
    memory: Memory = 4 * 2**30
    """Memory of each virtual machine of ``vagrant``."""
