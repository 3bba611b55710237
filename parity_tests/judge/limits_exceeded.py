"""A limit that one side exceeds: whether the side is to blame, or the limit."""

from __future__ import annotations

from reports.rows import Failure, Observation

# A side that stays this far below a limit leaves no doubt that another one should, too.
_FAR_BELOW = 10


def is_beyond_doubt(failure: Failure, other: Observation) -> bool:
    """Say whether a side exceeded a limit that another side stays far below.

    Example::

        is_beyond_doubt(after.failure, before)
    """
    needed = taken(other, failure)
    return failure.limit is not None and needed is not None and needed * _FAR_BELOW < failure.limit


def taken(observation: Observation, failure: Failure) -> float | None:
    """Return what a side took of the resource that a failure is about; None where not measured."""
    times, memory = observation.times, observation.host_memory
    if failure.kind == "timeout" and times is not None:
        return times.trace + times.lower + times.compile + times.first_call
    if failure.kind == "memory" and memory is not None:
        return max(memory.trace_and_lower, memory.compile)
    return None
