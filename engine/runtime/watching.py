"""A watcher: what a tester puts around each program that the engine executes, in all threads.

Without a watcher nothing here costs a call anything. With one, jaxlib's dispatcher is told to keep
no executable, so that every call passes through Python and the watcher sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.configuration.parsing import Side
from engine.ir.jaxprs import ClosedJaxpr


@dataclass(frozen=True, eq=False)
class Execution:
    """One execution of a program, which has not begun.

    - `side`: the side that the program was traced for.
    - `closed_jaxpr`: the program, in the form of its side; the same object for the same program.
    - `name`: the name of its function.
    - `operands`: the flat arguments.
    - `donated`: for each operand, whether the program donates it.
    - `run()`: execute the program on its own side, and return the flat results.
    - `run_on(side, operands)`: execute it on a side with other operands of the same types.
    - `is_one_program()`: whether both sides execute the same lowered program, because the function
      captured nothing that one of them inlines and the other hoists.
    - `options()`: the names of the options of `jax.jit` that it was given, of those for shardings,
      for layouts and for the compiler.
    """

    side: Side
    closed_jaxpr: ClosedJaxpr
    name: str
    operands: Sequence[Any]
    donated: Sequence[bool]
    run: Callable[[], Sequence[Any]]
    run_on: Callable[[Side, Sequence[Any]], Sequence[Any]]
    is_one_program: Callable[[], bool]
    options: Callable[[], Sequence[str]]


Watcher: TypeAlias = Callable[[Execution], Sequence[Any]]

_watcher: Watcher | None = None


def watch(watcher: Watcher | None) -> None:
    """Let `watcher` execute all programs of the engine from now on; None ends it.

    A watcher takes an `Execution` and returns the flat results, which the caller gets. Executables
    that jaxlib's dispatcher keeps from before do not ask: call `engine.api.forget_calls` first.

    Example::

        watch(lambda execution: print(execution.name) or execution.run())
    """
    global _watcher
    _watcher = watcher


def watcher() -> Watcher | None:
    """Return the watcher of this process, or None."""
    return _watcher
