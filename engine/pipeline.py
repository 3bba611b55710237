"""What a pipeline is: a form of jaxprs, four functions, and the records that pass between them.

`legacy_closedjaxpr` and `simplified_consts` each provide one `Pipeline`; the engine does every step
that both sides share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from engine.configuration.choices import NO_CHOICES, Choices
from engine.configuration.parsing import Side
from engine.ir.jaxprs import ClosedJaxpr


@dataclass(frozen=True, eq=False)
class LoweringPlan:
    """The program that JAX is to lower, and the const args that come first among its inputs.

    - `closed_jaxpr`: the program; its invars are the const args, then the traced program's inputs.
    - `const_args`: one value for each const arg.
    - `jax_hoists_the_rest`: JAX is to hoist the constants inside primitives whose operands no rule
      of this project can extend.
    - `says_hoisted`: lowering rules of primitives are told that constants are hoisted. JAX then
      hoists the Literals that are left above the threshold, so none may be meant to stay.
    - `leaves_arrays`: Literals of arrays may be left in the program, or arise while JAX lowers it.
    - `choices`: the choices, without those that make no difference to this plan.
    - `otherwise`: the choices to plan with where `Pipeline.const_args` has none for this plan.
    """

    closed_jaxpr: ClosedJaxpr
    const_args: tuple[Any, ...] = ()
    jax_hoists_the_rest: bool = False
    says_hoisted: bool = False
    leaves_arrays: bool = False
    choices: Choices = NO_CHOICES
    otherwise: Choices | None = None

    @property
    def num_const_args(self) -> int:
        """The number of leading inputs that are const args."""
        return len(self.const_args)


class ConstArgsRequest(Protocol):
    """One lowering that needs const args, and the services of the runtime for computing them."""

    @property
    def donated(self) -> Sequence[Any]:
        """The avals of the arguments that the program donates."""

    @property
    def circumstances(self) -> Hashable:
        """Mesh and compiler options; const args computed under others are not reused."""

    def find_device(self) -> jax.Device | None:
        """Return the device that the program will run on, or None where there is none."""

    def plan_of(self, closed_jaxpr: ClosedJaxpr) -> LoweringPlan:
        """Plan another program in this pipeline, with `NO_CHOICES`."""

    def run(
        self, closed_jaxpr: ClosedJaxpr, device: jax.Device
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Run a program without arguments; return its results and its const args."""


@dataclass(frozen=True, eq=False)
class Pipeline:
    """One way from a function to results; the two pipelines differ in these fields alone.

    - `side`: its name.
    - `arrays_are_literals`: the form that JAX's tracer emits for the side, in a trace and where JAX
      traces while it lowers: captured arrays are Literals, or else constvars. Both flags, ours and
      JAX's, have this value within a trace.
    - `normalize(closed_jaxpr)`: bring the program that JAX's tracer emitted into the form of the
      side.
    - `plan(closed_jaxpr, embed_threshold, hoist_constants_as_args, choices)`: decide which
      constants become const args; `embed_threshold` is in bytes.
    - `const_args(plan, request)`: return the const args as a call passes them, or None where the
      program must be planned again with the choices `plan.otherwise`.
    - `hoist_for_export(closed_jaxpr, embed_threshold, choices)`: decide which constants become
      inputs of an exported program.
    """

    side: Side
    arrays_are_literals: bool
    normalize: Callable[[ClosedJaxpr], ClosedJaxpr]
    plan: Callable[[ClosedJaxpr, int, bool, Choices], LoweringPlan]
    const_args: Callable[[LoweringPlan, ConstArgsRequest], tuple[Any, ...] | None]
    hoist_for_export: Callable[[ClosedJaxpr, int, Choices], LoweringPlan]
