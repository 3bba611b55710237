"""CP402: a captured array is donated.

A jitted function refers to an array of an outer scope, and the same array is passed in a donated
place. Today the captured value is part of the program. After the flip the same buffer would be
passed twice, once donated, and XLA refuses the call: "attempt to donate a buffer which is also used
by the same call".

    step = jax.jit(lambda state: state + table, donate_argnums=0)
    step(table)

What to do: capture a copy, `jnp.array(table)`, or do not donate that argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.jitted import Jitted, donated_names, jitted_functions
from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\bdonate_arg")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for jitted in jitted_functions(module):
        numbers, names = donated_names(jitted)
        for call in jitted.calls(module) if numbers or names else ():
            for arg in _donated(call, jitted, numbers, names):
                if isinstance(arg.value, cst.Name) and _captures(module, jitted, arg.value):
                    message = (
                        f"{arg.value.value!r} is donated to a function that captures it; after the "
                        "flip XLA refuses the call"
                    )
                    yield module.match(arg.value, message, Confidence.HIGH)


def _donated(
    call: cst.Call, jitted: Jitted, numbers: frozenset[int], names: frozenset[str]
) -> Iterator[cst.Arg]:
    parameters = [each.name.value for each in jitted.function.params.params]
    by_number = {parameters[number] for number in numbers if number < len(parameters)}
    for place, arg in enumerate(call.args):
        if arg.star:
            return
        if arg.keyword is not None:
            is_donated = arg.keyword.value in names | by_number
        else:
            is_donated = place in numbers or (
                place < len(parameters) and parameters[place] in names
            )
        if is_donated:
            yield arg


def _captures(module: Module, jitted: Jitted, name: cst.Name) -> bool:
    """Say whether a function reads the same variable as `name` does."""
    return any(
        module.is_inside(reference, jitted.function)
        for assignment in module.assignments(name)
        for reference in module.references(assignment)
    )
