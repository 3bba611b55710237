"""The cost of a proof: numbering jaxprs against tracing, and modules against lowering.

    python tests/scripts/numbering_cost.py [SIDE [TARGET...]]

In this one process each program, by default of the built-in corpus, is traced, numbered, lowered
and numbered, once. It prints the processor time of each, and the two ratios; and what it takes to
reach all of the modules through MLIR's bindings and do nothing with it. What was imported is no
garbage for Python to look at, as in the processes of sides. SIDE is jax-legacy or jax-simplified;
set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1 for the latter.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from parity_tests import targets
from parity_tests.jax_internals import const_args
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import UndecidedError
from reports.rows import Side

T = TypeVar("T")
_spent: Counter[str] = Counter()


def _timed(what: str, do: Callable[..., T], *args: Any, **kwargs: Any) -> T | None:
    start = time.process_time()
    try:
        return do(*args, **kwargs)
    except UndecidedError:
        return None
    finally:
        _spent[what] += time.process_time() - start


def _reach(module: Any) -> None:
    """Ask the bindings once for all that a number is made of, but for texts and contents."""
    waiting, types = [module.operation], set[Any]()
    while waiting:
        operation = waiting.pop()
        _ = operation.name, operation.location, [*operation.operands]
        types.update(result.type for result in operation.results)
        attributes = operation.attributes
        for index in range(len(attributes)):
            named = attributes[index]
            if named.name != "value":  # a constant's content
                _ = hash(named.attr)
        for region in operation.regions:
            for block in region.blocks:
                types.update(argument.type for argument in block.arguments)
                waiting += [each.operation for each in block.operations]


def main(side: Side = "jax-legacy", *of: str) -> None:
    programs = targets.load(of)
    gc.freeze()
    for program in programs:
        if isinstance(program, targets.Unavailable):
            continue
        fun, args, kwargs = program.build()
        traced = _timed("tracing", jitted_on(fun, side).trace, *args, **kwargs)
        _timed("numbering jaxprs", number_jaxpr, traced.jaxpr)
        lowered = _timed("lowering", traced.lower)
        module, passed = lowered.compiler_ir(), const_args(lowered)
        _timed("reaching modules", _reach, module)
        _timed("numbering modules", number_module, module, passed)
    for what, seconds in _spent.items():
        print(f"{what}: {seconds:.2f} s")
    for one, other in (("numbering jaxprs", "tracing"), ("numbering modules", "lowering")):
        print(f"{one}: {_spent[one] / _spent[other]:.1%} of {other}")


if __name__ == "__main__":
    main(*sys.argv[1:])
