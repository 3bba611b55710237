"""The call of a program as its user writes it, asked for where the tester's own jit of it fails.

The tester jits a program that has no jit of its own. A program may run and not take that: it wants
values of its arguments, or a jit within it has options that JAX takes from an outermost jit alone.
"""

from __future__ import annotations

import jax

from parity_tests.exception_texts import said_by
from parity_tests.jaxpr.donating_jits import calls_donating_jit
from parity_tests.observe import failures
from parity_tests.observe.stages import Built, Lowered, StageClock
from parity_tests.own_jit import copied, donating_jit_held_by
from parity_tests.program import Program
from reports.rows import Failure

_STAGE = "call as written"


class NotAsWrittenError(RuntimeError):
    """The trace of a program is not what its user runs; the message says why."""


def check(built: Built, lowered: Lowered) -> None:
    """Raise `NotAsWrittenError` where a wrapper takes another way while it is traced.

    It holds a jitted function that donates, and the trace has no jit that does: so the wrapper
    tells a trace from a call.
    """
    held = None if built.own.is_own else donating_jit_held_by(built.own.fun)
    if held is not None and not calls_donating_jit(lowered.traced.jaxpr):
        name = getattr(held, "__name__", "a function")
        raise NotAsWrittenError(
            f"{name} is jitted with donated arguments, and is not called while the program is "
            "traced within a jit of constparity's"
        )


def failure(program: Program, built: Built, error: Exception, clock: StageClock) -> Failure:
    """Describe an exception of a stage; `runs_as_written` says that only the tester's jit fails.

    Where the program as written raises something else, that is described.
    """
    if isinstance(error, NotAsWrittenError):
        kind = type(error).__name__
        return Failure(
            kind="exception", stage="trace", type=kind, message=str(error), runs_as_written=True
        )
    found = failures.exception(error, clock.current)
    if built.own.is_own or clock.current not in ("trace", "lower"):
        return found
    # As in a measurement, a program may raise anything. What failed may have left its objects in
    # any state, so they are built anew.
    try:
        with clock(_STAGE):
            fun, args, kwargs = (program.anew or program).build_as_written()
            jax.block_until_ready(fun(*copied(args), **copied(kwargs)))
    except Exception as other:  # noqa: BLE001
        same = (type(other), said_by(other)) == (type(error), said_by(error))
        return found if same else failures.exception(other, _STAGE)
    return found.model_copy(update={"runs_as_written": True})
