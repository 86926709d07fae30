"""Other load generators: their command lines, what is parsed from their output, and what stays empty."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadstone.experiments.verdict import Verdict, judge
from loadstone.model.errors import PreflightError
from loadstone.model.load import Load
from loadstone.model.records.summary import Generator, TrialSummary
from loadstone.model.slo import Slo
from loadstone.model.trial_settings import TrialSettings
from loadstone.model.workload import Workload
from loadstone.workloads.base import DriverError, Offer, TargetUnreachable
from loadstone.workloads.external import ExternalDriver, ToolResult, statistics, summarize
from loadstone.workloads.hey import Hey
from loadstone.workloads.k6 import K6, k6_script
from loadstone.workloads.oha import Oha
from loadstone.workloads.wrk import Wrk
from loadstone.workloads.wrk2 import Wrk2
from tests.workloads.offers import CLOSED, OPEN, closed, offer

RECORDED = Path(__file__).parent / "recorded"
POST = Workload.model_validate({"operations": {"add": {"method": "POST", "path": "/a", "body": 'é"\\\n'}}})
SLO = Slo.model_validate({"p99": "200ms"})
OHA = '{"summary": {}, "latencyPercentiles": null, "statusCodeDistribution": {}, "errorDistribution": {}}'
TOOLS: list[ExternalDriver] = [Wrk(), Wrk2(), K6(), Hey(), Oha()]


def read_recorded(tool: ExternalDriver, file: str, requested: Offer | None = None, seconds: float = 20.0) -> ToolResult:
    return tool.read((RECORDED / file).read_text(), requested or offer(), seconds)


def pairs(command: list[str]) -> list[list[str]]:
    """Each argument with the next one."""
    return [list(two) for two in pairwise(command)]


def test_what_wrk_says() -> None:
    result = read_recorded(Wrk(), "wrk.txt", closed())
    assert (result.loop, result.seconds, result.completed, result.errors, result.timeouts) == (
        "closed",
        2.03,
        19882,
        0,
        0,
    )
    assert result.service == {
        **{"mean": 5.47, "p50": 0.266, "p75": 3.36, "p90": 9.65, "p95": None, "p99": 98.02, "p999": None},
        "max": 130.69,
    }
    assert (result.offered, result.sent, result.unsent, result.in_flight, result.intended) == (None,) * 5


def test_what_wrk_counts_as_errors() -> None:
    result = read_recorded(Wrk(), "wrk-errors.txt", closed())
    assert (result.completed, result.errors, result.timeouts) == (147 - 30 - 15, 13 + 30, 15)
    assert result.answered == 147 - 15
    assert result.kinds == {"read": 13, "status 400 or above": 30}


def test_wrk_has_no_latency_where_every_answer_came_after_the_timeout() -> None:
    output = (RECORDED / "wrk-errors.txt").read_text().replace("timeout 15", "timeout 147")
    result = Wrk().read(output, closed(), 20.0)
    assert (result.completed, result.answered) == (0, 0)
    assert result.service is not None and set(result.service.values()) == {None}
    assert judged("wrk", closed(), result).verdict == "not held"


def test_the_original_wrk2_counts_from_the_intended_time() -> None:
    result = read_recorded(Wrk2(), "wrk2.txt")
    assert result.intended is not None and result.service is None
    assert [result.intended[name] for name in ("p50", "p95", "p99", "p999", "max")] == [1.58, 4.803, 6.39, 11.02, 14.19]
    assert result.spectrum[1] == (50.0, 1.581, None) and len(result.spectrum) == 8
    assert [text for text in result.remarks if "first 10 s" in text]


@pytest.mark.parametrize("text", ["wrk2-fork.txt", "wrk2-fork-current.txt"])
def test_the_fork_of_wrk2_counts_from_the_actual_time(text: str) -> None:
    result = read_recorded(Wrk2(), text)
    assert result.intended is None and result.service is not None
    assert (result.service["p99"], result.spectrum[1]) == (6.39, (50.0, None, 1.581))
    assert (result.completed, result.errors, result.timeouts) == (996, 4, None)
    stalled, actual = result.remarks
    assert "wrk2 counted 3 timeouts: it looks every 2 s" in stalled
    assert actual == "this wrk2 counts latency from the actual send: time that requests waited in it is missing"


def test_wrk2_of_nothing_is_not_zero_milliseconds() -> None:
    result = read_recorded(Wrk2(), "wrk2-idle.txt")
    assert result.answered == result.completed == 0
    assert result.service is not None and result.service["mean"] is None
    summary = summarize("wrk2", offer(), result, Generator())
    assert judge(summary, SLO).reasons == ("wrk2 counted no requests",)


def test_what_hey_says() -> None:
    result = read_recorded(Hey(), "hey.txt")
    assert (result.loop, result.seconds, result.completed, result.sent) == ("closed", 2.0237, 792, 792)
    assert result.service is not None and result.service["p99"] == 15.1 and result.service["p999"] is None
    assert [text for text in result.remarks if "bursts of up to 8" in text]


def test_what_hey_counts_as_errors_and_timeouts() -> None:
    result = read_recorded(Hey(), "hey-errors.txt", closed())
    assert (result.completed, result.errors, result.timeouts, result.sent) == (145, 36, 30, 211)
    nothing = read_recorded(Hey(), "hey-nothing-there.txt", closed())
    assert (nothing.completed, nothing.errors, nothing.answered) == (0, 11173, 0)
    assert nothing.service == statistics()
    assert "connection refused" in next(iter(nothing.kinds))


def test_what_k6_says() -> None:
    result = read_recorded(K6(), "k6.json")
    assert (result.offered, result.sent, result.unsent, result.completed, result.errors) == (401, 395, 6, 395, 0)
    assert result.service is not None and result.intended is None
    assert result.service["p50"] == pytest.approx(0.219212) and result.service["p999"] is not None
    bad = read_recorded(K6(), "k6-errors.json")
    assert (bad.completed, bad.errors, bad.timeouts, bad.sent) == (108, 27, 22, 157)


def test_what_oha_says() -> None:
    result = read_recorded(Oha(), "oha.json")
    assert (result.loop, result.completed, result.sent, result.in_flight) == ("open", 799, 799, 0)
    assert result.service is None and result.intended is not None
    assert result.intended["p99"] == pytest.approx(3.05144) and result.intended["max"] == pytest.approx(4.947656)
    bad = read_recorded(Oha(), "oha-errors.json", closed())
    assert (bad.loop, bad.completed, bad.errors, bad.timeouts, bad.in_flight) == ("closed", 141, 37, 23, 8)
    assert bad.kinds == {"status 500": 35, "connection closed before message completed": 2}
    assert bad.intended is None and bad.service is not None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("output", ["", "Killed", "{}", '{"metrics": 3}', "  12 requests in a while", OHA])
def test_what_is_no_result_is_a_failure_of_the_tool(tool: ExternalDriver, output: str) -> None:
    with pytest.raises(DriverError, match=tool.name):
        tool.read(output, offer(), 20.0)


def test_the_command_lines(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8080/a?b=c"
    header = ["-H", "X-Token: t 1"]
    assert Wrk().command("wrk", closed(), 20.0) == [
        *["wrk", "-c", "8", "-t", "1", "-d", "20s", "--timeout", "2s", "--latency", *header, url]
    ]
    assert Hey().command("hey", offer(), 2.5) == [
        *["hey", "-z", "2.5s", "-c", "8", "-t", "2", "-disable-redirects", "-disable-compression", "-q", "50"],
        *["-m", "GET", *header, url],
    ]
    assert Hey().command("hey", closed(), 2.0)[9:11] == ["-m", "GET"]
    named = Workload.model_validate({"operations": {"a": {"path": "/a", "headers": {"host": "shop.test"}}}})
    assert ["-host", "shop.test"] in pairs(Hey().command("hey", offer(workload=named), 2.5))
    oha = Oha().command("oha", offer(), 2.5)
    assert oha[:6] == ["oha", "--no-tui", "--output-format", "json", "-z", "2.5s"]
    assert oha[12:15] == ["-q", "400", "--latency-correction"] and oha[-1] == url
    (tmp_path / "x.lua").write_text("")
    load = Load.model_validate(
        {"closed": {"clients": [8]}, "script": {"arguments": ["a", "b"], "environment": {"K": "v"}}}
    )
    scripted = closed(workload=tmp_path / "x.lua", load=load)
    assert Wrk().command("wrk", scripted, 1.0)[-6:] == [
        *["-s", str(tmp_path / "x.lua"), "http://127.0.0.1:8080", "--", "a", "b"]
    ]
    assert Wrk().environment(scripted) == {"K": "v"}


@pytest.mark.parametrize(("rate", "written"), [(1e6, "1000000"), (1234567.0, "1234567"), (100000.5, "100000.5")])
def test_no_digit_of_a_rate_is_lost(rate: float, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrk2, "is_fork", lambda self: False)
    assert ["-q", written] in pairs(Oha().command("oha", offer(rate=rate), 2.0))
    assert ["-q", written] in pairs(Hey().command("hey", offer(rate=8 * rate), 2.0))
    if rate == round(rate):
        assert ["-R", written] in pairs(Wrk2().command("wrk2", offer(rate=rate), 2.0))
    else:
        with pytest.raises(DriverError, match=r"wrk2 takes whole requests per second, not 100000\.5"):
            Wrk2().command("wrk2", offer(rate=rate), 2.0)


def test_what_a_tool_would_round_is_refused() -> None:
    load = offer().load.model_copy(update={"timeout": 0.25, "rates": [10.0, 12.5]})
    trial = TrialSettings(duration=10.0)
    assert list(Hey.objections(load, trial)) == [(("load", "timeout"), "hey takes whole seconds, not 0.25s")]
    assert [where for where, _ in Wrk2.objections(load, trial)] == [("load", "timeout"), ("load", "rates", 1)]


def test_wrk_gets_a_script_for_a_body(tmp_path: Path) -> None:
    Wrk().command("wrk", closed(tmp_path, workload=POST), 1.0)
    script = (tmp_path / "request.lua").read_text()
    assert script == 'wrk.method = "POST"\nwrk.body = "\\195\\169\\034\\092\\010"\n'


def test_only_the_fork_spaces_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    poisson = offer(load=offer().load.model_copy(update={"arrival": "poisson"}))
    monkeypatch.setattr(Wrk2, "is_fork", lambda self: True)
    assert Wrk2().command("wrk2", poisson, 20.0)[7:11] == ["-R", "400", "-D", "exp"]
    monkeypatch.setattr(Wrk2, "is_fork", lambda self: False)
    assert "-D" not in Wrk2().command("wrk2", offer(), 20.0)
    with pytest.raises(PreflightError, match="the original wrk2"):
        Wrk2().command("wrk2", poisson, 20.0)


def test_the_script_of_k6_has_the_request_and_the_rate() -> None:
    text = k6_script(offer(rate=12.5), 20.0)
    assert '"rate": 12500' in text and '"timeUnit": "1000s"' in text and '"maxVUs": 8' in text
    assert '"url": "http://127.0.0.1:8080/a?b=c"' in text and '"X-Token": "t 1"' in text
    text = k6_script(closed(), 20.0)
    assert '"executor": "constant-vus"' in text and '"vus": 8' in text and '"think": 0.1' in text


def judged(name: str, requested: Offer, result: ToolResult, slo: Slo | None = SLO, **used: float) -> Verdict:
    return judge(summarize(name, requested, result, Generator(**used)), slo)


def test_what_a_tool_does_not_report_is_a_warning_of_the_verdict() -> None:
    verdict = judged("wrk2", offer(), OPEN)
    assert verdict.verdict == "held"
    assert verdict.warnings == (
        "not reported by wrk2: latency from the intended send time (it is judged by that from the actual one), "
        "how late it sent, how much it left unsent",
    )


@pytest.mark.parametrize(
    ("requested", "result", "slo", "used", "verdict", "reason"),
    [
        (closed(), CLOSED, SLO, {}, "held", ""),
        (closed(), CLOSED, None, {}, "measured", ""),
        (
            closed(),
            replace(CLOSED, service={"p99": 300.0, "max": 400.0}),
            SLO,
            {},
            "not held",
            "P99 is 300.0 ms, above",
        ),
        (closed(), replace(CLOSED, errors=400), SLO, {}, "not held", "95.24% of requests completed"),
        (closed(), CLOSED, SLO, {"cpu_share": 0.97}, "invalid", "saturated"),
        (offer(), replace(OPEN, completed=7000), SLO, {}, "not held", "does not report whether it sent the others"),
        (offer(), replace(OPEN, completed=7000, sent=7100), SLO, {}, "not held", "wrk2 sent 7100 of 8000"),
        (closed(workload=Path("/mine.lua")), CLOSED, SLO, {}, "held", ""),
        (offer(), replace(OPEN, completed=0, answered=0), SLO, {}, "invalid", "counted no request"),
    ],
)
def test_verdicts_on_what_a_tool_reports(
    requested: Offer, result: ToolResult, slo: Slo | None, used: dict[str, float], verdict: str, reason: str
) -> None:
    judgement = judged("wrk2", requested, result, slo, **used)
    assert judgement.verdict == verdict, judgement.reasons
    assert reason in " | ".join(judgement.reasons)


def test_a_tool_that_is_missing_is_found_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for tool in TOOLS:
        (finding,) = tool.preflight()
        assert (finding.level, finding.what) == ("error", tool.name) and finding.remedy
        with pytest.raises(DriverError, match="is not installed"):
            tool.run(offer(), lambda event: None)


def test_a_complaint_in_another_encoding_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrk").write_text("#!/bin/sh\nprintf 'caf\\351 \\377' >&2\nexit 1\n")
    (tmp_path / "wrk").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(DriverError, match="wrk exited with 1: caf\ufffd \ufffd"):
        Wrk().run(closed(tmp_path), lambda event: None)


def test_several_front_ends_are_more_than_one_address() -> None:
    tool = next((tool for tool in TOOLS if tool.program()), None)
    if tool is None:
        pytest.skip("no other load generator is installed")
    with pytest.raises(DriverError, match="loads one address, and the application has 2 front ends"):
        tool.run(offer(targets=("127.0.0.1:1", "127.0.0.1:2")), lambda event: None)


@pytest.mark.servers
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_real_run(tool: ExternalDriver, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if tool.program() is None:
        pytest.skip(f"{tool.name} is not installed: {tool.install}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial").mkdir()
    make = closed if "rates" not in tool.expresses["load"] else offer
    requested = make(Path("trial"), targets=(server,), warmup_s=1.0, duration_s=1.0)
    requested = replace(requested, rate=min(requested.rate, 100.0))
    result: list[dict[str, Any]] = []
    summary = tool.run(requested, result.append)
    completed, everything = summary.counts.completed, summary.operations[0].all
    assert completed > 0 and summary.counts.errors == 0
    assert everything is not None and everything.completed > completed  # the warm-up's too
    assert {line["phase"] for line in result} == {"warmup", "measure", "drain"}
    assert (summary.generator.cpu_s or 0) > 0
    assert TrialSummary.model_validate_json((tmp_path / "trial/summary.json").read_bytes()) == summary
    try:
        counts = tool.run(replace(requested, targets=("127.0.0.1:9",), warmup_s=0.0), lambda line: None).counts
    except TargetUnreachable:
        return
    assert counts.completed == 0 < (counts.errors or 0)
