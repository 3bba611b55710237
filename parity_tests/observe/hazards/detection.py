"""Detection: the table of hazards, and the one place that asks for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from parity_tests.evidence.found import HazardsFound
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.source_places import code_at
from parity_tests.observe import failures
from parity_tests.observe.hazards import arrays, devices, reads
from parity_tests.observe.hazards.reads import BothForms
from parity_tests.observe.hazards.traced_program import (
    TracedProgram,
    read_before_its_end,
    traced_in_forms,
    traced_program,
)
from parity_tests.observe.reads.recorder import Reads, read_back
from parity_tests.observe.reads.recording import has_read_at_import, recording
from parity_tests.own_jit import OwnJit
from parity_tests.program import Program
from reports.rows import Hazard

# In the order in which a report lists them.
DETECTORS: tuple[Callable[[TracedProgram], Iterable[Hazard]], ...] = (
    arrays.writeable_numpy_array,
    arrays.captured_and_donated,
    devices.incompatible_devices,
    devices.implicit_transfer,
    devices.placement_of_outputs,
    arrays.hoisted_more_than_once,
    arrays.folded_by_legacy_alone,
)

# Of programs that read jaxprs or the flag while they are traced.
DETECTORS_OF_READS: tuple[Callable[[BothForms], Iterable[Hazard]], ...] = (
    reads.reads_jaxpr_constants,
    reads.reads_the_flag,
    reads.reads_lowered_modules,
    reads.hands_on_the_environment,
)


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
    return (*found, *map(with_code, _of_reads(both)))


@jax_defaults()
def of_trace(traced: TracedProgram) -> tuple[Hazard, ...]:
    """Return the hazards of a program that reads nothing while JAX traces it after the flip."""
    return tuple(with_code(each) for find in DETECTORS for each in find(traced))


def with_code(hazard: Hazard) -> Hazard:
    """Return a hazard with the code of its line."""
    return hazard.model_copy(update={"code": code_at(hazard.file, hazard.line)})


def reads_before_its_end(program: Program, reads: str) -> tuple[Hazard, ...]:
    """Return the reads, from their file, of a program whose simplified form ended its process."""
    return tuple(_of_reads(read_before_its_end(program, read_back(reads))))


def reads_of_calls(before: Reads, after: str, *, at_import: bool) -> tuple[Hazard, ...]:
    """Return the reads that tell the forms apart while a program is called.

    `before` was read before the flip, and `after` is the file of the reads after it. With
    `at_import` they are of an import that fails after the flip.
    """
    both = BothForms(before, read_back(after), changes=at_import, in_calls=True)
    return tuple(_of_reads(both))


def changing_reads(program: Program) -> tuple[Hazard, ...]:
    """Return the reads of jaxprs or the flag for which a program is another one after the flip.

    Raises whatever the program raises in legacy form, or raises without a read.
    """
    _, both = traced_in_forms(program)
    return tuple(each for each in _of_reads(both) if each.changes_program)


def _of_reads(both: BothForms) -> list[Hazard]:
    return [hazard for find in DETECTORS_OF_READS for hazard in find(both)]


# -- off the trace of a measurement ----------------------------------------------------------------


class MeasuredTraces:
    """What the traces of a process tell of hazards, as long as no program of it reads anything.

    Stock JAX after the flip has traced the program already. But JAX traces a function once: what
    another program of the process has called is not traced again, and what the function reads is
    not read again. So from the first read of a process on, each program is traced anew. Turned
    down: to trace each anew under settings of its own. That also compiles anew what a trace
    computes, and took a twentieth of a campaign of small programs.

    `has_read` says that one did: nothing need be watched any more.
    """

    def __init__(self) -> None:
        self.has_read = False
        self._found: HazardsFound | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a block that imports a program, or measures it in simplified form on stock JAX."""
        self._found = None
        with recording() as reads:
            yield
        # Of two recordings, one within the other, the outer one misses reads of modules.
        if reads or has_read_at_import():
            self.has_read = True

    def note(self, own: OwnJit, traced: Any) -> None:
        """Detect the hazards of a program that has just been traced in such a block.

        Nobody else holds its arrays then, so who holds them tells who can write to them.
        """
        # A detector asks the program's own trees and arrays, which may raise.
        try:
            self._found = HazardsFound(hazards=of_trace(traced_program(own, traced)))
        except Exception as error:  # noqa: BLE001
            self._found = HazardsFound(not_detected=failures.it_raised(error))

    def found(self) -> HazardsFound | None:
        """Return the hazards of the program of the last block; None where its trace cannot tell.

        Example::

            with traces.watching():
                measure(program, "jax-simplified", on_traced=traces.note)
            traces.found()
        """
        return None if self.has_read else self._found


class BuiltOnce:
    """A program whose factory, or whose callable of arguments, runs once.

    Factories draw from what their module shares, a generator of random numbers or a counter. One
    side alone looks for hazards, so one factory more that runs there would give the programs after
    it other numbers than the other sides have.

    `has_read` says that it read something of jaxprs or the flag, which it does otherwise in the
    other form. With `records` that is watched here, else whoever watches the measurement sets it.

    Example::

        once = BuiltOnce(targets.load_one("my_model:step"), records=True)
        once.program.build() and once.program.build()
    """

    def __init__(self, program: Program, *, records: bool) -> None:
        self.has_read = False
        self._records = records
        args = program.mark.args
        if args is None:
            self.program = replace(program, function=self._once(program.function), anew=program)
        elif callable(args):
            mark = replace(program.mark, args=self._once(args))
            self.program = replace(program, mark=mark, anew=program)
        else:
            self.program = program

    def _once(self, make: Callable[[], Any]) -> Callable[[], Any]:
        @cache
        def made() -> Any:
            if not self._records:
                return make()
            with recording() as reads:
                result = make()
            self.has_read = bool(reads)
            return result

        return made
