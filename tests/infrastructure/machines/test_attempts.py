"""When a machine that could not be reached is tried again."""

from __future__ import annotations

import pytest

from loadstone.infrastructure.machines import attempts as module
from loadstone.infrastructure.machines.attempts import Attempts
from loadstone.infrastructure.machines.faults import MachineLost


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def fails(attempts: Attempts, clock: Clock, after_s: float) -> bool:
    """Whether an attempt was made, which fails after so long."""
    made = False
    with pytest.raises(MachineLost) as caught, attempts.next():
        made = True
        clock.now += after_s
        raise MachineLost("it cannot be reached", "see that it is up")
    assert (caught.value.message, caught.value.remedy) == ("it cannot be reached", "see that it is up")
    return made


def test_what_was_waited_for_in_vain_is_not_tried_again_for_as_long(clock: Clock) -> None:
    attempts = Attempts()
    assert fails(attempts, clock, after_s=15)
    clock.now += 14
    assert not fails(attempts, clock, after_s=15)
    clock.now += 1
    assert fails(attempts, clock, after_s=15)


def test_what_failed_at_once_is_tried_again_at_once(clock: Clock) -> None:
    attempts = Attempts()
    assert fails(attempts, clock, after_s=0)
    with attempts.next():
        pass
