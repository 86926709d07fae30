"""What is watched: services on two nodes, as processes."""

from __future__ import annotations

import pytest

from loadstone.model.deployment import Deployment
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes


@pytest.fixture
def deployment() -> Deployment:
    """Services on two nodes."""
    return deployed(parse(SERVICES), two_nodes())
