"""What of a program computes, by name: equations of its jaxpr, operations of its StableHLO."""

from __future__ import annotations

from collections.abc import Mapping

from reports.rows.observation import Observation

# Operations that move, select or repeat elements, or hold a module together.
_MOVING = frozenset(
    {
        "bitcast_convert", "broadcast_in_dim", "concatenate", "constant", "convert",
        "dynamic_slice", "dynamic_update_slice", "gather", "get_tuple_element", "imag", "iota",
        "optimization_barrier", "pad", "real", "reshape", "return", "reverse", "select", "slice",
        "transpose", "tuple",
    }
)  # fmt: skip


def working_equations(observation: Observation) -> Mapping[str, int] | None:
    """Return the equations that compute, by primitive; None where they were not counted."""
    return observation.jaxpr.working_equations if observation.jaxpr else None


def working_operations(observation: Observation) -> Mapping[str, int] | None:
    """Return the StableHLO operations that compute, by name; None where they were not counted.

    Those of a function count once for each call of it. Operations of other dialects are left out:
    they tell of shardings and functions.
    """
    counts = observation.stablehlo
    if counts is None:
        return None
    names = {
        name.removeprefix("stablehlo."): count
        for name, count in (counts.operations_with_calls or counts.operations_by_name).items()
        if name.startswith("stablehlo.")
    }
    return {name: count for name, count in names.items() if name not in _MOVING}
