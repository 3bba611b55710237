"""Detection: the table of hazards, and the one place that asks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.source_places import code_at
from parity_tests.observe.hazards import (
    captured_and_donated,
    folded_by_legacy_alone,
    hands_on_the_environment,
    hoisted_more_than_once,
    implicit_transfer,
    incompatible_devices,
    placement_of_outputs,
    reads_jaxpr_constants,
    reads_lowered_modules,
    reads_the_flag,
    writeable_numpy_array,
)
from parity_tests.observe.hazards.both_forms import BothForms
from parity_tests.observe.hazards.traced_program import (
    TracedProgram,
    read_before_its_end,
    traced_in_forms,
)
from parity_tests.observe.jaxpr_reads import Reads
from parity_tests.observe.reads_left import read_back
from parity_tests.program import Program
from reports.rows import Hazard, HazardKind

# In the order in which a report lists them.
DETECTORS: dict[HazardKind, Callable[[TracedProgram], Iterable[Hazard]]] = {
    "writeable NumPy array": writeable_numpy_array.find,
    "captured and donated": captured_and_donated.find,
    "incompatible devices": incompatible_devices.find,
    "implicit transfer": implicit_transfer.find,
    "placement of outputs": placement_of_outputs.find,
    "hoisted more than once": hoisted_more_than_once.find,
    "folded by legacy alone": folded_by_legacy_alone.find,
}


# Of programs that read jaxprs or the flag while they are traced.
DETECTORS_OF_READS: dict[HazardKind, Callable[[BothForms], Iterable[Hazard]]] = {
    "reads jaxpr constants": reads_jaxpr_constants.find,
    "reads the flag": reads_the_flag.find,
    "reads lowered modules": reads_lowered_modules.find,
    "hands on the environment": hands_on_the_environment.find,
}


def detect(program: Program, reads_file: Path | None = None) -> tuple[Hazard, ...]:
    """Trace a program as stock JAX would after the flip, and return its hazards.

    Nothing is compiled or run. A program that reads jaxprs or the flag is traced as before the
    flip, too. Raises whatever the program raises, unless that explains it. `reads_file` takes what
    it reads in simplified form, which may end the process.

    Example::

        detect(parity_tests.targets.load_one("my_model:step"))
    """
    traced, both = traced_in_forms(program, reads_file)
    found = () if traced is None else of_trace(traced)
    return (*found, *map(_with_code, _of_reads(both)))


@jax_defaults()
def of_trace(traced: TracedProgram) -> tuple[Hazard, ...]:
    """Return the hazards of a program that reads nothing while stock JAX traces it after the flip.

    Example::

        of_trace(traced)[0].line
    """
    return tuple(_with_code(each) for find in DETECTORS.values() for each in find(traced))


def _with_code(hazard: Hazard) -> Hazard:
    return hazard.model_copy(update={"code": code_at(hazard.file, hazard.line)})


def reads_before_its_end(program: Program, reads: str) -> tuple[Hazard, ...]:
    """Return the reads of a program whose simplified form ended its process; `reads` are its file.

    Example::

        reads_before_its_end(targets.load_one("my_model:step"), file.read_text())[0].line
    """
    return tuple(_of_reads(read_before_its_end(program, read_back(reads))))


def reads_of_calls(before: Reads, after: str, *, at_import: bool) -> tuple[Hazard, ...]:
    """Return the reads that tell the forms apart while a program is called.

    `before` was read before the flip, and `after` is the file of the reads after it. With
    `at_import` they are of an import that fails after the flip.

    Example::

        reads_of_calls(reads, file.read_text(), at_import=False)[0].line
    """
    both = BothForms(before, read_back(after), changes=at_import, in_calls=True)
    return tuple(_of_reads(both))


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
