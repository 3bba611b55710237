"""What a pipeline is, and the records that pass between its steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from engine.configuration.choices import NO_CHOICES, Choices
from engine.configuration.parsing import Side
from engine.ir.jaxprs import ClosedJaxpr


@dataclass(frozen=True, eq=False)
class LoweringPlan:
    """What JAX is asked to lower: a program, and the const args that lead its inputs.

    - `closed_jaxpr`: its invars are the const args, followed by the inputs of the traced program.
    - `const_args`: one value for each of the leading inputs.
    - `jax_hoists_the_rest`: the program has constants inside primitives whose operands this project
      has no rule to extend, and JAX hoists those itself.
    - `choices`: those that the plan depends on; under others it would be the same plan.
    - `otherwise`: the choices to plan the program with where there are no const args for this plan.
    """

    closed_jaxpr: ClosedJaxpr
    const_args: tuple[Any, ...] = ()
    jax_hoists_the_rest: bool = False
    choices: Choices = NO_CHOICES
    otherwise: Choices | None = None

    @property
    def num_const_args(self) -> int:
        """How many of the leading inputs are const args."""
        return len(self.const_args)


@dataclass(frozen=True)
class ConstArgsRequest:
    """One lowering that needs const args: what is known of it, and what the runtime can do for it.

    - `donated`: the avals of the arguments that the program donates.
    - `circumstances`: mesh and compiler options; const args computed under others are not reused.
    - `find_device()`: the device that the program will run on, or None where there is none.
    - `plan_of(closed_jaxpr)`: the plan of another program of this pipeline, without choices.
    - `run(closed_jaxpr, device)`: the results of a program without arguments, and its const args.
    """

    donated: Sequence[Any]
    circumstances: Hashable
    find_device: Callable[[], jax.Device | None]
    plan_of: Callable[[ClosedJaxpr], LoweringPlan]
    run: Callable[[ClosedJaxpr, jax.Device], tuple[Sequence[Any], Sequence[Any]]]


@dataclass(frozen=True)
class Pipeline:
    """One way to take a traced program to results; the two pipelines differ in these steps alone.

    - `normalize(closed_jaxpr)`: bring the program that JAX's tracer emitted into the form of the
      side.
    - `plan(closed_jaxpr, max_bytes, hoist_constants_as_args, choices)`: say which constants become
      const args; `max_bytes` is the embed threshold.
    - `const_args(plan, request)`: the const args as a call passes them; None where they cannot be
      had, and the program is to be lowered under the choices `plan.otherwise`.
    - `hoist_for_export(closed_jaxpr, max_bytes, choices)`: say which constants become inputs of an
      exported program.
    """

    side: Side
    normalize: Callable[[ClosedJaxpr], ClosedJaxpr]
    plan: Callable[[ClosedJaxpr, int, bool, Choices], LoweringPlan]
    const_args: Callable[[LoweringPlan, ConstArgsRequest], tuple[Any, ...] | None]
    hoist_for_export: Callable[[ClosedJaxpr, int, Choices], LoweringPlan]
