"""Lowering, simplified: constants become leading arguments, one per array, of each function.

The pass runs on the jaxpr, before anything is emitted. The main function gets one argument per
unique constant above the embed threshold; each inner function gets one per constant that it needs.
In the lowered module the order of arguments is: dimension variables, tokens, const args, arrays.

A `stablehlo.constant` is left for scalars, for constants at or below the threshold, for constants
that only arise while JAX lowers (tables of the random number generators), and everywhere when
`hoist_constants_as_args` is False, as it is for export. A constant policy goes before the
threshold: what it inlines becomes a constvar, which JAX inlines once per function, and what it
embeds stays a Literal, which JAX inlines once per use. Where constants are precomputed, a preamble
is taken out of the program first, and its results are const args of any size. Arrays that a policy
inlines or embeds take no part in it: computing with them is left to XLA.

Source: JAX's note "Handling of closed-over constants", section "Lowering".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.configuration.choices import NO_CHOICES, Choices
from engine.ir.closure_conversion import CONTROL_FLOW, FUNCTIONS, Conversion
from engine.ir.jaxprs import ClosedJaxpr, constant_key, is_hoistable, values_in
from engine.ir.lifting import lift
from engine.ir.unsupported import refuse_unsupported
from engine.pipeline import LoweringPlan
from simplified_consts.hoisting.deduplication import Deduplication
from simplified_consts.hoisting.liveness import live_part
from simplified_consts.hoisting.selection import Selection, select
from simplified_consts.preamble.extraction import Preamble, Result, extract


@dataclass(frozen=True, eq=False)
class PlanWithPreamble(LoweringPlan):
    """A plan whose const args include results of a preamble: `Result`s, until it has run."""

    preamble: Preamble = field(kw_only=True)

    def with_results(self, const_args: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The const args, with what the preamble computed in the place of its `Result`s."""
        return tuple(results[c.index] if isinstance(c, Result) else c for c in const_args)


def plan(
    closed_jaxpr: ClosedJaxpr,
    max_bytes: int,
    hoist_constants_as_args: bool,
    choices: Choices = NO_CHOICES,
) -> LoweringPlan:
    """Hoist the constants larger than `max_bytes` that live equations use, each array once.

    A `policy` decides first, array by array. Raises ValueError for an answer of it that is none,
    and NotImplementedError for what neither pipeline can lower and where JAX, which hoists the
    rest, could not follow the policy.
    """
    policy = choices.policy
    by_size = Selection(max_bytes)
    if policy is None or not hoist_constants_as_args:
        refuse_unsupported(closed_jaxpr, by_size.is_hoisted)
    if not hoist_constants_as_args:
        # As constvars, JAX inlines an array once per function; as Literals, once per use.
        return LoweringPlan(lift(closed_jaxpr))
    precompute = choices.precompute == "auto"
    if policy is None and not precompute and not _captures(closed_jaxpr, max_bytes):
        return LoweringPlan(closed_jaxpr)
    live, selection, extraction = live_part(closed_jaxpr), by_size, None
    if policy is not None:
        selection = select(live, max_bytes, policy)
        refuse_unsupported(live, selection.is_hoisted)
    same = Deduplication(choices.deduplicate) if choices.deduplicate else None
    if precompute:
        extraction = extract(
            live,
            max_bytes,
            lambda v: not selection.is_left_to_xla(v),
            representative=(lambda v: v) if same is None else same.representative,
        )
        if extraction is not None:
            live = live_part(extraction.rest)
        elif policy is None and not _captures(closed_jaxpr, max_bytes):
            return LoweringPlan(closed_jaxpr)
    key = constant_key if same is None else same.key

    def key_if_wanted(value: Any) -> Hashable | None:
        return key(value) if isinstance(value, Result) or selection.is_hoisted(value) else None

    conversion = Conversion(CONTROL_FLOW | FUNCTIONS, key_if_wanted)
    constants: dict[Hashable, Any] = conversion.needs(live)
    if conversion.unconverted:
        selection.refuse_what_jax_cannot_follow(conversion.unconverted)
    converted = conversion.body(live, constants)
    whole = choices._replace(precompute="off")
    planned = LoweringPlan(
        lift(converted, selection.is_inlined_by_policy) if selection.chosen else converted,
        tuple(constants.values() if same is None else map(same.representative, constants.values())),
        jax_hoists_the_rest=bool(conversion.unconverted),
        choices=whole,
    )
    if extraction is None:
        return planned
    fields = {**vars(planned), "choices": choices, "otherwise": whole}
    return PlanWithPreamble(**fields, preamble=extraction.preamble)


def _captures(closed_jaxpr: ClosedJaxpr, max_bytes: int) -> bool:
    return any(is_hoistable(value, max_bytes) for value in values_in(closed_jaxpr))
