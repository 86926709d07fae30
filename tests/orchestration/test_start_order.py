"""In which order services start; the order is found again by what each of them needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.deployment import Replica
from loadstone.orchestration.start_order import start_order
from tests.orchestration.docker_deployments import hotel


def replica(service: str, *needs: str, **more: object) -> Replica:
    (made,) = hotel(1).of("geo")[:1]
    changes = {"service": service, "needs": needs, "stone": None, "image": None, **more}
    return made.model_copy(update=changes)


def test_images_of_others_start_after_what_they_need() -> None:
    image = {"image": "x/y:1"}
    edge, carts = replica("edge", "carts", "front", **image), replica("carts", "db", **image)
    assert start_order([replica("front", **image), replica("db", **image), carts, edge]) == [
        ["front", "db"],
        ["carts"],
        ["edge"],
    ]


def test_our_own_start_at_once_and_what_passes_requests_on_after_them() -> None:
    proxy = replica("nginx", "front", in_front=True)
    assert start_order([replica("geo"), replica("front", "geo"), proxy]) == [["geo", "front"], ["nginx"]]


def test_images_that_call_each_other_do_not_wait_for_each_other() -> None:
    """``calls`` of an application may start later; those that come before all the same are waited for."""
    image = {"image": "x/y:1"}
    made = [replica("a", "b", **image), replica("b", "a", **image), *[replica("c", "c", **image)] * 2]
    assert start_order(made) == [["a", "c"], ["b"]]


def test_what_is_not_started_is_not_waited_for() -> None:
    assert start_order([replica("carts", "db", image="x/y:1")]) == [["carts"]]
    assert start_order([]) == []


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 9))), max_size=10))
def test_each_service_is_in_one_group_and_behind_its_needs(drawn: list[tuple[bool, set[int]]]) -> None:
    made = [
        replica(str(number), *(str(need) for need in needs if need < number), image="x/y:1" if foreign else None)
        for number, (foreign, needs) in enumerate(drawn)
    ]
    found = start_order(made)
    at = {name: number for number, group in enumerate(found) for name in group}
    assert sorted(at) == sorted(each.service for each in made) and sum(map(len, found)) == len(made)
    for each in made:
        assert all(at[need] < at[each.service] for need in each.needs) or each.image is None
        assert at[each.service] == max((at[need] + 1 for need in each.needs if each.image), default=0)
