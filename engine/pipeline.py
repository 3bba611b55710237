"""The records that pass between the stages of a pipeline, and what a pipeline is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.configuration.settings import Choices, Side
from engine.ir.jaxprs import ClosedJaxpr
from engine.preamble_extraction import Preamble, Result


@dataclass(frozen=True, eq=False)
class LoweringPlan:
    """What JAX is asked to lower: a program, and the const args that lead its inputs.

    `closed_jaxpr.invars` are the const args followed by the inputs of the program as traced.
    `jax_hoists_the_rest` is set where constants are left inside primitives whose operands this
    project cannot extend (it has no rule for them): JAX hoists those itself. Where a `preamble` was
    taken out of the program, its `Result`s are among the const args.
    """

    closed_jaxpr: ClosedJaxpr
    const_args: tuple[Any, ...] = ()
    jax_hoists_the_rest: bool = False
    preamble: Preamble | None = None

    @property
    def num_const_args(self) -> int:
        """How many of the leading inputs are const args."""
        return len(self.const_args)

    def with_results(self, operands: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The operands, with what the preamble computed in the place of its `Result`s."""
        if self.preamble is None:
            return tuple(operands)
        return tuple(results[o.index] if isinstance(o, Result) else o for o in operands)


@dataclass(frozen=True)
class Pipeline:
    """One way to take a traced program to results; the two pipelines differ in these steps alone.

    - `normalize(closed_jaxpr)`: bring what JAX's tracer emitted into the form of this side.
    - `plan(closed_jaxpr, max_bytes, hoist_constants_as_args, choices)`: say which constants become
      args.
    - `operands(plan, donated)`: the const args as they are passed at execution, given the avals of
      the arguments that the program donates.
    - `hoist_for_export(closed_jaxpr, max_bytes, choices)`: say which constants become inputs of an
      exported program.
    """

    side: Side
    normalize: Callable[[ClosedJaxpr], ClosedJaxpr]
    plan: Callable[[ClosedJaxpr, int, bool, Choices], LoweringPlan]
    operands: Callable[[LoweringPlan, Sequence[Any]], tuple[Any, ...]]
    hoist_for_export: Callable[[ClosedJaxpr, int, Choices], LoweringPlan]
