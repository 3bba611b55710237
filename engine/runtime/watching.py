"""Watchers: what a tester puts around each program that the engine executes, in all threads.

Without a watcher nothing here costs a call anything. With one, jaxlib's dispatcher is told to keep
no executable, so that every call passes through Python and the watcher sees it.

Another one is told what stock JAX traces, where `engine.api.watched_jit` has jitted it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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
    - `options()`: the names of the options of `jax.jit` that it was given, but for donation,
      inlining and its name.
    - `is_stage`: whether it is a call of a compiled stage, which may have been lowered for
      arguments that are placed otherwise.
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
    is_stage: bool = False


class TracedForm(NamedTuple):
    """A program in one of its forms, and the tree of its results."""

    closed_jaxpr: ClosedJaxpr
    out_tree: Any


@dataclass(frozen=True, eq=False)
class StockTrace:
    """A program that stock JAX has traced, for a call or a stage that has not begun.

    - `side`: the form that JAX emits in this process.
    - `form`: the program in this form; its closed_jaxpr is the same object for the same program.
    - `fun`, `name`, `jit_info`: the function, its name, and JAX's record of its jit options.
    - `operands`: the flat arguments, static ones left out.
    - `donated`: for each operand, whether the program donates it.
    - `shardings`: for each operand, the one that its jit states, or None.
    - `executes`: whether a call executes the program itself, and not its derivative or batch.
    - `is_stage`: whether it was traced for a stage, whose calls are not told.
    - `on(side)`: trace the function again, in the form and by the pipeline of a side.
    - `again()`: trace it again as JAX has, and the functions within it, too.

    What these two trace is nobody else's: JAX's caches keep none of it for the function.
    """

    side: Side
    form: TracedForm
    fun: Callable[..., Any]
    name: str
    jit_info: Any
    operands: Sequence[Any]
    donated: Sequence[bool]
    shardings: Sequence[Any]
    executes: bool
    is_stage: bool
    on: Callable[[Side], TracedForm]
    again: Callable[[], TracedForm]


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


_trace_watcher: Callable[[StockTrace], object] | None = None


def watch_traces(watcher: Callable[[StockTrace], object] | None) -> None:
    """Tell `watcher` each program that JAX traces of what `watched_jit` jitted; None ends it."""
    global _trace_watcher
    _trace_watcher = watcher


def trace_watcher() -> Callable[[StockTrace], object] | None:
    """Return the watcher of traces of this process, or None."""
    return _trace_watcher
