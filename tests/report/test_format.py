"""Numbers as people read them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.base import plural
from loadstone.report import format

finite = st.floats(min_value=1e-5, max_value=1e12)


def test_a_latency_of_which_a_bound_is_known_is_above_it():
    assert format.latency(None, 5000.0) == "> 5 s" and format.latency(None, 250.0, format.number) == "> 250"
    assert format.latency(12.3, 5000.0) == "12.3 ms" and format.latency(None, None) == format.NOTHING


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (1234.5678, "1,235"),
        (999.6, "1,000"),
        (99.96, "100"),
        (12.345, "12.3"),
        (9.999, "10.0"),
        (1.5, "1.50"),
        (5.0, "5"),
        (0.012345, "0.0123"),
        (-1234.4, "-1,234"),
        (56.00000000000001, "56"),
        (1e-9, "1e-09"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
    ],
)
def test_number(value: float | None, text: str):
    assert format.number(value) == text


@given(finite)
def test_a_number_reads_back_within_half_a_percent(value: float):
    assert float(format.number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


@given(finite, finite)
def test_order_is_kept(a: float, b: float):
    low, high = sorted((a, b))
    assert float(format.number(low).replace(",", "")) <= float(format.number(high).replace(",", "")) * (1 + 1e-12)


@given(finite)
def test_a_number_has_thousands_separated_and_no_exponent(value: float):
    assert re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", format.number(value))


@given(st.floats(min_value=0, max_value=1))
def test_a_share_that_is_not_all_is_never_shown_as_all(share: float):
    assert (format.percent(share) == "100 %") == (share == 1)
    assert (format.percent(share) == "0 %") == (share == 0)


@given(st.floats(min_value=0, max_value=1e8))
def test_a_duration_reads_back_to_the_minute(seconds: float):
    text = format.duration(seconds)
    sizes = {"s": 1, "min": 60, "h": 3600}
    parts = re.findall(r"([\d,.e+-]+) (s|min|h)", text)
    total = sum(float(number.replace(",", "")) * sizes[unit] for number, unit in parts)
    assert total == pytest.approx(seconds, rel=0.0051, abs=60 if seconds >= 3600 else 1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5 s"), (59.9, "59.9 s"), (60, "1 min"), (125, "2 min 5 s"), (3599.7, "1 h"), (3780, "1 h 3 min")],
)
def test_duration(seconds: float, text: str):
    assert format.duration(seconds) == text


def test_units():
    assert format.milliseconds(0.8123) == "0.812 ms"
    assert format.milliseconds(1240) == "1.24 s"
    assert format.milliseconds(None) == "–"
    assert format.interval(1189.7, 1280.2) == "[1,190, 1,280]"
    assert format.rate(1234.4) == "1,234 req/s"
    assert format.size(33_400_000_000) == "31.1 GiB"
    assert format.size(2**29) == "512 MiB"
    assert plural(1, "trial") == "1 trial" and plural(1200, "trial") == "1,200 trials"
