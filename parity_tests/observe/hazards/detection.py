"""Detection: the table of hazards, and the one place that asks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from parity_tests.jaxpr.source_places import code_at
from parity_tests.observe.hazards import (
    captured_and_donated,
    folded_by_legacy_alone,
    hoisted_more_than_once,
    incompatible_devices,
    placement_of_outputs,
    reads_jaxpr_constants,
    reads_lowered_modules,
    reads_the_flag,
    writeable_numpy_array,
)
from parity_tests.observe.hazards.both_forms import BothForms
from parity_tests.observe.hazards.traced_program import TracedProgram, traced_in_forms
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


# Of programs that read jaxprs or the flag while they are traced.
DETECTORS_OF_READS: dict[HazardKind, Callable[[BothForms], Iterable[Hazard]]] = {
    "reads jaxpr constants": reads_jaxpr_constants.find,
    "reads the flag": reads_the_flag.find,
    "reads lowered modules": reads_lowered_modules.find,
}


def detect(program: Program) -> tuple[Hazard, ...]:
    """Trace a program as stock JAX would after the flip, and return its hazards.

    Nothing is compiled or run. A program that reads jaxprs or the flag is traced as before the
    flip, too. Raises whatever the program raises, unless that explains it.

    Example::

        detect(parity_tests.targets.load_one("my_model:step"))
    """
    traced, both = traced_in_forms(program)
    found = [] if traced is None else [h for find in DETECTORS.values() for h in find(traced)]
    return tuple(map(_with_code, (*found, *_of_reads(both))))


def _with_code(hazard: Hazard) -> Hazard:
    return hazard.model_copy(update={"code": code_at(hazard.file, hazard.line)})


def changing_reads(program: Program) -> tuple[Hazard, ...]:
    """Return the reads of jaxprs or the flag for which a program is another one after the flip.

    Raises whatever the program raises in legacy form, or raises without a read.

    Example::

        changing_reads(parity_tests.targets.load_one("my_model:step"))[0].line
    """
    _, both = traced_in_forms(program)
    return tuple(each for each in _of_reads(both) if each.changes_program)


def _of_reads(both: BothForms) -> list[Hazard]:
    return [hazard for find in DETECTORS_OF_READS.values() for hazard in find(both)]
