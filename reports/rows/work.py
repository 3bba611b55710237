"""What of a program computes, by name: equations of its jaxpr, operations of its StableHLO."""

from __future__ import annotations

from collections.abc import Mapping

from reports.rows.observation import Observation

# Operations that move, select or repeat elements, that order others, or hold a module together.
_MOVING = frozenset(
    {
        "bitcast_convert", "broadcast_in_dim", "case", "concatenate", "constant", "convert",
        "dynamic_slice", "dynamic_update_slice", "gather", "get_tuple_element", "if", "imag",
        "iota", "optimization_barrier", "pad", "real", "reshape", "return", "reverse", "select",
        "slice", "transpose", "tuple", "while",
    }
)  # fmt: skip


def working_equations(observation: Observation) -> Mapping[str, int] | None:
    """Return the equations that compute, by primitive; None where they were not counted."""
    return observation.jaxpr.working_equations if observation.jaxpr else None


def working_operations(observation: Observation) -> Mapping[str, int] | None:
    """Return the StableHLO operations that compute, by name; None where they were not counted.

    They return arrays, and those of a function count once for each call of it. Loops and branches
    are left out, and operations of other dialects, which tell of shardings and functions.
    """
    counts = observation.stablehlo
    if counts is None or counts.array_operations is None:
        return None
    names = {
        name.removeprefix("stablehlo."): count
        for name, count in counts.array_operations.items()
        if name.startswith("stablehlo.")
    }
    return {name: count for name, count in names.items() if name not in _MOVING}
