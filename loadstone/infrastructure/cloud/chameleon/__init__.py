"""Chameleon, and OpenStack in general, by its official client."""

from __future__ import annotations

from loadstone.infrastructure.cloud import MadeMachines
from loadstone.infrastructure.cloud.chameleon.service import OpenStack


class Chameleon(MadeMachines):
    """Bare metal of a lease, or virtual machines of a flavour."""

    name = "chameleon"
    service = OpenStack
    needs = ("type",)
