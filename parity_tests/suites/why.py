"""Why the sides differ in a program that a suite ran, and what helps: by the rules of `run`.

What shadow mode saw of one call becomes the findings of a campaign, so that a suite and a campaign
say the same of a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import jax

from engine.ir.jaxprs import values_in
from engine.runtime.watching import Execution
from parity_tests.jax_internals import context_mesh
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.judge import flip_verdict
from parity_tests.judge.findings import Findings
from parity_tests.observe.hazards import arrays, devices
from parity_tests.observe.hazards.traced_program import (
    Argument,
    TracedProgram,
    default_device,
    hoisted_uses,
)
from parity_tests.observe.jit_on_side import stock_embed_threshold
from parity_tests.observe.ledger import ArrayFate, row_of
from reports.rows import (
    Comparison,
    ComparisonOutcome,
    Failure,
    FlipReason,
    Hazard,
    LeafComparison,
    Observation,
    Side,
)
from reports.rows.suite import SuiteDifference, metric_of

_LEFT: Side = "legacy"
_RIGHT: Side = "simplified"
_HOISTED = ArrayFate("hoisted", copies=1)
_PLACEMENT = {"sharding": "output shardings", "committed": "output committed"}


def captured_alive(execution: Execution) -> list[jax.Array]:
    """Return the captured arrays that a call may consume; none where it donates nothing."""
    if not any(execution.donated):
        return []
    values = values_in(execution.closed_jaxpr)
    return [each for each in values if isinstance(each, jax.Array) and not each.is_deleted()]


def reasons_of_consumed(execution: Execution, alive: Sequence[jax.Array]) -> tuple[FlipReason, ...]:
    """Return why stock JAX fails after the flip, where a call has consumed arrays that it captured.

    `alive` are those that were there before the call. Only the call tells which donated arguments
    XLA took: one that no output fits in stays, and stock JAX works.
    """
    consumed = {id(each) for each in alive if each.is_deleted()}
    if not consumed:
        return ()
    uses = _uses(execution)
    found = [use for use in uses if id(use.array.value) in consumed]
    if not found:  # stock JAX inlines small arrays and keys
        return ()
    hazards = tuple(map(arrays.passed_as_well, found))
    return _reasons(execution, uses, hazards, comparison=_outputs(None))


def reasons_of_difference(
    execution: Execution, row: SuiteDifference, alive: Sequence[jax.Array]
) -> tuple[FlipReason, ...]:
    """Return why our sides differ as a row says; `alive` is as in `reasons_of_consumed`."""
    uses = _uses(execution)
    hazards = tuple(_hazards(execution, uses, set(map(id, alive))))
    if row.leaf is not None:
        return _reasons(execution, uses, hazards, comparison=_outputs(row.leaf))
    if not row.failures:
        by_side = {row.left: row.left_value, row.right: row.right_value}
        metric = _PLACEMENT[metric_of(row)]
        comparison = _comparison(metric, "different", by_side[_LEFT], by_side[_RIGHT])
        return _reasons(execution, uses, hazards, comparison=comparison)
    raised = {each.side: each.error for each in row.failures if each.error}
    return _reasons(execution, uses, hazards, comparison=_outputs(None), raised=raised)


def _reasons(
    execution: Execution,
    uses: Sequence[CapturedUse],
    hazards: tuple[Hazard, ...],
    *,
    comparison: Comparison,
    raised: Mapping[Side, str] = MappingProxyType({}),
) -> tuple[FlipReason, ...]:
    """Return the reasons of the flip verdict that are reasons against the flip."""
    observed = tuple(
        Observation(
            program=execution.name,
            side=side,
            failure=_failure(raised[side]) if side in raised else None,
            ledger=tuple(row_of(each, _HOISTED) for each in uses) if side == _RIGHT else (),
        )
        for side in (_LEFT, _RIGHT)
    )
    findings = Findings(observed=observed, comparisons=(comparison,), hazards=hazards)
    verdict = flip_verdict.decide(findings, (), [(_LEFT, _RIGHT)])
    assert verdict is not None  # the pair is across the flip
    return tuple(map(_with_collection, (r for r in verdict.reasons if r.outcome != "safe")))


def _with_collection(reason: FlipReason) -> FlipReason:
    """Say how to have the target that a command of `run`'s advice takes."""
    if not reason.action.startswith("constparity "):
        return reason
    how = "for a file of the program to name, run pytest --constparity-collect=DIR"
    return reason.model_copy(update={"action": f"{reason.action}; {how}"})


def _uses(execution: Execution) -> tuple[CapturedUse, ...]:
    return hoisted_uses(live_part(execution.closed_jaxpr))


def _hazards(
    execution: Execution, uses: tuple[CapturedUse, ...], alive: set[int]
) -> Iterator[Hazard]:
    """Yield the hazards that a call of ours can come to: arrays that are gone, or lie elsewhere."""
    for use in uses:
        value = use.array.value
        if isinstance(value, jax.Array) and value.is_deleted() and id(value) not in alive:
            yield arrays.donated_before(use)
    traced = TracedProgram(
        function=None,
        closed=live_part(execution.closed_jaxpr),
        uses=uses,
        arguments=tuple(map(Argument, execution.operands)),
        donating=(),
        result=None,
        options={},
        embed_threshold=stock_embed_threshold(),
        guards={},
        mesh=context_mesh(),
        default_device=default_device(),
    )
    yield from devices.incompatible_devices(traced)
    yield from devices.placement_of_outputs(traced)


def _outputs(leaf: LeafComparison | None) -> Comparison:
    # How far the sides are apart is in the row already.
    detail = f"{leaf.rung} at {leaf.path}" if leaf else ""
    comparison = _comparison("outputs", "different" if leaf else "equal", detail=detail)
    return comparison.model_copy(update={"leaves": (leaf,) if leaf else ()})


def _comparison(
    metric: str,
    outcome: ComparisonOutcome,
    left_value: str = "",
    right_value: str = "",
    detail: str = "",
) -> Comparison:
    return Comparison(
        metric=metric,
        left=_LEFT,
        right=_RIGHT,
        outcome=outcome,
        left_value=left_value,
        right_value=right_value,
        detail=detail,
    )


def _failure(error: str) -> Failure:
    type_, _, message = error.partition(": ")
    return Failure(kind="exception", stage="call", type=type_, message=message)
