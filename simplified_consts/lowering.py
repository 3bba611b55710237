"""Lowering, simplified: each constant becomes a leading argument of the functions that need it.

The pass runs on the jaxpr, after all transformations and before anything is emitted: a program
whose constants are inputs must not be differentiated or batched any more. The main function gets
one argument per unique constant above the embed threshold; each inner function gets one per
constant that it needs. In the lowered module the order of arguments is: dimension variables,
tokens, const args, arrays.

A `stablehlo.constant` remains for scalars, for constants up to the threshold, and for constants
that only arise while JAX lowers (tables of the random number generators). With
`hoist_constants_as_args=False`, as for export, it remains for all. A constant policy goes before
the threshold: an array that it inlines is made by an equation, once per function, as in the legacy
pipeline; an array that it embeds stays a Literal, which JAX inlines once per use.

With `precompute_constants`, a preamble is taken out of the program first, and its results are const
args of any size. It does not compute with arrays that a policy inlines or embeds; XLA does.

Source: JAX's note "Handling of closed-over constants", section "Lowering".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.configuration.choices import NO_CHOICES, Choices
from engine.ir.inlining import inline, inlined
from engine.ir.jaxprs import ClosedJaxpr, has_foreign_primitives, values_in
from engine.ir.unsupported import refuse_unsupported
from engine.jax_internals import replaced
from engine.pipeline import LoweringPlan
from simplified_consts.hoisting.closure_conversion import Conversion, sharing
from simplified_consts.hoisting.deduplication import Deduplication
from simplified_consts.hoisting.embed_threshold import Selection, select
from simplified_consts.hoisting.liveness import live_part
from simplified_consts.preamble.extraction import Preamble, Result, extract


@dataclass(frozen=True, eq=False)
class PlanWithPreamble(LoweringPlan):
    """A plan whose const args include results of a preamble; until it has run, as `Result`s."""

    preamble: Preamble = field(kw_only=True)

    def with_results(self, const_args: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """Return the const args, with `results` of the preamble in the place of its `Result`s."""
        return tuple(results[c.index] if isinstance(c, Result) else c for c in const_args)


def plan(
    closed_jaxpr: ClosedJaxpr,
    embed_threshold: int,
    hoist_constants_as_args: bool,
    choices: Choices = NO_CHOICES,
) -> LoweringPlan:
    """Plan to hoist the constants larger than `embed_threshold` in live equations, each array once.

    A policy decides first, array by array. Raises ValueError for an invalid answer of the policy;
    NotImplementedError for a program that neither pipeline can lower, and where JAX hoists the rest
    and could not follow the policy.
    """
    if not hoist_constants_as_args:
        foreign = has_foreign_primitives(closed_jaxpr)
        return LoweringPlan(inlined(closed_jaxpr, embed_threshold), leaves_arrays=foreign)
    selection, may_hoist = Selection(embed_threshold), True
    if choices.policy is None:
        refuse_unsupported(closed_jaxpr, selection.is_hoisted)
        may_hoist = any(map(selection.is_hoisted, values_in(closed_jaxpr)))
    if not may_hoist and choices.precompute == "off":
        return _as_it_is(closed_jaxpr)
    live = live_part(closed_jaxpr)
    if choices.policy is not None:
        selection = select(live, embed_threshold, choices.policy)
        refuse_unsupported(live, selection.is_hoisted)
    deduplication = Deduplication(choices.deduplicate)
    if choices.precompute == "auto":
        made = with_preamble(live, selection, deduplication, choices)
        if made is not None:
            return made
        choices = choices._replace(precompute="off")
    if not may_hoist:
        return _as_it_is(closed_jaxpr)
    return hoisted(live, selection, deduplication, choices)


def _as_it_is(closed_jaxpr: ClosedJaxpr) -> LoweringPlan:
    foreign = has_foreign_primitives(closed_jaxpr)
    return LoweringPlan(closed_jaxpr, says_hoisted=True, leaves_arrays=foreign)


def hoisted(
    live: ClosedJaxpr, selection: Selection, deduplication: Deduplication, choices: Choices
) -> LoweringPlan:
    """Plan to make the selected constants, and results of a preamble, inputs of a live program."""

    def key_if_hoisted(value: Any) -> Hashable | None:
        is_hoisted = isinstance(value, Result) or selection.is_hoisted(value)
        return deduplication.key(value) if is_hoisted else None

    conversion = Conversion(key_if_hoisted)
    constants: dict[Hashable, Any] = conversion.needs(live)
    if conversion.unconverted:
        selection.refuse_what_jax_cannot_follow(conversion.unconverted)
    converted = sharing(conversion.body(live, constants), constants, conversion.left)
    constants = {key: value for key, value in constants.items() if key not in conversion.left}
    if converted is live:  # a table of plans, keyed weakly by programs, must not keep its key alive
        converted = replaced(live)
    if selection.chosen:
        converted = inline(converted, selection.is_inlined_by_policy)
    return LoweringPlan(
        converted,
        tuple(map(deduplication.representative, constants.values())),
        jax_hoists_the_rest=bool(conversion.unconverted),
        # JAX would hoist what a policy leaves embedded, above its threshold.
        says_hoisted=bool(conversion.unconverted or not selection.embeds_by_policy),
        leaves_arrays=bool(
            conversion.unconverted or selection.chosen or has_foreign_primitives(live)
        ),
        choices=choices,
    )


def with_preamble(
    live: ClosedJaxpr, selection: Selection, deduplication: Deduplication, choices: Choices
) -> PlanWithPreamble | None:
    """Plan to hoist the results of a preamble, too; None where none is worth it."""
    extraction = extract(
        live,
        selection.embed_threshold,
        lambda value: not selection.is_left_to_xla(value),
        representative=deduplication.representative,
    )
    if extraction is None:
        return None
    without_preamble = choices._replace(precompute="off")
    rest = hoisted(live_part(extraction.rest), selection, deduplication, without_preamble)
    fields = {**vars(rest), "choices": choices, "otherwise": without_preamble}
    return PlanWithPreamble(**fields, preamble=extraction.preamble)
