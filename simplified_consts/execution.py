"""Execution, simplified: const args are passed before the arguments, in C++ after the first call.

A caller passes the arguments of the user alone. The cache misses prepend the const args, and from
then on jaxlib's dispatcher holds them (`MeshExecutableFastpathData.const_args`). The arguments of
the user decide where a computation runs, so a captured array on one device is passed as uncommitted
and follows them; an array over several devices keeps its sharding.

Source: JAX's note "Handling of closed-over constants", section "Compilation and execution".
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from engine import jax_internals
from engine.configuration.settings import strict_placement
from engine.pipeline import ConstArgsRequest, LoweringPlan
from simplified_consts.lowering import PlanWithPreamble
from simplified_consts.preamble.running import results_of

_Donatable = frozenset[tuple[tuple[int, ...], Any]]

# The same objects for every executable of a program, so that a buffer is never held twice.
_views: weakref.WeakKeyDictionary[LoweringPlan, dict[_Donatable, tuple[Any, ...]]] = (
    weakref.WeakKeyDictionary()
)


def const_args(plan: LoweringPlan, request: ConstArgsRequest) -> tuple[Any, ...] | None:
    """The const args as a call passes them, with the results of a preamble in their places.

    None where the preamble cannot run, or would cost more than it saves: see `results_of`.
    """
    if not isinstance(plan, PlanWithPreamble):
        return captured_arrays(plan, request.donated)
    results = results_of(plan.preamble, request, captured_arrays)
    if results is None:
        return None
    return plan.with_results(captured_arrays(plan, request.donated), results)


def captured_arrays(plan: LoweringPlan, donated: Sequence[Any]) -> tuple[Any, ...]:
    """Views that share the buffers of the captured arrays of a plan, which follow the arguments.

    An array that the user may donate as an argument of this very program is copied: donation would
    take the buffer away from under the executable. Shape and dtype tell which, since a later call
    may be the one that donates. An array whose buffer has a layout of its own is copied too: JAX
    takes an uncommitted array to have the default layout (jax 0.10.2), and would read the numbers
    in another order. Under `engine.strict_placement` the captured arrays themselves are passed.
    """
    if strict_placement.value:
        return plan.const_args
    donatable = frozenset(map(jax_internals.buffer_type, donated))
    by_donation = _views.setdefault(plan, {})
    if donatable not in by_donation:
        by_donation[donatable] = tuple(_view(c, donatable) for c in plan.const_args)
    return by_donation[donatable]


def _view(constant: Any, donatable: _Donatable) -> Any:
    is_donatable = (
        donatable
        and isinstance(constant, jax.Array)
        and jax_internals.buffer_type(constant.aval) in donatable
    )
    if is_donatable or not jax_internals.follows_arguments_as_it_is(constant):
        with jax_internals.undisturbed():
            constant = jnp.copy(constant)
    return jax_internals.uncommitted(constant)
