"""loadstone predict on a run that was made by hand."""

from __future__ import annotations

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, Group

from loadstone.analysis import capacity, summary
from loadstone.analysis.capacity.simulation import SimulatedLoad
from loadstone.analysis.capacity.sizing import Case, Validation
from loadstone.analysis.run import open_run
from loadstone.analysis.traces.spans import CLIENT, SERVER
from loadstone.applications import catalogue
from loadstone.cli import predict, predicted
from loadstone.cli.main import run_command
from tests.made_traces import span, write
from tests.synthetic import Synthetic


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search whose front end, with a whole core, is the fullest; its plan has the application."""
    folder = Synthetic(name="found", capacities={"baseline": 1250.0}).write(tmp_path_factory.mktemp("results"))
    plan = json.loads((folder / "plan.json").read_text())
    application = catalogue.load("hotel-reservation").application
    plan["application"] = application.model_dump(mode="json", by_alias=True, exclude_none=True)
    (folder / "plan.json").write_text(json.dumps(plan))
    provenance = json.loads((folder / "provenance.json").read_text())
    for node in provenance["nodes"]:
        node["cpus"] = list(range(64))
    (folder / "provenance.json").write_text(json.dumps(provenance))
    return folder


def prediction(run: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    assert run_command(["predict", str(run), "--json", *options]) == 0
    text: dict = json.loads(capsys.readouterr().out)
    return text


@pytest.mark.slow
def test_twice_the_cpu_and_twice_the_replicas_by_default(run: Path, capsys):
    text = prediction(run, capsys)
    vertical, horizontal = text["predictions"]
    assert (vertical["what"], horizontal["what"]) == ("scaling=vertical", "scaling=horizontal")
    point = text["model"]["breaking_point"]["value"]
    assert point == pytest.approx(1250, rel=0.1)
    for item in (vertical, horizontal):
        assert item["low"] <= item["breaking_point"] <= item["high"]
        assert 1.5 * point < item["breaking_point"] < 2.5 * point
    assert text["registered"] == []


@pytest.mark.slow
def test_what_is_set_is_what_is_predicted(run: Path, capsys):
    least = prediction(run, capsys, "--set", "resources.frontend.cpu=0.5")["predictions"][0]
    assert least["bottleneck"] == "frontend (0.5 cores)"
    many = prediction(run, capsys, "--set", "cluster.workers=4", "--replicas", "all=4")["predictions"][0]
    assert many["what"] == "cluster.workers=4 replicas.all=4"
    assert many["breaking_point"] > 3 * least["breaking_point"]


def test_a_rate_holds_or_breaks(run: Path, capsys):
    rates = prediction(run, capsys, "--set", "scaling=horizontal", "--rate", "100", "--rate", "90000")["at"]["rates"]
    assert [row["verdict"] for row in rates] == ["holds", "breaks"]
    # Where one is full the others get less than what is offered, so nothing is known of them.
    assert [len(row["utilisation"]) for row in rates] == [3, 0]


def test_what_predictions_of_the_run_missed_by_counts_for_the_measured_deployment_too(run: Path, capsys, monkeypatch):
    rate = str(0.91 * prediction(run, capsys)["model"]["breaking_point"]["value"])
    verdicts = []
    for scale in (1.0, 5.0):
        monkeypatch.setattr(capacity, "scale", lambda *_, scale=scale: scale)
        verdicts.append(prediction(run, capsys, "--rate", rate)["at"]["rates"][0]["verdict"])
    assert verdicts == ["holds", "cannot tell"]


@pytest.mark.slow
def test_latencies_are_simulated_with_how_far_they_are_to_be_believed(run: Path, capsys):
    text = prediction(run, capsys, "--set", "scaling=horizontal", "--simulate", "--rate", "200")["simulated"]
    (row,) = text["rates"]
    errors = text["validation"]["errors"]
    assert row["stable"] and set(errors) == set(row["latency_ms"])
    for name, latency in row["latency_ms"].items():
        assert (latency is not None) == (errors[name] is not None and errors[name] <= 0.25), name
    assert text["calls"].startswith("assumed: each service calls all that it needs once")
    assert text["validation"]["cases"] and errors["p99"] is not None


def test_spans_within_the_entry_are_no_requests(run: Path, tmp_path: Path):
    """Each request makes one call of search, in a step of the front end that has a span of its own."""
    traced = shutil.copytree(run, tmp_path / run.name)
    for file in (traced / "trials").glob("*/trial.json"):
        trial = json.loads(file.read_text())
        trial["row"]["traces"] = 10
        file.write_text(json.dumps(trial))
        from_ns = open_run(traced).window_ns(file.parent.name)[0] or 0
        rows = []
        for number in range(1, 11):
            of = {"trace_id": number.to_bytes(16, "big")}
            rows.append(span(1, 0, from_ns, from_ns + 9, "frontend", kind=SERVER, **of))
            rows.append(span(2, 1, from_ns, from_ns + 8, "frontend", **of))
            rows.append(span(3, 2, from_ns, from_ns + 7, "frontend", kind=CLIENT, peer="search", **of))
        write(file.with_name("spans.parquet"), rows)
    (traced / "trials.parquet").unlink()
    opened = open_run(traced)
    calls = predict._calls(opened, summary.treatments(opened)[0], {"frontend", "search"}, False)
    assert calls.source.startswith("from 10 traces") and calls.visits() == {"frontend": 1.0, "search": 1.0}


def test_a_percentile_is_given_only_where_it_was_near_enough_in_measured_trials():
    loads = SimulatedLoad(200.0, 1000, 5.0, True, {"p50": 3.0, "p90": 9.0, "p99": 20.0, "p999": 50.0}, "frontend", 0.7)
    check = Validation(0.0, (), {"p50": 0.1, "p90": None, "p99": 0.25, "p999": 0.3})
    given = predicted.simulated("as measured", "traces", check, [loads])
    assert given.rates[0].latency_ms == {"p50": 3.0, "p90": None, "p99": 20.0, "p999": None}


def test_a_load_breaks_in_the_simulation_only_where_loads_that_held_hold_in_it_too():
    none = dict.fromkeys(("p50", "p90", "p95", "p99", "p999", "mean"))
    full = SimulatedLoad(300.0, 1000, 5.0, False, none, "frontend", 1.0)
    easy = SimulatedLoad(100.0, 1000, 5.0, True, none, "frontend", 0.4)
    held = [Case("t1", 100.0, none, easy), Case("t2", 250.0, none, full)]
    for cases, stable, text in ((held[:1], False, "does not keep up"), (held, None, "cannot tell")):
        check = Validation(0.0, tuple(cases), none)
        given = predicted.simulated("as measured", "traces", check, [easy, full])
        assert [load.stable for load in given.rates] == [True, stable]
        console = Console(width=200, file=StringIO())
        console.print(Group(*predicted._simulated(given)))
        printed = console.file.getvalue()
        assert "keeps up" in printed and text in printed
        assert ("it does not keep up with 1 of these 2 loads, which all held" in printed) == (stable is None)


def test_a_person_reads_the_same_numbers(run: Path, capsys):
    assert run_command(["predict", str(run), "--rate", "100"]) == 0
    text = capsys.readouterr().out
    for part in ("CPU of a request", "Predicted breaking points", "scaling=horizontal", "frontend", "holds"):
        assert part in text


@pytest.mark.slow
def test_a_warning_about_one_of_several_predictions_names_it(run: Path, tmp_path: Path, capsys):
    small = shutil.copytree(run, tmp_path / run.name)
    provenance = json.loads((small / "provenance.json").read_text())
    for node in provenance["nodes"]:
        node["cpus"] = [0]
    (small / "provenance.json").write_text(json.dumps(provenance))
    assert run_command(["predict", str(small)]) == 0
    (refused,) = [line for line in capsys.readouterr().err.splitlines() if "such a study is refused" in line]
    assert refused.startswith("warning: scaling=vertical: such a study is refused, as no node has the cores")


def test_a_setting_that_changes_what_a_request_costs_is_doubted(run: Path, capsys):
    changes = {"delays.search=50ms": True, "scaling=vertical": False, "replicas.search=2": False}
    for setting, doubted in changes.items():
        (found,) = prediction(run, capsys, "--set", setting)["predictions"]
        assert any(text.startswith(f"--set {setting}: only what it changes") for text in found["warnings"]) == doubted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "scaling=sideways"], "sideways"),
        (["--replicas", "frontent=2"], "did you mean 'frontend'"),
        (["--replicas", "frontend"], "give a service and a number"),
        (["--from", "nothing"], "--from 'nothing' names no treatments"),
        (["--rate", "inf"], "less than or equal to"),
    ],
)
def test_mistakes_are_named(run: Path, capsys, options: list[str], message: str):
    assert run_command(["predict", str(run), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_run_that_says_nothing_says_so(tmp_path: Path, capsys):
    bare = Synthetic(name="bare").write(tmp_path)
    for file in (bare / "trials").glob("*/usage.json"):
        file.unlink()
    assert run_command(["predict", str(bare)]) == 2
    assert "no prediction" in capsys.readouterr().err
