"""Hotel Reservation's workloads against the published mix, figure by figure.

Published: 60 % /hotels, 39 % /recommendations, 0.5 % /user, 0.5 % /reservation; arrival 9 to 23 April 2015; departure
the day after to the 24th, or after 1 to 5 days; latitude 38.0235 +- 0.2405 and longitude -122.095 - 0.157 to + 0.168 in
thousandths; distance, rate and price at .33, .33 and .34; users 0 to 500; hotels 1 to 80.
"""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from fractions import Fraction

import pytest

from loadstone.applications import catalogue
from loadstone.model.fields import AnyField, ChoiceField, DateField, DecimalField, IntegerField
from loadstone.model.workload import Operation, Workload

WORKLOADS = catalogue.load("hotel-reservation").application.workloads
MIXED = WORKLOADS["mixed"].operations
DAYS = [date(2015, 4, day) for day in range(9, 24)]


def numbers(field: AnyField) -> list[Fraction]:
    """Every number that a field can be, in order."""
    assert isinstance(field, IntegerField | DecimalField)
    step = Fraction(str(field.step)) if isinstance(field, DecimalField) else Fraction(1)
    low, high = Fraction(str(field.min)), Fraction(str(field.max))
    return [low + step * k for k in range(int((high - low) / step) + 1)]


def stays(operation: Operation) -> dict[tuple[date, date], Fraction]:
    """Every pair of days that an operation can have, with its probability."""
    first, out = operation.fields["inDate"], operation.fields["outDate"]
    assert isinstance(first, DateField) and isinstance(out, DateField) and out.after == "inDate"
    assert first.from_ and first.to
    begin, end = date.fromisoformat(first.from_), date.fromisoformat(first.to)
    found = {}
    days = [begin + timedelta(day) for day in range((end - begin).days + 1)]
    for day in days:
        last = [date.fromisoformat(out.to)] if out.to else []
        last += [day + timedelta(out.max_days)] if out.max_days is not None else []
        possible = range(out.fewest_days, (min(last) - day).days + 1)
        for stay in possible:
            found[day, day + timedelta(stay)] = Fraction(1, len(days) * len(possible))
    return found


def test_the_shares_of_the_mix() -> None:
    total = sum(Fraction(str(operation.weight)) for operation in MIXED.values())
    shares = {name: Fraction(str(operation.weight)) / total for name, operation in MIXED.items()}
    assert shares == {
        "hotels": Fraction(60, 100),
        "recommendations": Fraction(39, 100),
        "login": Fraction(5, 1000),
        "reservations": Fraction(5, 1000),
    }


def test_the_requests() -> None:
    password = "&password=" + "{user}" * 10
    stay, place = "inDate={inDate}&outDate={outDate}&", "lat={lat}&lon={lon}"
    assert {name: (operation.method, operation.path) for name, operation in MIXED.items()} == {
        "hotels": ("GET", f"/hotels?{stay}{place}"),
        "recommendations": ("GET", f"/recommendations?require={{require}}&{place}"),
        "login": ("POST", f"/user?username=Cornell_{{user}}{password}"),
        "reservations": (
            "POST",
            f"/reservation?{stay}lat=nil&lon=nil&hotelId={{hotel}}&customerName=Cornell_{{user}}"
            f"&username=Cornell_{{user}}{password}&number=1",
        ),
    }
    assert all(not operation.headers and not operation.body for operation in MIXED.values())


@pytest.mark.parametrize("name", ["hotels", "recommendations"])
def test_the_places(name: str) -> None:
    lat, lon = (numbers(MIXED[name].fields[axis]) for axis in ("lat", "lon"))
    assert lat == [Fraction("38.0235") + Fraction(k * 2 - 481, 2000) for k in range(482)]
    assert lon == [Fraction("-122.095") + Fraction(k, 1000) for k in range(-157, 169)]


def test_the_days_of_a_search() -> None:
    wanted = {
        (day, out): Fraction(1, 15 * (24 - day.day))
        for day in DAYS
        for out in (date(2015, 4, number) for number in range(day.day + 1, 25))
    }
    assert stays(MIXED["hotels"]) == wanted
    assert len(wanted) == 120


def test_the_days_of_a_booking() -> None:
    wanted = {(day, day + timedelta(stay)): Fraction(1, 75) for day, stay in itertools.product(DAYS, range(1, 6))}
    assert stays(MIXED["reservations"]) == wanted


def test_what_is_recommended() -> None:
    require = MIXED["recommendations"].fields["require"]
    assert isinstance(require, ChoiceField)
    assert dict(zip(require.values, require.weights or [], strict=True)) == {"dis": 0.33, "rate": 0.33, "price": 0.34}


def test_users_and_hotels() -> None:
    for name in ("login", "reservations"):
        assert numbers(MIXED[name].fields["user"]) == list(range(501))
    assert numbers(MIXED["reservations"].fields["hotel"]) == list(range(1, 81))
    assert {name: sorted(operation.fields) for name, operation in MIXED.items()} == {
        "hotels": ["inDate", "lat", "lon", "outDate"],
        "recommendations": ["lat", "lon", "require"],
        "login": ["user"],
        "reservations": ["hotel", "inDate", "outDate", "user"],
    }


def test_each_operation_of_the_mix_is_a_workload_of_its_own() -> None:
    for name, operation in MIXED.items():
        assert WORKLOADS[name].operations == {name: operation}


def test_what_the_published_scripts_leave_out() -> None:
    def only(workload: Workload) -> Operation:
        (operation,) = workload.operations.values()
        return operation

    paths = {name: only(WORKLOADS[name]).path for name in ("reviews", "restaurants", "museums", "cinemas")}
    assert [path.partition("?")[0] for path in paths.values()] == ["/review", "/restaurants", "/museums", "/cinema"]
    for name in paths:
        hotels = numbers(only(WORKLOADS[name]).fields["hotel"])
        assert hotels == list(range(1, 3 if name == "reviews" else 7))


def test_a_session_books_for_the_guest_who_logged_in() -> None:
    (visit,) = WORKLOADS["session"].operations.values()
    assert visit.steps is not None
    assert [step.name for step in visit.steps] == ["login", "hotels", "reservations"]
    assert set(visit.fields) == {"user", "inDate", "outDate"}
    assert not any(set(step.fields) & set(visit.fields) for step in visit.steps)
    assert [step.think is not None for step in visit.steps] == [False, True, True]
