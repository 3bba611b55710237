"""A program that is built once: its hazards are looked for in what was measured.

Factories draw from what their module shares, a generator of random numbers or a counter. One side
alone looks for hazards, so one factory more that runs there would give the programs after it other
numbers than the other sides have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from parity_tests.observe.jaxpr_reads import recording
from parity_tests.program import Program


class BuiltOnce:
    """A program whose factory, or whose callable of arguments, runs once.

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
