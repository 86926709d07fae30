"""``loadstone load`` as a user meets it: what it refuses and why, what it prints, how it ends."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone.cli import load, load_request
from loadstone.cli.load_request import workload
from loadstone.cli.main import run_command
from loadstone.model.errors import InputError, Interrupted
from loadstone.model.records.summary import TrialSummary
from loadstone.model.workload import Workload
from loadstone.workloads.base import DriverError, Offer, Progress, TargetUnreachable
from tests.experiments.fakes import SEEDED
from tests.support.servers import Answer
from tests.support.summaries import changed, summary

URL = "http://127.0.0.1:8080/a?b=c"
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_command(["load", *arguments])
        text = capsys.readouterr()
        assert "Traceback" not in text.err + text.out
        return code, text.out, text.err

    return run


REFUSED = [
    ([URL], "no load: give --rate R (requests per second) or --closed N (clients)"),
    ([URL, "--rate", "5", "--closed", "5"], "--rate, --closed and a trace with its own speed exclude each other"),
    (["http://127.0.0.1:8080/a b", "--rate", "5"], "'http://127.0.0.1:8080/a b' has a space in it; write %20 for one"),
    (["frob", "--rate", "5"], "'frob' is no URL (http://...), no script (....lua) and no application; known: doc"),
    (["localhost:80", "--rate", "5"], "'localhost:80' has no scheme; write http://localhost:80"),
    (["hotel-reservation", "--rate", "5"], "hotel-reservation has no target: give it, for example http://"),
    (["hotel-reservation/mixd", URL, "--rate", "5"], "has no workload 'mixd'; did you mean 'mixed'?"),
    (["gone.lua", URL, "--rate", "5"], "gone.lua: no such script"),
    (["a" * 300 + ".lua", URL, "--rate", "5"], "a.lua: no such script"),
    ([URL, "--rate", "5", "--", "extra"], "'extra': only a script takes arguments"),
    ([URL, "--rate", "5", "--arrival", ""], "--arrival '': has no value; leave it out, or give one"),
    ([URL, "--rate", "5", "--member", ""], "--member '': is empty; give a command, for example `ssh HOST"),
    ([URL, "--rate", "5", "--out", "a" * 300], "a/summary.json: File name too long\n  choose another place"),
    ([URL, "--rate", "-5"], "--rate: -5 is too small; it must be more than 0"),
    ([URL, "--rate", "5", "--duration", "10"], "--duration: '10' has no unit; use us, ms, s, m, h"),
    ([URL, "--rate", "5", "--warmup", "soon"], "--warmup: 'soon' is not a duration"),
    ([URL, "--rate", "5", "--slo", "p99"], "--slo 'p99': write a percentile and its limit, for example p99=200ms"),
    ([URL, "--rate", "5", "--slo", "p99=200"], "--slo p99: '200' has no unit"),
    ([URL, "--rate", "5", "--slo", "p99=9s"], "--slo p99: 9s is not below --timeout, 5s; raise the timeout"),
    ([URL, "--closed", "5", "--connections", "4"], "--connections: does not go with 'closed'"),
    ([URL, "--closed", "5", "--arrival", "constant"], "--arrival cannot be combined with --closed"),
    ([URL, "--closed", "5", "--think", "x"], "--think: 'x' is not a duration"),
    ([URL, "--rate", "5", "--think", "1s"], "--think is for --closed"),
    ([URL, "--rate", "5", "--protocol", "http/3"], "--protocol: 'http/3' is not known here; use 'http/1.1'"),
    ([URL, "--rate", "5", "--threads", "8", "--connections", "4"], "--threads: 8 is more than connections, 4"),
    ([URL, "--rate", "5", "--arrival", "posson"], "--arrival: 'posson' is no arrival process; did you mean 'poisson'?"),
    ([URL, "--rate", "5", "--arrival", "{process: on-off, on: 1s}"], "--arrival off: is missing"),
    ([URL, "--rate", "5", "--arrival", "{process"], "--arrival '{process': not valid YAML"),
    (
        [URL, "--rate", "5", "--arrival", "{process: replay, file: no.csv}"],
        "--arrival file: no.csv: there is no such file",
    ),
    (
        [URL, "--rate", "5", "--arrival", "{process: poisson, shape: [{for: 3s, rate: 1}]}"],
        "--arrival shape: its phases last 3s together, and --duration is 10s; make them equal",
    ),
    ([URL, "--rate", "5", "--header", "X"], "--header 'X': write it like 'Name: value'"),
    ([URL, "--rate", "5", "--header", "a b: c"], "--header a b: 'a b' cannot be used"),
    ([URL, "--rate", "5", "--method", "FETCH"], "--method: 'FETCH' is not known here; use 'GET'"),
    ([URL, "--rate", "5", "--body", "@nope"], "--body @nope: cannot be read"),
    ([URL, "--rate", "5", "--insecure"], "--insecure is for https://, and the target is http://"),
    (["https://h/", "--rate", "5", "--ca", "nope.pem"], "--ca: nope.pem: there is no such file"),
    ([URL, "--rate", "5", "--descriptors", "x"], "--descriptors: http/1.1 needs none; write protocol: grpc"),
    ([URL, "--rate", "5", "--member", "ssh 'x"], "--member: not a command line: No closing quotation"),
    ([URL, "--rate", "5", "--json", "--wrk2"], "--json and --wrk2 exclude each other"),
    ([URL, "--rate", "5", "--requests"], "--requests needs --out"),
    (["hotel-reservation", URL, "--rate", "5", "--method", "GET"], "--method: only for a URL"),
    ([URL, "--rate", "5", "--dataset", "small"], "--dataset small: only for an application's workload"),
    (["hotel-reservation", URL, "--dataset", "small"], "hotel-reservation has no such dataset; known: none"),
    (["hotel-reservation", URL, "--rate", "5"], "have paths of their own; give http://127.0.0.1:8080 alone"),
    ([URL, "--target", "http://h/", "--rate", "5"], "--target http://h/: http://127.0.0.1:8080/a?b=c is the target"),
    ([URL, "--rate", "5", "--slo", "p99=1us", "--slo", "p99=2s"], "--slo p99: is given twice; keep one limit"),
    ([URL, "--rate", "5", "--header", "Cookie: a=1", "--header", "cookie: b=2"], "--header 'cookie' is given twice"),
    ([URL, "--rate", "5", "--wrk2-layout", "current"], "--wrk2-layout is for the text of --wrk2, and for that in"),
    ([URL, "--rate", "5", "--member", "x", "--metrics", "h:1"], "--metrics is for a generator on this machine"),
    ([URL, "--closed", "5", "--count", "9", "--duration", "3s"], "--count and --duration exclude each other"),
    (["hotel-reservation", "http://u@h/", "--rate", "5"], "send credentials in the header Authorization"),
    (["hotel-reservation", "ftp://h/", "--rate", "5"], "'ftp://h/' is not an address; write it like http://"),
    (["hotel-reservation", "http://h:99999/", "--rate", "5"], "'http://h:99999/' is not an address"),
]


@pytest.mark.parametrize(("arguments", "expected"), REFUSED, ids=lambda value: " ".join(value) if value else "")
def test_what_is_wrong_is_reported_as_the_option_it_is(say: Say, arguments: list[str], expected: str) -> None:
    code, result, complaint = say(*arguments)
    assert (code, result) == (2, "")
    assert expected in complaint


class FakeStone:
    """A generator that answers at once with a summary, or fails."""

    name = "stone"
    answer: Any = None
    offers: list[Offer] = []

    def version(self) -> str:
        return "fake"

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        type(self).offers.append(offer)
        progress(LINE)
        if isinstance(self.answer, BaseException):
            raise self.answer
        (offer.folder / "wrk2.txt").write_text("Running 10s test\n")
        return TrialSummary.model_validate(self.answer)


LINE = {"t": 1.0, "of": 11.0, "phase": "measure", "offered": 1000, "sent": 1000, "completed": 990, "errors": 1}
LINE |= {"p50_ms": 1.5, "p99_ms": 9.0, "lateness_p99_ms": 0.2, "in_flight": 9, "cpu_share": 0.1}
REPORTED = {
    "throughput": 999.0,
    "operations": [],
    "errors": [{"kind": "expected status 200, got 500", "operation": "/a", "count": 3, "example": ""}],
    "generator__cpu_us_per_request": 21.3,
    "generator__wait": "tick",
    "generator__own_lateness_p99_ms": 0.2,
    "latency_ms__lateness": dict(summary()["latency_ms"]["service"], p99=0.2),
}


@pytest.fixture
def stone(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeStone]]:
    monkeypatch.setattr(load, "Stone", FakeStone)
    FakeStone.offers = []
    yield FakeStone
    FakeStone.answer = None


def test_options_become_an_offer(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED)
    options = ["--duration", "3s", "--warmup", "0", "--connections", "8", "--seed", "7", "--metrics", "127.0.0.1:9100"]
    request = ["--header", "X-A: b: c", "--body", '{"a": 1}']
    code, _, _ = say("http://[::1]:8080/x/y?z=1", "--rate", "200", "--arrival", "constant", *options, *request)
    (offer,) = stone.offers
    assert code == 0
    assert (offer.targets, offer.rate, offer.clients, offer.seed) == (("[::1]:8080",), 200.0, None, 7)
    assert (offer.warmup_s, offer.duration_s, offer.load.connections, offer.metrics) == (0, 3, 8, "127.0.0.1:9100")
    assert isinstance(offer.workload, Workload)
    (operation,) = offer.workload.operations.items()
    assert operation[0] == "/x/y"
    assert operation[1].plan() == {
        "method": "POST",
        "path": "/x/y?z=1",
        "headers": {"X-A": "b: c"},
        "body": '{"a": 1}',
    }


def test_a_request_is_sent_as_it_is_given(say: Say, stone: type[FakeStone], tmp_path: Path) -> None:
    stone.answer = changed(**REPORTED)
    (tmp_path / "lines").write_bytes(b"a\r\nb\n")
    assert say(URL, "--rate", "5", "--body", "@lines")[0] == 0
    query = '{"query": "{me{name}}"}'
    assert say("http://h/users/{id}", "--rate", "5", "--body", query, "--header", "X: {a}")[0] == 0
    assert say(URL, "--rate", "5", "--body", "")[0] == 0
    lines, braced, empty = (next(iter(offer.workload.operations.values())) for offer in stone.offers)
    assert lines.body == "a\r\nb\n"
    assert (empty.method, empty.body) == ("POST", "")
    assert braced.fields["brace"].values == ["{"]
    sent = [text.replace("{brace}", "{") for text in (braced.path, braced.body, braced.headers["X"])]
    assert sent == ["/users/{id}", query, "{a}"]


def test_a_script_gets_its_arguments_and_the_path_of_its_target(
    say: Say, stone: type[FakeStone], tmp_path: Path
) -> None:
    stone.answer = changed(**REPORTED)
    (tmp_path / "x.lua").write_text("")
    assert say("x.lua", "https://h/api/?b=c", "--insecure", "--closed", "4", "--think", "10ms", "--", "a", "-b")[0] == 0
    (offer,) = stone.offers
    assert (offer.workload, offer.script_path, offer.clients, offer.rate) == (tmp_path / "x.lua", "/api/?b=c", 4, 0.0)
    assert offer.load.script is not None and offer.load.script.arguments == ["a", "-b"]
    assert offer.load.tls is not None and offer.load.tls.insecure and offer.targets == ("h:443",)
    assert offer.load.closed is not None and offer.load.closed.think == 0.01


def test_an_applications_workload(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED)
    assert say("hotel-reservation/login", "--target", "http://127.0.0.1:8080/", "--rate", "5")[0] == 0
    assert isinstance(stone.offers[0].workload, Workload)
    assert list(stone.offers[0].workload.operations) == ["login"]
    mixed = workload("hotel-reservation", {})
    assert isinstance(mixed, Workload) and "hotels" in mixed.operations
    with pytest.raises(InputError, match="cannot be read"):
        workload("my/application.yaml/login", {})


def test_an_applications_workload_is_for_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def users(dataset: str | None) -> int:
        chosen = workload(str(tmp_path / "application.yaml"), {}, dataset)
        assert isinstance(chosen, Workload)
        return int(chosen.operations["get"].fields["user"].model_dump()["max"]) + 1

    (tmp_path / "stone").write_text("#!/bin/sh\necho '{\"users\": 7}'\n")
    (tmp_path / "stone").chmod(0o755)
    monkeypatch.setattr(load_request, "stone_binary", lambda: tmp_path / "stone")
    (tmp_path / "application.yaml").write_text(SEEDED)
    (tmp_path / "mine.mtx").write_text("1 2\n")
    assert [users(dataset) for dataset in (None, "large", str(tmp_path / "mine.mtx"))] == [962, 81306, 7]
    with pytest.raises(InputError, match=r"--dataset smal: tiny has no such dataset; did you mean 'small'\?"):
        users("smal")
    with pytest.raises(InputError, match=r"--dataset no.mtx: there is no such file"):
        users("no.mtx")


def test_what_is_printed(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED, latency_ms__intended__answered=9992)
    code, result, progress = say(URL, "--rate", "1000", "--slo", "p99=200ms", "--warmup", "1s")
    assert code == 0
    lines = [" ".join(line.split()) for line in result.splitlines()]
    assert lines[0] == f"{URL}: 1,000 req/s (poisson), 1s of warm-up, then 10s"
    assert "offered 10,000 1,000" in lines
    assert "completed 9,990 999 99.9 %" in lines
    assert "timeouts 5 0.0500 %" in lines
    assert "ms mean P50 P90 P99 P99.9 max" in lines
    assert "latency 20 15 40 110 180 > 260" in lines
    assert "expected status 200, got 500 3" in lines
    assert lines[-1] == "● held"
    assert "0:01 of 0:11 measuring 990/s completed 9 in flight P50 1.50 ms P99 9 ms" in " ".join(progress.split())


def test_load_workers_are_printed_with_their_clocks(say: Say, stone: type[FakeStone]) -> None:
    clocks = [
        {"number": 0, "clock_offset_us": -40.0, "clock_error_us": 8.0},
        {"number": 1, "clock_offset_us": 12.0, "clock_error_us": 9.0},
    ]
    stone.answer = changed(**REPORTED, generator__workers=clocks)
    code, result, _ = say(URL, "--rate", "1000", "--member", "ssh 'my host' stone", "--member", "stone")
    assert code == 0 and "2 load workers, clocks within 0.0480 ms" in result
    assert stone.offers[0].load.workers == 2
    clocks[1]["clock_error_us"] = None
    stone.answer = changed(**REPORTED, generator__workers=clocks)
    _, result, _ = say(URL, "--rate", "1000", "--member", "ssh 'my host' stone", "--member", "stone")
    assert "2 load workers, clocks not compared" in result
    commands = [(each.name, each.command) for each in stone.offers[0].members]
    assert commands == [("member-1", ("ssh", "my host", "stone")), ("member-2", ("stone",))]


def test_a_closed_loop_says_so_wherever_latencies_stand(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED, loop="closed", planned=0)
    code, result, progress = say(URL, "--closed", "20")
    assert code == 0
    assert "20 clients in a closed loop" in result and "ms, closed loop" in result
    assert "offered" not in result
    assert "P99 9 ms (closed loop)" in progress


def test_a_count_that_is_not_reached_names_what_can_be_done_here(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED, loop="closed", planned=20_000)
    code, _, complaint = say(URL, "--closed", "20", "--count", "1000")
    assert code == 4
    assert "had sent 10,000 of 20,000 requests within an hour; give fewer requests" in complaint


@pytest.mark.parametrize(
    ("changes", "code", "expected"),
    [
        ({}, 0, ""),
        ({"violations": 500}, 5, "error: the SLO P99 <= 200ms, 99 % completed was not held"),
        ({"generator__cpu_share": 0.97}, 4, "error: the measurement is invalid: the load generator was saturated"),
    ],
)
def test_how_it_ends(say: Say, stone: type[FakeStone], changes: dict[str, Any], code: int, expected: str) -> None:
    stone.answer = changed(**REPORTED, **changes)
    ended, result, complaint = say(URL, "--rate", "1000", "--slo", "p99=200ms")
    assert ended == code and expected in complaint
    assert "offered" in result, "the result is shown whatever it says"
    if code == 4:
        assert result.startswith("! the load generator was saturated")


class Broken(Answer):
    """Answers nothing but 500."""

    def do_GET(self) -> None:
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.mark.parametrize(
    ("slo", "code", "expected"),
    [
        (["--slo", "p99=4s"], 5, "the SLO P99 <= 4s, 99 % completed was not held: no request completed"),
        ([], 4, "the measurement is invalid: no request completed (40 errors): there is nothing to measure"),
    ],
)
def test_nothing_completes(say: Say, slo: list[str], code: int, expected: str) -> None:
    options = ["--rate", "40", "--arrival", "constant", "--duration", "1s", "--warmup", "0", *slo]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as broken:
        threading.Thread(target=broken.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{broken.server_address[1]}/"
        ended, result, complaint = say(url, *options)
        in_json = json.loads(say(url, *options, "--json")[1])
        broken.shutdown()
    assert ended == code and expected in complaint
    latency = next(line for line in result.splitlines() if line.startswith("latency"))
    assert set(latency.split()[1:]) == {"–"}
    assert in_json["latency_ms"]["intended"] is None and in_json["latency_ms"]["service"] is None
    assert in_json["operations"][0]["latency_ms"]["intended"] is None and in_json["spectrum"] == []


@pytest.mark.parametrize(
    ("failure", "code", "expected"),
    [
        (TargetUnreachable("target not reachable: 127.0.0.1:8080"), 3, "error: target not reachable: 127.0.0.1:8080"),
        (TargetUnreachable("give its certificate as tls.ca"), 3, "error: give its certificate as --ca"),
        (DriverError("stone load exited with 1: oh"), 1, "error: stone load exited with 1: oh"),
        (InputError("x.lua:3: unexpected symbol"), 2, "error: x.lua:3: unexpected symbol"),
        (Interrupted("by a test"), 130, "interrupted: the measurement is incomplete"),
    ],
)
def test_how_it_fails(say: Say, stone: type[FakeStone], failure: BaseException, code: int, expected: str) -> None:
    stone.answer = failure
    ended, result, complaint = say(URL, "--rate", "1000")
    assert (ended, result) == (code, "")
    assert complaint.splitlines()[-1].startswith(expected)


def test_machine_readable_forms_stand_alone_on_standard_output(say: Say, stone: type[FakeStone]) -> None:
    stone.answer = changed(**REPORTED, violations=500)
    code, result, _ = say(URL, "--rate", "1000", "--slo", "p99=200ms", "--json")
    assert code == 5
    assert json.loads(result)["verdict"]["verdict"] == "not held"
    assert json.loads(result)["counts"]["offered"] == 10_000
    assert say(URL, "--rate", "1000", "--wrk2")[1] == "Running 10s test\n"


def test_results_are_kept_in_the_given_folder_and_not_overwritten(
    say: Say, stone: type[FakeStone], tmp_path: Path
) -> None:
    stone.answer = changed(**REPORTED)
    assert say(URL, "--rate", "1000", "--out", "kept")[0] == 0
    assert stone.offers[0].folder == tmp_path / "kept" and (tmp_path / "kept/wrk2.txt").exists()
    (tmp_path / "kept/summary.json").write_text("{}")
    code, _, complaint = say(URL, "--rate", "1000", "--out", "kept")
    assert code == 2 and "contains the results of another load" in complaint
    assert say(URL, "--rate", "1000")[0] == 0
    assert not stone.offers[-1].folder.exists()


def test_a_real_load(say: Say, server: str) -> None:
    code, reported, complaint = say(
        f"http://{server}/",
        "--rate",
        "40",
        "--duration",
        "1s",
        "--warmup",
        "0",
        "--out",
        "kept",
        "--requests",
        "--json",
    )
    assert code in (0, 4), complaint  # a machine that is busy makes it invalid
    result = json.loads(reported)
    assert result["counts"]["offered"] == result["counts"]["completed"] > 0
    assert pq.read_table("kept/requests.parquet").num_rows == result["counts"]["offered"]


def test_what_a_script_prints_is_shown_whatever_bytes_it_is(say: Say, server: str, tmp_path: Path) -> None:
    done = "function done(s) io.write('I saw ' .. (s.requests > 0 and 'some' or 'none') .. '\\n\\255') end"
    (tmp_path / "x.lua").write_text(f"wrk.headers['X-A'] = 'b'\n{done}\n")
    code, result, _ = say("x.lua", f"http://{server}", "--rate", "40", "--duration", "1s", "--warmup", "0")
    assert code in (0, 4) and "I saw some\n" in result and "x.lua at http://" in result


def test_an_unreachable_target(say: Say) -> None:
    code, _, complaint = say("http://127.0.0.1:9/", "--rate", "5", "--duration", "1s")
    assert code == 3 and "127.0.0.1:9" in complaint and "is the application running?" in complaint
