"""Const args, simplified: a call passes the constants to the executable, before the arguments.

The first call prepends the const args in Python; from then on jaxlib's dispatcher holds them
(`MeshExecutableFastpathData.const_args`) and passes them in C++. The user's arguments decide where
a program runs, so a captured array on one device is passed as uncommitted and follows them. An
array over several devices keeps its sharding. A preamble runs once for each device, on the device
that the rest of the program runs on, and its results are const args, too.

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
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import ConstArgsRequest, LoweringPlan
from simplified_consts.lowering import PlanWithPreamble
from simplified_consts.preamble.extraction import Preamble
from simplified_consts.preamble.profitability import LIMITS

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
    results = results_of(plan.preamble, request)
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
    if isinstance(constant, jax.Array) and constant.is_deleted():
        return constant  # the call raises, as that of stock JAX
    is_donatable = (
        donatable
        and isinstance(constant, jax.Array)
        and jax_internals.buffer_type(constant.aval) in donatable
    )
    if is_donatable or not jax_internals.follows_arguments_as_it_is(constant):
        with jax_internals.undisturbed():
            constant = jnp.copy(constant)
    return jax_internals.uncommitted(constant)


def results_of(preamble: Preamble, request: ConstArgsRequest) -> Sequence[Any] | None:
    """Run a preamble once for each device and `request.circumstances`, and return its results.

    None where no device can run it (lowering for another platform, an abstract mesh), and where
    results of sharded constants would be copied to each device.
    """
    device = request.find_device()
    if device is None:
        return None
    program, strict = preamble.closed_jaxpr, strict_placement.value
    # Copy the captured arrays now, before a call can donate them: the preamble may run again later,
    # for another device.
    captured_arrays(request.plan_of(program), request.donated)
    key = device, strict, request.circumstances
    results: Sequence[Any] = preamble.once(key, lambda: _run(program, device, strict, request))
    return results


def _run(
    program: ClosedJaxpr, device: jax.Device, strict: bool, request: ConstArgsRequest
) -> Sequence[Any] | None:
    results, const_args = request.run(program, device)
    if _copied_bytes(results) > _copied_bytes(const_args) + LIMITS.extra_bytes:
        return None
    return results if strict else tuple(map(jax_internals.uncommitted, results))


def _copied_bytes(arrays: Sequence[Any]) -> int:
    """Count the bytes that all devices together hold beyond one copy of each array."""
    return sum(
        sum(shard.data.nbytes for shard in array.addressable_shards) - array.nbytes
        for array in arrays
    )
