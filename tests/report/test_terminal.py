"""What the terminal shows of a run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from loadstone.analysis.latency import RateRow
from loadstone.analysis.summary import BreakingPointRow
from loadstone.report import format, terminal
from loadstone.report.console import bold, titled
from loadstone.report.content import gather
from tests.synthetic import Synthetic


def printed(folder: Path, width: int = 120) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(terminal.render(folder))
    return console.export_text()


def test_a_search_shows_breaking_points_and_the_last_trials(searched: Path):
    text = printed(searched)
    content = gather(searched)
    for row in content.rows(BreakingPointRow):
        (line,) = [line for line in text.splitlines() if line.strip().startswith(row.treatment + " ")]
        assert format.interval(row.breaking_point_low, row.breaking_point_high) in line
        assert format.number(row.capacity) in line
    last = text[text.index("Last trials") :]
    trials = content.run.trials
    assert f" {trials[-1].order} " in last
    assert f" {trials[-terminal.LAST_TRIALS].order} " in last
    assert f" {trials[-terminal.LAST_TRIALS - 1].order} " not in last
    assert "! 1 trial is invalid" in text


def test_what_was_confirmed_names_the_error_that_was_tested_for(searched: Path):
    (line,) = [line for line in printed(searched).splitlines() if line.startswith("confirmed by fresh trials")]
    assert line.startswith("confirmed by fresh trials, not 15 % off: scaling=")


def test_eighty_columns_have_room_for_the_names_of_treatments(searched: Path):
    lines = [line.split("  ")[0].strip() for line in printed(searched, width=80).splitlines()]
    assert {row.treatment for row in gather(searched).rows(BreakingPointRow)} <= set(lines)


def test_fixed_rates_show_medians(rated: Path):
    text = printed(rated)
    assert "Breaking points" not in text
    for row in gather(rated).rows(RateRow):
        assert format.latency(row.p99_ms, row.latency_bound_ms) in text
    assert "> 2." in text


def test_a_run_without_trials_and_one_with_odd_names(tmp_path: Path):
    assert "No trial has finished yet." in printed(Synthetic(stop_after=0).write(tmp_path / "a"))
    odd = Synthetic(rates=[200], factor="workload", capacities={"[red]x[/]": 700.0, "plain": 900.0})
    assert "workload=[red]x[/]" in printed(odd.write(tmp_path / "b"))


def test_names_and_reasons_are_whole_in_a_narrow_terminal(tmp_path: Path) -> None:
    long = {f"a-name-that-is-longer-than-its-column-{number}": 150.0 for number in (1, 2)}
    folder = Synthetic(rates=[200], factor="workload", capacities=long).write(tmp_path)
    text = printed(folder, width=80)
    assert "…" not in text
    for row in gather(folder).run.trials:
        start = text.index(f"trial {row.order} not held: ")
        assert " ".join(format.why(row)[0].split()) in " ".join(text[start:].split())
        assert row.treatment[-5:] in text, "folded, not cut"


def test_what_a_comparison_found_is_reported(tmp_path: Path):
    synthetic = Synthetic(
        capacities={"baseline": 1250.0, "vertical": 1250.0},
        slower_ms={"vertical": 0.5},
        rates=[150],
        repetitions=6,
        comparison=True,
    )
    text = " ".join(printed(synthetic.write(tmp_path)).split())
    assert "scaling=vertical against scaling=baseline at 150 req/s: P50 " in text
    assert "A/A at 150 req/s: P50 " in text
    assert "planned trials" not in text, "that the baseline runs twice was planned"


def test_numbers_stand_to_the_right_and_only_text_may_be_wrapped() -> None:
    usual, chosen = titled("a", "what", "req/s"), titled("b", "#", "why", texts=["why"])
    assert [(column.justify, column.no_wrap) for column in usual.columns] == [("left", False), ("right", True)]
    assert [(column.justify, column.no_wrap) for column in chosen.columns] == [("right", True), ("left", False)]
    assert [column.overflow for column in usual.columns] == ["fold", "ellipsis"], "part of a number is another number"
    text = bold("held up to **200**.")
    assert text.plain == "held up to 200." and [(span.start, span.end, span.style) for span in text.spans] == [
        (11, 14, "bold")
    ]
