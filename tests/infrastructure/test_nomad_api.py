"""Servers of Nomad and Consul that are down, have no leader, or refuse."""

from __future__ import annotations

import pytest

from loadstone.infrastructure.failover import Refused, Unreachable
from loadstone.infrastructure.software.nomad import api
from tests.infrastructure.answering import Answering, answering

UNREACHABLE = "http://127.0.0.1:1"


def test_a_server_that_is_down_is_passed_over() -> None:
    with answering({"/v1/nodes": (200, [1])}) as server:
        nomad = api.nomad([UNREACHABLE, server.address])
        assert nomad.get("/v1/nodes", prefix="a b") == [1]
        assert nomad.get("/v1/nodes") == [1]
    assert [what for what, _ in server.received] == ["GET /v1/nodes?prefix=a+b", "GET /v1/nodes"]


@pytest.mark.parametrize("trouble", ["No cluster leader", "Not ready to serve consistent reads"])
def test_a_cluster_without_a_leader_is_queried_until_it_has_one(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering({"/v1/jobs": (500, trouble)}) as server:

        def elected(seconds: float) -> None:
            assert len(server.received) < 3
            if len(server.received) == 2:
                server.answers["/v1/jobs"] = (200, {"EvalID": "e"})

        monkeypatch.setattr("time.sleep", elected)
        assert api.nomad([server.address]).post("/v1/jobs", {"Job": {}}) == {"EvalID": "e"}
    assert [what for what, _ in server.received] == ["POST /v1/jobs"] * 3


def test_who_is_silent_is_named_with_the_reason() -> None:
    with answering({"/v1/nodes": (500, "No cluster leader")}) as server, pytest.raises(Unreachable) as raised:
        api.nomad([UNREACHABLE, server.address], retry_s=0).get("/v1/nodes")
    complaint = f"Nomad does not answer: {UNREACHABLE}: Connection refused; {server.address}: No cluster leader"
    assert str(raised.value) == complaint


@pytest.mark.parametrize("address", ["localhost:4646", "http://[::bad", "ftp://localhost"])
def test_what_is_no_address_is_reported(address: str) -> None:
    with pytest.raises(Unreachable, match="Nomad does not answer: "):
        api.nomad([address], retry_s=0).get("/v1/nodes")


@pytest.mark.parametrize(("status", "body"), [(400, "no such\n field"), (500, "1 error occurred: bad count")])
def test_what_is_wrong_for_good_is_reported_at_once(status: int, body: str) -> None:
    with answering({"/v1/jobs": (status, body)}) as server, pytest.raises(Refused) as raised:
        api.nomad([server.address]).post("/v1/jobs", {})
    assert len(server.received) == 1 and raised.value.status == status
    assert str(raised.value) == f"Nomad at {server.address} says {status}: {' '.join(body.split())}"


def test_a_token_is_sent_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(server: Answering) -> str:
        with pytest.raises(Refused) as raised:
            api.consul([server.address]).get("/v1/catalog/nodes")
        return str(raised.value)

    with answering({"/v1/catalog/nodes": (403, "Permission denied")}) as server:
        assert "set CONSUL_HTTP_TOKEN to a token, one that may do this" in refused(server)
        monkeypatch.setenv("CONSUL_HTTP_TOKEN", "hunter2")
        message = refused(server)
    assert "set CONSUL_HTTP_TOKEN to another token" in message and "hunter2" not in message
    assert [headers.get("X-Consul-Token") for _, headers in server.received] == [None, "hunter2"]
    assert all("X-Nomad-Token" not in headers for _, headers in server.received)


def test_no_proxy_stands_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", UNREACHABLE)
    monkeypatch.setenv("http_proxy", UNREACHABLE)
    with answering({"/v1/nodes": (200, [])}) as server:
        assert api.nomad([server.address], retry_s=0).get("/v1/nodes") == []


def test_another_program_that_answers_there_is_reported() -> None:
    with answering({"/v1/nodes": (200, "<html>It works!</html>")}) as server, pytest.raises(Refused) as raised:
        api.nomad([server.address]).get("/v1/nodes")
    assert str(raised.value) == f"what answers at {server.address}/v1/nodes is not Nomad: <html>It works!</html>"
