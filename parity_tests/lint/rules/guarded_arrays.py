"""CP403: a NumPy array is captured under a transfer guard.

A jitted function captures a NumPy array, and a transfer guard forbids implicit transfers from the
host. Today the value is part of the program. After the flip stock JAX transfers the array when the
function is first called, and the guard stops that: "Disallowed host-to-device transfer".

    table = np.zeros(1024)
    step = jax.jit(lambda x: x + table)
    with jax.transfer_guard("disallow"):
        step(x)

What to do: capture an array that is on the device, `table = jax.device_put(table)`, made before
the function is called under the guard. Arrays of at most 32 bytes are inlined in both forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.jitted import Jitted, jitted_functions
from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rules.written_arrays import captured, is_numpy_array

TRIGGER = re.compile(r"\btransfer_guard|\bjax_transfer_guard")

_GUARDS = ("jax_transfer_guard", "jax_transfer_guard_host_to_device")
_FORBIDS = ("disallow", "disallow_explicit")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    everywhere = any(_is_set_everywhere(call) for call in module.nodes(cst.Call))
    guarded = [each for each in module.nodes(cst.With) if _guards(module, each)]
    for jitted in jitted_functions(module):
        if everywhere or any(
            module.is_inside(call, block.body) for call in jitted.calls(module) for block in guarded
        ):
            yield from _of_function(module, jitted)


def _of_function(module: Module, jitted: Jitted) -> Iterator[Match]:
    for assignment in captured(module, jitted.function):
        reads = (
            each
            for each in module.references(assignment)
            if module.is_inside(each, jitted.function)
        )
        if is_numpy_array(module, assignment) and (first := next(reads, None)):
            message = (
                f"NumPy array {assignment.name!r} is captured, and a transfer guard forbids that "
                "JAX transfers it when it is called, as it does after the flip"
            )
            yield module.match(first, message, Confidence.HIGH)


def _is_set_everywhere(call: cst.Call) -> bool:
    """Say whether a call is `jax.config.update("jax_transfer_guard", "disallow")` or its like."""
    return (
        dotted_tail(call.func) == "update"
        and len(call.args) == 2
        and text_of(call.args[0].value) in _GUARDS
        and text_of(call.args[1].value) in _FORBIDS
    )


def _guards(module: Module, block: cst.With) -> bool:
    calls = [each.item for each in block.items if isinstance(each.item, cst.Call)]
    return any(
        module.qualified(call.func).replace("jax.", "jax_") in _GUARDS
        and call.args
        and text_of(call.args[0].value) in _FORBIDS
        for call in calls
    )
