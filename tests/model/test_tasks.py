from __future__ import annotations

import pytest

from loadstone.model.study import Settings
from loadstone.model.tasks import Tasks
from loadstone.model.units import file_size, format_file_size

OF_ORDER = Tasks(large_file=2_400_000, sync=False, small_file=140, small_rounds=10, keep=True)


def settings(**tasks: object) -> Settings:
    return Settings.model_validate({"tasks": tasks})


def test_a_study_gives_what_differs() -> None:
    given = settings(order={"large_file": "5MB", "keep": False}).tasks
    assert given is not None
    assert given["order"].over(OF_ORDER).variables() == {
        "STONE_TASK_LARGE_FILE": "5000000",
        "STONE_TASK_SYNC": "false",
        "STONE_TASK_SMALL_FILE": "140",
        "STONE_TASK_SMALL_ROUNDS": "10",
        "STONE_TASK_KEEP": "false",
    }


def test_levels_have_labels_and_come_back_from_a_plan() -> None:
    item = settings(payment={"linpack": 0, "sleep": "50us"}, order={"large_file": "2.4MB", "sync": True})
    assert str(item.tasks) == "payment:linpack=0,sleep=0.05ms order:large_file=2.4MB,sync=true"
    written = item.model_dump(mode="json")
    assert Settings.model_validate(written).model_dump(mode="json") == written
    assert Settings.model_validate({"tasks": "off"}).tasks is None


def test_zero_is_a_parameter_and_nothing_is_not() -> None:
    assert Tasks(linpack=0, sleep=0.0).variables() == {"STONE_TASK_LINPACK": "0", "STONE_TASK_SLEEP": "0ns"}
    assert Tasks().variables() == {}


@pytest.mark.parametrize("wrong", [{"linpack": -1}, {"linpack": 10_001}, {"sleep": "61s"}, {"small_rounds": 0}])
def test_what_no_service_would_do_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"less than|greater than"):
        Tasks.model_validate(wrong)


@pytest.mark.parametrize(("text", "size"), [("140B", 140), ("2.4MB", 2_400_000), ("5MB", 5_000_000), ("1.5kB", 1500)])
def test_sizes_of_files(text: str, size: int) -> None:
    assert file_size(text) == size
    assert format_file_size(size) == text


@pytest.mark.parametrize("wrong", ["0B", "2GiB", "140", "5 bytes"])
def test_sizes_that_no_file_has(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        file_size(wrong)
