"""Quantities: what users write, what the code gets, and that one can be had back from the other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from loadstone.model import units

IN_A_FILE = {"file": "study.yaml"}


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("200ms", 0.2), ("1.5s", 1.5), (".5s", 0.5), ("2m", 120), ("1h", 3600), ("50us", 5e-5), (" 3 s ", 3)],
)
def test_durations(written: str, seconds: float) -> None:
    assert units.seconds(written) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("200", "has no unit; use us, ms, s, m, h"),
        (200, "has no unit"),
        ("200 msec", "unknown unit 'msec'"),
        ("1.s", "is not a duration"),
        ("1e3ms", "is not a duration"),
        ("-1s", "is not a duration"),
        ("", "is not a duration"),
        ("ms", "is not a duration"),
        (True, "expected a duration, not"),
        (None, "expected a duration, not"),
        ("721h", "out of range; use 0s to 720h"),
        ("9" * 400 + "s", "out of range"),
    ],
)
def test_what_is_no_duration(written: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        units.seconds(written)


def test_shares() -> None:
    assert units.share("99%") == pytest.approx(0.99)
    assert units.share("0.5 %") == pytest.approx(0.005)
    for written, text in [
        ("100.1%", "out of range; use 0% to 100%"),
        ("0.99", "no unit"),
        (1, "no unit"),
        ("most", "percentage"),
    ]:
        with pytest.raises(ValueError, match=text):
            units.share(written)


def test_memory() -> None:
    assert units.memory("512MiB") == 512 * 2**20
    assert units.memory("1GB") == 10**9
    assert units.memory("1.5GiB") == 3 * 2**29
    for written, text in [
        ("512", "no unit"),
        ("1KiB", "out of range; use 1MiB to"),
        ("2000000GiB", "out of range"),
        ("1mb", "'mb'"),
    ]:
        with pytest.raises(ValueError, match=text):
            units.memory(written)


@given(st.integers(1, 30 * 24 * 3600 * 10**9))
def test_a_duration_survives_writing_and_reading(nanoseconds: int) -> None:
    duration = TypeAdapter(units.Duration)
    written = duration.dump_python(nanoseconds / 1e9, mode="json")
    assert duration.validate_python(written, context=IN_A_FILE) == pytest.approx(nanoseconds / 1e9, abs=1e-9, rel=1e-9)


@given(st.integers(0, 10**6))
def test_a_share_survives_writing_and_reading(millionths: int) -> None:
    share = TypeAdapter(units.Share)
    written = share.dump_python(millionths / 1e6, mode="json")
    assert share.validate_python(written, context=IN_A_FILE) == pytest.approx(millionths / 1e6, abs=1e-10)


@given(st.integers(2**10, 2**34))
def test_memory_survives_writing_and_reading(kibibytes: int) -> None:
    memory = TypeAdapter(units.Memory)
    written = memory.dump_python(kibibytes * 1024, mode="json")
    assert memory.validate_python(written, context=IN_A_FILE) == kibibytes * 1024


@pytest.mark.parametrize("quantity", [units.Duration, units.Pause, units.Share, units.Memory])
@given(text=st.text(max_size=20) | st.from_regex(r"[0-9.]{1,6}[a-zA-Z%]{0,3}", fullmatch=True))
def test_no_text_is_more_than_refused(quantity: object, text: str) -> None:
    try:
        value = TypeAdapter(quantity).validate_python(text, context=IN_A_FILE)
    except ValidationError:
        return
    assert math.isfinite(value)
    assert value >= 0


def test_a_plain_number_is_taken_from_code_and_refused_in_a_file() -> None:
    for quantity, value in [(units.Duration, 1.5), (units.Share, 0.5), (units.Memory, 2**20)]:
        adapter: TypeAdapter[float] = TypeAdapter(quantity)
        assert adapter.validate_python(value) == value
        with pytest.raises(ValidationError, match="has no unit"):
            adapter.validate_python(value, context=IN_A_FILE)


def test_only_a_pause_may_be_zero() -> None:
    assert TypeAdapter(units.Pause).validate_python(0, context=IN_A_FILE) == 0
    assert TypeAdapter(units.Pause).validate_python("0s", context=IN_A_FILE) == 0
    with pytest.raises(ValidationError, match="'0s' must be more than zero"):
        TypeAdapter(units.Duration).validate_python("0s", context=IN_A_FILE)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0s"), (0.2, "200ms"), (30, "30s"), (90, "90s"), (120, "2m"), (7200, "2h"), (1.25, "1250ms")],
)
def test_a_duration_is_written_as_a_user_would(value: float, written: str) -> None:
    assert units.format_seconds(value) == written


@pytest.mark.parametrize(("value", "written"), [(2**30, "1GiB"), (512 * 2**20, "512MiB"), (2**20 + 2**10, "1025KiB")])
def test_memory_is_written_as_a_user_would(value: int, written: str) -> None:
    assert units.format_memory(value) == written


@pytest.mark.parametrize(
    ("written", "bits"), [("100Mbit", 100_000_000), ("1Gbit", 10**9), ("8kbit", 8000), ("2.5 Gbit", 2_500_000_000)]
)
def test_rates_of_links(written: str, bits: int) -> None:
    assert units.bit_rate(written) == bits
    assert TypeAdapter(units.BitRate).validate_python(written, context=IN_A_FILE) == bits


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (100, "has no unit; use kbit, Mbit, Gbit"),
        ("1MB", "unknown unit 'MB'"),
        ("7kbit", "out of range; use 8kbit to 1000Gbit"),
        ("1001Gbit", "out of range"),
        ("fast", "is not a rate"),
    ],
)
def test_wrong_rates_of_links(written: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        units.bit_rate(written)


@given(st.integers(8, 10**9).map(lambda kbit: kbit * 1000))
def test_a_rate_can_be_had_back_from_what_is_written(bits: int) -> None:
    assert units.bit_rate(units.format_bit_rate(bits)) == bits
