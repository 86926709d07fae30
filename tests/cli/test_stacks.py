"""Stacks on the command line: their options, and what those mean for traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.cli.deployment_plan import plan_for
from loadstone.cli.options import chosen_plan
from loadstone.infrastructure.builds import recipes
from loadstone.infrastructure.programs import find, remedy
from loadstone.model.errors import InputError
from loadstone.model.software import AsProcess

STUDY = """\
version: 1
name: mine
application: hotel-reservation
load: {rates: [100], slo: {p99: 200ms}}
"""


def test_an_application_with_jaeger_makes_spans_of_all_requests() -> None:
    plan = chosen_plan(Path("hotel-reservation"), stacks=["prometheus", "jaeger"])
    assert list(plan.study.stacks.given()) == ["prometheus", "jaeger"]
    traces = plan.treatments[0].settings.traces
    assert traces is not None and traces.sample == 1
    assert chosen_plan(Path("hotel-reservation"), stacks=["prometheus"]).treatments[0].settings.traces is None


@pytest.mark.parametrize(
    ("more", "sample"), [("", 1.0), ("traces: {sample: 1%}\n", 0.01), ("traces: off\n", None)], ids=["", "1%", "off"]
)
def test_a_study_says_itself_of_how_many(tmp_path: Path, more: str, sample: float | None) -> None:
    (tmp_path / "study.yaml").write_text(STUDY + more)
    (treatment,) = plan_for(tmp_path / "study.yaml", stacks=["jaeger"]).treatments
    traces = treatment.settings.traces
    assert (traces.sample if traces is not None else None) == sample


def test_unknown_stacks_and_services_of_the_same_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"stacks: unknown key 'grafanna'; did you mean 'grafana'"):
        chosen_plan(Path("hotel-reservation"), stacks=["prometheus", "grafanna"])
    (tmp_path / "compose.yaml").write_text(
        "services:\n  web: {image: 'web:1', ports: ['80:80']}\n  jaeger: {image: 'jaeger:1', ports: ['16686:16686']}\n"
        "x-loadstone:\n  entry: 'web:80'\n  workloads: {get: {operations: {get: {path: /}}}}\n"
    )
    with pytest.raises(InputError, match="the application has a service 'jaeger' of its own; leave the stack out"):
        chosen_plan(tmp_path / "compose.yaml", stacks=["jaeger"], orchestrator="compose")


def test_the_pipeline_needs_an_orchestrator_of_containers_and_no_jaeger() -> None:
    with pytest.raises(
        InputError, match=r"stacks\.elastic: runs from images, which orchestrator 'process' does not run"
    ):
        chosen_plan(Path("hotel-reservation"), stacks=["elastic"])
    plan = chosen_plan(Path("hotel-reservation"), stacks=["elastic"], orchestrator="compose")
    traces = plan.treatments[0].settings.traces
    assert traces is not None and traces.sample == 1
    with pytest.raises(InputError, match="takes the spans as jaeger does"):
        chosen_plan(Path("hotel-reservation"), stacks=["elastic", "jaeger"], orchestrator="compose")


def test_what_was_built_is_found_where_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    jaeger = AsProcess(package="jaeger", program=["jaeger-all-in-one"], build="jaeger", command=["{program}"])
    assert find(jaeger) is None and remedy(jaeger).endswith("-m loadstone.infrastructure.builds jaeger")
    built = recipes.recipe("jaeger").cached
    built.parent.mkdir(parents=True)
    built.touch()
    assert find(jaeger) == str(built)
    installed = tmp_path / "jaeger-all-in-one"
    installed.touch()
    installed.chmod(0o755)
    assert find(jaeger) == str(installed), "what is installed comes first"
    assert remedy(AsProcess(package="nginx", program=["nginx"], command=["{program}"])) == "install nginx"
