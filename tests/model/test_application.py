"""Applications: the graph of services and what contradicts itself in it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.application import Application, Resources
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from tests.model.wrong_files import Case, cases, table

TABLE = cases(table("wrong-applications.txt"))


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_application_is_answered_with_exactly_these_messages(case: Case) -> None:
    with pytest.raises(InputError) as caught:
        Document(case.text, "application.yaml").parse(Application)
    assert str(caught.value).splitlines() == case.messages
    assert caught.value.exit_code == 2


def application(needs: dict[str, list[str]]) -> Application:
    """An application whose services need each other so; the first is its entry."""
    services: dict[str, Any] = {
        name: {"tier": "logic", "runs": {"stone": f"x/{name}"}, "ports": {"grpc": 8000}, "needs": needed}
        for name, needed in needs.items()
    }
    data = {
        "name": "x",
        "entry": {"service": next(iter(needs)), "port": "grpc"},
        "services": services,
        "workloads": {"mixed": {"operations": {"get": {"path": "/"}}}},
        "default_workload": "mixed",
    }
    return Document(yaml.safe_dump(data, sort_keys=False), "application.yaml").parse(Application)


NAMES = [f"s{number}" for number in range(8)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=16, unique=True))
def test_services_start_after_what_they_need_or_the_circle_is_refused(edges: list[tuple[str, str]]) -> None:
    needs = {name: [to for source, to in edges if source == name] for name in NAMES}
    try:
        order = application(needs).start_order()
    except InputError as error:
        named = str(error).split("in a circle: ")[1].split(" -> ")
        assert named[0] == named[-1]
        assert all(pair in edges for pair in itertools.pairwise(named))
        return
    assert sorted(order) == NAMES
    assert all(order.index(to) < order.index(source) for source, to in edges)


def test_limits_multiply_and_unlimited_stays_unlimited() -> None:
    assert Resources(cpu=0.5, memory=2**28).times(2) == Resources(cpu=1.0, memory=2**29)
    assert Resources().times(2) == Resources()
