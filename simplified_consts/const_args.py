"""Const args, simplified: a call passes the constants to the executable, before the arguments.

The first call prepends the const args in Python; from then on jaxlib's dispatcher holds them
(`MeshExecutableFastpathData.const_args`) and passes them in C++. The user's arguments decide where
a program runs, so a captured array on one device is passed as uncommitted and follows them. An
array over several devices keeps its sharding.

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

_Donatable = frozenset[tuple[tuple[int, ...], Any]]  # shapes and dtypes of donated buffers

# The views of each plan, by its donations. All executables of a program get the same objects, so
# that no buffer is held twice.
_views: weakref.WeakKeyDictionary[LoweringPlan, dict[_Donatable, tuple[Any, ...]]] = (
    weakref.WeakKeyDictionary()
)


def const_args(plan: LoweringPlan, request: ConstArgsRequest) -> tuple[Any, ...] | None:
    """Return the const args as a call passes them, the results of a preamble among them.

    None where the preamble cannot run, or costs more than it saves: see `results_of`.
    """
    if not isinstance(plan, PlanWithPreamble):
        return captured_arrays(plan, request.donated)
    results = results_of(plan.preamble, request, captured_arrays)
    if results is None:
        return None
    return plan.with_results(captured_arrays(plan, request.donated), results)


def captured_arrays(plan: LoweringPlan, donated: Sequence[Any]) -> tuple[Any, ...]:
    """Return views of a plan's captured arrays, which share their buffers and follow the arguments.

    Two kinds of arrays are copied. First, arrays that the user may also donate to this program,
    because donation frees the buffer; arrays of the shape and dtype of a donated argument count,
    since a later call may donate them. Second, arrays with a layout of their own: JAX assumes that
    an uncommitted array has the default layout (jax 0.10.2), and would read its elements in another
    order. Under `engine.strict_placement` the captured arrays themselves are passed.
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
