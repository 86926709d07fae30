"""Which manager of a swarm is queried, and what a swarm that does not answer means for removal; without a swarm."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from docker.errors import APIError

from loadstone.infrastructure import failover
from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.failover import Unable, Unreachable
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.swarm import managers as swarm_managers
from loadstone.orchestration.swarm import removal
from loadstone.orchestration.swarm.managers import Managers

FIRST, SECOND = "unix:///one.sock", "unix:///two.sock"


def api_error(status: int, message: str) -> APIError:
    response = requests.Response()
    response.status_code = status
    return APIError(message, response=response, explanation=message)


class Swarm:
    """Managers by URL: an answer, or an error; those that were queried, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
        self.answers = {FIRST: answers["first"], SECOND: answers["second"]}
        self.queried: list[str] = []
        swarm = self

        class Fake(Engine):
            @property
            def api(self) -> Any:  # type: ignore[override]
                swarm.queried.append(self.url.removeprefix("unix:///"))
                answers = swarm.answers[self.url]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if isinstance(answer, Exception):
                    raise answer
                return answer

        monkeypatch.setattr(swarm_managers, "Engine", Fake)
        monkeypatch.setattr(failover, "_AGAIN_EVERY_S", 0)

    def ask(self) -> Any:
        return Managers((FIRST, SECOND)).ask(lambda api: api)


def test_the_next_manager_is_queried_and_stays_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    swarm = Swarm(monkeypatch, first=[ConnectionRefusedError()], second=["yes"])
    managers = Managers((FIRST, SECOND))
    assert [managers.ask(lambda api: api) for _ in range(3)] == ["yes"] * 3
    assert swarm.queried == ["one.sock", "two.sock", "two.sock", "two.sock"]


def test_a_leader_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    without = api_error(503, "The swarm does not have a leader")
    swarm = Swarm(monkeypatch, first=[ConnectionRefusedError()], second=[without, without, "yes"])
    assert swarm.ask() == "yes"
    monkeypatch.setattr(swarm_managers, "_LEADER_WITHIN_S", -1)
    with pytest.raises(Unable, match=r"Docker at unix:///two\.sock: The swarm does not have a leader"):
        Swarm(monkeypatch, first=[ConnectionRefusedError()], second=[without]).ask()


def test_without_any_answer_there_is_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    swarm = Swarm(monkeypatch, first=[ConnectionRefusedError()], second=[FileNotFoundError()])
    with pytest.raises(Unreachable, match=r"no Docker engine at unix:///one\.sock: nothing listens there"):
        swarm.ask()
    assert swarm.queried == ["one.sock", "two.sock"]


def test_a_refusal_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    swarm = Swarm(monkeypatch, first=[api_error(400, "name must be valid")], second=["yes"])
    with pytest.raises(DeploymentError, match="name must be valid"):
        swarm.ask()
    assert swarm.queried == ["one.sock"]


@pytest.mark.parametrize("ours", [True, False])
def test_what_lies_in_a_dead_swarm_vanishes_with_it_if_it_is_ours(ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    Swarm(monkeypatch, first=[ConnectionRefusedError()], second=[ConnectionRefusedError()])
    access = Access("swarm", addresses=(FIRST, SECOND), cluster="study-cluster" if ours else "")
    if ours:
        removal.remove(access, "loadstone.deployment=x")
    else:
        with pytest.raises(Unreachable):
            removal.remove(access, "loadstone.deployment=x")
