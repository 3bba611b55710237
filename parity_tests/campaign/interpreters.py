"""The interpreters that campaigns run in: which sides can run in each, and which are to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.sides import pairs_of
from parity_tests.processes.interpreters import InterpreterError, interpreter_at
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import DescribeSides, SidesThere
from parity_tests.processes.worker_process import Lost
from reports.rows import SIDES, Side

_SECONDS = 60.0


@dataclass(frozen=True)
class Interpreter:
    """An interpreter, and what it is for sides."""

    python: Path
    there: SidesThere

    @property
    def jax(self) -> str:
        """Its version of JAX."""
        return self.there.environment.jax

    @property
    def missing(self) -> dict[Side, str]:
        """The sides that cannot run in it, each with the reason."""
        ours = [side for side in SIDES if not side.startswith("jax-")]
        found: dict[Side, str] = {}
        if self.there.engine_refuses:
            found = dict.fromkeys(ours, f"the engine refuses jax {self.jax} there")
        if not self.there.has_flag:
            found["jax-simplified"] = f"jax {self.jax} has no flag to be flipped"
        return found

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that can run in it."""
        return tuple(side for side in SIDES if side not in self.missing)


@functools.cache  # a command may be given one twice
def interpreter(path: str, also: tuple[str, ...] = ()) -> Interpreter:
    """Look at the interpreter at a path: a process of it says which sides can run there.

    Raises `InterpreterError` where it is none, lacks a package, or where JAX does not start.

    Example::

        interpreter("~/jax-0.12/bin/python").sides == ("jax-legacy", "jax-simplified")
    """
    python = interpreter_at(path, also)
    with temporary_folder() as folder:
        there = ask(DescribeSides(), "legacy", folder, Limits(_SECONDS, python=python))
    if isinstance(there, Lost):
        raise InterpreterError(f"no side starts in {path!r}: {there.ending}\n{there.log}".rstrip())
    return Interpreter(python, there)


def sides_in(found: Interpreter, asked: Sequence[Side] | None) -> tuple[Side, ...]:
    """Return the sides to run in an interpreter: those that were asked, else all that can.

    Raises `InterpreterError` where one of them cannot run there, or no two can be compared.
    """
    missing = found.missing
    lost = [side for side in asked or () if side in missing]
    still = f"the sides that run there: {', '.join(found.sides)}"
    if lost:
        why = "; ".join(dict.fromkeys(missing[side] for side in lost))
        refusal = f" ({found.there.engine_refuses})" if found.there.engine_refuses else ""
        raise InterpreterError(
            f"{', '.join(lost)} cannot run in {str(found.python)!r}: {why}{refusal}; {still}"
        )
    sides = tuple(asked) if asked else found.sides
    if not pairs_of(sides) and not asked:
        why = "; ".join(dict.fromkeys(missing.values()))
        raise InterpreterError(f"no two sides can run in {str(found.python)!r}: {why}")
    return sides
