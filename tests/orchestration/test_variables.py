"""Variables that an application file gives a service of stone: they stand in what every orchestrator renders."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone import plugins
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes

TEXT = "it costs ${PRICE} $5"
GIVEN = SERVICES.replace("    needs: [geo]\n", f"    needs: [geo]\n    environment: {{STONE_SECRET: '{TEXT}'}}\n")


@pytest.mark.parametrize("orchestrator", plugins.names("orchestrators"))
def test_a_variable_reaches_its_service_alone(orchestrator: str) -> None:
    kind = plugins.find("orchestrators", orchestrator)
    without = kind(deployed(parse(SERVICES), two_nodes()), Path("/nowhere")).render()
    given = kind(deployed(parse(GIVEN), two_nodes()), Path("/nowhere")).render()
    assert given.keys() == without.keys()
    added = [
        line.strip()
        for name, text in given.items()
        for line in text.splitlines()
        if line not in without[name].splitlines()
    ]
    assert len(added) in (1, 2), "Kubernetes has two lines for each variable"
    assert "STONE_SECRET" in added[0]
    # Each file format has its own way to say that nothing in a text is a variable.
    assert TEXT in added[-1].replace("$$", "$")
