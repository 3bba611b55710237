"""A limit that the other side stays far below leaves no doubt that a side is to blame."""

import pytest

from parity_tests.judge.beyond_doubt import is_beyond_doubt
from reports.rows import Failure, HostMemory, Observation, StageTimes

BEFORE = Observation(
    program="p",
    side="jax-legacy",
    times=StageTimes(trace=1, lower=1, compile=2, first_call=1, call=None, call_samples=0),
    host_memory=HostMemory(trace_and_lower=50, compile=70, fresh=True),
)


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("timeout", 51.0, True),
        ("timeout", 49.0, False),
        ("memory", 701.0, True),
        ("memory", 699.0, False),
        ("timeout", None, False),  # a report that is older than the field
        ("crash", 1e9, False),
    ],
)
def test_ten_times_is_far(kind, limit, expected):
    failure = Failure(kind=kind, stage="trace", type="a type", message="", limit=limit)
    assert is_beyond_doubt(failure, BEFORE) == expected
    assert not is_beyond_doubt(failure, Observation(program="p", side="jax-legacy"))
