"""Running a preamble: once for each device, on the device that the rest of the program runs on.

The runtime's services come with each request, so the pipeline does not import the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.settings import strict_placement
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import ConstArgsRequest, LoweringPlan
from simplified_consts.preamble.extraction import Preamble
from simplified_consts.preamble.profitability import LIMITS


def results_of(
    preamble: Preamble,
    request: ConstArgsRequest,
    captured_arrays: Callable[[LoweringPlan, Sequence[Any]], tuple[Any, ...]],
) -> Sequence[Any] | None:
    """Run a preamble once for each device and `request.circumstances`, and return its results.

    None where no device can run it (lowering for another platform, an abstract mesh), and where
    results of sharded constants would be copied to each device. `captured_arrays(plan, donated)`
    makes the const args of the preamble itself.
    """
    device = request.find_device()
    if device is None:
        return None
    program, strict = preamble.closed_jaxpr, strict_placement.value
    # Copy the captured arrays now, before a call can donate them: the preamble may run again later,
    # for another device.
    plan = request.plan_of(program)
    if not any(isinstance(c, jax.Array) and c.is_deleted() for c in plan.const_args):
        captured_arrays(plan, request.donated)
    key = device, strict, request.circumstances
    return preamble.once(key, lambda: _run(program, device, strict, request))


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
