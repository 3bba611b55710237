"""The process of a side as its programs leave it: who changed it, and who may still run in it.

What a module sets when it is imported is meant for the programs of that module, which share the
process. What a program changes while it runs is meant for nobody else.
"""

from __future__ import annotations

from parity_tests import targets
from parity_tests.observe.hazards import MeasuredTraces
from parity_tests.observe.process_state import ProcessState


class MeasuringProcess:
    """What the programs of this process have changed in it since it started.

    `traces` are of the programs that it measures.
    """

    def __init__(self) -> None:
        self.traces = MeasuredTraces()
        self._at_start = self._before = ProcessState.now()
        self._module = ""
        self._import_changes: tuple[str, ...] = ()
        self._said: set[str] = set()
        self._by_program: tuple[str, ...] = ()
        self._seen: tuple[str, ...] = ()

    def has_imported(self, target: str) -> None:
        """Note what the process is like when the module of a program is imported.

        The next programs of the module find it like that, or the process is not fit for them.
        """
        module, _ = targets.split(target)
        if module == self._module:
            return
        self._module = module
        self._before = ProcessState.now()
        self._import_changes = self._at_start.apart_from_path(self._before)

    def changes_of_program(self, seen: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return who changed what since the last call: the program, or the import of its module.

        `seen` is what else the program was seen to change for its process.
        """
        self._seen = seen
        self._by_program = self._before.changes(ProcessState.now())
        new = [each for each in self._import_changes if each not in self._said]
        self._said.update(new)
        by = {f"the import of {self._module}": new, "the program": self._by_program}
        found = tuple(f"{who} {', '.join(changes)}" for who, changes in by.items() if changes)
        return (*found, *seen)

    def changes_of_checks(self) -> tuple[str, ...]:
        """Return what the program has changed since then, when it was traced in the other form."""
        before = self._by_program
        self._by_program = self._before.changes(ProcessState.now())
        new = [each for each in self._by_program if each not in before]
        return (f"the program, traced in simplified form, {', '.join(new)}",) if new else ()

    def may_go_on_with(self, target: str) -> bool:
        """Say whether a program would run as if it were the first of its process."""
        if self._by_program or self._seen:
            return False
        return not self._import_changes or targets.split(target)[0] == self._module
