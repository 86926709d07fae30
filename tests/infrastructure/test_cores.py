from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.local import split_cores

CORES = st.sets(st.integers(0, 300), min_size=1)


def test_the_kernel_s_form() -> None:
    assert format_cores([5, 0, 1, 2]) == "0-2,5"


@given(CORES)
def test_client_and_worker_share_no_core_and_leave_none(cores: set[int]) -> None:
    client, worker = split_cores(tuple(cores))
    if len(cores) == 1:
        assert client == worker == tuple(cores)
    else:
        assert not set(client) & set(worker)
        assert set(client) | set(worker) == cores
        assert len(client) == max(1, len(cores) // 4)
