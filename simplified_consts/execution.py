"""Execution, simplified: const args are passed before the arguments, in C++ after the first call.

Whoever calls passes the arguments of the user alone; the cache misses prepend the const args, and
jaxlib's dispatcher holds them from then on (`MeshExecutableFastpathData.const_args`). The arguments
of the user decide the placement of a computation, so a captured array on one device is passed as
uncommitted and follows them; an array over several devices keeps its sharding.

Source: the constants note (seed 000), "Compilation and execution".
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from engine import jax_internals
from engine.configuration.settings import strict_placement
from engine.pipeline import LoweringPlan

_Donatable = frozenset[tuple[tuple[int, ...], Any]]

# The same objects for every executable of a program, so that a buffer is never held twice.
_operands: weakref.WeakKeyDictionary[LoweringPlan, dict[_Donatable, tuple[Any, ...]]] = (
    weakref.WeakKeyDictionary()
)


def operands(plan: LoweringPlan, donated: Sequence[Any]) -> tuple[Any, ...]:
    """The const args as they are passed: views that share the buffers of the captured arrays.

    An array that the user may donate as an argument of this very program is copied: donation would
    take the buffer away from under the executable. It is found by shape and dtype, since the first
    call need not be the one that donates it. So is an array whose buffer has a layout of its own:
    JAX takes what is not committed to have the default layout (jax 0.10.2), and would read the
    numbers in another order. Under `engine.strict_placement` the captured arrays are passed as
    they are.
    """
    if strict_placement.value:
        return plan.const_args
    donatable = frozenset(map(jax_internals.buffer_type, donated))
    by_donation = _operands.setdefault(plan, {})
    if donatable not in by_donation:
        by_donation[donatable] = tuple(_operand(c, donatable) for c in plan.const_args)
    return by_donation[donatable]


def _operand(constant: Any, donatable: _Donatable) -> Any:
    is_donatable = (
        donatable
        and isinstance(constant, jax.Array)
        and jax_internals.buffer_type(constant.aval) in donatable
    )
    if is_donatable or not jax_internals.follows_arguments_as_it_is(constant):
        with jax_internals.undisturbed():
            constant = jnp.copy(constant)
    return jax_internals.uncommitted(constant)
