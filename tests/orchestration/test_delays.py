from __future__ import annotations

from loadstone.model.study import Settings
from loadstone.orchestration.variables import delayed
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes


def test_only_the_services_that_are_named_are_slower() -> None:
    deployment = deployed(parse(SERVICES), two_nodes())
    delays = Settings.model_validate({"delays": {"geo": "1.5ms"}}).delays
    delays_of = {
        replica.service: replica.environment.get("STONE_DELAY") for replica in delayed(deployment, delays).replicas
    }
    assert delays_of["geo"] == "1500000ns"
    assert {delay for service, delay in delays_of.items() if service != "geo"} == {None}
    assert delayed(deployment, None) is deployment


def test_a_delay_is_a_level_with_a_label() -> None:
    settings = Settings.model_validate({"delays": {"geo": "5ms", "frontend": "2ms"}})
    assert str(settings.delays) == "geo:5ms,frontend:2ms"
    assert Settings.model_validate(settings.model_dump(mode="json")) == settings
