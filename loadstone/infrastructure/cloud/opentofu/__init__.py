"""Machines of any cloud that OpenTofu has a provider for, by a module with one interface."""

from __future__ import annotations

from loadstone.infrastructure.cloud import MadeMachines
from loadstone.infrastructure.cloud.opentofu.service import Module


class OpenTofu(MadeMachines):
    """``instances.site`` names the module, or the folder of one."""

    name = "opentofu"
    service = Module
    needs = ("site", "type")
