"""Detection: the table of hazards, and the one place that asks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parity_tests.observe.hazards import (
    captured_and_donated,
    folded_by_legacy_alone,
    hoisted_more_than_once,
    incompatible_devices,
    placement_of_outputs,
    writeable_numpy_array,
)
from parity_tests.observe.hazards.traced_program import TracedProgram, traced_after_flip
from parity_tests.program import Program
from reports.rows import Hazard, HazardKind

# In the order in which a report lists them.
DETECTORS: dict[HazardKind, Callable[[TracedProgram], Iterable[Hazard]]] = {
    "writeable NumPy array": writeable_numpy_array.find,
    "captured and donated": captured_and_donated.find,
    "incompatible devices": incompatible_devices.find,
    "placement of outputs": placement_of_outputs.find,
    "hoisted more than once": hoisted_more_than_once.find,
    "folded by legacy alone": folded_by_legacy_alone.find,
}


def detect(program: Program) -> tuple[Hazard, ...]:
    """Trace a program as stock JAX would after the flip, and return its hazards.

    Nothing is compiled or run. Raises whatever the program raises.

    Example::

        detect(parity_tests.targets.load_one("my_model:step"))
    """
    traced = traced_after_flip(program)
    return tuple(hazard for find in DETECTORS.values() for hazard in find(traced))
